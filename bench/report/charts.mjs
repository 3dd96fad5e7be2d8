/** Which charts a result has, and what is in them. */
import { describe } from '../e2e/print.mjs'
import {
  figures,
  formatWhole,
  isFloor,
  isLine,
  isOurs,
  isReference,
  labelOf,
  referenceClient,
  spreadOf,
  toneOf,
  toSpreadText,
} from './figures.mjs'
import { toJointVerdict, toVerdict } from './verdict.mjs'

/**
 * @typedef {import('./figures.mjs').Entry} Entry
 * @typedef {import('./figures.mjs').MeasuredScenario} MeasuredScenario
 * @typedef {import('./figures.mjs').Result} Result
 * @typedef {import('./figures.mjs').Figure} Figure
 * @typedef {import('./svg.mjs').Chart} Chart
 * @typedef {import('./svg.mjs').Bar} Bar
 *
 * @typedef {object} Kind of chart
 * @property {string} file the first part of its name
 * @property {string} title
 * @property {string} note
 * @property {'more' | 'less'} better
 * @property {(value: number) => string} toText
 * @property {import('./verdict.mjs').Subject} subject of its verdict
 * @property {(entry: Entry) => Omit<Bar, 'label' | 'tone'> | null} toBar
 */

/** @param {import('./figures.mjs').FigureKey} key @returns {Figure} */
function figureOf(key) {
  const figure = figures.find((candidate) => candidate.key === key)
  if (figure === undefined) throw new Error(`no figure ${key}`)
  return figure
}

/**
 * @param {string} file @param {import('./figures.mjs').FigureKey} key @param {string} title
 * @param {[verb: string, noun: string]} words of its verdict
 * @returns {Kind}
 */
function toKind(file, key, title, [verb, noun]) {
  const figure = figureOf(key)
  return {
    file,
    title,
    better: figure.better,
    toText: figure.format,
    subject: { key, better: figure.better, verb, noun },
    note: `${figure.better === 'less' ? 'Less' : 'More'} is better. Bars are medians of the rounds, whiskers the lowest and the highest.`,
    toBar(entry) {
      const spread = spreadOf(entry, key)
      if (spread === null) return null
      return { value: spread.median, whisker: spread, text: toSpreadText(figure, spread) }
    },
  }
}

const cpu = toKind('cpu', 'cpuMicros', 'CPU time a request, µs', ['takes', 'the CPU time'])
const throughput = toKind('throughput', 'requestsPerSecond', 'Requests a second', [
  'reaches',
  'the requests a second',
])
const bytes = toKind('bytes', 'allocatedBytes', 'Heap allocated a request, bytes', ['allocates', 'the bytes'])

const kinds = [cpu, throughput, bytes]

/**
 * @param {Entry} entry @param {string} label @param {Kind} kind
 * @returns {Bar[]} one, or none where the entry can't tell
 */
function toBars(entry, label, kind) {
  const bar = isLine(entry) ? null : kind.toBar(entry)
  if (bar === null) return []
  return [{ label, tone: toneOf(entry), ...bar }]
}

/**
 * Who is no client that one could use is a line through the bars, not one of them.
 *
 * @param {readonly Entry[]} entries @param {Kind} kind
 * @param {number | null} group through whose bars it goes; null: through all
 * @returns {import('./svg.mjs').Line[]}
 */
function toLines(entries, kind, group) {
  return entries.filter(isLine).flatMap((entry) => {
    const bar = kind.toBar(entry)
    if (bar === null) return []
    const label = isFloor(entry) ? `${labelOf(entry)}, a bare socket that frames` : labelOf(entry)
    return [{ label, tone: isFloor(entry) ? 'floor' : 'program', value: bar.value, text: bar.text, group }]
  })
}

/** @param {Entry} entry */
function toFullLabel(entry) {
  const label = labelOf(entry)
  // There is one reference, and its name is long enough.
  return label === entry.api || isReference(entry) ? label : `${label} · ${entry.api}`
}

/** The best first. @param {Bar[]} bars @param {Kind} kind */
function sorted(bars, { better }) {
  return bars.toSorted((a, b) => (better === 'less' ? a.value - b.value : b.value - a.value))
}

/** @param {Entry[]} entries @param {Kind} kind @returns {Pick<Chart, 'reference' | 'note'>} */
function toReference(entries, kind) {
  const values = entries.filter(isReference).flatMap((entry) => kind.toBar(entry)?.value ?? [])
  const [value, ...others] = values
  // With several rows of the reference there is no one line.
  return value === undefined || others.length > 0
    ? { reference: null, note: kind.note }
    : { reference: value, note: `${kind.note} The dashed line is bare node:http2.` }
}

/**
 * One chart of a scenario: a group for each API of a dispatcher, and one for what has an API of its own.
 *
 * @param {MeasuredScenario} scenario @param {Kind} kind
 * @returns {Chart | null} null: no client has the figure
 */
function toChart(scenario, kind) {
  const { apis, entries } = scenario
  const groups = apis.map((api) => {
    const bars = entries
      .filter((entry) => entry.api === api)
      .flatMap((entry) => toBars(entry, labelOf(entry), kind))
    return { heading: api, bars: sorted(bars, kind) }
  })
  const others = entries
    .filter(({ api }) => !apis.includes(api))
    .flatMap((entry) => toBars(entry, toFullLabel(entry), kind))
  groups.push({ heading: 'other APIs', bars: sorted(others, kind) })
  const filled = groups.filter(({ bars }) => bars.length > 0)
  if (filled.length === 0) return null
  return {
    name: `${kind.file}-${scenario.name.replace(/[^\w-]+/g, '-')}`,
    title: kind.title,
    verdict: toVerdict(scenario, kind.subject),
    lines: toLines(entries, kind, null),
    subtitle: describe(scenario),
    groups: filled,
    ...toReference(entries, kind),
  }
}

/** @param {Result} result @returns {{ scenario: MeasuredScenario, charts: Chart[] }[]} */
export function toSections({ scenarios }) {
  return scenarios.map((scenario) => ({
    scenario,
    charts: kinds.flatMap((kind) => toChart(scenario, kind) ?? []),
  }))
}

/** The scenarios that docs/performance.md shows, and which of our APIs: those that most people use. */
const SHOWN_SCENARIOS = ['get-1k', 'get-1k-tls']
const SHOWN_APIS = ['request', 'fetch']

/** The bars of the README: clients that a reader knows, eight at most. */
const README_SCENARIO = 'get-1k-tls'
const README_BARS = [
  {
    api: 'request',
    clients: ['dodici-wire', 'dodici', 'undici', 'undici-http1', referenceClient, 'go'],
  },
  { api: 'fetch', clients: ['dodici-wire', 'node-fetch'] },
]
/** Their names there. */
const README_LABELS = new Map([
  ['dodici', 'Dodici'],
  ['dodici-wire', 'Dodici, engine wire'],
  ['undici', 'undici 8, HTTP/2'],
  ['undici-http1', 'undici 8, HTTP/1.1'],
  ['node-fetch', "Node's fetch, HTTP/1.1"],
  [referenceClient, 'node:http2'],
  ['go', 'Go net/http'],
])

/** @param {MeasuredScenario} scenario @returns {Entry[]} */
function shownEntries({ apis, entries }) {
  const shown = entries.filter(({ api }) => SHOWN_APIS.includes(api) || !apis.includes(api))
  return shown.some(isOurs) ? shown : entries
}

/**
 * The chart of the README: the CPU time of a few clients.
 *
 * @param {Result} result
 * @returns {Chart[]} none: the run had nothing of it
 */
export function toReadmeCharts({ scenarios, machine }) {
  const scenario = scenarios.find(({ name }) => name === README_SCENARIO)
  const { entries = [] } = scenario ?? {}
  const groups = README_BARS.map(({ api, clients }) => {
    const bars = entries
      .filter((entry) => clients.includes(entry.client) && (entry.api === api || isReference(entry)))
      .flatMap((entry) => toBars(entry, README_LABELS.get(entry.client) ?? labelOf(entry), cpu))
      .map((bar) => ({ ...bar, text: cpu.toText(bar.value) }))
    return { heading: `${api}()`, bars: sorted(bars, cpu) }
  }).filter(({ bars }) => bars.length > 0)
  if (scenario === undefined || groups.length === 0) return []
  const { method, responseBytes, inFlight } = scenario
  const what = `${method}, ${formatWhole(responseBytes)} bytes, ${formatWhole(inFlight)} requests at a time`
  return [
    {
      name: 'readme-cpu',
      title: 'CPU time per request over TLS, µs',
      verdict: toVerdict({ ...scenario, entries: entries.filter((entry) => !isLine(entry)) }, cpu.subject),
      subtitle: `${what}. ${machine.cpu}, Node ${machine.node}.`,
      note: 'Less is better. Bars are medians of the rounds, whiskers the lowest and the highest.',
      groups,
      lines: [],
      reference: null,
    },
  ]
}

/**
 * The two charts of docs/performance.md: all clients side by side, over h2c and over TLS.
 *
 * @param {Result} result
 * @returns {Chart[]} none: the run had none of their scenarios
 */
export function toPageCharts({ scenarios, machine }) {
  const shown = scenarios.filter(({ name }) => SHOWN_SCENARIOS.includes(name))
  const [first] = shown
  if (first === undefined) return []
  return [cpu, throughput].flatMap((kind) => {
    const parts = shown
      .map((scenario) => {
        const entries = shownEntries(scenario)
        const bars = entries.flatMap((entry) => toBars(entry, toFullLabel(entry), kind))
        // Whiskers say how far the rounds were apart: the figure beside them would take the room of the bars.
        const short = bars.map((bar) => ({ ...bar, text: kind.toText(bar.value) }))
        return { where: scenario.tls ? 'over TLS' : 'over h2c', scenario, entries, bars: sorted(short, kind) }
      })
      .filter(({ bars }) => bars.length > 0)
    if (parts.length === 0) return []
    const { method, responseBytes, inFlight } = first
    const isHttp1 = shown.some(({ entries }) => entries.some(({ label }) => label?.includes('HTTP/1.1')))
    const isPipelined = parts.some(({ entries }) => entries.some(({ label }) => label?.includes('pipelined')))
    const others = `HTTP/1.1: on as many${isPipelined ? ', or pipelined on 10' : ''}`
    const wires = `on one connection${isHttp1 ? ` (${others})` : ''}`
    const subtitle = `${method}, ${formatWhole(responseBytes)} bytes, ${formatWhole(inFlight)} in flight ${wires}. ${machine.cpu}, Node ${machine.node}.`
    return [
      {
        name: `all-${kind.file}`,
        title: kind.title,
        verdict: toJointVerdict(parts, kind.subject),
        subtitle,
        note: kind.note,
        groups: parts.map(({ where, bars }) => ({ heading: where, bars })),
        lines: parts.flatMap(({ entries }, index) => toLines(entries, kind, index)),
        reference: null,
      },
    ]
  })
}

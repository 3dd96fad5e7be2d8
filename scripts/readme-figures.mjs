/**
 * The figures in docs/performance.md, from the recorded runs: `node scripts/readme-figures.mjs [--write]`. Without `--write` it says whether they are the same.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import {
  clients,
  floorClient,
  hpackFloorClient,
  ownClients,
  peerClient,
  referenceClient,
} from '../bench/e2e/clients/index.mjs'
import { toRatioText } from '../bench/e2e/statistics.mjs'
import { labelOf, ratioOf, spreadOf } from '../bench/report/figures.mjs'
import { withPart } from './page.mjs'

/** @typedef {import('../bench/report/figures.mjs').Result} Result */
/** @typedef {import('../bench/report/figures.mjs').Entry} Entry */
/** @typedef {import('../bench/report/figures.mjs').MeasuredScenario} MeasuredScenario */

const performancePage = fileURLToPath(new URL('../docs/performance.md', import.meta.url))
const recorded = new URL('../bench/recorded/result.json', import.meta.url)
const recordedBodies = new URL('../bench/recorded/bodies.json', import.meta.url)

const APIS = ['dispatch', 'request', 'fetch']
const WHERE = /** @type {const} */ ([
  { name: 'get-1k', text: 'h2c' },
  { name: 'get-1k-tls', text: 'TLS' },
])

/** Who has a row for each API, in this order, and whose ratio to undici is shown. */
const SHOWN = [
  ownClients.wire,
  ownClients.node,
  peerClient,
  'undici-http1',
  'undici-http1-pipelined',
  'node-fetch',
]
const BOUNDS = [floorClient, hpackFloorClient, 'h2load', 'rust', 'go']

/** @param {number | undefined} micros */
const toMicros = (micros) => (micros === undefined ? '-' : micros.toFixed(micros < 100 ? 1 : 0))

/** @param {Result} result @param {string} name */
function scenarioOf({ scenarios }, name) {
  const found = scenarios.find((scenario) => scenario.name === name)
  if (found === undefined) throw new Error(`the recorded run has no ${name}`)
  return found
}

/** @param {MeasuredScenario} scenario @param {string} client @param {string} api @returns {Entry | undefined} */
const entryOf = ({ entries }, client, api) =>
  entries.find((entry) => entry.client === client && entry.api === api)

/**
 * @param {Result} result @param {string} client @param {string} api
 * @returns {string[]} a row, or none where that run has no such entry
 */
function toRow(result, client, api) {
  const cells = WHERE.flatMap(({ name }) => {
    const scenario = scenarioOf(result, name)
    const entry = entryOf(scenario, client, api)
    const base = client === peerClient ? undefined : entryOf(scenario, peerClient, api)
    if (entry === undefined) return ['-', '-']
    const ratio = toRatioText(base === undefined ? null : ratioOf(entry, base, 'cpuMicros'))
    return [toMicros(spreadOf(entry, 'cpuMicros')?.median), ratio]
  })
  if (cells.every((cell) => cell === '-')) return []
  return [`| \`${api}\` | ${clients[client]?.label ?? client} | ${cells.join(' | ')} |`]
}

/** @param {Result} result @returns {string} what no API of a dispatcher is, in a sentence */
function toBounds(result) {
  const parts = BOUNDS.flatMap((client) => {
    const figures = WHERE.flatMap(({ name, text }) => {
      const entry = scenarioOf(result, name).entries.find((candidate) => candidate.client === client)
      const spread = entry === undefined ? null : spreadOf(entry, 'cpuMicros')
      return entry === undefined || spread === null
        ? []
        : [{ label: labelOf(entry), text: `${toMicros(spread.median)} over ${text}` }]
    })
    return figures.length === 0 ? [] : [`${figures[0]?.label} ${figures.map(({ text }) => text).join(', ')}`]
  })
  return `For comparison: ${parts.join('; ')}.`
}

/** With a higher load before the run, figures are worth less. */
const BUSY = 1

/**
 * @param {Result} result @param {readonly string[]} wanted clients
 * @returns {string[]} what a reader has to know about the run, in sentences
 */
function toCaveats({ machine, scenarios }, wanted) {
  const { loadBefore = 0 } = machine
  const measured = new Set(scenarios.flatMap(({ entries }) => entries.map(({ client }) => client)))
  const missing = wanted.filter((client) => !measured.has(client)).map((client) => clients[client]?.label)
  const load = loadBefore.toFixed(1)
  return [
    ...(loadBefore > BUSY
      ? [`The machine was busy (a load of ${load} before the run): look at the ratios alone.`]
      : []),
    ...(missing.length > 0 ? [`Not in that run: ${missing.join('; ')}.`] : []),
  ]
}

/** @param {Result} result @returns {string} of Markdown */
export function toReadmeFigures(result) {
  const { machine, rounds = 0, date } = result
  const rows = APIS.flatMap((api) => SHOWN.flatMap((client) => toRow(result, client, api)))
  const heads = WHERE.flatMap(({ text }) => [`µs, ${text}`, `÷ undici 8, ${text}`])
  return [
    `CPU µs a request: GET of 1 KiB, 100 in flight, Node ${machine.node}, ${machine.cpu}, ${date.slice(0, 10)}; medians of ${rounds} rounds, ratios within the rounds with a 95 % interval.`,
    ...toCaveats(result, Object.keys(clients)),
    '',
    `| API | client | ${heads.join(' | ')} |`,
    `| --- | --- |${heads.map(() => ' --- |').join('')}`,
    ...rows,
    '',
    toBounds(result),
  ].join('\n')
}

/** Whose CPU time a MiB of body is shown, in this order. */
const BODY_COLUMNS = [
  ...Object.values(ownClients).toReversed(),
  referenceClient,
  peerClient,
  'undici-http1',
  'go',
]
/** A ratio to the cheapest of the others up to which Dodici counts as cheap. */
const CLOSE = 1.05
const MEBIBYTE = 2 ** 20

/** @param {MeasuredScenario} scenario @returns {string} a row, with Dodici's figures in bold where others are cheaper */
function toBodyRow({ method, responseBytes, tls, entries }) {
  const figures = BODY_COLUMNS.map((client) => {
    const entry = entries.find((candidate) => candidate.client === client)
    const spread = entry === undefined ? null : spreadOf(entry, 'cpuMicros')
    return spread === null ? Number.NaN : (spread.median / responseBytes) * (MEBIBYTE / 1000)
  })
  const own = Object.keys(ownClients).length
  const best = Math.min(...figures.slice(own).filter(Number.isFinite))
  const cells = figures.map((figure, index) => {
    if (Number.isNaN(figure)) return '-'
    return index < own && figure > CLOSE * best ? `**${figure.toFixed(2)}**` : figure.toFixed(2)
  })
  const size = responseBytes < MEBIBYTE ? `${responseBytes / 1024} KiB` : `${responseBytes / MEBIBYTE} MiB`
  return `| ${method} ${size}, ${tls ? 'TLS' : 'h2c'} | ${cells.join(' | ')} |`
}

/** @param {Result} result @returns {string} of Markdown */
export function toBodyFigures(result) {
  const { machine, rounds = 0, date, scenarios } = result
  return [
    `CPU ms a MiB of body: \`dispatch\`, Node ${machine.node}, ${machine.cpu}, ${date.slice(0, 10)}; medians of ${rounds} rounds. The server sends a POST's body back.`,
    'In **bold**: Dodici is dearer than the cheapest of the others by more than 5 %.',
    ...toCaveats(result, BODY_COLUMNS),
    '',
    `| | ${BODY_COLUMNS.map((client) => clients[client]?.label).join(' | ')} |`,
    `| --- |${BODY_COLUMNS.map(() => ' --- |').join('')}`,
    ...scenarios.map(toBodyRow),
  ].join('\n')
}

/**
 * @param {string} page @param {Result} result @param {Result | null} bodies null: none is recorded, and the page keeps what it has of them
 * @returns {string} the page with the figures of those results
 */
export function withFigures(page, result, bodies) {
  const put = (/** @type {string} */ text, /** @type {string} */ name, /** @type {string} */ figures) =>
    withPart(
      text,
      `<!-- ${name}: written by scripts/readme-figures.mjs -->\n\n`,
      `\n\n<!-- end of ${name} -->`,
      figures,
    )
  const next = put(page, 'figures', toReadmeFigures(result))
  return bodies === null ? next : put(next, 'bodies', toBodyFigures(bodies))
}

function main() {
  const page = readFileSync(performancePage, 'utf8')
  const next = withFigures(
    page,
    JSON.parse(readFileSync(recorded, 'utf8')),
    existsSync(recordedBodies) ? JSON.parse(readFileSync(recordedBodies, 'utf8')) : null,
  )
  if (next === page) return
  if (process.argv.includes('--write')) {
    writeFileSync(performancePage, next)
    return
  }
  console.error(
    'docs/performance.md has other figures than bench/recorded/: node scripts/readme-figures.mjs --write',
  )
  process.exitCode = 1
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(resolve(process.argv[1])).href) main()

/**
 * The figures in docs/performance.md, from the recorded run: `node scripts/readme-figures.mjs [--write]`. Without `--write` it says whether they are the same.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import {
  clients,
  floorClient,
  hpackFloorClient,
  ownClients,
  peerClient,
} from '../bench/e2e/clients/index.mjs'
import { labelOf, ratioOf, spreadOf, toShortRatio } from '../bench/report/figures.mjs'

/** @typedef {import('../bench/report/figures.mjs').Result} Result */
/** @typedef {import('../bench/report/figures.mjs').Entry} Entry */
/** @typedef {import('../bench/report/figures.mjs').MeasuredScenario} MeasuredScenario */

const BEGIN = '<!-- figures: written by scripts/readme-figures.mjs -->'
const END = '<!-- end of figures -->'

const performancePage = fileURLToPath(new URL('../docs/performance.md', import.meta.url))
const recorded = fileURLToPath(new URL('../bench/recorded/result.json', import.meta.url))

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
    const ratio = toShortRatio(entry, base === undefined ? null : ratioOf(entry, base, 'cpuMicros'))
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

/** With fewer rounds, or a higher load before the run, figures are worth less. */
const ENOUGH_ROUNDS = 5
const BUSY = 1

/** @param {Result} result @returns {string[]} what a reader has to know about the run, in sentences */
function toCaveats({ machine, rounds = 0, scenarios }) {
  const { loadBefore = 0 } = machine
  const measured = new Set(scenarios.flatMap(({ entries }) => entries.map(({ client }) => client)))
  const missing = Object.keys(clients).filter((client) => !measured.has(client))
  const isBusy = loadBefore > BUSY
  return [
    ...(isBusy
      ? [
          `The machine was busy (a load of ${loadBefore.toFixed(1)} before the run): look at the ratios alone.`,
        ]
      : []),
    ...(rounds < ENOUGH_ROUNDS
      ? [
          rounds === 1
            ? 'One round shows large differences only.'
            : 'So few rounds show large differences only.',
        ]
      : []),
    ...(missing.length > 0
      ? [`Not in that run: ${missing.map((client) => clients[client]?.label).join('; ')}.`]
      : []),
  ]
}

/** @param {Result} result @returns {string} of Markdown */
export function toReadmeFigures(result) {
  const { machine, rounds = 0, date } = result
  const rows = APIS.flatMap((api) => SHOWN.flatMap((client) => toRow(result, client, api)))
  const heads = WHERE.flatMap(({ text }) => [`µs, ${text}`, `÷ undici 8, ${text}`])
  const spread =
    rounds === 1 ? 'one round' : `medians of ${rounds} rounds, ratios within the rounds with a 95 % interval`
  return [
    `CPU µs a request: GET of 1 KiB, 100 in flight, Node ${machine.node}, ${machine.cpu}, ${date.slice(0, 10)}; ${spread}.`,
    ...toCaveats(result),
    '',
    `| API | client | ${heads.join(' | ')} |`,
    `| --- | --- |${heads.map(() => ' --- |').join('')}`,
    ...rows,
    '',
    toBounds(result),
  ].join('\n')
}

/** @param {string} page @param {Result} result @returns {string} the page with the figures of that result */
export function withFigures(page, result) {
  const begin = page.indexOf(BEGIN)
  const end = page.indexOf(END)
  if (begin === -1 || end < begin)
    throw new Error(`docs/performance.md lacks '${BEGIN}' with '${END}' behind it`)
  return `${page.slice(0, begin)}${BEGIN}\n\n${toReadmeFigures(result)}\n\n${page.slice(end)}`
}

function main() {
  const page = readFileSync(performancePage, 'utf8')
  const next = withFigures(page, JSON.parse(readFileSync(recorded, 'utf8')))
  if (next === page) return
  if (process.argv.includes('--write')) {
    writeFileSync(performancePage, next)
    return
  }
  console.error(
    'docs/performance.md has other figures than bench/recorded/result.json: node scripts/readme-figures.mjs --write',
  )
  process.exitCode = 1
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(resolve(process.argv[1])).href) main()

/** What a run says on a terminal: tables of figures and of ratios. */
import { baseOf, figures, formatWhole, labelOf, ratioOf, spreadOf, toSpreadText } from '../report/figures.mjs'
import { clientNamed } from './clients/index.mjs'
import { median, toRatioText } from './statistics.mjs'

/**
 * @typedef {import('./scenarios.mjs').Scenario} Scenario
 * @typedef {import('../report/figures.mjs').Entry} Entry
 */

/** @param {string[][]} rows the first one is the head @returns {string} */
export function table(rows) {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)))
  const toLine = (/** @type {string[]} */ row) =>
    row
      .map((cell, column) => (column < 2 ? cell.padEnd(widths[column]) : cell.padStart(widths[column])))
      .join('  ')
  return rows.map((row) => toLine(row).trimEnd()).join('\n')
}

/** The median of the values, the lowest and the highest. @param {readonly number[]} values */
export function toSpread(values, digits = 0) {
  const [middle, least, most] = [median(values), Math.min(...values), Math.max(...values)].map((value) =>
    value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits }),
  )
  return `${middle} (${least}-${most})`
}

/** Of these, the lowest and the highest of the rounds stand beside the median. */
const SPREAD = ['requestsPerSecond', 'cpuMicros']

/** @param {Entry} entry what its figures are, and what a whole second of CPU time is worth, on however many threads it was spent */
function toCells(entry) {
  const [rate, ...others] = figures.map((figure) => {
    const spread = spreadOf(entry, figure.key)
    if (spread === null) return '-'
    return SPREAD.includes(figure.key) ? toSpreadText(figure, spread) : figure.format(spread.median)
  })
  const { median: micros } = spreadOf(entry, 'cpuMicros') ?? { median: 0 }
  return [rate, micros > 0 ? formatWhole(1e6 / micros) : '-', ...others]
}

const HEADS = figures.map(({ label }) => label).toSpliced(1, 0, 'requests/CPU s')

/** What is held against another client. @type {Readonly<Record<string, (entry: Entry, base: Entry) => import('../report/figures.mjs').Spread | null>>} */
const COMPARED = {
  'requests/s': (entry, base) => ratioOf(entry, base, 'requestsPerSecond'),
  'requests/CPU s': (entry, base) => ratioOf(base, entry, 'cpuMicros'),
  CPU: (entry, base) => ratioOf(entry, base, 'cpuMicros'),
  'heap bytes': (entry, base) => ratioOf(entry, base, 'allocatedBytes'),
}

/**
 * @param {Scenario} scenario @param {readonly Entry[]} entries
 * @param {string} client the one to hold the others against
 * @returns {string[]} a table, or none when no client can be compared
 */
function toRatioTable(scenario, entries, client) {
  const rows = entries.flatMap((entry) => {
    const base = baseOf(entry, client, { ...scenario, entries: [...entries] })
    if (base === null) return []
    return [
      [
        labelOf(entry),
        entry.api,
        ...Object.values(COMPARED).map((toRatio) => toRatioText(toRatio(entry, base))),
      ],
    ]
  })
  if (rows.length === 0) return []
  return [table([[`÷ ${clientNamed(client).label}`, 'API', ...Object.keys(COMPARED)], ...rows])]
}

/**
 * @param {Scenario} scenario @param {readonly Entry[]} entries
 * @param {readonly string[]} against clients that the ratios are taken against, a table each
 */
export function toTables(scenario, entries, against) {
  const rows = entries.map((entry) => [labelOf(entry), entry.api, ...toCells(entry)])
  return [
    table([['client', 'API', ...HEADS], ...rows]),
    ...against.flatMap((client) => toRatioTable(scenario, entries, client)),
  ].join('\n\n')
}

/** @param {Scenario} scenario */
export function describe({ name, method, bodyBytes, responseBytes, inFlight, pattern, tls, ...more }) {
  const { connections, origins, latency, server, varies, isStreamed, largeWindows } = more
  const wires = connections === 1 ? 'one connection' : `${connections} connections`
  return [
    `${name}: ${method}`,
    `${formatWhole(responseBytes)} bytes${bodyBytes === 0 ? '' : ' there and back'}`,
    pattern === 'steady' ? `${formatWhole(inFlight)} in flight` : `${inFlight} at once, in rounds`,
    origins === 1 ? wires : `${formatWhole(origins)} origins, ${wires} each`,
    tls ? 'TLS' : 'h2c',
    ...(varies === true ? ['paths and responses that differ'] : []),
    ...(isStreamed === true ? ['from a Readable'] : []),
    ...(largeWindows === true ? ['into windows of 16 MiB'] : []),
    ...(latency === 0 ? [] : [`${latency} ms of emulated round trip`]),
    ...(server === null ? [] : ['server node:http2']),
  ].join(', ')
}

/** @param {ReturnType<typeof import('./servers.mjs').describeMachine>} machine */
export function describeSetting(machine) {
  const { cpu, cores, platform, node, server, pinned, loadBefore } = machine
  const where =
    pinned === null
      ? 'not pinned to cores'
      : `client on core ${pinned.client}, server on core ${pinned.server}`
  return [
    `${cpu}, ${cores} cores, ${platform}; load before ${loadBefore.toFixed(2)}`,
    `Clients on Node ${node}, server ${server}; ${where}`,
  ].join('\n')
}

/** What a run says on a terminal: tables of figures and of ratios. */
import { clientNamed } from './clients/index.mjs'
import { median, pairedRatio, toRatioText } from './statistics.mjs'

/**
 * @typedef {import('./scenarios.mjs').Scenario} Scenario
 * @typedef {import('./measure.mjs').Entry} Entry
 * @typedef {import('./worker.mjs').Measurement} Measurement
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

const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })
const tenths = new Intl.NumberFormat('en', { minimumFractionDigits: 1, maximumFractionDigits: 1 })
const hundredths = new Intl.NumberFormat('en', { minimumFractionDigits: 2, maximumFractionDigits: 2 })
const mebibytes = { format: (/** @type {number} */ bytes) => whole.format(bytes / 2 ** 20) }

/** @typedef {(round: Measurement) => number | null} Read a figure of one measurement; null: the client can't tell */

/** @type {Readonly<Record<'rate' | 'cpu' | 'rateOfCpu' | 'heap', Read>>} */
const READ = {
  rate: ({ requestsPerSecond }) => requestsPerSecond,
  cpu: ({ cpuMicros }) => cpuMicros,
  // What a whole second of CPU time is worth, on however many threads it was spent.
  rateOfCpu: ({ cpuMicros }) => (cpuMicros > 0 ? 1e6 / cpuMicros : null),
  heap: ({ allocatedBytes }) => allocatedBytes,
}

/**
 * The columns: what it is, how it is written, and whether the lowest and the highest of the rounds stand beside the median.
 *
 * @type {readonly { head: string, read: Read, format: { format(value: number): string }, hasSpread?: boolean }[]}
 */
const columns = [
  { head: 'requests/s', read: READ.rate, format: whole, hasSpread: true },
  { head: 'requests/CPU s', read: READ.rateOfCpu, format: whole },
  { head: 'CPU µs', read: READ.cpu, format: tenths, hasSpread: true },
  { head: 'p50 µs', read: ({ p50Micros }) => p50Micros, format: whole },
  { head: 'p99 µs', read: ({ p99Micros }) => p99Micros, format: whole },
  { head: 'heap bytes', read: READ.heap, format: whole },
  { head: 'GC µs', read: ({ gcMicros }) => gcMicros, format: hundredths },
  { head: 'RSS MiB', read: ({ residentBytes }) => residentBytes, format: mebibytes },
]

/** What is held against another client. @type {readonly { head: string, read: Read }[]} */
const compared = [
  { head: 'requests/s', read: READ.rate },
  { head: 'requests/CPU s', read: READ.rateOfCpu },
  { head: 'CPU', read: READ.cpu },
  { head: 'heap bytes', read: READ.heap },
]

/** @param {Entry} entry @param {typeof columns[number]} column */
function toCell({ rounds }, { read, format, hasSpread }) {
  const values = rounds.map(read).filter((value) => value !== null)
  if (values.length === 0) return '-'
  const middle = format.format(median(values))
  return hasSpread
    ? `${middle} (${format.format(Math.min(...values))}–${format.format(Math.max(...values))})`
    : middle
}

/** @param {Entry} entry @param {Entry} base @param {Read} read */
function ratio(entry, base, read) {
  const [own, others] = [entry, base].map(({ rounds }) => rounds.map((round) => read(round) ?? Number.NaN))
  return toRatioText(pairedRatio(own ?? [], others ?? []))
}

/**
 * The row of a client that an entry is held against: that of its own API for the entry's. A client that has but one way
 * to ask does by that what any API does.
 *
 * @param {Entry} entry @param {string} client @param {Scenario} scenario @param {readonly Entry[]} entries
 * @returns {Entry | undefined} undefined: there is none, or it is the entry itself
 */
function toBase(entry, client, scenario, entries) {
  if (entry.client === client) return undefined
  const rows = entries.filter((other) => other.client === client)
  const own = clientNamed(client).apiFor(entry.api, scenario)
  return own === null && rows.length === 1 ? rows[0] : rows.find(({ api }) => api === own)
}

/**
 * @param {Scenario} scenario @param {readonly Entry[]} entries
 * @param {string} client the one to hold the others against
 * @returns {string[]} a table, or none when no client can be compared
 */
function toRatioTable(scenario, entries, client) {
  const rows = entries.flatMap((entry) => {
    const base = toBase(entry, client, scenario, entries)
    if (base === undefined) return []
    return [[entry.label, entry.api, ...compared.map(({ read }) => ratio(entry, base, read))]]
  })
  if (rows.length === 0) return []
  return [table([[`÷ ${clientNamed(client).label}`, 'API', ...compared.map(({ head }) => head)], ...rows])]
}

/**
 * @param {Scenario} scenario @param {readonly Entry[]} entries
 * @param {readonly string[]} against clients that the ratios are taken against, a table each
 */
export function toTables(scenario, entries, against) {
  const figures = entries.map((entry) => [
    entry.label,
    entry.api,
    ...columns.map((column) => toCell(entry, column)),
  ])
  return [
    table([['client', 'API', ...columns.map(({ head }) => head)], ...figures]),
    ...against.flatMap((client) => toRatioTable(scenario, entries, client)),
  ].join('\n\n')
}

/** @param {Scenario} scenario */
export function describe({ name, method, bodyBytes, responseBytes, inFlight, pattern, tls, ...more }) {
  const { connections, origins, latency, server, varies, isStreamed, largeWindows } = more
  const wires = connections === 1 ? 'one connection' : `${connections} connections`
  return [
    `${name}: ${method}`,
    `${whole.format(responseBytes)} bytes${bodyBytes === 0 ? '' : ' there and back'}`,
    pattern === 'steady' ? `${whole.format(inFlight)} in flight` : `${inFlight} at once, in rounds`,
    origins === 1 ? wires : `${whole.format(origins)} origins, ${wires} each`,
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

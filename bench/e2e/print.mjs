/**
 * What a run says on a terminal: tables of figures and of ratios.
 */
import { clientNamed, peerClient, referenceClient } from './clients/index.mjs'
import { median, pairedRatio } from './statistics.mjs'

/**
 * @typedef {import('./scenarios.mjs').Scenario} Scenario
 * @typedef {import('./measure.mjs').Entry} Entry
 * @typedef {import('./worker.mjs').Measurement} Measurement
 * @typedef {Exclude<keyof Measurement, 'version'>} Figure
 */

/**
 * @param {string[][]} rows the first one is the head
 * @returns {string}
 */
export function table(rows) {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => (row[column] ?? '').length)),
  )
  return rows
    .map((row) =>
      row
        .map((cell, column) =>
          column < 2 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
        )
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })
const tenths = new Intl.NumberFormat('en', { minimumFractionDigits: 1, maximumFractionDigits: 1 })
const hundredths = new Intl.NumberFormat('en', { minimumFractionDigits: 2, maximumFractionDigits: 2 })
const mebibytes = { format: (/** @type {number} */ bytes) => whole.format(bytes / 2 ** 20) }

/** The columns: what it is, how it is written, and whether the lowest and the highest of the rounds stand beside the median. */
const columns = /** @type {const} */ ([
  { head: 'requests/s', key: 'requestsPerSecond', format: whole, hasSpread: true },
  { head: 'CPU µs', key: 'cpuMicros', format: tenths, hasSpread: true },
  { head: 'p50 µs', key: 'p50Micros', format: whole, hasSpread: false },
  { head: 'p99 µs', key: 'p99Micros', format: whole, hasSpread: false },
  { head: 'heap bytes', key: 'allocatedBytes', format: whole, hasSpread: false },
  { head: 'GC µs', key: 'gcMicros', format: hundredths, hasSpread: false },
  { head: 'RSS MiB', key: 'residentBytes', format: mebibytes, hasSpread: false },
])

/**
 * @param {Entry} entry
 * @param {typeof columns[number]} column
 */
function toCell({ rounds }, { key, format, hasSpread }) {
  const values = rounds.map((round) => round[key]).filter((value) => value !== null)
  if (values.length === 0) return '-'
  const middle = format.format(median(values))
  return hasSpread
    ? `${middle} (${format.format(Math.min(...values))}–${format.format(Math.max(...values))})`
    : middle
}

/**
 * @param {Entry} entry
 * @param {Entry | undefined} base
 * @param {'requestsPerSecond' | 'cpuMicros'} key
 */
function ratio(entry, base, key) {
  if (base === undefined || base === entry) return '-'
  const { median, low, high } = pairedRatio(
    entry.rounds.map((round) => round[key]),
    base.rounds.map((round) => round[key]),
  )
  return `${median.toFixed(2)} [${low.toFixed(2)}, ${high.toFixed(2)}]`
}

/**
 * @param {Scenario} scenario
 * @param {Entry[]} entries
 */
export function toTables(scenario, entries) {
  const figures = entries.map((entry) => [
    entry.label,
    entry.api,
    ...columns.map((column) => toCell(entry, column)),
  ])
  const { apiFor } = clientNamed(referenceClient)
  const ratios = entries.map((entry) => {
    const reference = entries.find(
      ({ client, api }) => client === referenceClient && api === apiFor(entry.api, scenario),
    )
    const peer = entries.find(({ client, api }) => client === peerClient && api === entry.api)
    return [
      entry.label,
      entry.api,
      ratio(entry, reference, 'requestsPerSecond'),
      ratio(entry, reference, 'cpuMicros'),
      ratio(entry, peer, 'requestsPerSecond'),
      ratio(entry, peer, 'cpuMicros'),
    ]
  })
  const versus = clientNamed(peerClient).label
  return [
    table([['client', 'API', ...columns.map(({ head }) => head)], ...figures]),
    table([
      ['ratios', '', 'req/s ÷ node:http2', 'CPU ÷ node:http2', `req/s ÷ ${versus}`, `CPU ÷ ${versus}`],
      ...ratios,
    ]),
  ].join('\n\n')
}

/** @param {Scenario} scenario */
export function describe({ name, method, bodyBytes, answerBytes, inFlight, pattern, tls, ...more }) {
  const { connections, origins, latency, server } = more
  const wires = connections === 1 ? 'one connection' : `${connections} connections`
  return [
    `${name}: ${method}`,
    `${whole.format(answerBytes)} bytes${bodyBytes === 0 ? '' : ' there and back'}`,
    pattern === 'steady' ? `${whole.format(inFlight)} in flight` : `${inFlight} at once, in rounds`,
    origins === 1 ? wires : `${whole.format(origins)} origins, ${wires} each`,
    tls ? 'TLS' : 'h2c',
    ...(latency === 0 ? [] : [`${latency} ms of emulated round trip`]),
    ...(server === null ? [] : ['server node:http2']),
  ].join(', ')
}

/** @param {ReturnType<import('./machine.mjs').describeMachine>} machine */
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

/** What a result says, as text: its figures with their spread, its ratios, its scenarios. */
import { clients, floorClient, hpackFloorClient, peerClient, referenceClient } from '../e2e/clients/index.mjs'
import { median, pairedRatio } from '../e2e/statistics.mjs'

/**
 * What bench/e2e/run.mjs writes. A client outside of Node can't tell everything: then it is null.
 *
 * @typedef {Partial<import('../e2e/worker.mjs').Measurement>} Measurement one process; for each request where that makes sense
 * @typedef {Pick<import('../e2e/measure.mjs').Plan, 'client' | 'api'> & Partial<import('../e2e/measure.mjs').Entry> & { rounds: Measurement[] }} Entry
 *   `warmup`, `requests`: what it got of them, where that isn't what the scenario says
 * @typedef {import('../e2e/scenarios.mjs').Scenario & { entries: Entry[] }} MeasuredScenario
 * @typedef {Partial<ReturnType<typeof import('../e2e/servers.mjs').describeMachine>>} Machine
 * @typedef {object} Result
 * @property {string} date
 * @property {string} [command]
 * @property {Machine} machine
 * @property {{ hash: string, isDirty: boolean } | null} [revision]
 * @property {number} [rounds]
 * @property {MeasuredScenario[]} scenarios
 *
 * @typedef {{ median: number, low: number, high: number }} Spread of rounds: lowest and highest; of a ratio: its 95 % interval
 * @typedef {Exclude<keyof Measurement, 'version'>} FigureKey
 * @typedef {{ key: FigureKey, label: string, better: 'more' | 'less', format: (value: number) => string }} Figure `label`: the head of a column
 */

const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })
const tenths = new Intl.NumberFormat('en', { minimumFractionDigits: 1, maximumFractionDigits: 1 })
const twoDigits = new Intl.NumberFormat('en', { maximumSignificantDigits: 2 })

/** @param {number} value */
export const formatWhole = (value) => whole.format(value)
/** @param {number} value */
const formatTenths = (value) => (value > 0 && value < 1 ? twoDigits : tenths).format(value)
/** @param {number} value of microseconds */
const formatMicros = (value) => (Math.abs(value) < 100 ? formatTenths : formatWhole)(value)
/** @param {number} value of bytes, as MiB */
const formatMebibytes = (value) => tenths.format(value / 2 ** 20)

/** @type {readonly Figure[]} */
export const figures = [
  { key: 'requestsPerSecond', label: 'requests/s', better: 'more', format: formatWhole },
  { key: 'cpuMicros', label: 'CPU µs', better: 'less', format: formatTenths },
  { key: 'p50Micros', label: 'p50 µs', better: 'less', format: formatMicros },
  { key: 'p99Micros', label: 'p99 µs', better: 'less', format: formatMicros },
  { key: 'allocatedBytes', label: 'bytes', better: 'less', format: formatWhole },
  { key: 'gcMicros', label: 'GC µs', better: 'less', format: formatTenths },
  { key: 'residentBytes', label: 'RSS MiB', better: 'less', format: formatMebibytes },
]

/** @param {Entry} entry @param {FigureKey} key @returns {number[] | null} null: there is none, or not in every round */
function valuesOf({ rounds }, key) {
  const values = rounds.flatMap((round) => {
    const value = round[key]
    return typeof value === 'number' && Number.isFinite(value) ? [value] : []
  })
  return values.length === 0 || values.length < rounds.length ? null : values
}

/** @param {Entry} entry @param {FigureKey} key @returns {Spread | null} */
export function spreadOf(entry, key) {
  const values = valuesOf(entry, key)
  if (values === null) return null
  return { median: median(values), low: Math.min(...values), high: Math.max(...values) }
}

/** @param {Pick<Figure, 'format'>} figure @param {Spread | null} spread */
export function toSpreadText({ format }, spread) {
  return spread === null ? '-' : `${format(spread.median)} (${format(spread.low)}–${format(spread.high)})`
}

/**
 * The row of a client that an entry is held against: that of its own API for the entry's. A client that has but one way
 * to ask does by that what any API does.
 *
 * @param {Entry} entry @param {string} client @param {MeasuredScenario} scenario
 * @returns {Entry | null} null: there is none, or it is the entry itself
 */
export function baseOf(entry, client, scenario) {
  if (entry.client === client) return null
  const rows = scenario.entries.filter((other) => other.client === client)
  const own = clients[client]?.apiFor(entry.api, scenario) ?? null
  const base = own === null && rows.length === 1 ? rows[0] : rows.find(({ api }) => api === own)
  return base ?? null
}

/** @param {Entry} entry @param {Entry | null} base @param {FigureKey} key @returns {Spread | null} */
export function ratioOf(entry, base, key) {
  const own = valuesOf(entry, key)
  const others = base === null ? null : valuesOf(base, key)
  if (own === null || others === null || own.length !== others.length) return null
  const ratio = pairedRatio(own, others)
  return Object.values(ratio).every(Number.isFinite) ? ratio : null
}

/** @param {Entry} entry */
export function labelOf({ client, label }) {
  return label ?? clients[client]?.label ?? client
}

/** @param {Entry} entry */
export const isOurs = ({ client }) => client === 'dodici' || client.startsWith('dodici-')

/** @param {Entry} entry */
export const isReference = ({ client }) => client === referenceClient

/** @param {Entry} entry */
export const isFloor = ({ client }) => client === floorClient

const BOUNDS = [floorClient, hpackFloorClient, 'h2load']

/** Whether an entry is no client that one could use, but a bound: it is drawn as a line. @param {Entry} entry */
export const isLine = ({ client }) => BOUNDS.includes(client)

/** @param {Entry} entry @returns {import('./svg.mjs').Tone} an engine of ours has a colour of its own */
export function toneOf(entry) {
  if (entry.client === 'dodici-wire') return 'wire'
  if (isOurs(entry)) return 'ours'
  return isReference(entry) ? 'reference' : 'other'
}

export { peerClient, referenceClient }

/** The record of chaos runs: what one run has counted, the sum of all of them in a file of JSON, and its page. */
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { toTable as toMarkdown } from '../../page.mjs'

/** As many kinds of errors are kept; the others are counted together. */
const MAX_ERRORS = 40
const MAX_NOTES = 20

/**
 * @typedef {Record<string, number>} Counts
 * @typedef {ReturnType<typeof emptyRecord>} EngineRecord
 *
 * @typedef {{ run: number, minute: number, rss: number, committed?: number, young?: number, heap: number }} Mark the memory at a minute of
 *   a run, in megabytes: `committed` is what V8's heap takes of RSS, `young` what its young generation takes of that; `heap` was measured after
 *   a garbage collection
 *
 * @typedef {object} State
 * @property {string[]} node versions
 * @property {Record<string, string>} versions of the servers
 * @property {string[]} missing servers
 * @property {string[]} [notes] what a reader has to know of the runs, added by hand
 * @property {Record<string, EngineRecord>} engines
 */

/** @returns {Counts} */
const none = () => ({})

/** What the runs of one engine have counted. */
export const emptyRecord = () => ({
  ...{ runs: 0, seconds: 0, calls: 0 },
  outcomes: none(),
  errors: none(),
  /** Calls by server, and by kind. */
  servers: none(),
  kinds: none(),
  /** Those of the relay, by kind, and the connections that it has accepted. */
  faults: none(),
  connections: 0,
  /** GOAWAYs of the client, by code; and those with an error that the server has earned, by why. */
  goaways: none(),
  earned: none(),
  /** By the server that has counted them; and those that may be taken once, and were taken more often. */
  posts: none(),
  twice: 0,
  /** By milliseconds, rounded. */
  recoveries: none(),
  late: 0,
  lateNotes: /** @type {string[]} */ ([]),
  violationCount: 0,
  violations: /** @type {string[]} */ ([]),
  /** Of the runs. */
  seeds: /** @type {number[]} */ ([]),
  marks: /** @type {Mark[]} */ ([]),
})

/** @param {string} file @returns {State} */
export function readState(file) {
  if (!existsSync(file)) return { node: [], versions: {}, missing: [], engines: {} }
  return JSON.parse(readFileSync(file, 'utf8'))
}

/** Never leaves half a file. @param {string} file @param {State} state */
export function writeState(file, state) {
  writeFileSync(`${file}.new`, `${JSON.stringify(state, null, 1)}\n`)
  renameSync(`${file}.new`, file)
}

/** @param {Counts} a @param {Counts} b */
export function addCounts(a, b) {
  const sum = { ...a }
  for (const [name, count] of Object.entries(b)) sum[name] = (sum[name] ?? 0) + count
  return sum
}

/** The most frequent ones. @param {Counts} counts */
function cutCounts(counts) {
  const { others = 0, ...named } = counts
  const sorted = Object.entries(named).sort(([, a], [, b]) => b - a)
  const rest = sorted.slice(MAX_ERRORS).reduce((sum, [, count]) => sum + count, others)
  return Object.fromEntries([...sorted.slice(0, MAX_ERRORS), ...(rest > 0 ? [['others', rest]] : [])])
}

/** @param {EngineRecord} a @param {EngineRecord} b @returns {EngineRecord} */
export function addRecords(a, b) {
  const sum = /** @type {any} */ ({})
  for (const name of /** @type {(keyof EngineRecord)[]} */ (Object.keys(emptyRecord()))) {
    const [left, right] = [/** @type {any} */ (a[name]), /** @type {any} */ (b[name])]
    if (typeof left === 'number') sum[name] = left + right
    else if (Array.isArray(left)) sum[name] = [...left, ...right]
    else sum[name] = addCounts(left ?? {}, right)
  }
  sum.errors = cutCounts(sum.errors)
  sum.lateNotes = sum.lateNotes.slice(-MAX_NOTES)
  sum.violations = sum.violations.slice(0, MAX_NOTES)
  return sum
}

/** To two digits: a few hundred different ones at most. @param {number} milliseconds */
const round = (milliseconds) => Number(Math.max(milliseconds, 1).toPrecision(2))

/** @param {number[]} times in milliseconds @returns {Counts} */
export function toHistogram(times) {
  /** @type {Counts} */
  const counts = {}
  for (const time of times) counts[round(time)] = (counts[round(time)] ?? 0) + 1
  return counts
}

/** @param {Counts} histogram @param {number} share from 0 to 1 @returns {number} milliseconds; 0: there are none */
function toQuantile(histogram, share) {
  const sorted = Object.entries(histogram).map(([time, count]) => [Number(time), count])
  sorted.sort(([a], [b]) => a - b)
  const total = sorted.reduce((sum, [, count]) => sum + count, 0)
  let left = Math.ceil(total * share)
  for (const [time, count] of sorted) {
    left -= count
    if (left <= 0) return time
  }
  return 0
}

/** Minutes between two rows of the memory, of all that was recorded. */
const ROW = 30

const INTRODUCTION = readFileSync(join(import.meta.dirname, 'introduction.md'), 'utf8')

/** @param {number} count */
const format = (count) => count.toLocaleString('en-US')

/** @param {(string | number)[]} head @param {(string | number)[][]} rows */
function toTable(head, rows) {
  const toCell = (/** @type {string | number} */ cell) =>
    typeof cell === 'number' ? format(cell) : cell.replaceAll('|', '\\|')
  return toMarkdown(
    [head, ...rows].map((cells) => cells.map(toCell)),
    '---:',
  )
}

/** @param {Record<string, number>} counts */
const sum = (counts) => Object.values(counts).reduce((total, count) => total + count, 0)

/** @param {EngineRecord} record */
function toHours({ seconds }) {
  return (seconds / 3_600).toFixed(2)
}

/** @param {EngineRecord} record @param {number} share */
const quantile = ({ recoveries }, share) => `${format(toQuantile(recoveries, share))} ms`

/** @type {readonly (readonly [string, (record: EngineRecord) => string | number])[]} */
export const SUMMARY = [
  ['hours', toHours],
  ['runs', ({ runs }) => runs],
  ['calls', ({ calls }) => calls],
  ['connections', ({ connections }) => connections],
  ['faults', ({ faults }) => sum(faults)],
  ['POSTs that the origins counted', ({ posts }) => sum(posts)],
  ['of these, received twice', ({ twice }) => twice],
  ['GOAWAYs that the client sent', ({ goaways }) => sum(goaways)],
  ["of these, with an error that was the server's fault", ({ earned }) => sum(earned)],
  ['of these, with any other error', ({ goaways, earned }) => sum(goaways) - (goaways[0] ?? 0) - sum(earned)],
  ['recoveries measured', ({ recoveries }) => sum(recoveries)],
  ['recovery, median', (record) => quantile(record, 0.5)],
  ['recovery, 99 %', (record) => quantile(record, 0.99)],
  ['recovery, longest', (record) => quantile(record, 1)],
  ['recoveries that took longer than allowed', ({ late }) => late],
  ['violations', ({ violationCount }) => violationCount],
]

/**
 * One row for each name in any engine's counts.
 *
 * @param {string} title @param {[string, EngineRecord][]} engines
 * @param {(record: EngineRecord) => Record<string, number>} select
 */
function toCountTable(title, engines, select) {
  const names = [...new Set(engines.flatMap(([, record]) => Object.keys(select(record))))]
  const total = (/** @type {string} */ name) =>
    engines.reduce((all, [, record]) => all + (select(record)[name] ?? 0), 0)
  names.sort((a, b) => total(b) - total(a) || (a < b ? -1 : 1))
  const rows = names.map((name) => [name, ...engines.map(([, record]) => select(record)[name] ?? 0)])
  return toTable([title, ...engines.map(([name]) => name)], rows)
}

/** The last mark of each half hour of all runs together. @param {EngineRecord} record */
function toMemory({ marks }) {
  /** @type {Map<number, Mark>} */
  const rows = new Map()
  let before = 0
  let [run, minute] = [0, 0]
  for (const mark of marks) {
    if (mark.run !== run) before += minute
    ;[run, minute] = [mark.run, mark.minute]
    rows.set(Math.ceil((before + minute) / ROW) * ROW, mark)
  }
  return rows
}

/** @param {[string, EngineRecord][]} engines */
function toMemoryTable(engines) {
  const columns = engines.map(([, record]) => toMemory(record))
  const minutes = [...new Set(columns.flatMap((rows) => [...rows.keys()]))].sort((a, b) => a - b)
  const rows = minutes.map((minute) => [
    `${minute / 60} h`,
    ...columns.flatMap((column) => {
      const mark = column.get(minute)
      return mark === undefined ? ['', '', ''] : [`${mark.run}`, `${mark.rss}`, `${mark.heap}`]
    }),
  ])
  const head = engines.flatMap(([name]) => [`${name}: run`, 'RSS, MB', 'heap, MB'])
  return toTable(['until', ...head], rows)
}

/** @param {[string, EngineRecord][]} engines @param {'violations' | 'lateNotes'} name */
function toNotes(engines, name) {
  const notes = engines.flatMap(([engine, record]) =>
    record[name].map((note) => `- ${engine}: ${note.split('\n')[0]}`),
  )
  return notes.length === 0 ? 'None.' : notes.join('\n')
}

/** @param {State} state */
export function toPage({ node, versions, missing, notes = [], engines: all }) {
  const engines = Object.entries(all).sort(([a], [b]) => (a < b ? -1 : 1))
  const names = engines.map(([name]) => `engine ${name}`)
  const rows = SUMMARY.map(([title, select]) => [title, ...engines.map(([, record]) => select(record))])
  const servers = Object.entries(versions).map(([name, version]) =>
    name.startsWith('Node') ? `Node ${version}` : `${name} ${version}`,
  )
  return `${INTRODUCTION}
Client: Node ${node.join(', ')}. Servers: ${servers.join(', ')}.
${missing.length === 0 ? 'No server was left out.' : `Left out: ${missing.join(', ')}.`}

nginx, Apache, Envoy, HAProxy, h2o and Caddy are proxies in front of one HTTP/1.1 origin, and retry nothing. WebSockets go to Envoy and HAProxy. (Hypercorn
0.18 offers them as well, but doesn't end the stream of a WebSocket that the client closes, and drops the connection after one that it closes itself.) Tunnels
go to Go and Node.
${notes.map((note) => `\n${note}\n`).join('')}
## Result

${toTable(['', ...names], rows)}

## Violations

${toNotes(engines, 'violations')}

## Late recoveries

The most recent recoveries that took longer than allowed.

${toNotes(engines, 'lateNotes')}

## Memory

The memory of the client's process alone, under load. Each run is a new process. The heap was measured after a garbage collection, RSS without one.

${toMemoryTable(engines)}

## Faults

${toCountTable('fault', engines, ({ faults }) => faults)}

## GOAWAYs with an error that was the server's fault

${toCountTable('reason', engines, ({ earned }) => earned)}

## Calls by server

${toCountTable('server', engines, (record) => record.servers)}

## Calls by kind

${toCountTable('kind', engines, ({ kinds }) => kinds)}

## Calls by outcome

A call may fail if a fault hits it on its way. Its error then says whether the server may have processed it.

${toCountTable('outcome', engines, ({ outcomes }) => outcomes)}

## Errors

${toCountTable('error', engines, ({ errors }) => errors)}

## POSTs, by the server that counted them

${toCountTable('', engines, ({ posts }) => posts)}
`
}

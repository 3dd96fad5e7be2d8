/** The record of chaos runs: what one run has counted, and the sum of all of them in a file of JSON. */
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'

/** As many kinds of errors are kept; the others are counted together. */
const MAX_ERRORS = 40
const MAX_NOTES = 20

/**
 * @typedef {Record<string, number>} Counts
 *
 * @typedef {object} Mark
 * @property {number} run
 * @property {number} minute of the run
 * @property {number} rss in megabytes
 * @property {number} [committed] what V8's heap takes of it, in megabytes
 * @property {number} [young] what V8's young generation takes of that
 * @property {number} heap in megabytes, after a garbage collection
 *
 * @typedef {object} EngineRecord
 * @property {number} runs
 * @property {number} seconds of load
 * @property {number} calls
 * @property {Counts} outcomes
 * @property {Counts} errors
 * @property {Counts} servers calls by server
 * @property {Counts} kinds calls by kind
 * @property {Counts} faults by kind
 * @property {number} connections that the relay has accepted
 * @property {Counts} goaways of the client, by code
 * @property {Counts} earned those with an error that the server has earned, by why
 * @property {Counts} posts by the server that has counted them
 * @property {number} twice POSTs that may be taken once, and were taken more often
 * @property {Counts} recoveries by milliseconds, rounded
 * @property {number} late recoveries
 * @property {string[]} lateNotes
 * @property {number} violationCount
 * @property {string[]} violations
 * @property {number[]} seeds of the runs
 * @property {Mark[]} marks
 *
 * @typedef {object} State
 * @property {string[]} node versions
 * @property {Record<string, string>} versions of the servers
 * @property {string[]} missing servers
 * @property {string[]} [notes] what a reader has to know of the runs
 * @property {Record<string, EngineRecord>} engines
 */

/** @returns {EngineRecord} */
export function emptyRecord() {
  return {
    ...{
      runs: 0,
      seconds: 0,
      calls: 0,
      outcomes: {},
      errors: {},
      servers: {},
      kinds: {},
      faults: {},
      connections: 0,
    },
    ...{
      goaways: {},
      earned: {},
      posts: {},
      twice: 0,
      recoveries: {},
      late: 0,
      lateNotes: [],
      violationCount: 0,
    },
    ...{ violations: [], seeds: [], marks: [] },
  }
}

/** @param {string | null} file null: none @returns {State} */
export function readState(file) {
  if (file === null || !existsSync(file)) return { node: [], versions: {}, missing: [], engines: {} }
  return JSON.parse(readFileSync(file, 'utf8'))
}

/** Never leaves half a file. @param {string} file @param {State} state */
export function writeState(file, state) {
  writeFileSync(`${file}.new`, `${JSON.stringify(state, null, 1)}\n`)
  renameSync(`${file}.new`, file)
}

/** @param {Counts} a @param {Counts} b */
function addCounts(a, b) {
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

/** The sum of files that were written side by side. @param {State[]} states @returns {State} */
export function addStates(states) {
  /** @type {State} */
  const sum = { ...readState(null), notes: [] }
  for (const { node, versions, missing, notes = [], engines } of states) {
    sum.node = [...new Set([...sum.node, ...node])]
    sum.missing = [...new Set([...sum.missing, ...missing])]
    sum.notes = [...new Set([...(sum.notes ?? []), ...notes])]
    Object.assign(sum.versions, versions)
    for (const [engine, record] of Object.entries(engines)) {
      const old = sum.engines[engine] ?? emptyRecord()
      const marks = record.marks.map((mark) => ({ ...mark, run: old.runs + mark.run }))
      sum.engines[engine] = addRecords(old, { ...record, marks })
    }
  }
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
export function toQuantile(histogram, share) {
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

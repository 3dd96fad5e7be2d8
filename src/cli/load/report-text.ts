/**
 * A load's report for human readers.
 *
 * @module
 */

import { SecretFilter } from '../../protocol/inspect/secrets.ts'
import { toPrintable } from '../terminal.ts'
import type { LatencySummary } from './histogram.ts'
import type { LoadSpec } from './load-job.ts'
import type { LoadResult } from './load-threads.ts'

/** The latency table's columns. */
const COLUMNS = ['p50', 'p90', 'p99', 'p99.9', 'max', 'mean', 'stddev'] as const
const COLUMN_WIDTH = 9
const LABEL_WIDTH = 15

/** Ends without a line break. */
export function toTextReport(url: URL, spec: LoadSpec, result: LoadResult): string {
  return [
    toTitle(url, spec, result),
    '',
    ...toCounts(result),
    '',
    ...toLatencies(spec, result),
    ...toNotes(spec, result),
  ].join('\n')
}

/** Responses per second. 0 if no time has passed. */
export function toResponseRate({ inTime, elapsed }: LoadResult): number {
  return elapsed === 0 ? 0 : (inTime / elapsed) * 1_000
}

/** Above this fraction of its time, a thread has no time left. */
const MAX_UTILIZATION = 0.9

/** If a larger fraction of requests is late, the figures are the client's. */
const MAX_LATE = 0.01

/**
 * Whether the figures show the client's limit rather than the server's. With a rate, a thread polls the clock, so what
 * counts is what it sent late.
 */
export function isClientLimit({ rate }: LoadSpec, { sentLate, tally, utilization }: LoadResult): boolean {
  if (rate === null) return utilization > MAX_UTILIZATION
  return sentLate > MAX_LATE * (tally.responses + tally.failures)
}

/** The fraction, from 0 to 1, of all requests that failed or got a status other than 2xx and 3xx. */
export function toFailedShare(result: LoadResult): number {
  const good = toStatuses(result).reduce(
    (sum, [status, count]) => sum + (status >= 200 && status < 400 ? count : 0),
    0,
  )
  const all = result.tally.responses + result.tally.failures
  return all === 0 ? 1 : 1 - good / all
}

/** The URL without its secrets. */
export function toShownUrl({ href }: URL): string {
  return new SecretFilter(false, []).toShownText(href)
}

/** The number of requests that failed. */
export function toFailures({ tally }: LoadResult): number {
  return tally.failures
}

/** The statuses that arrived, in ascending order, and how often each did. */
export function toStatuses({ tally }: LoadResult): [status: number, count: number][] {
  return [...tally.statuses.entries()].filter(([, count]) => count > 0)
}

function toTitle(url: URL, { method, sessions, workers, rate }: LoadSpec, result: LoadResult): string {
  const parts = [
    `${toPlural(sessions, 'session')} of ${toPlural(result.streams, 'stream')}`,
    ...(workers > 1 ? [toPlural(workers, 'worker')] : []),
    ...(rate === null ? [] : [`${toCount(rate)} requests/s`]),
    `${(result.elapsed / 1_000).toFixed(2)} s`,
  ]
  return `${method} ${toPrintable(toShownUrl(url))}\n${parts.join(', ')}`
}

function toCounts(result: LoadResult): string[] {
  const { tally, bytes, lasted } = result
  const statuses = toStatuses(result).map(([status, count]) => `${status}: ${toCount(count)}`)
  const errors = [...tally.errors].map(([code, count]) => `${toPrintable(code)}: ${toCount(count)}`)
  const traffic = (count: number) => {
    const rate = lasted === 0 ? 0 : (count / lasted) * 1_000
    return `${toBytes(count)}, ${toBytes(rate)}/s`
  }
  return [
    toRow('Requests/s', toCount(Math.round(toResponseRate(result)))),
    toRow('Responses', toCount(tally.responses), ...statuses),
    toRow('Errors', toCount(toFailures(result)), ...errors),
    toRow('Bodies', traffic(tally.bodyBytes)),
    toRow('Received', `${traffic(bytes.received)}, header sections and framing included`),
    toRow('Sent', traffic(bytes.sent)),
  ]
}

function toRow(label: string, ...parts: readonly string[]): string {
  return `  ${label.padEnd(LABEL_WIDTH)}${parts.join('   ')}`
}

function toLatencies({ rate }: LoadSpec, { tally }: LoadResult): string[] {
  const latency = tally.latency.toSummary()
  if (latency === null) return ['  No response arrived: there are no latencies.']
  const head = toLine('Latency in ms', COLUMNS)
  if (rate === null) return [head, toLine('', toCells(latency))]
  const service = tally.service.toSummary()
  const rows = [head, toLine('since due', toCells(latency))]
  if (service !== null) rows.push(toLine('since sent', toCells(service)))
  return [...rows, '', '  Since due: includes the wait for a free stream (no coordinated omission).']
}

function toLine(label: string, cells: readonly string[]): string {
  return `  ${label.padEnd(LABEL_WIDTH)}${cells.map((cell) => cell.padStart(COLUMN_WIDTH)).join('')}`
}

function toCells({ p50, p90, p99, p999, max, mean, stddev }: LatencySummary): string[] {
  return [p50, p90, p99, p999, max, mean, stddev].map(toMillis)
}

function toLimitNote({ rate, sessions, workers }: LoadSpec, { sentLate, utilization }: LoadResult): string {
  const why =
    rate === null
      ? `a thread was busy for ${Math.floor(utilization * 100)} % of the time`
      : `${toPlural(sentLate, 'request')} went out more than 1 ms late, with a stream free`
  const more =
    workers < sessions ? `--workers ${workers + 1}` : `--sessions ${sessions + 1} --workers ${workers + 1}`
  return `The client is the limit: ${why}. Try ${more}.`
}

/** What a reader has to know to judge the figures. */
function toNotes(spec: LoadSpec, result: LoadResult): string[] {
  const { unsent, unfinished, mostWaiting, streams, lostWorkers } = result
  const notes: string[] = []
  if (isClientLimit(spec, result)) notes.push(toLimitNote(spec, result))
  if (streams < spec.streams) notes.push(`The server allows ${toPlural(streams, 'stream')} per session.`)
  if (mostWaiting > 0) {
    notes.push(`At most ${toPlural(mostWaiting, 'request')} waited for a free stream at the same time.`)
  }
  if (unsent > 0) {
    notes.push(
      `${toPlural(unsent, 'request')} still waited at the end: never sent, and not in the latencies.`,
    )
  }
  if (toFailures(result) > 0) notes.push('Latencies cover responses only: failed requests have none.')
  if (result.isInterrupted) {
    notes.push(`Interrupted: ${toPlural(unfinished, 'request')} didn't finish: only the bytes include them.`)
  }
  for (const why of lostWorkers)
    notes.push(`A worker was lost, and its figures are missing: ${toPrintable(why)}`)
  return notes.length === 0 ? [] : ['', ...notes.map((note) => `  ${note}`)]
}

/** Three digits, or more before the decimal point. */
export function toMillis(duration: number): string {
  if (duration >= 100) return toCount(Math.round(duration))
  const digits = duration >= 10 ? 1 : duration >= 1 ? 2 : 3
  return duration.toFixed(digits)
}

/** In units of 1,000. */
export function toBytes(count: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB']
  let amount = count
  while (amount >= 1_000 && units.length > 1) {
    amount /= 1_000
    units.shift()
  }
  return `${units[0] === 'B' ? Math.round(amount) : amount.toFixed(1)} ${units[0]}`
}

/** With separators, whatever the language of the system. */
export function toCount(count: number): string {
  return count.toLocaleString('en-US')
}

function toPlural(count: number, noun: string): string {
  return `${toCount(count)} ${noun}${count === 1 ? '' : 's'}`
}

/**
 * A load's report for programs. docs/cli.md describes its schema.
 *
 * @module
 */

import type { LatencySummary } from './histogram.ts'
import type { LoadSpec } from './load-job.ts'
import type { LoadResult } from './load-threads.ts'
import { isClientLimit, toResponseRate, toShownUrl, toStatuses } from './report-text.ts'

/** Latencies are in milliseconds, with microseconds as fractions. */
const PRECISION = 1_000

/** Ends without a line break. */
export function toJsonReport(url: URL, spec: LoadSpec, result: LoadResult): string {
  const { tally, bytes, elapsed, lasted } = result
  const { width, counts } = tally.series.toData()
  const report = {
    schema: 1,
    url: toShownUrl(url),
    method: spec.method,
    sessions: spec.sessions,
    streams: result.streams,
    workers: spec.workers,
    rate: spec.rate,
    seconds: toRounded(elapsed / 1_000),
    secondsToEnd: toRounded(lasted / 1_000),
    interrupted: result.isInterrupted,
    requestsPerSecond: toRounded(toResponseRate(result)),
    responses: tally.responses,
    statuses: Object.fromEntries(toStatuses(result)),
    failures: tally.failures,
    errors: Object.fromEntries(tally.errors),
    unsent: result.unsent,
    mostWaiting: result.mostWaiting,
    unfinished: result.unfinished,
    sentLate: result.sentLate,
    utilization: toRounded(result.utilization),
    isClientLimit: isClientLimit(spec, result),
    bytes: { bodies: tally.bodyBytes, received: bytes.received, sent: bytes.sent },
    latency: toFigures(tally.latency.toSummary()),
    serviceTime: toFigures(tally.service.toSummary()),
    series: { seconds: width / 1_000, responses: counts },
    lostWorkers: result.lostWorkers,
  }
  return JSON.stringify(report, null, 2)
}

function toFigures(summary: LatencySummary | null): LatencySummary | null {
  if (summary === null) return null
  const { min, mean, stddev, p50, p90, p99, p999, max } = summary
  return {
    min: toRounded(min),
    mean: toRounded(mean),
    stddev: toRounded(stddev),
    p50: toRounded(p50),
    p90: toRounded(p90),
    p99: toRounded(p99),
    p999: toRounded(p999),
    max: toRounded(max),
  }
}

function toRounded(figure: number): number {
  return Math.round(figure * PRECISION) / PRECISION
}

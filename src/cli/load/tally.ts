/**
 * The requests' results.
 *
 * @module
 */

import type { HistogramData } from './histogram.ts'
import { Histogram } from './histogram.ts'
import type { TimeSeriesData } from './time-series.ts'
import { TimeSeries } from './time-series.ts'

/** There are no higher statuses (RFC 9110 §15). */
const STATUSES = 1_000

/** A {@link Tally} as data that threads can pass to each other. */
export interface TallyData {
  readonly statuses: Float64Array
  readonly errors: ReadonlyMap<string, number>
  readonly bodyBytes: number
  readonly latency: HistogramData
  readonly service: HistogramData
  readonly series: TimeSeriesData
}

/** Counts responses and errors. */
export class Tally {
  /** By status. */
  readonly statuses = new Float64Array(STATUSES)
  /** By code. */
  readonly errors = new Map<string, number>()
  /** From when a request was due, or was sent if there is no rate. Only for responses. */
  readonly latency = new Histogram()
  /** From when a request was sent. Not recorded if there is no rate, because it would be the same. */
  readonly service = new Histogram()
  /** The responses, by the time of their end. */
  readonly series = new TimeSeries()
  /** For all responses, including those that failed later. */
  bodyBytes = 0

  get responses(): number {
    return this.latency.total
  }

  get failures(): number {
    let failures = 0
    for (const count of this.errors.values()) failures += count
    return failures
  }

  /** @param code the error's code */
  recordError(code: string): void {
    this.errors.set(code, (this.errors.get(code) ?? 0) + 1)
  }

  toData(): TallyData {
    return {
      statuses: this.statuses,
      errors: this.errors,
      bodyBytes: this.bodyBytes,
      latency: this.latency.toData(),
      service: this.service.toData(),
      series: this.series.toData(),
    }
  }

  /** Adds what another tally has counted. */
  merge(data: TallyData): void {
    for (const [status, count] of data.statuses.entries()) {
      if (count > 0) this.statuses[status] = (this.statuses[status] ?? 0) + count
    }
    for (const [code, count] of data.errors) this.errors.set(code, (this.errors.get(code) ?? 0) + count)
    this.bodyBytes += data.bodyBytes
    this.latency.merge(data.latency)
    this.service.merge(data.service)
    this.series.merge(data.series)
  }
}

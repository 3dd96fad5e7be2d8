/**
 * Latencies in constant memory.
 *
 * @module
 */

import { endianness } from 'node:os'

/** Each power of two is divided into 2 to the power of this many buckets. */
const DIVISION_BITS = 7
/** A bucket's width relative to its lower bound is at most 1/128. */
const DIVISIONS = 2 ** DIVISION_BITS

/** The lowest and the highest power of two that have buckets, in milliseconds: from about 1 µs to 24 days. */
const MIN_EXPONENT = -10
const MAX_EXPONENT = 31
const BUCKETS = (MAX_EXPONENT - MIN_EXPONENT) * DIVISIONS

/**
 * IEEE 754: the upper half of a double is its sign, 11 bits of exponent, and 20 bits of its fraction. The exponent and
 * the fraction's first bits are the bucket's number.
 */
const double = new Float64Array(1)
const halves = new Uint32Array(double.buffer)
const UPPER_HALF = endianness() === 'LE' ? 1 : 0
const SHIFT = 20 - DIVISION_BITS
const EXPONENT_BIAS = 1_023
const FIRST_BUCKET = (EXPONENT_BIAS + MIN_EXPONENT) * DIVISIONS

/** A {@link Histogram} as data that threads can pass to each other. */
export interface HistogramData {
  readonly counts: Float64Array
  readonly total: number
  readonly min: number
  readonly max: number
  readonly sum: number
  readonly squares: number
}

/** A report's figures, in milliseconds. */
export interface LatencySummary {
  readonly min: number
  readonly mean: number
  readonly stddev: number
  readonly p50: number
  readonly p90: number
  readonly p99: number
  readonly p999: number
  readonly max: number
}

/**
 * Counts durations in buckets whose width grows with the duration, as HdrHistogram does: each percentile is within 0.4
 * % of a recorded duration. It takes 42 kB, however many are recorded.
 */
export class Histogram {
  readonly #counts = new Float64Array(BUCKETS)
  #total = 0
  #min = Number.POSITIVE_INFINITY
  #max = 0
  #sum = 0
  #squares = 0

  /** How many durations were recorded. */
  get total(): number {
    return this.#total
  }

  /** @param duration in milliseconds, 0 or more */
  record(duration: number): void {
    const bucket = toBucket(duration)
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1
    this.#total++
    this.#sum += duration
    this.#squares += duration * duration
    if (duration < this.#min) this.#min = duration
    if (duration > this.#max) this.#max = duration
  }

  /** Adds what another histogram has recorded. */
  merge(data: HistogramData): void {
    for (const [bucket, count] of data.counts.entries()) {
      if (count > 0) this.#counts[bucket] = (this.#counts[bucket] ?? 0) + count
    }
    this.#total += data.total
    this.#sum += data.sum
    this.#squares += data.squares
    this.#min = Math.min(this.#min, data.min)
    this.#max = Math.max(this.#max, data.max)
  }

  toData(): HistogramData {
    return {
      counts: this.#counts,
      total: this.#total,
      min: this.#min,
      max: this.#max,
      sum: this.#sum,
      squares: this.#squares,
    }
  }

  /**
   * The duration that this share of all durations doesn't exceed (nearest rank), in milliseconds.
   *
   * @param share from 0, the shortest, to 1, the longest
   * @returns NaN if nothing was recorded
   */
  percentile(share: number): number {
    if (this.#total === 0) return Number.NaN
    const rank = Math.ceil(share * this.#total)
    if (rank <= 1) return this.#min
    if (rank >= this.#total) return this.#max
    let seen = 0
    for (const [bucket, count] of this.#counts.entries()) {
      seen += count
      if (seen >= rank) return Math.min(this.#max, Math.max(this.#min, toMiddle(bucket)))
    }
    return this.#max
  }

  /** Each non-empty bucket: its middle in milliseconds, and its count. The shortest and the longest are exact. */
  *entries(): Generator<readonly [duration: number, count: number]> {
    for (const [bucket, count] of this.#counts.entries()) {
      if (count > 0) yield [Math.min(this.#max, Math.max(this.#min, toMiddle(bucket))), count]
    }
  }

  /** Null if nothing was recorded. */
  toSummary(): LatencySummary | null {
    if (this.#total === 0) return null
    const mean = this.#sum / this.#total
    // Because of rounding, the difference of two sums may fall below 0.
    const variance = Math.max(0, this.#squares / this.#total - mean * mean)
    return {
      min: this.#min,
      mean,
      stddev: Math.sqrt(variance),
      p50: this.percentile(0.5),
      p90: this.percentile(0.9),
      p99: this.percentile(0.99),
      p999: this.percentile(0.999),
      max: this.#max,
    }
  }
}

function toBucket(duration: number): number {
  double[0] = duration
  const bucket = ((halves[UPPER_HALF] ?? 0) >>> SHIFT) - FIRST_BUCKET
  if (bucket < 0) return 0
  return bucket < BUCKETS ? bucket : BUCKETS - 1
}

function toMiddle(bucket: number): number {
  const exponent = Math.floor(bucket / DIVISIONS) + MIN_EXPONENT
  return 2 ** exponent * (1 + ((bucket % DIVISIONS) + 0.5) / DIVISIONS)
}

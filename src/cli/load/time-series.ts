/**
 * What happened when, in constant memory.
 *
 * @module
 */

/** An interval's initial width, in milliseconds. */
const FIRST_WIDTH = 100
/** The largest number of intervals. Even. */
const MAX_INTERVALS = 512

/** A {@link TimeSeries} as data. */
export interface TimeSeriesData {
  /** In milliseconds. */
  readonly width: number
  /** For each interval. */
  readonly counts: readonly number[]
}

/** Counts events by time interval. When the intervals are used up, each pair of them becomes one of twice the width. */
export class TimeSeries {
  #width = FIRST_WIDTH
  #counts = new Float64Array(MAX_INTERVALS)
  /** One more than the last interval with an event. */
  #length = 0

  /** @param at milliseconds since the beginning, 0 or more */
  record(at: number, count = 1): void {
    let index = Math.floor(at / this.#width)
    while (index >= MAX_INTERVALS) {
      this.#fold()
      index = Math.floor(at / this.#width)
    }
    this.#counts[index] = (this.#counts[index] ?? 0) + count
    if (index >= this.#length) this.#length = index + 1
  }

  /** Adds what another one has counted over the same time. */
  merge(data: TimeSeriesData): void {
    while (this.#width < data.width) this.#fold()
    for (const [index, count] of data.counts.entries()) if (count > 0) this.record(index * data.width, count)
  }

  toData(): TimeSeriesData {
    return { width: this.#width, counts: [...this.#counts.subarray(0, this.#length)] }
  }

  #fold(): void {
    const counts = new Float64Array(MAX_INTERVALS)
    for (let index = 0; index < MAX_INTERVALS; index++) {
      const half = index >> 1
      counts[half] = (counts[half] ?? 0) + (this.#counts[index] ?? 0)
    }
    this.#counts = counts
    this.#width *= 2
    this.#length = (this.#length + 1) >> 1
  }
}

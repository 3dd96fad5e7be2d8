/**
 * The moving average of an upstream's latency.
 *
 * @module
 */

/** One sample counts for at least a 20th: a change shows after some 20 responses, however quickly they arrive. */
const MAX_SAMPLES = 20

/**
 * An exponentially weighted moving average. It falls while there are no samples, so that an upstream that was slow is
 * tried again.
 *
 * All times are in milliseconds.
 */
export class LatencyAverage {
  readonly #window: number
  /** The average at the time of the last sample; -1 if there was none. */
  #average = -1
  #sampledAt = 0
  /** Samples so far, up to {@link MAX_SAMPLES}. */
  #samples = 0

  /** @param window after how long a sample counts for 1/e; above 0 */
  constructor(window: number) {
    this.#window = window
  }

  /** Whether there was a sample. */
  get isMeasured(): boolean {
    return this.#average >= 0
  }

  /** The average at a time; 0 if there was no sample. */
  at(now: number): number {
    return this.isMeasured ? this.#average * this.#toShare(now) : 0
  }

  /** Takes a sample into account. */
  record(latency: number, now: number): void {
    if (this.#samples < MAX_SAMPLES) this.#samples++
    const before = this.isMeasured ? this.#average : latency
    this.#average = before + (latency - before) * Math.max(1 - this.#toShare(now), 1 / this.#samples)
    this.#sampledAt = now
  }

  /** A call took at least this long, and its end isn't known, or is a failure: that can only raise the average. */
  recordAtLeast(latency: number, now: number): void {
    if (latency > this.at(now)) this.record(latency, now)
  }

  /** Forgets all samples. */
  reset(): void {
    this.#average = -1
    this.#samples = 0
  }

  /** How much of the average remains at a time. */
  #toShare(now: number): number {
    return Math.exp(-Math.max(0, now - this.#sampledAt) / this.#window)
  }
}

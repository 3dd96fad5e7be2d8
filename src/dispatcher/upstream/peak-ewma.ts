/**
 * The moving average of a latency, which rises at once and falls slowly.
 *
 * @module
 */

/**
 * Peak EWMA: an exponentially weighted moving average in which a sample above the average takes its place. Without
 * samples it falls, so that an upstream that was slow is tried again.
 *
 * All times are in milliseconds.
 *
 * @see https://github.com/twitter/finagle — `PeakEwma` of its load balancers
 */
export class PeakEwma {
  readonly #window: number
  /** The average at the time of the last sample; -1: there was none. */
  #average = -1
  #sampledAt = 0

  /** @param window after which a sample counts for 1/e; above 0 */
  constructor(window: number) {
    this.#window = window
  }

  /** Whether there was a sample. */
  get isMeasured(): boolean {
    return this.#average >= 0
  }

  /** The average at a time; 0 when there was no sample. */
  at(now: number): number {
    return this.isMeasured ? this.#average * this.#toShare(now) : 0
  }

  /** Takes a sample into account. */
  record(latency: number, now: number): void {
    const share = this.#toShare(now)
    const isPeak = !this.isMeasured || latency > this.#average * share
    this.#average = isPeak ? latency : this.#average * share + latency * (1 - share)
    this.#sampledAt = now
  }

  /** A call took at least so long, and its end isn't known: that can raise the average alone. */
  recordAtLeast(latency: number, now: number): void {
    if (latency > this.at(now)) this.record(latency, now)
  }

  /** A call failed after so long. The average doubles at least, so that a failure that comes fast doesn't look good. */
  recordFailure(elapsed: number, now: number): void {
    this.record(Math.max(elapsed, 2 * this.at(now)), now)
  }

  /** Forgets all samples. */
  reset(): void {
    this.#average = -1
  }

  /** How much of the average is left at a time. */
  #toShare(now: number): number {
    return Math.exp(-Math.max(0, now - this.#sampledAt) / this.#window)
  }
}

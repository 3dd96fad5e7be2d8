/**
 * Which latencies are usual, over all upstreams.
 *
 * @module
 */

/** Each bucket extends to 1.19 times the previous one. */
const STEPS_PER_DOUBLING = 4
/** From 1/16 millisecond to 9 hours. */
const LOWEST = -4
const BUCKETS = 30 * STEPS_PER_DOUBLING

/**
 * Counts the latencies of the last one to two windows, by size. Older ones are forgotten.
 *
 * All times are in milliseconds.
 */
export class LatencyQuantiles {
  readonly #window: number
  #present = new Uint32Array(BUCKETS)
  #former = new Uint32Array(BUCKETS)
  #presentTotal = 0
  #formerTotal = 0
  /** When the current window began. */
  #beganAt: number

  /** @param window above 0 */
  constructor(window: number, now: number) {
    this.#window = window
    this.#beganAt = now
  }

  /** How many latencies it knows. */
  count(now: number): number {
    if (now - this.#beganAt >= this.#window) this.#turn(now)
    return this.#presentTotal + this.#formerTotal
  }

  record(latency: number, now: number): void {
    if (now - this.#beganAt >= this.#window) this.#turn(now)
    const index = Math.floor((Math.log2(latency) - LOWEST) * STEPS_PER_DOUBLING)
    const bucket = Math.min(BUCKETS - 1, Math.max(0, index))
    this.#present[bucket] = (this.#present[bucket] ?? 0) + 1
    this.#presentTotal++
  }

  /**
   * The latency that a fraction of all latencies doesn't exceed, rounded up by at most 19 %.
   *
   * @param share above 0, up to 1: 0.95, for example
   * @returns 0 if there are no latencies
   */
  at(share: number, now: number): number {
    const total = this.count(now)
    let left = total * share
    for (let i = 0; i < BUCKETS && total > 0; i++) {
      left -= this.#count(i)
      if (left <= 0) return 2 ** (LOWEST + (i + 1) / STEPS_PER_DOUBLING)
    }
    return 0
  }

  #count(bucket: number): number {
    return (this.#present[bucket] ?? 0) + (this.#former[bucket] ?? 0)
  }

  /** The current window becomes the previous one, unless it is too old for that. */
  #turn(now: number): void {
    const former = this.#former
    this.#former = this.#present
    this.#present = former.fill(0)
    this.#formerTotal = this.#presentTotal
    this.#presentTotal = 0
    if (now - this.#beganAt >= 2 * this.#window) {
      this.#former.fill(0)
      this.#formerTotal = 0
    }
    this.#beganAt = now
  }
}

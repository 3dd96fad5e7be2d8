/**
 * How many of an upstream's calls succeed.
 *
 * @module
 */

/**
 * Counts that decay with time, so that the past is forgotten. An upstream that isn't known, or isn't used, is assumed
 * to be well.
 *
 * All times are in milliseconds.
 */
export class SuccessRate {
  readonly #window: number
  #successes = 0
  #failures = 0
  #countedAt = 0

  /** @param window after how long a call counts for 1/e; above 0 */
  constructor(window: number) {
    this.#window = window
  }

  record(isSuccess: boolean, now: number): void {
    const left = this.#toShare(now)
    this.#successes = this.#successes * left + (isSuccess ? 1 : 0)
    this.#failures = this.#failures * left + (isSuccess ? 0 : 1)
    this.#countedAt = now
  }

  /** Above 0, up to 1. */
  at(now: number): number {
    if (this.#failures === 0) return 1
    const left = this.#toShare(now)
    const successes = this.#successes * left + 1
    return successes / (successes + this.#failures * left)
  }

  /** Forgets everything. */
  reset(): void {
    this.#successes = 0
    this.#failures = 0
  }

  #toShare(now: number): number {
    return Math.exp(-Math.max(0, now - this.#countedAt) / this.#window)
  }
}

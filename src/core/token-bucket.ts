/**
 * A token bucket: a full bucket allows a burst, and each second adds tokens.
 *
 * @module
 */

const SECOND = 1_000

/** Counts fractions of a token. It has no clock: its owner reads one where that is needed, and no sooner. */
export class TokenBucket {
  /** Tokens of a full bucket. */
  readonly #burst: number
  /** Tokens for each second. */
  readonly #rate: number
  #tokens: number
  /** When it was refilled last, in milliseconds of the owner's clock. */
  #refilledAt: number

  /**
   * A full one.
   *
   * @param burst tokens of a full bucket
   * @param rate tokens for each second
   * @param now milliseconds since some fixed point
   */
  constructor(burst: number, rate: number, now: number) {
    this.#burst = burst
    this.#rate = rate
    this.#tokens = burst
    this.#refilledAt = now
  }

  /** Adds the tokens of the time since the last refill. */
  refill(now: number): void {
    this.#tokens = Math.min(this.#burst, this.#tokens + ((now - this.#refilledAt) * this.#rate) / SECOND)
    this.#refilledAt = now
  }

  /** Adds tokens that were earned. A full bucket takes none; what is earned last may make it more than full. */
  earn(tokens: number): void {
    if (this.#tokens < this.#burst) this.#tokens += tokens
  }

  /** Whether there were so many tokens at the last change. */
  has(tokens: number): boolean {
    return this.#tokens >= tokens
  }

  /** @returns false where there are fewer tokens than that: then all of them stay */
  take(tokens = 1): boolean {
    if (this.#tokens < tokens) return false
    this.#tokens -= tokens
    return true
  }
}

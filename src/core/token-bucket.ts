/**
 * A token bucket: a full bucket allows a burst, and each second adds tokens.
 *
 * @module
 */

const SECOND = 1_000

/** Counts fractions of a token. It has no clock: its owner reads one only when that is needed. */
export class TokenBucket {
  /** The tokens of a full bucket. */
  readonly #burst: number
  /** Tokens per second. */
  readonly #rate: number
  #tokens: number
  /** When it was last refilled, in the owner's clock's milliseconds. */
  #refilledAt: number

  /**
   * Creates a full bucket.
   *
   * @param burst the tokens of a full bucket
   * @param rate tokens per second
   * @param now milliseconds since some fixed point
   */
  constructor(burst: number, rate: number, now: number) {
    this.#burst = burst
    this.#rate = rate
    this.#tokens = burst
    this.#refilledAt = now
  }

  /** Adds the tokens for the time since the last refill. */
  refill(now: number): void {
    this.#tokens = Math.min(this.#burst, this.#tokens + ((now - this.#refilledAt) * this.#rate) / SECOND)
    this.#refilledAt = now
  }

  /** Adds earned tokens. A full bucket takes none, but the last addition may make it more than full. */
  earn(tokens: number): void {
    if (this.#tokens < this.#burst) this.#tokens += tokens
  }

  /** Whether there were so many tokens at the last change. */
  has(tokens: number): boolean {
    return this.#tokens >= tokens
  }

  /** @returns false if there are fewer tokens than that: then none is taken */
  take(tokens = 1): boolean {
    if (this.#tokens < tokens) return false
    this.#tokens -= tokens
    return true
  }
}

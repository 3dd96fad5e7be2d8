/**
 * Something that was learned about a peer, and that is believed for a time.
 *
 * @module
 */

import type { Clock } from '../core/clock.ts'

/** A value with an age: a hint for what follows, never a verdict for the life of the process. */
export class Learned<TValue> {
  readonly #clock: Pick<Clock, 'now'>
  readonly #maxAge: number
  #value: TValue | null = null
  #learnedAt = 0

  /** @param maxAge for how many milliseconds a value is believed */
  constructor(clock: Pick<Clock, 'now'>, maxAge: number) {
    this.#clock = clock
    this.#maxAge = maxAge
  }

  /** Null if nothing was learned, or if it is too old. */
  get value(): TValue | null {
    this.expire()
    return this.#value
  }

  /** The value without a look at the clock, for each request: its owner calls {@link expire} from time to time. */
  get last(): TValue | null {
    return this.#value
  }

  learn(value: TValue): void {
    this.#value = value
    this.#learnedAt = this.#clock.now()
  }

  /** Forgets a value that is too old. */
  expire(): void {
    if (this.#value !== null && this.#clock.now() - this.#learnedAt >= this.#maxAge) this.#value = null
  }

  clear(): void {
    this.#value = null
  }
}

/**
 * When the requests of a fixed rate are due.
 *
 * @module
 */

/** The rate of one thread. */
export interface Pace {
  /** When the first request is due, in milliseconds after the beginning. */
  readonly first: number
  /** From one request to the next, in milliseconds. */
  readonly interval: number
}

/**
 * The times of an open loop: request number `index`, from 0 on, is due at its time whether or not earlier ones have
 * their responses. Nothing is kept for a request that waits: its number says when it was due.
 */
export class Pacer {
  readonly #start: number
  readonly #interval: number

  /** @param now the beginning, in milliseconds of a clock */
  constructor({ first, interval }: Pace, now: number) {
    this.#start = now + first
    this.#interval = interval
  }

  /** When a request is due, in milliseconds of the clock. */
  dueAt(index: number): number {
    return this.#start + index * this.#interval
  }

  /** How many requests are due until then, that moment included. */
  dueUntil(now: number): number {
    if (now < this.#start) return 0
    let count = Math.floor((now - this.#start) / this.#interval) + 1
    // The quotient is rounded: the two methods have to agree.
    while (count > 0 && this.dueAt(count - 1) > now) count--
    while (this.dueAt(count) <= now) count++
    return count
  }

  /** How many requests are due before a moment, that moment excluded. Infinity for one that never comes. */
  dueBefore(at: number): number {
    if (at === Number.POSITIVE_INFINITY) return at
    const count = this.dueUntil(at)
    return count > 0 && this.dueAt(count - 1) === at ? count - 1 : count
  }
}

/**
 * A rate, divided among threads: they take turns.
 *
 * @param rate requests a second, of all threads together
 */
export function toPace(rate: number, thread: number, threads: number): Pace {
  return { first: (thread * 1_000) / rate, interval: (threads * 1_000) / rate }
}

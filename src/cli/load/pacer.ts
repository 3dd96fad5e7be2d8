/**
 * When requests at a fixed rate are due.
 *
 * @module
 */

/** One thread's rate. */
export interface Pace {
  /** When the first request is due, in milliseconds after the beginning. */
  readonly first: number
  /** The time from one request to the next, in milliseconds. */
  readonly interval: number
}

/**
 * An open loop's times: request number `index`, from 0 on, is due at its time whether or not earlier ones have their
 * responses. A waiting request needs no memory: its number says when it was due.
 */
export class Pacer {
  readonly #start: number
  readonly #interval: number

  /** @param now the beginning, in a clock's milliseconds */
  constructor({ first, interval }: Pace, now: number) {
    this.#start = now + first
    this.#interval = interval
  }

  /** When a request is due, in the clock's milliseconds. */
  dueAt(index: number): number {
    return this.#start + index * this.#interval
  }

  /** How many requests are due until a moment, including that moment. */
  dueUntil(now: number): number {
    if (now < this.#start) return 0
    let count = Math.floor((now - this.#start) / this.#interval) + 1
    // The quotient is rounded, but the two methods have to agree.
    while (count > 0 && this.dueAt(count - 1) > now) count--
    while (this.dueAt(count) <= now) count++
    return count
  }

  /** How many requests are due before a moment, excluding that moment. Infinity for one that never comes. */
  dueBefore(at: number): number {
    if (at === Number.POSITIVE_INFINITY) return at
    const count = this.dueUntil(at)
    return count > 0 && this.dueAt(count - 1) === at ? count - 1 : count
  }
}

/**
 * A rate, divided among threads, which take turns.
 *
 * @param rate requests per second, for all threads together
 */
export function toPace(rate: number, thread: number, threads: number): Pace {
  return { first: (thread * 1_000) / rate, interval: (threads * 1_000) / rate }
}

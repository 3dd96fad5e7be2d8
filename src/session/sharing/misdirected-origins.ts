/**
 * The origins that have recently got a 421 (RFC 9110 §15.5.20).
 *
 * @module
 */

import type { Clock } from '../../core/clock.ts'

/** How long an origin has its own connections after a 421, in milliseconds. */
export const MISDIRECTED_AGE = 3_600_000

/** For how many origins a 421 is remembered; the oldest is forgotten first. */
const MAX_MISDIRECTED = 1_000

/** Remembers which origins a server has sent away, each for {@link MISDIRECTED_AGE}. */
export class MisdirectedOrigins {
  readonly #clock: Pick<Clock, 'now'>
  /** When each is forgotten, in the clock's time; the oldest first. */
  readonly #until = new Map<string, number>()

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock
  }

  /** @param origin as `URL.origin` writes it */
  add(origin: string): void {
    this.#until.delete(origin)
    this.#until.set(origin, this.#clock.now() + MISDIRECTED_AGE)
    const [oldest] = this.#until.keys()
    if (this.#until.size > MAX_MISDIRECTED && oldest !== undefined) this.#until.delete(oldest)
  }

  /** @param origin as `URL.origin` writes it */
  has(origin: string): boolean {
    const until = this.#until.get(origin)
    if (until === undefined) return false
    if (this.#clock.now() < until) return true
    this.#until.delete(origin)
    return false
  }
}

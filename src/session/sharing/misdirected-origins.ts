/**
 * The origins that have got a 421 (RFC 9110 §15.5.20), for a time.
 *
 * @module
 */

import type { Clock } from '../../core/clock.ts'

/** How long an origin has connections of its own after a 421. Milliseconds. */
export const MISDIRECTED_AGE = 3_600_000

/** Of so many origins a 421 is remembered; the oldest is forgotten first. */
const MAX_MISDIRECTED = 1_000

/** Remembers which origins a server has sent away, each for {@link MISDIRECTED_AGE}. */
export class MisdirectedOrigins {
  readonly #clock: Pick<Clock, 'now'>
  /** Until when, by the clock; the oldest first. */
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

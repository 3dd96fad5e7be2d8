import type { Alarm, Clock, OnAlarm } from '../../../src/core/clock.ts'

/** Node takes a longer delay for one of 1 ms. */
const MAX_DELAY = 2 ** 31 - 1

/**
 * A real clock on which time passes faster, for whole clients, over real sockets, whose pauses take seconds; or slower, where a pause of
 * a busy machine must not pass for one of a peer. A test puts it in the place of `systemClock` by `vi.mock()`.
 */
export class PacedClock implements Clock {
  readonly #clock: Clock
  readonly #factor: number

  constructor(clock: Clock, factor: number) {
    this.#clock = clock
    this.#factor = factor
  }

  now(): number {
    return this.#clock.now() * this.#factor
  }

  after(delay: number, callback: OnAlarm): Alarm {
    return this.#clock.after(Math.min(delay / this.#factor, MAX_DELAY), (rungAt) =>
      callback(rungAt * this.#factor),
    )
  }
}

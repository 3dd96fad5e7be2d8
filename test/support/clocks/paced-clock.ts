import type { Alarm, Clock, OnAlarm } from '../../../src/core/clock.ts'

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
    return this.#clock.after(delay / this.#factor, (rungAt) => callback(rungAt * this.#factor))
  }
}

/**
 * A load's clock: `setTimeout()` may be a millisecond late, which is longer than many responses take.
 *
 * @module
 */

import type { Alarm, Clock, OnAlarm } from '../../core/clock.ts'
import { systemClock } from '../../core/clock.ts'

/** For so many milliseconds before an alarm, each turn of the event loop checks the time. */
const POLLED = 2

/** Fires in the turn of the event loop in which its time has come. */
class PreciseAlarm implements Alarm {
  readonly #at: number
  readonly #callback: OnAlarm
  #timer: Alarm | null = null
  #immediate: NodeJS.Immediate | null = null

  constructor(delay: number, callback: OnAlarm) {
    this.#at = systemClock.now() + delay
    this.#callback = callback
    if (delay > POLLED) {
      this.#timer = systemClock.after(Math.floor(delay - POLLED), () => this.#poll())
      this.#timer.setRef(true)
    } else {
      this.#poll()
    }
  }

  cancel(): void {
    this.#timer?.cancel()
    if (this.#immediate !== null) clearImmediate(this.#immediate)
  }

  setRef(isNeeded: boolean): void {
    this.#timer?.setRef(isNeeded)
  }

  #poll(): void {
    this.#immediate = setImmediate(() => {
      const now = systemClock.now()
      if (now < this.#at) this.#poll()
      else this.#callback(now)
    })
  }
}

/**
 * The real time. An alarm fires at most one turn of the event loop late, and keeps the process alive. The thread is
 * busy for the last 2 ms before it.
 */
export const loadClock: Clock = {
  now: systemClock.now,
  after: (delay, callback) => new PreciseAlarm(delay, callback),
}

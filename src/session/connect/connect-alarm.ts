/**
 * The time limit for one connection attempt.
 *
 * @module
 */

import type { Alarm, Clock } from '../../core/clock.ts'

/**
 * Fires when the time is over. If the process was too busy to notice, the attempt gets as much more time as the alarm
 * is late, up to `connectTimeout`: a name's lookup, TCP, TLS and the first SETTINGS take several turns of the event
 * loop.
 */
export class ConnectAlarm {
  readonly #clock: Clock
  readonly #connectTimeout: number
  readonly #onLate: () => void
  #alarm: Alarm
  /** The last argument of `setRef()`; null before the first call. */
  #isNeeded: boolean | null = null

  /**
   * @param startedAt when the attempt began, in the clock's time
   * @param connectTimeout in milliseconds, above 0
   */
  constructor(clock: Clock, startedAt: number, connectTimeout: number, onLate: () => void) {
    this.#clock = clock
    this.#connectTimeout = connectTimeout
    this.#onLate = onLate
    const end = startedAt + connectTimeout
    const rest = Math.max(0, Math.ceil(end - clock.now()))
    this.#alarm = clock.after(rest, (rungAt) => this.#onAlarm(rungAt - end))
  }

  /** Sets whether a call waits for the attempt, so that it keeps the process alive. */
  setRef(isNeeded: boolean): void {
    this.#isNeeded = isNeeded
    this.#alarm.setRef(isNeeded)
  }

  /** The attempt is over. Idempotent. */
  cancel(): void {
    this.#alarm.cancel()
  }

  /** @param lateness in milliseconds */
  #onAlarm(lateness: number): void {
    const extension = Math.ceil(Math.min(lateness, this.#connectTimeout))
    if (extension <= 0) {
      this.#onLate()
      return
    }
    this.#alarm = this.#clock.after(extension, this.#onLate)
    if (this.#isNeeded !== null) this.#alarm.setRef(this.#isNeeded)
  }
}

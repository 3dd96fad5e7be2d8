/**
 * How long to wait after things have gone wrong several times in a row.
 *
 * @module
 */

import type { Alarm, Clock } from '../core/clock.ts'

/** What the second setback in a row costs, at most; the first costs nothing. Milliseconds. */
const FIRST_DELAY = 100
/** What none exceeds. */
const LONGEST_DELAY = 2_000

/**
 * Doubling delays with jitter, so that clients that lost the same server don't come back in step.
 *
 * @param setbacks how many there were in a row
 * @returns milliseconds
 */
export function toBackoffDelay(setbacks: number): number {
  if (setbacks < 2) return 0
  const longest = Math.min(FIRST_DELAY * 2 ** (setbacks - 2), LONGEST_DELAY)
  return (longest * (1 + Math.random())) / 2
}

/** One such delay at a time. */
export class Backoff {
  readonly #clock: Clock
  readonly #onOver: () => void
  /** Null while nothing is waited for. */
  #alarm: Alarm | null = null

  constructor(clock: Clock, onOver: () => void) {
    this.#clock = clock
    this.#onOver = onOver
  }

  get isWaiting(): boolean {
    return this.#alarm !== null
  }

  /**
   * @param setbacks how many there were in a row
   * @param keepsAlive whether calls wait for the end of the back-off
   */
  start(setbacks: number, keepsAlive: boolean): void {
    const delay = toBackoffDelay(setbacks)
    if (delay === 0 || this.#alarm !== null) return
    this.#alarm = this.#clock.after(delay, () => {
      this.#alarm = null
      this.#onOver()
    })
    this.#alarm.setRef(keepsAlive)
  }

  /** Whether calls wait for the end of the back-off: it keeps the process alive then. */
  setRef(isNeeded: boolean): void {
    this.#alarm?.setRef(isNeeded)
  }

  stop(): void {
    this.#alarm?.cancel()
    this.#alarm = null
  }
}

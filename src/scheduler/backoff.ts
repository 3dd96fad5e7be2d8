/**
 * Waits after several failures in a row.
 *
 * @module
 */

import type { Alarm, Clock } from '../core/clock.ts'

/** The longest delay after the second failure in a row, in milliseconds. There is none after the first. */
const FIRST_DELAY = 100
/** The longest delay of all, in milliseconds: when a server can be reached again, a client notices within a second. */
const LONGEST_DELAY = 1_000

/**
 * Doubling delays with jitter, so that clients that lost the same server don't reconnect at the same time.
 *
 * @param setbacks the number of failures in a row
 * @returns milliseconds
 */
export function toBackoffDelay(setbacks: number): number {
  return setbacks < 2 ? 0 : toJitteredDelay(setbacks - 2, FIRST_DELAY, LONGEST_DELAY)
}

/**
 * @param doublings how often the first delay is doubled
 * @returns half of that time up to all of it, at random, in milliseconds
 */
export function toJitteredDelay(doublings: number, first: number, longest: number): number {
  return (Math.min(first * 2 ** doublings, longest) * (1 + Math.random())) / 2
}

/** Runs one such delay at a time. */
export class Backoff {
  readonly #clock: Clock
  readonly #onOver: () => void
  /** Null while no delay runs. */
  #alarm: Alarm | null = null

  constructor(clock: Clock, onOver: () => void) {
    this.#clock = clock
    this.#onOver = onOver
  }

  get isWaiting(): boolean {
    return this.#alarm !== null
  }

  /**
   * @param setbacks the number of failures in a row
   * @param keepsAlive whether to keep the process alive, because a call waits for the end of the delay
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

  /** Sets whether to keep the process alive, because a call waits for the end of the delay. */
  setRef(isNeeded: boolean): void {
    this.#alarm?.setRef(isNeeded)
  }

  stop(): void {
    this.#alarm?.cancel()
    this.#alarm = null
  }
}

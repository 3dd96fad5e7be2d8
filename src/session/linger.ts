/**
 * The time between Dodici's close of a connection and the peer's.
 *
 * @module
 */

import type { Alarm, Clock } from '../core/clock.ts'

/** How many milliseconds the peer may take to close its side after Dodici has closed its own. */
const LINGER = 1_000

/** Limits how long a session without streams waits for its peer to close the connection. */
export class Linger {
  readonly #clock: Clock
  readonly #onEnd: () => void
  /** Null while the session isn't waiting. */
  #alarm: Alarm | null = null

  /** @param onEnd called when the peer has taken too long */
  constructor(clock: Clock, onEnd: () => void) {
    this.#clock = clock
    this.#onEnd = onEnd
  }

  /** Dodici has closed its side: the wait begins. Idempotent. */
  start(): void {
    this.#alarm ??= this.#clock.after(LINGER, this.#onEnd)
  }

  /** The connection is closed: the wait is over. */
  stop(): void {
    this.#alarm?.cancel()
  }
}

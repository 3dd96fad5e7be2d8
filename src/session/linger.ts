/**
 * The time between our close of a connection and the peer's.
 *
 * @module
 */

import type { Alarm, Clock } from '../core/clock.ts'

/** How long the peer may take to close its side after we have closed ours. Milliseconds. */
const LINGER = 1_000

/** Bounds how long a session without streams waits for its peer to close the connection. */
export class Linger {
  readonly #clock: Clock
  readonly #onEnd: () => void
  /** Null while the session doesn't wait. */
  #alarm: Alarm | null = null

  /** @param onEnd called when the peer has taken too long */
  constructor(clock: Clock, onEnd: () => void) {
    this.#clock = clock
    this.#onEnd = onEnd
  }

  /** We have closed our side: the wait begins. Idempotent. */
  start(): void {
    this.#alarm ??= this.#clock.after(LINGER, this.#onEnd)
  }

  /** The connection is closed: the wait is over. */
  stop(): void {
    this.#alarm?.cancel()
  }
}

/**
 * The last moments of a connection.
 *
 * @module
 */

import type { Alarm, Clock } from '../core/clock.ts'

/** How long the peer may take to close its side once we have closed ours, in milliseconds. */
const LINGER = 1_000

/** Bounds how long a session without streams waits for its peer to close the connection. */
export class Linger {
  readonly #clock: Clock
  readonly #onEnd: () => void
  /** Null while it doesn't wait. */
  #alarm: Alarm | null = null

  /** @param onEnd called when the peer has taken too long */
  constructor(clock: Clock, onEnd: () => void) {
    this.#clock = clock
    this.#onEnd = onEnd
  }

  /** Our side is closed. Idempotent. */
  start(): void {
    this.#alarm ??= this.#clock.after(LINGER, this.#onEnd)
  }

  /** The connection is closed. */
  stop(): void {
    this.#alarm?.cancel()
  }
}

/**
 * Decides whether a session keeps the process alive.
 *
 * @module
 */

import { Hold } from '../core/clock.ts'
import type { SessionContext } from './session.ts'

/** A connection, whose socket can keep the process alive. */
interface Referenced {
  /** Sets whether it keeps the process alive. */
  setRef(isNeeded: boolean): void
}

/** A session keeps the process alive while callers wait for its streams, for a stream to be opened, or for its end. */
export class ProcessRef {
  /**
   * Keeps the process alive if a connect function has made the connection, because its substitute for a socket may
   * not. Null otherwise.
   */
  readonly #hold: Hold | null
  /** Null until connected, and once the session is closed. */
  #connection: Referenced | null = null
  #isNeeded = true
  /** Whether the readers of all streams hold them back: each of them waits for something else. */
  #isLeft = false
  /** `close()` was called with a waiting caller: the session keeps the process alive until it has ended. */
  #isAwaited = false

  constructor({ options, clock }: SessionContext) {
    this.#hold = typeof options.connect === 'function' ? new Hold(clock) : null
  }

  /** Whether callers wait for its streams, or for a stream to be opened: then the peer has to be alive. */
  get isNeeded(): boolean {
    return this.#isNeeded
  }

  /** Whether the session keeps the process alive for its streams. */
  get isHeld(): boolean {
    return this.#isNeeded && !this.#isLeft
  }

  /** The session is connected. A new connection keeps the process alive. */
  connect(connection: Referenced): void {
    this.#connection = connection
    this.#hold?.set(true)
  }

  /**
   * @param isNeeded whether callers wait for its streams, or for a stream to be opened
   * @param isLeft whether the readers of all streams hold them back
   * @returns whether `isNeeded` has changed
   */
  update(isNeeded: boolean, isLeft: boolean): boolean {
    const isOther = isNeeded !== this.#isNeeded
    if (this.#connection === null || (!isOther && isLeft === this.#isLeft)) return false
    this.#isNeeded = isNeeded
    this.#isLeft = isLeft
    this.#apply(this.#connection)
    return isOther
  }

  /** `close()` was called with a waiting caller: the session keeps the process alive until it has ended. */
  await(): void {
    this.#isAwaited = true
    if (this.#connection !== null) this.#apply(this.#connection)
  }

  /** The session is closed. Streams that are released later have no effect. */
  stop(): void {
    this.#connection = null
    this.#hold?.set(false)
  }

  #apply(connection: Referenced): void {
    const isHeld = this.isHeld || this.#isAwaited
    connection.setRef(isHeld)
    this.#hold?.set(isHeld)
  }
}

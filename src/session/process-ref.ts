/**
 * Whether a session keeps the process alive.
 *
 * @module
 */

import { Hold } from '../core/clock.ts'
import type { SessionContext } from './session.ts'

/** What can be referenced: a connection, by its socket. */
interface Referenced {
  /** Whether it keeps the process alive. */
  setRef(isNeeded: boolean): void
}

/** A session does while somebody waits for its streams, or for one of them, or for its end. */
export class ProcessRef {
  /** Null unless a connector yields the connection: what stands in for a socket may hold nothing itself. */
  readonly #hold: Hold | null
  /** Null until there is one, and once the session is closed. */
  #connection: Referenced | null = null
  #isNeeded = true
  /** Who waits for its streams holds them back: he waits for something of his own. */
  #isLeft = false
  /** Somebody waits for its end. */
  #isAwaited = false

  constructor({ options, clock }: SessionContext) {
    this.#hold = typeof options.connect === 'function' ? new Hold(clock) : null
  }

  /** Whether somebody waits for its streams, or for one: then its peer has to live. */
  get isNeeded(): boolean {
    return this.#isNeeded
  }

  /** Whether it holds the process for its streams already. */
  get isHeld(): boolean {
    return this.#isNeeded && !this.#isLeft
  }

  /** There is a connection now, which holds the process as it comes. */
  connect(connection: Referenced): void {
    this.#connection = connection
    this.#hold?.set(true)
  }

  /**
   * @param isNeeded somebody waits for its streams
   * @param isLeft they are all held back by their readers
   * @returns whether it has become needed, or isn't any more
   */
  update(isNeeded: boolean, isLeft: boolean): boolean {
    const isOther = isNeeded !== this.#isNeeded
    if (this.#connection === null || (!isOther && isLeft === this.#isLeft)) return false
    this.#isNeeded = isNeeded
    this.#isLeft = isLeft
    this.#apply(this.#connection)
    return isOther
  }

  /** Somebody waits for its end. */
  await(): void {
    this.#isAwaited = true
    if (this.#connection !== null) this.#apply(this.#connection)
  }

  /** The session is closed. Streams that are let go of behind that change nothing any more. */
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

/**
 * Asks the server whether it has read the resets so far.
 *
 * @module
 */

import { originalSetImmediate } from '../../core/original-timers.ts'

/**
 * The outcome of a PING after resets:
 *
 * - `sent`: its ACK will show that the server has read the resets
 * - `busy`: another PING is in flight, or none can be sent now
 * - `spared`: none was sent, because no call waits for it
 * - `refused`: the server, or an option, allows none
 */
export type ResetPing = 'sent' | 'busy' | 'spared' | 'refused'

/** The session, as its reset confirmation sees it. */
export interface ConfirmationOwner {
  /** Whether all frames so far were passed to the socket, so that a PING follows them. */
  readonly areFramesSent: boolean
  /** Whether this many places of reset streams keep calls waiting, or soon will. @param places above 0 */
  isNearLimit(places: number): boolean
  /** Sends a PING. @param isUrgent whether calls wait for its ACK */
  pingAfterReset(isUrgent: boolean): ResetPing
  /** The server has read resets: the places of their streams are free. */
  onConfirmed(): void
}

/** How many resets may be in flight. More wait for the ACK of the PING after these. */
export const MAX_UNCONFIRMED = 100

/** How many turns of the event loop node:http2 gets to send what waits, before the next check is timed. */
const MAX_TURNS = 3

/**
 * A server counts a reset stream until it has read the RST_STREAM: until then its place isn't free, and the server
 * may refuse the next stream in a way that isn't safe to retry. Frames are read in order, so the ACK of a PING after
 * RST_STREAM shows that the server has read it. A stream that the server itself has reset is closed for it at once
 * (RFC 9113 §5.1), but Node's server counts it until its own stream is destroyed: after it has read out the request
 * body, in a later turn. The ACK of a PING sent after that RST_STREAM has arrived shows that. One PING at a time
 * covers all resets before it. (Go's client does the same: `pendingResets` in golang.org/x/net/http2.)
 *
 * If no PING may be sent, resets count as read at once.
 */
export class ResetConfirmation {
  readonly #owner: ConfirmationOwner
  readonly #retry = (): void => {
    this.#isDue = false
    this.check()
  }
  /** How many resets were sent that the server may not have read. */
  #places = 0
  /** How many of them precede the PING in flight; 0 without one. */
  #covered = 0
  /** Whether the next turn of the event loop will check again. */
  #isDue = false
  #isOver = false
  /** How many turns have passed since the last PING while frames still waited to be sent. */
  #turns = 0

  constructor(owner: ConfirmationOwner) {
    this.#owner = owner
  }

  /** How many places the server may still count. */
  get places(): number {
    return this.#places
  }

  /** Whether no more resets may be sent for now. */
  get isFull(): boolean {
    return this.#places >= MAX_UNCONFIRMED
  }

  /** Whether calls wait for places, and no PING in flight frees them. */
  get isWanted(): boolean {
    return this.#places > this.#covered && this.#owner.isNearLimit(this.#places)
  }

  /** A stream was reset by either side: its place must not count as free. {@link check} follows. */
  onEarlyEnd(): void {
    this.#places++
    this.#turns = 0
  }

  /** Sends the PING if it is due. */
  check(): void {
    if (this.#places === 0 || this.#covered > 0 || this.#isDue || this.#isOver) return
    if (!this.#owner.areFramesSent) {
      // Whatever comes first, a PING shows whether the path is dead. It says nothing of the resets.
      if (this.#turns === MAX_TURNS) this.#owner.pingAfterReset(false)
      if (this.#turns++ >= MAX_TURNS) return
      this.#isDue = true
      originalSetImmediate(this.#retry)
      return
    }
    this.#turns = 0
    const result = this.#owner.pingAfterReset(this.isWanted)
    if (result === 'sent') this.#covered = this.#places
    else if (result === 'refused') this.#free(this.#places)
  }

  /** The ACK of a PING has arrived. */
  onPong(): void {
    const covered = this.#covered
    this.#covered = 0
    if (covered > 0) this.#free(covered)
    if (this.isWanted) this.check()
  }

  /** The session is gone. */
  stop(): void {
    this.#isOver = true
    this.#places = 0
    this.#covered = 0
  }

  #free(places: number): void {
    this.#places -= places
    this.#owner.onConfirmed()
  }
}

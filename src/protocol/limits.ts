/**
 * Frames that bring nothing: how many of them a peer may send.
 *
 * @module
 */

import { TokenBucket } from '../core/token-bucket.ts'
import { flood } from './protocol-error.ts'

/** So many at once: more than a burst of 1,000 resets, refusals or window updates for as many streams needs. */
const BURST = 5_000
/** And so many for each second since. */
const RATE = 200
/** A frame that brings something, or a stream that was opened, makes up for so many that don't. */
const EARNED = 4

/**
 * A WINDOW_UPDATE of so many bytes or more brings something: such ones are as many as the data that they are for allows
 * for.
 */
const MIN_INCREMENT = 1_024
/** For so many bytes of data that we have sent, a smaller one is earned as well. */
const BYTES_EARNING = 128

/** ACKs that may wait for a peer that doesn't read. */
const MAX_ACKS = 1_000

/**
 * A bucket of tokens, one for each SETTINGS, PING, empty DATA, RST_STREAM, WINDOW_UPDATE, PRIORITY, informational
 * response and unknown frame (RFC 9113 §10.5). Who uses it up is sent GOAWAY with ENHANCE_YOUR_CALM.
 */
export class FrameBudget {
  readonly #now: () => number
  readonly #bucket: TokenBucket
  #acks = 0

  /** @param now milliseconds since some fixed point */
  constructor(now: () => number) {
    this.#now = now
    this.#bucket = new TokenBucket(BURST, RATE, now())
  }

  /** Something of use has come, or was asked for. @param sent bytes of data that have gone */
  earn(sent = 0): void {
    this.#bucket.earn(EARNED + Math.floor(sent / BYTES_EARNING))
  }

  /** A WINDOW_UPDATE has come. @param increment bytes */
  spendUpdate(increment: number): void {
    if (increment < MIN_INCREMENT) this.spend()
  }

  /** @param cost of a frame, in tokens @throws ConnectionFault when there were too many */
  spend(cost = 1): void {
    if (this.#bucket.take(cost)) return
    // The clock is only looked at when it matters.
    this.#bucket.refill(this.#now())
    if (!this.#bucket.take(cost)) flood('The peer sends too many frames that bring nothing (RFC 9113 §10.5)')
  }

  /** One more ACK waits to be sent. @throws ConnectionFault when there are too many */
  addAck(): void {
    if (++this.#acks > MAX_ACKS) flood('The peer asks for ACKs and takes none (RFC 9113 §10.5)')
  }

  /** The socket has taken them. */
  clearAcks(): void {
    this.#acks = 0
  }
}

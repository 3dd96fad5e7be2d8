/**
 * Limits how many frames without effect a peer may send.
 *
 * @module
 */

import { TokenBucket } from '../core/token-bucket.ts'
import { flood } from './protocol-error.ts'

/**
 * The frames without effect that may come at once: more than a burst of 1,000 resets, refusals or window updates for as
 * many streams needs.
 */
const BURST = 5_000
/** The frames without effect that may come per second after that. */
const RATE = 200
/** A useful frame, or a stream that we open, gives the peer this many tokens. */
const EARNED = 4

/** A WINDOW_UPDATE of this many bytes or more costs nothing: the data that we send bounds their number. Bytes. */
const MIN_INCREMENT = 1_024
/** A smaller WINDOW_UPDATE is earned by this many bytes of data that we have sent, too. */
const BYTES_EARNING = 128

/** The ACKs that may wait to be sent to a peer that doesn't read. */
const MAX_ACKS = 1_000

/**
 * A token bucket (RFC 9113 §10.5). Each SETTINGS, PING, empty DATA, RST_STREAM, WINDOW_UPDATE, PRIORITY, informational
 * response and unknown frame costs a token. When the bucket is empty, the connection ends with GOAWAY and
 * ENHANCE_YOUR_CALM.
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

  /** A useful frame has come, or a request was sent. @param sent bytes of data that we have sent */
  earn(sent = 0): void {
    this.#bucket.earn(EARNED + Math.floor(sent / BYTES_EARNING))
  }

  /** A WINDOW_UPDATE has come. @param increment bytes */
  spendUpdate(increment: number): void {
    if (increment < MIN_INCREMENT) this.spend()
  }

  /** Charges a frame to the peer. @param cost in tokens @throws ConnectionFault when the bucket is empty */
  spend(cost = 1): void {
    if (this.#bucket.take(cost)) return
    // The clock is read only when the bucket is empty.
    this.#bucket.refill(this.#now())
    if (!this.#bucket.take(cost)) flood('The peer sends too many frames that bring nothing (RFC 9113 §10.5)')
  }

  /** Another ACK waits to be sent. @throws ConnectionFault when too many wait */
  addAck(): void {
    if (++this.#acks > MAX_ACKS) flood('The peer asks for ACKs and takes none (RFC 9113 §10.5)')
  }

  /** The socket has taken all ACKs that waited. */
  clearAcks(): void {
    this.#acks = 0
  }
}

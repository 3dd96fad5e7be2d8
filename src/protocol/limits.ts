/**
 * Limits how many frames without effect a peer may send.
 *
 * @module
 */

import { TokenBucket } from '../core/token-bucket.ts'
import { flood } from './protocol-error.ts'

/**
 * How many frames without effect may arrive at once: more than a burst of 1,000 resets, refusals or window updates, for
 * as many streams, needs.
 */
const BURST = 5_000
/** How many frames without effect may arrive per second after that. */
const RATE = 200
/** A useful frame, or a stream that we open, earns the peer this many tokens. */
const EARNED = 4

/** The most credit, in bytes, that closed streams may still receive at no cost. */
const MAX_LATE_CREDIT = 1_048_576

/** A frame without use costs one more token for this many bytes of its payload. */
const BYTES_A_TOKEN = 8_192
/**
 * The same for a field block: a response that was in flight when its stream was reset may have a large header section.
 */
const BLOCK_BYTES_A_TOKEN = 4_096
/** How many streams a pass over all of them examines for one token. */
const STREAMS_A_TOKEN = 64

/** How many ACKs may wait to be sent to a peer that doesn't read. */
const MAX_ACKS = 1_000

/**
 * A token bucket (RFC 9113 §10.5). Each SETTINGS, PING, empty DATA, RST_STREAM, PRIORITY, GOAWAY, informational
 * response, unknown frame, and each frame for a stream that is gone, costs a token, and more depending on its size or
 * the number of streams that it makes us examine. When the bucket is empty, the connection ends with GOAWAY and
 * ENHANCE_YOUR_CALM.
 *
 * A WINDOW_UPDATE that returns credit for bytes that we have sent costs nothing, however small it is: these bytes bound
 * the number of such frames. Servers that return credit whenever they read from an upload send one for a few bytes. Any
 * other WINDOW_UPDATE costs a token, however large it is.
 *
 * DATA that was in flight when its stream was reset isn't the peer's fault. The stream's receive window bounds how much
 * that can be: so many bytes may arrive late, at no cost. A server that relays byte for byte may send each of them in a
 * separate frame. Such a frame costs us less than one on a live stream.
 */
export class FrameBudget {
  readonly #now: () => number
  readonly #bucket: TokenBucket
  readonly #maxLate: number
  /** How many bytes of DATA for streams that are gone may still arrive. */
  #late = 0
  /** How many bytes we have sent on streams that are gone, for which credit may still arrive. */
  #lateCredit = 0
  #acks = 0

  /**
   * @param now milliseconds since some fixed point
   * @param maxLate the most bytes that may arrive late for all streams together: the most that their windows can add up
   *   to
   */
  constructor(now: () => number, maxLate = 0) {
    this.#now = now
    this.#maxLate = maxLate
    this.#bucket = new TokenBucket(BURST, RATE, now())
  }

  /** A useful frame has arrived, or a request or a piece of data was sent. */
  earn(): void {
    this.#bucket.earn(EARNED)
  }

  /**
   * A WINDOW_UPDATE has arrived.
   *
   * @param increment in bytes
   * @param unreturned how many bytes we have sent in that window without getting credit back
   * @returns how many of these bytes it returns credit for
   * @throws ConnectionFault
   */
  spendUpdate(increment: number, unreturned: number): number {
    if (increment > 0 && increment <= unreturned) return increment
    this.spend()
    return 0
  }

  /**
   * A stream is gone.
   *
   * @param unreturned how many bytes we have sent on it without getting credit back
   */
  expectLateCredit(unreturned: number): void {
    this.#lateCredit = Math.min(MAX_LATE_CREDIT, this.#lateCredit + unreturned)
  }

  /**
   * A WINDOW_UPDATE has arrived for a stream that is gone.
   *
   * @param increment in bytes
   * @throws ConnectionFault
   */
  spendLateUpdate(increment: number): void {
    this.#lateCredit -= this.spendUpdate(increment, this.#lateCredit)
  }

  /**
   * A frame has arrived that is ignored.
   *
   * @param size its payload's size in bytes
   * @throws ConnectionFault
   */
  spendIgnored(size: number): void {
    this.spend(1 + size / BYTES_A_TOKEN)
  }

  /**
   * A field block has arrived that doesn't advance any response.
   *
   * @param size in bytes
   * @throws ConnectionFault
   */
  spendBlock(size: number): void {
    this.spend(1 + size / BLOCK_BYTES_A_TOKEN)
  }

  /**
   * A frame has made us examine all streams, which costs more than its own token.
   *
   * @throws ConnectionFault
   */
  spendPass(streams: number): void {
    this.spend(streams / STREAMS_A_TOKEN)
  }

  /**
   * A stream is gone before its end.
   *
   * @param window how many bytes of DATA the peer may have sent meanwhile
   */
  expectLate(window: number): void {
    if (window > 0) this.#late = Math.min(this.#maxLate, this.#late + window)
  }

  /**
   * DATA has arrived for a stream that is gone.
   *
   * @param size in bytes
   * @throws ConnectionFault
   */
  spendLate(size: number): void {
    // An empty one, which has END_STREAM, counts as a byte: otherwise there could be any number of them.
    const cost = Math.max(size, 1)
    if (cost <= this.#late) this.#late -= cost
    else this.spendIgnored(size)
  }

  /**
   * Charges a frame to the peer.
   *
   * @param cost in tokens
   * @throws ConnectionFault if the bucket is empty
   */
  spend(cost = 1): void {
    if (this.#bucket.take(cost)) return
    // The clock is read only when the bucket is empty.
    this.#bucket.refill(this.#now())
    if (!this.#bucket.take(cost)) flood('The peer sends too many frames that carry nothing (RFC 9113 §10.5)')
  }

  /**
   * Another ACK waits to be sent.
   *
   * @throws ConnectionFault if too many wait
   */
  addAck(): void {
    if (++this.#acks > MAX_ACKS) flood("The peer asks for ACKs but doesn't read them (RFC 9113 §10.5)")
  }

  /** The socket has accepted all waiting ACKs. */
  clearAcks(): void {
    this.#acks = 0
  }
}

/**
 * How large the receive windows of a session's streams are.
 *
 * @module
 */

import type { SessionOptions } from '../core/session-options.ts'

/** Bytes. No stream is given less, whatever the others hold: one frame of the usual size. */
const MIN_WINDOW = 16_384

/** What servers allow: RFC 9113 §6.5.2 recommends no less. */
const USUAL_LIMIT = 100

/** By what windows shrink and grow at a time: each change is a SETTINGS frame and its ACK. */
const STEP = 4

/**
 * All streams have one window (SETTINGS_INITIAL_WINDOW_SIZE, RFC 9113 §6.9.2), and what readers leave unread may fill each of
 * them. So it is large while there are few streams, and smaller the more there are: together they stay below a bound. Many
 * streams lose no speed by that, since the connection's window is what they share.
 */
export class StreamWindow {
  readonly #largest: number
  readonly #smallest: number
  readonly #bound: number
  #size: number

  /**
   * @param largest bytes
   * @param bound of all windows together, in bytes
   * @param streams how many there are about to be
   */
  constructor(largest: number, bound: number, streams: number) {
    this.#largest = largest
    this.#smallest = Math.min(MIN_WINDOW, largest)
    this.#bound = bound
    this.#size = this.#toSize(streams)
  }

  /** For a session that is about to open so many. */
  static expecting(streams: number, options: SessionOptions): StreamWindow {
    const { initialWindowSize, maxSessionBuffer, maxConcurrentStreams } = options
    // More than these don't come before the peer has said that it wants more.
    const expected = Math.max(1, Math.min(streams, maxConcurrentStreams, USUAL_LIMIT))
    return new StreamWindow(initialWindowSize, maxSessionBuffer, expected)
  }

  /** What was announced last. Bytes. */
  get size(): number {
    return this.#size
  }

  /** So many streams the bound allows with the smallest windows. */
  get maxStreams(): number {
    return Math.floor(this.#bound / this.#smallest)
  }

  /** So many it allows with these. */
  get capacity(): number {
    return Math.floor(this.#bound / this.#size)
  }

  /** There are more streams than {@link capacity}. True when `size` has changed. */
  shrink(streams: number): boolean {
    // For twice as many: another such change shouldn't be due at once.
    return this.#resize(Math.min(this.#size, this.#toSize(streams * 2)))
  }

  /** A stream has received more than one window: it would go faster with a larger one. True when `size` has changed. */
  grow(streams: number): boolean {
    return this.#resize(Math.max(this.#size, this.#toSize(streams * 2)))
  }

  #resize(size: number): boolean {
    if (size === this.#size) return false
    this.#size = size
    return true
  }

  #toSize(streams: number): number {
    let size = this.#largest
    while (size * streams > this.#bound && size > this.#smallest) {
      size = Math.max(this.#smallest, Math.floor(size / STEP))
    }
    return size
  }
}

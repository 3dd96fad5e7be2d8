/**
 * How large the receive windows of a session's streams are.
 *
 * @module
 */

import type { SessionOptions } from '../../core/session-options.ts'
import { SMALLEST_WINDOW, toUneven } from '../../core/window-size.ts'

/** Streams that a session is ready for without a change: as many as most servers allow. */
const USUAL_STREAMS = 100

/** By what windows shrink and grow at a time: each change is a SETTINGS frame and its ACK. */
const STEP = 4

/** After a change there is room for so many times the streams that there are: another one shouldn't be due at once. */
const HEADROOM = 4

/** One that has a window. */
export interface Windowed {
  /** What it may hold at most, in bytes; 0 before it was opened. {@link StreamWindow}'s own. */
  window: number
  /** Its reader holds it back: some of its window may be used up. */
  readonly isHeld: boolean
}

/**
 * All streams have one window (SETTINGS_INITIAL_WINDOW_SIZE, RFC 9113 §6.9.2), and what readers leave unread may fill
 * each of them. So it is large while there are few streams, and smaller the more there are: together they stay below a
 * bound. Many streams lose no speed by that, since the connection's window is what they share.
 *
 * A change counts when the peer has acknowledged it (§6.5.3): until then it may use the larger one of the two. And a
 * smaller one takes nothing back of what a stream holds already.
 */
export class StreamWindow {
  readonly #largest: number
  readonly #smallest: number
  readonly #bound: number
  /** What was announced last. */
  #size: number
  /** What the peer may use: what it has acknowledged last, or what was announced since, if that is more. */
  #usable: number
  /** A change is on its way. */
  #isChanging = false
  /** What all streams together may hold. */
  #reserved = 0

  /** @param streams how many there may be at once before anything can be changed */
  constructor({ initialWindowSize, maxSessionBuffer, isWindowGiven }: SessionOptions, streams: number) {
    this.#largest = initialWindowSize
    this.#smallest = Math.min(SMALLEST_WINDOW, initialWindowSize)
    this.#bound = maxSessionBuffer
    // Whoever names a window gets it, where it fits; otherwise a response that could use a larger one gets it later.
    this.#size = this.#toSize(Math.max(isWindowGiven ? 1 : USUAL_STREAMS, streams), maxSessionBuffer)
    this.#usable = this.#size
  }

  /** What was announced last. Bytes. */
  get size(): number {
    return this.#size
  }

  /** So many streams the bound allows with the smallest windows. */
  get maxStreams(): number {
    return Math.floor(this.#bound / this.#smallest)
  }

  /** What all streams together may hold. Bytes. */
  get reserved(): number {
    return this.#reserved
  }

  /** Whether the bound allows for one more. */
  get hasRoom(): boolean {
    return this.#reserved + this.#usable <= this.#bound
  }

  /** A stream is opened. */
  open(stream: Windowed): void {
    stream.window = this.#usable
    this.#reserved += this.#usable
  }

  /** A stream is gone. */
  close(stream: Windowed): void {
    this.#reserved -= stream.window
    stream.window = 0
  }

  /** True when `size` has changed: half of the bound is given away, and what comes needs smaller windows. */
  shrink(streams: number): boolean {
    if (this.#isChanging || this.#reserved * 2 <= this.#bound) return false
    const size = this.#toSize(streams * HEADROOM, this.#bound - this.#reserved)
    return this.#change(Math.min(this.#size, size))
  }

  /**
   * True when `size` has changed: streams would go faster with a larger one.
   *
   * @param enough bytes that they could use
   */
  grow(streams: readonly Windowed[], enough = Number.POSITIVE_INFINITY): boolean {
    const most = this.#toSize(streams.length * HEADROOM, this.#bound - this.#reserved)
    const size = enough < most ? toUneven(enough) : most
    if (this.#isChanging || !this.#change(Math.max(this.#size, size))) return false
    this.#usable = this.#size
    // What a stream holds of a larger window that there was before, it holds still.
    for (const stream of streams) if (!stream.isHeld || stream.window < size) this.#resize(stream)
    return true
  }

  /** The peer has acknowledged the change. All that it had sent before has come. */
  acknowledge(streams: readonly Windowed[]): void {
    this.#isChanging = false
    this.#usable = this.#size
    for (const stream of streams) if (!stream.isHeld) this.#resize(stream)
  }

  #resize(stream: Windowed): void {
    this.close(stream)
    this.open(stream)
  }

  #change(size: number): boolean {
    this.#isChanging = size !== this.#size
    this.#size = size
    return this.#isChanging
  }

  /** The largest of which so many fit into so many bytes. */
  #toSize(streams: number, bytes: number): number {
    let size = this.#largest
    while (size * streams > bytes && size > this.#smallest) {
      size = Math.max(this.#smallest, toUneven(size / STEP))
    }
    return size
  }
}

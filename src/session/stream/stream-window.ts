/**
 * The size of the receive windows of a session's streams.
 *
 * @module
 */

import type { SessionOptions } from '../../options/session-options.ts'
import { SMALLEST_WINDOW, toUneven } from '../../options/window-size.ts'

/** The number of streams that a session allows without a change of the window: as many as most servers allow. */
const USUAL_STREAMS = 100

/** The factor by which windows shrink and grow: each change costs a SETTINGS frame and its ACK. */
const STEP = 4

/** After a change there is room for this many times the open streams, so that the next change isn't due at once. */
const HEADROOM = 4

/** A stream that has a window. */
export interface Windowed {
  /** The most that the stream may hold, in bytes; 0 until opened. Written by {@link StreamWindow} only. */
  window: number
  /** Whether its reader holds it back: some of its window may be used up. */
  readonly isHeld: boolean
}

/**
 * All streams have the same window (SETTINGS_INITIAL_WINDOW_SIZE, RFC 9113 §6.9.2), and each window may fill with
 * unread data. So the window is large while there are few streams, and gets smaller with their number: together they
 * stay below a bound. Many streams lose no speed by that, since they share the connection window.
 *
 * A change is in force when the peer has acknowledged it (§6.5.3). Until then the peer may use the larger one of both
 * windows. A smaller window takes nothing back of the data that a stream holds already.
 */
export class StreamWindow {
  readonly #largest: number
  readonly #smallest: number
  readonly #bound: number
  /** The window that was announced last. Bytes. */
  #size: number
  /** The window that the peer may use: the larger one of the last acknowledged and the announced one. Bytes. */
  #usable: number
  /** A change waits for its ACK. */
  #isChanging = false
  /** The most that all streams together may hold. Bytes. */
  #reserved = 0

  /** @param streams the number of streams that may be opened at once, before a change is possible */
  constructor({ initialWindowSize, maxSessionBuffer, isWindowGiven }: SessionOptions, streams: number) {
    this.#largest = initialWindowSize
    this.#smallest = Math.min(SMALLEST_WINDOW, initialWindowSize)
    this.#bound = maxSessionBuffer
    // A caller that sets a window gets it, where it fits. Otherwise a response that could use a larger window gets it
    // later.
    this.#size = this.#toSize(Math.max(isWindowGiven ? 1 : USUAL_STREAMS, streams), maxSessionBuffer)
    this.#usable = this.#size
  }

  /** The window that was announced last. Bytes. */
  get size(): number {
    return this.#size
  }

  /** The number of streams that the bound allows with the smallest windows. */
  get maxStreams(): number {
    return Math.floor(this.#bound / this.#smallest)
  }

  /** The most that all streams together may hold. Bytes. */
  get reserved(): number {
    return this.#reserved
  }

  /** Whether the bound allows one more stream. */
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

  /** Makes the window smaller when half of the bound is reserved. @returns true when `size` has changed */
  shrink(streams: number): boolean {
    if (this.#isChanging || this.#reserved * 2 <= this.#bound) return false
    const size = this.#toSize(streams * HEADROOM, this.#bound - this.#reserved)
    return this.#change(Math.min(this.#size, size))
  }

  /**
   * Makes the window larger, since streams would go faster.
   *
   * @param enough the window that they could use, in bytes
   * @returns true when `size` has changed
   */
  grow(streams: readonly Windowed[], enough = Number.POSITIVE_INFINITY): boolean {
    const most = this.#toSize(streams.length * HEADROOM, this.#bound - this.#reserved)
    const size = enough < most ? toUneven(enough) : most
    if (this.#isChanging || !this.#change(Math.max(this.#size, size))) return false
    this.#usable = this.#size
    // A held stream keeps an earlier, larger window: it may hold as much data.
    for (const stream of streams) if (!stream.isHeld || stream.window < size) this.#resize(stream)
    return true
  }

  /** The peer has acknowledged the change. All data that it had sent before has come. */
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

  /** The largest window of which this many fit into this many bytes. */
  #toSize(streams: number, bytes: number): number {
    let size = this.#largest
    while (size * streams > bytes && size > this.#smallest) {
      size = Math.max(this.#smallest, toUneven(size / STEP))
    }
    return size
  }
}

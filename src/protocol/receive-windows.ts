/**
 * The sizes of a session's receive windows, on both engines: the one place that keeps and changes them.
 *
 * @module
 */

import type { SessionOptions } from '../options/session-options.ts'
import { MAX_WINDOW_SIZE, SMALLEST_WINDOW, toUneven } from '../options/window-size.ts'
import { ConnectionWindow } from './connection-window.ts'
import { DEFAULT_WINDOW } from './frames.ts'

/** How many streams a session allows without changing the window: as many as most servers allow. */
const USUAL_STREAMS = 100

/** The factor by which windows shrink and grow: each change costs a SETTINGS frame and its ACK. */
const STEP = 4

/** After a change there is room for this many times the open streams, so that the next change isn't due at once. */
const HEADROOM = 4

/**
 * WINDOW_UPDATE is sent when half of a window has been read. So a connection window that is twice the most that its
 * streams may hold is never used up before their windows are.
 */
const COVER = 2

/**
 * The fraction of a window that is in flight when the window slows down the sender. It can't be much more than a half:
 * WINDOW_UPDATE is sent when half of the window has been read, and the data that it allows arrives one round trip
 * later.
 */
const FULL = 0.4
/** The factor by which a window then grows. */
const GROWTH = 2

/** The options that affect sizes. */
export type WindowOptions = Pick<
  SessionOptions,
  | 'initialWindowSize'
  | 'isWindowGiven'
  | 'connectionWindowSize'
  | 'isConnectionWindowGiven'
  | 'firstConnectionWindow'
  | 'maxSessionBuffer'
>

/** A stream with a window. */
export interface Windowed {
  /** The most that the stream may hold, in bytes; 0 until opened. Only {@link ReceiveWindows} writes it. */
  window: number
  /** Whether its reader holds it back, so that some of its window may be used up. */
  readonly isHeld: boolean
}

/** A session's streams that have a window, or are about to get one. */
export interface WindowedStreams {
  readonly size: number
  readonly items: readonly Windowed[]
}

/**
 * All streams have the same window (SETTINGS_INITIAL_WINDOW_SIZE, RFC 9113 §6.9.2), and each window may fill with
 * unread data. So the window is large while there are few streams, and shrinks as their number grows: together they
 * stay below `maxSessionBuffer`. Many streams aren't slowed down by that, because they share the connection window.
 *
 * The connection window grows with what the streams may hold, unless the caller has set one, so a stream never waits
 * because of data that others hold. This also avoids an error of Node's own server: if other streams have used up the
 * window when it has sent all of a body except END_STREAM, it ends that stream with RST_STREAM.
 *
 * The session and its engine report events. A method that returns true has changed a size: then the engine sends what
 * `announce()` and `connection.announce()` return.
 *
 * A change is in force when the peer has acknowledged it (§6.5.3). Until then, the peer may use the larger of the two
 * windows. A smaller window doesn't affect data that a stream already holds.
 */
export class ReceiveWindows {
  /** The connection window. Engine wire counts credit in it; nghttp2 counts its own. */
  readonly connection: ConnectionWindow
  readonly #options: WindowOptions
  readonly #streams: WindowedStreams
  /** Called when the peer has acknowledged a change: there may be room for another stream. */
  readonly #onRoom: () => void
  readonly #smallest: number
  /** The stream window that was chosen last, in bytes. */
  #streamWindow = 0
  /** The largest one that was announced, in bytes. */
  #largestStreamWindow = 0
  /** The window that the peer may use, in bytes: the larger of the last acknowledged one and the announced one. */
  #usableWindow = 0
  /** Where the change to `#streamWindow` is: it waits for `announce()`, or for its ACK. */
  #change: 'none' | 'due' | 'sent' = 'none'
  /** The most that all streams together may hold, in bytes. */
  #reserved = 0

  constructor(options: WindowOptions, streams: WindowedStreams, onRoom: () => void) {
    this.#options = options
    this.#streams = streams
    this.#onRoom = onRoom
    this.#smallest = Math.min(SMALLEST_WINDOW, options.initialWindowSize)
    this.connection = new ConnectionWindow(DEFAULT_WINDOW, options.maxSessionBuffer)
    this.connection.grow(options.firstConnectionWindow)
    this.begin(0)
  }

  /** The stream window that was chosen last, in bytes. It has been announced unless that is due. */
  get streamWindow(): number {
    return this.#streamWindow
  }

  /** The largest stream window that was announced, in bytes. */
  get largestStreamWindow(): number {
    return this.#largestStreamWindow
  }

  /** What the peer may send on a stream that is opened now, in bytes. */
  get usableWindow(): number {
    return this.#usableWindow
  }

  /** The most bytes that may be on their way, or unread: what the streams may hold, and a connection window. */
  get mostUnderWay(): number {
    return this.#options.maxSessionBuffer + this.#options.connectionWindowSize
  }

  /** How many streams the bound allows with the smallest windows. */
  get maxStreams(): number {
    return Math.floor(this.#options.maxSessionBuffer / this.#smallest)
  }

  /** Whether the bound allows one more stream. */
  get canTake(): boolean {
    return this.#reserved + this.#usableWindow <= this.#options.maxSessionBuffer
  }

  /** Whether a measurement may grow a window. */
  get mayGrow(): boolean {
    const { initialWindowSize, connectionWindowSize } = this.#options
    return this.#streamWindow < initialWindowSize || this.connection.size < connectionWindowSize
  }

  /**
   * A socket is connected: the first stream window is chosen.
   *
   * @param streams how many streams wait for it
   */
  begin(streams: number): void {
    const { isWindowGiven, maxSessionBuffer } = this.#options
    // A caller that sets a window gets it, if it fits. Otherwise a response that could use a larger window gets it
    // later.
    this.#streamWindow = this.#toSize(Math.max(isWindowGiven ? 1 : USUAL_STREAMS, streams), maxSessionBuffer)
    this.#largestStreamWindow = this.#streamWindow
    this.#usableWindow = this.#streamWindow
  }

  /**
   * A stream is about to be opened. It is in the list of streams already.
   *
   * @returns whether a size has changed
   */
  open(stream: Windowed): boolean {
    stream.window = this.#usableWindow
    this.#reserved += this.#usableWindow
    const isSmaller = this.#shrink()
    return this.#cover() || isSmaller
  }

  /** A stream is gone. */
  close(stream: Windowed): void {
    this.#reserved -= stream.window
    stream.window = 0
  }

  /**
   * Streams would be faster with a larger window.
   *
   * @param enough the window that they could use, in bytes
   * @returns whether it has grown
   */
  grow(enough = Number.POSITIVE_INFINITY): boolean {
    if (this.#change !== 'none') return false
    const most = this.#toSize(this.#streams.size * HEADROOM, this.#options.maxSessionBuffer - this.#reserved)
    return this.resize(Math.max(this.#streamWindow, enough < most ? toUneven(enough) : most))
  }

  /**
   * Adapts the windows to a measurement.
   *
   * @param bytes how many are in flight at the measured rate
   * @returns whether a window has grown
   */
  adapt(bytes: number): boolean {
    const { connection } = this
    const before = connection.size
    const most = this.#options.connectionWindowSize
    const larger = before * GROWTH
    if (bytes >= before * FULL) connection.grow(larger < most ? toUneven(larger) : most)
    const hasGrown = bytes >= this.#streamWindow * FULL && this.grow(this.#streamWindow * GROWTH)
    return hasGrown || connection.size > before
  }

  /**
   * Chooses another stream window.
   *
   * @param size in bytes
   * @returns whether it differs from the current one
   */
  resize(size: number): boolean {
    if (size === this.#streamWindow) return false
    this.#streamWindow = size
    this.#change = 'due'
    return true
  }

  /**
   * Takes the change that is due: a larger window counts from now on, and so the connection window may have grown.
   *
   * @returns the SETTINGS_INITIAL_WINDOW_SIZE to send, in bytes; null for none
   */
  announce(): number | null {
    if (this.#change !== 'due') return null
    this.#change = 'sent'
    const size = this.#streamWindow
    this.#largestStreamWindow = Math.max(size, this.#largestStreamWindow)
    if (size > this.#usableWindow) {
      this.#usableWindow = size
      // A held stream keeps an earlier, larger window: it may hold as much data.
      for (const stream of this.#streams.items)
        if (!stream.isHeld || stream.window < size) this.#reserve(stream)
      this.#cover()
    }
    return size
  }

  /** The peer has acknowledged a change to this size. All data that it had sent before has arrived. */
  acknowledge(size: number): void {
    this.#change = 'none'
    this.#usableWindow = Math.max(size, this.#streamWindow)
    for (const stream of this.#streams.items) if (!stream.isHeld) this.#reserve(stream)
    this.#onRoom()
  }

  #reserve(stream: Windowed): void {
    this.#reserved += this.#usableWindow - stream.window
    stream.window = this.#usableWindow
  }

  /** Shrinks the stream window when half of the bound is reserved. */
  #shrink(): boolean {
    const { maxSessionBuffer } = this.#options
    if (this.#change !== 'none' || this.#reserved * 2 <= maxSessionBuffer) return false
    const size = this.#toSize(this.#streams.size * HEADROOM, maxSessionBuffer - this.#reserved)
    return this.resize(Math.min(this.#streamWindow, size))
  }

  /**
   * Grows the connection window with what the streams may hold. A single stream needs no more: it can't use up what
   * other streams need.
   */
  #cover(): boolean {
    const needed = this.#reserved * COVER
    const { size } = this.connection
    if (needed <= size || this.#streams.size < 2 || this.#options.isConnectionWindowGiven) return false
    // It at least doubles, so that a burst of streams doesn't cause a burst of frames.
    this.connection.grow(toUneven(Math.min(Math.max(needed, size * 2), MAX_WINDOW_SIZE)))
    return this.connection.size > size
  }

  /** The largest window that fits this many times into this many bytes. */
  #toSize(streams: number, bytes: number): number {
    let size = this.#options.initialWindowSize
    while (size * streams > bytes && size > this.#smallest) {
      size = Math.max(this.#smallest, toUneven(size / STEP))
    }
    return size
  }
}

/**
 * The receive windows of a session: those of its streams, and the connection window that they share.
 *
 * @module
 */

import type { SessionOptions } from '../../options/session-options.ts'
import { MAX_WINDOW_SIZE, toUneven } from '../../options/window-size.ts'
import type { Windowed } from './stream-window.ts'
import { StreamWindow } from './stream-window.ts'

/** The open streams of a session. */
interface OpenStreams {
  readonly size: number
  readonly items: readonly Windowed[]
}

/** Announces the windows of a connection. */
export interface WindowAnnouncer {
  /** Announces another stream window, in bytes. @param onAck not called when the connection ends first */
  announceWindow(streamWindow: number, onAck: () => void): void
  /** Grows the connection window. @param size bytes; no effect unless it is larger than before */
  growConnectionWindow(size: number): void
}

/**
 * WINDOW_UPDATE is sent when half of a window was read. So a connection window that is twice the most that its streams
 * may hold is never used up before theirs are.
 */
const COVER = 2

/**
 * `maxSessionBuffer` bounds the most that a session's streams may hold together, and so its memory. The connection
 * window grows with it, unless the caller has set one, so that a stream never waits because of data that others hold.
 * This also avoids an error of Node's own server: if other streams have used the window up when it has sent all of a
 * body except END_STREAM, it ends that stream by RST_STREAM.
 */
export class SessionWindows {
  readonly #options: SessionOptions
  readonly #streams: OpenStreams
  /** Called when the peer has acknowledged a change: there may be room for another stream. */
  readonly #onRoom: () => void
  #window: StreamWindow
  /** Null until connected. */
  #connection: WindowAnnouncer | null = null
  /** The size that the connection window has at least. Bytes; Infinity when the caller has set it. */
  #covered: number

  constructor(options: SessionOptions, streams: OpenStreams, onRoom: () => void) {
    this.#options = options
    this.#streams = streams
    this.#onRoom = onRoom
    this.#window = new StreamWindow(options, 0)
    this.#covered = options.isConnectionWindowGiven ? Number.POSITIVE_INFINITY : options.firstConnectionWindow
  }

  /** The stream window that was announced last. Bytes. */
  get size(): number {
    return this.#window.size
  }

  /** The number of streams that the bound allows with the smallest windows. */
  get maxStreams(): number {
    return this.#window.maxStreams
  }

  /** Whether the bound allows one more stream. */
  get hasRoom(): boolean {
    return this.#window.hasRoom
  }

  /**
   * A socket is connected. @param streams the number of streams that wait for it @returns the
   * SETTINGS_INITIAL_WINDOW_SIZE to announce, in bytes
   */
  begin(streams: number): number {
    this.#window = new StreamWindow(this.#options, streams)
    return this.#window.size
  }

  /** The connection has announced the window that `begin()` returned. */
  connect(connection: WindowAnnouncer): void {
    this.#connection = connection
  }

  /** A stream is about to be opened. It is in the list of streams already. */
  open(stream: Windowed): void {
    this.#window.open(stream)
    if (this.#window.shrink(this.#streams.size)) this.#announce()
    this.#cover()
  }

  /** A stream is gone. */
  close(stream: Windowed): void {
    this.#window.close(stream)
  }

  /** Streams would go faster with a larger window. @param size the window that is enough, in bytes */
  grow(size: number): void {
    if (!this.#window.grow(this.#streams.items, size)) return
    // The connection window grows first, so that no stream finds it used up.
    this.#cover()
    this.#announce()
  }

  #announce(): void {
    this.#connection?.announceWindow(this.#window.size, () => {
      this.#window.acknowledge(this.#streams.items)
      this.#onRoom()
    })
  }

  /**
   * Grows the connection window with what the streams may hold. A single stream needs no more: it can't use up what
   * other streams need.
   */
  #cover(): void {
    const needed = this.#window.reserved * COVER
    if (needed <= this.#covered || this.#covered === MAX_WINDOW_SIZE || this.#streams.size < 2) return
    // It at least doubles, so that a burst of streams isn't a burst of frames.
    this.#covered = toUneven(Math.min(Math.max(needed, this.#covered * 2), MAX_WINDOW_SIZE))
    this.#connection?.growConnectionWindow(this.#covered)
  }
}

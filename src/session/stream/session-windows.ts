/**
 * The receive windows of a session: of its streams, and of the connection that they share.
 *
 * @module
 */

import type { SessionOptions } from '../../core/session-options.ts'
import { MAX_WINDOW_SIZE, toUneven } from '../../core/window-size.ts'
import type { Windowed } from './stream-window.ts'
import { StreamWindow } from './stream-window.ts'

/** The streams of a session, as they are now. */
interface OpenStreams {
  readonly size: number
  readonly items: readonly Windowed[]
}

/** What a connection is told of its windows. */
export interface WindowAnnouncer {
  /** Tells the peer of another window of streams, in bytes; `onAck` isn't called when it ends first. */
  announceWindow(streamWindow: number, onAck: () => void): void
  /** Makes the connection's own window larger, in bytes. A smaller one than before changes nothing. */
  growConnectionWindow(size: number): void
}

/**
 * Credit that has come back is announced when it is half of a window. So a connection's window that is twice what its
 * streams may hold is never used up before theirs are.
 */
const COVER = 2

/**
 * What bounds a session's memory is what its streams may hold together: `maxSessionBuffer`. The connection's window
 * grows with that, unless the caller has given one: a stream never waits for what others hold. And Node's own server,
 * when it has sent all of a body but END_STREAM while the window is used up by other streams, would end it by
 * RST_STREAM.
 */
export class SessionWindows {
  readonly #options: SessionOptions
  readonly #streams: OpenStreams
  /** The peer has acknowledged a change: there may be room. */
  readonly #onRoom: () => void
  #window: StreamWindow
  /** Null until there is one. */
  #connection: WindowAnnouncer | null = null
  /** What the connection's window has been grown to, at least. Bytes. */
  #covered: number

  constructor(options: SessionOptions, streams: OpenStreams, onRoom: () => void) {
    this.#options = options
    this.#streams = streams
    this.#onRoom = onRoom
    this.#window = new StreamWindow(options, 0)
    this.#covered = options.isConnectionWindowGiven ? Number.POSITIVE_INFINITY : options.firstConnectionWindow
  }

  /** That of streams, as it was announced last. Bytes. */
  get size(): number {
    return this.#window.size
  }

  /** So many streams the bound allows with the smallest windows. */
  get maxStreams(): number {
    return this.#window.maxStreams
  }

  /** Whether the bound allows for one more. */
  get hasRoom(): boolean {
    return this.#window.hasRoom
  }

  /** There is a socket now. @param streams how many wait for it @returns what SETTINGS are to say, in bytes */
  begin(streams: number): number {
    this.#window = new StreamWindow(this.#options, streams)
    return this.#window.size
  }

  /** There is a connection now, that has said so. */
  connect(connection: WindowAnnouncer): void {
    this.#connection = connection
  }

  /** A stream is about to be opened; it is among the others. */
  open(stream: Windowed): void {
    this.#window.open(stream)
    if (this.#window.shrink(this.#streams.size)) this.#announce()
    this.#cover()
  }

  /** A stream is gone. */
  close(stream: Windowed): void {
    this.#window.close(stream)
  }

  /** Streams would go faster with a larger window. @param size that is enough, in bytes */
  grow(size: number): void {
    if (!this.#window.grow(this.#streams.items, size)) return
    // First: no stream shall find the connection's window used up.
    this.#cover()
    this.#announce()
  }

  #announce(): void {
    this.#connection?.announceWindow(this.#window.size, () => {
      this.#window.acknowledge(this.#streams.items)
      this.#onRoom()
    })
  }

  /** One stream alone can't use up what others need. */
  #cover(): void {
    const needed = this.#window.reserved * COVER
    if (needed <= this.#covered || this.#covered === MAX_WINDOW_SIZE || this.#streams.size < 2) return
    // By doubling, so that a burst of streams isn't a burst of frames.
    this.#covered = toUneven(Math.min(Math.max(needed, this.#covered * 2), MAX_WINDOW_SIZE))
    this.#connection?.growConnectionWindow(this.#covered)
  }
}

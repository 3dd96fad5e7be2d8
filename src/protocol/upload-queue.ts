/**
 * The streams that have data to send, in turn.
 *
 * @module
 */

import type { FrameWriter } from './frame-writer.ts'
import type { Http2Stream } from './stream.ts'
import { afterLocalEnd } from './stream-state.ts'

/** Hears of the frames that the queue has made. */
export interface UploadOwner {
  /** A DATA frame was made. @param size bytes of data in it */
  onFrame(size: number): void
  /** END_STREAM of a stream was framed; the stream's state says so already. */
  onLocalEnd(stream: Http2Stream): void
}

/**
 * The first stream in the queue sends one frame and goes to the end: no upload waits until another one is complete. A
 * stream whose own window is used up leaves the queue until the peer opens the window again.
 */
export class UploadQueue {
  readonly #writer: FrameWriter
  readonly #owner: UploadOwner
  #first: Http2Stream | null = null
  #last: Http2Stream | null = null
  /** The connection's send window: bytes that the peer takes now (RFC 9113 §6.9). */
  window: number

  constructor(writer: FrameWriter, window: number, owner: UploadOwner) {
    this.#writer = writer
    this.window = window
    this.#owner = owner
  }

  get isEmpty(): boolean {
    return this.#first === null
  }

  /** Adds a stream that has a piece to send, if its own window allows for some of it. */
  add(stream: Http2Stream): void {
    const { piece } = stream
    if (stream.isQueued || piece === null) return
    if (stream.sendWindow <= 0 && piece.length > 0) return
    stream.isQueued = true
    if (this.#last === null) this.#first = stream
    else this.#last.nextUpload = stream
    this.#last = stream
  }

  /** Removes a stream that is closed, or has nothing to send any more. */
  delete(stream: Http2Stream): void {
    stream.piece = null
    if (!stream.isQueued) return
    let previous: Http2Stream | null = null
    for (let item = this.#first; item !== stream && item !== null; item = item.nextUpload) previous = item
    this.#unlink(stream, previous)
  }

  /** Makes frames of what the windows allow for. @param limit bytes of data at most */
  pump(limit: number): void {
    let left = limit
    while (left > 0) {
      const stream = this.#next()
      if (stream === null) return
      left -= this.#send(stream, left)
    }
  }

  /** The first stream that may send now, removed from the queue; null for none. */
  #next(): Http2Stream | null {
    let previous: Http2Stream | null = null
    let stream = this.#first
    while (stream !== null && !this.#isReady(stream)) {
      const next: Http2Stream | null = stream.nextUpload
      // A change of SETTINGS has used up its window while it was in the queue. It is added again with the next
      // WINDOW_UPDATE or SETTINGS.
      if (stream.sendWindow <= 0) this.#unlink(stream, previous)
      else previous = stream
      stream = next
    }
    if (stream !== null) this.#unlink(stream, previous)
    return stream
  }

  /**
   * Whether the stream may send now. Without a window only an empty frame with END_STREAM may be sent (RFC 9113
   * §6.9.1).
   */
  #isReady({ piece, sendWindow }: Http2Stream): boolean {
    return piece === null || piece.length === 0 || (this.window > 0 && sendWindow > 0)
  }

  #unlink(stream: Http2Stream, previous: Http2Stream | null): void {
    if (previous === null) this.#first = stream.nextUpload
    else previous.nextUpload = stream.nextUpload
    if (this.#last === stream) this.#last = previous
    stream.nextUpload = null
    stream.isQueued = false
  }

  /** @returns the bytes that were framed; at least 1, so that `pump()` comes to an end */
  #send(stream: Http2Stream, limit: number): number {
    const { piece, pieceOffset } = stream
    if (piece === null) return 1
    const { maxFrameSize } = this.#writer
    const left = piece.length - pieceOffset
    const size = left === 0 ? 0 : Math.min(left, stream.sendWindow, this.window, maxFrameSize, limit)
    const end = pieceOffset + size
    const isTaken = end === piece.length
    const isEnd = isTaken && stream.isLastPiece
    this.#writer.data(stream.id, piece, pieceOffset, end, isEnd)
    stream.sendWindow -= end - pieceOffset
    this.window -= end - pieceOffset
    stream.pieceOffset = end
    this.#owner.onFrame(size)
    if (isTaken) stream.piece = null
    else this.add(stream)
    if (isEnd) {
      stream.state = afterLocalEnd(stream.state)
      this.#owner.onLocalEnd(stream)
    }
    stream.listener.onSent(isTaken)
    return Math.max(1, size)
  }
}

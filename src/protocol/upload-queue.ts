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
  /** A DATA frame was made. */
  onFrame(): void
  /** END_STREAM of a stream was framed; the stream's state says so already. */
  onLocalEnd(stream: Http2Stream): void
}

/**
 * The first stream in the queue sends one frame and goes to the end: no upload waits until another one is complete. A
 * stream whose own window is used up leaves the queue until the peer opens the window again.
 *
 * A stream whose piece is empty goes to the front: its frame needs no window (RFC 9113 §6.9.1). So no stream behind the
 * first one has to be looked at while the connection window is used up.
 *
 * A linked list through its streams: a stream leaves from anywhere in constant time.
 */
export class UploadQueue {
  readonly #writer: FrameWriter
  readonly #owner: UploadOwner
  #first: Http2Stream | null = null
  #last: Http2Stream | null = null
  /** The connection's send window: bytes that the peer takes now (RFC 9113 §6.9). */
  window: number
  /** Bytes of data that were sent on the connection, and that the peer has returned no credit for yet. */
  unreturned = 0

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
    if (piece === null || this.#has(stream)) return
    if (piece.length === 0) this.#addFirst(stream)
    else if (stream.sendWindow > 0) this.#addLast(stream)
  }

  /** Removes a stream that is closed, or has nothing to send any more. */
  delete(stream: Http2Stream): void {
    stream.piece = null
    if (this.#has(stream)) this.#unlink(stream)
  }

  #has(stream: Http2Stream): boolean {
    return stream.previousUpload !== null || this.#first === stream
  }

  #addFirst(stream: Http2Stream): void {
    stream.nextUpload = this.#first
    if (this.#first === null) this.#last = stream
    else this.#first.previousUpload = stream
    this.#first = stream
  }

  #addLast(stream: Http2Stream): void {
    stream.previousUpload = this.#last
    if (this.#last === null) this.#first = stream
    else this.#last.nextUpload = stream
    this.#last = stream
  }

  #unlink(stream: Http2Stream): void {
    const { nextUpload: next, previousUpload: previous } = stream
    if (previous === null) this.#first = next
    else previous.nextUpload = next
    if (next === null) this.#last = previous
    else next.previousUpload = previous
    stream.nextUpload = null
    stream.previousUpload = null
  }

  /** Makes DATA frames, as far as the windows allow for. @param limit bytes of data at most */
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
    for (let stream = this.#first; stream !== null; stream = this.#first) {
      const isEmpty = stream.piece === null || stream.piece.length === 0
      if (!isEmpty && this.window <= 0) return null
      this.#unlink(stream)
      // A change of SETTINGS may have used up its window while it was in the queue. Then it is added again with the
      // next WINDOW_UPDATE or SETTINGS.
      if (isEmpty || stream.sendWindow > 0) return stream
    }
    return null
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
    stream.sendWindow -= size
    stream.unreturned += size
    this.window -= size
    this.unreturned += size
    stream.pieceOffset = end
    this.#owner.onFrame()
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

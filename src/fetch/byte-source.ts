/**
 * A response body as the source of a web stream.
 *
 * @module
 */

import { noop } from '../core/noop.ts'

/** Where the bytes come from. */
export interface ByteSupply {
  /** A piece of at most `limit` bytes; null if there is none at the moment. */
  take(limit: number): Buffer | null
  /** Asks for more. `onReadable()` is called when there is some, possibly during this call. */
  more(): void
  /** Whether no more will arrive. */
  readonly isComplete: boolean
  /** Why it failed; undefined if it hasn't. */
  readonly failure: { readonly error: unknown } | undefined
  /** The stream's reader has cancelled. */
  cancel(reason: unknown): void
}

/** The supply of a stream that has ended: some of Node's streams outlive their reader, but the call must not. */
const SPENT: ByteSupply = { take: () => null, more: noop, isComplete: true, failure: undefined, cancel: noop }

/**
 * Provides one piece for each read, and reads nothing ahead: unread pieces wait in the body, which holds the peer
 * back.
 *
 * It holds the stream's controller only while a read waits for data, so that an unreachable stream can be
 * garbage-collected.
 */
export class ByteSource {
  readonly type = 'bytes'
  #body: ByteSupply
  /** The controller of a waiting read; null if none waits. */
  #waiting: ReadableByteStreamController | null = null
  #controller: WeakRef<ReadableByteStreamController> | null = null

  constructor(body: ByteSupply) {
    this.#body = body
  }

  /** Creates the stream; call it once. */
  open(): ReadableStream<Uint8Array> {
    return new ReadableStream(this, { highWaterMark: 0 })
  }

  start(controller: ReadableByteStreamController): void {
    const { failure, isComplete } = this.#body
    if (failure === undefined && !isComplete) {
      this.#controller = new WeakRef(controller)
      return
    }
    this.#drop()
    if (failure === undefined) controller.close()
    else controller.error(failure.error)
  }

  pull(controller: ReadableByteStreamController): void {
    const request = controller.byobRequest
    const view = request?.view ?? null
    const chunk = this.#body.take(view === null ? Number.POSITIVE_INFINITY : view.byteLength)
    if (chunk === null) {
      this.#waiting = controller
    } else if (view === null) {
      // A copy: the stream takes the whole buffer for itself, of which the piece is a part.
      controller.enqueue(new Uint8Array(chunk))
    } else {
      new Uint8Array(view.buffer, view.byteOffset, chunk.length).set(chunk)
      request?.respond(chunk.length)
    }
    if (this.#body.isComplete) this.#close(controller)
    // Last: the next piece, or the end, may come from inside this call.
    else this.#body.more()
  }

  cancel(reason: unknown): void {
    const body = this.#body
    this.#drop()
    body.cancel(reason)
  }

  /** A piece, or the end, has arrived. */
  onReadable(): void {
    const waiting = this.#waiting
    if (this.#body.isComplete) {
      const controller = waiting ?? this.#controller?.deref()
      if (controller !== undefined) this.#close(controller)
    } else if (waiting !== null) {
      this.#waiting = null
      this.#pullFor(waiting)
    }
  }

  /**
   * Serves a read that has waited. The reader may have transferred its view: that error is the reader's, not the
   * dispatcher's.
   */
  #pullFor(controller: ReadableByteStreamController): void {
    try {
      this.pull(controller)
    } catch (thrown) {
      controller.error(thrown)
      this.cancel(thrown)
    }
  }

  fail(error: unknown): void {
    const controller = this.#waiting ?? this.#controller?.deref()
    this.#drop()
    controller?.error(error)
  }

  #close(controller: ReadableByteStreamController): void {
    this.#drop()
    const { byobRequest } = controller
    try {
      controller.close()
      // Only `respond(0)` settles a BYOB read that waits.
      byobRequest?.respond(0)
    } catch {
      // The end came in the middle of an element of the reader's view: the stream fails, and its reader gets the error.
    }
  }

  /** The stream has ended. */
  #drop(): void {
    this.#waiting = null
    this.#controller = null
    this.#body = SPENT
  }
}

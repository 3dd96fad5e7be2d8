/**
 * Streams that wait to send, in an order.
 *
 * @module
 */

import type { Http2Stream } from './stream.ts'

/** A linked list through its streams: a stream leaves from anywhere in constant time. */
export class UploadLane {
  #first: Http2Stream | null = null
  #last: Http2Stream | null = null

  /** Null for an empty lane. */
  get first(): Http2Stream | null {
    return this.#first
  }

  /** @param stream one that is in this lane, or in none */
  has(stream: Http2Stream): boolean {
    return stream.previousUpload !== null || this.#first === stream
  }

  addFirst(stream: Http2Stream): void {
    stream.nextUpload = this.#first
    if (this.#first === null) this.#last = stream
    else this.#first.previousUpload = stream
    this.#first = stream
  }

  addLast(stream: Http2Stream): void {
    stream.previousUpload = this.#last
    if (this.#last === null) this.#first = stream
    else this.#last.nextUpload = stream
    this.#last = stream
  }

  /** @param stream one that is in this lane */
  delete(stream: Http2Stream): void {
    const { nextUpload: next, previousUpload: previous } = stream
    if (previous === null) this.#first = next
    else previous.nextUpload = next
    if (next === null) this.#last = previous
    else next.previousUpload = previous
    stream.nextUpload = null
    stream.previousUpload = null
  }
}

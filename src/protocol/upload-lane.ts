/**
 * Streams with data that wait to send, in order.
 *
 * @module
 */

import type { StreamUpload } from './stream.ts'

/** A linked list through its members: removing one from anywhere takes constant time. */
export class UploadLane {
  #first: StreamUpload | null = null
  #last: StreamUpload | null = null

  /** Null for an empty lane. */
  get first(): StreamUpload | null {
    return this.#first
  }

  /** @param upload one that is in this lane, or in none */
  has(upload: StreamUpload): boolean {
    return upload.previous !== null || this.#first === upload
  }

  addFirst(upload: StreamUpload): void {
    upload.next = this.#first
    if (this.#first === null) this.#last = upload
    else this.#first.previous = upload
    this.#first = upload
  }

  addLast(upload: StreamUpload): void {
    upload.previous = this.#last
    if (this.#last === null) this.#first = upload
    else this.#last.next = upload
    this.#last = upload
  }

  /** @param upload one that is in this lane */
  delete(upload: StreamUpload): void {
    const { next, previous } = upload
    if (previous === null) this.#first = next
    else previous.next = next
    if (next === null) this.#last = previous
    else next.previous = previous
    upload.next = null
    upload.previous = null
  }
}

/**
 * The pieces that a Writable has yet to receive.
 *
 * @module
 */

import type { Writable } from 'node:stream'
import { KeptPieces } from '../core/kept-pieces.ts'

/** Is told about a feed. */
export interface FeedOwner {
  /** Nothing is kept any more, and the Writable accepts more. */
  onRoom(): void
}

/**
 * Passes pieces to a Writable as it writes them. Node's own buffer needs an entry of more than 100 bytes for each
 * piece, and pins its chunk. So the Writable holds only one waiting piece, and further pieces are kept here until
 * that one was written.
 */
export class WritableFeed {
  readonly #writable: Writable
  readonly #owner: FeedOwner
  readonly #kept = new KeptPieces()
  /** Whether a piece waits in the Writable, and its callback is due. */
  #isWaiting = false
  readonly #onWritten = (): void => {
    this.#isWaiting = false
    this.#give()
    if (this.#kept.size === 0 && !this.#writable.writableNeedDrain) this.#owner.onRoom()
  }

  constructor(writable: Writable, owner: FeedOwner) {
    this.#writable = writable
    this.#owner = owner
  }

  /** @returns false if no more should follow before `onRoom()` or the Writable's `drain` */
  write(piece: Buffer): boolean {
    const writable = this.#writable
    this.#kept.add(piece)
    if (!this.#isWaiting) this.#give()
    return this.#kept.size + writable.writableLength < writable.writableHighWaterMark
  }

  /** No more pieces follow: the Writable gets everything that is kept. */
  end(): void {
    for (let piece = this.#kept.shift(); piece !== null; piece = this.#kept.shift())
      this.#writable.write(piece)
  }

  #give(): void {
    const writable = this.#writable
    if (writable.destroyed) this.#kept.clear()
    while (!this.#isWaiting) {
      const piece = this.#kept.shift()
      if (piece === null) return
      this.#isWaiting = writable.writableLength > 0
      if (this.#isWaiting) writable.write(piece, this.#onWritten)
      else writable.write(piece)
    }
  }
}

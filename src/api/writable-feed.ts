/**
 * What a Writable has still to be given.
 *
 * @module
 */

import type { Writable } from 'node:stream'
import { KeptPieces } from '../core/kept-pieces.ts'

/** Hears of a feed. */
export interface FeedOwner {
  /** Nothing is kept any more, and the Writable takes more. */
  onRoom(): void
}

/**
 * Gives a Writable its pieces as it writes them. Node's own buffer takes an entry of more than 100 bytes for each
 * piece, and pins its chunk. So it gets one piece to wait there, and further pieces are kept here until that one was
 * written.
 */
export class WritableFeed {
  readonly #writable: Writable
  readonly #owner: FeedOwner
  readonly #kept = new KeptPieces()
  /** A piece waits in the Writable, and its callback is due. */
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

  /** @returns false when no more should come before `onRoom()` or the Writable's `drain` */
  write(piece: Buffer): boolean {
    const writable = this.#writable
    this.#kept.add(piece)
    if (!this.#isWaiting) this.#give()
    return this.#kept.size + writable.writableLength < writable.writableHighWaterMark
  }

  /** No further piece comes: the Writable gets all that is kept. */
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

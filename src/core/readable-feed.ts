/**
 * Feeds a Readable with pieces.
 *
 * @module
 */

import type { Readable } from 'node:stream'
import type { KeptPieces } from './kept-pieces.ts'
import { originalSetImmediate } from './original-timers.ts'
import { toCompact } from './piece-list.ts'

/**
 * Gives a Readable its pieces as its reader asks for them. Node's own buffer takes an entry of more than 100 bytes for
 * each piece, and pins its chunk. So it gets no second piece while it has one: pieces that arrive meanwhile are kept
 * here, and joined. Only a reader that uses `readable` gets them in the next turn, because it may wait for more bytes
 * than node's buffer has.
 *
 * The Readable's owner calls {@link onRead} from `_read()`. Its own `read()` calls {@link beforeRead} and
 * {@link afterRead}.
 */
export class ReadableFeed {
  readonly #readable: Readable
  readonly #kept: KeptPieces
  /** Whether node has called `_read()`, or `push()` has returned true. */
  #isWanted = false
  /**
   * Whether the reader asks for a number of bytes. If node's buffer has fewer, the reader waits for `readable`, which a
   * push emits.
   */
  #isAwaited = false
  /** Whether a running `read()` takes everything from node's buffer when it returns: no piece stays there. */
  #isEmptied = false
  #isEnded = false
  /**
   * Whether a reader that uses `readable` gets the kept pieces in the next turn of the event loop, unless it reads
   * before.
   */
  #isGiveDue = false

  /** @param kept the pieces that have arrived already */
  constructor(readable: Readable, kept: KeptPieces) {
    this.#readable = readable
    this.#kept = kept
  }

  /** The bytes that the Readable hasn't got yet. */
  get size(): number {
    return this.#kept.size
  }

  /** Whether the peer may send more. */
  get hasRoom(): boolean {
    return this.#kept.size === 0 || this.#kept.size < this.#readable.readableHighWaterMark
  }

  /**
   * A piece has arrived.
   *
   * @returns false if no more should arrive before the reader reads
   */
  receive(piece: Buffer): boolean {
    const readable = this.#readable
    // Nothing would be pushed for it, so node would never call `_read()` again, which resumes a paused response.
    if (piece.length === 0) return true
    if (this.#kept.size === 0 && this.#mayPush && !this.#isPaused) {
      this.#push(piece)
      return this.#isWanted
    }
    this.#kept.add(piece)
    if (this.#isWanted && readable.readableFlowing === false && !this.#isPaused) this.#requestGive()
    return this.#kept.size + readable.readableLength < readable.readableHighWaterMark
  }

  /** No more pieces follow. */
  end(): void {
    this.#isEnded = true
    if (this.#kept.size === 0) this.#readable.push(null)
  }

  /** Node asks for more. */
  onRead(): void {
    this.#isWanted = true
    if (this.#mayPush) this.#give()
    // Only here: outside `_read()`, node emits `readable` inside `push(null)`, and the reader would get what follows
    // before its own `read()` has returned.
    if (this.#isEnded && this.#kept.size === 0) this.#readable.push(null)
  }

  /**
   * The reader calls `read()`. Without a size, it gets everything in node's buffer as one Buffer, so the kept pieces
   * are added to it, rather than left for another `read()`.
   *
   * @param size what it asks for; undefined for everything
   */
  beforeRead(size: number | undefined): void {
    this.#isEmptied = size === undefined && this.#readable.readableFlowing !== true
    if (this.#isEmptied && this.#kept.size > 0) this.#give()
  }

  /**
   * The reader has called `read()`.
   *
   * @param size what it asked for; 0 isn't a read
   */
  afterRead(size: number | undefined): void {
    this.#isEmptied = false
    if (size === 0) return
    this.#isAwaited = size !== undefined
    // Node calls `_read()` again after that: only there may the end be pushed, and the call be resumed.
    if (this.#mayPush) this.#give()
  }

  /**
   * The reader may check `readableLength`, and wait for as many bytes as it needs. All pieces of a turn cause one
   * event.
   */
  #requestGive(): void {
    if (this.#isGiveDue) return
    this.#isGiveDue = true
    originalSetImmediate(giveLater, this)
  }

  /** The next turn has begun. */
  onTurn(): void {
    this.#isGiveDue = false
    if (!this.#readable.destroyed && !this.#isPaused) this.#give()
  }

  get #mayPush(): boolean {
    return this.#isWanted && (this.#isAwaited || this.#readable.readableLength === 0)
  }

  /** A reader that uses `data` has paused it. A reader that uses `readable` has to be told about each piece. */
  get #isPaused(): boolean {
    return this.#readable.readableFlowing === false && this.#readable.listenerCount('readable') === 0
  }

  #give(): void {
    while (this.#isWanted) {
      const piece = this.#kept.shift()
      if (piece === null) return
      this.#push(piece)
    }
  }

  #push(piece: Buffer): void {
    this.#isWanted = false
    // Otherwise the piece may stay in node's buffer for long.
    const isTaken = this.#isEmptied || this.#readable.readableFlowing === true
    const kept = isTaken ? piece : toCompact(piece)
    let wantsMore = true
    try {
      // A reader's callback may run inside, and make node ask again, or throw.
      wantsMore = this.#readable.push(kept)
    } finally {
      if (wantsMore) this.#isWanted = true
    }
  }
}

function giveLater(feed: ReadableFeed): void {
  feed.onTurn()
}

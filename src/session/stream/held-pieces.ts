/**
 * Pieces of a response that its reader hasn't taken yet.
 *
 * @module
 */

/** Pieces below this size are put together. Bytes. */
const SMALL_SIZE = 2_048

/** A piece that is a smaller part of its chunk than this is copied: it would keep all of the chunk alive. */
const KEPT_PART = 4

/** Small pieces are put together in buffers of this size: each by itself would cost more than its bytes. */
const ROOM = 8_192

const NOTHING = Buffer.alloc(0)

/**
 * What is kept costs about as much memory as it has bytes, however small the frames are that a peer sends it in, and
 * whatever comes beside them.
 */
export class HeldPieces {
  /** Null for none: then there are none behind it in `#later`, either. */
  #oldest: Buffer | null = null
  /** Null before there are any: of most responses one piece is kept. */
  #later: Buffer[] | null = null
  /** Small pieces behind all of these, as far as `#filled`. */
  #room: Buffer = NOTHING
  #filled = 0
  #size = 0

  /** All that is kept. Bytes. */
  get size(): number {
    return this.#size
  }

  /** A piece that is kept as it is: it has its memory for itself. */
  add(piece: Buffer): void {
    this.#size += piece.length
    this.#push(piece)
  }

  /** A part of a chunk that was read. */
  addPart(bytes: Buffer, start: number, end: number): void {
    const size = end - start
    this.#size += size
    if (size >= SMALL_SIZE) {
      this.#close()
      this.#push(toKept(bytes, start, end))
      return
    }
    if (this.#room.length - this.#filled < size) {
      this.#close()
      this.#room = Buffer.allocUnsafeSlow(ROOM)
    }
    this.#filled += bytes.copy(this.#room, this.#filled, start, end)
  }

  /** The oldest; null when there is none. */
  shift(): Buffer | null {
    if (this.#oldest === null) this.#close()
    const piece = this.#oldest
    if (piece === null) return null
    this.#size -= piece.length
    this.#oldest = this.#later?.shift() ?? null
    return piece
  }

  #push(piece: Buffer): void {
    if (this.#oldest === null) {
      this.#oldest = piece
    } else {
      this.#later ??= []
      this.#later.push(piece)
    }
  }

  /** What is in the room is a piece now, and nothing more is written to it. */
  #close(): void {
    if (this.#filled === 0) return
    // A few bytes shall not keep the whole room alive: they may lie here for long.
    const piece = this.#room.subarray(0, this.#filled)
    this.#push(this.#filled * 2 < ROOM ? toCopy(piece) : piece)
    this.#room = NOTHING
    this.#filled = 0
  }
}

/**
 * A part of a chunk that was read, to be kept for a while: a copy, where the rest of the chunk would be kept for
 * little.
 */
export function toKept(bytes: Buffer, start: number, end: number): Buffer {
  const piece = bytes.subarray(start, end)
  return (end - start) * KEPT_PART < bytes.length ? toCopy(piece) : piece
}

/** `Buffer.from()` would take it out of a pool that it then keeps alive: 64 KiB, since Node 24. */
function toCopy(piece: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(piece.length)
  piece.copy(copy)
  return copy
}

/**
 * Pieces of a response that its reader hasn't taken yet.
 *
 * @module
 */

/** Pieces below this size are put together. Bytes. */
const SMALL_SIZE = 2_048

/** A piece that is a smaller part of its chunk than this is copied: it would keep all of the chunk alive. */
const MIN_PART = 4

/** Small pieces are put together in buffers of this size: each by itself would cost more than its bytes. */
const ROOM = 8_192

const NOTHING = Buffer.alloc(0)

/**
 * The kept data costs about as much memory as it has bytes, even if the peer sends it in very small frames, or with
 * other frames in the same chunks.
 */
export class HeldPieces {
  /** The oldest piece. Null for none: then `#later` has none, either. */
  #oldest: Buffer | null = null
  /** The pieces behind it. Null before there are any: for most responses one piece is kept. */
  #later: Buffer[] | null = null
  /** A buffer of small pieces, which come after `#later`. It is filled up to `#filled`. */
  #room: Buffer = NOTHING
  #filled = 0
  #size = 0

  /** The size of all kept pieces. Bytes. */
  get size(): number {
    return this.#size
  }

  /** Keeps a piece uncopied: no other data shares its memory. */
  add(piece: Buffer): void {
    this.#size += piece.length
    this.#close()
    this.#push(piece)
  }

  /** Keeps a part of a chunk that was read. */
  addPart(bytes: Buffer, start: number, end: number): void {
    const size = end - start
    this.#size += size
    if (size >= SMALL_SIZE) {
      this.#close()
      this.#push(toCompact(bytes, start, end))
      return
    }
    if (this.#room.length - this.#filled < size) {
      this.#close()
      this.#room = Buffer.allocUnsafeSlow(ROOM)
    }
    this.#filled += bytes.copy(this.#room, this.#filled, start, end)
  }

  /** Takes out the oldest piece; null when there is none. */
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

  /** Makes a piece of the data in the room. Nothing more is written to that room. */
  #close(): void {
    if (this.#filled === 0) return
    // A few bytes must not keep the whole room alive: they may be kept for long.
    const piece = this.#room.subarray(0, this.#filled)
    this.#push(this.#filled * 2 < ROOM ? toCopy(piece) : piece)
    this.#room = NOTHING
    this.#filled = 0
  }
}

/**
 * A part of a chunk that was read, for keeping. A small part is copied, so that it doesn't keep the whole chunk alive.
 */
export function toCompact(bytes: Buffer, start: number, end: number): Buffer {
  const piece = bytes.subarray(start, end)
  return (end - start) * MIN_PART < bytes.length ? toCopy(piece) : piece
}

/** `Buffer.from()` would use a pool, which the copy would keep alive: 64 KiB since Node 24. */
function toCopy(piece: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(piece.length)
  piece.copy(copy)
  return copy
}

/**
 * The pieces of a body that its reader hasn't taken yet.
 *
 * @module
 */

import { PieceList, toCopy, toOwn } from './piece-list.ts'

/**
 * How many bytes a single piece may pin beyond twice its size: as many as a socket's chunks have. Most responses are a
 * single piece, read at once: copying each of them would cost a 1 KiB request a quarter more CPU.
 */
const SPARE_FOR_ONE = 65_536

/** The most bytes that a reader gets at once. */
const MAX_PIECE = 65_536

const NOTHING = Buffer.alloc(0)

/**
 * A queue of pieces, for every holder. The memory that it takes is proportional to the bytes that it keeps, whatever
 * the peer sends: one byte in each chunk of 64 KiB, or frames of one byte. Each operation takes constant time on
 * average.
 *
 * Most holders keep a single piece: then there is no list.
 */
export class KeptPieces {
  /** The only piece; null for none, and while there is a list. */
  #only: Buffer | null = null
  /** Two pieces or more; null for fewer. Once a list was needed, it may have a single piece. */
  #list: PieceList | null = null
  readonly #expected: number

  /** @param expected the whole body's size, in bytes; -1 if it isn't known. Any value is safe. */
  constructor(expected = -1) {
    this.#expected = expected
  }

  /** The size of all kept pieces, in bytes. */
  get size(): number {
    if (this.#only !== null) return this.#only.length
    return this.#list === null ? 0 : this.#list.size
  }

  /** Keeps a piece. Its bytes must not change, because it is usually kept as a view of its chunk. */
  add(piece: Buffer): void {
    if (piece.length === 0) return
    if (this.#list !== null || this.#only !== null) this.#toList().add(piece, 0, piece.length)
    else this.#only = piece.buffer.byteLength > piece.length * 2 + SPARE_FOR_ONE ? toCopy(piece) : piece
  }

  /** Keeps a piece for a reader that wants the whole body, joined. */
  gather(piece: Buffer): void {
    this.add(piece)
    this.#list?.gather()
  }

  /** Keeps a part of a chunk, as {@link add} does, without creating a view of a small part. */
  addPart(chunk: Buffer, start: number, end: number): void {
    if (this.#list === null && this.#only === null) this.add(chunk.subarray(start, end))
    else if (start < end) this.#toList().add(chunk, start, end)
  }

  /**
   * Removes and returns the oldest piece, or its first `limit` bytes; null if there is none.
   *
   * @param limit @default 65536, the size of a socket's chunks; joined pieces may be larger
   */
  shift(limit = MAX_PIECE): Buffer | null {
    const only = this.#only
    if (only !== null) {
      if (only.length <= limit) {
        this.#only = null
        return only
      }
      this.#only = only.subarray(limit)
      return only.subarray(0, limit)
    }
    if (this.#list === null) return null
    const piece = this.#list.shift(limit)
    if (this.#list.size === 0) this.#list = null
    return piece
  }

  /** Removes all pieces and returns them joined. A single piece is returned itself, uncopied. */
  join(): Buffer {
    const joined = this.#only ?? this.#list?.join() ?? NOTHING
    this.clear()
    return joined
  }

  /** Removes all pieces and returns them joined, in an ArrayBuffer that nothing else uses. */
  joinOwn(): ArrayBuffer {
    const joined = this.#list === null ? toOwn(this.#only ?? NOTHING) : this.#list.joinOwn()
    this.clear()
    return joined
  }

  /** Drops all pieces. */
  clear(): void {
    this.#only = null
    this.#list = null
  }

  #toList(): PieceList {
    if (this.#list !== null) return this.#list
    const list = new PieceList(this.#only ?? NOTHING, this.#expected)
    this.#only = null
    this.#list = list
    return list
  }
}

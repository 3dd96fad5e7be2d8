/**
 * A list of pieces of chunks, which counts the memory that they pin.
 *
 * @module
 */

/**
 * A smaller piece is copied to a room, together with others: its Buffer object alone takes about 100 bytes. A larger
 * one is kept as a view of its chunk. Bytes.
 */
const SMALL_SIZE = 2_048

/** The size of a room: as large as what is kept already, within these bounds. Bytes. */
const MIN_ROOM = 2_048
const MAX_ROOM = 8_192

/** Where pieces of any size are copied, place is left for more of them, but no more than this. Bytes. */
const MAX_RESERVE = 262_144
/** It may be so much beyond twice what is copied, if that is enough for the rest of the body. Bytes. */
const SPARE_FOR_REST = 57_344

/** A body is gathered from this size on: the chunks of a smaller one die young, too. Bytes. */
const MIN_WHOLE = 262_144
/** `content-length` is only the peer's word. So much must have come … */
const MIN_COME = 65_536
/** … and the size may be so much beyond twice what has come. Bytes. */
const SPARE_FOR_WHOLE = 1_048_576

/** Views may pin so many times the bytes that are kept … */
const MAX_RATIO = 2
/** … and this much in addition: below, a copy would cost more than it saves. Bytes. */
const SPARE = 16_384
/** A small piece that may stay for long may pin so much. Bytes. */
const SPARE_FOR_COMPACT = 32_768
/** While pieces are taken out, the rest of one chunk isn't worth a copy. Bytes. */
const SPARE_WHILE_TAKING = 65_536

/** Places of taken pieces are removed when at least so many have gathered. */
const MANY_TAKEN = 1_024

const NOTHING = Buffer.alloc(0)

/** A copy that pins nothing else. `Buffer.from()` would use a pool, of up to 64 KiB since Node 24. */
export function toCopy(piece: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(piece.length)
  piece.copy(copy)
  return copy
}

/** A copy in an ArrayBuffer that nothing else uses. */
export function toOwn(piece: Buffer): ArrayBuffer {
  return toCopy(piece).buffer as ArrayBuffer
}

/** The piece itself, or a copy of a small one that pins much more than its bytes. */
export function toCompact(piece: Buffer): Buffer {
  const isLoosePiece = piece.length < SMALL_SIZE && piece.buffer.byteLength > SPARE_FOR_COMPACT
  return isLoosePiece ? toCopy(piece) : piece
}

/**
 * A view pins the whole ArrayBuffer of its chunk. The list counts each ArrayBuffer once, since the pieces of one chunk
 * come one behind another (a run). When the ArrayBuffers get too large for what is kept of them, the runs that take
 * less than half of theirs are copied.
 */
export class PieceList {
  readonly #expected: number
  /** From `#head` on; the places before are those of taken pieces. */
  readonly #pieces: Buffer[]
  #head = 0
  /** A buffer to which pieces are copied, behind the others. It is filled up to `#filled`. Null for none. */
  #room: Buffer | null = null
  #filled = 0
  #size: number
  /** The size of the ArrayBuffers of all pieces, and of the room. Bytes. */
  #pinned: number
  /** The number of the newest pieces whose runs weren't compared with their ArrayBuffers yet. */
  #unchecked = 1
  /** All pieces are in a room that has place for the whole body. */
  #isGathered = false

  /** @param first not empty @param expected the size of the whole body, in bytes; -1 when it isn't known */
  constructor(first: Buffer, expected: number) {
    this.#expected = expected
    this.#pieces = [first]
    this.#size = first.length
    this.#pinned = first.buffer.byteLength
  }

  /** The size of all pieces. Bytes. */
  get size(): number {
    return this.#size
  }

  /** The memory that the pieces take. Bytes. */
  get pinned(): number {
    return this.#pinned
  }

  /** Adds a part of a chunk. */
  add(chunk: Buffer, start: number, end: number): void {
    const size = end - start
    if (size <= this.#free) this.#gather(chunk, start, end)
    else this.#addBehind(chunk, start, end)
    this.#size += size
    if (!this.#isGathered && this.#isAbove(SPARE)) this.#compact(SPARE)
  }

  /** Adds a part for which the room has no place. */
  #addBehind(chunk: Buffer, start: number, end: number): void {
    // More comes than was announced.
    this.#isGathered = false
    const size = end - start
    if (size >= SMALL_SIZE || this.#isBehindLarge)
      this.#push(size === chunk.length ? chunk : chunk.subarray(start, end))
    else {
      this.#openRoom(Math.min(Math.max(this.#size, MIN_ROOM), MAX_ROOM))
      this.#gather(chunk, start, end)
    }
  }

  /**
   * Copies what has come to a room for the whole body, as soon as that isn't much more. What comes next is copied there
   * as it comes, so that the chunks of the socket die young. Nothing may be taken out piece by piece after that.
   */
  gather(): void {
    if (this.#isGathered || this.#size < MIN_COME || !this.#isWorthGathering) return
    this.#isGathered = true
    this.#closeRoom()
    const pieces = this.#pieces.splice(0).slice(this.#head)
    this.#head = 0
    this.#unchecked = 0
    this.#pinned = 0
    this.#openRoom(this.#expected)
    for (const piece of pieces) this.#gather(piece, 0, piece.length)
  }

  get #isWorthGathering(): boolean {
    const expected = this.#expected
    const isAnnounced = expected >= MIN_WHOLE && expected >= this.#size
    return isAnnounced && expected <= this.#size * MAX_RATIO + SPARE_FOR_WHOLE
  }

  /** Takes out the oldest piece, or its first `limit` bytes. Only for a list that isn't empty. */
  shift(limit: number): Buffer {
    if (this.#head === this.#pieces.length) this.#closeRoom()
    const piece = this.#pieces[this.#head] as Buffer
    const taken = piece.length > limit ? piece.subarray(0, limit) : piece
    this.#size -= taken.length
    if (taken === piece) {
      this.#drop(1)
      if (this.#pieces[this.#head]?.buffer !== piece.buffer) this.#pinned -= piece.buffer.byteLength
    } else {
      this.#pieces[this.#head] = piece.subarray(limit)
    }
    if (this.#isAbove(SPARE_WHILE_TAKING)) this.#compact(SPARE_WHILE_TAKING)
    return taken
  }

  /** All pieces, joined. A single piece is returned itself, uncopied. The list can't be used after that. */
  join(): Buffer {
    this.#closeRoom()
    this.#pieces.splice(0, this.#head)
    return this.#pieces.length === 1 ? (this.#pieces[0] as Buffer) : Buffer.concat(this.#pieces, this.#size)
  }

  /** As {@link join}, in an ArrayBuffer that nothing else uses. */
  joinOwn(): ArrayBuffer {
    const isCopied = this.#isGathered || this.#pieces.length - this.#head > 1 || this.#room !== null
    const joined = this.join()
    return isCopied && joined.length === joined.buffer.byteLength
      ? (joined.buffer as ArrayBuffer)
      : toOwn(joined)
  }

  #isAbove(spare: number): boolean {
    return this.#pinned > this.#size * MAX_RATIO + spare
  }

  /**
   * The newest piece is a large view. A single small piece behind it is kept as a view, too: a frame that two chunks
   * share has often such an end, and a room for it alone would take more memory.
   */
  get #isBehindLarge(): boolean {
    return this.#room === null && (this.#pieces.at(-1)?.length ?? 0) >= SMALL_SIZE
  }

  #push(piece: Buffer): void {
    this.#closeRoom()
    if (this.#pieces.at(-1)?.buffer !== piece.buffer) this.#pinned += piece.buffer.byteLength
    this.#pieces.push(piece)
    this.#unchecked++
  }

  /** The place that is left in the room. Bytes. */
  get #free(): number {
    return this.#room === null ? 0 : this.#room.length - this.#filled
  }

  #openRoom(size: number): void {
    this.#closeRoom()
    this.#room = Buffer.allocUnsafeSlow(size)
    this.#pinned += size
  }

  /** Copies a piece to the room. */
  #gather(chunk: Buffer, start: number, end: number): void {
    if (this.#room !== null) this.#filled += chunk.copy(this.#room, this.#filled, start, end)
  }

  /** Makes a piece of the data in the room. A reader may get it: nothing more is written to this room. */
  #closeRoom(): void {
    if (this.#room === null) return
    this.#pieces.push(this.#room.subarray(0, this.#filled))
    this.#unchecked++
    this.#room = null
    this.#filled = 0
  }

  /** Removes the oldest pieces from the list. */
  #drop(count: number): void {
    const pieces = this.#pieces
    // A taken piece must not stay alive here.
    for (const end = this.#head + count; this.#head < end; this.#head++) pieces[this.#head] = NOTHING
    this.#unchecked = Math.min(this.#unchecked, pieces.length - this.#head)
    if (this.#head < MANY_TAKEN || this.#head * 2 < pieces.length) return
    pieces.splice(0, this.#head)
    this.#head = 0
  }

  /** Copies runs that take less than half of their ArrayBuffers, until no more is pinned than is allowed. */
  #compact(spare: number): void {
    this.#compactUnchecked()
    if (this.#isAbove(spare)) this.#compactOldest()
  }

  #compactUnchecked(): void {
    this.#closeRoom()
    const pieces = this.#pieces
    let at = pieces.length - this.#unchecked
    // These belong to a run that takes enough.
    const before = at > this.#head ? pieces[at - 1] : undefined
    while (at < pieces.length && pieces[at]?.buffer === before?.buffer) at++
    const loose: Buffer[] = []
    let kept = at
    for (let end = at; at < pieces.length; at = end) {
      end = toRunEnd(pieces, at)
      const run = pieces.slice(at, end)
      if (isLoose(run)) {
        for (const piece of run) loose.push(piece)
        continue
      }
      if (loose.length > 0) pieces[kept++] = this.#copy(loose.splice(0))
      for (const piece of run) pieces[kept++] = piece
    }
    pieces.length = kept
    this.#unchecked = 0
    this.#moveToRoom(loose)
  }

  /**
   * Copies the newest pieces to a room that has place for more: the next ones are likely to be such, too. A body that
   * comes between others is a single piece then, copied once, as it would be for `text()`.
   */
  #moveToRoom(pieces: readonly Buffer[]): void {
    if (pieces.length === 0) return
    const size = pieces.reduce((sum, { length }) => sum + length, 0)
    this.#pinned -= toPinned(pieces)
    this.#openRoom(size + this.#toReserve(size))
    for (const piece of pieces) this.#gather(piece, 0, piece.length)
  }

  /** The place to be left for further pieces. @param size what is copied; bytes */
  #toReserve(size: number): number {
    const left = this.#expected - this.#size
    const isLittle = left >= 0 && left <= size * MAX_RATIO + SPARE_FOR_REST
    return isLittle ? left : Math.min(size, MAX_RESERVE)
  }

  /** The oldest run gets smaller as its pieces are taken. */
  #compactOldest(): void {
    const pieces = this.#pieces
    if (this.#head === pieces.length) return
    const end = toRunEnd(pieces, this.#head)
    const run = pieces.slice(this.#head, end)
    if (!isLoose(run)) return
    pieces[end - 1] = this.#copy(run)
    this.#drop(end - 1 - this.#head)
  }

  /** @param pieces runs of the list @returns a copy of them, joined, which takes their place */
  #copy(pieces: readonly Buffer[]): Buffer {
    const size = pieces.reduce((sum, { length }) => sum + length, 0)
    const copy = Buffer.allocUnsafeSlow(size)
    let filled = 0
    for (const piece of pieces) filled += piece.copy(copy, filled)
    this.#pinned += size - toPinned(pieces)
    return copy
  }
}

/** The end of the run that begins at an index: of the pieces that share an ArrayBuffer. */
function toRunEnd(pieces: readonly Buffer[], start: number): number {
  let end = start + 1
  while (end < pieces.length && pieces[end]?.buffer === pieces[start]?.buffer) end++
  return end
}

/** Whether a run takes less than half of its ArrayBuffer. */
function isLoose(run: readonly Buffer[]): boolean {
  const size = run.reduce((sum, { length }) => sum + length, 0)
  return size * MAX_RATIO < toPinned(run)
}

/** The size of the ArrayBuffers of whole runs. Bytes. */
function toPinned(runs: readonly Buffer[]): number {
  let pinned = 0
  for (const [at, { buffer }] of runs.entries())
    if (buffer !== runs[at - 1]?.buffer) pinned += buffer.byteLength
  return pinned
}

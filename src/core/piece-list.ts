/**
 * A list of pieces of chunks that counts the memory that they pin.
 *
 * @module
 */

/**
 * Smaller pieces, in bytes, are copied to a room together: a Buffer object alone takes about 100 bytes. Larger ones are
 * kept as views of their chunks.
 */
const SMALL_SIZE = 2_048

/** A room's size: as large as what is kept already, within these bounds, in bytes. */
const MIN_ROOM = 2_048
const MAX_ROOM = 8_192

/** Where pieces of any size are copied, there is extra space for more of them, but no more bytes than this. */
const MAX_RESERVE = 262_144
/** The extra space may be this many bytes beyond twice what is copied, if that is enough for the rest of the body. */
const SPARE_FOR_REST = 57_344

/** From this size on, in bytes, a body is gathered: a smaller one's chunks die young anyway. */
const MIN_WHOLE = 262_144
/** `content-length` is only the peer's claim. So many bytes must have arrived … */
const MIN_COME = 65_536
/** … and the size may be at most this many bytes beyond twice what has arrived. */
const SPARE_FOR_WHOLE = 1_048_576

/** Views may pin so many times the kept bytes … */
const MAX_RATIO = 2
/** … and this many bytes more: below that, a copy would cost more than it saves. */
const SPARE = 16_384
/** How many bytes a small piece may pin if it may stay for long. */
const SPARE_FOR_COMPACT = 32_768
/** While pieces are taken out, the rest of one chunk, in bytes, isn't worth a copy. */
const SPARE_WHILE_TAKING = 65_536

/** How many taken pieces must have gathered before their places are removed. */
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

/** The piece itself, or a copy if it is small and pins much more than its bytes. */
export function toCompact(piece: Buffer): Buffer {
  const isLoosePiece = piece.length < SMALL_SIZE && piece.buffer.byteLength > SPARE_FOR_COMPACT
  return isLoosePiece ? toCopy(piece) : piece
}

/**
 * A view pins its chunk's whole ArrayBuffer. The list counts each ArrayBuffer once, because the pieces of one chunk are
 * adjacent (a run). When the ArrayBuffers get too large for what is kept of them, the runs that use less than half of
 * their ArrayBuffers are copied.
 */
export class PieceList {
  readonly #expected: number
  /** Valid from `#head` on; the places before belong to taken pieces. */
  readonly #pieces: Buffer[]
  #head = 0
  /** A buffer to which pieces are copied, behind the other pieces. It is filled up to `#filled`. Null for none. */
  #room: Buffer | null = null
  #filled = 0
  #size: number
  /** The size of the ArrayBuffers of all pieces, and of the room, in bytes. */
  #pinned: number
  /** The number of newest pieces whose runs haven't been compared with their ArrayBuffers yet. */
  #unchecked = 1
  /** Whether all pieces are in a room with space for the whole body. */
  #isGathered = false

  /**
   * @param first not empty
   * @param expected the whole body's size, in bytes; -1 if it isn't known
   */
  constructor(first: Buffer, expected: number) {
    this.#expected = expected
    this.#pieces = [first]
    this.#size = first.length
    this.#pinned = first.buffer.byteLength
  }

  /** The size of all pieces, in bytes. */
  get size(): number {
    return this.#size
  }

  /** The memory that the pieces take, in bytes. */
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

  /** Adds a part for which the room has no space. */
  #addBehind(chunk: Buffer, start: number, end: number): void {
    // More data arrives than was announced.
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
   * Copies what has arrived to a room for the whole body, as soon as that isn't much more. What follows is copied there
   * as it arrives, so that the socket's chunks die young. After that, nothing may be taken out piece by piece.
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

  /** Removes and returns the oldest piece, or its first `limit` bytes. The list must not be empty. */
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

  /** Like {@link join}, but in an ArrayBuffer that nothing else uses. */
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
   * Whether the newest piece is a large view. A single small piece after it is kept as a view, too: a frame that two
   * chunks share often ends like that, and a separate room would take more memory.
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

  /** The space left in the room, in bytes. */
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

  /** Turns the data in the room into a piece. A reader may get it, so nothing more is written to this room. */
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

  /** Copies runs that use less than half of their ArrayBuffers, until no more is pinned than is allowed. */
  #compact(spare: number): void {
    this.#compactUnchecked()
    if (this.#isAbove(spare)) this.#compactOldest()
  }

  #compactUnchecked(): void {
    this.#closeRoom()
    const pieces = this.#pieces
    let at = pieces.length - this.#unchecked
    // These belong to a run that uses enough.
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
   * Copies the newest pieces to a room with extra space, because the next ones are likely to be similar. A body whose
   * chunks alternate with others' then becomes a single piece, copied once, as it would be for `text()`.
   */
  #moveToRoom(pieces: readonly Buffer[]): void {
    if (pieces.length === 0) return
    const size = pieces.reduce((sum, { length }) => sum + length, 0)
    this.#pinned -= toPinned(pieces)
    this.#openRoom(size + this.#toReserve(size))
    for (const piece of pieces) this.#gather(piece, 0, piece.length)
  }

  /**
   * The extra space for further pieces.
   *
   * @param size the size of what is copied, in bytes
   */
  #toReserve(size: number): number {
    const left = this.#expected - this.#size
    const isLittle = left >= 0 && left <= size * MAX_RATIO + SPARE_FOR_REST
    return isLittle ? left : Math.min(size, MAX_RESERVE)
  }

  /** The oldest run, which shrinks as its pieces are taken. */
  #compactOldest(): void {
    const pieces = this.#pieces
    if (this.#head === pieces.length) return
    const end = toRunEnd(pieces, this.#head)
    const run = pieces.slice(this.#head, end)
    if (!isLoose(run)) return
    pieces[end - 1] = this.#copy(run)
    this.#drop(end - 1 - this.#head)
  }

  /**
   * @param pieces runs of the list
   * @returns a joined copy of them, which replaces them
   */
  #copy(pieces: readonly Buffer[]): Buffer {
    const size = pieces.reduce((sum, { length }) => sum + length, 0)
    const copy = Buffer.allocUnsafeSlow(size)
    let filled = 0
    for (const piece of pieces) filled += piece.copy(copy, filled)
    this.#pinned += size - toPinned(pieces)
    return copy
  }
}

/** The end of the run that begins at an index: the pieces that share an ArrayBuffer. */
function toRunEnd(pieces: readonly Buffer[], start: number): number {
  let end = start + 1
  while (end < pieces.length && pieces[end]?.buffer === pieces[start]?.buffer) end++
  return end
}

/** Whether a run uses less than half of its ArrayBuffer. */
function isLoose(run: readonly Buffer[]): boolean {
  const size = run.reduce((sum, { length }) => sum + length, 0)
  return size * MAX_RATIO < toPinned(run)
}

/** The size of the ArrayBuffers of whole runs, in bytes. */
function toPinned(runs: readonly Buffer[]): number {
  let pinned = 0
  for (const [at, { buffer }] of runs.entries())
    if (buffer !== runs[at - 1]?.buffer) pinned += buffer.byteLength
  return pinned
}

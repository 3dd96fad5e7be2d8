/**
 * The streams with data to send, and which of them sends next.
 *
 * @module
 */

import type { FrameWriter } from './frame-writer.ts'
import type { Http2Stream, StreamUpload } from './stream.ts'
import { afterLocalEnd } from './stream-state.ts'
import type { StreamTable } from './stream-table.ts'
import { UploadLane } from './upload-lane.ts'

/** Is told about the frames that the queue creates. */
export interface UploadOwner {
  /** A DATA frame was created. */
  onFrame(): void
  /** A stream's END_STREAM was framed; the stream's state reflects that already. */
  onLocalEnd(stream: Http2Stream): void
}

/** The levels of urgency (RFC 9218 §4.1). */
const LEVELS = 8

/**
 * Only bodies up to this size, in bytes, are finished first: a short one mustn't wait for the end of a very long one.
 */
const LONG = 1_048_576

/**
 * With less of the connection window than this, in bytes, an upload makes no progress worth mentioning: one frame of
 * the smallest size that a peer may ask for (RFC 9113 §6.5.2).
 */
const LEAST_ROOM = 16_384

/**
 * The same, in bytes, if streams that ended early have used some of the window. Servers return credit when they have
 * read half of the window, and the window is never smaller than 65,535 bytes (RFC 9113 §6.9.2). If the server never
 * reads what arrived on those streams, an upload could send less than that half, and would then stand still. If it has
 * read it, it may keep one byte less than the half for now.
 */
const LEAST_ROOM_AFTER_CUT = 32_768

/**
 * How much of the connection window has to be left, or may come back for open streams, before an upload begins.
 *
 * @param cut how many bytes streams that ended early have sent without getting credit back
 */
export function toLeastRoom(cut: number): number {
  return cut > 0 ? LEAST_ROOM_AFTER_CUT : LEAST_ROOM
}

/** One in this many bytes of the connection window is kept for the oldest upload. */
const RESERVED_PART = 4

/**
 * More urgent streams go first (RFC 9218 §9). Among streams with the same urgency:
 *
 * - While the connection window is enough for all of them, each sends one frame in turn.
 * - While it isn't, a body that has begun is finished first. A server may read each body with a thread, and have few
 *   threads: it stands still when they wait for the rest of their bodies, and others have used up the window.
 *
 * A stream whose own window is used up leaves the queue until the peer opens that window again. Others send meanwhile,
 * and also while a body's source provides nothing. But a part of the connection window is kept for the oldest upload
 * that isn't complete, because that is the one that the server's first thread reads.
 *
 * A stream whose piece is empty goes first: its frame needs no window (RFC 9113 §6.9.1).
 */
export class UploadQueue {
  readonly #writer: FrameWriter
  readonly #table: StreamTable
  readonly #owner: UploadOwner
  /** Streams with an empty piece, then the streams of each urgency. */
  readonly #lanes = Array.from({ length: 1 + LEVELS }, () => new UploadLane())
  #size = 0
  /** How many bytes all of them could send now if the connection window were large enough. */
  #wanted = 0
  /** The connection's send window: the bytes that the peer accepts now (RFC 9113 §6.9). */
  window: number
  /** How many bytes of data were sent on the connection without getting credit back yet. */
  unreturned = 0
  /** The same for the windows of all streams that aren't closed or about to be reset. */
  #unread = 0
  /** How many of `unreturned`, at most, were sent on streams that ended before both sides had sent END_STREAM. */
  #cut = 0
  /** No upload with a lower id is unfinished. */
  #oldestId = 1

  constructor(writer: FrameWriter, table: StreamTable, window: number, owner: UploadOwner) {
    this.#writer = writer
    this.#table = table
    this.window = window
    this.#owner = owner
  }

  /** Whether there is a stream that may send now. */
  get canSend(): boolean {
    return this.#size > 0 && this.#next() !== null
  }

  /**
   * Whether the connection window is shut: hardly any is left, and hardly any can come back for what open streams have
   * sent. Streams that have ended have used it, and the peer has returned no credit for them, yet or ever.
   */
  get isShut(): boolean {
    const least = toLeastRoom(this.#cut)
    if (this.window >= least) return false
    return this.window + Math.min(this.#unread, this.unreturned) < least
  }

  /** Adds a stream that has a piece to send, if its own window allows some of it. */
  add(stream: Http2Stream): void {
    if (stream.upload !== null) this.#add(stream.upload)
  }

  /**
   * A stream is closed, or is about to be reset: the peer may never read what arrived on it.
   *
   * @param isEnded whether both sides have sent END_STREAM
   */
  close(stream: Http2Stream, isEnded: boolean): void {
    const { upload } = stream
    if (upload === null) return
    if (this.#has(upload)) this.#unlink(upload)
    upload.piece = null
    if (upload.isDropped) return
    upload.isDropped = true
    this.#unread -= upload.unreturned
    if (!isEnded) this.#cut = Math.min(this.#cut + upload.sent, this.unreturned)
  }

  /**
   * The stream's own window grows.
   *
   * @param increment in bytes; below 0 for one that shrinks
   */
  grant(stream: Http2Stream, increment: number): void {
    const { upload } = stream
    if (upload === null || !this.#has(upload)) {
      stream.sendWindow += increment
      if (upload !== null) this.#add(upload)
      return
    }
    this.#wanted -= toWanted(upload)
    stream.sendWindow += increment
    this.#wanted += toWanted(upload)
    if (stream.sendWindow <= 0 && upload.pieceSize > 0) this.#unlink(upload)
  }

  /**
   * The connection window grows.
   *
   * @param increment in bytes
   * @param returned how many of them are credit for what was sent
   */
  grantAll(increment: number, returned: number): void {
    this.window += increment
    this.unreturned -= returned
    this.#cut = Math.min(this.#cut, this.unreturned)
  }

  /** The peer has returned credit in the stream's own window. */
  onCredit({ upload }: Http2Stream, bytes: number): void {
    if (upload === null) return
    upload.unreturned -= bytes
    if (!upload.isDropped) this.#unread -= bytes
  }

  /**
   * Changes a stream's urgency: its piece goes behind those that are equally urgent.
   *
   * @param urgency 0 to 7
   */
  setUrgency({ upload }: Http2Stream, urgency: number): void {
    if (upload === null || upload.urgency === urgency) return
    const isQueued = this.#has(upload)
    if (isQueued) this.#unlink(upload)
    upload.urgency = urgency
    if (isQueued) this.#add(upload)
  }

  /**
   * Creates DATA frames, as far as the windows allow.
   *
   * @param limit the most bytes of data
   */
  pump(limit: number): void {
    let left = limit
    while (left > 0 && this.#size > 0) {
      const upload = this.#next()
      if (upload === null) return
      left -= this.#send(upload, left)
    }
  }

  #add(upload: StreamUpload): void {
    if (upload.piece === null || this.#has(upload)) return
    if (upload.pieceSize > 0 && upload.stream.sendWindow <= 0) return
    this.#size++
    this.#wanted += toWanted(upload)
    if (this.#goesFirst(upload)) this.#toLane(upload).addFirst(upload)
    else this.#toLane(upload).addLast(upload)
  }

  #toLane({ pieceSize, urgency }: StreamUpload): UploadLane {
    return this.#lanes[pieceSize === 0 ? 0 : 1 + urgency] as UploadLane
  }

  #has(upload: StreamUpload): boolean {
    return upload.piece !== null && this.#toLane(upload).has(upload)
  }

  #unlink(upload: StreamUpload): void {
    this.#size--
    this.#wanted -= toWanted(upload)
    this.#toLane(upload).delete(upload)
  }

  /** Whether its body has begun, and the connection window isn't enough for all streams in the queue. */
  #goesFirst({ sent }: StreamUpload): boolean {
    return sent > 0 && sent < LONG && this.#wanted > this.window
  }

  /** The upload that sends next; null if none may send now. */
  #next(): StreamUpload | null {
    const first = this.#first()
    if (first === null || first.pieceSize === 0) return first
    if (this.window <= 0) return null
    if (this.#toRoom(first) > 0) return first
    const oldest = this.#toOldest()
    return oldest !== null && this.#has(oldest) ? oldest : null
  }

  #first(): StreamUpload | null {
    // Without an iterator, which would be garbage for each frame.
    for (let level = 0; level < this.#lanes.length; level++) {
      const first = this.#lanes[level]?.first ?? null
      if (first !== null) return first
    }
    return null
  }

  /** The oldest upload that isn't complete; it may have nothing to send now. Null for none. */
  #toOldest(): StreamUpload | null {
    const oldest = this.#table.firstUpload(this.#oldestId)
    if (oldest !== null) this.#oldestId = oldest.id
    return oldest?.upload ?? null
  }

  /** How many bytes of the connection window an upload may use now; 0 or less for none. */
  #toRoom(upload: StreamUpload): number {
    const { window } = this
    const whole = window + this.unreturned
    const reserved = Math.floor(whole / RESERVED_PART)
    // The usual case comes first: the oldest upload isn't searched for.
    if (window - reserved >= this.#writer.maxFrameSize) return window - reserved
    const oldest = this.#toOldest()
    if (oldest === null || oldest === upload) return window
    // What others have sent, and the peer may not have read: it has returned no credit, neither on the connection nor
    // on their streams.
    const unread = Math.min(this.unreturned, this.#unread - oldest.unreturned)
    return Math.min(window, whole - reserved - unread)
  }

  /** @returns how many bytes were framed; at least 1, so that `pump()` comes to an end */
  #send(upload: StreamUpload, limit: number): number {
    const { stream, piece, pieceOffset, pieceSize } = upload
    if (piece === null) return 1
    if (piece.length < pieceSize) {
      this.#unlink(upload)
      upload.piece = null
      stream.listener.onPieceLost()
      return 1
    }
    const { maxFrameSize } = this.#writer
    const left = pieceSize - pieceOffset
    const size = left === 0 ? 0 : Math.min(left, stream.sendWindow, this.#toRoom(upload), maxFrameSize, limit)
    const end = pieceOffset + size
    const isTaken = end === pieceSize
    const isEnd = isTaken && upload.isLastPiece
    this.#unlink(upload)
    this.#writer.data(stream.id, piece, pieceOffset, end, isEnd)
    stream.sendWindow -= size
    upload.sent += size
    upload.unreturned += size
    this.#unread += size
    this.window -= size
    this.unreturned += size
    upload.pieceOffset = end
    this.#owner.onFrame()
    if (isTaken) upload.piece = null
    else this.#add(upload)
    if (isEnd) {
      stream.state = afterLocalEnd(stream.state)
      this.#owner.onLocalEnd(stream)
    }
    stream.listener.onSent(isTaken)
    return Math.max(1, size)
  }
}

/** How many bytes of its piece the stream's own window allows. */
function toWanted({ stream, piece, pieceOffset, pieceSize }: StreamUpload): number {
  return piece === null ? 0 : Math.max(0, Math.min(pieceSize - pieceOffset, stream.sendWindow))
}

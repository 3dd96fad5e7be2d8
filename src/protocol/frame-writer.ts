/**
 * Frames → bytes, gathered until the connection flushes them.
 *
 * @module
 */

import { Flag, FRAME_HEADER_SIZE, FrameType, PREFACE } from './frames.ts'
import type { HpackEncoder } from './hpack/encoder.ts'
import { maxEncodedSize } from './hpack/encoder.ts'

/** Accepts the gathered bytes. */
export interface ByteSink {
  /** The bytes belong to the sink from now on: the writer never changes them again. */
  write(bytes: Uint8Array): void
}

/**
 * The size of the buffers that frames are written to, in bytes: each is twice as large as the previous one, so a
 * connection with few requests takes little memory.
 */
const FIRST_ROOM = 2_048
const MAX_ROOM = 16_384

/** A payload up to this size, in bytes, is copied behind its frame header: the socket gets one piece less. */
export const COPIED_SIZE = 2_048

const NOTHING = Buffer.alloc(0)

/**
 * Gathers frames in the order in which they are created. Memory that was passed to the sink is never written to again,
 * so the socket may send it later.
 */
export class FrameWriter {
  readonly #encoder: HpackEncoder
  /** Finished pieces, before the open one. */
  #pieces: Uint8Array[] = []
  #room: Buffer = NOTHING
  /** Where the open piece starts and ends in `#room`. */
  #start = 0
  #end = 0
  /** The size of `#pieces` in bytes. */
  #gathered = 0
  /** The length of `#pieces` when `seal()` was called; -1 before. */
  #sealed = -1
  /** The peer's SETTINGS_MAX_FRAME_SIZE, in bytes. */
  maxFrameSize: number

  constructor(encoder: HpackEncoder, maxFrameSize: number) {
    this.#encoder = encoder
    this.maxFrameSize = maxFrameSize
  }

  /** How many bytes wait to be flushed. */
  get size(): number {
    return this.#gathered + this.#end - this.#start
  }

  /** How many pieces wait to be flushed. */
  get pieces(): number {
    return this.#pieces.length + (this.#end > this.#start ? 1 : 0)
  }

  /**
   * The frames gathered so far are the last ones that `flush()` passes on. Frames that are created later are discarded.
   */
  seal(): void {
    this.#close()
    this.#sealed = this.#pieces.length
  }

  /** Passes all pieces to the sink. */
  flush(sink: ByteSink): void {
    if (this.#sealed !== -1) this.#clearLate()
    const pieces = this.#pieces
    const last = this.#end > this.#start ? this.#room.subarray(this.#start, this.#end) : null
    this.#start = this.#end
    this.#gathered = 0
    if (pieces.length > 0) {
      this.#pieces = []
      for (const piece of pieces) sink.write(piece)
    }
    if (last !== null) sink.write(last)
  }

  /** Discards the frames that were created after `seal()`. */
  #clearLate(): void {
    this.#end = this.#start
    this.#pieces.length = this.#sealed
    this.#sealed = 0
  }

  /** The client connection preface (RFC 9113 §3.4). */
  preface(): void {
    this.#reserve(PREFACE.length)
    this.#end += this.#room.write(PREFACE, this.#end, 'latin1')
  }

  /** HEADERS, and the CONTINUATION frames that it needs, with no other frame between them (RFC 9113 §4.3). */
  headers(
    streamId: number,
    fields: readonly string[],
    isEnd: boolean,
    sensitive: ReadonlySet<string> | null = null,
  ): void {
    this.#reserve(FRAME_HEADER_SIZE + maxEncodedSize(fields))
    const room = this.#room
    const start = this.#end
    const end = this.#encoder.encode(fields, room, start + FRAME_HEADER_SIZE, sensitive)
    const size = end - start - FRAME_HEADER_SIZE
    const endStream = isEnd ? Flag.END_STREAM : 0
    if (size <= this.maxFrameSize) {
      this.#end = start
      this.#header(size, FrameType.HEADERS, Flag.END_HEADERS | endStream, streamId)
      this.#end = end
    } else {
      this.#continue(streamId, Buffer.from(room.subarray(start + FRAME_HEADER_SIZE, end)), endStream)
    }
  }

  #continue(streamId: number, block: Buffer, endStream: number): void {
    let type: number = FrameType.HEADERS
    let flags = endStream
    for (let at = 0; at < block.length; at += this.maxFrameSize) {
      const end = Math.min(at + this.maxFrameSize, block.length)
      if (end === block.length) flags |= Flag.END_HEADERS
      this.#reserve(FRAME_HEADER_SIZE + end - at)
      this.#header(end - at, type, flags, streamId)
      this.#end += block.copy(this.#room, this.#end, at, end)
      type = FrameType.CONTINUATION
      flags = 0
    }
  }

  /** One DATA frame. A large payload isn't copied. */
  data(streamId: number, bytes: Uint8Array, start: number, end: number, isEnd: boolean): void {
    const size = end - start
    const isCopied = size <= COPIED_SIZE
    this.#reserve(FRAME_HEADER_SIZE + (isCopied ? size : 0))
    this.#header(size, FrameType.DATA, isEnd ? Flag.END_STREAM : 0, streamId)
    const payload = start === 0 && end === bytes.length ? bytes : bytes.subarray(start, end)
    if (isCopied) {
      this.#room.set(payload, this.#end)
      this.#end += size
    } else {
      this.#close()
      this.#push(payload)
    }
  }

  reset(streamId: number, code: number): void {
    this.#reserve(FRAME_HEADER_SIZE + 4)
    this.#header(4, FrameType.RST_STREAM, 0, streamId)
    this.#number(code)
  }

  /** @param settings identifier, value, identifier, value, … (RFC 9113 §6.5.1) */
  settings(settings: readonly number[]): void {
    const size = settings.length * 3
    this.#reserve(FRAME_HEADER_SIZE + size)
    this.#header(size, FrameType.SETTINGS, 0, 0)
    for (let i = 0; i + 1 < settings.length; i += 2) {
      this.#end = this.#room.writeUInt16BE(settings[i] as number, this.#end)
      this.#number(settings[i + 1] as number)
    }
  }

  settingsAck(): void {
    this.#reserve(FRAME_HEADER_SIZE)
    this.#header(0, FrameType.SETTINGS, Flag.ACK, 0)
  }

  /**
   * @param high the payload's first four octets
   * @param low the last four
   */
  ping(high: number, low: number, isAck: boolean): void {
    this.#reserve(FRAME_HEADER_SIZE + 8)
    this.#header(8, FrameType.PING, isAck ? Flag.ACK : 0, 0)
    this.#number(high)
    this.#number(low)
  }

  /**
   * GOAWAY with last stream 0: the peer can't open streams, so we have processed none.
   *
   * @param reason the debug data, in UTF-8
   */
  goaway(code: number, reason: string): void {
    const size = 8 + Buffer.byteLength(reason)
    this.#reserve(FRAME_HEADER_SIZE + size)
    this.#header(size, FrameType.GOAWAY, 0, 0)
    this.#number(0)
    this.#number(code)
    this.#end += this.#room.write(reason, this.#end)
  }

  /** @param streamId 0 for the connection window */
  windowUpdate(streamId: number, increment: number): void {
    this.#reserve(FRAME_HEADER_SIZE + 4)
    this.#header(4, FrameType.WINDOW_UPDATE, 0, streamId)
    this.#number(increment)
  }

  /**
   * PRIORITY_UPDATE (RFC 9218 §7.1).
   *
   * @param value the `priority` field's value, in ASCII
   */
  priorityUpdate(streamId: number, value: string): void {
    this.#reserve(FRAME_HEADER_SIZE + 4 + value.length)
    this.#header(4 + value.length, FrameType.PRIORITY_UPDATE, 0, 0)
    this.#number(streamId)
    this.#end += this.#room.write(value, this.#end, 'latin1')
  }

  /** A frame header (RFC 9113 §4.1). */
  #header(length: number, type: number, flags: number, streamId: number): void {
    const room = this.#room
    let at = this.#end
    room[at++] = length >>> 16
    room[at++] = length >>> 8
    room[at++] = length
    room[at++] = type
    room[at++] = flags
    room[at++] = streamId >>> 24
    room[at++] = streamId >>> 16
    room[at++] = streamId >>> 8
    room[at++] = streamId
    this.#end = at
  }

  #number(value: number): void {
    const room = this.#room
    let at = this.#end
    room[at++] = value >>> 24
    room[at++] = value >>> 16
    room[at++] = value >>> 8
    room[at++] = value
    this.#end = at
  }

  #reserve(size: number): void {
    if (this.#room.length - this.#end >= size) return
    this.#close()
    // Not from Node's buffer pool: this memory lives until the socket has sent all of it.
    const next = Math.max(FIRST_ROOM, Math.min(2 * this.#room.length, MAX_ROOM))
    this.#room = Buffer.allocUnsafeSlow(Math.max(next, size))
    this.#start = 0
    this.#end = 0
  }

  /** Finishes the open piece. The next one may begin after it in the same buffer. */
  #close(): void {
    if (this.#end === this.#start) return
    this.#push(this.#room.subarray(this.#start, this.#end))
    this.#start = this.#end
  }

  #push(piece: Uint8Array): void {
    this.#pieces.push(piece)
    this.#gathered += piece.length
  }
}

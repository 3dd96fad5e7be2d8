/**
 * Frames → bytes, gathered until somebody writes them.
 *
 * @module
 */

import { Flag, FRAME_HEADER_SIZE, FrameType, PREFACE } from './frames.ts'
import type { HpackEncoder } from './hpack/encoder.ts'
import { maxEncodedSize } from './hpack/encoder.ts'

/** Where gathered bytes go. */
export interface ByteSink {
  /** The bytes are the sink's from now on, and nobody writes to them again. */
  write(bytes: Uint8Array): void
}

/** Bytes that are made room for at a time. */
const ROOM = 16_384

/** A payload of this size or less is copied behind its frame's header: one piece less for the socket. Bytes. */
const COPIED_SIZE = 2_048

const NOTHING = Buffer.alloc(0)

/**
 * All frames that are due at one time, in the order in which they were made. What was handed to the sink is never
 * written to again, so that a socket may take its time.
 */
export class FrameWriter {
  readonly #encoder: HpackEncoder
  /** Pieces before the open one. */
  #pieces: Uint8Array[] = []
  #room: Buffer = NOTHING
  /** Where in `#room` the open piece begins, and ends. */
  #start = 0
  #end = 0
  /** Bytes of `#pieces`. */
  #gathered = 0
  /** How many of `#pieces` were there when `seal()` was called; -1 before. */
  #sealed = -1
  /** The peer's SETTINGS_MAX_FRAME_SIZE, in bytes. */
  maxFrameSize: number

  constructor(encoder: HpackEncoder, maxFrameSize: number) {
    this.#encoder = encoder
    this.maxFrameSize = maxFrameSize
  }

  /** Bytes that wait to be flushed. */
  get size(): number {
    return this.#gathered + this.#end - this.#start
  }

  /** In how many pieces they are. */
  get pieces(): number {
    return this.#pieces.length + (this.#end > this.#start ? 1 : 0)
  }

  /**
   * What was gathered so far is the last that `flush()` hands over: frames that are made from now on are thrown away.
   */
  seal(): void {
    this.#close()
    this.#sealed = this.#pieces.length
  }

  /** Hands over everything. */
  flush(sink: ByteSink): void {
    if (this.#sealed !== -1) this.#dropLate()
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

  /** Throws away what was made after `seal()`. */
  #dropLate(): void {
    this.#end = this.#start
    this.#pieces.length = this.#sealed
    this.#sealed = 0
  }

  /** RFC 9113 §3.4. */
  preface(): void {
    this.#reserve(PREFACE.length)
    this.#end += this.#room.write(PREFACE, this.#end, 'latin1')
  }

  /** HEADERS, and as many CONTINUATION frames as it takes: nothing comes between them (RFC 9113 §4.3). */
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

  /** One DATA frame. A payload that isn't small is not copied. */
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

  /** @param high the first four octets @param low the last four */
  ping(high: number, low: number, isAck: boolean): void {
    this.#reserve(FRAME_HEADER_SIZE + 8)
    this.#header(8, FrameType.PING, isAck ? Flag.ACK : 0, 0)
    this.#number(high)
    this.#number(low)
  }

  /** That no stream of the peer's was processed: it can't open any. @param reason goes along as debug data, in ASCII */
  goaway(code: number, reason: string): void {
    this.#reserve(FRAME_HEADER_SIZE + 8 + reason.length)
    this.#header(8 + reason.length, FrameType.GOAWAY, 0, 0)
    this.#number(0)
    this.#number(code)
    this.#end += this.#room.write(reason, this.#end, 'latin1')
  }

  /** @param streamId 0 for the connection's own */
  windowUpdate(streamId: number, increment: number): void {
    this.#reserve(FRAME_HEADER_SIZE + 4)
    this.#header(4, FrameType.WINDOW_UPDATE, 0, streamId)
    this.#number(increment)
  }

  /** RFC 9218 §7.1. @param value of the `priority` field, in ASCII */
  priorityUpdate(streamId: number, value: string): void {
    this.#reserve(FRAME_HEADER_SIZE + 4 + value.length)
    this.#header(4 + value.length, FrameType.PRIORITY_UPDATE, 0, 0)
    this.#number(streamId)
    this.#end += this.#room.write(value, this.#end, 'latin1')
  }

  /** RFC 9113 §4.1. */
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
    // Not of node's pool: what is written here lives until the socket has sent all of it.
    this.#room = Buffer.allocUnsafeSlow(Math.max(ROOM, size))
    this.#start = 0
    this.#end = 0
  }

  /** The open piece is done; another one may begin behind it. */
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

/**
 * Bytes of a server, cut anywhere → frames.
 *
 * @module
 */

import { checkFrame, isKnown } from './frame-rules.ts'
import { DEFAULT_FRAME_SIZE, Flag, FRAME_HEADER_SIZE, FrameType, PRIORITY_SIZE } from './frames.ts'
import { badSize, flood, protocolError } from './protocol-error.ts'

/**
 * Who hears of the frames of streams, each once and in the order of the wire. `bytes` is the very chunk that was read,
 * or a buffer of the reader's own that is used once: a piece of it may be kept, as long as it isn't written to.
 */
export interface StreamFrameListener {
  /**
   * A piece of a DATA frame: as much of it as has come. It may be empty.
   *
   * @param flow bytes that count for flow control: those of the piece, and of the padding that came along with it
   * @param isEnd END_STREAM: nothing of this stream's data follows
   */
  onData(streamId: number, bytes: Buffer, start: number, end: number, flow: number, isEnd: boolean): void
  /** A whole header block, of HEADERS and what CONTINUATION frames followed. */
  onHeaderBlock(streamId: number, bytes: Buffer, start: number, end: number, isEnd: boolean): void
  onReset(streamId: number, code: number): void
  /** @param increment 0 is an error of the stream (RFC 9113 §6.9) */
  onWindowUpdate(streamId: number, increment: number): void
  /** Without any effect (RFC 9113 §5.3.2). @param size of the payload, which may be wrong (§6.3), in bytes */
  onPriority(streamId: number, size: number): void
}

/** Who hears of the frames of the connection, each once and in the order of the wire; and of those that are ignored. */
export interface ConnectionFrameListener {
  onSettings(bytes: Buffer, start: number, end: number): void
  onSettingsAck(): void
  /** Eight octets from `start` on. */
  onPing(bytes: Buffer, start: number, isAck: boolean): void
  /** @param debugData a copy; null for none */
  onGoaway(lastStreamId: number, code: number, debugData: Buffer | null): void
  /** WINDOW_UPDATE on stream 0. @param increment 0 is an error of the connection (RFC 9113 §6.9) */
  onConnectionWindowUpdate(increment: number): void
  /** A frame of an unknown type, on any stream (RFC 9113 §4.1). */
  onIgnored(): void
}

/** No header block may be larger: as large as the largest list that a caller may want. Bytes. */
export const MAX_BLOCK_SIZE = 1_048_576

/**
 * A block of the largest size in the smallest frames that make sense; more of them are a flood (CVE-2024-27316 and its
 * like).
 */
const MAX_CONTINUATIONS = 128

const NOTHING = Buffer.alloc(0)

/**
 * Where in a frame the reader is: in its header, in the payload of a DATA frame that is passed on as it comes, in a
 * payload that is needed as a whole, or in one that nobody needs.
 */
type Place = 'header' | 'data' | 'payload' | 'ignored'

/** One connection's incoming frames. What it throws is a `ConnectionFault`; after that it is of no use any more. */
export class FrameReader {
  readonly #streams: StreamFrameListener
  readonly #connection: ConnectionFrameListener
  readonly #maxFrameSize: number
  #place: Place = 'header'
  /** A header, or a payload, that came in several chunks, as far as it has come. */
  #partial: Buffer = NOTHING
  #filled = 0
  readonly #header = Buffer.alloc(FRAME_HEADER_SIZE)
  // Of the frame that is being read. RFC 9113 §4.1.
  #length = 0
  #type = 0
  #flags = 0
  #streamId = 0
  /** Octets of the payload that haven't come; of a DATA frame those of its data. */
  #left = 0
  /** Octets of padding that haven't come; -1 before its length has. */
  #padding = 0
  /** The stream whose header block isn't complete; 0 for none. */
  #blockStreamId = 0
  #isBlockEnd = false
  #fragments: Buffer[] = []
  #blockSize = 0
  #isFirst = true
  #isStopped = false

  /** @param maxFrameSize SETTINGS_MAX_FRAME_SIZE that was announced, in bytes */
  constructor(
    streams: StreamFrameListener,
    connection: ConnectionFrameListener,
    maxFrameSize: number = DEFAULT_FRAME_SIZE,
  ) {
    this.#streams = streams
    this.#connection = connection
    this.#maxFrameSize = maxFrameSize
  }

  /** Nothing more is told, also of the chunk that is being read. */
  stop(): void {
    this.#isStopped = true
  }

  /**
   * Reads a chunk to its end.
   *
   * @throws ConnectionFault; and whatever the listener throws
   */
  receive(chunk: Buffer): void {
    let at = 0
    while (!this.#isStopped && (at < chunk.length || (this.#place === 'data' && this.#isDataOver))) {
      switch (this.#place) {
        case 'header':
          at = this.#readHeader(chunk, at)
          break
        case 'data':
          at = this.#readData(chunk, at)
          break
        case 'payload':
          at = this.#readPayload(chunk, at)
          break
        case 'ignored':
          at = this.#skip(chunk, at)
      }
    }
  }

  /** An empty DATA frame needs no further byte to be told of. */
  get #isDataOver(): boolean {
    return this.#left === 0 && this.#padding === 0
  }

  #readHeader(chunk: Buffer, at: number): number {
    if (this.#filled === 0 && chunk.length - at >= FRAME_HEADER_SIZE) {
      this.#begin(chunk, at)
      return this.#enter(chunk, at + FRAME_HEADER_SIZE)
    }
    const taken = Math.min(FRAME_HEADER_SIZE - this.#filled, chunk.length - at)
    chunk.copy(this.#header, this.#filled, at, at + taken)
    this.#filled += taken
    if (this.#filled < FRAME_HEADER_SIZE) return at + taken
    this.#filled = 0
    this.#begin(this.#header, 0)
    return this.#enter(chunk, at + taken)
  }

  #begin(bytes: Buffer, at: number): void {
    this.#length =
      ((bytes[at] as number) << 16) | ((bytes[at + 1] as number) << 8) | (bytes[at + 2] as number)
    this.#type = bytes[at + 3] as number
    this.#flags = bytes[at + 4] as number
    this.#streamId =
      (((bytes[at + 5] as number) & 0x7f) << 24) |
      ((bytes[at + 6] as number) << 16) |
      ((bytes[at + 7] as number) << 8) |
      (bytes[at + 8] as number)
    if (this.#isFirst) this.#checkFirst(bytes, at)
    if (this.#length > this.#maxFrameSize) {
      badSize(`A frame of ${this.#length} bytes came, the limit is ${this.#maxFrameSize} (RFC 9113 §4.2)`)
    }
    const isContinuation = this.#type === FrameType.CONTINUATION
    const isOfBlock = this.#blockStreamId !== 0 && this.#streamId === this.#blockStreamId
    if (isContinuation ? !isOfBlock : this.#blockStreamId !== 0) {
      protocolError('A header block was interrupted, or continued where there was none (RFC 9113 §6.10)')
    }
    checkFrame(this.#type, this.#flags, this.#streamId, this.#length)
  }

  /** RFC 9113 §3.4: a server's connection begins with SETTINGS. */
  #checkFirst(bytes: Buffer, at: number): void {
    this.#isFirst = false
    if (this.#type === FrameType.SETTINGS && (this.#flags & Flag.ACK) === 0) return
    const isHttp1 = bytes.toString('latin1', at, at + 5) === 'HTTP/'
    protocolError(`The peer began ${isHttp1 ? 'with HTTP/1.1' : 'without SETTINGS'} (RFC 9113 §3.4)`)
  }

  /** Behind a frame's header: on to its payload, which is told at once where it is there as a whole. */
  #enter(chunk: Buffer, at: number): number {
    const length = this.#length
    if (this.#type === FrameType.DATA) {
      this.#place = 'data'
      this.#left = length
      this.#padding = (this.#flags & Flag.PADDED) === 0 ? 0 : -1
      return at
    }
    if (!isKnown(this.#type)) {
      this.#connection.onIgnored()
      this.#left = length
      this.#place = length === 0 ? 'header' : 'ignored'
      return at
    }
    if (this.#type === FrameType.HEADERS || this.#type === FrameType.CONTINUATION) this.#growBlock()
    if (chunk.length - at >= length) {
      this.#tell(chunk, at)
      return at + length
    }
    this.#place = 'payload'
    this.#partial = Buffer.allocUnsafe(length)
    return at
  }

  #growBlock(): void {
    this.#blockSize += this.#length
    if (this.#blockSize > MAX_BLOCK_SIZE || this.#fragments.length > MAX_CONTINUATIONS) {
      flood(
        `A header block has more than ${MAX_BLOCK_SIZE} bytes or ${MAX_CONTINUATIONS} CONTINUATION frames`,
      )
    }
  }

  #readPayload(chunk: Buffer, at: number): number {
    const taken = Math.min(this.#length - this.#filled, chunk.length - at)
    chunk.copy(this.#partial, this.#filled, at, at + taken)
    this.#filled += taken
    if (this.#filled < this.#length) return at + taken
    const payload = this.#partial
    this.#partial = NOTHING
    this.#filled = 0
    this.#place = 'header'
    this.#tell(payload, 0)
    return at + taken
  }

  #skip(chunk: Buffer, at: number): number {
    const taken = Math.min(this.#left, chunk.length - at)
    this.#left -= taken
    if (this.#left === 0) this.#place = 'header'
    return at + taken
  }

  #readData(chunk: Buffer, start: number): number {
    let at = start
    let flow = 0
    if (this.#padding === -1) {
      const padding = chunk[at++] as number
      if (padding >= this.#length) protocolError('A DATA frame has more padding than payload (RFC 9113 §6.1)')
      this.#padding = padding
      this.#left = this.#length - 1 - padding
      flow = 1
    }
    const size = Math.min(this.#left, chunk.length - at)
    this.#left -= size
    const from = at
    const to = from + size
    at = to
    if (this.#left === 0 && this.#padding > 0) {
      const skipped = Math.min(this.#padding, chunk.length - at)
      this.#padding -= skipped
      flow += skipped
      at += skipped
    }
    const isOver = this.#isDataOver
    if (isOver) this.#place = 'header'
    const isEnd = isOver && (this.#flags & Flag.END_STREAM) !== 0
    this.#streams.onData(this.#streamId, chunk, from, to, flow + size, isEnd)
    return at
  }

  /** The payload is there, from `at` on. */
  #tell(bytes: Buffer, at: number): void {
    switch (this.#type) {
      case FrameType.HEADERS:
        this.#readHeaders(bytes, at)
        break
      case FrameType.CONTINUATION:
        this.#fragments.push(bytes.subarray(at, at + this.#length))
        if ((this.#flags & Flag.END_HEADERS) !== 0) this.#endBlock()
        break
      case FrameType.RST_STREAM:
        this.#streams.onReset(this.#streamId, bytes.readUInt32BE(at))
        break
      case FrameType.SETTINGS:
        if ((this.#flags & Flag.ACK) !== 0) this.#connection.onSettingsAck()
        else this.#connection.onSettings(bytes, at, at + this.#length)
        break
      case FrameType.PING:
        this.#connection.onPing(bytes, at, (this.#flags & Flag.ACK) !== 0)
        break
      case FrameType.GOAWAY:
        this.#readGoaway(bytes, at)
        break
      case FrameType.WINDOW_UPDATE:
        this.#readWindowUpdate(bytes, at)
        break
      default:
        this.#streams.onPriority(this.#streamId, this.#length)
    }
  }

  #readHeaders(bytes: Buffer, at: number): void {
    const flags = this.#flags
    let start = at
    let end = at + this.#length
    if ((flags & Flag.PADDED) !== 0) {
      end -= bytes[start++] as number
    }
    if ((flags & Flag.PRIORITY) !== 0) start += PRIORITY_SIZE
    if (start > end) protocolError('HEADERS has more padding than payload (RFC 9113 §6.2)')
    const isEnd = (flags & Flag.END_STREAM) !== 0
    if ((flags & Flag.END_HEADERS) !== 0) {
      this.#blockSize = 0
      this.#streams.onHeaderBlock(this.#streamId, bytes, start, end, isEnd)
      return
    }
    this.#blockStreamId = this.#streamId
    this.#isBlockEnd = isEnd
    this.#fragments.push(bytes.subarray(start, end))
  }

  #endBlock(): void {
    const block = Buffer.concat(this.#fragments)
    const streamId = this.#blockStreamId
    this.#fragments = []
    this.#blockSize = 0
    this.#blockStreamId = 0
    this.#streams.onHeaderBlock(streamId, block, 0, block.length, this.#isBlockEnd)
  }

  #readWindowUpdate(bytes: Buffer, at: number): void {
    const increment = bytes.readUInt32BE(at) & 0x7fff_ffff
    if (this.#streamId === 0) this.#connection.onConnectionWindowUpdate(increment)
    else this.#streams.onWindowUpdate(this.#streamId, increment)
  }

  #readGoaway(bytes: Buffer, at: number): void {
    const lastStreamId = bytes.readUInt32BE(at) & 0x7fff_ffff
    const code = bytes.readUInt32BE(at + 4)
    const hasDebugData = this.#length > 8
    const debugData = hasDebugData ? Buffer.from(bytes.subarray(at + 8, at + this.#length)) : null
    this.#connection.onGoaway(lastStreamId, code, debugData)
  }
}

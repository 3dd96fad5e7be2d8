/**
 * The server's bytes, in chunks cut anywhere → frames.
 *
 * @module
 */

import { FieldBlock } from './field-block.ts'
import { checkFrame, isRead } from './frame-rules.ts'
import { DEFAULT_FRAME_SIZE, Flag, FRAME_HEADER_SIZE, FrameType, PRIORITY_SIZE } from './frames.ts'
import { readOrigins } from './origin-frame.ts'
import { badSize, ForeignPeerFault, protocolError } from './protocol-error.ts'

/**
 * Is told about the frames on streams: once for each, in wire order. `bytes` is the chunk that was read, or a buffer
 * that the reader uses once. The listener may keep a piece of it, but must not write to it.
 */
export interface StreamFrameListener {
  /**
   * A piece of a DATA frame: the part that has arrived so far. It may be empty.
   *
   * @param flow how many bytes count for flow control: the piece, and the padding that arrived with it
   * @param isEnd END_STREAM: no more data follows on this stream
   */
  onData(streamId: number, bytes: Buffer, start: number, end: number, flow: number, isEnd: boolean): void
  /** A complete field block (RFC 9113 §4.3): the fragments in HEADERS and its CONTINUATION frames. */
  onHeaderBlock(streamId: number, bytes: Buffer, start: number, end: number, isEnd: boolean): void
  onReset(streamId: number, code: number): void
  /** @param increment 0 is a stream error (RFC 9113 §6.9) */
  onWindowUpdate(streamId: number, increment: number): void
  /**
   * PRIORITY, which has no effect (RFC 9113 §5.3.2).
   *
   * @param size the payload's size in bytes, which may be wrong (§6.3)
   */
  onPriority(streamId: number, size: number): void
}

/** Is told about the connection's frames, and about ignored frames: once for each, in wire order. */
export interface ConnectionFrameListener {
  onSettings(bytes: Buffer, start: number, end: number): void
  onSettingsAck(): void
  /** The payload is the eight octets from `start` on. */
  onPing(bytes: Buffer, start: number, isAck: boolean): void
  /** @param debugData a copy; null for none */
  onGoaway(lastStreamId: number, code: number, debugData: Buffer | null): void
  /**
   * WINDOW_UPDATE on stream 0.
   *
   * @param increment 0 is a connection error (RFC 9113 §6.9)
   */
  onConnectionWindowUpdate(increment: number): void
  /**
   * ORIGIN (RFC 8336 §2.1).
   *
   * @param origins as the server writes them
   * @param size the payload's size in bytes
   */
  onOrigins(origins: readonly string[], size: number): void
  /**
   * A frame of an unknown type, on any stream (RFC 9113 §4.1).
   *
   * @param size its payload's size in bytes
   */
  onIgnored(size: number): void
}

const NOTHING = Buffer.alloc(0)

/**
 * The part of a frame that the reader expects next: its header, a DATA frame's payload (passed on piece by piece), a
 * payload that is needed as a whole, or an ignored frame's payload.
 */
type Place = 'header' | 'data' | 'payload' | 'ignored'

/** Reads the frames that arrive on one connection. It throws a `ConnectionFault`, and can't be used after that. */
export class FrameReader {
  readonly #streams: StreamFrameListener
  readonly #connection: ConnectionFrameListener
  readonly #maxFrameSize: number
  #place: Place = 'header'
  /** A frame header, or a payload, that arrives in several chunks: the octets so far. */
  #partial: Buffer = NOTHING
  #filled = 0
  readonly #header = Buffer.alloc(FRAME_HEADER_SIZE)
  // The header of the frame that is being read (RFC 9113 §4.1).
  #length = 0
  #type = 0
  #flags = 0
  #streamId = 0
  /** How many octets of the payload are missing; for a DATA frame, without its padding. */
  #left = 0
  /** How many octets of padding are missing; -1 before the Pad Length field has arrived. */
  #padding = 0
  /** The field block of several frames that isn't complete. */
  readonly #block = new FieldBlock()
  #isFirst = true
  #isStopped = false

  /** @param maxFrameSize the SETTINGS_MAX_FRAME_SIZE that we have announced, in bytes */
  constructor(
    streams: StreamFrameListener,
    connection: ConnectionFrameListener,
    maxFrameSize: number = DEFAULT_FRAME_SIZE,
  ) {
    this.#streams = streams
    this.#connection = connection
    this.#maxFrameSize = maxFrameSize
  }

  /** The listeners are told nothing more, not even about the rest of the chunk that is being read. */
  stop(): void {
    this.#isStopped = true
  }

  /**
   * Reads a chunk to its end.
   *
   * @throws ConnectionFault, and whatever the listener throws
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

  /** Whether the DATA frame is complete. An empty one is complete as soon as its header has arrived. */
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
    if (this.#filled < FRAME_HEADER_SIZE) {
      // An alert is shorter than a frame header.
      if (this.#isFirst && this.#filled > 1 && isTls(this.#header, 0)) throw new ForeignPeerFault('TLS')
      return at + taken
    }
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
      badSize(
        `A frame has ${this.#length} bytes, more than the limit of ${this.#maxFrameSize} (RFC 9113 §4.2)`,
      )
    }
    const isContinuation = this.#type === FrameType.CONTINUATION
    const blockStreamId = this.#block.streamId
    const isOfBlock = blockStreamId !== 0 && this.#streamId === blockStreamId
    if (isContinuation ? !isOfBlock : blockStreamId !== 0) {
      protocolError('A field block was interrupted, or continued when none had started (RFC 9113 §6.10)')
    }
    checkFrame(this.#type, this.#flags, this.#streamId, this.#length)
  }

  /** RFC 9113 §3.4: a server's connection begins with SETTINGS. */
  #checkFirst(bytes: Buffer, at: number): void {
    this.#isFirst = false
    if (this.#type === FrameType.SETTINGS && (this.#flags & Flag.ACK) === 0) return
    throw new ForeignPeerFault(toForeignProtocol(bytes, at))
  }

  /** Continues after a frame header. A payload that is complete in the chunk is handled at once. */
  #enter(chunk: Buffer, at: number): number {
    const length = this.#length
    if (this.#type === FrameType.DATA) {
      this.#place = 'data'
      this.#left = length
      this.#padding = (this.#flags & Flag.PADDED) === 0 ? 0 : -1
      return at
    }
    if (!isRead(this.#type, this.#flags, this.#streamId, length)) {
      this.#connection.onIgnored(length)
      this.#left = length
      this.#place = length === 0 ? 'header' : 'ignored'
      return at
    }
    if (this.#type === FrameType.HEADERS) this.#block.count(length, false)
    else if (this.#type === FrameType.CONTINUATION) this.#block.count(length, true)
    if (chunk.length - at >= length) {
      this.#tell(chunk, at)
      return at + length
    }
    this.#place = 'payload'
    this.#partial = Buffer.allocUnsafe(length)
    return at
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

  /**
   * Passes on a complete payload.
   *
   * @param at where it starts
   */
  #tell(bytes: Buffer, at: number): void {
    switch (this.#type) {
      case FrameType.HEADERS:
        this.#readHeaders(bytes, at)
        break
      case FrameType.CONTINUATION:
        this.#block.add(bytes, at, at + this.#length)
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
      case FrameType.PRIORITY:
        this.#streams.onPriority(this.#streamId, this.#length)
        break
      case FrameType.ORIGIN:
        this.#connection.onOrigins(readOrigins(bytes, at, at + this.#length), this.#length)
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
      this.#streams.onHeaderBlock(this.#streamId, bytes, start, end, isEnd)
      return
    }
    this.#block.begin(this.#streamId, isEnd)
    this.#block.add(bytes, start, end)
  }

  #endBlock(): void {
    const { streamId, isEnd } = this.#block
    const block = this.#block.take()
    this.#streams.onHeaderBlock(streamId, block, 0, block.length, isEnd)
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

/** RFC 8446 §5.1: the content type of an alert or a handshake, and the major version, which is always 3. */
const TLS_ALERT = 21
const TLS_HANDSHAKE = 22
const TLS_MAJOR = 3

function toForeignProtocol(bytes: Buffer, at: number): ForeignPeerFault['protocol'] {
  if (bytes.toString('latin1', at, at + 5) === 'HTTP/') return 'HTTP/1.1'
  return isTls(bytes, at) ? 'TLS' : null
}

/** No SETTINGS frame begins like this: it would be longer than the maximum. */
function isTls(bytes: Buffer, at: number): boolean {
  return (bytes[at] === TLS_ALERT || bytes[at] === TLS_HANDSHAKE) && bytes[at + 1] === TLS_MAJOR
}

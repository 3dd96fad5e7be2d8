/**
 * The frames of streams: what each of them means for its stream.
 *
 * @module
 */

import { ErrorCode } from '../core/error-codes.ts'
import type { FlowOwner, WindowSizes } from './flow-control.ts'
import { ReceiveFlow } from './flow-control.ts'
import { MAX_BLOCK_SIZE } from './frame-reader.ts'
import { FrameWriter } from './frame-writer.ts'
import { DEFAULT_FRAME_SIZE, DEFAULT_WINDOW, MAX_WINDOW, PRIORITY_SIZE } from './frames.ts'
import { HpackDecoder } from './hpack/decoder.ts'
import { HpackEncoder } from './hpack/encoder.ts'
import { HpackError } from './hpack/hpack-error.ts'
import { FrameBudget } from './limits.ts'
import { PingLedger } from './ping-ledger.ts'
import { ConnectionFault, protocolError } from './protocol-error.ts'
import { isBare, toContentFault, toHeaderFault, toStatus, toTrailersFault } from './response-rules.ts'
import { ServerSettings } from './settings.ts'
import type { Http2Stream } from './stream.ts'
import { afterRemoteEnd, canReceive } from './stream-state.ts'
import { StreamTable } from './stream-table.ts'
import type { UploadOwner } from './upload-queue.ts'
import { UploadQueue } from './upload-queue.ts'

/** Twice what a caller may want: so a list that the decoder doesn't keep whole is always above the caller's own limit. Bytes. */
const MAX_LIST_SIZE = 2 * MAX_BLOCK_SIZE

/** The streams of a connection, and all that their frames move. */
export abstract class StreamFrames implements FlowOwner, UploadOwner {
  /** What the server's SETTINGS have said so far. */
  readonly server = new ServerSettings()
  readonly pings = new PingLedger()
  protected readonly encoder = new HpackEncoder()
  protected readonly decoder: HpackDecoder
  protected readonly writer = new FrameWriter(this.encoder, DEFAULT_FRAME_SIZE)
  protected readonly streams = new StreamTable()
  protected readonly uploads: UploadQueue
  protected readonly flow: ReceiveFlow
  protected readonly budget: FrameBudget

  /** @param tableSize that HPACK's decoder allows for, in bytes */
  constructor(tableSize: number, windows: WindowSizes, now: () => number) {
    this.decoder = new HpackDecoder(tableSize, MAX_LIST_SIZE)
    this.uploads = new UploadQueue(this.writer, DEFAULT_WINDOW, this)
    this.flow = new ReceiveFlow(windows, this.writer, this)
    this.budget = new FrameBudget(now)
  }

  abstract now(): number
  abstract wake(): void
  abstract ping(onAck: () => void): void
  abstract onBandwidth(bytes: number): void

  /** The connection's own receive window becomes larger. @param size in bytes; a smaller one than before changes nothing */
  growWindow(size: number): void {
    this.flow.growConnection(size)
  }

  onData(streamId: number, bytes: Buffer, start: number, end: number, flow: number, isEnd: boolean): void {
    if (!this.flow.receive(flow)) {
      const message = "The peer sent more than the connection's window allows (RFC 9113 §6.9.1)"
      throw new ConnectionFault(ErrorCode.FLOW_CONTROL_ERROR, message)
    }
    this.pings.onNews()
    const isEmpty = start === end && !isEnd
    const stream = this.#find(streamId, 'DATA')
    if (isEmpty) this.budget.spend()
    if (stream === null || stream.isAbandoned) {
      this.flow.discard(flow)
      if (isEnd && stream !== null) this.#endRemote(stream)
      return
    }
    if (!isEmpty) this.budget.earn()
    stream.receiveWindow -= flow
    const size = end - start
    const fault = toContentFault(stream, size)
    // An empty frame may always come (RFC 9113 §6.9.1); after a change of SETTINGS the window may be below 0 for a while.
    if ((flow > 0 && stream.receiveWindow < 0) || fault !== null) {
      this.flow.discard(flow)
      if (fault !== null)
        this.#breakOff(stream, ErrorCode.PROTOCOL_ERROR, `The response is malformed: ${fault}`)
      else
        this.#breakOff(
          stream,
          ErrorCode.FLOW_CONTROL_ERROR,
          "The peer sent more than the stream's window allows",
        )
      return
    }
    if (isEnd) this.#endRemote(stream)
    // Padding was read, as it were (RFC 9113 §6.1).
    if (flow > size) this.flow.consume(stream, flow - size)
    if (size > 0 || isEnd) stream.listener.onBytes(bytes, start, end)
  }

  onHeaderBlock(streamId: number, bytes: Buffer, start: number, end: number, isEnd: boolean): void {
    const fields = this.#decode(bytes, start, end)
    this.pings.onNews()
    const stream = this.#find(streamId, 'HEADERS')
    if (stream === null) return
    if (stream.isAbandoned) {
      if (isEnd) this.#endRemote(stream)
      else this.budget.spend()
    } else if (stream.phase === 'none') {
      this.#onHeader(stream, fields, isEnd)
    } else if (stream.isTunnel) {
      this.#breakOff(stream, ErrorCode.PROTOCOL_ERROR, 'HEADERS came within a tunnel (RFC 9113 §8.5)')
    } else {
      const fault = this.decoder.fault ?? toTrailersFault(fields, isEnd)
      if (fault !== null) {
        this.#breakOff(stream, ErrorCode.PROTOCOL_ERROR, `The response is malformed: ${fault}`)
        return
      }
      this.#endRemote(stream)
      stream.listener.onTrailers(fields)
    }
  }

  #onHeader(stream: Http2Stream, fields: string[], isEnd: boolean): void {
    const status = toStatus(fields)
    const fault = this.decoder.fault ?? toHeaderFault(status, fields, isEnd)
    if (fault !== null) {
      this.#breakOff(stream, ErrorCode.PROTOCOL_ERROR, `The response is malformed: ${fault}`)
    } else if (status < 200) {
      this.budget.spend()
      stream.listener.onInformational(status, fields)
    } else {
      this.budget.earn()
      stream.phase = 'header'
      stream.isBare = isBare(status, stream.isHead)
      if (isEnd) this.#endRemote(stream)
      stream.listener.onResponse(status, fields)
    }
  }

  /** Always, whoever the block is for: the next one builds on it (RFC 9113 §4.3). */
  #decode(bytes: Buffer, start: number, end: number): string[] {
    try {
      return this.decoder.decode(bytes, start, end)
    } catch (thrown) {
      if (!(thrown instanceof HpackError)) throw thrown
      throw new ConnectionFault(ErrorCode.COMPRESSION_ERROR, thrown.message)
    }
  }

  onPriority(streamId: number, size: number): void {
    this.budget.spend()
    const stream = this.streams.get(streamId)
    if (size === PRIORITY_SIZE || stream === null) return
    this.#breakOff(
      stream,
      ErrorCode.FRAME_SIZE_ERROR,
      `PRIORITY has ${size} bytes instead of 5 (RFC 9113 §6.3)`,
      false,
    )
  }

  onReset(streamId: number, code: number): void {
    this.budget.spend()
    if (this.streams.isIdle(streamId)) protocolError('RST_STREAM came on an idle stream (RFC 9113 §6.4)')
    const stream = this.streams.get(streamId)
    if (stream === null) return
    this.close(stream, false)
    if (!stream.isAbandoned) stream.listener.onReset(code)
  }

  onWindowUpdate(streamId: number, increment: number): void {
    if (streamId === 0) {
      this.budget.spendUpdate(increment)
      this.#openConnectionWindow(increment)
      return
    }
    if (this.streams.isIdle(streamId)) protocolError('WINDOW_UPDATE came on an idle stream (RFC 9113 §5.1)')
    const stream = this.streams.get(streamId)
    if (stream === null) {
      // RFC 9113 §5.1: it may come for a while after the end.
      this.budget.spend()
      return
    }
    this.budget.spendUpdate(increment)
    const isOverflow = stream.sendWindow + increment > MAX_WINDOW
    if (increment === 0) {
      const message = 'The peer opened a window by 0 (RFC 9113 §6.9)'
      this.#breakOff(stream, ErrorCode.PROTOCOL_ERROR, message, false)
    } else if (isOverflow) {
      const message = 'The peer opened a window beyond 2^31-1 (RFC 9113 §6.9.1)'
      this.#breakOff(stream, ErrorCode.FLOW_CONTROL_ERROR, message, false)
    } else {
      stream.sendWindow += increment
      this.#resume(stream)
    }
  }

  #openConnectionWindow(increment: number): void {
    if (increment === 0) protocolError("The peer opened the connection's window by 0 (RFC 9113 §6.9)")
    this.uploads.window += increment
    if (this.uploads.window > MAX_WINDOW) {
      const message = "The peer opened the connection's window beyond 2^31-1 (RFC 9113 §6.9.1)"
      throw new ConnectionFault(ErrorCode.FLOW_CONTROL_ERROR, message)
    }
    if (!this.uploads.isEmpty) this.wake()
  }

  /** SETTINGS_INITIAL_WINDOW_SIZE has changed by so much: that counts for all open streams (RFC 9113 §6.9.2). */
  protected moveSendWindows(change: number): void {
    for (const stream of this.streams.values()) {
      stream.sendWindow += change
      if (stream.sendWindow > MAX_WINDOW) {
        const message = 'SETTINGS_INITIAL_WINDOW_SIZE opens a window beyond 2^31-1 (RFC 9113 §6.9.2)'
        throw new ConnectionFault(ErrorCode.FLOW_CONTROL_ERROR, message)
      }
      this.#resume(stream)
    }
  }

  #resume(stream: Http2Stream): void {
    if (stream.piece === null || stream.sendWindow <= 0) return
    this.uploads.add(stream)
    this.wake()
  }

  /** The stream that a frame is for; null for one that is to be ignored. */
  #find(streamId: number, type: string): Http2Stream | null {
    const stream = this.streams.get(streamId)
    if (stream === null) {
      if (this.streams.isIdle(streamId)) protocolError(`${type} came on an idle stream (RFC 9113 §5.1)`)
      if (this.streams.hasEnded(streamId)) {
        throw new ConnectionFault(ErrorCode.STREAM_CLOSED, `${type} came after END_STREAM (RFC 9113 §5.1)`)
      }
      // DATA is bounded by the connection's window, and much of it may be on its way when we reset its stream.
      if (type !== 'DATA') this.budget.spend()
      return null
    }
    if (canReceive(stream.state)) return stream
    this.#breakOff(stream, ErrorCode.STREAM_CLOSED, `${type} came after END_STREAM (RFC 9113 §5.1)`)
    return null
  }

  #endRemote(stream: Http2Stream): void {
    stream.phase = 'whole'
    if (stream.state === 'half-closed (local)') this.close(stream, true)
    else stream.state = afterRemoteEnd(stream.state)
  }

  onFrame(size: number): void {
    this.budget.earn(size)
  }

  onLocalEnd(stream: Http2Stream): void {
    if (stream.state === 'closed') this.close(stream, true)
  }

  /** An error of the stream (RFC 9113 §5.4.2). @param isResponse whether in what belongs to an answer */
  #breakOff(stream: Http2Stream, code: number, message: string, isResponse = true): void {
    this.writer.reset(stream.id, code)
    this.wake()
    this.close(stream, false)
    if (!stream.isAbandoned) stream.listener.onStreamError(code, message, isResponse)
  }

  /** The one way out of the table. @param isEnded by END_STREAM of the peer's */
  protected close(stream: Http2Stream, isEnded: boolean): void {
    stream.state = 'closed'
    // It may be closed from within: by a caller who hears that his last byte was sent.
    if (!this.streams.delete(stream, isEnded)) return
    this.uploads.delete(stream)
    this.flow.close(stream)
    if (stream.isAbandoned) stream.listener.onForgotten()
  }
}

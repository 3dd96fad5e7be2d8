/**
 * Handles the frames of streams.
 *
 * @module
 */

import { ErrorCode } from '../errors/error-codes.ts'
import type { StreamFrameListener } from './frame-reader.ts'
import { MAX_WINDOW, PRIORITY_SIZE } from './frames.ts'
import type { HpackDecoder } from './hpack/decoder.ts'
import { HpackError } from './hpack/hpack-error.ts'
import type { FrameBudget } from './limits.ts'
import type { OpenStreams } from './open-streams.ts'
import type { PingLedger } from './ping-ledger.ts'
import { ConnectionFault, protocolError } from './protocol-error.ts'
import { isBare, toContentFault, toHeaderFault, toStatus, toTrailersFault } from './response-rules.ts'
import type { Http2Stream } from './stream.ts'
import { canReceive } from './stream-state.ts'

/** Applies each frame on a stream to the stream's state, and tells the stream's listener. */
export class StreamFrames implements StreamFrameListener {
  readonly #streams: OpenStreams
  readonly #decoder: HpackDecoder
  readonly #budget: FrameBudget
  readonly #pings: PingLedger

  constructor(streams: OpenStreams, decoder: HpackDecoder, budget: FrameBudget, pings: PingLedger) {
    this.#streams = streams
    this.#decoder = decoder
    this.#budget = budget
    this.#pings = pings
  }

  onData(streamId: number, bytes: Buffer, start: number, end: number, flow: number, isEnd: boolean): void {
    const streams = this.#streams
    if (!streams.flow.receive(flow)) {
      const message = 'The peer sent more than the connection window allows (RFC 9113 §6.9.1)'
      throw new ConnectionFault(ErrorCode.FLOW_CONTROL_ERROR, message)
    }
    this.#pings.onNews()
    const isEmpty = start === end && !isEnd
    const stream = this.#find(streamId, 'DATA')
    if (isEmpty) this.#budget.spend()
    if (stream === null) {
      if (!isEmpty) this.#budget.spendLate(flow)
      streams.flow.consumeOnConnection(flow)
      return
    }
    stream.receiveWindow -= flow
    if (stream.isCancelled) {
      streams.flow.consumeOnConnection(flow)
      if (isTooMuch(stream, flow)) this.#rejectData(stream)
      else if (isEnd) streams.endRemote(stream)
      return
    }
    if (!isEmpty) this.#budget.earn()
    const size = end - start
    const fault = toContentFault(stream, size)
    if (fault !== null || isTooMuch(stream, flow)) {
      streams.flow.consumeOnConnection(flow)
      if (fault !== null) this.#rejectResponse(stream, fault)
      else this.#rejectData(stream)
      return
    }
    if (isEnd) streams.endRemote(stream)
    // Padding counts as read (RFC 9113 §6.1).
    if (flow > size) streams.flow.consume(stream, flow - size)
    if (size > 0 || isEnd) stream.listener.onBytes(bytes, start, end)
  }

  onHeaderBlock(streamId: number, bytes: Buffer, start: number, end: number, isEnd: boolean): void {
    const fields = this.#decode(bytes, start, end)
    this.#pings.onNews()
    const size = end - start
    const stream = this.#find(streamId, 'HEADERS')
    if (stream === null) {
      this.#budget.spendBlock(size)
    } else if (stream.isCancelled) {
      if (isEnd) this.#streams.endRemote(stream)
      else this.#budget.spendBlock(size)
    } else if (stream.phase === 'none') {
      this.#onHeader(stream, fields, size, isEnd)
    } else if (stream.data === 'tunnel') {
      const message = 'HEADERS arrived inside a tunnel (RFC 9113 §8.5)'
      this.#fail(stream, ErrorCode.PROTOCOL_ERROR, message, true)
    } else {
      this.#onTrailers(stream, fields, isEnd)
    }
  }

  #onHeader(stream: Http2Stream, fields: string[], size: number, isEnd: boolean): void {
    const status = toStatus(fields)
    const fault = this.#decoder.fault ?? toHeaderFault(status, fields, isEnd)
    if (fault !== null) {
      this.#rejectResponse(stream, fault)
    } else if (status < 200) {
      this.#budget.spendBlock(size)
      stream.isAccepted = true
      stream.listener.onInformational(status, fields)
    } else {
      this.#budget.earn()
      stream.phase = 'header'
      if (isBare(status)) stream.data = 'none'
      if (isEnd) this.#streams.endRemote(stream)
      stream.listener.onResponse(status, fields)
    }
  }

  #onTrailers(stream: Http2Stream, fields: string[], isEnd: boolean): void {
    const fault = this.#decoder.fault ?? toTrailersFault(fields, isEnd)
    if (fault !== null) {
      this.#rejectResponse(stream, fault)
    } else {
      this.#streams.endRemote(stream)
      stream.listener.onTrailers(fields)
    }
  }

  /**
   * Decodes every field block, even if its frame belongs to no open stream: later blocks depend on it (RFC 9113
   * §4.3).
   */
  #decode(bytes: Buffer, start: number, end: number): string[] {
    try {
      return this.#decoder.decode(bytes, start, end)
    } catch (thrown) {
      if (!(thrown instanceof HpackError)) throw thrown
      throw new ConnectionFault(ErrorCode.COMPRESSION_ERROR, thrown.message)
    }
  }

  onPriority(streamId: number, size: number): void {
    this.#budget.spend()
    const stream = this.#streams.table.get(streamId)
    if (size === PRIORITY_SIZE || stream === null) return
    const message = `PRIORITY has ${size} bytes instead of 5 (RFC 9113 §6.3)`
    this.#fail(stream, ErrorCode.FRAME_SIZE_ERROR, message, false)
  }

  onReset(streamId: number, code: number): void {
    this.#budget.spend()
    const { table } = this.#streams
    if (table.isIdle(streamId)) protocolError('RST_STREAM arrived on an idle stream (RFC 9113 §6.4)')
    if (code !== ErrorCode.REFUSED_STREAM) table.recordAccepted(streamId)
    const stream = table.get(streamId)
    if (stream === null) return
    this.#streams.close(stream, false)
    if (!stream.isCancelled) stream.listener.onReset(code)
  }

  onWindowUpdate(streamId: number, increment: number): void {
    const { table } = this.#streams
    if (table.isIdle(streamId)) protocolError('WINDOW_UPDATE arrived on an idle stream (RFC 9113 §5.1)')
    const stream = table.get(streamId)
    if (stream === null) {
      // RFC 9113 §5.1: WINDOW_UPDATE may still arrive for a short time after the stream has closed.
      this.#budget.spendLateUpdate(increment)
      return
    }
    stream.isAccepted = true
    table.recordAccepted(streamId)
    const unreturned = stream.upload?.unreturned ?? 0
    this.#streams.uploads.onCredit(stream, this.#budget.spendUpdate(increment, unreturned))
    if (increment === 0) {
      const message = 'The peer enlarged a stream window by 0 (RFC 9113 §6.9)'
      this.#fail(stream, ErrorCode.PROTOCOL_ERROR, message, false)
    } else if (stream.sendWindow + increment > MAX_WINDOW) {
      const message = 'The peer enlarged a stream window beyond 2^31-1 (RFC 9113 §6.9.1)'
      this.#fail(stream, ErrorCode.FLOW_CONTROL_ERROR, message, false)
    } else {
      this.#streams.grant(stream, increment)
    }
  }

  /** A frame's stream; null if the frame has to be ignored. */
  #find(streamId: number, type: 'DATA' | 'HEADERS'): Http2Stream | null {
    const { table } = this.#streams
    const stream = table.get(streamId)
    if (stream === null) {
      if (table.isIdle(streamId)) protocolError(`${type} arrived on an idle stream (RFC 9113 §5.1)`)
      if (table.hasEnded(streamId)) {
        throw new ConnectionFault(ErrorCode.STREAM_CLOSED, `${type} arrived after END_STREAM (RFC 9113 §5.1)`)
      }
      table.recordAccepted(streamId)
      return null
    }
    table.recordAccepted(streamId)
    if (canReceive(stream.state)) return stream
    const message = `${type} arrived after END_STREAM (RFC 9113 §5.1)`
    this.#fail(stream, ErrorCode.STREAM_CLOSED, message, true)
    return null
  }

  #rejectData(stream: Http2Stream): void {
    const message = 'The peer sent more than the stream window allows'
    this.#fail(stream, ErrorCode.FLOW_CONTROL_ERROR, message, true)
  }

  /** A malformed response is a stream error (RFC 9113 §8.1.1). */
  #rejectResponse(stream: Http2Stream, fault: string): void {
    this.#fail(stream, ErrorCode.PROTOCOL_ERROR, `The response is malformed: ${fault}`, true)
  }

  /**
   * A stream error (RFC 9113 §5.4.2).
   *
   * @param isResponse whether the error is in HEADERS or DATA, which are parts of a response
   */
  #fail(stream: Http2Stream, code: number, message: string, isResponse: boolean): void {
    this.#streams.reset(stream, code)
    if (!stream.isCancelled) stream.listener.onStreamError(code, message, isResponse)
  }
}

/**
 * Whether a DATA frame has exceeded its stream's window. An empty frame may always arrive (RFC 9113 §6.9.1): after a
 * change of SETTINGS, the window may be below 0 for a while.
 */
function isTooMuch(stream: Http2Stream, flow: number): boolean {
  return flow > 0 && stream.receiveWindow < 0
}

/**
 * One attempt at a call on one engine 'wire' stream.
 *
 * @module
 */

import type { IncomingHttpHeaders } from '../../../types/headers.ts'
import type { Attempt, Carrier } from '../../call/attempt.ts'
import type { Call } from '../../call/call.ts'
import type { ResponseMeter } from '../../call/response-limits.ts'
import { isRefusedList } from '../../call/response-limits.ts'
import { weigh } from '../../core/ballast.ts'
import { originalSetImmediate } from '../../core/original-timers.ts'
import { ErrorCode } from '../../errors/error-codes.ts'
import type { DodiciError } from '../../errors/errors.ts'
import { StreamError } from '../../errors/errors.ts'
import type { ClientConnection } from '../../protocol/connection.ts'
import type { StreamListener } from '../../protocol/stream.ts'
import { Http2Stream } from '../../protocol/stream.ts'
import { NO_TRAILERS, toResponseHeaders } from '../../request/header-object.ts'
import type { EngineStream, StreamOwner } from '../engine.ts'
import { reportSent } from '../session-report.ts'
import type { FlowSide } from '../stream/response-flow.ts'
import { ResponseFlow } from '../stream/response-flow.ts'
import { mayBeLoss, toLostMemoryError, toResetError, toResetOrLoss } from '../stream/stream-failure.ts'
import type { Tunnel, TunnelSide } from '../stream/tunnel.ts'
import { openStream, WireOutgoing } from './wire-outgoing.ts'

/** One attempt at a call. It passes the connection's events for its stream to the response flow. */
export class WireStream implements Attempt, EngineStream, FlowSide, StreamListener {
  listIndex = -1
  window = 0
  readonly #owner: StreamOwner
  readonly #http2: ClientConnection
  readonly #flow: ResponseFlow
  /** The connection's record of it. */
  readonly #stream: Http2Stream
  /** Null for a stream that sends only a header section. */
  #outgoing: WireOutgoing | null = null
  /** The error code for RST_STREAM. */
  #resetCode: number = ErrorCode.CANCEL

  constructor(owner: StreamOwner, http2: ClientConnection, call: Call) {
    this.#owner = owner
    this.#http2 = http2
    this.#flow = new ResponseFlow(this, call)
    this.#stream = new Http2Stream(this)
  }

  get meter(): ResponseMeter {
    return this.#flow
  }

  get carrier(): Carrier {
    return this.#owner.carrier
  }

  get maxHeaderListSize(): number {
    return this.#owner.maxHeaderListSize
  }

  get isConnected(): boolean {
    return this.#owner.hasSettings
  }

  onConnected(): void {
    if (this.#flow.isOpen) this.#flow.call.connected()
  }

  get streamId(): number | null {
    return this.#stream.id === 0 ? null : this.#stream.id
  }

  get hasBegun(): boolean {
    return this.#stream.id !== 0
  }

  get isAccepted(): boolean {
    return this.#stream.isAccepted
  }

  get hasResponded(): boolean {
    return this.#flow.isAnswered
  }

  get isHeld(): boolean {
    return this.#stream.held > 0 || this.#flow.call.paused
  }

  get isIdle(): boolean {
    const isSent = this.#stream.state === 'half-closed (local)' || this.#stream.state === 'closed'
    return this.#flow.isDone || this.#flow.isUnreferenced || (isSent && this.#flow.isHeldBack)
  }

  get hasUpload(): boolean {
    return this.#stream.upload !== null
  }

  get isStuck(): boolean {
    return this.#flow.isOpen && this.#stream.isSending
  }

  get isDone(): boolean {
    return this.#flow.isDone
  }

  get isEndedEarly(): boolean {
    return this.#stream.isEndedEarly
  }

  get isLeftOut(): boolean {
    return this.#owner.isLeftOut(this.streamId)
  }

  get isClosed(): boolean {
    return this.#stream.state === 'closed' || this.#stream.state === 'idle'
  }

  open(): void {
    const wire = this.#flow.begin(this)
    if (wire === null) return
    const { call } = this.#flow
    const { body, request } = call
    const hasBody = body.kind !== 'none' || request.trailers !== null || request.isTunnel
    if (request.method === 'HEAD') this.#stream.data = 'none'
    const http2 = this.#http2
    if (!openStream(http2, this.#stream, call, wire, !hasBody)) return
    // The ids are used up (RFC 9113 §5.1.1).
    if (!http2.canTake) this.#owner.close('requests')
    if (request.trace !== null) reportSent(this.#flow.call, this.#owner.socket, wire)
    // The channels' subscribers may have ended the call.
    if (this.#flow.isDone) return
    if (!hasBody) {
      call.tellSent()
      return
    }
    this.#outgoing = new WireOutgoing(this.#stream, http2, call, this.#owner, () => this.#cancelBodies())
    if (!request.isTunnel) this.#outgoing.upload(body)
  }

  pause(): void {} // Data that then arrives is held here, and so is its credit.
  resume(): void {
    this.#flow.handOn()
  }

  proceed(): void {
    if (!this.#flow.isDone && this.#flow.dataEnd === 'none') this.#outgoing?.proceed()
  }

  cancel(isMalformed = false): void {
    this.#flow.cancel()
    if (isMalformed) this.#resetCode = ErrorCode.PROTOCOL_ERROR
    this.#cancelBodies()
  }

  reprioritize(value: string): void {
    this.#http2.reprioritize(this.#stream, value)
  }

  closeConnection(): void {
    this.#owner.onMisdirected(this.#flow.call.request)
  }

  fail(error: Error): void {
    this.#flow.failCall(error)
  }

  giveUp(error: DodiciError): void {
    this.#onGone(error, false)
    this.#cancelBodies()
  }

  onLost(): void {
    this.#stream.state = 'closed'
    this.#outgoing?.stop()
    // The reader holds back a response that has arrived completely: the call must get the rest now.
    if (this.#flow.isWhole) this.#flow.complete()
    else this.#onGone(this.#owner.toLossError(this.streamId, null), false)
    this.#flow.tellOver()
  }

  onInformational(status: number, fields: string[]): void {
    if (this.#flow.isOpen) this.#flow.respond(status, this.#toHeaders(fields), fields)
  }

  onResponse(status: number, fields: string[]): void {
    if (!this.#flow.isOpen) return
    const headers = this.#toHeaders(fields)
    this.#owner.onResponded(headers)
    if (this.#stream.phase === 'whole') {
      this.#flow.isHeaderOnly = true
      this.#flow.endData('whole')
    }
    this.#flow.respond(status, headers, fields)
  }

  onBytes(bytes: Buffer, start: number, end: number): void {
    const flow = this.#flow
    const size = end - start
    weigh(size)
    const isLast = this.#stream.phase === 'whole'
    const { tunnel } = flow
    if (tunnel !== null) {
      if (size > 0) this.#pushToTunnel(tunnel, bytes.subarray(start, end))
    } else if (size > 0 && flow.isFlowing) {
      this.#http2.flow.consume(this.#stream, size)
      flow.data(size === bytes.length ? bytes : bytes.subarray(start, end), isLast)
    } else if (size > 0) {
      this.#http2.flow.hold(this.#stream, size)
      flow.holdPart(bytes, start, end)
    }
    if (!isLast) return
    flow.endData('whole')
    this.#onBothEnded()
  }

  #pushToTunnel(tunnel: Tunnel, piece: Buffer): void {
    // This comes first: the reader returns the credit from inside.
    this.#http2.flow.hold(this.#stream, piece.length)
    if (tunnel.receive(piece)) this.#outgoing?.readTunnel(0)
  }

  onTaken(bytes: number): void {
    this.#http2.flow.release(this.#stream, bytes)
  }

  onTrailers(fields: string[]): void {
    this.#flow.onTrailers(this.#toHeaders(fields), fields)
    this.#flow.endData('whole')
  }

  /** Empty for a long list that the call refuses: its error is based on the list. */
  #toHeaders(fields: readonly string[]): IncomingHttpHeaders {
    return isRefusedList(this.#flow.call.request.limits, fields) ? NO_TRAILERS : toResponseHeaders(fields)
  }

  onSent(isTaken: boolean): void {
    this.#outgoing?.onSent(isTaken)
    this.#onBothEnded()
  }

  onPieceLost(): void {
    this.#flow.failCall(toLostMemoryError())
  }

  /** Both sides of a tunnel have ended, once its stream is closed. */
  #onBothEnded(): void {
    if (this.#stream.state !== 'closed' || !this.#flow.endTunnel(true)) return
    this.#outgoing?.stop()
    this.#flow.tellOver()
  }

  onReset(code: number): void {
    const isQuiet = code === ErrorCode.NO_ERROR
    // The response is here, and the peer doesn't want the rest of the request's body (RFC 9113 §8.1).
    if (this.#flow.isWhole) this.#stopUpload()
    else if (!isQuiet || !this.#flow.completeByLength())
      this.#failUnlessOfLoss(toResetError(code, this.isAccepted), isQuiet)
    this.#flow.tellOver()
  }

  /** Fails the call: at once or, if a GOAWAY in the same read may change the error, one turn later. */
  #failUnlessOfLoss(error: StreamError, isQuiet: boolean): void {
    if (this.#flow.isOpen && mayBeLoss(this.#flow.call, error)) {
      this.#outgoing?.stop()
      originalSetImmediate(tellReset, this, error)
    } else {
      this.#onGone(error, isQuiet)
    }
  }

  /** The read that contained RST_STREAM has been handled, with any GOAWAY in it. */
  onResetRead(error: StreamError): void {
    this.#flow.fail(toResetOrLoss(this.#owner, this.streamId, error))
    this.#flow.tellOver()
  }

  onRefused(): void {
    // The GOAWAY says that the request wasn't processed, but its whole response has arrived: the response counts.
    if (this.#flow.isWhole) this.#stopUpload()
    else this.#onGone(this.#owner.toLossError(this.streamId, null), false)
    this.#flow.tellOver()
  }

  /** The peer doesn't want more of the request's body (RFC 9113 §8.1). */
  #stopUpload(): void {
    this.#outgoing?.stop()
    this.#flow.call.uploaded(false)
  }

  onStreamError(code: number, message: string, isResponse: boolean): void {
    const processed = isResponse ? 'yes' : 'maybe'
    this.#onGone(new StreamError(message, { http2ErrorCode: code, processed }), false)
    this.#flow.tellOver()
  }

  /**
   * The stream is gone, without a whole response.
   *
   * @param isQuiet whether it was closed with NO_ERROR
   */
  #onGone(error: DodiciError, isQuiet: boolean): void {
    this.#outgoing?.stop()
    if (!this.#flow.endTunnel(isQuiet)) this.#flow.fail(error, isQuiet)
  }

  toTunnelSide(): TunnelSide | null {
    this.#stream.data = 'tunnel' // Whatever the status (RFC 9110 §9.3.6).
    return this.#outgoing
  }

  onComplete(): void {
    // This comes first: the call stops the rest of the body, whose source must not be paused after that.
    if (this.#stream.state === 'closed') this.#outgoing?.stop()
    else this.#cancelBodies()
  }

  /** Called by its connection once it was cancelled, and by its flow: the session no longer counts it. */
  onOver(): void {
    this.#owner.onStreamClosed(this)
  }

  /** The rest of both bodies isn't needed. */
  #cancelBodies(): void {
    const stream = this.#stream
    // This comes first: the stream gets no credit for dropped data, and no callback for unsent data runs while it may
    // still be sent.
    this.#http2.cancel(stream)
    this.#outgoing?.stop()
    if (stream.held > 0) this.#http2.flow.release(stream, stream.held)
    if (this.isClosed) this.#owner.onStreamClosed(this)
    else this.#owner.reset(this)
  }

  /** The session's reset budget now allows this stream's RST_STREAM. */
  reset(): void {
    this.#http2.reset(this.#stream, this.#resetCode)
    this.#owner.onStreamClosed(this)
  }
}

function tellReset(stream: WireStream, error: StreamError): void {
  stream.onResetRead(error)
}

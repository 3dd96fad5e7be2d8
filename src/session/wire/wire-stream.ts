/**
 * One attempt of a call on one stream of our own framing.
 *
 * @module
 */

import type { IncomingHttpHeaders } from '../../../types/headers.ts'
import { ErrorCode } from '../../core/error-codes.ts'
import { NO_TRAILERS, toResponseHeaders } from '../../core/header-object.ts'
import type { DodiciError } from '../../errors.ts'
import { StreamError } from '../../errors.ts'
import type { Attempt } from '../../handler/attempt.ts'
import type { Call } from '../../handler/call.ts'
import type { ClientConnection } from '../../protocol/connection.ts'
import type { StreamListener } from '../../protocol/stream.ts'
import { Http2Stream } from '../../protocol/stream.ts'
import type { EngineStream, StreamOwner } from '../engine.ts'
import { reportSent } from '../session-report.ts'
import { HeldPieces, toKept } from '../stream/held-pieces.ts'
import type { ResponseStage } from '../stream/response-stage.ts'
import { toResetError, toTunnelError } from '../stream/stream-failure.ts'
import { Tunnel } from '../stream/tunnel.ts'
import { openStream, WireOutgoing } from './wire-outgoing.ts'

/** One try of a call. What the connection tells it, it tells the call, until one of them is done. */
export class WireStream implements Attempt, EngineStream, StreamListener {
  listIndex = -1
  window = 0
  readonly isConnected = true
  readonly #owner: StreamOwner
  readonly #http2: ClientConnection
  readonly #call: Call
  /** The connection's own. */
  readonly #stream: Http2Stream
  #stage: ResponseStage = 'open'
  /** Null for one that sends nothing but its header. */
  #outgoing: WireOutgoing | null = null
  /** Null but in stage `tunnel`. */
  #tunnel: Tunnel | null = null
  /** What has come and wasn't handed on, while the call holds it back. Null for nothing. */
  #pieces: HeldPieces | null = null
  #isHandingOn = false
  /** Null without trailers. */
  #trailers: string[] | null = null
  /** What RST_STREAM is to say. */
  #resetCode: number = ErrorCode.CANCEL

  constructor(owner: StreamOwner, http2: ClientConnection, call: Call) {
    this.#owner = owner
    this.#http2 = http2
    this.#call = call
    this.#stream = new Http2Stream(this)
  }

  get streamId(): number | null {
    return this.#stream.id === 0 ? null : this.#stream.id
  }

  get hasBegun(): boolean {
    return this.#stream.id !== 0
  }

  get #isDone(): boolean {
    return this.#stage === 'done'
  }

  get isHeld(): boolean {
    return this.#stream.held > 0 || this.#call.paused
  }

  get isIdle(): boolean {
    const isSent = this.#stream.state === 'half-closed (local)' || this.#stream.state === 'closed'
    return this.#isDone || (this.#stage === 'responded' && isSent && this.#call.paused)
  }

  open(): void {
    const begun = this.#call.begin(this)
    if (begun === null) {
      this.#owner.onStreamClosed(this)
      return
    }
    const { request } = this.#call
    const { body, wire } = begun
    const hasBody = body.kind !== 'none' || request.trailers !== null || request.isTunnel
    this.#stream.isHead = request.method === 'HEAD'
    const http2 = this.#http2
    if (!openStream(http2, this.#stream, this.#call, wire, !hasBody)) return
    // The ids are used up (RFC 9113 §5.1.1).
    if (!http2.isOpen) this.#owner.close()
    if (request.trace !== null) reportSent(request.trace, this.#owner.socket, wire)
    // Its subscribers may have ended the call.
    if (this.#isDone) return
    if (!hasBody) {
      this.#call.tellSent()
      return
    }
    this.#outgoing = new WireOutgoing(this.#stream, http2, this.#call, this.#owner, () => this.#release())
    if (!request.isTunnel) this.#outgoing.upload(body)
  }

  pause(): void {} // What comes is held here then, and its credit is held back.
  resume(): void {
    if (this.#stage === 'responded' && !this.#isHandingOn) this.#handOn()
  }

  proceed(): void {
    if (this.#stage !== 'done') this.#outgoing?.proceed()
  }

  cancel(isMalformed = false): void {
    this.#stage = 'done'
    if (isMalformed) this.#resetCode = ErrorCode.PROTOCOL_ERROR
    // One that was refused; whoever was given one has taken it over.
    this.#tunnel = null
    this.#release()
  }

  reprioritize(value: string): void {
    this.#http2.reprioritize(this.#stream, value)
  }

  retire(): void {
    this.#owner.close()
  }

  fail(error: Error): void {
    if (this.#tunnel !== null) this.#tunnel.fail(toTunnelError(this.#call, this.streamId, error))
    else if (this.#stage !== 'done') this.#call.fail(error)
  }

  lose(): void {
    this.#stream.state = 'closed'
    this.#outgoing?.stop()
    // The reader holds back a response that has come whole: it can have the rest now, or never.
    if (this.#isResponseHeld) this.#complete()
    else this.#onGone(this.#owner.toLossError(this.streamId, null), false)
    this.#leave()
  }

  onInformational(status: number, fields: string[]): void {
    if (this.#stage !== 'open') return
    this.#call.respond(status, toResponseHeaders(fields), fields)
    if (status === 100) this.proceed()
  }

  onResponse(status: number, fields: string[]): void {
    if (this.#stage !== 'open') return
    const headers = toResponseHeaders(fields)
    this.#owner.onResponded(headers)
    if (status < 300 && this.#call.request.isTunnel) {
      this.#becomeTunnel(status, headers, fields)
      return
    }
    this.#stage = 'responded'
    // Nothing is handed on from within: the body comes after its header.
    this.#isHandingOn = true
    this.#call.respond(status, headers, fields)
    this.#isHandingOn = false
    if (this.#stream.phase === 'whole') {
      if (!this.#call.paused) this.#complete()
    } else if (status < 300) {
      // A server may say yes without a 100, and may send its response while it reads.
      this.proceed()
    }
  }

  onBytes(bytes: Buffer, start: number, end: number): void {
    const size = end - start
    if (this.#stage === 'responded' && this.#pieces === null && !this.#call.paused) {
      if (size > 0) {
        this.#http2.consume(this.#stream, size)
        this.#isHandingOn = true
        const piece = size === bytes.length ? bytes : bytes.subarray(start, end)
        this.#call.data(piece, this.#stream.phase === 'whole')
        this.#isHandingOn = false
      }
      if (this.#stream.phase === 'whole' && !this.#call.paused) this.#complete()
    } else if (this.#tunnel !== null) {
      if (size > 0) this.#pushToTunnel(this.#tunnel, toKept(bytes, start, end))
      if (this.#stream.phase === 'whole') this.#endTunnelRead(this.#tunnel)
    } else if (size > 0) {
      this.#http2.hold(this.#stream, size)
      this.#pieces ??= new HeldPieces()
      this.#pieces.add(bytes, start, end)
    }
  }

  onTrailers(fields: string[]): void {
    this.#trailers = fields
    this.resume()
  }

  onSent(isTaken: boolean): void {
    this.#outgoing?.onSent(isTaken)
    if (this.#tunnel !== null && this.#stream.state === 'closed') this.#closeTunnel(this.#tunnel, null, true)
  }

  onForgotten(): void {
    this.#owner.onStreamClosed(this)
  }

  onReset(code: number): void {
    // Its response is here; of our body the peer wants no more (RFC 9113 §8.1).
    if (this.#isResponseHeld) this.#dropUpload()
    else if (
      code === ErrorCode.NO_ERROR &&
      this.#stage === 'responded' &&
      this.#call.hasWholeBody(this.#stream.held)
    )
      this.#complete()
    else this.#onGone(toResetError(code), code === ErrorCode.NO_ERROR)
    this.#leave()
  }

  onRefused(): void {
    // A peer that disowns what it has answered whole is odd, but the response is here.
    if (this.#isResponseHeld) this.#dropUpload()
    else this.#onGone(this.#owner.toLossError(this.streamId, null), false)
    this.#leave()
  }

  /** The peer wants no more of it (RFC 9113 §8.1). */
  #dropUpload(): void {
    this.#outgoing?.stop()
    this.#call.uploaded(false)
  }

  /** It has come whole, and its reader holds it back. */
  get #isResponseHeld(): boolean {
    return this.#stream.phase === 'whole' && this.#stage === 'responded'
  }

  onStreamError(code: number, message: string, isResponse: boolean): void {
    const processed = isResponse ? 'yes' : 'maybe'
    this.#onGone(new StreamError(message, { http2ErrorCode: code, processed }), false)
    this.#leave()
  }

  /** The stream is gone, without a whole response. @param isQuiet with NO_ERROR */
  #onGone(error: DodiciError, isQuiet: boolean): void {
    this.#outgoing?.stop()
    if (this.#tunnel !== null) {
      this.#closeTunnel(this.#tunnel, error, isQuiet)
    } else if (this.#stage !== 'done') {
      // What came before it isn't lost, whether the call is paused or not.
      if (!this.#isHandingOn) this.#givePieces(true)
      this.#stage = 'done'
      this.#dropPieces()
      this.#call.attemptFailed(error)
    }
  }

  /** Hands on what was held, while the call takes it. */
  #handOn(): void {
    this.#givePieces(false)
    if (this.#pieces === null && this.#stream.phase === 'whole' && !this.#call.paused) this.#complete()
  }

  #givePieces(isForced: boolean): void {
    // A reader may pause and resume from within.
    this.#isHandingOn = true
    while (this.#pieces !== null && this.#stage === 'responded' && (isForced || !this.#call.paused)) {
      const piece = this.#pieces.shift()
      if (piece === null) {
        this.#pieces = null
      } else {
        this.#http2.release(this.#stream, piece.length)
        this.#call.data(piece)
      }
    }
    this.#isHandingOn = false
  }

  /** Nobody will read them. */
  #dropPieces(): void {
    this.#pieces = null
    if (this.#stream.held > 0) this.#http2.release(this.#stream, this.#stream.held)
  }

  /** Everything of the response is here; what was held goes to the call, whether it is paused or not. */
  #complete(): void {
    if (this.#isHandingOn) return
    this.#givePieces(true)
    if (this.#stage !== 'responded') return
    this.#stage = 'done'
    this.#outgoing?.forgo()
    // The response is complete before the upload is: what is left of it has no reader (RFC 9113 §8.1).
    if (this.#stream.state !== 'closed') this.#release()
    else this.#owner.onStreamClosed(this)
    const trailers = this.#trailers
    this.#call.complete(trailers === null ? NO_TRAILERS : toResponseHeaders(trailers), trailers)
  }

  #becomeTunnel(status: number, headers: IncomingHttpHeaders, fields: string[]): void {
    if (this.#outgoing === null) return
    const tunnel = Tunnel.over(this.#outgoing, this.#call.request)
    this.#stage = 'tunnel'
    this.#tunnel = tunnel
    this.#stream.isTunnel = true
    // Whatever the status (RFC 9110 §9.3.6).
    this.#stream.isBare = false
    if (this.#stream.phase === 'whole') tunnel.onPeerEnd()
    this.#call.upgrade(status, headers, fields, tunnel)
  }

  #pushToTunnel(tunnel: Tunnel, piece: Buffer): void {
    // Before it is pushed: whoever reads it gives the credit back from within.
    this.#http2.hold(this.#stream, piece.length)
    if (tunnel.push(piece)) this.#outgoing?.readTunnel()
  }

  #endTunnelRead(tunnel: Tunnel): void {
    tunnel.onPeerEnd()
    if (this.#stream.state === 'closed') this.#closeTunnel(tunnel, null, true)
  }

  /** @param error why the stream is gone; null when both sides have ended @param isQuiet nobody has complained */
  #closeTunnel(tunnel: Tunnel, error: DodiciError | null, isQuiet: boolean): void {
    const isIdle = isQuiet && tunnel.writableLength === 0
    const isProper = tunnel.hasPeerEnded && (tunnel.writableFinished || isIdle)
    this.#stage = 'done'
    this.#tunnel = null
    if (isProper || error === null) tunnel.close(null)
    else tunnel.close(toTunnelError(this.#call, this.streamId, error))
    this.#outgoing?.stop()
    this.#leave()
  }

  /** Tells the session, once the call has all that it will get, and the peer counts the stream no more. */
  #leave(): void {
    if (this.#stage === 'done' && (this.#stream.state === 'closed' || this.#stream.state === 'idle'))
      this.#owner.onStreamClosed(this)
  }

  /** Nobody wants the rest, of either body. */
  #release(): void {
    // First: nobody gives the stream credit for what is thrown away, and nobody hears of what wasn't sent while it
    // still may be.
    this.#http2.abandon(this.#stream)
    this.#outgoing?.stop()
    this.#dropPieces()
    if (this.#stream.state === 'closed' || this.#stream.state === 'idle') this.#owner.onStreamClosed(this)
    else this.#owner.reset(this)
  }

  /** Its turn has come. */
  reset(): void {
    this.#http2.reset(this.#stream, this.#resetCode)
    this.#owner.onStreamClosed(this)
  }
}

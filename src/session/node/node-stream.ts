/**
 * One attempt of a call on one stream of node:http2.
 *
 * @module
 */

import type { ClientHttp2Session, ClientHttp2Stream, IncomingHttpHeaders as NodeHeaders } from 'node:http2'
import type { IncomingHttpHeaders } from '../../../types/headers.ts'
import { ErrorCode } from '../../core/error-codes.ts'
import { NO_TRAILERS } from '../../core/header-object.ts'
import { originalNextTick } from '../../core/original-timers.ts'
import type { DodiciError } from '../../errors.ts'
import type { Attempt } from '../../handler/attempt.ts'
import type { Call } from '../../handler/call.ts'
import type { EngineStream, StreamOwner } from '../engine.ts'
import { reportSent } from '../session-report.ts'
import type { ResponseStage } from '../stream/response-stage.ts'
import {
  toOpenError,
  toStreamFailure,
  toTunnelError,
  toTunnelProtocolError,
} from '../stream/stream-failure.ts'
import { Tunnel } from '../stream/tunnel.ts'
import { Upload } from '../stream/upload.ts'
import type { StreamListener } from './node-events.ts'
import { endLater, listen, read, release } from './node-events.ts'
import { toHandedHeaders, toNodeHeaders, toNodeTrailers, toRawList } from './node-headers.ts'
import { NodeTunnelSide } from './node-tunnel.ts'
import type { UploadBuffer } from './node-upload.ts'
import { NodeUploadSink, toStreamOptions } from './node-upload.ts'

/** How the response's data ended: not yet, by END_STREAM, or because the stream was closed without. */
type DataEnd = 'none' | 'proper' | 'closed'

/** The connection, as a stream of node:http2 sees it. */
export interface NodeStreamConnection {
  readonly http2: ClientHttp2Session
  /** The session. */
  readonly owner: StreamOwner
  readonly uploadBuffer: UploadBuffer
  /** A call has got the header of its final response. */
  onResponded(headers: IncomingHttpHeaders): void
  /**
   * DATA has come.
   *
   * @param received bytes of that stream so far: above one window it might go faster with a larger one
   */
  onData(received: number): void
  /** HEADERS have come that are trailers. */
  onTrailers(): void
}

/** One try of a call. What it hears of node's stream it tells the call, until one of them is done. */
export class NodeStream implements Attempt, EngineStream, StreamListener {
  listIndex = -1
  readonly isConnected = true
  readonly #connection: NodeStreamConnection
  readonly #call: Call
  #state: ResponseStage = 'open'
  /** Null until node has made it. */
  #stream: ClientHttp2Stream | null = null
  /** Null for a request without a body. */
  #upload: Upload | null = null
  /** Null but in state `tunnel`. */
  #tunnel: Tunnel | null = null
  /** What has come and wasn't handed on: before `response`, or while the call holds it back. Null for nothing. */
  #held: Buffer[] | null = null
  #dataEnd: DataEnd = 'none'
  /** END_STREAM went out along with the header: once the peer has ended its side, the stream is closed. */
  #isSent = false
  window = 0
  /** Bytes of data that have come. */
  #received = 0
  #isHandingOn = false
  /** Node says that the request has gone before it asks for these. */
  #owesTrailers = false
  /** `end()`, or the stream's `close`, is about to come. */
  #isEndDue = false
  /** Node's stream is gone. */
  #isClosed = false
  /** Null without trailers. */
  #trailers: IncomingHttpHeaders | null = null
  #rawTrailers: readonly string[] | null = null
  /** What node says of a stream that fails; its `close` follows. */
  #error: Error | null = null

  constructor(connection: NodeStreamConnection, call: Call) {
    this.#connection = connection
    this.#call = call
  }

  get streamId(): number | null {
    return this.#stream?.id ?? null
  }

  get hasBegun(): boolean {
    return this.streamId !== null
  }

  get #owner(): StreamOwner {
    return this.#connection.owner
  }

  get #isDone(): boolean {
    return this.#state === 'done'
  }

  get isHeld(): boolean {
    return this.#held !== null || this.#call.paused
  }

  get isIdle(): boolean {
    return this.#isDone || (this.#state === 'responded' && this.#isSent && this.#call.paused)
  }

  open(): void {
    const outgoing = this.#call.begin(this)
    if (outgoing === null) {
      this.#owner.onStreamClosed(this)
      return
    }
    const { request } = this.#call
    const { body, wire } = outgoing
    const options = toStreamOptions(request, body)
    let stream: ClientHttp2Stream
    try {
      stream = this.#connection.http2.request(toNodeHeaders(wire, request.sensitiveHeaders), options)
    } catch (cause) {
      // Node 20 and 22 throw on a session that died or heard GOAWAY in this very tick; nothing was sent.
      this.#finish(toOpenError(cause))
      this.#owner.onStreamClosed(this)
      return
    }
    this.#stream = stream
    if (request.trace !== null) reportSent(request.trace, this.#owner.socket, wire)
    listen(stream, this)
    // The subscribers of undici's channels may have ended the call.
    if (request.isTunnel || this.#isDone) return
    if (options.endStream) {
      this.#isSent = true
      this.#call.tellSent()
      return
    }
    this.#owesTrailers = request.trailers !== null
    this.#upload = new Upload(body, new NodeUploadSink(stream, this.#connection.uploadBuffer), this.#call)
    this.#upload.start()
  }

  pause(): void {} // What comes is held here then, and node is told to stop.
  resume(): void {
    if (this.#state !== 'responded') return
    this.#handOn()
    if (this.#dataEnd === 'none' && !this.#call.paused && this.#stream !== null) read(this.#stream)
  }

  proceed(): void {
    if (this.#state !== 'done') this.#upload?.proceed()
  }

  cancel(): void {
    this.#state = 'done'
    this.#held = null
    // One that was refused; whoever was given one has taken it over.
    this.#tunnel = null
    this.#release()
    this.#leave()
  }

  retire(): void {
    this.#owner.close()
  }

  /** Ends the call, or its tunnel, on behalf of the session's owner, and lets go of the stream. */
  fail(error: Error): void {
    if (this.#tunnel !== null) this.#tunnel.fail(toTunnelError(this.#call, this.streamId, error))
    else if (this.#state !== 'done') this.#call.fail(error)
  }

  /** The session is gone: node may emit nothing more on this stream. */
  lose(): void {
    // The reader holds back a response that has come whole: it can have the rest now, or never.
    if (this.#dataEnd === 'proper' && this.#state === 'responded') this.#complete()
    this.onClose()
  }

  onHeaders(headers: NodeHeaders, raw: unknown): void {
    if (this.#state !== 'open') return
    const status = Number(headers[':status'])
    const handed = toHandedHeaders(headers)
    const rawList = toRawList(raw, handed)
    if (status >= 200) this.#connection.onResponded(handed)
    if (status >= 200 && status < 300 && this.#call.request.isTunnel) {
      this.#becomeTunnel(status, handed, rawList)
      return
    }
    if (status >= 200) this.#state = 'responded'
    // Nothing is handed on from within: the body comes after its header.
    this.#isHandingOn = true
    this.#call.respond(status, handed, rawList)
    this.#isHandingOn = false
    // A server may say yes without a 100, and may send its response while it reads.
    if (status === 100 || (status < 300 && status >= 200 && this.#dataEnd === 'none')) this.proceed()
    this.resume()
  }

  #becomeTunnel(status: number, headers: IncomingHttpHeaders, raw: readonly string[]): void {
    if (this.#stream === null) return
    const side = new NodeTunnelSide(this.#stream, this.#owner.socket, () => this.#release())
    const tunnel = Tunnel.over(side, this.#call.request)
    this.#state = 'tunnel'
    this.#tunnel = tunnel
    for (const chunk of this.#held ?? []) tunnel.push(chunk)
    this.#held = null
    if (this.#dataEnd === 'proper') tunnel.onPeerEnd()
    this.#call.upgrade(status, headers, raw, tunnel)
  }

  onData(chunk: Buffer): boolean {
    this.#received += chunk.length
    this.#connection.onData(this.#received)
    if (this.#tunnel !== null) return this.#tunnel.push(chunk)
    if (this.#state === 'done') return false
    if (this.#state === 'responded' && this.#held === null && !this.#call.paused) this.#call.data(chunk)
    else if (this.#held === null) this.#held = [chunk]
    else this.#held.push(chunk)
    return !this.#call.paused
  }

  /** Hands on what was held, while the call takes it. */
  #handOn(): void {
    // A reader may pause and resume from within.
    if (this.#isHandingOn) return
    this.#giveHeld(false)
    // Its trailers may be a tick behind.
    if (this.#isEndDue || this.#held !== null) return
    if (this.#dataEnd === 'proper' && !this.#call.paused) this.#complete()
  }

  #giveHeld(isForced: boolean): void {
    const held = this.#held
    if (held === null) return
    let given = 0
    this.#isHandingOn = true
    while (given < held.length && this.#state === 'responded' && (isForced || !this.#call.paused)) {
      this.#call.data(held[given++] as Buffer)
    }
    this.#isHandingOn = false
    if (given === held.length || this.#state !== 'responded') this.#held = null
    else held.splice(0, given)
  }

  onTrailers(headers: NodeHeaders, raw: unknown): void {
    this.#connection.onTrailers()
    this.#trailers = toHandedHeaders(headers)
    this.#rawTrailers = toRawList(raw, this.#trailers)
    this.#tunnel?.fail(toTunnelError(this.#call, this.streamId, toTunnelProtocolError()))
  }

  onEnd(isClosed: boolean): boolean {
    if (this.#dataEnd === 'none') {
      this.#dataEnd = isClosed ? 'closed' : 'proper'
      if (!isClosed) this.#tunnel?.onPeerEnd()
    }
    // Its `close` comes within this tick, and behind `response` and `trailers`.
    const mayGo = this.#isSent && this.#dataEnd === 'proper'
    if (this.#isEndDue) return mayGo
    this.#isEndDue = true
    if (mayGo) return true
    originalNextTick(endLater, this) // A tick later: so are `response` and `trailers`, which came before it.
    return false
  }

  /** For the tick after `onEnd`. */
  end(): void {
    this.#isEndDue = false
    const stream = this.#stream
    if (stream === null || this.#isClosed) return
    // Of a lost session, and of a reset with a code, node tells by `close`; of everything else it waits for an `end`.
    const isQuiet = stream.rstCode === ErrorCode.NO_ERROR && !this.#owner.isLost()
    if (this.#state === 'responded' && this.#dataEnd === 'proper') this.#handOn()
    else if (this.#dataEnd === 'closed' && isQuiet) this.#endEarly()
    if (stream.closed && !stream.destroyed && isQuiet) stream.destroy()
  }

  /** The peer has closed the stream with NO_ERROR and without END_STREAM. */
  #endEarly(): void {
    const held = this.#held?.reduce((sum, chunk) => sum + chunk.length, 0) ?? 0
    if (this.#state === 'responded' && this.#call.hasWholeBody(held)) this.#complete()
    else if (this.#state === 'open' || this.#state === 'responded')
      this.#finish(toStreamFailure(this.#owner, this.#stream, this.#error))
  }

  /** Everything of the response is here; what was held goes to the call, whether it is paused or not. */
  #complete(): void {
    this.#giveHeld(true)
    if (this.#state !== 'responded') return
    this.#state = 'done'
    this.#upload?.forgo()
    // The response is complete before the upload is: what is left of it has no reader (RFC 9113 §8.1).
    if (this.#stream?.writableFinished === false || this.#owesTrailers) this.#release()
    // Both sides have ended: the peer counts it no more, whatever node says some ticks later.
    else this.#owner.onStreamClosed(this)
    this.#leave()
    this.#call.complete(this.#trailers ?? NO_TRAILERS, this.#rawTrailers)
  }

  onFinish(): void {
    if (this.#isSent || this.#call.request.isTunnel) return
    if (this.#state === 'open' || this.#state === 'responded') this.#call.uploaded()
  }

  onWantTrailers(): void {
    const trailers = this.#call.toTrailers()
    this.#owesTrailers = false
    if (trailers !== null) this.#stream?.sendTrailers(toNodeTrailers(trailers, this.#call.request))
  }

  onError(error: Error): void {
    this.#error ??= error
  }

  onClose(): void {
    this.#isClosed = true
    this.#isEndDue = false
    if (this.#tunnel !== null) this.#closeTunnel(this.#tunnel)
    else if (this.#state === 'responded' && this.#dataEnd === 'proper') this.#handOn()
    else if (this.#state === 'open' || this.#state === 'responded') {
      this.#finish(toStreamFailure(this.#owner, this.#stream, this.#error))
    }
    this.#upload?.stop()
    this.#leave()
  }

  #closeTunnel(tunnel: Tunnel): void {
    const isIdle = this.#stream?.rstCode === ErrorCode.NO_ERROR && tunnel.writableLength === 0
    const isProper = tunnel.hasPeerEnded && (tunnel.writableFinished || (isIdle && !this.#owner.isLost()))
    this.#state = 'done'
    if (isProper) tunnel.close(null)
    else
      tunnel.close(
        toTunnelError(this.#call, this.streamId, toStreamFailure(this.#owner, this.#stream, this.#error)),
      )
  }

  #finish(error: DodiciError): void {
    // What came before it isn't lost, whether the call is paused or not.
    if (!this.#isHandingOn) this.#giveHeld(true)
    this.#state = 'done'
    this.#held = null
    this.#call.attemptFailed(error)
  }

  /** Tells the session, once the call has all that it will get, and the peer counts the stream no more. */
  #leave(): void {
    if (this.#state !== 'done') return
    if (this.#isClosed || this.#stream === null || this.#stream.closed) this.#owner.onStreamClosed(this)
  }

  /** Nobody wants the rest, of either body. */
  #release(): void {
    this.#upload?.stop()
    if (this.#stream !== null && !this.#stream.destroyed) this.#owner.reset(this)
  }

  /** Its turn has come. */
  reset(): void {
    const isBreach = this.#tunnel !== null && this.#trailers !== null
    if (this.#stream !== null) release(this.#stream, this.#call.request.trailers !== null, isBreach)
    this.#leave()
  }
}

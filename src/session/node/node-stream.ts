/**
 * One attempt at a call on one node:http2 stream.
 *
 * @module
 */

import type { ClientHttp2Session, ClientHttp2Stream, IncomingHttpHeaders as NodeHeaders } from 'node:http2'
import type { Attempt, Carrier } from '../../call/attempt.ts'
import type { Call } from '../../call/call.ts'
import type { ResponseMeter } from '../../call/response-limits.ts'
import { weigh } from '../../core/ballast.ts'
import { originalNextTick, originalSetImmediate } from '../../core/original-timers.ts'
import { RUNTIME } from '../../core/runtime.ts'
import { ErrorCode } from '../../errors/error-codes.ts'
import type { DodiciError } from '../../errors/errors.ts'
import { NotSupportedError, StreamError } from '../../errors/errors.ts'
import type { EngineStream, StreamOwner } from '../engine.ts'
import { reportSent } from '../session-report.ts'
import type { FlowSide } from '../stream/response-flow.ts'
import { ResponseFlow } from '../stream/response-flow.ts'
import { mayBeLoss, toResetOrLoss } from '../stream/stream-failure.ts'
import type { TunnelSide } from '../stream/tunnel.ts'
import { Upload } from '../stream/upload.ts'
import type { NodeStreamListener } from './node-events.ts'
import { endLater, listen, read, resetStream } from './node-events.ts'
import { toOpenError, toStreamFailure } from './node-failure.ts'
import { toHandedHeaders, toNodeHeaders, toNodeTrailers, toRawList, toSpaceFault } from './node-headers.ts'
import type { NodeSendWindow } from './node-send-window.ts'
import { NodeTunnelSide } from './node-tunnel.ts'
import type { UploadBuffer } from './node-upload.ts'
import { NodeUploadSink, toStreamOptions } from './node-upload.ts'

/**
 * How END_STREAM is sent: with the header section, with the end of the body or the tunnel, or with trailers that node
 * hasn't asked for yet.
 */
type RequestEnd = 'with-header' | 'with-body' | 'with-trailers'

/** The flag on HEADERS (RFC 9113 §6.2), as events of node's stream report it. */
const END_STREAM = 0x1

/** The state of node's stream. `ending`: `end()` or `close` follows within this tick. */
type Life = 'open' | 'ending' | 'closed'

/** The connection, as a node:http2 stream sees it. */
export interface NodeStreamConnection {
  readonly http2: ClientHttp2Session
  readonly uploadBuffer: UploadBuffer
  readonly sendWindow: NodeSendWindow
  /** A call has got its final response's header section. */
  onResponded(): void
  /**
   * DATA has arrived.
   *
   * @param length its size in bytes
   * @param received how many bytes that stream has received so far: above one window, it might be faster with a larger
   *   one
   */
  onData(length: number, received: number): void
  /** The peer's largest SETTINGS_INITIAL_WINDOW_SIZE so far, in bytes. */
  readonly largestPeerWindow: number
  /** A header section has arrived: a response's, including an informational one, or trailers. */
  onHeaderSection(streamId: number): void
  /** The peer has shown in another way that it has accepted the stream. */
  onAccepted(streamId: number): void
  /** A stream has closed without END_STREAM from the peer. */
  onMissingEnd(): void
  /** HEADERS has arrived with trailers. */
  onTrailers(): void
}

/** One attempt at a call. It passes the events of node's stream to its response flow. */
export class NodeStream implements Attempt, EngineStream, FlowSide, NodeStreamListener {
  listIndex = -1
  window = 0
  readonly #connection: NodeStreamConnection
  readonly #owner: StreamOwner
  readonly #flow: ResponseFlow
  /** Null until node has created it. */
  #stream: ClientHttp2Stream | null = null
  /** Null for a request without a body. */
  #upload: Upload | null = null
  /** Null as long as {@link #upload} is. */
  #sink: NodeUploadSink | null = null
  #requestEnd: RequestEnd = 'with-body'
  /** Whether the body, or our side of the tunnel, has ended. */
  #isBodySent = false
  #life: Life = 'open'
  /** How many bytes of data have arrived. */
  #received = 0
  /** The error code for RST_STREAM. */
  #resetCode: number = ErrorCode.CANCEL
  /** The error from node's stream; its `close` event follows. */
  #error: Error | null = null

  constructor(connection: NodeStreamConnection, call: Call, owner: StreamOwner) {
    this.#connection = connection
    this.#owner = owner
    this.#flow = new ResponseFlow(this, call)
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
    return this.#stream?.id ?? null
  }

  get hasBegun(): boolean {
    return this.streamId !== null
  }

  /**
   * An informational response has arrived, or more of the body was sent than the peer's first window allows, so
   * WINDOW_UPDATE must have arrived. node:http2 reports no others.
   */
  get isAccepted(): boolean {
    return this.#flow.informational > 0 || (this.#sink?.sent ?? 0) > this.#connection.largestPeerWindow
  }

  get hasResponded(): boolean {
    return this.#flow.isAnswered
  }

  get isHeld(): boolean {
    return this.#flow.isHeld
  }

  get isIdle(): boolean {
    return (
      this.#flow.isDone ||
      this.#flow.isUnreferenced ||
      (this.#requestEnd === 'with-header' && this.#flow.isHeldBack)
    )
  }

  get hasUpload(): boolean {
    return this.#sink !== null
  }

  get isStuck(): boolean {
    return this.#flow.isOpen && this.#stream !== null && this.#stream.writableLength > 0
  }

  get isDone(): boolean {
    return this.#flow.isDone
  }

  get isEndedEarly(): boolean {
    return this.streamId !== null && !(this.#flow.dataEnd === 'whole' && this.#isSent)
  }

  /** Whether END_STREAM was sent. */
  get #isSent(): boolean {
    return this.#requestEnd === 'with-header' || (this.#isBodySent && this.#requestEnd === 'with-body')
  }

  get isLeftOut(): boolean {
    return this.#owner.isLeftOut(this.streamId)
  }

  get isClosed(): boolean {
    return this.#life === 'closed' || this.#stream === null || this.#stream.closed
  }

  open(): void {
    const wire = this.#flow.begin(this)
    if (wire === null) return
    const { call } = this.#flow
    const { body, request } = call
    if (request.trailers !== null && RUNTIME === 'Bun') {
      const what = "Bun's node:http2 can't send request trailers: set engine: 'wire'"
      this.#flow.failCall(new NotSupportedError(what))
      return
    }
    const options = toStreamOptions(request, body)
    let stream: ClientHttp2Stream
    try {
      stream = this.#connection.http2.request(toNodeHeaders(wire, request.sensitiveHeaders), options)
    } catch (cause) {
      // Node 20 and 22 throw if the session has died or got GOAWAY in this very tick; nothing was sent.
      this.#flow.fail(toOpenError(cause))
      this.#owner.onStreamClosed(this)
      return
    }
    this.#stream = stream
    if (request.trace !== null) reportSent(this.#flow.call, this.#owner.socket, wire)
    listen(stream, this)
    // Subscribers to undici's channels may have ended the call.
    if (request.isTunnel || this.#flow.isDone) return
    if (options.endStream) {
      this.#requestEnd = 'with-header'
      call.tellSent()
      return
    }
    if (request.trailers !== null) this.#requestEnd = 'with-trailers'
    this.#sink = new NodeUploadSink(stream, this.#connection.uploadBuffer)
    this.#connection.sendWindow.add(this.#sink)
    this.#upload = new Upload(body, this.#sink, call)
    this.#upload.start()
  }

  pause(): void {} // Data that then arrives is held here, and node is told to stop.
  resume(): void {
    this.#flow.handOn()
    this.#readOn()
  }

  #readOn(): void {
    const { call, dataEnd, hasResponded } = this.#flow
    if (hasResponded && dataEnd === 'none' && !call.paused && this.#stream !== null) read(this.#stream)
  }

  proceed(): void {
    if (!this.#flow.isDone && this.#flow.dataEnd === 'none') this.#upload?.proceed()
  }

  cancel(): void {
    this.#flow.cancel()
    this.#cancelBodies()
    this.#flow.tellOver()
  }

  /**
   * Does nothing: node:http2 has no PRIORITY_UPDATE, and its `priority()` belongs to the old scheme (RFC 9113 §5.3.2).
   */
  reprioritize(): void {}

  closeConnection(): void {
    this.#owner.onMisdirected(this.#flow.call.request)
  }

  fail(error: Error): void {
    this.#flow.failCall(error)
  }

  giveUp(error: DodiciError): void {
    this.#upload?.stop() // As in `#failUnlessOfLoss`.
    this.#flow.fail(error)
    this.#cancelBodies()
    this.#flow.tellOver()
  }

  /** The session is gone: node may emit nothing more on this stream. */
  onLost(): void {
    // The reader holds back a response that has arrived completely: the call must get the rest now.
    if (this.#isEndDue || this.#flow.dataEnd === 'whole') this.#flow.complete()
    this.onClose()
  }

  onHeaders(headers: NodeHeaders, flags: unknown, raw: unknown): void {
    this.#connection.onHeaderSection(this.streamId ?? 0)
    if (!this.#flow.isOpen) return
    const status = Number(headers[':status'])
    const handed = toHandedHeaders(headers)
    const rawList = toRawList(raw, handed)
    const fault = toSpaceFault(rawList)
    if (fault !== null) {
      this.#refuse(fault)
      return
    }
    if (status >= 200) {
      this.#flow.isHeaderOnly = (Number(flags) & END_STREAM) !== 0
      this.#connection.onResponded()
      this.#owner.onResponded(handed)
    }
    this.#flow.respond(status, handed, rawList)
    this.#readOn()
  }

  toTunnelSide(): TunnelSide | null {
    if (this.#stream === null) return null
    return new NodeTunnelSide(this.#stream, this.#owner, () => this.#cancelBodies())
  }

  onData(chunk: Buffer): boolean {
    weigh(chunk.length)
    this.#received += chunk.length
    this.#connection.onData(chunk.length, this.#received)
    const { call, isDone, isFlowing, tunnel } = this.#flow
    if (tunnel !== null) return tunnel.receive(chunk)
    if (isDone) return false
    if (isFlowing) this.#flow.data(chunk)
    else this.#flow.hold(chunk)
    return !call.paused
  }

  /** Node has already returned the credit. */
  onTaken(): void {}

  onTrailers(headers: NodeHeaders, raw: unknown): void {
    this.#connection.onHeaderSection(this.streamId ?? 0)
    this.#connection.onTrailers()
    const handed = toHandedHeaders(headers)
    if (this.#flow.tunnel !== null) this.#resetCode = ErrorCode.PROTOCOL_ERROR
    const rawList = toRawList(raw, handed)
    const fault = toSpaceFault(rawList)
    if (fault === null) this.#flow.onTrailers(handed, rawList)
    else this.#refuse(fault)
  }

  /** A malformed response is a stream error (RFC 9113 §8.1.1). */
  #refuse(fault: string): void {
    this.#resetCode = ErrorCode.PROTOCOL_ERROR
    this.#upload?.stop() // As in `#failUnlessOfLoss`.
    const message = `The response is malformed: ${fault}`
    this.#flow.fail(new StreamError(message, { http2ErrorCode: ErrorCode.PROTOCOL_ERROR, processed: 'yes' }))
    this.#cancelBodies()
    this.#flow.tellOver()
  }

  onEnd(isClosed: boolean): boolean {
    if (this.#flow.dataEnd === 'none') this.#flow.endData(isClosed ? 'closed' : 'due')
    // Its `close` follows within this tick, after `response` and `trailers`.
    const mayGo = this.#requestEnd === 'with-header' && this.#flow.dataEnd !== 'closed'
    if (this.#life !== 'open') return mayGo
    this.#life = 'ending'
    if (mayGo) return true
    originalNextTick(endLater, this) // One tick later: so are `response` and `trailers`, which arrived before it.
    return false
  }

  /** Called in the tick after `onEnd`. */
  end(): void {
    const stream = this.#stream
    if (stream === null || this.#life === 'closed') return
    this.#life = 'open'
    // Node emits `close` for a lost session and for a reset with a code. For everything else, it waits for `end`.
    const isQuiet = this.#isQuiet
    if (this.#isEndDue) this.#flow.endData('whole')
    else if (this.#flow.dataEnd === 'closed' && isQuiet && !this.#flow.completeByLength()) this.#failEarly()
    if (stream.closed && !stream.destroyed && isQuiet) stream.destroy()
  }

  /** The peer has closed the stream with NO_ERROR and without END_STREAM. A tunnel is told by `close`. */
  #failEarly(): void {
    this.#noteAcceptance()
    if (this.#flow.isPending) this.#failUnlessOfLoss(true)
  }

  /** Fails the call: at once or, if a GOAWAY in the same read may change the error, one turn later. */
  #failUnlessOfLoss(isQuiet: boolean): void {
    const flow = this.#flow
    // This comes first: the call may have its source drained, which must not be paused after that.
    this.#upload?.stop()
    const error = this.#toFailure()
    if (flow.isOpen && error instanceof StreamError && mayBeLoss(flow.call, error))
      originalSetImmediate(tellReset, this, error)
    else flow.fail(error, isQuiet)
  }

  /** The read that contained RST_STREAM has been handled, with any GOAWAY in it. */
  onResetRead(error: StreamError): void {
    this.#flow.fail(toResetOrLoss(this.#owner, this.streamId, error))
    this.#flow.tellOver()
  }

  #toFailure(): DodiciError {
    return toStreamFailure(this.#owner, this.isAccepted, this.#stream, this.#error)
  }

  /** Whether the peer has sent no error for this stream, and the connection is open. */
  get #isQuiet(): boolean {
    return this.#stream?.rstCode === ErrorCode.NO_ERROR && !this.#owner.isLost()
  }

  /** Tells the connection if the peer has reset the stream with a code other than REFUSED_STREAM. */
  #noteAcceptance(): void {
    if (this.#flow.isDone || this.#owner.isLost()) return
    if (this.isAccepted || this.#stream?.rstCode !== ErrorCode.REFUSED_STREAM)
      this.#connection.onAccepted(this.streamId ?? 0)
  }

  /**
   * Whether END_STREAM has arrived. Bun ends the data in the same way when a stream is reset, or lost with its
   * connection.
   */
  get #isEndDue(): boolean {
    if (this.#flow.dataEnd !== 'due') return false
    return RUNTIME !== 'Bun' || (!this.#stream?.rstCode && !this.#owner.isLost())
  }

  onComplete(): void {
    // This comes first: the call stops the rest of the body, whose source must not be paused after that.
    this.#upload?.stop()
    // Both sides have ended: the peer no longer counts the stream, although node reports its end some ticks later.
    if (this.#isSent) this.onOver()
    else this.#cancelBodies()
  }

  onFinish(): void {
    const { call, isPending } = this.#flow
    // Node itself ends our side, without END_STREAM, when the peer resets the stream with NO_ERROR.
    if (this.#stream?.closed === false) this.#isBodySent = true
    if (this.#requestEnd !== 'with-header' && !call.request.isTunnel && isPending) call.uploaded()
  }

  onWantTrailers(): void {
    const { call } = this.#flow
    const trailers = call.toTrailers()
    this.#requestEnd = 'with-body'
    if (trailers !== null) this.#stream?.sendTrailers(toNodeTrailers(trailers, call.request))
  }

  onError(error: Error): void {
    this.#error ??= error
  }

  onClose(): void {
    this.#life = 'closed'
    const flow = this.#flow
    if (flow.dataEnd === 'due') flow.endData(this.#isEndDue ? 'whole' : 'closed')
    if (flow.dataEnd !== 'whole') this.#connection.onMissingEnd()
    this.#noteAcceptance()
    const isQuiet = this.#isQuiet
    // This comes first, so that the body's source isn't asked for more because of what the caller does in its
    // callbacks.
    this.#upload?.stop()
    // The reader still holds the response back; the peer doesn't want more of the request's body (RFC 9113 §8.1).
    if (flow.isWhole) flow.call.uploaded(false)
    else if (!flow.isDone && !flow.endTunnel(isQuiet)) this.#failUnlessOfLoss(isQuiet)
    flow.tellOver()
  }

  /** Tells the session to stop counting the stream. */
  onOver(): void {
    if (this.#sink !== null) this.#connection.sendWindow.delete(this.#sink, this.#isSent)
    this.#owner.onStreamClosed(this)
  }

  /** The rest of both bodies isn't needed. */
  #cancelBodies(): void {
    this.#upload?.stop()
    if (this.#sink !== null) this.#connection.sendWindow.leave(this.#sink)
    if (this.#stream !== null && !this.#stream.destroyed) this.#owner.reset(this)
  }

  /** The session's reset budget now allows this stream's RST_STREAM. */
  reset(): void {
    if (this.#stream !== null)
      resetStream(this.#stream, this.#flow.call.request.trailers !== null, this.#resetCode)
    this.#flow.tellOver()
  }
}

function tellReset(stream: NodeStream, error: StreamError): void {
  stream.onResetRead(error)
}

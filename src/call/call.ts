/**
 * One dispatched request for its whole life, over all its attempts.
 *
 * @module
 */

import type { Duplex } from 'node:stream'
import type { ConnectionInfo, TransportInfo } from '../../types/connection.ts'
import type { DispatchHandler } from '../../types/handler.ts'
import type { IncomingHttpHeaders } from '../../types/headers.ts'
import type { RequestPriority } from '../../types/request.ts'
import { CallerContext } from '../core/caller-context.ts'
import { throwUncaught } from '../core/original-timers.ts'
import type { Queued } from '../core/pending-queue.ts'
import { DodiciError, RequestAbortedError, toError } from '../errors/errors.ts'
import { MISDIRECTED, toMisdirectedHandler } from '../handler/buffered-misdirected-response.ts'
import type { Limits } from '../options/limits.ts'
import type { SendableBody } from '../request/body-source.ts'
import { NO_BODY } from '../request/body-source.ts'
import { toPriorityField } from '../request/priority.ts'
import type { Request } from '../request/request.ts'
import type { WireHeaders } from '../request/wire-headers.ts'
import { deleteField, setField } from '../request/wire-headers.ts'
import type { Attempt, Carrier } from './attempt.ts'
import type { LateListener, Lateness } from './call-clock.ts'
import { CallClock } from './call-clock.ts'
import type { ControlledCall } from './call-controller.ts'
import { CallController } from './call-controller.ts'
import type { CallOwner, FailureNotes } from './call-owner.ts'
import { NO_FAILURES } from './call-owner.ts'
import type { CallState } from './call-state.ts'
import { toLateError } from './late-error.ts'
import { checkListSize } from './request-limits.ts'
import { checkData, checkEnd, checkHeader, isMalformed, toLengthError } from './response-limits.ts'
import { acceptKey } from './websocket-accept.ts'

/** The source of the raw trailers for a response without trailers: the list itself is created when it is read. */
const NO_RAW_TRAILERS: readonly string[] = Object.freeze([])

/**
 * Owns the handler, and settles exactly once. A handler that throws fails only its own call: the stream is reset, and
 * the handler gets its own error. An error thrown by `onResponseError` becomes an uncaught exception.
 *
 * The call is also the async context in which it was dispatched: the handler's callbacks, body sources, and a
 * tunnel's listeners run in it. A separate object for that would cost 32 bytes more.
 */
export class Call extends CallerContext implements Queued<Call>, ControlledCall, LateListener {
  readonly request: Request
  queueNext: Call | null = null
  queuePrevious: Call | null = null
  readonly sequence: number
  /** How many attempts have begun. */
  #attempts = 0
  failures: FailureNotes = NO_FAILURES
  /** The outer call's handler, if this call is an attempt of that call; null for a caller's own call. */
  outer: DispatchHandler | null = null
  /** The tunnel that the call has become; null if none. */
  #tunnel: Duplex | null = null
  #body: SendableBody = NO_BODY
  /** The request's new priority; null if it wasn't changed. */
  #priority: string | null = null
  /** Why the call was aborted; null if it wasn't. */
  #reason: Error | null = null
  #handler: DispatchHandler
  /** What the handler gets to steer this call. */
  readonly controller: CallController
  readonly #owner: CallOwner<Call>
  readonly #clock: CallClock
  #state: CallState = 'created'
  #attempt: Attempt | null = null
  /** The carrier of the current or last attempt; null before the first one. */
  #carrier: Carrier | null = null
  /** The stream of the last attempt that has ended; null if none. */
  #lastStreamId: number | null = null
  #paused = false
  /** Whether the header section of the final response has ended it. */
  isHeaderOnly = false

  constructor(request: Request, handler: DispatchHandler, owner: CallOwner<Call>, sequence: number) {
    super()
    this.request = request
    this.sequence = sequence
    this.#handler = handler
    this.controller = new CallController(this)
    this.#owner = owner
    this.#clock = new CallClock(owner.deadlines, this)
  }

  get limits(): Limits {
    return this.request.limits
  }

  get state(): CallState {
    return this.#state
  }

  get paused(): boolean {
    return this.#paused
  }

  get reason(): Error | null {
    return this.#reason
  }

  get connection(): ConnectionInfo | null {
    if (this.#carrier === null) return null
    const { protocol, id } = this.#carrier
    const streamId = this.#attempt === null ? this.#lastStreamId : this.#attempt.streamId
    return { protocol, sessionId: id, streamId, attempts: this.#attempts }
  }

  get transport(): TransportInfo | null {
    return this.#carrier?.transport ?? null
  }

  /**
   * The body that the current attempt sends: the request's own, or the one that a factory has created for this
   * attempt.
   */
  get body(): SendableBody {
    return this.#body
  }

  /** Null if no part of a response has arrived. */
  get rawHeaders(): readonly string[] | null {
    return this.controller.rawHeaders
  }

  /** Ends the call, or the tunnel that it has become. Without a reason, it fails with a RequestAbortedError. */
  abort(reason?: Error): void {
    if (this.#state === 'settled') {
      this.#tunnel?.destroy()
      return
    }
    this.#reason = reason ?? new RequestAbortedError()
    this.fail(this.#reason)
  }

  /**
   * Stops the flow of the response body. You can call it at any time; bytes that were already read from the stream
   * may still arrive.
   */
  pause(): void {
    if (this.#paused || this.#state === 'settled') return
    this.#paused = true
    if (this.#state === 'receiving') this.#clock.holdBody()
    this.#attempt?.pause()
    this.#owner.onFlow()
  }

  /** Lets the response body flow again. */
  resume(): void {
    if (!this.#paused || this.#state === 'settled') return
    this.#paused = false
    if (this.#state === 'receiving') this.#clock.body()
    this.#owner.onFlow()
    this.#attempt?.resume()
  }

  /** Changes the priority of the current attempt and of later ones. @throws InvalidArgumentError */
  reprioritize(priority: RequestPriority): void {
    this.#priority = toPriorityField(priority)
    this.#attempt?.reprioritize(this.#priority)
  }

  /**
   * Gives the handler its controller, once. Returns true if the call is then `queued`, false if the handler has ended
   * it.
   */
  start(): boolean {
    try {
      this.#handler.onRequestStart?.(this.controller, null)
    } catch (thrown) {
      this.fail(toError(thrown))
    }
    if (this.#state !== 'created') return false
    this.#move('queued')
    this.#clock.start()
    const { body } = this.request
    if ('watch' in body) body.watch((error) => this.fail(error))
    return true
  }

  /** The call has to wait for a stream. */
  wait(): void {
    if (this.#state !== 'queued') return
    this.#clock.queue()
    this.request.trace?.queued()
  }

  /**
   * Opens a stream for the call. Returns the fields that go with {@link body}; null if its body factory has ended the
   * call.
   */
  begin(attempt: Attempt): WireHeaders | null {
    const { request } = this
    if (this.#state !== 'queued') return null
    this.#attempt = attempt
    this.#move('running')
    request.trace?.announce() // The channels' subscribers may end the call.
    if (this.state !== 'running') return null
    try {
      const wire = this.#makeBody()
      checkListSize('header', wire, attempt.maxHeaderListSize)
      if (this.state === 'running') {
        this.#attempts++
        this.#carrier = attempt.carrier
        this.#clock.open(request.toUpload(this.#body), attempt.isConnected)
        return wire
      }
      this.#destroyBody(this.reason) // The caller's factory has aborted its own call.
    } catch (thrown) {
      this.fail(toError(thrown))
    }
    return null
  }

  /** Creates the body for another attempt. Returns the fields that go with it. @throws what a body factory throws */
  #makeBody(): WireHeaders {
    const { body, wire } = this.request
    this.#body = body.kind === 'factory' ? body.make() : body
    return this.#toWire(body.kind === 'factory' ? this.request.toWireFor(this.#body) : wire)
  }

  /** The fields of an attempt, with the request's current priority. */
  #toWire(wire: WireHeaders): WireHeaders {
    if (this.#priority === null) return wire
    const changed = [...wire]
    if (this.#priority === '') deleteField(changed, 'priority')
    else setField(changed, 'priority', this.#priority)
    return changed
  }

  /** The attempt has a connection now. If the peer speaks HTTP/2, its SETTINGS have arrived. */
  connected(): void {
    if (this.#attempt !== null) this.#clock.connected()
  }

  /** A piece of the body was passed to the stream. Null: the peer has accepted some of it, or is ready to. */
  sent(chunk: Uint8Array | null): void {
    if (this.#attempt === null) return
    this.#clock.upload()
    if (chunk === null || this.#handler.onBodySent === undefined) return
    const piece = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
    this.runInAsyncScope(this.#tellBodySent, this, piece)
  }

  #tellBodySent(piece: Buffer): void {
    try {
      this.#handler.onBodySent?.(piece)
    } catch (thrown) {
      this.fail(toError(thrown))
    }
  }

  /** The whole request was sent. Unless `isSent`, the peer doesn't want the rest of it. */
  uploaded(isSent = true): void {
    if (this.#attempt === null) return
    this.#clock.uploaded()
    if (isSent) this.tellSent()
    else this.#stopBody()
  }

  /** For a request without a body, when it is opened; for one with a body see {@link uploaded}. */
  tellSent(): void {
    if (this.#handler.onRequestSent !== undefined) this.runInAsyncScope(this.#tellSent, this)
  }

  #tellSent(): void {
    try {
      this.#handler.onRequestSent?.()
    } catch (thrown) {
      this.fail(toError(thrown))
    }
  }

  /** The request's trailers; null if creating them has ended the call. */
  toTrailers(): WireHeaders | null {
    try {
      const trailers = this.runInAsyncScope(this.request.toTrailers, this.request)
      if (this.#attempt === null) return null
      checkListSize('trailers', trailers, this.#attempt.maxHeaderListSize)
      return trailers
    } catch (thrown) {
      this.fail(toError(thrown))
      return null
    }
  }

  /**
   * The header section of an informational (1xx) or final response has arrived. `raw` is in wire order, and may
   * contain pseudo-header fields.
   */
  respond(
    statusCode: number,
    headers: IncomingHttpHeaders,
    raw: readonly string[],
    statusMessage = '',
  ): void {
    if (statusCode === MISDIRECTED) this.#moveOn()
    const attempt = this.#attempt
    if (this.#state !== 'running' || attempt === null) return
    if (this.#refuse(checkHeader(attempt.meter, this.request, statusCode, headers, raw))) return
    this.controller.rawHeaders = raw
    if (statusCode >= 200) {
      this.isHeaderOnly = attempt.meter.isHeaderOnly
      this.#move('receiving')
      if (this.#body.kind === 'stream') this.#body.release()
      if (this.#paused) this.#clock.holdBody()
      else this.#clock.body()
    }
    this.runInAsyncScope(this.#tellResponse, this, statusCode, headers, statusMessage)
  }

  #tellResponse(statusCode: number, headers: IncomingHttpHeaders, statusMessage: string): void {
    try {
      this.#handler.onResponseStarted?.()
      if (this.state !== 'settled')
        this.#handler.onResponseStart?.(this.controller, statusCode, headers, statusMessage)
    } catch (thrown) {
      this.fail(toError(thrown))
    }
  }

  /**
   * The requested tunnel is open; from now on it is independent of the call. Returns false if the handler didn't
   * accept it.
   */
  upgrade(status: number, headers: IncomingHttpHeaders, raw: readonly string[], tunnel: Duplex): boolean {
    const attempt = this.#attempt
    if (this.#state !== 'running' || attempt === null) return false
    if (this.#refuse(checkHeader(attempt.meter, this.request, status, headers, raw))) return false
    // 101 is HTTP/1.1's: the key was sent, and what the server says to it stands.
    this.controller.rawHeaders = status === 101 ? raw : acceptKey(this.request.webSocketKey, headers, raw)
    this.#tunnel = tunnel
    this.#move('receiving')
    this.#settle()
    this.runInAsyncScope(this.#tellUpgrade, this, status, headers, tunnel)
    return true
  }

  #tellUpgrade(status: number, headers: IncomingHttpHeaders, tunnel: Duplex): void {
    try {
      this.#handler.onRequestUpgrade?.(this.controller, status, headers, tunnel)
    } catch (thrown) {
      tunnel.destroy()
      this.#report(toError(thrown))
    }
  }

  /** A piece of the response body has arrived. After the last one, all timeouts stop. */
  data(chunk: Buffer, isLast = false): void {
    const attempt = this.#attempt
    if (this.#state !== 'receiving' || attempt === null) return
    if (this.#refuse(checkData(attempt.meter, this.request.limits, chunk.length))) return
    if (!this.#paused && !isLast) this.#clock.body()
    this.runInAsyncScope(this.#tellData, this, chunk)
  }

  #tellData(chunk: Buffer): void {
    try {
      this.#handler.onResponseData?.(this.controller, chunk)
    } catch (thrown) {
      this.fail(toError(thrown))
    }
  }

  /** The whole response has arrived. */
  complete(trailers: IncomingHttpHeaders, raw: readonly string[] | null): void {
    const attempt = this.#attempt
    if (this.#state !== 'receiving' || attempt === null) return
    if (this.#refuse(checkEnd(attempt.meter, this.request.limits, raw))) return
    this.controller.rawTrailers = raw ?? NO_RAW_TRAILERS
    this.#settle()
    this.runInAsyncScope(this.#tellEnd, this, trailers)
  }

  #tellEnd(trailers: IncomingHttpHeaders): void {
    try {
      this.#handler.onResponseEnd?.(this.controller, trailers)
    } catch (thrown) {
      this.#report(toError(thrown))
    }
    // After the response, because the source's code, which runs now, may take its time.
    this.#stopBody()
  }

  /** Fails the call if the response is invalid. @returns whether it was */
  #refuse(error: DodiciError | null): boolean {
    if (error === null) return false
    error.processed = 'yes'
    this.fail(error)
    return true
  }

  /** The attempt's stream has ended without a complete response. */
  attemptFailed(error: DodiciError): void {
    if (this.#state === 'settled') return
    const attempt = this.#attempt
    this.#lastStreamId = attempt?.streamId ?? null
    this.#attempt = null
    if (this.#state === 'receiving' && attempt !== null) {
      error.processed = 'yes'
      this.fail(toLengthError(attempt.meter, error) ?? error)
      return
    }
    if (this.#owner.mayReplay(this, error, attempt)) this.#queueAgain()
    else this.fail(error)
  }

  /**
   * After a 421: retires the connection, and queues the request again, once. If it must not be sent again, a
   * buffering handler gets the response instead.
   */
  #moveOn(): void {
    const attempt = this.#attempt
    if (this.#state !== 'running' || this.failures.wasMisdirected || attempt === null) return
    // This comes first, so that the call gets another connection, as any call would (RFC 9110 §15.5.20).
    attempt.closeConnection()
    // The room that a waiting call gets meanwhile leads to the caller's code, which may end this one.
    if (this.#attempt !== attempt) return
    if (this.#owner.mayReplay(this, null, attempt)) {
      this.#attempt = null
      this.#lastStreamId = attempt.streamId
      this.#queueAgain()
      attempt.cancel()
    } else {
      this.#handler = toMisdirectedHandler(this.#handler, this.request)
    }
  }

  #queueAgain(): void {
    this.#move('queued')
    this.#clock.queueAgain()
    this.#owner.onReplay(this)
    // This comes last: destroying a source runs the caller's code, which may end the call.
    this.#destroyBody(null)
  }

  onLate(lateness: Lateness): void {
    if (lateness === 'continue') {
      this.#attempt?.proceed()
      return
    }
    const mayWaitOn = lateness === 'queue' && (this.#state === 'running' || this.#owner.mayWaitOn(this))
    if (mayWaitOn && this.#clock.queueOn()) return
    if (lateness === 'connect') {
      const isConnecting = this.#state === 'running' || this.#owner.isConnecting(this)
      if (this.#clock.connectOn(isConnecting)) return
    }
    this.fail(toLateError(lateness, this.request.limits, mayWaitOn))
  }

  /** Ends the call with an error, in any state. Does nothing once it has settled. */
  fail(error: Error): void {
    if (this.#state === 'settled') return
    const attempt = this.#attempt
    if (error instanceof DodiciError) {
      this.mark(error, attempt?.streamId ?? this.#lastStreamId)
      if (error.processed === 'no' && attempt?.hasBegun === true)
        error.processed = this.#state === 'running' ? 'maybe' : 'yes'
    }
    this.#settle()
    this.runInAsyncScope(this.#tellFailure, this, error, attempt)
  }

  #tellFailure(error: Error, attempt: Attempt | null): void {
    attempt?.cancel(isMalformed(error))
    this.#destroyBody(error)
    this.#report(error)
  }

  #report(error: Error): void {
    try {
      this.#handler.onResponseError?.(this.controller, error)
    } catch (thrown) {
      throwUncaught(thrown) // The handler's last callback has thrown: no callback is left that could report it.
    }
  }

  /** Sets the call's fields on an error, including an error of its tunnel. */
  mark(error: DodiciError, streamId: number | null): void {
    if (this.failures.wasRepeated && error.processed === 'no') error.processed = 'maybe' // By an earlier attempt.
    error.attempts = this.#attempts
    error.streamId = streamId
  }

  /** Stops sending the body, without failing the call. */
  #stopBody(): void {
    if (this.#body.kind === 'stream') this.runInAsyncScope(this.#body.stop, this.#body)
  }

  /**
   * No attempt will read the body, or continue to read it.
   *
   * @param error null if another attempt follows and the body hasn't been opened: then that attempt uses it
   */
  #destroyBody(error: Error | null): void {
    const { body } = this.request
    if (error === null && !body.replayable && !body.isSpent) return
    if ('destroy' in body) this.runInAsyncScope(body.destroy, body, error)
  }

  #settle(): void {
    const from = this.#state
    this.#move('settled')
    if (this.#attempt !== null) this.#lastStreamId = this.#attempt.streamId
    this.#attempt = null
    this.#clock.stop()
    this.#owner.onSettled(this, from)
  }

  #move(state: CallState): void {
    this.#state = state
  }
}

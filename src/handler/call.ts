/**
 * One dispatched request for its whole life, over all its attempts.
 *
 * @module
 */

import type { Duplex } from 'node:stream'
import type { DispatchController, DispatchHandler } from '../../types/handler.ts'
import type { IncomingHttpHeaders } from '../../types/headers.ts'
import { throwUncaught } from '../core/original-timers.ts'
import type { Request } from '../core/request.ts'
import type { WireHeaders } from '../core/wire-headers.ts'
import { DodiciError, RequestAbortedError, toError } from '../errors.ts'
import type { Attempt, Outgoing } from './attempt.ts'
import { BufferedMisdirectedResponse } from './buffered-misdirected-response.ts'
import type { LateListener, Lateness } from './call-clock.ts'
import { CallClock } from './call-clock.ts'
import type { CallOwner } from './call-owner.ts'
import { CallRecord } from './call-record.ts'
import type { CallState } from './call-state.ts'
import { toLateError } from './late-error.ts'
import { isMalformed, ResponseLimits } from './response-limits.ts'
import { acceptKey } from './websocket-accept.ts'

/** RFC 9110 §15.5.20: Misdirected Request. */
const MISDIRECTED = 421

/**
 * Owns the handler, is its controller, and settles exactly once. A handler that throws fails its own call: the stream
 * is reset, and it hears its own error. What `onResponseError` itself throws becomes an uncaught exception.
 */
export class Call extends CallRecord<Call> implements DispatchController, LateListener {
  #handler: DispatchHandler
  readonly #owner: CallOwner<Call>
  readonly #clock: CallClock
  #state: CallState = 'created'
  #attempt: Attempt | null = null
  #attempts = 0
  #streamId: number | null = null
  #response: ResponseLimits
  #paused = false

  constructor(request: Request, handler: DispatchHandler, owner: CallOwner<Call>, sequence: number) {
    super(request, sequence)
    this.#handler = handler
    this.#owner = owner
    this.#clock = new CallClock(owner.deadlines, request.limits, this)
    this.#response = new ResponseLimits(request.limits, request.method)
  }

  get state(): CallState {
    return this.#state
  }

  get paused(): boolean {
    return this.#paused
  }

  /** Whether as many bytes have come as the response has announced; `held` of them weren't handed on yet. */
  hasWholeBody(held: number): boolean {
    return this.#response.isWhole(held)
  }

  /** Ends the call, or the tunnel that it became. Without a reason it fails with a RequestAbortedError. */
  abort(reason?: Error): void {
    if (this.#state === 'settled') {
      this.tunnel?.destroy()
      return
    }
    this.fail(this.noteAbort(reason ?? new RequestAbortedError()))
  }

  /** Asks for no more body. It may be called at any time; what has been read from the stream may still come. */
  pause(): void {
    if (this.#paused || this.#state === 'settled') return
    this.#paused = true
    if (this.#state === 'receiving') this.#clock.holdBody()
    this.#attempt?.pause()
    this.#owner.onFlow()
  }

  protected override tellPriority(value: string): void {
    this.#attempt?.reprioritize?.(value)
  }

  /** Lets the body flow again. */
  resume(): void {
    if (!this.#paused || this.#state === 'settled') return
    this.#paused = false
    if (this.#state === 'receiving') this.#clock.body()
    this.#owner.onFlow()
    this.#attempt?.resume()
  }

  /**
   * Tells the handler of its controller, once. True when the call is `queued` then, false when the handler has ended
   * it.
   */
  start(): boolean {
    try {
      this.#handler.onRequestStart?.(this, null)
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

  /** It has to wait for a stream. */
  wait(): void {
    if (this.#state === 'queued') this.#clock.queue()
  }

  /** A stream is being opened for it. Returns what to send, or null when the call has ended, by its body factory. */
  begin(attempt: Attempt): Outgoing | null {
    const { request } = this
    if (this.#state !== 'queued') return null
    this.#attempt = attempt
    this.#move('running')
    request.trace?.announce() // Its subscribers may end the call.
    if (this.state !== 'running') return null
    const { body, wire } = request
    if (body.kind !== 'factory') {
      this.#attempts++
      this.#clock.open(request.toUpload(body), attempt.isConnected)
      return { body, wire: this.toWire(wire) }
    }
    try {
      const made = body.make()
      const outgoing = { body: made, wire: this.toWire(request.toWireFor(made)) }
      if (this.state === 'running') {
        this.#attempts++
        this.#clock.open(request.toUpload(made), attempt.isConnected)
        return outgoing
      }
      body.destroy(this.reason) // The caller's function has aborted its own call.
    } catch (thrown) {
      this.fail(toError(thrown))
    }
    return null
  }

  /** The attempt has a connection now. */
  connected(): void {
    if (this.#attempt !== null) this.#clock.connected()
  }

  /** A piece of the body was handed to the stream; null: the peer has taken some of it, or may begin to. */
  sent(chunk: Uint8Array | null): void {
    if (this.#attempt === null) return
    this.#clock.upload()
    if (chunk === null || this.#handler.onBodySent === undefined) return
    try {
      this.#handler.onBodySent(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength))
    } catch (thrown) {
      this.fail(toError(thrown))
    }
  }

  /** All of the request went out; or, unless `isSent`, the peer wants no more of it. */
  uploaded(isSent = true): void {
    if (this.#attempt === null) return
    this.#clock.uploaded()
    if (isSent) this.tellSent()
  }

  /** For a request without a body, as it is opened; for one with a body see {@link uploaded}. */
  tellSent(): void {
    try {
      this.#handler.onRequestSent?.()
    } catch (thrown) {
      this.fail(toError(thrown))
    }
  }

  /** The trailers of the request, or null when the call has ended by making them. */
  toTrailers(): WireHeaders | null {
    try {
      const trailers = this.request.toTrailers()
      return this.#attempt === null ? null : trailers
    } catch (thrown) {
      this.fail(toError(thrown))
      return null
    }
  }

  /** An informational (1xx) or the final response's header. `raw` is in wire order, pseudo-headers may be in it. */
  respond(
    statusCode: number,
    headers: IncomingHttpHeaders,
    raw: readonly string[],
    statusMessage = '',
  ): void {
    if (statusCode === MISDIRECTED) this.#moveOn()
    if (this.#state !== 'running') return
    if (this.#refuse(this.#response.checkHeader(statusCode, headers, raw))) return
    this.rawHeaders = raw
    if (statusCode >= 200) {
      this.#move('receiving')
      if (this.#paused) this.#clock.holdBody()
      else this.#clock.body()
    }
    try {
      this.#handler.onResponseStarted?.()
      if (this.state !== 'settled') this.#handler.onResponseStart?.(this, statusCode, headers, statusMessage)
    } catch (thrown) {
      this.fail(toError(thrown))
    }
  }

  /** The tunnel that was asked for stands: it lives on by itself. False when nobody has taken it. */
  upgrade(status: number, headers: IncomingHttpHeaders, raw: readonly string[], tunnel: Duplex): boolean {
    if (this.#state !== 'running' || this.#refuse(this.#response.checkHeader(status, headers, raw)))
      return false
    this.rawHeaders = acceptKey(this.request.webSocketKey, headers, raw)
    this.tunnel = tunnel
    this.#move('receiving')
    this.#settle()
    try {
      this.#handler.onRequestUpgrade?.(this, status, headers, tunnel)
    } catch (thrown) {
      tunnel.destroy()
      this.#report(toError(thrown))
    }
    return true
  }

  /** A piece of the response's body. After the last one nothing can be late any more. */
  data(chunk: Buffer, isLast = false): void {
    if (this.#state !== 'receiving') return
    if (this.#refuse(this.#response.checkData(chunk.length))) return
    if (!this.#paused && !isLast) this.#clock.body()
    try {
      this.#handler.onResponseData?.(this, chunk)
    } catch (thrown) {
      this.fail(toError(thrown))
    }
  }

  /** The whole response has come. */
  complete(trailers: IncomingHttpHeaders, raw: readonly string[] | null): void {
    if (this.#state !== 'receiving') return
    if (this.#refuse(this.#response.checkEnd())) return
    if (raw !== null && this.#refuse(this.#response.checkFields('trailers', raw))) return
    this.rawTrailers = raw
    this.#settle()
    try {
      this.#handler.onResponseEnd?.(this, trailers)
    } catch (thrown) {
      this.#report(toError(thrown))
    }
  }

  /** Whether the response was found wanting; then the call has failed. */
  #refuse(error: DodiciError | null): boolean {
    if (error === null) return false
    error.processed = 'yes'
    this.fail(error)
    return true
  }

  /** The attempt's stream has ended without a complete response. */
  attemptFailed(error: DodiciError): void {
    if (this.#state === 'settled') return
    this.#streamId = this.#attempt?.streamId ?? null
    this.#attempt = null
    if (this.#state === 'receiving') {
      error.processed = 'yes'
      this.fail(this.#response.toLengthError(error) ?? error)
      return
    }
    if (this.#owner.mayReplay(this, error)) this.#queueAgain(error)
    else this.fail(error)
  }

  /**
   * By this connection the server isn't the right one: by another one it may be. Once; without the body fetch asks
   * again.
   */
  #moveOn(): void {
    const attempt = this.#attempt
    if (this.#state !== 'running' || this.wasMisdirected || attempt === null) return
    if (!this.request.body.isSpent) {
      this.#attempt = null
      this.#streamId = attempt.streamId
      this.#queueAgain(null)
      attempt.cancel()
    } else if (BufferedMisdirectedResponse.isFor(this.request)) {
      this.#handler = new BufferedMisdirectedResponse(this.#handler)
    }
    attempt.retire()
  }

  #queueAgain(error: DodiciError | null): void {
    this.#response = new ResponseLimits(this.request.limits, this.request.method)
    this.#move('queued')
    this.#clock.queue()
    this.#owner.onReplay(this, error)
    // Last: a source that is let go of runs the caller's code, which may end the call.
    this.dropBody(null)
  }

  onLate(lateness: Lateness): void {
    if (lateness === 'continue') this.#attempt?.proceed()
    else if (lateness !== 'connect' || this.#state === 'running' || this.#owner.isConnecting(this))
      this.fail(toLateError(lateness, this.request.limits))
  }

  /** Ends the call with an error, in any state; a no-op once it has settled. */
  fail(error: Error): void {
    if (this.#state === 'settled') return
    const attempt = this.#attempt
    if (error instanceof DodiciError) {
      if (this.wasRepeated && error.processed === 'no') error.processed = 'maybe' // By an earlier attempt.
      this.mark(error, attempt?.streamId ?? this.#streamId)
      if (error.processed === 'no' && attempt?.hasBegun === true)
        error.processed = this.#state === 'running' ? 'maybe' : 'yes'
    }
    this.#settle()
    attempt?.cancel(isMalformed(error))
    this.dropBody(error)
    this.#report(error)
  }

  /** Writes onto an error whose it is; its tunnel's, too. */
  mark(error: DodiciError, streamId: number | null): void {
    error.attempts = this.#attempts
    error.streamId = streamId
  }

  #report(error: Error): void {
    try {
      this.#handler.onResponseError?.(this, error)
    } catch (thrown) {
      throwUncaught(thrown) // The handler's last word has failed: nobody is left to tell but the process.
    }
  }

  #settle(): void {
    const from = this.#state
    this.#move('settled')
    this.#attempt = null
    this.#clock.stop()
    this.#owner.onSettled(this, from)
  }

  #move(state: CallState): void {
    this.#state = state
  }
}

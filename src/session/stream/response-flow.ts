/**
 * How far the response of one attempt has come, on either engine.
 *
 * @module
 */

import type { IncomingHttpHeaders } from '../../../types/headers.ts'
import { NO_TRAILERS } from '../../core/header-object.ts'
import type { WireHeaders } from '../../core/wire-headers.ts'
import type { DodiciError } from '../../errors.ts'
import type { Attempt } from '../../handler/attempt.ts'
import type { Call } from '../../handler/call.ts'
import type { ResponseMeter } from '../../handler/response-limits.ts'
import { hasWholeBody } from '../../handler/response-limits.ts'
import { HeldPieces } from './held-pieces.ts'
import { toTunnelError, toTunnelProtocolError } from './stream-failure.ts'
import type { TunnelSide } from './tunnel.ts'
import { Tunnel } from './tunnel.ts'

/**
 * What the call was told. `done` comes once: the response is complete, failed, or cancelled. The stream itself may
 * still be open, or closing, then.
 *
 * ```
 * open → responded → done
 * open → tunnel → done
 * open → done
 * ```
 */
type FlowState =
  | { readonly name: 'open' }
  | { readonly name: 'responded' }
  | { readonly name: 'tunnel'; readonly tunnel: Tunnel }
  | { readonly name: 'done' }

const OPEN: FlowState = { name: 'open' }
const RESPONDED: FlowState = { name: 'responded' }
const DONE: FlowState = { name: 'done' }

/**
 * How the response's data ended:
 *
 * - `none`: not yet
 * - `due`: by END_STREAM, but the engine may not have told of the trailers in front of it yet
 * - `whole`: by END_STREAM, and everything in front of it was told
 * - `closed`: the stream was closed without END_STREAM
 */
export type DataEnd = 'none' | 'due' | 'whole' | 'closed'

interface Trailers {
  readonly headers: IncomingHttpHeaders
  readonly raw: readonly string[]
}

/** An engine's stream, as the flow of its response sees it. */
export interface FlowSide {
  /** Null before it has one. */
  readonly streamId: number | null
  /** The stream no longer counts against the peer's limit. */
  readonly isClosed: boolean
  /** The body of the request needn't wait any longer. */
  proceed(): void
  /** The call takes so many bytes that were held, or never will. */
  onTaken(bytes: number): void
  /** What a tunnel is made over; null when the stream is gone. */
  toTunnelSide(): TunnelSide | null
  /**
   * The call is about to hear that its response is complete: what is left of the request has no reader (RFC 9113 §8.1).
   */
  onComplete(): void
  /** The call has all that it will get, and the peer counts the stream no more: the session is to be told. */
  onOver(): void
}

/**
 * What the engine tells of a response the flow tells the call, until one of them is done: in order, as the call takes
 * it, and each thing once. What the call's limits count is in the flow itself: there is one for each attempt.
 */
export class ResponseFlow implements ResponseMeter {
  readonly call: Call
  readonly #side: FlowSide
  #state: FlowState = OPEN
  #dataEnd: DataEnd = 'none'
  /**
   * What has come and wasn't handed on: before the header (engine node), or while the call holds it back. Null for
   * nothing.
   */
  #held: HeldPieces | null = null
  /** The call is being told of the header, or of data: nothing else may overtake it. */
  #isHandingOn = false
  /** Null without trailers. */
  #trailers: Trailers | null = null
  // The meter's.
  informational = 0
  informationalSize = 0
  expected = -1
  received = 0

  constructor(side: FlowSide, call: Call) {
    this.#side = side
    this.call = call
  }

  /** No final header has come. */
  get isOpen(): boolean {
    return this.#state === OPEN
  }

  get hasResponded(): boolean {
    return this.#state === RESPONDED
  }

  /** The call waits for the response, or for the rest of it. */
  get isPending(): boolean {
    return this.#state === OPEN || this.#state === RESPONDED
  }

  get isDone(): boolean {
    return this.#state === DONE
  }

  /** What the response has opened; null for any other one, and once it is closed. */
  get tunnel(): Tunnel | null {
    return this.#state.name === 'tunnel' ? this.#state.tunnel : null
  }

  get dataEnd(): DataEnd {
    return this.#dataEnd
  }

  /** Data is handed on as it comes. */
  get isFlowing(): boolean {
    return this.#state === RESPONDED && this.#held === null && !this.call.paused
  }

  /** The call has got its header, and its reader wants no more for now. */
  get isHeldBack(): boolean {
    return this.#state === RESPONDED && this.call.paused
  }

  get isHeld(): boolean {
    return this.#held !== null || this.call.paused
  }

  /** All of it has come, and its reader holds it back. */
  get isWhole(): boolean {
    return this.#state === RESPONDED && this.#dataEnd === 'whole'
  }

  /** The attempt begins. Returns the fields to send, or null when the call has ended: then the session knows. */
  begin(attempt: Attempt): WireHeaders | null {
    const wire = this.call.begin(attempt)
    if (wire === null) this.#side.onOver()
    return wire
  }

  /** An informational or the final header. */
  respond(status: number, headers: IncomingHttpHeaders, raw: readonly string[]): void {
    const isSuccess = status >= 200 && status < 300
    if (isSuccess && this.call.request.isTunnel) {
      this.#becomeTunnel(status, headers, raw)
      return
    }
    if (status >= 200) this.#move(RESPONDED)
    // Nothing is handed on from within: the body comes after its header.
    this.#isHandingOn = true
    this.call.respond(status, headers, raw)
    this.#isHandingOn = false
    // A server may say yes without a 100, and may send its response while it reads.
    if (status === 100 || (isSuccess && this.#dataEnd === 'none')) this.#side.proceed()
    this.handOn()
  }

  #becomeTunnel(status: number, headers: IncomingHttpHeaders, raw: readonly string[]): void {
    const side = this.#side.toTunnelSide()
    if (side === null) return
    const tunnel = Tunnel.over(side, this.call.request)
    this.#move({ name: 'tunnel', tunnel })
    const held = this.#held
    this.#held = null
    for (let piece = held?.shift(); piece; piece = held?.shift()) tunnel.push(piece)
    if (this.#dataEnd === 'due' || this.#dataEnd === 'whole') tunnel.onPeerEnd()
    this.call.upgrade(status, headers, raw, tunnel)
  }

  /** A piece of data while {@link isFlowing}. @param isLast END_STREAM came with it */
  data(piece: Buffer, isLast = false): void {
    if (isLast) this.#dataEnd = 'whole'
    this.#isHandingOn = true
    this.call.data(piece, isLast)
    this.#isHandingOn = false
  }

  /** A piece of data while the flow is held up, that is kept as it is. */
  hold(piece: Buffer): void {
    this.#held ??= new HeldPieces()
    this.#held.add(piece)
  }

  /** The same of a part of a chunk that was read. */
  holdPart(bytes: Buffer, start: number, end: number): void {
    this.#held ??= new HeldPieces()
    this.#held.addPart(bytes, start, end)
  }

  onTrailers(headers: IncomingHttpHeaders, raw: readonly string[]): void {
    this.#trailers = { headers, raw }
    this.tunnel?.fail(toTunnelError(this.call, this.#side.streamId, toTunnelProtocolError()))
  }

  /** No more data comes. */
  endData(end: DataEnd): void {
    this.#dataEnd = end
    if (end !== 'closed') this.tunnel?.onPeerEnd()
    if (end === 'whole') this.handOn()
  }

  /** Hands on what was held, while the call takes it; and the end. */
  handOn(): void {
    // A reader may pause and resume from within.
    if (this.#isHandingOn || this.#state !== RESPONDED) return
    this.#giveHeld(false)
    if (this.#held === null && this.#dataEnd === 'whole' && !this.call.paused) this.complete()
  }

  #giveHeld(isForced: boolean): void {
    this.#isHandingOn = true
    while (this.#held !== null && this.#state === RESPONDED && (isForced || !this.call.paused)) {
      const piece = this.#held.shift()
      if (this.#held.size === 0) this.#held = null
      if (piece === null) break
      this.#side.onTaken(piece.length)
      this.call.data(piece)
    }
    this.#isHandingOn = false
  }

  /** Everything of the response is here; what was held goes to the call, whether it is paused or not. */
  complete(): void {
    if (this.#isHandingOn) return
    this.#giveHeld(true)
    if (this.#state !== RESPONDED) return
    this.#move(DONE)
    this.#side.onComplete()
    this.leave()
    const trailers = this.#trailers
    this.call.complete(trailers?.headers ?? NO_TRAILERS, trailers?.raw ?? null)
  }

  /**
   * The peer has closed the stream with NO_ERROR and without END_STREAM.
   *
   * @returns whether the response is complete all the same: as many bytes have come as it has announced
   */
  completeByLength(): boolean {
    if (this.#state !== RESPONDED || !hasWholeBody(this, this.#held?.size ?? 0)) return false
    this.complete()
    return true
  }

  /**
   * The stream below a tunnel is gone.
   *
   * @param isQuiet the peer has not complained, and the connection is there
   * @returns whether both sides of the tunnel have ended properly, and it is closed; otherwise `fail()` is to follow
   */
  endTunnel(isQuiet: boolean): boolean {
    const { tunnel } = this
    if (tunnel === null || !tunnel.hasPeerEnded) return false
    const isIdle = isQuiet && tunnel.writableLength === 0
    if (!tunnel.writableFinished && !isIdle) return false
    this.#move(DONE)
    tunnel.close(null)
    return true
  }

  /** The stream is gone, and something is missing. A no-op once the flow is done. */
  fail(error: DodiciError): void {
    const { tunnel } = this
    if (tunnel !== null) {
      this.#move(DONE)
      tunnel.close(toTunnelError(this.call, this.#side.streamId, error))
    } else if (this.#state !== DONE) {
      // What came before it isn't lost, whether the call is paused or not.
      if (!this.#isHandingOn) this.#giveHeld(true)
      const held = this.#held
      this.cancel()
      if (held !== null) this.#side.onTaken(held.size)
      this.call.attemptFailed(error)
    }
  }

  /** Ends the call, or its tunnel, on behalf of the session's owner. */
  abort(error: Error): void {
    const { tunnel } = this
    if (tunnel !== null) tunnel.fail(toTunnelError(this.call, this.#side.streamId, error))
    else if (this.#state !== DONE) this.call.fail(error)
  }

  /** The call has ended. A tunnel is one that the call refused: another one is its taker's. */
  cancel(): void {
    this.#move(DONE)
    this.#held = null
  }

  /** Tells the session, once there is nothing left to come. */
  leave(): void {
    if (this.#state === DONE && this.#side.isClosed) this.#side.onOver()
  }

  #move(state: FlowState): void {
    this.#state = state
  }
}

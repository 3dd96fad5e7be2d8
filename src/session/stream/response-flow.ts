/**
 * How much of one attempt's response has arrived, on either engine.
 *
 * @module
 */

import type { IncomingHttpHeaders } from '../../../types/headers.ts'
import type { Attempt } from '../../call/attempt.ts'
import type { Call } from '../../call/call.ts'
import type { ResponseMeter } from '../../call/response-limits.ts'
import { hasWholeBody } from '../../call/response-limits.ts'
import { KeptPieces } from '../../core/kept-pieces.ts'
import type { DodiciError } from '../../errors/errors.ts'
import { NO_TRAILERS } from '../../request/header-object.ts'
import type { WireHeaders } from '../../request/wire-headers.ts'
import { toTunnelError, toTunnelProtocolError } from './stream-failure.ts'
import type { TunnelSide } from './tunnel.ts'
import { Tunnel } from './tunnel.ts'

/**
 * How much of the response the call was told. `done` comes once: the response is complete, failed, or cancelled. The
 * stream itself may still be open, or closing, then.
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
  | { readonly name: 'done'; readonly hasResponded: boolean }

const OPEN: FlowState = { name: 'open' }
const RESPONDED: FlowState = { name: 'responded' }
const DONE: FlowState = { name: 'done', hasResponded: true }
const DONE_UNANSWERED: FlowState = { name: 'done', hasResponded: false }

/**
 * How the response's data has ended:
 *
 * - `none`: not yet
 * - `due`: with END_STREAM, but the engine may not have reported the trailers yet
 * - `whole`: with END_STREAM, and the engine has reported everything before it
 * - `closed`: the stream was closed without END_STREAM
 */
export type DataEnd = 'none' | 'due' | 'whole' | 'closed'

/** A slow reader gets held data in pieces no larger than most frames, because it may pause after each. In bytes. */
const MAX_HELD_PIECE = 16_384

interface Trailers {
  readonly headers: IncomingHttpHeaders
  readonly raw: readonly string[]
}

/** An engine's stream, as its response flow sees it. */
export interface FlowSide {
  /** Null until the stream has an id. */
  readonly streamId: number | null
  /** The stream no longer counts against the peer's limit. */
  readonly isClosed: boolean
  /** The request body no longer has to wait. */
  proceed(): void
  /** The call has taken `bytes` held bytes, or never will. */
  onTaken(bytes: number): void
  /** The stream side of a tunnel; null if the stream is gone. */
  toTunnelSide(): TunnelSide | null
  /**
   * Called right before the call is told that its response is complete: the peer may not read the rest of the request
   * (RFC 9113 §8.1).
   */
  onComplete(): void
  /** The call gets nothing more, and the peer no longer counts the stream: tells the session. */
  onOver(): void
}

/**
 * Passes the engine's response events on to the call, until the call or the response is done: in order, at the call's
 * pace, and each event once. The counters for the call's limits are fields of the flow, because each attempt has one
 * flow.
 */
export class ResponseFlow implements ResponseMeter {
  readonly call: Call
  readonly #side: FlowSide
  #state: FlowState = OPEN
  #dataEnd: DataEnd = 'none'
  /**
   * Data that has arrived but wasn't passed on: before the header section (engine node), or while the call is paused.
   * Null for none.
   */
  #held: KeptPieces | null = null
  /** Whether the call's method for the header section or for data is running: no other event may overtake it. */
  #isHandingOn = false
  /** Null without trailers. */
  #trailers: Trailers | null = null
  // The fields of ResponseMeter.
  informational = 0
  informationalSize = 0
  expected = -1
  received = 0
  isBare = false
  isHeaderOnly = false

  constructor(side: FlowSide, call: Call) {
    this.#side = side
    this.call = call
  }

  /** Whether the final header section hasn't arrived. */
  get isOpen(): boolean {
    return this.#state === OPEN
  }

  get hasResponded(): boolean {
    return this.#state === RESPONDED
  }

  /** Whether the final header section has arrived; the flow may be done since. */
  get isAnswered(): boolean {
    return this.#state !== OPEN && this.#state !== DONE_UNANSWERED
  }

  /** Whether the call waits for the response, or for the rest of it. */
  get isPending(): boolean {
    return this.#state === OPEN || this.#state === RESPONDED
  }

  get isDone(): boolean {
    return this.#state === DONE || this.#state === DONE_UNANSWERED
  }

  /** The tunnel that the response has opened; null if it hasn't, and once the tunnel is closed. */
  get tunnel(): Tunnel | null {
    return this.#state.name === 'tunnel' ? this.#state.tunnel : null
  }

  get dataEnd(): DataEnd {
    return this.#dataEnd
  }

  /** Whether data is passed on as it arrives. */
  get isFlowing(): boolean {
    return this.#state === RESPONDED && this.#held === null && !this.call.paused
  }

  /** Whether the call has received the header section, and its reader has paused it. */
  get isHeldBack(): boolean {
    return this.#state === RESPONDED && this.call.paused
  }

  /** Whether it is a tunnel that doesn't keep the process alive. */
  get isUnreferenced(): boolean {
    return this.tunnel?.isReferenced === false
  }

  get isHeld(): boolean {
    return this.#held !== null || this.call.paused
  }

  /** Whether the whole response has arrived, but its reader holds it back. */
  get isWhole(): boolean {
    return this.#state === RESPONDED && this.#dataEnd === 'whole'
  }

  /** The attempt starts. Returns the fields to send; null if the call has ended, which the session was told. */
  begin(attempt: Attempt): WireHeaders | null {
    const wire = this.call.begin(attempt)
    if (wire === null) this.#side.onOver()
    return wire
  }

  /** An informational or final header section has arrived. */
  respond(status: number, headers: IncomingHttpHeaders, raw: readonly string[]): void {
    const isSuccess = status >= 200 && status < 300
    if (isSuccess && this.call.request.isTunnel) {
      this.#becomeTunnel(status, headers, raw)
      return
    }
    if (status >= 200) this.#move(RESPONDED)
    // No data is handed on from inside `respond()`: the body comes after its header section.
    this.#isHandingOn = true
    this.call.respond(status, headers, raw)
    this.#isHandingOn = false
    // A server may send a 2xx without a 100, and may send its response while it reads the request.
    if (status === 100 || (isSuccess && this.#dataEnd === 'none')) this.#side.proceed()
    this.handOn()
  }

  #becomeTunnel(status: number, headers: IncomingHttpHeaders, raw: readonly string[]): void {
    const side = this.#side.toTunnelSide()
    if (side === null) return
    const tunnel = Tunnel.over(side, this.call)
    this.#move({ name: 'tunnel', tunnel })
    const held = this.#held
    this.#held = null
    for (let piece = held?.shift(); piece; piece = held?.shift()) tunnel.receive(piece)
    if (this.#dataEnd === 'due' || this.#dataEnd === 'whole') tunnel.onPeerEnd()
    this.call.upgrade(status, headers, raw, tunnel)
  }

  /** A piece of data has arrived while {@link isFlowing}. @param isLast whether END_STREAM has arrived with it */
  data(piece: Buffer, isLast = false): void {
    if (isLast) this.#dataEnd = 'whole'
    this.#isHandingOn = true
    this.call.data(piece, isLast)
    this.#isHandingOn = false
  }

  /** A piece of data has arrived while the flow isn't flowing. Its bytes must not change. */
  hold(piece: Buffer): void {
    this.#held ??= new KeptPieces()
    this.#held.add(piece)
  }

  /** The same as {@link hold}, for a part of a chunk that was read. */
  holdPart(bytes: Buffer, start: number, end: number): void {
    this.#held ??= new KeptPieces()
    this.#held.addPart(bytes, start, end)
  }

  onTrailers(headers: IncomingHttpHeaders, raw: readonly string[]): void {
    this.#trailers = { headers, raw }
    this.tunnel?.fail(toTunnelError(this.call, this.#side.streamId, toTunnelProtocolError()))
  }

  /** No more data will arrive. */
  endData(end: DataEnd): void {
    this.#dataEnd = end
    if (end !== 'closed') this.tunnel?.onPeerEnd()
    if (end === 'whole') this.handOn()
  }

  /** Passes held data on while the call accepts it, and then the end. */
  handOn(): void {
    // A reader may pause and resume from inside its callbacks.
    if (this.#isHandingOn || this.#state !== RESPONDED) return
    this.#giveHeld(false)
    if (this.#held === null && this.#dataEnd === 'whole' && !this.call.paused) this.complete()
  }

  #giveHeld(isForced: boolean): void {
    this.#isHandingOn = true
    while (this.#held !== null && this.#state === RESPONDED && (isForced || !this.call.paused)) {
      const piece = this.#held.shift(MAX_HELD_PIECE)
      if (this.#held.size === 0) this.#held = null
      if (piece === null) break
      this.#side.onTaken(piece.length)
      this.call.data(piece)
    }
    this.#isHandingOn = false
  }

  /** The whole response has arrived: held data goes to the call, whether the call is paused or not. */
  complete(): void {
    if (this.#isHandingOn) return
    this.#giveHeld(true)
    if (this.#state !== RESPONDED) return
    this.#move(DONE)
    this.#side.onComplete()
    this.tellOver()
    const trailers = this.#trailers
    this.call.complete(trailers?.headers ?? NO_TRAILERS, trailers?.raw ?? null)
  }

  /**
   * The peer has closed the stream with NO_ERROR and without END_STREAM.
   *
   * @returns whether the response is complete nevertheless: as many bytes have arrived as announced, or it has no
   *   body
   */
  completeByLength(): boolean {
    if (this.#state !== RESPONDED || !hasWholeBody(this, this.#held?.size ?? 0)) return false
    this.complete()
    return true
  }

  /**
   * The stream below a tunnel is gone.
   *
   * @param isQuiet whether the peer has sent no error for the stream, and the connection is open
   * @returns whether both sides of the tunnel have ended properly, and it is closed; if not, nothing was done
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

  /**
   * The stream is gone before the response was complete. Does nothing once the flow is done.
   *
   * @param isQuiet the same as for {@link endTunnel}
   */
  fail(error: DodiciError, isQuiet = false): void {
    const { tunnel } = this
    if (tunnel !== null) {
      this.#move(DONE)
      tunnel.close(toTunnelError(this.call, this.#side.streamId, error), isQuiet)
    } else if (!this.isDone) {
      // Data that came before the failure isn't lost, whether the call is paused or not.
      if (!this.#isHandingOn) this.#giveHeld(true)
      const held = this.#held
      this.cancel()
      if (held !== null) this.#side.onTaken(held.size)
      this.call.attemptFailed(error)
    }
  }

  /** Ends the call, or its tunnel, on behalf of the session's owner. */
  failCall(error: Error): void {
    const { tunnel } = this
    if (tunnel !== null) tunnel.fail(toTunnelError(this.call, this.#side.streamId, error))
    else if (!this.isDone) this.call.fail(error)
  }

  /**
   * The call has ended. A tunnel is ended only if the call has refused it: an accepted one belongs to whoever
   * accepted it.
   */
  cancel(): void {
    this.#move(this.isAnswered ? DONE : DONE_UNANSWERED)
    this.#held = null
  }

  /** Tells the session once nothing more can arrive. */
  tellOver(): void {
    if (this.isDone && this.#side.isClosed) this.#side.onOver()
  }

  #move(state: FlowState): void {
    this.#state = state
  }
}

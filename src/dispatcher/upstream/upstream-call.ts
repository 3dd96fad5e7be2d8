/**
 * One request, and the upstreams that it is sent to.
 *
 * @module
 */

import type { Duplex } from 'node:stream'
import type { DispatchController, DispatchHandler } from '../../../types/handler.ts'
import type { IncomingHttpHeaders } from '../../../types/headers.ts'
import type { DispatchOptions, RequestPriority } from '../../../types/request.ts'
import { DodiciError, RequestTimeoutError, TunnelRefusedError, toError } from '../../errors/errors.ts'
import { BalancedPoolMissingUpstreamError } from '../../errors/undici-errors.ts'
import type { KeptIterable } from '../../request/kept-source.ts'
import { endUnsentBody } from '../../request/unsent-body.ts'
import type { CallResult } from './ejection.ts'
import { isForFree, isUpstreamFailure, mayFailOver, toProcessed } from './failure.ts'
import { toKeptIterable } from './kept-body.ts'
import { isRedirection } from './redirects.ts'
import { TOO_MANY_REQUESTS, toGrpcStatus, toOverload } from './response-status.ts'
import type { RetryBudget } from './retry-budget.ts'
import type { Upstream } from './upstream.ts'
import type { ControlledUpstreamCall } from './upstream-controller.ts'
import { UpstreamController } from './upstream-controller.ts'
import type { UpstreamSet } from './upstream-set.ts'

/** No response has arrived. */
const UNHEARD = -1

/** Where calls wait. */
export interface CallWaitingRoom {
  /** @throws the call's error if there is no point in waiting */
  wait(call: UpstreamCall, options: DispatchOptions): void
  /** The call has ended. */
  unwait(call: UpstreamCall): void
}

/** Learns about upstreams' redirects. */
export interface CallRedirects {
  record(options: DispatchOptions, headers: IncomingHttpHeaders): void
  /** Tells a handler that the response with these headers has ended: it may follow the redirect at once. */
  tellEnd(headers: IncomingHttpHeaders, handler: DispatchHandler, tell: () => void): void
}

/** What a call needs from its UpstreamPool. */
export interface UpstreamCallOwner {
  readonly upstreams: UpstreamSet
  /** The budget for all calls' retries. */
  readonly budget: RetryBudget
  /** Where calls wait until an upstream is known; null if the caller named all of them. */
  readonly discoveries: CallWaitingRoom | null
  /** Where redirects lead; null: to upstreams. */
  readonly redirects: CallRedirects | null
  /**
   * How often Pools have resent calls that a server may have acted on, this call or others. Null if that isn't known,
   * because the dispatchers are the caller's.
   */
  repeats: number | null
  /** Statuses that count as an upstream's failure. */
  readonly failureStatuses: ReadonlySet<number>
  /** How many other upstreams a failed request may be sent to. */
  readonly maxRetries: number
  /** The longest time for which an upstream that asks for no calls is obeyed, in milliseconds. */
  readonly maxOverload: number
  /** Whether a request that an upstream may have acted on may be sent to another one, if that does no harm. */
  readonly replaySafe: boolean
  /** The limit for a request that sets none itself, in milliseconds; 0: none. */
  readonly requestTimeout: number
  /** How many bytes of a body that can be read only once may be kept for other upstreams. */
  readonly maxReplayBuffer: number
  /** Whether calls may be sent to other upstreams, because the UpstreamPool isn't destroyed. */
  readonly mayRetry: boolean
  /** A call has ended. Called once for each. */
  onCallSettled(): void
}

/**
 * - `waiting`: no part of a response has arrived
 * - `responded`: the caller's handler has got a header section: no other upstream can get the request any more
 * - `settled`: the handler has been told the end
 */
type UpstreamCallState = 'waiting' | 'responded' | 'settled'

/** A call's attempts before the current one. */
interface FailedAttempts {
  readonly upstreams: readonly Upstream[]
  /** How many of them cost their upstream something. */
  readonly retries: number
  /** How many streams they had in total. */
  readonly streams: number
  /** Whether one of the upstreams may have acted on the request. */
  readonly mayBeProcessed: boolean
}

/**
 * Stands between the caller's handler and the upstreams' calls. It is the handler of each of these, one after the
 * other; the caller's handler sees one call. What the dispatcher from a caller's `factory` reports after the end is
 * ignored.
 */
export class UpstreamCall implements DispatchHandler, ControlledUpstreamCall {
  /** The controller that the caller's handler gets. */
  readonly #controller = new UpstreamController(this)
  readonly #owner: UpstreamCallOwner
  readonly #handler: DispatchHandler
  #options: DispatchOptions
  /** The options with the body as the caller passed it. */
  readonly #unsent: DispatchOptions
  /** The body, if it can be read only once and is kept for other upstreams; null for any other body. */
  readonly #kept: KeptIterable | null
  #state: UpstreamCallState = 'waiting'
  /** The upstream that has the call now; null when its part is over. */
  #upstream: Upstream | null = null
  /** Null until an attempt has failed and another one follows. */
  #failed: FailedAttempts | null = null
  /** The owner's `repeats` when the current upstream got the call. */
  #repeats: number | null = 0
  /** When the current upstream got it, in the clock's milliseconds. */
  #sentAt: number
  /** The current upstream's response, as `endResponse()` takes it; {@link UNHEARD} if none has arrived. */
  #response = UNHEARD
  /** The current attempt's number as a probe of its upstream; 0 if it isn't one. */
  #probe = 0
  /** The current upstream's ejections when it got the call. */
  #ejections = 0
  /** What was reported about the call to the current upstream's health; null if nothing was. */
  #judged: CallResult | null = null
  /** Whether the handler was told about the controller. */
  #hasStarted = false
  /** The response's headers, if it is a redirect that the handler may follow; null if it isn't. */
  #redirect: IncomingHttpHeaders | null = null

  constructor(owner: UpstreamCallOwner, options: DispatchOptions, handler: DispatchHandler) {
    this.#owner = owner
    this.#unsent = options
    this.#kept = toKeptIterable(options, options.maxReplayBuffer ?? owner.maxReplayBuffer)
    this.#options = this.#kept === null ? options : { ...options, body: this.#kept }
    this.#handler = handler
    this.#sentAt = owner.upstreams.now()
  }

  /**
   * Sends the request to an upstream.
   *
   * @throws MissingUpstreamError if there is none, and the error for an invalid request: the handler wasn't told about
   *   it
   */
  start(): boolean {
    this.#owner.budget.deposit(this.#sentAt)
    try {
      const upstream = this.#owner.upstreams.choose(this.#options, null, this.#sentAt)
      if (upstream !== null) return this.#send(upstream, this.#sentAt)
      if (this.#wait()) return true
      throw new BalancedPoolMissingUpstreamError('No upstream has been added to the UpstreamPool')
    } catch (thrown) {
      // A caller's dispatcher may throw after it has told the handler.
      if (this.#state === 'settled') return true
      this.#settle()
      throw thrown
    }
  }

  get formerAttempts(): number {
    return this.#failed?.streams ?? 0
  }

  /** An upstream is known by now. */
  begin(): void {
    // The handler of a call that began before it, in the same turn, may have aborted it.
    if (this.#state === 'settled') return
    const now = this.#owner.upstreams.now()
    const options = toRemaining(this.#options, this.#owner.requestTimeout, now - this.#sentAt)
    try {
      if (options === null) throw new RequestTimeoutError('No upstream was found within requestTimeout')
      this.#options = options
      // It may have to wait once more: that time counts from here.
      this.#sentAt = now
      const upstream = this.#owner.upstreams.choose(options, null, now)
      if (upstream !== null) this.#send(upstream, now)
      else if (!this.#wait())
        throw new BalancedPoolMissingUpstreamError('The UpstreamPool has no upstreams left')
    } catch (thrown) {
      this.abandon(toError(thrown))
    }
  }

  /** Sends the request to a particular upstream: it is a repetition, which the budget allows. */
  startAt(upstream: Upstream, now: number): void {
    try {
      this.#send(upstream, now)
    } catch (thrown) {
      this.#report(toError(thrown))
    }
  }

  /** No upstream got the request: none was known in time, or it was aborted before that. Nothing has read the body. */
  abandon(error: Error): void {
    endUnsentBody(this.#unsent, error)
    this.#report(error)
  }

  onAbort(reason: Error): void {
    if (this.#owner.discoveries === null || this.#upstream !== null || this.#state !== 'waiting') return
    this.#owner.discoveries.unwait(this)
    this.abandon(reason)
  }

  get isSettled(): boolean {
    return this.#state === 'settled'
  }

  /** The upstream that has the call now; null when its part is over. */
  get upstream(): Upstream | null {
    return this.#upstream
  }

  /** Whether no upstream has failed and been followed by another one. */
  get isFirst(): boolean {
    return this.#failed === null
  }

  /** The handler that was dispatched. */
  protected get dispatched(): DispatchHandler {
    return this.#handler
  }

  /** Whether the call may be sent to another upstream. */
  protected get mayRetry(): boolean {
    return this.#owner.mayRetry
  }

  /** How long the current attempt takes at least, if its caller cancels it after this time. */
  protected toWholeTime(elapsed: number): number {
    return elapsed
  }

  /** The call has ended. Called once. */
  protected onSettled(): void {
    this.#owner.onCallSettled()
  }

  onReprioritize(priority: RequestPriority): void {
    this.#options = { ...this.#options, priority }
  }

  onRequestStart(controller: DispatchController, context: unknown): void {
    if (this.#state === 'settled') return
    if (!UpstreamController.follow(this.#controller, controller) || this.#hasStarted) return
    this.#hasStarted = true
    this.#handler.onRequestStart?.(this.#controller, context)
  }

  onResponseStarted(): void {
    if (this.#state !== 'settled') this.#handler.onResponseStarted?.()
  }

  onResponseStart(
    _controller: DispatchController,
    statusCode: number,
    headers: IncomingHttpHeaders,
    statusMessage?: string,
  ): void {
    if (this.#state === 'settled') return
    this.#state = 'responded'
    if (statusCode >= 200) this.#measure(statusCode, headers)
    if (isRedirection(statusCode)) this.#recordRedirect(headers)
    this.#handler.onResponseStart?.(this.#controller, statusCode, headers, statusMessage)
  }

  onResponseData(_controller: DispatchController, chunk: Buffer): void {
    if (this.#state !== 'settled') this.#handler.onResponseData?.(this.#controller, chunk)
  }

  onResponseEnd(_controller: DispatchController, trailers: IncomingHttpHeaders): void {
    if (this.#state === 'settled') return
    const status = toGrpcStatus(trailers)
    if (status !== null && this.#judged !== 'failure') this.#recordStatus(status, trailers)
    this.#leave('success')
    this.#settle()
    if (this.#redirect !== null) this.#tellRedirectEnd(this.#redirect, trailers)
    else this.#handler.onResponseEnd?.(this.#controller, trailers)
  }

  onRequestUpgrade(
    _controller: DispatchController,
    statusCode: number,
    headers: IncomingHttpHeaders,
    socket: Duplex,
  ): void {
    if (this.#state === 'settled') {
      socket.destroy()
      return
    }
    const upstream = this.#upstream
    this.#measure(statusCode, headers)
    this.#leave('success')
    // A socket that an interceptor passes on late may be closed: then `close` isn't emitted again.
    if (upstream !== null && !socket.closed) {
      const tunnel = upstream.openTunnel(this.#owner.upstreams.now())
      socket.once('close', () => upstream.endResponse(tunnel))
    }
    this.#settle()
    this.#handler.onRequestUpgrade?.(this.#controller, statusCode, headers, socket)
  }

  onResponseError(_controller: DispatchController, error: Error): void {
    const wasWaiting = this.#state === 'waiting'
    const failed = this.#upstream
    this.#fail(error)
    if (failed !== null && wasWaiting && this.#failOver(failed, error)) return
    this.#report(error)
  }

  /**
   * Waits for the first upstream, if sources may provide one. The handler gets its controller: it may abort the call.
   *
   * @returns false if there is no source
   */
  #wait(): boolean {
    const { discoveries } = this.#owner
    if (discoveries === null) return false
    discoveries.wait(this, this.#options)
    if (this.#hasStarted) return true
    this.#hasStarted = true
    try {
      this.#handler.onRequestStart?.(this.#controller, null)
    } catch (thrown) {
      discoveries.unwait(this)
      endUnsentBody(this.#unsent, toError(thrown))
      throw thrown
    }
    return true
  }

  #recordRedirect(headers: IncomingHttpHeaders): void {
    const { redirects } = this.#owner
    if (redirects === null) return
    this.#redirect = headers
    redirects.record(this.#options, headers)
  }

  #tellRedirectEnd(headers: IncomingHttpHeaders, trailers: IncomingHttpHeaders): void {
    this.#owner.redirects?.tellEnd(headers, this.dispatched, () => {
      this.#handler.onResponseEnd?.(this.#controller, trailers)
    })
  }

  /**
   * @returns the dispatcher's return value
   * @throws what the dispatcher throws
   */
  #send(upstream: Upstream, now: number): boolean {
    const { upstreams, repeats } = this.#owner
    this.#upstream = upstream
    UpstreamController.unfollow(this.#controller)
    this.#sentAt = now
    this.#judged = null
    this.#repeats = repeats
    this.#probe = upstream.ejection.isHealthy ? 0 : upstream.ejection.begin(now, upstreams.toPatience(now))
    this.#ejections = upstream.ejection.ejections
    upstream.send(now)
    this.#response = UNHEARD
    try {
      return upstream.dispatch(this.#options, this)
    } catch (thrown) {
      this.#leave('none')
      throw thrown
    }
  }

  /** The final response's header section has arrived. */
  #measure(statusCode: number, headers: IncomingHttpHeaders): void {
    const upstream = this.#upstream
    if (upstream === null) return
    const now = this.#owner.upstreams.now()
    if (this.#response === UNHEARD) this.#response = upstream.hear(now)
    if (this.#recordStatus(toGrpcStatus(headers) ?? statusCode, headers)) return
    // A response may take for ever, and a probe must come to an end. For other calls, the end counts: an upstream that
    // dies in the middle of each response is ejected.
    if (!upstream.ejection.isHealthy) this.#judge('success', now)
    const elapsed = now - this.#sentAt
    upstream.recordResponse(elapsed, now)
    this.#owner.upstreams.recordLatency(elapsed, now)
  }

  /**
   * A status has arrived, in the header section or, for gRPC, in the trailer section.
   *
   * @returns whether it is a sign of failure or overload: then it has been recorded for the upstream
   */
  #recordStatus(status: number, fields: IncomingHttpHeaders): boolean {
    const upstream = this.#upstream
    const { failureStatuses, upstreams, maxOverload } = this.#owner
    const isFailure = failureStatuses.has(status)
    const overload = toOverload(status, fields)
    if (upstream === null || (!isFailure && status !== TOO_MANY_REQUESTS && overload === null)) return false
    const now = upstreams.now()
    if (overload !== null) upstream.recordOverload(Math.min(overload, maxOverload), now)
    upstream.recordFailure(now - this.#sentAt, upstreams.toUsualLatency(now), now)
    if (isFailure) this.#judge('failure', now)
    return true
  }

  /** The attempt has failed, or was aborted. */
  #fail(error: Error): void {
    const upstream = this.#upstream
    if (upstream === null) return
    const { upstreams } = this.#owner
    const now = upstreams.now()
    const elapsed = now - this.#sentAt
    const isFailure = !this.#controller.aborted && this.#isFailure(error)
    if (isFailure) upstream.recordFailure(elapsed, upstreams.toUsualLatency(now), now)
    else if (this.#state === 'waiting') upstream.recordWait(this.toWholeTime(elapsed), now)
    this.#leave(isFailure ? 'failure' : 'none')
  }

  #isFailure(error: Error): boolean {
    if (error instanceof TunnelRefusedError) return this.#owner.failureStatuses.has(error.statusCode)
    return isUpstreamFailure(error)
  }

  /** The upstream's part is over. Does nothing if it already was. */
  #leave(result: CallResult): void {
    const upstream = this.#upstream
    if (upstream === null) return
    const isUnheard = this.#response === UNHEARD
    // The usual case doesn't need the time: then one more success says nothing.
    if (result !== 'success' || isUnheard || !upstream.ejection.isFlawless) {
      const now = this.#owner.upstreams.now()
      this.#judge(result, now)
      if (isUnheard) upstream.hearNothing(now)
    }
    if (!isUnheard) upstream.endResponse(this.#response)
    this.#upstream = null
  }

  /** Reports the outcome to the upstream's health, once: after a success, only a failure is reported. */
  #judge(result: CallResult, now: number): void {
    const upstream = this.#upstream
    if (upstream === null || this.#judged === 'failure') return
    if (this.#judged === 'success' && result !== 'failure') return
    this.#judged = result
    const mayEject = result !== 'failure' || this.#owner.upstreams.mayEject(upstream, now)
    upstream.judge(result, this.#probe, this.#ejections, now, mayEject)
    this.#probe = 0
  }

  /**
   * Sends the request to another upstream, if that is allowed.
   *
   * @returns whether it was sent
   */
  #failOver(failed: Upstream, error: Error): boolean {
    const { maxRetries, replaySafe, requestTimeout, upstreams, budget } = this.#owner
    if (this.#controller.aborted || !this.mayRetry || maxRetries === 0) return false
    if (!mayFailOver(this.#options, error, replaySafe) || this.#wasRepeated(error)) return false
    const isFree = isForFree(error)
    const former = this.#failed ?? { upstreams: [], retries: 0, streams: 0, mayBeProcessed: false }
    if (!isFree && former.retries >= maxRetries) return false
    const now = upstreams.now()
    const options = toRemaining(this.#options, requestTimeout, now - this.#sentAt)
    if (options === null) return false
    const tried = [...former.upstreams, failed]
    const next = upstreams.choose(options, tried, now)
    if (next === null || (!isFree && !budget.spend(now))) return false
    this.#options = options
    this.#failed = {
      upstreams: tried,
      retries: former.retries + (isFree ? 0 : 1),
      streams: former.streams + (error instanceof DodiciError ? error.attempts : 0),
      mayBeProcessed: former.mayBeProcessed || toProcessed(error) !== 'no',
    }
    this.startAt(next, now)
    return true
  }

  /** Whether the request may have been sent again already, although a server may have acted on it. */
  #wasRepeated(error: Error): boolean {
    if (!(error instanceof DodiciError) || error.attempts < 2 || error.processed === 'no') return false
    const { repeats } = this.#owner
    return repeats === null || repeats !== this.#repeats
  }

  #report(error: Error): void {
    if (this.#state === 'settled') return
    this.#settle()
    if (error instanceof DodiciError && this.#failed !== null) {
      error.attempts += this.#failed.streams
      if (this.#failed.mayBeProcessed && error.processed === 'no') error.processed = 'maybe'
    }
    this.#handler.onResponseError?.(this.#controller, error)
  }

  #settle(): void {
    if (this.#state === 'settled') return
    this.#state = 'settled'
    this.#kept?.stop()
    this.onSettled()
  }
}

/**
 * The options with the remaining time of `requestTimeout`; null if none remains.
 *
 * @param limit the limit for a request without its own
 */
export function toRemaining(
  options: DispatchOptions,
  limit: number,
  elapsed: number,
): DispatchOptions | null {
  const whole = options.requestTimeout ?? limit
  if (whole === 0) return options
  const requestTimeout = whole - elapsed
  return requestTimeout > 0 ? { ...options, requestTimeout } : null
}

/** A call whose handler is told about the request's body, too: calls without these callbacks don't pay for them. */
class SendingUpstreamCall extends UpstreamCall {
  readonly #target: DispatchHandler

  constructor(owner: UpstreamCallOwner, options: DispatchOptions, handler: DispatchHandler) {
    super(owner, options, handler)
    this.#target = handler
  }

  onBodySent(chunk: Buffer): void {
    this.#target.onBodySent?.(chunk)
  }

  onRequestSent(): void {
    this.#target.onRequestSent?.()
  }
}

/** Creates a call, of the kind that its handler needs. Parameters as in {@link UpstreamCall}. */
export function toUpstreamCall(
  owner: UpstreamCallOwner,
  options: DispatchOptions,
  handler: DispatchHandler,
): UpstreamCall {
  const hearsOfBody = handler.onBodySent !== undefined || handler.onRequestSent !== undefined
  return new (hearsOfBody ? SendingUpstreamCall : UpstreamCall)(owner, options, handler)
}

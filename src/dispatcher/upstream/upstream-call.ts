/**
 * One request, and the upstreams that it is sent to.
 *
 * @module
 */

import type { Duplex } from 'node:stream'
import type { DispatchController, DispatchHandler } from '../../../types/handler.ts'
import type { IncomingHttpHeaders } from '../../../types/headers.ts'
import type { DispatchOptions, RequestPriority } from '../../../types/request.ts'
import { DodiciError, TunnelRefusedError, toError } from '../../errors/errors.ts'
import { BalancedPoolMissingUpstreamError } from '../../errors/undici-errors.ts'
import type { KeptIterable } from '../../request/kept-source.ts'
import type { CallResult } from './ejection.ts'
import { isUpstreamFailure, mayFailOver, toProcessed } from './failure.ts'
import { toKeptIterable } from './kept-body.ts'
import type { Upstream } from './upstream.ts'
import type { ControlledUpstreamCall } from './upstream-controller.ts'
import { UpstreamController } from './upstream-controller.ts'
import type { UpstreamSet } from './upstream-set.ts'

/** What a call asks of its UpstreamPool. */
export interface UpstreamCallOwner {
  readonly upstreams: UpstreamSet
  /** Statuses that count as failures of an upstream. */
  readonly failureStatuses: ReadonlySet<number>
  /** To how many further upstreams a failed request may be sent. */
  readonly maxRetries: number
  /** Whether a request that an upstream may have acted on may be sent to another one, where that does no harm. */
  readonly replaySafe: boolean
  /** The limit of a request that sets none itself; 0: none. Milliseconds. */
  readonly requestTimeout: number
  /** How much of a body that can be read once may be kept for further upstreams. Bytes. */
  readonly maxReplayBuffer: number
  /** Whether calls may be sent to further upstreams: the UpstreamPool isn't destroyed. */
  readonly mayRetry: boolean
  /** A call has ended. Called once for each. */
  onCallSettled(): void
}

/**
 * - `waiting`: no part of a response has come
 * - `responded`: the caller's handler has got a header section: no other upstream can get the request any more
 * - `settled`: the handler has heard the end
 */
type UpstreamCallState = 'waiting' | 'responded' | 'settled'

/**
 * Stands between the caller's handler and the calls of the upstreams. It is the handler of each of these, one after
 * the other; the caller's handler hears of one call.
 */
export class UpstreamCall implements DispatchHandler, ControlledUpstreamCall {
  /** What the caller's handler gets. */
  readonly #controller = new UpstreamController(this)
  readonly #owner: UpstreamCallOwner
  readonly #handler: DispatchHandler
  #options: DispatchOptions
  /** The body, where it can be read once and is kept for further upstreams; null for any other body. */
  readonly #kept: KeptIterable | null
  #state: UpstreamCallState = 'waiting'
  /** The one that has the call now; null when its part is over. */
  #upstream: Upstream | null = null
  /** Those whose calls failed; null: none. */
  #tried: Upstream[] | null = null
  /** When the call began, and when the present upstream got it. Milliseconds of the clock. */
  readonly #beganAt: number
  #sentAt: number
  /** No response has come from the present upstream. */
  #isUnheard = false
  /** The present attempt probes its upstream. */
  #isProbe = false
  /** The ejections of the present upstream when it got the call. */
  #ejections = 0
  /** What the health of the present upstream was told of the call; null: nothing. */
  #judged: CallResult | null = null
  /** The handler was told of the controller. */
  #hasStarted = false
  /** Streams of the attempts that failed. */
  #attempts = 0
  /** One of the upstreams that failed may have acted on the request. */
  #mayBeProcessed = false

  constructor(owner: UpstreamCallOwner, options: DispatchOptions, handler: DispatchHandler) {
    this.#owner = owner
    this.#kept = toKeptIterable(options, options.maxReplayBuffer ?? owner.maxReplayBuffer)
    this.#options = this.#kept === null ? options : { ...options, body: this.#kept }
    this.#handler = handler
    this.#beganAt = owner.upstreams.now()
    this.#sentAt = this.#beganAt
  }

  /**
   * Sends the request to an upstream.
   *
   * @throws MissingUpstreamError when there is none, and the error of a bad request: the handler wasn't told of it
   */
  start(): boolean {
    try {
      const upstream = this.#owner.upstreams.choose(this.#options, null, this.#beganAt)
      if (upstream !== null) return this.#send(upstream, this.#beganAt)
      throw new BalancedPoolMissingUpstreamError('No upstream has been added to the UpstreamPool')
    } catch (thrown) {
      // A dispatcher of the caller's may throw after it has told the handler.
      if (this.#state === 'settled') return true
      this.#settle()
      throw thrown
    }
  }

  get isSettled(): boolean {
    return this.#state === 'settled'
  }

  onReprioritize(priority: RequestPriority): void {
    this.#options = { ...this.#options, priority }
  }

  onRequestStart(controller: DispatchController, context: unknown): void {
    if (!UpstreamController.follow(this.#controller, controller) || this.#hasStarted) return
    this.#hasStarted = true
    this.#handler.onRequestStart?.(this.#controller, context)
  }

  onBodySent(chunk: Buffer): void {
    this.#handler.onBodySent?.(chunk)
  }

  onRequestSent(): void {
    this.#handler.onRequestSent?.()
  }

  onResponseStarted(): void {
    this.#handler.onResponseStarted?.()
  }

  onResponseStart(
    _controller: DispatchController,
    statusCode: number,
    headers: IncomingHttpHeaders,
    statusMessage?: string,
  ): void {
    this.#state = 'responded'
    if (statusCode >= 200) this.#measure(this.#owner.failureStatuses.has(statusCode))
    this.#handler.onResponseStart?.(this.#controller, statusCode, headers, statusMessage)
  }

  onResponseData(_controller: DispatchController, chunk: Buffer): void {
    this.#handler.onResponseData?.(this.#controller, chunk)
  }

  onResponseEnd(_controller: DispatchController, trailers: IncomingHttpHeaders): void {
    this.#leave('success')
    this.#settle()
    this.#handler.onResponseEnd?.(this.#controller, trailers)
  }

  onRequestUpgrade(
    _controller: DispatchController,
    statusCode: number,
    headers: IncomingHttpHeaders,
    socket: Duplex,
  ): void {
    const upstream = this.#upstream
    this.#measure(false)
    this.#leave('success')
    // One that an interceptor hands on late may be closed: then its `close` doesn't come again.
    if (upstream !== null && !socket.closed) {
      // The tunnel outlives the call, and is load all the same.
      upstream.inFlight++
      socket.once('close', () => upstream.inFlight--)
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

  /** @returns the value of the dispatcher @throws what the dispatcher throws */
  #send(upstream: Upstream, now: number): boolean {
    this.#upstream = upstream
    UpstreamController.unfollow(this.#controller)
    this.#sentAt = now
    this.#judged = null
    this.#isProbe = upstream.ejection.begin(now)
    this.#ejections = upstream.ejection.ejections
    upstream.send(now)
    this.#isUnheard = true
    try {
      return upstream.dispatch(this.#options, this)
    } catch (thrown) {
      this.#leave('none')
      throw thrown
    }
  }

  /** The header section of the final response has come. */
  #measure(isFailure: boolean): void {
    const upstream = this.#upstream
    if (upstream === null) return
    const now = this.#owner.upstreams.now()
    const elapsed = now - this.#sentAt
    this.#hear(upstream, now)
    if (isFailure) {
      upstream.latency.recordFailure(elapsed, now)
      this.#judge('failure', now)
      return
    }
    // What it was like before its ejection means nothing any more.
    if (this.#isProbe) upstream.latency.reset()
    upstream.latency.record(elapsed, now)
    // A response may take for ever, and a probe must come to an end. Of another call the end counts: an upstream that
    // dies in the middle of each response is ejected.
    if (!upstream.ejection.isHealthy) this.#judge('success', now)
  }

  /** The attempt has failed, or was aborted. */
  #fail(error: Error): void {
    const upstream = this.#upstream
    if (upstream === null) return
    const now = this.#owner.upstreams.now()
    const elapsed = now - this.#sentAt
    const isFailure = !this.#controller.aborted && this.#isFailure(error)
    if (isFailure) upstream.latency.recordFailure(elapsed, now)
    else if (this.#state === 'waiting') upstream.latency.recordAtLeast(elapsed, now)
    this.#leave(isFailure ? 'failure' : 'none')
  }

  #isFailure(error: Error): boolean {
    if (error instanceof TunnelRefusedError) return this.#owner.failureStatuses.has(error.statusCode)
    return isUpstreamFailure(error)
  }

  /** The upstream's part is over. A no-op when it was already. */
  #leave(result: CallResult): void {
    const upstream = this.#upstream
    if (upstream === null) return
    const now = this.#owner.upstreams.now()
    this.#judge(result, now)
    this.#hear(upstream, now)
    upstream.inFlight--
    this.#upstream = null
  }

  #hear(upstream: Upstream, now: number): void {
    if (this.#isUnheard) upstream.hear(now)
    this.#isUnheard = false
  }

  /** Tells the upstream's health of the outcome, once: only a failure is told after a success. */
  #judge(result: CallResult, now: number): void {
    const upstream = this.#upstream
    if (upstream === null || this.#judged === 'failure') return
    if (this.#judged === 'success' && result !== 'failure') return
    this.#judged = result
    if (result === 'failure') upstream.failures++
    upstream.ejection.record(result, this.#isProbe, this.#ejections, now)
    this.#isProbe = false
  }

  /** Sends the request to another upstream, if it may be sent there. @returns whether it was */
  #failOver(failed: Upstream, error: Error): boolean {
    const { maxRetries, replaySafe, mayRetry, upstreams } = this.#owner
    if (this.#controller.aborted || !mayRetry || (this.#tried?.length ?? 0) >= maxRetries) return false
    if (!mayFailOver(this.#options, error, replaySafe)) return false
    const now = upstreams.now()
    const options = this.#toRemaining(now)
    if (options === null) return false
    this.#tried ??= []
    this.#tried.push(failed)
    const next = upstreams.choose(options, this.#tried, now)
    if (next === null) return false
    this.#options = options
    this.#mayBeProcessed ||= toProcessed(error) !== 'no'
    if (error instanceof DodiciError) this.#attempts += error.attempts
    try {
      this.#send(next, now)
    } catch (thrown) {
      this.#report(toError(thrown))
    }
    return true
  }

  /** The options with what is left of `requestTimeout`; null when nothing is. */
  #toRemaining(now: number): DispatchOptions | null {
    const limit = this.#options.requestTimeout ?? this.#owner.requestTimeout
    if (limit === 0) return this.#options
    const requestTimeout = limit - (now - (this.#tried === null ? this.#beganAt : this.#sentAt))
    return requestTimeout > 0 ? { ...this.#options, requestTimeout } : null
  }

  #report(error: Error): void {
    if (this.#state === 'settled') return
    this.#settle()
    if (error instanceof DodiciError) {
      error.attempts += this.#attempts
      if (this.#mayBeProcessed && error.processed === 'no') error.processed = 'maybe'
    }
    this.#handler.onResponseError?.(this.#controller, error)
  }

  #settle(): void {
    if (this.#state === 'settled') return
    this.#state = 'settled'
    this.#kept?.stop()
    this.#owner.onCallSettled()
  }
}

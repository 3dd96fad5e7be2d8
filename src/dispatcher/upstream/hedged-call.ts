/**
 * One request, and a second attempt at it if the first is late.
 *
 * @module
 */

import type { Duplex } from 'node:stream'
import type { DispatchController, DispatchHandler } from '../../../types/handler.ts'
import type { IncomingHttpHeaders } from '../../../types/headers.ts'
import type { DispatchOptions, RequestPriority } from '../../../types/request.ts'
import { CallerContext } from '../../core/caller-context.ts'
import type { Deadlines, Timed } from '../../core/clock.ts'
import { upstreamChannels } from '../../core/diagnostics.ts'
import { DodiciError, RequestAbortedError, RequestTimeoutError, toError } from '../../errors/errors.ts'
import { isReplayableBody, isSafeToRepeat, toProcessed } from './failure.ts'
import type { UpstreamCallOwner } from './upstream-call.ts'
import { toRemaining, UpstreamCall } from './upstream-call.ts'
import type { ControlledUpstreamCall } from './upstream-controller.ts'
import { UpstreamController } from './upstream-controller.ts'

/** The reason for aborting the attempt that has lost. */
const LOST = 'Another upstream responded first'

/**
 * Whether a second attempt at a request may begin while the first one runs: both must be able to read its body at once.
 */
export function mayHedge(options: DispatchOptions): boolean {
  return isSafeToRepeat(options) && isReplayableBody(options.body)
}

/**
 * Stands between the caller's handler and one or two calls, its attempts. The first one with a response wins, and the
 * caller's handler sees only that one; the other one is aborted. Each attempt counts for its upstream like any other
 * call.
 *
 * While one attempt runs, a failure of the other one fails nothing. The second attempt is the call's only repetition:
 * neither of them goes to another upstream.
 *
 * It is the async context in which it was dispatched: the second attempt begins in that context.
 */
export class HedgedCall extends CallerContext implements ControlledUpstreamCall, Timed {
  deadline = Number.POSITIVE_INFINITY
  listIndex = -1
  readonly handler: DispatchHandler
  /** The controller that the caller's handler gets. */
  readonly #controller = new UpstreamController(this)
  readonly #owner: UpstreamCallOwner
  readonly #deadlines: Deadlines
  readonly #startedAt: number
  readonly #delay: number
  readonly #first: Attempt
  /** Null unless the first is late. */
  #second: Attempt | null = null
  /** The attempt that the handler sees; null until one has begun to receive a response. */
  #winner: Attempt | null = null
  /** The attempt to which the caller's controller applies; null if no remaining attempt has begun. */
  #followed: Attempt | null = null
  /** The error of the attempt that isn't reported, if a server may have acted on it; null otherwise. */
  #failure: Error | null = null
  /** The number of streams that the unreported attempt had. */
  #streams = 0
  #options: DispatchOptions
  #hasStarted = false
  #isSettled = false
  /** How many attempts haven't been settled by their upstreams yet. */
  #running = 1

  /**
   * @param deadlines the deadlines of all hedged calls
   * @param delay after how many milliseconds the first attempt is late
   */
  constructor(
    owner: UpstreamCallOwner,
    deadlines: Deadlines,
    options: DispatchOptions,
    handler: DispatchHandler,
    delay: number,
  ) {
    super()
    this.handler = handler
    this.#owner = owner
    this.#deadlines = deadlines
    this.#options = options
    this.#delay = delay
    this.#startedAt = owner.upstreams.now()
    this.#first = new Attempt(this, owner, options, true)
  }

  get isSettled(): boolean {
    return this.#isSettled
  }

  get formerAttempts(): number {
    return this.#streams
  }

  /** The remaining attempt hasn't begun: it is aborted as soon as it does. */
  onAbort(reason: Error): void {
    this.#first.isOver = true
    if (this.#second !== null) this.#second.isOver = true
    this.#report(reason)
  }

  /** The handler has thrown: that ends the call, and no attempt outlives it. */
  onThrown(thrown: unknown): void {
    this.#controller.abort(toError(thrown))
  }

  /** Whether a failed attempt may go to another upstream. */
  get mayFailOver(): boolean {
    return this.#second === null && this.#owner.mayRetry
  }

  /** Begins the first attempt. Returns and throws what `start()` of an {@link UpstreamCall} does. */
  start(): boolean {
    this.#deadlines.set(this, this.#startedAt + this.#delay, this.#startedAt)
    return this.#first.call.start()
  }

  /** Whether a call belongs to the first attempt, and the second has responded before it. */
  hasLost(call: UpstreamCall): boolean {
    return call === this.#first.call && this.#winner !== null && this.#winner === this.#second
  }

  onReprioritize(priority: RequestPriority): void {
    this.#options = { ...this.#options, priority }
    const other = this.#followed === this.#second ? this.#first : this.#second
    if (other?.isRunning === true) other.controller?.reprioritize?.(priority)
  }

  /** The first attempt is late. */
  onDeadline(): void {
    this.runInAsyncScope(this.#hedge, this)
  }

  #hedge(): void {
    const { upstreams, budget, mayRetry, requestTimeout } = this.#owner
    const { upstream, isFirst } = this.#first.call
    // A call whose upstream has failed was already sent again.
    if (upstream === null || !isFirst || !mayRetry || this.#controller.aborted) return
    const now = upstreams.now()
    const options = toRemaining(this.#options, requestTimeout, now - this.#startedAt)
    if (options === null) return
    const next = upstreams.choose(options, [upstream], now)
    // An upstream that is left out, or has another priority, is only for a request that has failed. This one hasn't.
    if (next === null || next.priority !== upstream.priority || next.isLeftOut(now)) return
    if (!budget.spend(now)) return
    next.hedges++
    this.#running++
    const second = new Attempt(this, this.#owner, options, false)
    this.#second = second
    if (upstreamChannels.hedge.hasSubscribers) {
      const after = now - this.#startedAt
      upstreamChannels.hedge.publish({ first: upstream.name, second: next.name, after })
    }
    second.call.startAt(next, now)
  }

  /**
   * An attempt has begun. undici's dispatchers report that when they have a connection, so the second may be the first.
   */
  onAttemptStart(attempt: Attempt, controller: DispatchController): void {
    if (this.#isSettled || attempt.isOver) controller.abort(new RequestAbortedError(LOST))
    else if (this.#followed === null) this.#follow(attempt)
  }

  /**
   * From now on, the caller's controller applies to this attempt; the handler gets the controller if it doesn't have it
   * yet. Does nothing if the attempt hasn't begun.
   */
  #follow(attempt: Attempt): void {
    const { controller, context } = attempt
    if (controller === null || attempt === this.#followed) return
    this.#followed = attempt
    if (!UpstreamController.follow(this.#controller, controller) || this.#hasStarted) return
    this.#hasStarted = true
    try {
      this.handler.onRequestStart?.(this.#controller, context)
    } catch (thrown) {
      this.onThrown(thrown)
    }
  }

  /**
   * An attempt receives a response.
   *
   * @returns the controller for the handler; null: the handler isn't told about it
   */
  toWinner(attempt: Attempt): DispatchController | null {
    if (this.#winner === null && !this.#isSettled) this.#win(attempt)
    // What the loser's end has called may have ended the call.
    return attempt === this.#winner && attempt.isRunning ? this.#controller : null
  }

  #win(attempt: Attempt): void {
    this.#winner = attempt
    this.#deadlines.delete(this)
    const second = this.#second
    if (second === null) return
    this.#follow(attempt)
    const { upstream } = second.call
    if (attempt === second && upstream !== null) upstream.hedgeWins++
    this.#cancel(attempt === second ? this.#first : second)
  }

  #cancel(loser: Attempt): void {
    if (!loser.isRunning) return
    if (loser === this.#first) {
      // It took at least as long. Without it, the usual latency would shrink with each second attempt that wins.
      const now = this.#owner.upstreams.now()
      this.#owner.upstreams.recordLatency(now - this.#startedAt, now)
    }
    loser.isOver = true
    loser.controller?.abort(new RequestAbortedError(LOST))
  }

  /** An attempt has failed. */
  onAttemptError(attempt: Attempt, error: Error): void {
    if (attempt.isOver) {
      this.#note(error)
      return
    }
    attempt.isOver = true
    const other = attempt === this.#first ? this.#second : this.#first
    if (this.#winner === null && other?.isRunning === true) {
      // The time for the whole call is over, or the caller has cancelled it.
      if (!this.#controller.aborted && !(error instanceof RequestTimeoutError)) {
        this.#outlive(error, other)
        return
      }
      this.#cancel(other)
    }
    this.#report(error)
  }

  #report(error: Error): void {
    if (!this.#settle()) return
    if (error instanceof DodiciError) {
      error.attempts += this.#streams
      if (error.processed === 'no' && this.#failure !== null) error.processed = toProcessed(this.#failure)
    }
    this.handler.onResponseError?.(this.#controller, error)
  }

  #outlive(error: Error, other: Attempt): void {
    this.#note(error)
    if (this.#followed === other) return
    this.#followed = null
    UpstreamController.unfollow(this.#controller)
    this.#follow(other)
  }

  /** An unreported attempt has ended. */
  #note(error: Error): void {
    if (error instanceof DodiciError) this.#streams += error.attempts
    if (toProcessed(error) !== 'no') this.#failure ??= error
  }

  onAttemptEnd(attempt: Attempt, trailers: IncomingHttpHeaders): void {
    attempt.isOver = true
    if (this.#settle()) this.handler.onResponseEnd?.(this.#controller, trailers)
  }

  /** An attempt's upstream has settled it. The dispatchers stay open until both attempts are settled. */
  onAttemptSettled(): void {
    this.#running--
    if (this.#running > 0) return
    // It may have ended without an event: the request is invalid, or there is no upstream.
    this.#deadlines.delete(this)
    this.#owner.onCallSettled()
  }

  #settle(): boolean {
    if (this.#isSettled) return false
    this.#isSettled = true
    this.#deadlines.delete(this)
    return true
  }
}

/** One attempt, and its call's handler. */
class Attempt implements DispatchHandler {
  readonly call: UpstreamCall
  /** Null until it has begun. */
  controller: DispatchController | null = null
  /** What its dispatcher passes to the handler with the controller. */
  context: unknown = null
  /** Whether it has failed, ended, or lost. */
  isOver = false
  readonly #hedged: HedgedCall

  constructor(hedged: HedgedCall, owner: UpstreamCallOwner, options: DispatchOptions, isFirst: boolean) {
    this.#hedged = hedged
    const { onBodySent, onRequestSent } = hedged.handler
    // The handler is told about the first of the two uploads.
    const hearsOfBody = isFirst && (onBodySent !== undefined || onRequestSent !== undefined)
    this.call = new (hearsOfBody ? SendingAttemptCall : AttemptCall)(hedged, owner, options, this)
  }

  get isRunning(): boolean {
    return !this.isOver
  }

  onRequestStart(controller: DispatchController, context: unknown): void {
    this.controller = controller
    this.context = context
    this.#hedged.onAttemptStart(this, controller)
  }

  onResponseStarted(): void {
    if (this.#hedged.toWinner(this) !== null) this.#hedged.handler.onResponseStarted?.()
  }

  onResponseStart(
    _controller: DispatchController,
    statusCode: number,
    headers: IncomingHttpHeaders,
    statusMessage?: string,
  ): void {
    const controller = this.#hedged.toWinner(this)
    if (controller === null) return
    this.#hedged.handler.onResponseStart?.(controller, statusCode, headers, statusMessage)
  }

  onResponseData(_controller: DispatchController, chunk: Buffer): void {
    const controller = this.#hedged.toWinner(this)
    if (controller !== null) this.#hedged.handler.onResponseData?.(controller, chunk)
  }

  onResponseEnd(_controller: DispatchController, trailers: IncomingHttpHeaders): void {
    if (this.#hedged.toWinner(this) !== null) this.#hedged.onAttemptEnd(this, trailers)
  }

  /** Requests for tunnels aren't hedged, so a dispatcher from a caller's `factory` has opened one unasked. */
  onRequestUpgrade(_controller: DispatchController, _status: number, _fields: object, socket: Duplex): void {
    socket.destroy()
    this.onResponseError(
      _controller,
      new RequestAbortedError('The server opened a tunnel that was not requested'),
    )
  }

  onResponseError(_controller: DispatchController, error: Error): void {
    this.#hedged.onAttemptError(this, error)
  }
}

/** One attempt's call. */
class AttemptCall extends UpstreamCall {
  readonly #hedged: HedgedCall

  constructor(hedged: HedgedCall, owner: UpstreamCallOwner, options: DispatchOptions, attempt: Attempt) {
    super(owner, options, attempt)
    this.#hedged = hedged
  }

  protected override get dispatched(): DispatchHandler {
    return this.#hedged.handler
  }

  protected override get mayRetry(): boolean {
    return this.#hedged.mayFailOver
  }

  /**
   * An attempt that has lost would have taken longer. As much again is a fair guess for what was late once: for a
   * Pareto tail of index 2, it is the mean. Without it, an upstream that is always slow would look no worse than late.
   */
  protected override toWholeTime(elapsed: number): number {
    return this.#hedged.hasLost(this) ? 2 * elapsed : elapsed
  }

  protected override onSettled(): void {
    this.#hedged.onAttemptSettled()
  }
}

/** A call whose handler is told about the request's body, too. */
class SendingAttemptCall extends AttemptCall {
  readonly #hedged: HedgedCall
  readonly #attempt: Attempt

  constructor(hedged: HedgedCall, owner: UpstreamCallOwner, options: DispatchOptions, attempt: Attempt) {
    super(hedged, owner, options, attempt)
    this.#hedged = hedged
    this.#attempt = attempt
  }

  onBodySent(chunk: Buffer): void {
    if (!this.#attempt.isRunning) return
    try {
      this.#hedged.handler.onBodySent?.(chunk)
    } catch (thrown) {
      this.#hedged.onThrown(thrown)
    }
  }

  onRequestSent(): void {
    if (!this.#attempt.isRunning) return
    try {
      this.#hedged.handler.onRequestSent?.()
    } catch (thrown) {
      this.#hedged.onThrown(thrown)
    }
  }
}

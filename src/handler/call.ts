/**
 * One dispatched request for its whole life, over all its attempts.
 *
 * @module
 */

import type { DispatchController, DispatchHandler } from '../../types/handler.ts'
import type { IncomingHttpHeaders } from '../../types/headers.ts'
import type { Deadlines, Timed } from '../core/clock.ts'
import type { RawHeadersSource } from '../core/headers.ts'
import { toRawHeaders } from '../core/headers.ts'
import { invalid } from '../core/options.ts'
import type { Queued } from '../core/pending-queue.ts'
import type { Request } from '../core/request.ts'
import {
  BodyTimeoutError,
  DodiciError,
  HeadersTimeoutError,
  NotSupportedError,
  RequestAbortedError,
  toError,
} from '../errors.ts'

/** One try of a call on one stream, as the call sees it. */
export interface Attempt {
  /** Stops reading: what the peer may still send is bounded by the stream's window. */
  pause(): void
  resume(): void
  /** Resets the stream with CANCEL and lets go of it, at once. Nothing is reported to the call any more. */
  cancel(): void
  /** Null while the stream has no id yet. */
  readonly streamId: number | null
}

/** Who a call belongs to: it has queued it, and hears of its end. */
export interface CallOwner {
  readonly deadlines: Deadlines
  /** An attempt failed without an answer: may there be another one? */
  mayReplay(call: Call, error: DodiciError): boolean
  /** The call is `queued` again. */
  onReplay(call: Call): void
  /** The call has settled, for good or ill; `from` is the state that it was in. */
  onSettled(call: Call, from: CallState): void
}

/**
 * Where a call is. It only moves forward, but for `running → queued` when it is replayed.
 *
 * ```
 * created → queued ⇄ running → receiving → settled      (and from each of them to settled)
 * ```
 *
 * - `created`: the handler is hearing of its controller
 * - `queued`: no stream
 * - `running`: a stream is open, no final answer yet
 * - `receiving`: the answer's header was handed over
 * - `settled`: the handler has heard the end; nothing happens any more
 */
export type CallState = 'created' | 'queued' | 'running' | 'receiving' | 'settled'

/**
 * Owns the handler, is its controller, and settles exactly once. Nobody else touches the handler.
 *
 * A handler that throws fails its own call: the stream is reset, and the handler hears its own error. What
 * `onResponseError` itself throws has nowhere to go and becomes an uncaught exception.
 */
export class Call implements DispatchController, Queued<Call>, Timed {
  readonly request: Request
  readonly sequence: number
  queueNext: Call | null = null
  queuePrevious: Call | null = null
  deadline = Number.POSITIVE_INFINITY
  deadlineIndex = -1
  /** Attempts that ended unprocessed since the owner last made progress. The owner's. */
  fruitless = 0
  /** The owner's progress at the last attempt that ended unprocessed. The owner's. */
  progressMark = 0

  readonly #handler: DispatchHandler
  readonly #owner: CallOwner
  #state: CallState = 'created'
  #attempt: Attempt | null = null
  #attempts = 0
  #streamId: number | null = null
  #paused = false
  #reason: Error | null = null
  /** What raw headers are made of when somebody asks. */
  #headersSource: RawHeadersSource = null
  /** Made on first use. */
  #rawHeaders: string[] | null = null
  #trailersSource: RawHeadersSource = null
  #rawTrailers: string[] | null = null

  constructor(request: Request, handler: DispatchHandler, owner: CallOwner, sequence: number) {
    this.request = request
    this.sequence = sequence
    this.#handler = handler
    this.#owner = owner
  }

  get state(): CallState {
    return this.#state
  }

  get aborted(): boolean {
    return this.#reason !== null
  }

  get paused(): boolean {
    return this.#paused
  }

  get reason(): Error | null {
    return this.#reason
  }

  get rawHeaders(): string[] | null {
    if (this.#rawHeaders === null && this.#headersSource !== null)
      this.#rawHeaders = toRawHeaders(this.#headersSource)
    return this.#rawHeaders
  }

  set rawHeaders(value: RawHeadersSource) {
    this.#headersSource = value ?? null
    this.#rawHeaders = null
  }

  get rawTrailers(): string[] | null {
    if (this.#rawTrailers === null && this.#trailersSource !== null) {
      this.#rawTrailers = toRawHeaders(this.#trailersSource)
    }
    return this.#rawTrailers
  }

  set rawTrailers(value: RawHeadersSource) {
    this.#trailersSource = value ?? null
    this.#rawTrailers = null
  }

  /** Ends the call. A no-op once it has settled. Without a reason it fails with a RequestAbortedError. */
  abort(reason?: Error): void {
    if (this.#state === 'settled') return
    this.#reason = reason ?? new RequestAbortedError()
    this.fail(this.#reason)
  }

  /** Asks for no more body. It may be called at any time; what has been read from the stream may still come. */
  pause(): void {
    if (this.#paused || this.#state === 'settled') return
    this.#paused = true
    if (this.#state === 'receiving') this.#owner.deadlines.set(this, 0)
    this.#attempt?.pause()
  }

  /** Lets the body flow again. */
  resume(): void {
    if (!this.#paused || this.#state === 'settled') return
    this.#paused = false
    if (this.#state === 'receiving') this.#owner.deadlines.set(this, this.request.bodyTimeout)
    this.#attempt?.resume()
  }

  /**
   * Tells the handler of its controller; once, however many attempts follow. True when the call is `queued` then, false
   * when the handler has ended it.
   */
  start(): boolean {
    try {
      this.#handler.onRequestStart?.(this, null)
    } catch (thrown) {
      this.fail(toError(thrown))
    }
    if (this.#state !== 'created') return false
    this.#move('queued')
    const { body } = this.request
    if (body.kind === 'stream') body.watch((error) => this.fail(error))
    return true
  }

  /** A stream was opened for it. */
  begin(attempt: Attempt): void {
    this.#attempt = attempt
    this.#attempts++
    this.#move('running')
    this.#owner.deadlines.set(this, this.request.headersTimeout)
    if (this.#paused) attempt.pause()
  }

  /** Bytes of the body went out: the peer can't be expected to answer yet. */
  progress(): void {
    if (this.#state === 'running') this.#owner.deadlines.set(this, this.request.headersTimeout)
  }

  /** An informational (1xx) or the final answer's header. `raw` is in wire order, pseudo-headers may be in it. */
  respond(statusCode: number, headers: IncomingHttpHeaders, raw: RawHeadersSource): void {
    if (this.#state !== 'running') return
    this.rawHeaders = raw
    if (statusCode >= 200) {
      this.#move('receiving')
      this.#owner.deadlines.set(this, this.#paused ? 0 : this.request.bodyTimeout)
    }
    try {
      this.#handler.onResponseStart?.(this, statusCode, headers, '')
    } catch (thrown) {
      this.fail(toError(thrown))
    }
  }

  /** A piece of the answer's body. */
  data(chunk: Buffer): void {
    if (this.#state !== 'receiving') return
    if (!this.#paused) this.#owner.deadlines.set(this, this.request.bodyTimeout)
    try {
      this.#handler.onResponseData?.(this, chunk)
    } catch (thrown) {
      this.fail(toError(thrown))
    }
  }

  /** The whole answer has come. */
  complete(trailers: IncomingHttpHeaders, raw: RawHeadersSource): void {
    if (this.#state !== 'receiving') return
    this.rawTrailers = raw
    this.#settle()
    try {
      this.#handler.onResponseEnd?.(this, trailers)
    } catch (thrown) {
      this.#report(toError(thrown))
    }
  }

  /** The attempt's stream has ended without a complete answer. */
  attemptFailed(error: DodiciError): void {
    if (this.#state === 'settled') return
    this.#streamId = this.#attempt?.streamId ?? null
    this.#attempt = null
    if (this.#state === 'receiving') {
      error.processed = 'yes'
    } else if (this.#owner.mayReplay(this, error)) {
      this.#owner.deadlines.delete(this)
      this.#move('queued')
      this.#owner.onReplay(this)
      return
    }
    this.fail(error)
  }

  onDeadline(): void {
    const { headersTimeout, bodyTimeout } = this.request
    if (this.#state === 'running') {
      this.fail(
        new HeadersTimeoutError(`No answer within headersTimeout (${headersTimeout} ms)`, {
          processed: 'maybe',
        }),
      )
    } else if (this.#state === 'receiving') {
      this.fail(
        new BodyTimeoutError(`No progress of the body within bodyTimeout (${bodyTimeout} ms)`, {
          processed: 'yes',
        }),
      )
    }
  }

  /** Ends the call with an error, in any state; a no-op once it has settled. */
  fail(error: Error): void {
    if (this.#state === 'settled') return
    const attempt = this.#attempt
    if (error instanceof DodiciError) {
      error.attempts = this.#attempts
      error.streamId = attempt?.streamId ?? this.#streamId
      if (attempt !== null && error.processed === 'no')
        error.processed = this.#state === 'running' ? 'maybe' : 'yes'
    }
    this.#settle()
    attempt?.cancel()
    if (this.request.body.kind === 'stream') this.request.body.destroy(error)
    this.#report(error)
  }

  #report(error: Error): void {
    try {
      this.#handler.onResponseError?.(this, error)
    } catch (thrown) {
      // The handler's last word has failed, so there is nobody left to tell but the process.
      process.nextTick(rethrow, thrown)
    }
  }

  #settle(): void {
    const from = this.#state
    this.#move('settled')
    this.#attempt = null
    this.#owner.deadlines.delete(this)
    this.#owner.onSettled(this, from)
  }

  #move(state: CallState): void {
    this.#state = state
  }
}

function rethrow(thrown: unknown): void {
  throw thrown
}

/**
 * Checks that a handler can hear what a call has to say.
 *
 * @throws InvalidArgumentError that names the method that is missing.
 */
export function checkHandler(handler: unknown): asserts handler is DispatchHandler {
  if (typeof handler !== 'object' || handler === null) throw invalid('handler', handler, 'an object')
  if ('onConnect' in handler && !('onRequestStart' in handler)) {
    throw new NotSupportedError(
      "Handlers of undici 6's and 7's shape (onConnect, onHeaders, …) are not supported yet",
    )
  }
  for (const name of HANDLER_METHODS) {
    const method: unknown = Reflect.get(handler, name)
    if (typeof method !== 'function') throw invalid(`handler.${name}`, method, 'a function')
  }
}

const HANDLER_METHODS = [
  'onRequestStart',
  'onResponseStart',
  'onResponseData',
  'onResponseEnd',
  'onResponseError',
] as const

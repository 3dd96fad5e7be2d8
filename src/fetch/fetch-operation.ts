/**
 * One fetch, from its call to the end of its response body.
 *
 * @module
 */

import type { ReadableStreamLike } from '../../types/body.ts'
import { allowListeners } from '../api/signal.ts'
import { CallerContext } from '../core/caller-context.ts'
import { toListener } from '../core/listener.ts'
import { Dispatcher } from '../dispatcher/dispatcher.ts'
import { rejectAwaited } from '../errors/awaited-stack.ts'
import { toError } from '../errors/errors.ts'
import { ByteStream } from './byte-stream.ts'
import type { ExchangeOwner } from './exchange.ts'
import { Exchange } from './exchange.ts'
import { cancelBody } from './fetch-body.ts'
import type { FetchRequest } from './fetch-request.ts'
import { isBadPort } from './fetch-url.ts'
import { lookAhead } from './look-ahead.ts'
import { toNetworkError } from './network-error.ts'

/**
 * The object that has the signal. A Request is kept for it, because the signal of undici's Request follows the
 * caller's signal only until the Request is garbage-collected.
 */
export interface SignalOwner {
  readonly signal: AbortSignal
}

/** Settles the promise of `fetch()`, once, and listens to the caller's signal until the body is finished. */
export class FetchOperation implements ExchangeOwner {
  readonly #request: FetchRequest
  /** Null without a signal, and once it no longer matters. */
  #signalOwner: SignalOwner | null
  /** The signal's listener; null if there is none. */
  #onAbort: (() => void) | null = null
  /**
   * Null once one of the two was called: each keeps the promise, and the promise keeps the Response, which could then
   * never be garbage-collected.
   */
  #resolve: ((response: Response | Promise<never>) => void) | null
  #reject: ((reason: unknown) => void) | null
  /** Null if the dispatcher uses the caller's context for everything, and no signal can fire in another one. */
  readonly #context: CallerContext | null
  /** The current one; null before the first one, and when there is nothing left to abort. */
  #exchange: Exchange | null = null
  /** The exchange before a redirect, while its body may still arrive. Null for none. */
  #left: Exchange | null = null

  constructor(
    request: FetchRequest,
    signalOwner: SignalOwner | null,
    resolve: (response: Response | Promise<never>) => void,
    reject: (reason: unknown) => void,
  ) {
    this.#request = request
    this.#signalOwner = signalOwner
    this.#resolve = resolve
    this.#reject = reject
    const isCovered = signalOwner === null && request.dispatcher instanceof Dispatcher
    this.#context = isCovered ? null : new CallerContext()
  }

  /** Starts, unless the signal has already fired. */
  start(): void {
    if (this.#listen()) this.send()
  }

  /** Starts with a Request's stream as the body, which is read ahead first: see `lookAhead()`. */
  startWith(stream: ReadableStreamLike): void {
    // The signal is kept in a constant: once it has fired, the operation gives it up.
    const signal = this.#signalOwner?.signal ?? null
    if (!this.#listen()) {
      void new ByteStream(stream).cancel(signal?.reason)
      return
    }
    lookAhead(stream).then(
      (body) => {
        this.#request.body = body
        if (signal?.aborted === true) cancelBody(body, signal.reason)
        else this.send()
      },
      (error) => this.#fail(toError(error)),
    )
  }

  /** Returns false if the signal has already fired. */
  #listen(): boolean {
    const signal = this.#signalOwner?.signal ?? null
    if (signal === null) return true
    if (signal.aborted) {
      this.handleEvent()
      return false
    }
    allowListeners(signal)
    this.#onAbort = toListener(this)
    signal.addEventListener('abort', this.#onAbort, { once: true })
    return true
  }

  /** Sends the request to its current URL, in the caller's context. */
  send(): void {
    if (this.#context === null) this.#send()
    else this.#context.runInAsyncScope(this.#send, this)
  }

  #send(): void {
    // Ending a redirected upload runs the caller's code, which may have aborted the fetch.
    if (this.#reject === null) return
    const { url, cache } = this.#request
    // There is no cache (Fetch, "HTTP-network-or-cache fetch").
    const error = isBadPort(url) ? 'bad port' : cache === 'only-if-cached' ? 'only if cached' : null
    if (error !== null) {
      this.#exchange?.drop()
      this.#fail(new Error(error))
      return
    }
    this.#left?.drop()
    this.#left = this.#exchange
    const exchange = new Exchange(this, this.#request)
    this.#exchange = exchange
    exchange.start()
  }

  resolve(response: Response): void {
    const resolve = this.#resolve
    this.#resolve = null
    this.#reject = null
    resolve?.(response)
  }

  reject(reason: unknown): void {
    const resolve = this.#resolve
    const reject = this.#reject
    this.#resolve = null
    this.#reject = null
    this.onBodyDone()
    const { body } = this.#request
    // Before the call is aborted: a dispatcher that never began doesn't cancel the body, and any other one can pass on
    // only an Error, not the caller's reason.
    if (body !== null) cancelBody(body, reason)
    if (resolve !== null && reject !== null) rejectAwaited(resolve, reject, reason)
  }

  #fail(cause: Error): void {
    this.reject(toNetworkError(cause))
  }

  /** The body is finished: the signal has nothing left to abort. */
  onBodyDone(): void {
    this.#exchange = null
    this.#left?.drop()
    this.#left = null
    if (this.#onAbort !== null) this.#signalOwner?.signal.removeEventListener('abort', this.#onAbort)
    this.#onAbort = null
    this.#signalOwner = null
  }

  /** The signal has fired. */
  handleEvent(): void {
    const reason: unknown = this.#signalOwner?.signal.reason
    this.#context?.runInAsyncScope(this.#abort, this, reason)
  }

  #abort(reason: unknown): void {
    const exchange = this.#exchange
    this.reject(reason)
    exchange?.abort(reason)
  }
}

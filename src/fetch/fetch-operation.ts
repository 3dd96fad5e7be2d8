/**
 * One fetch: from its call to the end of its response's body.
 *
 * @module
 */

import type { ReadableStreamLike } from '../../types/body.ts'
import { allowListeners } from '../api/signal.ts'
import { toError } from '../errors.ts'
import { ByteStream } from './byte-stream.ts'
import type { ExchangeOwner } from './exchange.ts'
import { Exchange } from './exchange.ts'
import { cancelBody } from './fetch-body.ts'
import type { FetchRequest } from './fetch-request.ts'
import { isBadPort } from './fetch-url.ts'
import { lookAhead } from './look-ahead.ts'
import { toNetworkError } from './network-error.ts'

/**
 * Where the signal comes from. A Request is held for it: undici's own signal follows its caller's only as
 * long as its Request lives.
 */
export interface SignalOwner {
  readonly signal: AbortSignal
}

/** Settles the promise of `fetch()`, once, and listens to the caller's signal as long as it matters. */
export class FetchOperation implements ExchangeOwner {
  readonly #request: FetchRequest
  /** Null without a signal, and once it doesn't matter any more. */
  #signalOwner: SignalOwner | null
  /**
   * Null once one of the two was called: each keeps the promise, and that its Response, which
   * could never be collected then.
   */
  #resolve: ((response: Response) => void) | null
  #reject: ((reason: unknown) => void) | null
  /** The current one; null before the first, and when nothing is left to be aborted. */
  #exchange: Exchange | null = null
  /** The one before, whose response has redirected the request: of its body something may still come. Null for none. */
  #left: Exchange | null = null

  constructor(
    request: FetchRequest,
    signalOwner: SignalOwner | null,
    resolve: (response: Response) => void,
    reject: (reason: unknown) => void,
  ) {
    this.#request = request
    this.#signalOwner = signalOwner
    this.#resolve = resolve
    this.#reject = reject
  }

  /** Begins, unless the signal has fired already. */
  start(): void {
    if (this.#listen()) this.send()
  }

  /** Begins with the stream of a Request as body, which has to be looked at first. */
  startWith(stream: ReadableStreamLike): void {
    // Of its own: once it has fired, it is let go of.
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

  /** False when the signal has fired already. */
  #listen(): boolean {
    const signal = this.#signalOwner?.signal ?? null
    if (signal === null) return true
    if (signal.aborted) {
      this.handleEvent()
      return false
    }
    allowListeners(signal)
    signal.addEventListener('abort', this, { once: true })
    return true
  }

  /** Sends the request where it is aimed at now. */
  send(): void {
    const { url, cache } = this.#request
    // There is no cache (Fetch, "HTTP-network-or-cache fetch").
    const error = isBadPort(url) ? 'bad port' : cache === 'only-if-cached' ? 'only if cached' : null
    if (error !== null) {
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
    const reject = this.#reject
    this.#resolve = null
    this.#reject = null
    this.onBodyDone()
    const { body } = this.#request
    // Before the call is ended: a dispatcher that never began has not let go of it, and any other has no
    // more than an Error to say.
    if (body !== null) cancelBody(body, reason)
    reject?.(reason)
  }

  #fail(cause: Error): void {
    this.reject(toNetworkError(cause))
  }

  /** Nothing is left for the signal to end. */
  onBodyDone(): void {
    this.#exchange = null
    this.#left?.drop()
    this.#left = null
    this.#signalOwner?.signal.removeEventListener('abort', this)
    this.#signalOwner = null
  }

  /** The EventListener interface: the signal has fired. */
  handleEvent(): void {
    const reason: unknown = this.#signalOwner?.signal.reason
    const exchange = this.#exchange
    this.reject(reason)
    exchange?.abort(reason)
  }
}

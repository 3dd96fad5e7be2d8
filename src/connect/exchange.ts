/**
 * One request and its response, over `dispatch()` alone: shared by all protocols.
 *
 * @module
 */

import { Code, ConnectError } from '@connectrpc/connect'
import type { DispatchController, Dispatcher, DispatchHandler, RequestBody } from '../index.ts'
import { getGlobalDispatcher } from '../index.ts'
import { toConnectError } from './failure.ts'
import { appendRaw, toRaw } from './fields.ts'

/** A request after all interceptors. */
export interface ExchangeRequest {
  readonly url: string
  readonly requestMethod: string
  readonly header: Headers
  /** {@link NEVER}: nothing ends the call. */
  readonly signal: AbortSignal
  /** The deadline in milliseconds, as `performance.now()` counts, if the signal isn't aborted at it. */
  readonly deadline?: number | undefined
  /** `header` as `[name, value, …]`, if it is known. */
  readonly raw?: readonly string[] | undefined
}

/** The signal for a call that has none. */
export const NEVER = new AbortController().signal

/** Where a request goes: a URL as a dispatcher expects it. */
export interface Target {
  readonly url: string
  readonly origin: string
  readonly path: string
}

export function toTarget(url: string): Target {
  const { origin, pathname, search } = new URL(url)
  return { url, origin, path: `${pathname}${search}` }
}

/** How the request is sent. */
export interface Sending {
  /** undefined: the global dispatcher. */
  readonly dispatcher: Dispatcher | undefined
  /** The target of the method's own URL, which interceptors rarely change. */
  readonly target: Target
  /** Whether the method may be called twice. */
  readonly idempotent: boolean
}

/**
 * In milliseconds. A call's only time limit is its deadline, which connect-es keeps. PINGs detect a dead connection.
 */
const NO_CLOCKS = { headersTimeout: 0, bodyTimeout: 0, uploadTimeout: 0 }

/** In milliseconds. Node reduces a longer timer to one millisecond, so a call of more than 24 days has none. */
const LONGEST_TIMER = 2 ** 31 - 1

/** What a subclass does with a response. Its methods are called in order, and each may throw, which ends the call. */
export abstract class Exchange implements DispatchHandler {
  readonly #request: ExchangeRequest
  readonly #begun = performance.now()
  #controller: DispatchController | null = null
  /** Null until it fails. */
  #failure: ConnectError | null = null
  #isOver = false
  #timer: NodeJS.Timeout | null = null
  /** The listener for the signal; null while there is none. */
  #onAbort: (() => void) | null = null

  constructor(request: ExchangeRequest) {
    this.#request = request
  }

  /** The error that ended it; null if none did. */
  protected get failure(): ConnectError | null {
    return this.#failure
  }

  protected get controller(): DispatchController | null {
    return this.#controller
  }

  /** The response's header section. */
  protected abstract onHeader(status: number, header: Headers): void

  /** A piece of the body. */
  protected abstract onData(piece: Uint8Array): void

  /** @param trailers - `[name, value, …]`, or null */
  protected abstract onEnd(trailers: readonly string[] | null): void

  /** It has failed: nothing else is called. */
  protected abstract onFailure(error: ConnectError): void

  /** Sends the request. Called once. */
  protected send({ dispatcher, target, idempotent }: Sending, body: RequestBody | null): void {
    const { url, requestMethod, header, signal, deadline, raw } = this.#request
    if (signal.aborted) {
      this.handleEvent()
      return
    }
    const left = deadline === undefined ? Infinity : deadline - performance.now()
    if (left <= LONGEST_TIMER) this.#timer = setTimeout(expire, left, this)
    try {
      const { origin, path } = url === target.url ? target : toTarget(url)
      const options = {
        ...NO_CLOCKS,
        origin,
        path,
        method: requestMethod,
        headers: raw ?? toRaw(header),
        body,
      }
      if (signal !== NEVER) {
        // Not an object: EventTarget would turn it into a function that outlives the call.
        const onAbort = (): void => this.handleEvent()
        this.#onAbort = onAbort
        signal.addEventListener('abort', onAbort)
      }
      const to = dispatcher ?? getGlobalDispatcher()
      to.dispatch(idempotent ? { ...options, idempotent } : options, this)
    } catch (error) {
      this.fail(error)
    }
  }

  /** Ends the call, unless it is over. The first cause wins. */
  fail(thrown: unknown): void {
    if (this.#isOver) return
    this.#finish()
    const error = toConnectError(thrown, this.#request.header, this.#begun)
    this.#failure = error
    // The stream is reset with CANCEL. This has no effect if the dispatcher has reported the failure.
    this.#controller?.abort(error)
    this.onFailure(error)
  }

  #finish(): void {
    this.#isOver = true
    if (this.#timer !== null) clearTimeout(this.#timer)
    if (this.#onAbort !== null) this.#request.signal.removeEventListener('abort', this.#onAbort)
  }

  /** The signal has fired: connect-es aborts its signal when the caller aborts, at the deadline, and after the end. */
  handleEvent(): void {
    this.fail(ConnectError.from(this.#request.signal.reason, Code.Canceled))
  }

  onRequestStart(controller: DispatchController): void {
    this.#controller = controller
    if (this.#failure !== null) controller.abort(this.#failure)
  }

  onResponseStart(controller: DispatchController, status: number): void {
    // This one is informational.
    if (status < 200 || this.#isOver) return
    try {
      this.onHeader(status, appendRaw(new Headers(), controller.rawHeaders))
    } catch (error) {
      this.fail(error)
    }
  }

  onResponseData(_controller: DispatchController, piece: Buffer): void {
    if (this.#isOver) return
    try {
      this.onData(piece)
    } catch (error) {
      this.fail(error)
    }
  }

  onResponseEnd(controller: DispatchController): void {
    if (this.#isOver) return
    try {
      // Another dispatcher may have none.
      this.onEnd(controller.rawTrailers ?? null)
    } catch (error) {
      this.fail(error)
      return
    }
    this.#finish()
  }

  onResponseError(_controller: DispatchController, error: Error): void {
    this.fail(error)
  }
}

/** With connect-es' wording. */
function expire(exchange: Exchange): void {
  exchange.fail(new ConnectError('the operation timed out', Code.DeadlineExceeded))
}

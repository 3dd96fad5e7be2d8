/**
 * What all APIs share: their options, the caller's signal, and the single outcome.
 *
 * @module
 */

import type { EventEmitter } from 'node:events'
import type { Callback } from '../../types/api-methods.ts'
import type { Dispatcher } from '../../types/dispatcher.ts'
import type { DispatchController } from '../../types/handler.ts'
import type { IncomingHttpHeaders } from '../../types/headers.ts'
import type { DispatchOptions, HeaderForm } from '../../types/request.ts'
import type { HeadersIn, TrailersIn } from '../../types/response.ts'
import { CallerContext } from '../core/caller-context.ts'
import { originalNextTick, originalQueueMicrotask, throwUncaught } from '../core/original-timers.ts'
import { invalid, invalidKind, toInteger } from '../core/validate.ts'
import { rejectAwaited } from '../errors/awaited-stack.ts'
import { toError } from '../errors/errors.ts'
import { setMember } from '../request/header-object.ts'
import { toRawHeaders } from '../request/headers.ts'
import { endUnsentBody } from '../request/unsent-body.ts'
import type { Abortable } from './signal.ts'
import { checkSignal, SignalLink } from './signal.ts'

/** What the APIs need from a dispatcher: only `dispatch()`. */
export type Dispatching = Pick<Dispatcher, 'dispatch'>

/** The options that the APIs handle themselves; each API has some of them. */
export interface ApiOptions<TOpaque> {
  readonly signal?: AbortSignal | EventEmitter | null | undefined
  readonly opaque?: TOpaque | undefined
  readonly responseHeaders?: HeaderForm | undefined
  readonly onInfo?:
    | ((info: { statusCode: number; headers: Record<string, string | string[]> }) => void)
    | null
    | undefined
  readonly highWaterMark?: number | undefined
}

/** The default in undici and in Node's file streams, in bytes. */
export const HIGH_WATER_MARK = 65_536

/**
 * Checks these options.
 *
 * @throws InvalidArgumentError that names the option, its value, and what would be accepted.
 */
export function checkApiOptions(options: ApiOptions<unknown>): void {
  if (typeof options !== 'object' || options === null) throw invalidKind('options', options, 'an object')
  const { signal, onInfo, responseHeaders, highWaterMark } = options
  if (signal !== undefined && signal !== null) checkSignal(signal)
  if (onInfo !== undefined && onInfo !== null && typeof onInfo !== 'function') {
    throw invalid('onInfo', onInfo, 'a function, or null')
  }
  if (responseHeaders !== undefined && responseHeaders !== null && responseHeaders !== 'raw') {
    throw invalid('responseHeaders', responseHeaders, "'raw', or null")
  }
  toInteger('highWaterMark', highWaterMark, HIGH_WATER_MARK, 0, Number.MAX_SAFE_INTEGER, 'bytes')
}

/**
 * Checks that the response won't be a tunnel.
 *
 * @throws InvalidArgumentError for a request that `connect()` or `upgrade()` should send
 */
export function checkNoTunnel({ method, upgrade }: DispatchOptions): void {
  if (method === 'CONNECT')
    throw invalid('method', method, 'any other method: use connect() to open a tunnel')
  if (upgrade !== undefined && upgrade !== null && upgrade !== false) {
    throw invalid('upgrade', upgrade, 'none: use upgrade() for this')
  }
}

/**
 * The trailers that the caller gets: an object or a list that is filled when they arrive, because the data arrives
 * before.
 */
export type Trailers = TrailersIn<HeaderForm>

/** For a dispatcher or an interceptor that ends a response without having passed on its header section. */
export function toNoHeaderError(): Error {
  return new Error('The response ended before its header section arrived')
}

/** The part of a handler that all APIs share. The callback gets a `TData`. */
export abstract class ApiHandler<TOpaque, TData> implements Abortable {
  protected readonly options: ApiOptions<TOpaque>
  /** Null until the call has started. */
  protected controller: DispatchController | null = null
  protected context: unknown = null
  /** Null once it was called. */
  #callback: Callback<TData> | null
  /** The reason of the signal that ended the call; null if it hasn't fired. */
  #reason: Error | null = null
  readonly #signal: SignalLink | null

  constructor(options: ApiOptions<TOpaque>, callback: Callback<TData>) {
    this.options = options
    this.#callback = callback
    this.#signal = SignalLink.from(options.signal ?? null, this)
  }

  protected get opaque(): TOpaque {
    return (this.options.opaque ?? null) as TOpaque
  }

  protected get isSettled(): boolean {
    return this.#callback === null
  }

  onSignal(reason: Error): void {
    this.#reason = reason
    // Before the call has begun, and from within the constructor, there is nothing to abort yet.
    if (this.controller !== null) this.abort(reason)
  }

  onRequestStart(controller: DispatchController, context: unknown): void {
    this.controller = controller
    this.context = context
    if (this.#reason !== null) controller.abort(this.#reason)
  }

  /** The signal has fired. */
  protected abort(reason: Error): void {
    this.controller?.abort(reason)
  }

  /** The call is over: the signal has nothing left to abort. */
  protected removeSignal(): void {
    this.#signal?.remove()
  }

  protected toHanded(controller: DispatchController, headers: IncomingHttpHeaders): HeadersIn<HeaderForm> {
    return this.options.responseHeaders === 'raw' ? toRawHeaders(controller.rawHeaders ?? headers) : headers
  }

  protected makeTrailers(): Trailers {
    return this.options.responseHeaders === 'raw' ? [] : {}
  }

  protected fillTrailers(
    target: Trailers,
    controller: DispatchController,
    trailers: IncomingHttpHeaders,
  ): void {
    if (Array.isArray(target)) target.push(...toRawHeaders(controller.rawTrailers ?? trailers))
    // Over HTTP/1.1 they inherit from Object.prototype, as undici's do.
    else for (const name of Object.keys(trailers)) setMember(target, name, trailers[name])
  }

  /** Dispatches the request. If an interceptor throws, the signal's listener is removed. */
  dispatchBy(dispatcher: Dispatching, options: DispatchOptions): void {
    try {
      dispatcher.dispatch(options, this)
    } catch (thrown) {
      this.removeSignal()
      throw thrown
    }
  }

  /** An informational response has arrived. */
  protected inform(controller: DispatchController, statusCode: number, headers: IncomingHttpHeaders): void {
    const { onInfo } = this.options
    if (onInfo === undefined || onInfo === null) return
    // Typed as in undici, also where 'raw' makes it an array.
    onInfo({ statusCode, headers: this.toHanded(controller, headers) as Record<string, string | string[]> })
  }

  /** Calls the caller's callback with the result, once. Returns false if the callback has thrown. */
  protected succeed(data: TData): boolean {
    const callback = this.#callback
    this.#callback = null
    try {
      if (callback !== null) this.settle(callback, null, data)
      return true
    } catch (thrown) {
      // The caller's own code has thrown: as with any callback, that is an uncaught exception, not a failure of the
      // call.
      throwUncaught(thrown)
      return false
    }
  }

  /**
   * Calls the caller's callback with the error, once. In a microtask, as in undici: a callback must not run before
   * the API has returned.
   */
  protected fail(error: Error): void {
    const callback = this.#callback
    this.#callback = null
    this.removeSignal()
    // The dispatcher has refused the call: it hasn't touched the body.
    if (this.controller === null) endUnsentBody(this.options, error)
    // undici's callbacks get `opaque` with an error as well.
    if (callback === null) return
    originalQueueMicrotask(() => this.settle(callback, error, { opaque: this.opaque } as TData))
  }

  /** Passes the outcome to the caller. */
  protected settle(callback: Callback<TData>, error: Error | null, data: TData): void {
    callback(error, data)
  }
}

/**
 * Supports both forms of undici's APIs: a promise, or a callback, which runs in its caller's async context.
 *
 * @param options the caller's: an error is reported with its `opaque`, and its `body` ends with a call that never
 *   starts
 * @param start checks the options and dispatches; if it throws, the error is the outcome
 */
export function perform<TData>(
  options: { readonly opaque?: unknown } | null | undefined,
  callback: Callback<TData> | undefined,
  start: (settle: Callback<TData>) => void,
): Promise<TData> | undefined {
  if (callback === undefined) {
    return new Promise((resolve, reject) => {
      try {
        start((error, data) => (error === null ? resolve(data) : rejectAwaited(resolve, reject, error)))
      } catch (thrown) {
        endUnsentBody(options, toError(thrown))
        reject(thrown)
      }
    })
  }
  if (typeof callback !== 'function') {
    const error = invalid('callback', callback, 'a function')
    endUnsentBody(options, error)
    throw error
  }
  const resource = new CallerContext()
  const settle: Callback<TData> = (error, data) => resource.runInAsyncScope(callback, null, error, data)
  try {
    start(settle)
  } catch (thrown) {
    const error = toError(thrown)
    endUnsentBody(options, error)
    originalNextTick(settle, error, { opaque: options?.opaque ?? null })
  }
  return undefined
}

import type { EventEmitter } from 'node:events'
import type { URL } from 'node:url'
import type { ApiMethods } from './api-methods.ts'
import type { AnyDispatchHandler } from './handler.ts'
import type { DispatchOptions } from './request.ts'
import type { UpstreamChange } from './upstream-change.ts'

/** An error with a code, such as undici's `UndiciError`. */
export interface CodedError extends Error {
  /** undici's code, such as `UND_ERR_SOCKET`. */
  code: string
}

/** The events of a dispatcher, with the arguments of their listeners. */
export interface DispatcherEvents {
  /** A session is ready. `targets`: the dispatchers from the emitter down to the client. */
  connect: [origin: URL, targets: readonly Dispatcher[]]
  /** A session is gone. */
  disconnect: [origin: URL, targets: readonly Dispatcher[], error: CodedError]
  /** A connection couldn't be made. */
  connectionError: [origin: URL, targets: readonly Dispatcher[], error: CodedError]
  /** There is room again, after `dispatch()` had returned `false`. */
  drain: [origin: URL, targets: readonly Dispatcher[]]
  /** Only of an UpstreamPool: a source has given another set of upstreams than before. */
  upstreams: [change: UpstreamChange]
  /**
   * Only of an UpstreamPool: a source has failed, or its answer can't be used, and the former upstreams stay; or an
   * entry of its answer can't be an upstream, and the others are used without it.
   */
  discoveryError: [error: CodedError]
}

/** The options of `close()`. */
export interface CloseOptions {
  /**
   * After so many milliseconds, requests and tunnels that are left are destroyed. `0`: never.
   *
   * @default 0
   */
  timeout?: number | null | undefined
}

/** `dispatch()` as a function: an interceptor takes one and returns one. */
export type Dispatch = Dispatcher['dispatch']

/**
 * Wraps a `dispatch()`.
 *
 * @param origin - that of a dispatcher with one origin. `undefined`: each request names its own. `null`: it goes
 *   somewhere else than the request may say, as that of an `UpstreamPool`: there is no origin to cache by.
 */
export type DispatcherComposeInterceptor = (dispatch: Dispatch, origin?: string | null) => Dispatch

/** The result of `compose()`. */
export interface ComposedDispatcher extends Dispatcher {}

/**
 * Sends requests: undici's core API, and the type of `dispatcher` in `fetch(url, { dispatcher })`.
 *
 * A value of this type is a `Dispatcher` of undici-types 6, 7 and 8 too.
 */
export interface Dispatcher extends EventEmitter<DispatcherEvents>, ApiMethods {
  /**
   * Sends one request and reports to `handler`. All other methods are built on it.
   *
   * @returns `false` if the dispatcher is busy, and the caller should wait for `'drain'`. The request is accepted in
   *   any case.
   */
  dispatch(options: DispatchOptions, handler: AnyDispatchHandler): boolean

  /**
   * Wraps this dispatcher's `dispatch()` in interceptors; the last one given sees a request first. This dispatcher
   * isn't changed.
   *
   * @returns a dispatcher with all members of this one, such as `stats`, and the same life cycle and events. What its
   *   other methods send goes through the interceptors, too.
   */
  compose(interceptors: DispatcherComposeInterceptor[]): this
  compose(...interceptors: DispatcherComposeInterceptor[]): this

  /** Takes no more requests, and settles when the running ones have settled. */
  close(callback: () => void): void
  close(options?: CloseOptions): Promise<void>

  /**
   * Fails every request that hasn't settled, and settles when the connections are gone.
   *
   * @param error - the error that they fail with. `null`: a `ClientDestroyedError`.
   */
  destroy(error: Error | null, callback: () => void): void
  destroy(callback: () => void): void
  destroy(error: Error | null): Promise<void>
  destroy(): Promise<void>
}

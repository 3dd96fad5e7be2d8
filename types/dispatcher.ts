import type { EventEmitter } from 'node:events'
import type { URL } from 'node:url'
import type { ApiMethods } from './api-methods.ts'
import type { AnyDispatchHandler } from './handler.ts'
import type { DispatchOptions } from './request.ts'
import type { UpstreamChange } from './upstream-change.ts'

/** An error with a code, such as undici's `UndiciError`. */
export interface CodedError extends Error {
  /** The code, as in undici: `UND_ERR_SOCKET`, for example. */
  code: string
}

/** Dispatcher events, with the arguments of their listeners. */
export interface DispatcherEvents {
  /** A session is ready. `targets`: the dispatchers from the emitter down to the client. */
  connect: [origin: URL, targets: readonly Dispatcher[]]
  /** A session is gone. */
  disconnect: [origin: URL, targets: readonly Dispatcher[], error: CodedError]
  /** A connection attempt failed. */
  connectionError: [origin: URL, targets: readonly Dispatcher[], error: CodedError]
  /** The dispatcher has room again, after `dispatch()` had returned `false`. */
  drain: [origin: URL, targets: readonly Dispatcher[]]
  /** Only on an UpstreamPool: a source has reported a different set of upstreams. */
  upstreams: [change: UpstreamChange]
  /**
   * Only on an UpstreamPool: a source has failed or its answer is unusable, and the previous upstreams stay; or one
   * entry of its answer is unusable, and the others are used without it.
   */
  discoveryError: [error: CodedError]
}

/** The options of `close()`. */
export interface CloseOptions {
  /**
   * After how many milliseconds to destroy the remaining requests and tunnels. `0`: never.
   *
   * @default 0
   */
  timeout?: number | null | undefined
}

/** `dispatch()` as a function: an interceptor receives one and returns one. */
export type Dispatch = Dispatcher['dispatch']

/**
 * Wraps a `dispatch()`.
 *
 * @param origin - the origin of a dispatcher that has only one. `undefined`: each request names its own. `null`:
 *   requests may go somewhere other than they say, as in an `UpstreamPool`, so don't cache by origin.
 */
export type DispatcherComposeInterceptor = (dispatch: Dispatch, origin?: string | null) => Dispatch

/** The result of `compose()`. */
export interface ComposedDispatcher extends Dispatcher {}

/**
 * Sends requests: undici's core API, and the type of `dispatcher` in `fetch(url, { dispatcher })`.
 *
 * A value of this type is also a `Dispatcher` in undici-types 6, 7 and 8.
 */
export interface Dispatcher extends EventEmitter<DispatcherEvents>, ApiMethods {
  /**
   * Sends one request and reports to `handler`. All other methods build on it.
   *
   * @returns `false` if the dispatcher is busy: wait for `'drain'` before sending more. It accepts this request in any
   *   case.
   */
  dispatch(options: DispatchOptions, handler: AnyDispatchHandler): boolean

  /**
   * Wraps this dispatcher's `dispatch()` in interceptors; the last one sees a request first. This dispatcher itself
   * doesn't change.
   *
   * @returns a dispatcher with all members of this one, such as `stats`, and the same life cycle and events. Requests
   *   from its other methods go through the interceptors, too.
   */
  compose(interceptors: DispatcherComposeInterceptor[]): this
  compose(...interceptors: DispatcherComposeInterceptor[]): this

  /** Accepts no more requests, and settles when the running ones have settled. */
  close(callback: () => void): void
  close(options?: CloseOptions): Promise<void>

  /**
   * Fails every request that hasn't settled, and settles when the connections are gone.
   *
   * @param error - the error that these requests fail with. `null`: a `ClientDestroyedError`.
   */
  destroy(error: Error | null, callback: () => void): void
  destroy(callback: () => void): void
  destroy(error: Error | null): Promise<void>
  destroy(): Promise<void>
}

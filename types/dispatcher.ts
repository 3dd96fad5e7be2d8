import type { EventEmitter } from 'node:events'
import type { Duplex } from 'node:stream'
import type { URL } from 'node:url'
import type { AnyDispatchHandler } from './handler.ts'
import type {
  CallSignal,
  ConnectOptions,
  DispatchOptions,
  HttpMethod,
  PipelineOptions,
  RequestOptions,
  UpgradeOptions,
} from './request.ts'
import type {
  BodyReadable,
  ConnectData,
  PipelineHandler,
  ResponseData,
  StreamData,
  StreamFactory,
  UndiciBodyReadable,
  UpgradeData,
} from './response.ts'

/** A node-style callback: it gets an error, or the data. With an error, don't read `data`. */
export type Callback<TData> = (error: Error | null, data: TData) => void

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
  drain: [origin: URL]
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

/** Wraps a `dispatch()`. */
export type DispatcherComposeInterceptor = (dispatch: Dispatch) => Dispatch

/** The result of `compose()`. */
export interface ComposedDispatcher extends Dispatcher {}

/**
 * Sends requests: undici's core API, and the type of `dispatcher` in `fetch(url, { dispatcher })`.
 *
 * A value of this type is a `Dispatcher` of undici-types 6, 7 and 8 too. Three details exist only for that:
 * - the body of a response is typed as undici's, whose `formData()` is `Promise<never>`; at run time it is a
 *   {@link BodyReadable};
 * - `TSignal`, because undici 6 and 7 declare `signal: unknown`. TypeScript compares overloads with their type
 *   parameters erased, so a parameter fits there, while a call is still held to {@link CallSignal};
 * - the overload of `pipeline()` that no call can match. undici's `pipeline()` isn't overloaded, so only bivariance
 *   helps.
 */
export interface Dispatcher extends EventEmitter<DispatcherEvents> {
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
   * @returns a new dispatcher; its other methods go through the interceptors too.
   */
  compose(interceptors: DispatcherComposeInterceptor[]): ComposedDispatcher
  compose(...interceptors: DispatcherComposeInterceptor[]): ComposedDispatcher

  /** Sends a request, and returns the response when its header section has come. */
  request<TOpaque = null, TSignal extends CallSignal = CallSignal>(
    options: RequestOptions<TOpaque, TSignal>,
    callback: Callback<ResponseData<TOpaque, UndiciBodyReadable>>,
  ): void
  request<TOpaque = null, TSignal extends CallSignal = CallSignal>(
    options: RequestOptions<TOpaque, TSignal>,
  ): Promise<ResponseData<TOpaque, UndiciBodyReadable>>

  /** Sends a request and writes the response's body to the stream that `factory` makes. */
  stream<TOpaque = null, TSignal extends CallSignal = CallSignal>(
    options: RequestOptions<TOpaque, TSignal>,
    factory: StreamFactory<TOpaque>,
    callback: Callback<StreamData<TOpaque>>,
  ): void
  stream<TOpaque = null, TSignal extends CallSignal = CallSignal>(
    options: RequestOptions<TOpaque, TSignal>,
    factory: StreamFactory<TOpaque>,
  ): Promise<StreamData<TOpaque>>

  /**
   * Returns a duplex for `stream.pipeline()`: its writable half is the request's body, its readable half what `handler`
   * returns.
   */
  pipeline(options: never, handler: never): Duplex
  pipeline<TOpaque = null, TSignal extends CallSignal = CallSignal>(
    options: PipelineOptions<TOpaque, TSignal>,
    handler: PipelineHandler<TOpaque, UndiciBodyReadable>,
  ): Duplex

  /** Opens a tunnel (RFC 9113 §8.5). */
  connect<TOpaque = null, TSignal extends CallSignal = CallSignal>(
    options: ConnectOptions<TOpaque, TSignal>,
    callback: Callback<ConnectData<TOpaque>>,
  ): void
  connect<TOpaque = null, TSignal extends CallSignal = CallSignal>(
    options: ConnectOptions<TOpaque, TSignal>,
  ): Promise<ConnectData<TOpaque>>

  /** Speaks another protocol on a stream: extended CONNECT (RFC 8441). */
  upgrade<TOpaque = null, TSignal extends CallSignal = CallSignal>(
    options: UpgradeOptions<TOpaque, TSignal>,
    callback: Callback<UpgradeData<TOpaque>>,
  ): void
  upgrade<TOpaque = null, TSignal extends CallSignal = CallSignal>(
    options: UpgradeOptions<TOpaque, TSignal>,
  ): Promise<UpgradeData<TOpaque>>

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

/** The options of the top-level functions, besides those of the method of the same name. */
export interface TopLevelOptions {
  /**
   * The dispatcher that sends the request. `null`: the global dispatcher.
   *
   * @default null
   */
  dispatcher?: Pick<Dispatcher, 'dispatch'> | null | undefined

  /**
   * The request method.
   *
   * @default 'GET', or 'PUT' when there is a body
   */
  method?: HttpMethod | undefined
}

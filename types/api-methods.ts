import type { Duplex } from 'node:stream'
import type {
  CallSignal,
  ConnectOptions,
  PipelineOptions,
  RequestOptions,
  UpgradeOptions,
} from './request.ts'
import type {
  ConnectData,
  PipelineHandler,
  ResponseData,
  StreamData,
  StreamFactory,
  UndiciBodyReadable,
  UpgradeData,
} from './response.ts'

/** A node-style callback: an error, or the data. With an error, `data` isn't to be touched. */
export type Callback<TData> = (error: Error | null, data: TData) => void

/**
 * undici's core API, as methods: all that they need of their object is `dispatch()`.
 *
 * Three things are there only so that a `Dispatcher` is one of undici-types 6, 7 and 8, too:
 * - the body of a response is typed as undici's, whose `formData()` is `Promise<never>`; at run time it is a
 *   `BodyReadable`;
 * - `TSignal`, because undici 6 and 7 declare `signal: unknown`. TypeScript compares overloads with their type
 *   parameters erased, so a parameter fits there, while a call is still held to {@link CallSignal};
 * - the overload of `pipeline()` that no call can match. undici's `pipeline()` isn't overloaded, so only bivariance
 *   helps.
 */
export interface ApiMethods {
  /** Sends a request and gives the response when its headers have come. */
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
   * Gives a duplex for `stream.pipeline()`: what is written is the request's body, what is read is what `handler`
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
}

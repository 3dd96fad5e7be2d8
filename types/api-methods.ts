import type { Duplex } from 'node:stream'
import type {
  ConnectOptions,
  HeaderForm,
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
  UpgradeData,
} from './response.ts'

/** A Node-style callback: an error, or the data. If there is an error, don't use `data`. */
export type Callback<TData> = (error: Error | null, data: TData) => void

/**
 * The core API, as in undici: methods that need only `dispatch()` of their object.
 *
 * TypeScript infers `TOpaque` and `TForm` from the options `opaque` and `responseHeaders`. No call matches the
 * overloads with `never`: they make a `Dispatcher` assignable to the one in undici-types 6, 7 and 8. `ReturnType` and
 * `Parameters` see the last overload of each method.
 */
export interface ApiMethods {
  /** Sends a request, and returns the response when its header section has arrived. */
  request(options: never, callback: never): void
  request(options: never): Promise<never>
  request<TOpaque = null, TForm extends HeaderForm = null>(
    options: RequestOptions<TOpaque, TForm>,
    callback: Callback<ResponseData<TOpaque, TForm>>,
  ): void
  request<TOpaque = null, TForm extends HeaderForm = null>(
    options: RequestOptions<TOpaque, TForm>,
  ): Promise<ResponseData<TOpaque, TForm>>
  request<TOpaque = null>(options: RequestOptions<TOpaque, null>): Promise<ResponseData<TOpaque>>

  /** Sends a request, and writes the response body to the stream that `factory` returns. */
  stream(options: never, factory: never, callback: never): void
  stream(options: never, factory: never): Promise<never>
  stream<TOpaque = null, TForm extends HeaderForm = null>(
    options: RequestOptions<TOpaque, TForm>,
    factory: StreamFactory<TOpaque, TForm>,
    callback: Callback<StreamData<TOpaque, TForm>>,
  ): void
  stream<TOpaque = null, TForm extends HeaderForm = null>(
    options: RequestOptions<TOpaque, TForm>,
    factory: StreamFactory<TOpaque, TForm>,
  ): Promise<StreamData<TOpaque, TForm>>
  stream<TOpaque = null>(
    options: RequestOptions<TOpaque, null>,
    factory: StreamFactory<TOpaque>,
  ): Promise<StreamData<TOpaque>>

  /**
   * Returns a Duplex for `stream.pipeline()`: what you write to it is the request body, and you read from it what
   * `handler` returns.
   */
  pipeline(options: never, handler: never): Duplex
  pipeline<TOpaque = null, TForm extends HeaderForm = null>(
    options: PipelineOptions<TOpaque, TForm>,
    handler: PipelineHandler<TOpaque, TForm>,
  ): Duplex
  pipeline<TOpaque = null>(options: PipelineOptions<TOpaque, null>, handler: PipelineHandler<TOpaque>): Duplex

  /** Opens a tunnel with CONNECT (RFC 9113 §8.5). */
  connect(options: never, callback: never): void
  connect(options: never): Promise<never>
  connect<TOpaque = null, TForm extends HeaderForm = null>(
    options: ConnectOptions<TOpaque, TForm>,
    callback: Callback<ConnectData<TOpaque, TForm>>,
  ): void
  connect<TOpaque = null, TForm extends HeaderForm = null>(
    options: ConnectOptions<TOpaque, TForm>,
  ): Promise<ConnectData<TOpaque, TForm>>
  connect<TOpaque = null>(options: ConnectOptions<TOpaque, null>): Promise<ConnectData<TOpaque>>

  /** Uses another protocol on a stream, via extended CONNECT (RFC 8441). */
  upgrade(options: never, callback: never): void
  upgrade(options: never): Promise<never>
  upgrade<TOpaque = null, TForm extends HeaderForm = null>(
    options: UpgradeOptions<TOpaque, TForm>,
    callback: Callback<UpgradeData<TOpaque, TForm>>,
  ): void
  upgrade<TOpaque = null, TForm extends HeaderForm = null>(
    options: UpgradeOptions<TOpaque, TForm>,
  ): Promise<UpgradeData<TOpaque, TForm>>
  upgrade<TOpaque = null>(options: UpgradeOptions<TOpaque, null>): Promise<UpgradeData<TOpaque>>
}

import type { Duplex } from 'node:stream'
import type { URL, UrlObject } from 'node:url'
import type { Callback } from './api-methods.ts'
import type { Dispatcher } from './dispatcher.ts'
import type {
  ConnectOptions,
  HttpMethod,
  PipelineOptions,
  RequestOptions,
  UpgradeOptions,
} from './request.ts'
import type {
  BodyReadable,
  ConnectData,
  PipelineHandler,
  RawResponseData,
  ResponseData,
  StreamData,
  StreamFactory,
  UpgradeData,
} from './response.ts'

/** What the top-level functions take besides the options of the method of the same name. */
export interface TopLevelOptions {
  /**
   * Who sends it. `null`: the global dispatcher.
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

/** Where a top-level function sends its request: a string, a URL, or what `url.format()` takes. */
export type RequestUrl = string | URL | UrlObject

/** The options of the method of the same name, none of which is needed: the URL has the origin and the path. */
type TopLevel<TOptions> = TopLevelOptions & Partial<TOptions>

/** `request()` as a function of a URL. */
export interface RequestFunction {
  <TOpaque = null>(
    url: RequestUrl,
    options: TopLevel<RequestOptions<TOpaque>> & { responseHeaders: 'raw' },
  ): Promise<RawResponseData<TOpaque>>
  <TOpaque = null>(
    url: RequestUrl,
    options?: TopLevel<RequestOptions<TOpaque>> | null,
  ): Promise<ResponseData<TOpaque, BodyReadable>>
  <TOpaque = null>(
    url: RequestUrl,
    options: TopLevel<RequestOptions<TOpaque>> | null,
    callback: Callback<ResponseData<TOpaque, BodyReadable>>,
  ): void
}

/** `stream()` as a function of a URL. */
export interface StreamFunction {
  <TOpaque = null>(
    url: RequestUrl,
    options: TopLevel<RequestOptions<TOpaque>> | null,
    factory: StreamFactory<TOpaque>,
  ): Promise<StreamData<TOpaque>>
  <TOpaque = null>(
    url: RequestUrl,
    options: TopLevel<RequestOptions<TOpaque>> | null,
    factory: StreamFactory<TOpaque>,
    callback: Callback<StreamData<TOpaque>>,
  ): void
}

/** `pipeline()` as a function of a URL. */
export type PipelineFunction = <TOpaque = null>(
  url: RequestUrl,
  options: TopLevel<PipelineOptions<TOpaque>> | null,
  handler: PipelineHandler<TOpaque, BodyReadable>,
) => Duplex

/** `connect()` as a function of a URL. */
export interface ConnectFunction {
  <TOpaque = null>(
    url: RequestUrl,
    options?: TopLevel<ConnectOptions<TOpaque>> | null,
  ): Promise<ConnectData<TOpaque>>
  <TOpaque = null>(
    url: RequestUrl,
    options: TopLevel<ConnectOptions<TOpaque>> | null,
    callback: Callback<ConnectData<TOpaque>>,
  ): void
}

/** `upgrade()` as a function of a URL. */
export interface UpgradeFunction {
  <TOpaque = null>(
    url: RequestUrl,
    options?: TopLevel<UpgradeOptions<TOpaque>> | null,
  ): Promise<UpgradeData<TOpaque>>
  <TOpaque = null>(
    url: RequestUrl,
    options: TopLevel<UpgradeOptions<TOpaque>> | null,
    callback: Callback<UpgradeData<TOpaque>>,
  ): void
}

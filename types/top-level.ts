import type { Duplex } from 'node:stream'
import type { URL, UrlObject } from 'node:url'
import type { Callback } from './api-methods.ts'
import type { Dispatcher } from './dispatcher.ts'
import type {
  ConnectOptions,
  HeaderForm,
  HttpMethod,
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

/** What a top-level function accepts in addition to the options of the method with the same name. */
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

/** Where a top-level function sends its request: a string, a URL, or an object that `url.format()` accepts. */
export type RequestUrl = string | URL | UrlObject

/** The options of the method with the same name, all optional: the URL has the origin and the path. */
type TopLevel<TOptions> = TopLevelOptions & Partial<TOptions>

/** The options together with the URL, whose parts have undici's names or the names that `url.format()` uses. */
export type RequestTarget<TOptions> = Omit<UrlObject, 'query'> &
  Omit<TopLevel<TOptions>, 'origin'> & {
    /**
     * The scheme, host and port, instead of `protocol`, `hostname` and `port`. `null`: use those.
     *
     * @default null
     */
    origin?: string | null | undefined
  }

/** `request()` as a function of a URL. */
export interface RequestFunction {
  <TOpaque = null>(
    target: RequestTarget<RequestOptions<TOpaque, null>> | string | URL,
    callback: Callback<ResponseData<TOpaque>>,
  ): void
  <TOpaque = null>(target: RequestTarget<RequestOptions<TOpaque, null>>): Promise<ResponseData<TOpaque>>
  <TOpaque = null, TForm extends HeaderForm = null>(
    url: RequestUrl,
    options: TopLevel<RequestOptions<TOpaque, TForm>> | null,
    callback: Callback<ResponseData<TOpaque, TForm>>,
  ): void
  <TOpaque = null, TForm extends HeaderForm = null>(
    url: RequestUrl,
    options?: TopLevel<RequestOptions<TOpaque, TForm>> | null,
  ): Promise<ResponseData<TOpaque, TForm>>
  <TOpaque = null>(
    url: RequestUrl,
    options?: TopLevel<RequestOptions<TOpaque, null>> | null,
  ): Promise<ResponseData<TOpaque>>
}

/** `stream()` as a function of a URL. */
export interface StreamFunction {
  <TOpaque = null>(
    target: RequestTarget<RequestOptions<TOpaque, null>> | string | URL,
    factory: StreamFactory<TOpaque>,
  ): Promise<StreamData<TOpaque>>
  <TOpaque = null, TForm extends HeaderForm = null>(
    url: RequestUrl,
    options: TopLevel<RequestOptions<TOpaque, TForm>> | null,
    factory: StreamFactory<TOpaque, TForm>,
    callback: Callback<StreamData<TOpaque, TForm>>,
  ): void
  <TOpaque = null, TForm extends HeaderForm = null>(
    url: RequestUrl,
    options: TopLevel<RequestOptions<TOpaque, TForm>> | null,
    factory: StreamFactory<TOpaque, TForm>,
  ): Promise<StreamData<TOpaque, TForm>>
  <TOpaque = null>(
    url: RequestUrl,
    options: TopLevel<RequestOptions<TOpaque, null>> | null,
    factory: StreamFactory<TOpaque>,
  ): Promise<StreamData<TOpaque>>
}

/** `pipeline()` as a function of a URL. */
export interface PipelineFunction {
  <TOpaque = null>(
    target: RequestTarget<PipelineOptions<TOpaque, null>> | string | URL,
    handler: PipelineHandler<TOpaque>,
  ): Duplex
  <TOpaque = null, TForm extends HeaderForm = null>(
    url: RequestUrl,
    options: TopLevel<PipelineOptions<TOpaque, TForm>> | null,
    handler: PipelineHandler<TOpaque, TForm>,
  ): Duplex
  <TOpaque = null>(
    url: RequestUrl,
    options: TopLevel<PipelineOptions<TOpaque, null>> | null,
    handler: PipelineHandler<TOpaque>,
  ): Duplex
}

/** `connect()` as a function of a URL. */
export interface ConnectFunction {
  <TOpaque = null>(url: RequestUrl, callback: Callback<ConnectData<TOpaque>>): void
  <TOpaque = null, TForm extends HeaderForm = null>(
    url: RequestUrl,
    options: TopLevel<ConnectOptions<TOpaque, TForm>> | null,
    callback: Callback<ConnectData<TOpaque, TForm>>,
  ): void
  <TOpaque = null, TForm extends HeaderForm = null>(
    url: RequestUrl,
    options?: TopLevel<ConnectOptions<TOpaque, TForm>> | null,
  ): Promise<ConnectData<TOpaque, TForm>>
  <TOpaque = null>(
    url: RequestUrl,
    options?: TopLevel<ConnectOptions<TOpaque, null>> | null,
  ): Promise<ConnectData<TOpaque>>
}

/** `upgrade()` as a function of a URL. */
export interface UpgradeFunction {
  <TOpaque = null>(url: RequestUrl, callback: Callback<UpgradeData<TOpaque>>): void
  <TOpaque = null, TForm extends HeaderForm = null>(
    url: RequestUrl,
    options: TopLevel<UpgradeOptions<TOpaque, TForm>> | null,
    callback: Callback<UpgradeData<TOpaque, TForm>>,
  ): void
  <TOpaque = null, TForm extends HeaderForm = null>(
    url: RequestUrl,
    options?: TopLevel<UpgradeOptions<TOpaque, TForm>> | null,
  ): Promise<UpgradeData<TOpaque, TForm>>
  <TOpaque = null>(
    url: RequestUrl,
    options?: TopLevel<UpgradeOptions<TOpaque, null>> | null,
  ): Promise<UpgradeData<TOpaque>>
}

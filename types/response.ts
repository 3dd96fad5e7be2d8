import type { Blob } from 'node:buffer'
import type { Duplex, Readable, Writable } from 'node:stream'
import type { ReadableStream } from 'node:stream/web'
import type { ConnectionInfo } from './connection.ts'
import type { IncomingHttpHeaders, RawHeaders } from './headers.ts'
import type { HeaderForm } from './request.ts'

/** How much of an unwanted body `dump()` reads. */
export interface DumpOptions {
  /**
   * How many bytes to read before resetting the stream instead.
   *
   * @default 131_072
   */
  limit?: number | undefined

  /** Aborts the dump. `null`: none. @default null */
  signal?: AbortSignal | null | undefined
}

/**
 * A response's body: a readable stream with the methods of the Fetch standard's Body mixin. It can be consumed once.
 *
 * @see https://fetch.spec.whatwg.org/#body-mixin
 */
export interface BodyReadable extends Readable {
  /** The body decoded as UTF-8, without a byte order mark. */
  text(): Promise<string>
  /** The body parsed as JSON. */
  json(): Promise<unknown>
  /** The body as a Blob with the response's content type. */
  blob(): Promise<Blob>
  /** The body's bytes. */
  bytes(): Promise<Uint8Array>
  /** The body's bytes, in an ArrayBuffer of exactly that length. */
  arrayBuffer(): Promise<ArrayBuffer>
  /** The body parsed as `multipart/form-data` or `application/x-www-form-urlencoded`. */
  formData(): Promise<FormData>
  /** The body as a web stream. */
  readonly body: ReadableStream<Uint8Array>
  /** What carries the response right now; `null` if another dispatcher served it. Not in undici. */
  readonly connection: ConnectionInfo | null
  /** Reads and drops the rest of the body, so that the stream can end without a reset. */
  dump(options?: DumpOptions): Promise<void>
  /** Whether the body was read, in part or entirely. */
  readonly bodyUsed: boolean
}

/** The header fields, in the form that `responseHeaders` asks for. */
export type HeadersIn<TForm extends HeaderForm> = TForm extends 'raw' ? RawHeaders : IncomingHttpHeaders

/** The trailers, in the form that `responseHeaders` asks for. */
export type TrailersIn<TForm extends HeaderForm> = TForm extends 'raw' ? RawHeaders : Record<string, string>

/**
 * The result of `request()`.
 *
 * @typeParam TForm - the option `responseHeaders`.
 */
export interface ResponseData<TOpaque = null, TForm extends HeaderForm = null> {
  /** The final status: never 1xx. */
  statusCode: number
  /** HTTP/2 has none (RFC 9113 §8.3.2): an empty string. */
  statusText: string
  /** The header fields: an object, or `[name, value, …]`. */
  headers: HeadersIn<TForm>
  /** The body. Consume, dump or destroy it. */
  body: BodyReadable
  /** The trailers: an object, or `[name, value, …]`. They are empty until the body has ended. */
  trailers: TrailersIn<TForm>
  /** The `opaque` value you passed. */
  opaque: TOpaque
  /** The object that the call's interceptors share and may fill. */
  context: object
}

/** The result of `request()` with `responseHeaders: 'raw'`: headers and trailers as flat lists, in wire order. */
export type RawResponseData<TOpaque = null> = ResponseData<TOpaque, 'raw'>

/** The result of `connect()`. */
export interface ConnectData<TOpaque = null, TForm extends HeaderForm = null> {
  /** The status: 2xx. */
  statusCode: number
  /** The header fields: an object, or `[name, value, …]`. */
  headers: HeadersIn<TForm>
  /** The tunnel. Each half ends by itself; `destroy()` resets the stream. */
  socket: Duplex
  /** The `opaque` value you passed. */
  opaque: TOpaque
  /** The object that the call's interceptors share and may fill. */
  context: object
}

/** The result of `upgrade()`: use the new protocol on `socket`. */
export interface UpgradeData<TOpaque = null, TForm extends HeaderForm = null>
  extends ConnectData<TOpaque, TForm> {}

/** The result of `stream()`, when the response has been written. */
export interface StreamData<TOpaque = null, TForm extends HeaderForm = null> {
  /** The `opaque` value you passed. */
  opaque: TOpaque
  /** The trailers: an object, or `[name, value, …]`. */
  trailers: TrailersIn<TForm>
}

/** The argument of a {@link StreamFactory}. */
export interface StreamFactoryData<TOpaque = null, TForm extends HeaderForm = null> {
  /** The final status: never 1xx. */
  statusCode: number
  /** The header fields: an object, or `[name, value, …]`. */
  headers: HeadersIn<TForm>
  /** The `opaque` value you passed. */
  opaque: TOpaque
  /** The object that the call's interceptors share and may fill. */
  context: object
}

/** Returns the stream to write the response body to. */
export type StreamFactory<TOpaque = null, TForm extends HeaderForm = null> = (
  data: StreamFactoryData<TOpaque, TForm>,
) => Writable

/** The argument of a {@link PipelineHandler}. */
export interface PipelineHandlerData<TOpaque = null, TForm extends HeaderForm = null>
  extends StreamFactoryData<TOpaque, TForm> {
  /** The response body. */
  body: BodyReadable
  /** The trailers: an object, or `[name, value, …]`. They are empty until the body has ended. */
  trailers: TrailersIn<TForm>
}

/** Returns the readable half of a pipeline, made from the response. */
export type PipelineHandler<TOpaque = null, TForm extends HeaderForm = null> = (
  data: PipelineHandlerData<TOpaque, TForm>,
) => Readable

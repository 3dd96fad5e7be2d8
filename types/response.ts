import type { Blob } from 'node:buffer'
import type { Duplex, Readable, Writable } from 'node:stream'
import type { ReadableStream } from 'node:stream/web'
import type { IncomingHttpHeaders, RawHeaders } from './headers.ts'

/** How much of an unwanted body `dump()` reads. */
export interface DumpOptions {
  /**
   * Bytes to read before the stream is reset instead.
   *
   * @default 131_072
   */
  limit?: number | undefined

  /** Ends the dump. */
  signal?: AbortSignal | null | undefined
}

/** The members that {@link BodyReadable} and {@link UndiciBodyReadable} share. */
export interface BodyReadableBase extends Readable {
  /** The body decoded as UTF-8, without a byte order mark. */
  text(): Promise<string>
  /** The body parsed as JSON. */
  json(): Promise<unknown>
  /** The body as a Blob of the response's content type. */
  blob(): Promise<Blob>
  /** The body's bytes. */
  bytes(): Promise<Uint8Array>
  /** The body's bytes, in an ArrayBuffer that has nothing else. */
  arrayBuffer(): Promise<ArrayBuffer>
  /** Reads what is left and drops it, so that the stream can end without a reset. */
  dump(options?: DumpOptions): Promise<void>
  /** Whether the body was read, in part or entirely. */
  readonly bodyUsed: boolean
}

/**
 * A response's body, as it is at run time: a readable stream with the methods of the Fetch standard's Body
 * mixin. It can be consumed once.
 *
 * @see https://fetch.spec.whatwg.org/#body-mixin
 */
export interface BodyReadable extends BodyReadableBase {
  /** The body parsed as `multipart/form-data` or `application/x-www-form-urlencoded`. */
  formData(): Promise<FormData>
  /** The body as a web stream. */
  readonly body: ReadableStream<Uint8Array>
}

/**
 * A response's body, as a dispatcher's own methods give it: the same object as {@link BodyReadable}, with the two
 * members that undici leaves unimplemented typed as in undici: otherwise a dispatcher wouldn't be assignable to
 * undici's `Dispatcher`.
 */
export interface UndiciBodyReadable extends BodyReadableBase {
  /** Typed as in undici. {@link BodyReadable} has the type at run time. */
  formData(): Promise<never>
  /** Typed as in undici. {@link BodyReadable} has the type at run time. */
  readonly body: never
}

/**
 * The result of `request()`, as it is at run time.
 *
 * @typeParam TBody - the body's type; a dispatcher's own method speaks undici's.
 */
export interface ResponseData<TOpaque = null, TBody = BodyReadable> {
  /** The final status: never 1xx. */
  statusCode: number
  /** HTTP/2 has none (RFC 9113 §8.3.2): an empty string. */
  statusText: string
  /** The header fields, as the session made them. */
  headers: IncomingHttpHeaders
  /** The body. It must be consumed, dumped or destroyed. */
  body: TBody
  /** The trailers; empty until the body has ended. */
  trailers: Record<string, string>
  /** The request's own `opaque`. */
  opaque: TOpaque
  /** The object that the interceptors of the call shared, and may have filled. */
  context: object
}

/** The result of `request()` with `responseHeaders: 'raw'`: headers and trailers as flat lists, in wire order. */
export interface RawResponseData<TOpaque = null, TBody = BodyReadable>
  extends Omit<ResponseData<TOpaque, TBody>, 'headers' | 'trailers'> {
  /** The header fields, `[name, value, …]`. */
  headers: RawHeaders
  /** The trailers, `[name, value, …]`; empty until the body has ended. */
  trailers: RawHeaders
}

/** The result of `connect()`. */
export interface ConnectData<TOpaque = null> {
  /** The status: 2xx. */
  statusCode: number
  /** The header fields, as the session made them. */
  headers: IncomingHttpHeaders
  /** The tunnel. Each half ends by itself; `destroy()` resets the stream. */
  socket: Duplex
  /** The request's own `opaque`. */
  opaque: TOpaque
  /** The object that the interceptors of the call shared, and may have filled. */
  context: object
}

/** The result of `upgrade()`: `socket` is the stream, on which the other protocol is spoken. */
export interface UpgradeData<TOpaque = null> extends ConnectData<TOpaque> {}

/** The result of `stream()`, when the response has been written. */
export interface StreamData<TOpaque = null> {
  /** The request's own `opaque`. */
  opaque: TOpaque
  /** The trailers. */
  trailers: Record<string, string>
}

/** The argument of a {@link StreamFactory}. */
export interface StreamFactoryData<TOpaque = null> {
  /** The final status: never 1xx. */
  statusCode: number
  /** The header fields. */
  headers: IncomingHttpHeaders
  /** The request's own `opaque`. */
  opaque: TOpaque
  /** The object that the interceptors of the call shared, and may have filled. */
  context: object
}

/** Makes the stream that a response's body is written to. */
export type StreamFactory<TOpaque = null> = (data: StreamFactoryData<TOpaque>) => Writable

/**
 * The argument of a {@link PipelineHandler}.
 *
 * @typeParam TBody - the body's type; a dispatcher's own method speaks undici's.
 */
export interface PipelineHandlerData<TOpaque = null, TBody = BodyReadable>
  extends StreamFactoryData<TOpaque> {
  /** The response's body. */
  body: TBody
  /**
   * The trailers; empty until the body has ended. With `responseHeaders: 'raw'` a flat list at run time, like
   * `headers`.
   */
  trailers: Record<string, string>
}

/** Makes the readable half of a pipeline from the response. */
export type PipelineHandler<TOpaque = null, TBody = BodyReadable> = (
  data: PipelineHandlerData<TOpaque, TBody>,
) => Readable

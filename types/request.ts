import type { EventEmitter } from 'node:events'
import type { URL } from 'node:url'
import type { RequestBody } from './body.ts'
import type { RequestHeaders } from './headers.ts'
import type { CallLimits } from './limits.ts'

/** A request method: one of the common ones, or any other token (RFC 9110 §9). Case-sensitive. */
export type HttpMethod =
  | 'GET'
  | 'HEAD'
  | 'POST'
  | 'PUT'
  | 'DELETE'
  | 'CONNECT'
  | 'OPTIONS'
  | 'TRACE'
  | 'PATCH'
  | 'QUERY'
  | (string & Record<never, never>)

/** Request trailers, or a function that returns them: each attempt calls it once the body has been read. */
export type RequestTrailers = RequestHeaders | (() => RequestHeaders | null | undefined)

/** How urgently you need a response (RFC 9218 §4). */
export interface RequestPriority {
  /** The urgency: from 0, the most urgent, to 7. @default 3 */
  urgency?: number | undefined
  /**
   * Whether part of the response is useful before it is complete: the server may interleave it with others.
   *
   * @default false
   */
  incremental?: boolean | undefined
}

/** A query value that isn't empty. */
export type QueryPrimitive = string | number | bigint | boolean

/** A query value, or a list of values. `undefined` and `null` give an empty value. */
export type QueryValue = QueryPrimitive | readonly QueryPrimitive[] | null | undefined

/** The options of one request, for `dispatch()`. It accepts all options of undici 6, 7 and 8. */
export interface DispatchOptions extends CallLimits {
  /**
   * Where to send the request, such as `'https://example.com'`. An `Agent` needs it; a `Client` has its own origin.
   */
  origin?: string | URL | undefined

  /** The path with its query, starting with `/`. */
  path: string

  /** The request method. */
  method: HttpMethod

  /**
   * The body. `null`: none. See {@link RequestBody} for what is accepted.
   *
   * @default null
   */
  body?: RequestBody | undefined

  /**
   * The header fields. `null`: only those that Dodici adds itself.
   *
   * @default null
   */
  headers?: RequestHeaders | null | undefined

  /**
   * Appended to `path` as a query string; a list gives one pair per element. Then `path` must not contain a query.
   *
   * @default undefined
   */
  query?: Readonly<Record<string, QueryValue>> | undefined

  /**
   * Whether sending the request twice does no harm (RFC 9110 §9.2.2). Dodici retries such a request once if its session
   * dies before any part of the response has arrived and its body can be sent again. It retries a provably unprocessed
   * request in any case. An `UpstreamPool` also sends a PUT or a DELETE to another upstream, unless this is `false`. No
   * effect on a tunnel.
   *
   * @default `true` for GET, HEAD, OPTIONS and TRACE, else `false`
   */
  idempotent?: boolean | undefined

  /**
   * The TLS server name (SNI, RFC 6066 §3), which the certificate must be valid for. Use it with an Agent; undici's
   * `dns` interceptor sets it, along with an address as `origin`. Requests with different names don't share a
   * connection. A Client or Pool has one name, `connect.servername` or the origin's host, and refuses any other. No
   * effect without TLS. `null`: `connect.servername`, or the origin's host.
   *
   * @default null
   */
  servername?: string | null | undefined

  /**
   * Whether an `upgrade` may use HTTP/2. `false`: the `fallback` sends it over HTTP/1.1. No effect on other requests:
   * undici 8 sets it on every request of an older fetch, which uses HTTP/2 here nevertheless.
   *
   * @default true
   */
  allowH2?: boolean | undefined

  /**
   * Whether further requests on the same connection wait until this response has started. It is for HTTP/1.1 with
   * `pipelining` above 1; over HTTP/2 a slow response doesn't block others. `null`: the default.
   *
   * @default `true`; `false` for HEAD
   */
  blocking?: boolean | null | undefined

  /**
   * The protocol to use on the stream via extended CONNECT (RFC 8441), such as `'websocket'`. If the server doesn't
   * offer extended CONNECT, the `fallback` upgrades over HTTP/1.1. `true` means `'websocket'`; `null` and `false`:
   * none. The handler then needs `onRequestUpgrade` or `onUpgrade`. Dodici sends `sec-websocket-key` only over HTTP/1.1
   * (RFC 8441 §5).
   *
   * @default null
   */
  upgrade?: boolean | string | null | undefined

  /**
   * Whether to close the connection after the response, and tell the server so with `connection: close`. Adding
   * `connection: close` to the headers has the same effect. It is for HTTP/1.1: no effect over HTTP/2, because a
   * session carries other requests (RFC 9113 §8.2.2). `null`: the default.
   *
   * @default `false`; `true` with `pipelining: 0`
   */
  reset?: boolean | null | undefined

  /**
   * Sends `expect: 100-continue`, and holds the body back until the server responds, but for a second at most, because
   * the server needn't respond (RFC 9110 §10.1.1). No effect without a body.
   *
   * @default false
   */
  expectContinue?: boolean | undefined

  /**
   * Fields to send after the body. A function is called once the body has been read, for example for a checksum.
   *
   * @default null
   */
  trailers?: RequestTrailers | null | undefined

  /**
   * Names of header and trailer fields to send as never indexed (RFC 7541 §7.1.3): neither the peer nor an intermediary
   * may put their values into a table. Engine `'wire'` never indexes `authorization`, `proxy-authorization` and
   * `cookie` anyway; node:http2 never indexes `authorization` and short cookies. Error messages never show these
   * values.
   *
   * @default null
   */
  sensitiveHeaders?: readonly string[] | null | undefined

  /**
   * How urgent the response is, compared with others on the same connection (RFC 9218). Dodici sends it as a `priority`
   * field, unless `headers` already have one. {@link DispatchController.reprioritize} changes it. `null`: no such
   * field.
   *
   * @default null
   */
  priority?: RequestPriority | null | undefined

  /**
   * Whether Dodici appends the caller's stack to the `stack` of this request's errors. `null`: as the dispatcher's
   * option of the same name says.
   *
   * @default null
   */
  captureStack?: boolean | null | undefined

  /** No effect: a connection carries many requests at once. In undici 8, the socket's IP type of service. */
  typeOfService?: number | null | undefined

  /** Only `false`, for code written for undici 6. To turn a status into an error, use an interceptor. */
  throwOnError?: boolean | undefined

  /** Only `0`, which the built-in fetch passes. To follow redirects, use fetch or an interceptor. */
  maxRedirections?: number | undefined
}

/** What aborts a call: an `AbortSignal`, or an EventEmitter that emits `'abort'`. `null`: nothing. */
export type CallSignal = AbortSignal | EventEmitter | null

/** The form of headers and trailers. `'raw'`: flat lists, in wire order. `null`: objects. */
export type HeaderForm = 'raw' | null

/**
 * The options of `request()` and `stream()`.
 *
 * @typeParam TOpaque - the type of `opaque`.
 * @typeParam TForm - the value of `responseHeaders`, from which the types of headers and trailers follow.
 */
export interface RequestOptions<TOpaque = null, TForm extends HeaderForm = HeaderForm>
  extends DispatchOptions {
  /**
   * Any value: the response carries it back to you.
   *
   * @default null
   */
  opaque?: TOpaque | undefined

  /**
   * Aborts the call when it fires. `null`: none.
   *
   * @default null
   */
  signal?: CallSignal | undefined

  /**
   * Called for each 1xx response. `null`: Dodici ignores them.
   *
   * @default null
   */
  onInfo?:
    | ((info: { statusCode: number; headers: Record<string, string | string[]> }) => void)
    | null
    | undefined

  /**
   * The form of headers and trailers. `'raw'`: flat lists, in wire order. `null`: objects.
   *
   * @default null
   */
  responseHeaders?: TForm | undefined

  /**
   * How many bytes of the response body may wait for the reader before Dodici holds the stream back.
   *
   * @default 65_536
   */
  highWaterMark?: number | undefined
}

/** The options of `pipeline()`. */
export interface PipelineOptions<TOpaque = null, TForm extends HeaderForm = HeaderForm>
  extends RequestOptions<TOpaque, TForm> {
  /**
   * Whether the handler returns a stream of objects.
   *
   * @default false
   */
  objectMode?: boolean | undefined
}

/**
 * The options of `connect()`: a tunnel (RFC 9113 §8.5). Once the tunnel is established, limits and signal no longer
 * apply.
 */
export interface ConnectOptions<TOpaque = null, TForm extends HeaderForm = HeaderForm> extends CallLimits {
  /** See {@link DispatchOptions.captureStack}. @default null */
  captureStack?: boolean | null | undefined

  /** The origin, such as `'https://example.com'`. An `Agent` needs it; a `Client` has its own. */
  origin?: string | URL | undefined

  /**
   * The target's authority, such as `'example.com:443'`: a host in ASCII (RFC 3986 §3.2.2) and a port from 1 to 65535.
   * A path that starts with `/` means the origin itself.
   */
  path: string

  /**
   * The header fields. `null`: none.
   *
   * @default null
   */
  headers?: RequestHeaders | null | undefined

  /**
   * Aborts the call when it fires. `null`: none.
   *
   * @default null
   */
  signal?: CallSignal | undefined

  /**
   * Any value: the response carries it back to you.
   *
   * @default null
   */
  opaque?: TOpaque | undefined

  /**
   * The form of the headers. `'raw'`: a flat list, in wire order. `null`: an object.
   *
   * @default null
   */
  responseHeaders?: TForm | undefined
}

/**
 * The options of `upgrade()`: extended CONNECT (RFC 8441). Once the upgrade is done, limits and signal no longer apply.
 */
export interface UpgradeOptions<TOpaque = null, TForm extends HeaderForm = HeaderForm> extends CallLimits {
  /** See {@link DispatchOptions.captureStack}. @default null */
  captureStack?: boolean | null | undefined

  /** The origin, such as `'https://example.com'`. An `Agent` needs it; a `Client` has its own. */
  origin?: string | URL | undefined

  /** The path with its query, starting with `/`. */
  path: string

  /**
   * The request method of an HTTP/1.1 upgrade. On HTTP/2 it is always CONNECT.
   *
   * @default 'GET'
   */
  method?: string | undefined

  /**
   * The header fields. `null`: none.
   *
   * @default null
   */
  headers?: RequestHeaders | null | undefined

  /**
   * The protocol to use: the request's `:protocol`.
   *
   * @default 'websocket'
   */
  protocol?: string | undefined

  /**
   * Aborts the call when it fires. `null`: none.
   *
   * @default null
   */
  signal?: CallSignal | undefined

  /**
   * Any value: the response carries it back to you.
   *
   * @default null
   */
  opaque?: TOpaque | undefined

  /**
   * The form of the headers. `'raw'`: a flat list, in wire order. `null`: an object.
   *
   * @default null
   */
  responseHeaders?: TForm | undefined
}

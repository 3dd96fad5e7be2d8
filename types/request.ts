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

/** Trailers of a request, or a function that makes them: each attempt calls it once the body has been read. */
export type RequestTrailers = RequestHeaders | (() => RequestHeaders | null | undefined)

/** How urgent a response is (RFC 9218 §4). */
export interface RequestPriority {
  /** From 0, the most urgent, to 7. @default 3 */
  urgency?: number | undefined
  /**
   * Whether a part of the response is useful before it is complete: the server may interleave it with others.
   *
   * @default false
   */
  incremental?: boolean | undefined
}

/** A value of a query that isn't empty. */
export type QueryPrimitive = string | number | bigint | boolean

/** A value of a query, or a list of values. `undefined` and `null` give an empty value. */
export type QueryValue = QueryPrimitive | readonly QueryPrimitive[] | null | undefined

/** One request, as `dispatch()` takes it. The options of undici 6, 7 and 8 are all acceptable. */
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
   * The header fields. `null`: none but those that Dodici sends.
   *
   * @default null
   */
  headers?: RequestHeaders | null | undefined

  /**
   * Appended to `path` as a query string; a list gives one pair per element. `path` may have no query of its own then.
   */
  query?: Readonly<Record<string, QueryValue>> | undefined

  /**
   * Whether sending the request twice does no harm (RFC 9110 §9.2.2). Such a request is retried once when its session
   * dies before any part of the response has come, if its body can be sent again. A request that is provably
   * unprocessed is retried in any case. It has no effect on a tunnel.
   *
   * @default true for GET, HEAD, OPTIONS and TRACE, else false. An `UpstreamPool` sends a PUT or a DELETE to another
   *   upstream as well, unless this is `false`.
   */
  idempotent?: boolean | undefined

  /**
   * The TLS server name (SNI, RFC 6066 §3), which the certificate must be for. It is an option for an Agent; undici's
   * `dns` interceptor sets it, along with an address as `origin`. Requests with different names share no connection. A
   * Client or a Pool has one name, `connect.servername` or the origin's host, and refuses any other. Without TLS it has
   * no effect. `null`: that of `connect`, or the origin's host.
   *
   * @default null
   */
  servername?: string | null | undefined

  /**
   * `false` sends an `upgrade` by HTTP/1.1, that is, to the `fallback`. For other requests it has no effect: undici 8
   * sets it on every request of an older fetch, which uses HTTP/2 here nevertheless.
   */
  allowH2?: boolean | undefined

  /**
   * Whether no other request is sent behind this one on its connection before its response has begun. It is for
   * HTTP/1.1 with `pipelining` above 1; over HTTP/2 a slow response blocks no other. `null`: the default.
   *
   * @default true; `false` for HEAD
   */
  blocking?: boolean | null | undefined

  /**
   * The protocol to speak on the stream by extended CONNECT (RFC 8441), such as `'websocket'`. If the server offers no
   * extended CONNECT, the `fallback` upgrades over HTTP/1.1. `true` means `'websocket'`; `null` and `false`: none. The
   * handler needs `onRequestUpgrade` then, or `onUpgrade`. A `sec-websocket-key` is sent over HTTP/1.1 alone (RFC 8441
   * §5).
   *
   * @default null
   */
  upgrade?: boolean | string | null | undefined

  /**
   * Whether the connection is closed behind the response, and the server is told so by `connection: close`. A
   * `connection: close` among the headers asks for the same. It is for HTTP/1.1: over HTTP/2 it has no effect, since a
   * session carries other requests (RFC 9113 §8.2.2). `null`: the default.
   *
   * @default false; `true` with `pipelining: 0`
   */
  reset?: boolean | null | undefined

  /**
   * Sends `expect: 100-continue`, and holds the body back until the server responds, or for a second: the server
   * needn't respond (RFC 9110 §10.1.1). Without a body it has no effect.
   *
   * @default false
   */
  expectContinue?: boolean | undefined

  /**
   * Fields to send after the body. A function is called once the body has been read: for a checksum, for example.
   *
   * @default null
   */
  trailers?: RequestTrailers | null | undefined

  /**
   * Names of fields of the header section and the trailer section that are sent as never indexed (RFC 7541 §7.1.3):
   * neither the peer nor an intermediary may put their values into a table. Engine `'wire'` never indexes
   * `authorization`, `proxy-authorization` and `cookie` anyway; node:http2 never indexes `authorization` and short
   * cookies. No error message shows such a value.
   *
   * @default null
   */
  sensitiveHeaders?: readonly string[] | null | undefined

  /**
   * How urgent the response is beside others of the same connection (RFC 9218). It is sent as a `priority` field; if
   * `headers` have one, that one wins. {@link DispatchController.reprioritize} changes it. `null`: no such field is
   * sent.
   *
   * @default null
   */
  priority?: RequestPriority | null | undefined

  /**
   * Whether an error of this request has the stack of its caller, appended to its own `stack`. `null`: what the
   * dispatcher's option of the same name says.
   *
   * @default null
   */
  captureStack?: boolean | null | undefined

  /** Without effect: a connection carries many requests at once. In undici 8, the IP type of service of the socket. */
  typeOfService?: number | null | undefined

  /** Only `false`, for the sake of undici 6: a response's status is no error, except by an interceptor. */
  throwOnError?: boolean | undefined

  /** Only `0`, which built-in fetch passes: redirects are fetch's, or an interceptor's. */
  maxRedirections?: number | undefined
}

/** What ends a call: an `AbortSignal`, or an emitter of `'abort'`. `null`: nothing. */
export type CallSignal = AbortSignal | EventEmitter | null

/** How headers and trailers are given. `'raw'`: as flat lists, in wire order. `null`: as objects. */
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
   * Any value: it comes back with the response.
   *
   * @default null
   */
  opaque?: TOpaque | undefined

  /**
   * Ends the call when it fires. `null`: nothing does.
   *
   * @default null
   */
  signal?: CallSignal | undefined

  /** Called for each 1xx response. `null`: they are ignored. */
  onInfo?:
    | ((info: { statusCode: number; headers: Record<string, string | string[]> }) => void)
    | null
    | undefined

  /**
   * `'raw'`: headers and trailers come as flat lists, in wire order. `null`: as objects.
   *
   * @default null
   */
  responseHeaders?: TForm | undefined

  /**
   * How many bytes of the response's body may wait for the reader before the stream is held back.
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

  /** Where to send it. A `Client` has its own; an `Agent` needs one. */
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
   * Ends the call when it fires. `null`: nothing does.
   *
   * @default null
   */
  signal?: CallSignal | undefined

  /**
   * Any value: it comes back with the response.
   *
   * @default null
   */
  opaque?: TOpaque | undefined

  /**
   * `'raw'`: headers come as a flat list, in wire order. `null`: as an object.
   *
   * @default null
   */
  responseHeaders?: TForm | undefined
}

/**
 * The options of `upgrade()`: extended CONNECT (RFC 8441). Once it is established, limits and signal no longer apply.
 */
export interface UpgradeOptions<TOpaque = null, TForm extends HeaderForm = HeaderForm> extends CallLimits {
  /** See {@link DispatchOptions.captureStack}. @default null */
  captureStack?: boolean | null | undefined

  /** Where to send it. A `Client` has its own; an `Agent` needs one. */
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
   * The protocol to speak: `:protocol` of the request.
   *
   * @default 'websocket'
   */
  protocol?: string | undefined

  /**
   * Ends the call when it fires. `null`: nothing does.
   *
   * @default null
   */
  signal?: CallSignal | undefined

  /**
   * Any value: it comes back with the response.
   *
   * @default null
   */
  opaque?: TOpaque | undefined

  /**
   * `'raw'`: headers come as a flat list, in wire order. `null`: as an object.
   *
   * @default null
   */
  responseHeaders?: TForm | undefined
}

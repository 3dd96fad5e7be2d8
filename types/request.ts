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

/** Trailers of a request, or a function that is called for them once the body has been read, by each attempt. */
export type RequestTrailers = RequestHeaders | (() => RequestHeaders | null | undefined)

/** How urgent a response is (RFC 9218 §4). */
export interface RequestPriority {
  /** From 0, the most urgent, to 7. @default 3 */
  urgency?: number | undefined
  /** Whether its beginning is of use before its end is there: then the server may send it in turn with others. @default false */
  incremental?: boolean | undefined
}

/** One part of a query that says something. */
export type QueryPrimitive = string | number | bigint | boolean

/** One part of a query: a value, or a list of them. `undefined` and `null` give an empty value. */
export type QueryValue = QueryPrimitive | readonly QueryPrimitive[] | null | undefined

/** One request, as `dispatch()` takes it. The options of undici 6, 7 and 8 are all acceptable. */
export interface DispatchOptions extends CallLimits {
  /** Where to send it, such as `'https://example.com'`. A `Client` has its own; an `Agent` needs one. */
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

  /** Appended to `path` as a query string; a list gives one pair per element. `path` may have no query of its own then. */
  query?: Readonly<Record<string, QueryValue>> | undefined

  /**
   * Whether sending the request twice does no harm (RFC 9110 §9.2.2): then it is sent once more when its session dies before
   * any part of the response has come, if its body can be had again. What is provably unprocessed is sent again anyway. A
   * tunnel never is.
   *
   * @default true for GET, HEAD, OPTIONS and TRACE, else false
   */
  idempotent?: boolean | undefined

  /**
   * The TLS server name (SNI, RFC 6066 §3), which the certificate must be for: an Agent's, and what undici's `dns` interceptor
   * gives along with an address as `origin`. Requests of different names share no connection. A Client or a Pool asks
   * for one name alone, `connect.servername` or the origin's host, and refuses another one. Without effect where TLS isn't spoken.
   * `null`: that of `connect`, or the origin's host.
   *
   * @default null
   */
  servername?: string | null | undefined

  /**
   * `false` sends an `upgrade` by HTTP/1.1, that is, to the `fallback`. Otherwise without effect: undici 8 gives it along with
   * every request of an older fetch, which gets HTTP/2 here all the same.
   */
  allowH2?: boolean | undefined

  /** Accepted for undici's sake: on HTTP/2 a slow response blocks no other. */
  blocking?: boolean | undefined

  /**
   * The protocol to speak on the stream by extended CONNECT (RFC 8441), such as `'websocket'`; where the server offers none, by an
   * upgrade of HTTP/1.1 through the `fallback`. `true` means `'websocket'`; `null` and `false`: none. The handler needs
   * `onRequestUpgrade` then, or `onUpgrade`. A `sec-websocket-key` is sent over HTTP/1.1 alone (RFC 8441 §5).
   *
   * @default null
   */
  upgrade?: boolean | string | null | undefined

  /** Accepted for undici's sake: HTTP/2 has no `connection: close` per request (RFC 9113 §8.2.2). */
  reset?: boolean | undefined

  /**
   * Sends `expect: 100-continue` and holds the body back until the server responds, or for a second: a response is not owed
   * (RFC 9110 §10.1.1). Without a body it has no effect.
   *
   * @default false
   */
  expectContinue?: boolean | undefined

  /**
   * Fields to send after the body. A function is called once the body has been read: for a checksum, say.
   *
   * @default null
   */
  trailers?: RequestTrailers | null | undefined

  /**
   * Names of fields, of the header and of the trailers, whose values nobody on the way may put into a table: never indexed (RFC 7541
   * §7.1.3). Engine `'wire'` never indexes `authorization`, `proxy-authorization` and `cookie` anyway; node:http2 the first, and short cookies.
   * No error shows such a value.
   *
   * @default null
   */
  sensitiveHeaders?: readonly string[] | null | undefined

  /**
   * How urgent the response is beside others of the same connection (RFC 9218), as a `priority` field; one among `headers` wins.
   * It can be changed by {@link DispatchController.reprioritize}. `null`: nothing is said.
   *
   * @default null
   */
  priority?: RequestPriority | null | undefined

  /** Accepted for undici's sake, which takes it for the IP type of service of the socket. */
  typeOfService?: number | null | undefined

  /** Accepted for the sake of undici 6 and 7, and without effect: a response's status is no error. */
  throwOnError?: boolean | undefined

  /** Accepted for the sake of undici 6 and of built-in fetch, which passes `0`: redirects are fetch's, or an interceptor's. */
  maxRedirections?: number | undefined
}

/** What ends a call: an `AbortSignal`, or an emitter of `'abort'`. `null`: nothing. */
export type CallSignal = AbortSignal | EventEmitter | null

/**
 * The options of `request()` and `stream()`.
 *
 * @typeParam TOpaque - the type of `opaque`.
 * @typeParam TSignal - inferred from `signal`; see {@link Dispatcher}.
 */
export interface RequestOptions<TOpaque = null, TSignal extends CallSignal = CallSignal>
  extends DispatchOptions {
  /**
   * Anything that shall come back with the response.
   *
   * @default null
   */
  opaque?: TOpaque | undefined

  /**
   * Ends the call when it fires. `null`: nothing does.
   *
   * @default null
   */
  signal?: TSignal | undefined

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
  responseHeaders?: 'raw' | null | undefined

  /**
   * How many bytes of the response's body may wait for the reader before the stream is held back.
   *
   * @default 65_536
   */
  highWaterMark?: number | undefined
}

/** The options of `pipeline()`. */
export interface PipelineOptions<TOpaque = null, TSignal extends CallSignal = CallSignal>
  extends RequestOptions<TOpaque, TSignal> {
  /**
   * Whether the handler returns a stream of objects.
   *
   * @default false
   */
  objectMode?: boolean | undefined
}

/** The options of `connect()`: a tunnel (RFC 9113 §8.5). Once it stands, its limits and its signal have no say any more. */
export interface ConnectOptions<TOpaque = null, TSignal extends CallSignal = CallSignal> extends CallLimits {
  /** Where to send it. A `Client` has its own; an `Agent` needs one. */
  origin?: string | URL | undefined

  /**
   * The target's authority, such as `'example.com:443'`: a host in ASCII (RFC 3986 §3.2.2) and a port from 1 to 65535. A path that starts
   * with `/` means the origin itself.
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
  signal?: TSignal | undefined

  /**
   * Anything that shall come back with the response.
   *
   * @default null
   */
  opaque?: TOpaque | undefined

  /**
   * `'raw'`: headers come as a flat list, in wire order. `null`: as an object.
   *
   * @default null
   */
  responseHeaders?: 'raw' | null | undefined
}

/** The options of `upgrade()`: extended CONNECT (RFC 8441). Once it stands, its limits and its signal have no say any more. */
export interface UpgradeOptions<TOpaque = null, TSignal extends CallSignal = CallSignal> extends CallLimits {
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
  signal?: TSignal | undefined

  /**
   * Anything that shall come back with the response.
   *
   * @default null
   */
  opaque?: TOpaque | undefined

  /**
   * `'raw'`: headers come as a flat list, in wire order. `null`: as an object.
   *
   * @default null
   */
  responseHeaders?: 'raw' | null | undefined
}

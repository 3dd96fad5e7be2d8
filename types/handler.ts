import type { Duplex } from 'node:stream'
import type { ConnectionInfo, TransportInfo } from './connection.ts'
import type { IncomingHttpHeaders, RawHeaders } from './headers.ts'
import type { RequestPriority } from './request.ts'

/**
 * The values that may be assigned to {@link DispatchController.rawHeaders}: every shape that undici's interceptors
 * assign.
 *
 * A flat list of strings or of latin1 Buffers, a header object, or `null` or `undefined` for none.
 */
export type RawHeadersInput = Buffer[] | string[] | IncomingHttpHeaders | null | undefined

/**
 * Controls one call. Every callback of a {@link DispatchHandler} gets it.
 *
 * It is the same object for the whole life of the call, over all its attempts.
 *
 * @see https://undici.nodejs.org/#/docs/api/Dispatcher — undici 8's `DispatchController`
 */
export interface DispatchController {
  /**
   * Whether {@link DispatchController.abort} ended the call. As in undici, a call that failed by itself isn't aborted.
   */
  get aborted(): boolean

  /** Whether the response's body is held back by {@link DispatchController.pause}. */
  get paused(): boolean

  /** Why the call was aborted; `null` if it wasn't. */
  get reason(): Error | null

  /**
   * The response's header fields as a flat list, in wire order; `null` before any response came.
   *
   * It is made on the first read and then kept, so it may be changed in place. Interceptors also assign it; an assigned
   * value is normalized to a list of strings.
   */
  get rawHeaders(): RawHeaders | null
  set rawHeaders(value: RawHeadersInput)

  /** The trailers, likewise; `null` before the body has ended. */
  get rawTrailers(): RawHeaders | null
  set rawTrailers(value: RawHeadersInput)

  /**
   * `true`: the final response has come, and `rawHeaders` stays that response's, however late it is read. Missing: the
   * controller may stand for several responses, one after the other; read `rawHeaders` in `onResponseStart` then.
   * Dodici's own: undici's dispatchers, and interceptors with a controller of their own, have no such property.
   */
  readonly hasLastingRawHeaders?: boolean

  /**
   * How large the response's body may be, in bytes; `-1`: any size. A caller that decodes the body must apply the limit
   * to the decoded bytes as well. Dodici's own: undici's dispatchers have no such property.
   */
  readonly maxResponseSize?: number

  /**
   * What carries the call: made anew on each read. `null` before its first attempt. Dodici's own: undici's dispatchers,
   * and interceptors with a controller of their own, have no such property.
   */
  readonly connection?: ConnectionInfo | null

  /**
   * The addresses and the TLS facts of the connection that carries the call, or has carried its last attempt. `null`
   * before the first attempt, and over HTTP/1.1. Dodici's own: undici's dispatchers, and interceptors with a controller
   * of their own, have no such property.
   */
  readonly transport?: TransportInfo | null

  /**
   * Whether the header section of the final response has ended it (END_STREAM on HEADERS, RFC 9113 §8.1): it has
   * neither body nor trailers. gRPC calls that Trailers-Only. Known from `onResponseStart` of the final response on;
   * `false` before, and over HTTP/1.1. Dodici's own: undici's dispatchers, and interceptors with a controller of
   * their own, have no such property.
   */
  readonly isHeaderOnly?: boolean

  /**
   * Ends the call: the stream is reset with CANCEL (RFC 9113 §8.1), and the handler gets `onResponseError`.
   *
   * Only the first abort counts. An abort after the call has settled has one effect: it destroys the tunnel of a
   * CONNECT or an upgrade.
   *
   * @param reason - the error that the handler gets. Without one, an `AbortError` is made.
   */
  abort(reason?: Error): void

  /**
   * Changes the priority of a request that was dispatched. Engine `'wire'` sends PRIORITY_UPDATE (RFC 9218 §7.1).
   * node:http2 has no such frame: there only a further attempt has the new priority. Without effect once the call has
   * settled. Dodici's own.
   */
  reprioritize?(priority: RequestPriority): void

  /** Holds the response's body back: no `onResponseData` until {@link DispatchController.resume}. */
  pause(): void

  /** Resumes a paused body. */
  resume(): void
}

/**
 * Receives the response of `dispatch()`. The shape is undici 8's, and Dodici's native one.
 *
 * The order is: `onRequestStart` → `onResponseStart` for each 1xx and for the final response → `onResponseData`, any
 * number of times → `onResponseEnd`. `onResponseError` may come at any point, and ends the call; if the input is
 * refused, only `onResponseError` is called.
 *
 * `onRequestStart`, `onResponseStart`, `onResponseData`, `onResponseEnd` and `onResponseError` are required: they are
 * optional here only because undici's type has them so. A callback that throws fails its own call, and no other.
 */
export interface DispatchHandler {
  /**
   * The call starts.
   *
   * @param context - an object of the interceptors that the call passes through, such as `{ history }` of redirect.
   */
  onRequestStart?(controller: DispatchController, context: unknown): void

  /**
   * A CONNECT or an extended CONNECT (RFC 8441) succeeded: `socket` is the stream. Nothing else is called afterwards.
   */
  onRequestUpgrade?(
    controller: DispatchController,
    statusCode: number,
    headers: IncomingHttpHeaders,
    socket: Duplex,
  ): void

  /**
   * A header section came. Called for each 1xx response, then once for the final one.
   *
   * @param statusMessage - HTTP/2 has none (RFC 9113 §8.3.2): an empty string.
   */
  onResponseStart?(
    controller: DispatchController,
    statusCode: number,
    headers: IncomingHttpHeaders,
    statusMessage?: string,
  ): void

  /** A piece of the body came. The chunk stays valid: it is never reused. */
  onResponseData?(controller: DispatchController, chunk: Buffer): void

  /** The response is complete. `trailers` is an empty object if there were none. */
  onResponseEnd?(controller: DispatchController, trailers: IncomingHttpHeaders): void

  /** The call failed, or was aborted. */
  onResponseError?(controller: DispatchController, error: Error): void

  /** A response has begun: called before each `onResponseStart`. undici's fetch takes a timestamp then. */
  onResponseStarted?(): void

  /** A piece of the request's body was handed to the session. */
  onBodySent?(chunk: Buffer): void

  /** All of the request was handed to the session, once for each attempt. */
  onRequestSent?(): void
}

/**
 * A handler in the shape of undici 6 and 7, which the built-in fetch of Node 20, 22 and 24 uses.
 *
 * It gets raw header fields as latin1 Buffers, and pauses by returning `false`.
 */
export interface LegacyDispatchHandler {
  /** The call starts; `abort` ends it. Called once, however many attempts follow. */
  onConnect?(abort: (reason?: Error) => void, context?: object): void

  /** The call failed, or was aborted. */
  onError?(error: Error): void

  /**
   * undici 7's fetch has this method of the newer shape as well. If it is there, it is called instead of `onUpgrade`.
   */
  onRequestUpgrade?(
    controller: DispatchController,
    statusCode: number,
    headers: IncomingHttpHeaders,
    socket: Duplex,
  ): void

  /**
   * A CONNECT succeeded, or an upgrade. For this shape an extended CONNECT (RFC 8441) looks like an upgrade of
   * HTTP/1.1: status 101, with `connection`, `upgrade` and, if the request had a key, `sec-websocket-accept`.
   */
  onUpgrade?(statusCode: number, headers: Buffer[] | string[] | null, socket: Duplex): void

  /** The first bytes of the response came, before its headers were read. */
  onResponseStarted?(): void

  /**
   * A header section came. Called for each 1xx response too. Returning `false` pauses the body until `resume` is
   * called; for a 1xx response the returned value has no effect.
   */
  onHeaders?(statusCode: number, headers: Buffer[], resume: () => void, statusText: string): boolean

  /** A piece of the body came. Returning `false` pauses the body until `resume` is called. */
  onData?(chunk: Buffer): boolean

  /**
   * The response is complete. `trailers` is a flat list of latin1 Buffers, as undici's dispatchers give it, although
   * undici's types say strings.
   */
  onComplete?(trailers: string[] | null): void

  /**
   * A piece of the request's body was handed to the session. The callback gets that piece, as undici's dispatchers give
   * it, although undici's types say two sizes.
   */
  onBodySent?(...args: never[]): void

  /** All of the request was handed to the session, once for each attempt. */
  onRequestSent?(): void
}

/** A handler of either shape: what `dispatch()` takes. */
export type AnyDispatchHandler = DispatchHandler | LegacyDispatchHandler

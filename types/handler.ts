import type { Duplex } from 'node:stream'
import type { ConnectionInfo, TransportInfo } from './connection.ts'
import type { IncomingHttpHeaders, RawHeaders } from './headers.ts'
import type { RequestPriority } from './request.ts'

/**
 * The values that you can assign to {@link DispatchController.rawHeaders}: every shape that undici's interceptors
 * assign.
 *
 * A flat list of strings or latin1 Buffers, a header object, or `null` or `undefined` for none.
 */
export type RawHeadersInput = Buffer[] | string[] | IncomingHttpHeaders | null | undefined

/**
 * Controls one call. Every callback of a {@link DispatchHandler} receives it.
 *
 * It stays the same object for the whole call, over all its attempts.
 *
 * @see https://undici.nodejs.org/#/docs/api/Dispatcher — undici 8's `DispatchController`
 */
export interface DispatchController {
  /**
   * Whether {@link DispatchController.abort} ended the call. As in undici, a call that failed on its own isn't aborted.
   */
  get aborted(): boolean

  /** Whether {@link DispatchController.pause} holds the response body back. */
  get paused(): boolean

  /** Why the call was aborted; `null` if it wasn't. */
  get reason(): Error | null

  /**
   * The response's header fields as a flat list, in wire order; `null` until a response arrives.
   *
   * Dodici creates the list on the first read and then keeps it, so you can change it in place. Interceptors also
   * assign it; Dodici normalizes an assigned value to a list of strings.
   */
  get rawHeaders(): RawHeaders | null
  set rawHeaders(value: RawHeadersInput)

  /** The trailers, in the same form; `null` until the body has ended. */
  get rawTrailers(): RawHeaders | null
  set rawTrailers(value: RawHeadersInput)

  /**
   * `true`: the final response has arrived, and `rawHeaders` keeps its fields, however late you read it. Missing: the
   * controller may represent several responses, one after another; then read `rawHeaders` in `onResponseStart`. Not in
   * undici's dispatchers, nor in interceptors that create their own controller.
   */
  readonly hasLastingRawHeaders?: boolean

  /**
   * How large the response body may be, in bytes; `-1`: no limit. A handler that decodes the body must apply the limit
   * to the decoded bytes as well. Not in undici's dispatchers.
   */
  readonly maxResponseSize?: number

  /**
   * What carries the call; each read returns a new object. `null` before the first attempt. Not in undici's
   * dispatchers, nor in interceptors that create their own controller.
   */
  readonly connection?: ConnectionInfo | null

  /**
   * The addresses and TLS details of the connection that carries the call, or carried its last attempt. `null` before
   * the first attempt, and over HTTP/1.1. Not in undici's dispatchers, nor in interceptors that create their own
   * controller.
   */
  readonly transport?: TransportInfo | null

  /**
   * Whether the final response ended with its header section (END_STREAM on HEADERS, RFC 9113 §8.1), without a body or
   * trailers. gRPC calls this Trailers-Only. Known from the final response's `onResponseStart` on; `false` before that,
   * and over HTTP/1.1. Not in undici's dispatchers, nor in interceptors that create their own controller.
   */
  readonly isHeaderOnly?: boolean

  /**
   * Ends the call: Dodici resets the stream with CANCEL (RFC 9113 §8.1) and calls the handler's `onResponseError`.
   *
   * Only the first abort counts. After the call has settled, an abort has one effect: it destroys the tunnel of a
   * CONNECT or an upgrade.
   *
   * @param reason - the error that the handler receives. Without one, Dodici creates an `AbortError`.
   */
  abort(reason?: Error): void

  /**
   * Changes the priority of a dispatched request. Engine `'wire'` sends PRIORITY_UPDATE (RFC 9218 §7.1). node:http2
   * can't send that frame: there, only a further attempt has the new priority. No effect once the call has settled. Not
   * in undici.
   */
  reprioritize?(priority: RequestPriority): void

  /** Holds the response body back: no `onResponseData` until {@link DispatchController.resume}. */
  pause(): void

  /** Resumes a paused body. */
  resume(): void
}

/**
 * Receives the response to `dispatch()`. The shape is undici 8's, and Dodici's native one.
 *
 * The order is: `onRequestStart` → `onResponseStart` for each 1xx and for the final response → `onResponseData`, any
 * number of times → `onResponseEnd`. `onResponseError` may come at any point and ends the call; if Dodici refuses the
 * input, it calls only `onResponseError`.
 *
 * `onRequestStart`, `onResponseStart`, `onResponseData`, `onResponseEnd` and `onResponseError` are required: they are
 * optional here only because they are in undici's type. A callback that throws fails only its own call.
 */
export interface DispatchHandler {
  /**
   * The call starts.
   *
   * @param context - an object from the interceptors that the call passes through, such as redirect's `{ history }`.
   */
  onRequestStart?(controller: DispatchController, context: unknown): void

  /**
   * A CONNECT or an extended CONNECT (RFC 8441) succeeded: `socket` is the stream. No other callback follows.
   */
  onRequestUpgrade?(
    controller: DispatchController,
    statusCode: number,
    headers: IncomingHttpHeaders,
    socket: Duplex,
  ): void

  /**
   * A header section arrived. Called for each 1xx response, then once for the final response.
   *
   * @param statusMessage - HTTP/2 has none (RFC 9113 §8.3.2): an empty string.
   */
  onResponseStart?(
    controller: DispatchController,
    statusCode: number,
    headers: IncomingHttpHeaders,
    statusMessage?: string,
  ): void

  /** Part of the body arrived. The chunk stays valid: Dodici never reuses it. */
  onResponseData?(controller: DispatchController, chunk: Buffer): void

  /** The response is complete. `trailers` is an empty object if there were none. */
  onResponseEnd?(controller: DispatchController, trailers: IncomingHttpHeaders): void

  /** The call failed, or was aborted. */
  onResponseError?(controller: DispatchController, error: Error): void

  /** A response has begun: called before each `onResponseStart`. undici's fetch takes a timestamp then. */
  onResponseStarted?(): void

  /** Part of the request body was handed to the session. */
  onBodySent?(chunk: Buffer): void

  /** The whole request was handed to the session. Called once per attempt. */
  onRequestSent?(): void
}

/**
 * A handler in the shape of undici 6 and 7, which the built-in fetch of Node 20, 22 and 24 uses.
 *
 * It receives raw header fields as latin1 Buffers, and pauses by returning `false`.
 */
export interface LegacyDispatchHandler {
  /** The call starts; `abort` ends it. Called once, however many attempts follow. */
  onConnect?(abort: (reason?: Error) => void, context?: object): void

  /** The call failed, or was aborted. */
  onError?(error: Error): void

  /**
   * undici 7's fetch also has this method of the newer shape. If it exists, Dodici calls it instead of `onUpgrade`.
   */
  onRequestUpgrade?(
    controller: DispatchController,
    statusCode: number,
    headers: IncomingHttpHeaders,
    socket: Duplex,
  ): void

  /**
   * A CONNECT or an upgrade succeeded. For this shape, an extended CONNECT (RFC 8441) looks like an HTTP/1.1 upgrade:
   * status 101, with `connection`, `upgrade` and, if the request had a key, `sec-websocket-accept`.
   */
  onUpgrade?(statusCode: number, headers: Buffer[] | string[] | null, socket: Duplex): void

  /** The first bytes of the response arrived; its headers have not been read yet. */
  onResponseStarted?(): void

  /**
   * A header section arrived. Also called for each 1xx response. Returning `false` pauses the body until you call
   * `resume`; for a 1xx response the returned value has no effect.
   */
  onHeaders?(statusCode: number, headers: Buffer[], resume: () => void, statusText: string): boolean

  /** Part of the body arrived. Returning `false` pauses the body until you call `resume`. */
  onData?(chunk: Buffer): boolean

  /**
   * The response is complete. `trailers` is a flat list of latin1 Buffers, as from undici's dispatchers, although
   * undici's types say strings.
   */
  onComplete?(trailers: string[] | null): void

  /**
   * Part of the request body was handed to the session. The callback receives that part, as from undici's dispatchers,
   * although undici's types say two sizes.
   */
  onBodySent?(...args: never[]): void

  /** The whole request was handed to the session. Called once per attempt. */
  onRequestSent?(): void
}

/** A handler of either shape, for `dispatch()`. */
export type AnyDispatchHandler = DispatchHandler | LegacyDispatchHandler

/**
 * `request()`: one request, its answer's header, and a body to be read.
 *
 * @module
 */

import { AsyncResource } from 'node:async_hooks'
import type { Callback, Dispatcher } from '../../types/dispatcher.ts'
import type { DispatchController, DispatchHandler } from '../../types/handler.ts'
import type { IncomingHttpHeaders } from '../../types/headers.ts'
import type { RequestOptions } from '../../types/request.ts'
import type { ResponseData, UndiciBodyReadable } from '../../types/response.ts'
import { toRawHeaders } from '../core/headers.ts'
import { invalid, toInteger } from '../core/options.ts'
import { toError } from '../errors.ts'
import { BodyReadable } from './body-readable.ts'
import type { Abortable } from './signal.ts'
import { checkSignal, SignalLink } from './signal.ts'

type Data<TOpaque> = ResponseData<TOpaque, UndiciBodyReadable>

/** undici's default, and that of node's file streams. Bytes. */
const HIGH_WATER_MARK = 65_536

/** @throws InvalidArgumentError that names the option, its value, and what would be accepted. */
function checkOptions(options: RequestOptions<unknown>): void {
  if (typeof options !== 'object' || options === null) throw invalid('options', options, 'an object')
  checkSignal(options.signal)
  const { onInfo, responseHeaders, highWaterMark } = options
  if (onInfo !== undefined && onInfo !== null && typeof onInfo !== 'function') {
    throw invalid('onInfo', onInfo, 'a function, or null')
  }
  if (responseHeaders !== undefined && responseHeaders !== null && responseHeaders !== 'raw') {
    throw invalid('responseHeaders', responseHeaders, "'raw', or null")
  }
  toInteger('highWaterMark', highWaterMark, HIGH_WATER_MARK, 0, Number.MAX_SAFE_INTEGER, 'bytes')
}

/** Gives the caller a body as soon as the header is there, and fills that body. */
class RequestHandler<TOpaque> implements DispatchHandler, Abortable {
  readonly #options: RequestOptions<TOpaque>
  /** Null once it was called. */
  #callback: Callback<Data<TOpaque>> | null
  #controller: DispatchController | null = null
  #context: unknown = null
  /** Null until the final answer's header is there. */
  #body: BodyReadable | null = null
  /** An object, or with `responseHeaders: 'raw'` an array: filled when the trailers come, since `data` exists before. */
  readonly #trailers: Record<string, string | string[] | undefined> | string[]
  /** Why the signal ended it; null while it hasn't. */
  #reason: Error | null = null
  readonly #signal: SignalLink | null

  constructor(options: RequestOptions<TOpaque>, callback: Callback<Data<TOpaque>>) {
    this.#options = options
    this.#callback = callback
    this.#trailers = options.responseHeaders === 'raw' ? [] : {}
    this.#signal = SignalLink.from(options.signal ?? null, this)
  }

  onSignal(reason: Error): void {
    this.#reason = reason
    if (this.#body === null) this.#controller?.abort(reason)
    else this.#body.abort(reason)
  }

  onRequestStart(controller: DispatchController, context: unknown): void {
    this.#controller = controller
    this.#context = context
    if (this.#reason !== null) controller.abort(this.#reason)
  }

  onResponseStart(
    controller: DispatchController,
    statusCode: number,
    headers: IncomingHttpHeaders,
    statusText = '',
  ): void {
    const { onInfo, responseHeaders, highWaterMark, method } = this.#options
    // The contract follows undici: it types these headers as an object also where 'raw' makes them an array.
    const handed = (
      responseHeaders === 'raw' ? toRawHeaders(controller.rawHeaders ?? headers) : headers
    ) as Record<string, string | string[]>
    if (statusCode < 200) {
      onInfo?.({ statusCode, headers: handed })
      return
    }
    const body = new BodyReadable(controller, headers, {
      highWaterMark: highWaterMark ?? HIGH_WATER_MARK,
      isEmpty: method === 'HEAD',
    })
    this.#body = body
    // Until the body is done with: it can be aborted while its last part waits to be read.
    if (this.#signal !== null) body.once('close', () => this.#signal?.remove())
    this.#call(null, {
      statusCode,
      statusText,
      headers: handed,
      body: body as unknown as UndiciBodyReadable,
      trailers: this.#trailers as Record<string, string>,
      opaque: (this.#options.opaque ?? null) as TOpaque,
      context: this.#context as object,
    })
  }

  onResponseData(controller: DispatchController, chunk: Buffer): void {
    if (this.#body?.receive(chunk) === false) controller.pause()
  }

  onResponseEnd(controller: DispatchController, trailers: IncomingHttpHeaders): void {
    if (Array.isArray(this.#trailers))
      this.#trailers.push(...toRawHeaders(controller.rawTrailers ?? trailers))
    else Object.assign(this.#trailers, trailers)
    this.#body?.finish()
    // Nothing is left to be aborted; and a body without data, of a HEAD say, is often never read, so never closes.
    if (this.#body?.readableLength === 0) this.#signal?.remove()
  }

  onResponseError(_controller: DispatchController, error: Error): void {
    if (this.#body === null) this.#signal?.remove()
    // Later, as undici does: a callback that is entered before `request()` has returned surprises its owner.
    if (this.#body === null) queueMicrotask(() => this.#call(error, undefined))
    else this.#body.fail(error)
  }

  #call(error: Error | null, data: Data<TOpaque> | undefined): void {
    const callback = this.#callback
    this.#callback = null
    // undici's callbacks get `opaque` with an error as well.
    try {
      callback?.(error, data ?? ({ opaque: this.#options.opaque ?? null } as Data<TOpaque>))
    } catch (thrown) {
      // The caller's own code has failed: that is for the process to hear, as with any callback, and no part of the call.
      this.#body?.destroy()
      process.nextTick(rethrow, thrown)
    }
  }
}

function rethrow(thrown: unknown): void {
  throw thrown
}

/** Only a dispatcher's `dispatch` is needed. */
type Dispatching = Pick<Dispatcher, 'dispatch'>

/**
 * Performs a request.
 *
 * @returns the answer's status, header and body, as soon as the header is there; the body must be read, dumped or
 * destroyed, or the peer's window fills up. With `responseHeaders: 'raw'` the headers and trailers are flat arrays.
 * @throws InvalidArgumentError for bad options (the promise is rejected with it), and whatever ends the call.
 */
export function request<TOpaque>(
  dispatcher: Dispatching,
  options: RequestOptions<TOpaque>,
): Promise<Data<TOpaque>>
export function request<TOpaque>(
  dispatcher: Dispatching,
  options: RequestOptions<TOpaque>,
  callback: Callback<Data<TOpaque>>,
): void
export function request<TOpaque>(
  dispatcher: Dispatching,
  options: RequestOptions<TOpaque>,
  callback?: Callback<Data<TOpaque>>,
): unknown {
  if (callback === undefined) {
    return new Promise<Data<TOpaque>>((resolve, reject) => {
      checkOptions(options)
      const settle: Callback<Data<TOpaque>> = (error, data) =>
        error === null ? resolve(data) : reject(error)
      dispatcher.dispatch(options, new RequestHandler(options, settle))
    })
  }
  if (typeof callback !== 'function') throw invalid('callback', callback, 'a function')
  // The caller's async context, also when the answer comes from a socket's.
  const settle = AsyncResource.bind(callback)
  try {
    checkOptions(options)
    dispatcher.dispatch(options, new RequestHandler(options, settle))
  } catch (thrown) {
    process.nextTick(settle, toError(thrown), { opaque: options?.opaque ?? null })
  }
  return undefined
}

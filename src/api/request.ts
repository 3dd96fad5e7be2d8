/**
 * `request()`: a request that returns the response's header fields and a body to read.
 *
 * @module
 */

import type { Callback } from '../../types/api-methods.ts'
import type { DispatchController, DispatchHandler } from '../../types/handler.ts'
import type { IncomingHttpHeaders } from '../../types/headers.ts'
import type { HeaderForm, RequestOptions } from '../../types/request.ts'
import type { ResponseData } from '../../types/response.ts'
import { noop } from '../core/noop.ts'
import { rejectAwaited } from '../errors/awaited-stack.ts'
import { toError } from '../errors/errors.ts'
import { endUnsentBody } from '../request/unsent-body.ts'
import type { Dispatching, Trailers } from './api-handler.ts'
import {
  ApiHandler,
  checkApiOptions,
  checkNoTunnel,
  HIGH_WATER_MARK,
  perform,
  toNoHeaderError,
} from './api-handler.ts'
import type { BodyOwner } from './body-readable.ts'
import { BodyReadable } from './body-readable.ts'

type Data<TOpaque> = ResponseData<TOpaque, HeaderForm>
type Resolve = (data: Data<unknown> | Promise<never>) => void
type Reject = (error: unknown) => void

/** Gives the caller a body as soon as the header section has arrived, and fills that body. */
class RequestHandler<TOpaque>
  extends ApiHandler<TOpaque, Data<TOpaque>>
  implements DispatchHandler, BodyOwner
{
  readonly isHead: boolean
  readonly target: string
  /** 0 until the header section of the final response has arrived. */
  statusCode = 0
  readonly #trailers: Trailers
  /** Null until the header section of the final response has arrived. */
  #body: BodyReadable | null = null

  constructor(options: RequestOptions<TOpaque>, callback: Callback<Data<TOpaque>>) {
    super(options, callback)
    this.target = options.path
    this.isHead = options.method === 'HEAD'
    this.#trailers = this.makeTrailers()
  }

  protected override abort(reason: Error): void {
    if (this.#body === null) super.abort(reason)
    else this.#body.abort(reason)
  }

  onResponseStart(
    controller: DispatchController,
    statusCode: number,
    headers: IncomingHttpHeaders,
    statusText = '',
  ): void {
    if (statusCode < 200) {
      this.inform(controller, statusCode, headers)
      return
    }
    const { highWaterMark, signal } = this.options
    const body = new BodyReadable(controller, headers, highWaterMark ?? HIGH_WATER_MARK, this)
    this.statusCode = statusCode
    this.#body = body
    // The signal counts until the body is closed: it can be aborted while its last part waits to be read.
    if (signal !== undefined && signal !== null) body.once('close', () => this.removeSignal())
    const data = {
      statusCode,
      statusText,
      headers: this.toHanded(controller, headers),
      body,
      trailers: this.#trailers,
      opaque: this.opaque,
      context: this.context as object,
    }
    if (!this.succeed(data)) body.destroy()
  }

  onResponseData(controller: DispatchController, chunk: Buffer): void {
    if (this.#body?.receive(chunk) === false) controller.pause()
  }

  onResponseEnd(controller: DispatchController, trailers: IncomingHttpHeaders): void {
    const body = this.#body
    if (body === null) {
      this.fail(toNoHeaderError())
      return
    }
    this.fillTrailers(this.#trailers, controller, trailers)
    body.finish()
    // Nothing is left to abort. A body without data (of a HEAD, for example) is often never read, so it never closes.
    if (!body.hasUnread) this.removeSignal()
  }

  onResponseError(_controller: DispatchController, error: Error): void {
    if (this.#body === null) this.fail(error)
    else this.#body.fail(error)
  }
}

/** Settles a promise. */
class PromisedRequest<TOpaque> extends RequestHandler<TOpaque> {
  readonly #resolve: Resolve
  readonly #reject: Reject

  constructor(options: RequestOptions<TOpaque>, resolve: Resolve, reject: Reject) {
    super(options, noop)
    this.#resolve = resolve
    this.#reject = reject
  }

  protected override settle(
    _callback: Callback<Data<TOpaque>>,
    error: Error | null,
    data: Data<TOpaque>,
  ): void {
    if (error === null) this.#resolve(data)
    else rejectAwaited(this.#resolve, this.#reject, error)
  }
}

/** The functions of the promise that is being created. */
let lastResolve: Resolve = noop
let lastReject: Reject = noop

/** For `new Promise()`: one function for all calls, instead of a closure for each. */
function keepFunctions(resolve: Resolve, reject: Reject): void {
  lastResolve = resolve
  lastReject = reject
}

/** The form with a promise: any error is its outcome. It creates no closure. */
function performPromised<TOpaque>(
  dispatcher: Dispatching,
  options: RequestOptions<TOpaque>,
): Promise<Data<TOpaque>> {
  const promised = new Promise<Data<unknown>>(keepFunctions)
  const resolve = lastResolve
  const reject = lastReject
  lastResolve = noop
  lastReject = noop
  try {
    checkApiOptions(options)
    checkNoTunnel(options)
    new PromisedRequest(options, resolve, reject).dispatchBy(dispatcher, options)
  } catch (thrown) {
    endUnsentBody(options, toError(thrown))
    reject(thrown)
  }
  // PromisedRequest resolves it with the opaque value of these very options.
  return promised as Promise<Data<TOpaque>>
}

/**
 * Sends a request.
 *
 * @returns the response's status, header fields and body, as soon as the header section has arrived. Read, dump or
 *   destroy the body, or the peer's window fills up. With `responseHeaders: 'raw'`, the headers and trailers are flat
 *   arrays.
 * @throws InvalidArgumentError (the promise rejects) for invalid options, and the error of a failed call
 */
export function request<TOpaque>(
  dispatcher: Dispatching,
  options: RequestOptions<TOpaque>,
  callback?: Callback<Data<TOpaque>>,
): Promise<Data<TOpaque>> | undefined {
  if (callback === undefined) return performPromised(dispatcher, options)
  return perform<Data<TOpaque>>(options, callback, (settle) => {
    checkApiOptions(options)
    checkNoTunnel(options)
    const handler = new RequestHandler(options, settle)
    handler.dispatchBy(dispatcher, options)
  })
}

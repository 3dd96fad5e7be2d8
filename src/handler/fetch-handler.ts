/**
 * Adapts calls to the handlers of undici's own fetch, which is also Node's built-in one.
 *
 * @module
 */

import type { DispatchController, DispatchHandler } from '../../types/handler.ts'
import type { IncomingHttpHeaders } from '../../types/headers.ts'
import { originalSetImmediate } from '../core/original-timers.ts'
import { ForwardingHandler } from './forwarding-handler.ts'

/**
 * Whether the handler is that of undici's fetch: a plain object with the own properties `body` and `abort`; or the
 * handler of undici's RetryAgent, which may contain one.
 */
export function isFetchHandler(handler: object): boolean {
  if ('retryOpts' in handler) return true
  const prototype: unknown = Object.getPrototypeOf(handler)
  // Object.prototype of another realm counts, too: in jest, undici's fetch is of another realm than this code.
  const isPlain =
    prototype === Object.prototype || (prototype !== null && Object.getPrototypeOf(prototype) === null)
  return isPlain && Object.hasOwn(handler, 'body') && Object.hasOwn(handler, 'abort')
}

/**
 * Tells fetch of a failure a macrotask after the response's header section. Fetch listens for a failure only once the
 * promise that the header section settles has run its continuations. Told earlier, it would wait for ever for the rest
 * of a response that fails in the same read.
 */
export class FetchHandler extends ForwardingHandler {
  #hasResponse = false

  override onResponseStart(
    controller: DispatchController,
    statusCode: number,
    headers: IncomingHttpHeaders,
    statusMessage?: string,
  ): void {
    this.#hasResponse ||= statusCode >= 200
    super.onResponseStart(controller, statusCode, headers, statusMessage)
  }

  override onResponseError(controller: DispatchController, error: Error): void {
    // An abort of fetch's own is told at once: after a 421, fetch may send its request again behind it.
    if (this.#hasResponse && !controller.aborted)
      originalSetImmediate(tellError, this.handler, controller, error)
    else super.onResponseError(controller, error)
  }
}

function tellError(handler: DispatchHandler, controller: DispatchController, error: Error): void {
  handler.onResponseError?.(controller, error)
}

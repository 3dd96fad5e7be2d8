/**
 * What carried the request of a response, whichever API made it.
 *
 * @module
 */

import type { ConnectionInfo } from '../../types/connection.ts'
import type { BodyReadable as BodyType } from '../../types/response.ts'
import { BodyReadable } from '../api/body-readable.ts'
import { findController } from '../api/stream.ts'
import { invalidKind } from '../core/validate.ts'
import { FetchResponse } from './response.ts'

/**
 * Tells which protocol, session and stream carried a request, and how many attempts it took. It reads what is kept
 * anyway, so it costs nothing if you never call it.
 *
 * @param response what one of Dodici's APIs returns: a `Response` from its `fetch()` (after redirects, the last
 *   request counts); the result of `request()`, or its `body`; the argument of `pipeline()`'s handler, or of
 *   `stream()`'s factory
 * @returns null for any other object: a Response from the built-in fetch or from `new Response()`, or one from
 *   another dispatcher, such as a mock. A `dispatch()` handler reads {@link DispatchController.connection}.
 * @throws InvalidArgumentError if `response` isn't an object
 *
 * @example
 * ```ts
 * const response = await fetch('https://localhost:12443/')
 * console.log(getConnectionInfo(response)?.protocol) // h2
 * ```
 */
export function getConnectionInfo(
  response: Response | BodyType | { readonly statusCode: number },
): ConnectionInfo | null {
  const given: unknown = response
  if (typeof given !== 'object' || given === null) throw invalidKind('response', given, 'a response')
  if (given instanceof BodyReadable) return given.connection
  if (FetchResponse.isOwn(given)) return FetchResponse.toConnection(given)
  const { body }: { body?: unknown } = given
  return body instanceof BodyReadable ? body.connection : (findController(given)?.connection ?? null)
}

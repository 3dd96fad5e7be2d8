/**
 * What carried the request of a response, by whatever API it was made.
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
 * Tells which protocol has carried a request, over which session and stream, and how many attempts it took. It reads
 * what is kept anyway: a program that never asks pays nothing.
 *
 * @param response what an API of Dodici gives: a `Response` of its own `fetch()` (after redirects, the last request
 *   counts); what `request()` resolves with, its `body`, or what the handler of `pipeline()` gets; what the factory of
 *   `stream()` gets
 * @returns null for any other object: a Response of the built-in fetch, one that `new Response()` has made, or one that
 *   came by another dispatcher, a mock for example. A handler of `dispatch()` reads
 *   {@link DispatchController.connection}.
 * @throws InvalidArgumentError when `response` is no object
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

/**
 * The error that the promise of a failed fetch rejects with.
 *
 * @module
 */

import { isDomException } from '../errors/errors.ts'

/**
 * A network error (Fetch): always a TypeError, whose `cause` is the error itself. A body's AbortError is passed on
 * unchanged.
 */
export function toNetworkError(cause: Error): Error {
  if (isDomException(cause) && cause.name === 'AbortError') return cause
  return new TypeError('fetch failed', { cause })
}

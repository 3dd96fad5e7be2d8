/**
 * What the promise of a failed fetch is rejected with.
 *
 * @module
 */

import { isDomException } from '../errors.ts'

/**
 * A network error (Fetch): whatever went wrong, it is a TypeError, whose `cause` tells. But an
 * AbortError of a body's stands.
 */
export function toNetworkError(cause: Error): Error {
  if (isDomException(cause) && cause.name === 'AbortError') return cause
  return new TypeError('fetch failed', { cause })
}

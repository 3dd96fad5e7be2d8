/**
 * What the promise of a failed fetch is rejected with.
 *
 * @module
 */

/** A network error (Fetch): whatever went wrong, it is a TypeError, whose `cause` tells. But an AbortError of a body's stands. */
export function toNetworkError(cause: Error): Error {
  if (cause instanceof DOMException && cause.name === 'AbortError') return cause
  return new TypeError('fetch failed', { cause })
}

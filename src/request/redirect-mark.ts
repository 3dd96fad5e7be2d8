/**
 * How `fetch` tells a dispatcher that a request follows a redirect.
 *
 * @module
 */

import type { IncomingHttpHeaders } from '../../types/headers.ts'
import type { DispatchOptions } from '../../types/request.ts'

/**
 * Registered, because `fetch` and the dispatcher may come from two copies of this package: via `import` and via
 * `require`.
 */
const kFollowed = Symbol.for('dodici.followedRedirect')

/**
 * Marks the options of a request as following a redirect.
 *
 * @param headers the same object that the redirect arrived in: no other caller has it
 */
export function markFollowing(options: DispatchOptions, headers: IncomingHttpHeaders): DispatchOptions {
  const marked = { ...options, [kFollowed]: headers }
  return marked
}

/** The header section of the redirect that a request follows; null if it isn't known to follow one. */
export function toFollowedHeaders(options: DispatchOptions): IncomingHttpHeaders | null {
  const headers: unknown = Reflect.get(options, kFollowed)
  return typeof headers === 'object' ? (headers as IncomingHttpHeaders | null) : null
}

/**
 * How `fetch` tells a dispatcher that a request follows a redirect.
 *
 * @module
 */

import type { IncomingHttpHeaders } from '../../types/headers.ts'
import type { DispatchOptions } from '../../types/request.ts'

/** Registered: `fetch` and the dispatcher may be of two copies of this package, by `import` and by `require`. */
const kFollowed = Symbol.for('dodici.followedRedirect')

/**
 * The options of a request that follows a redirect, and say so.
 *
 * @param headers the very object in which the redirect came: no other caller has it
 */
export function markFollowing(options: DispatchOptions, headers: IncomingHttpHeaders): DispatchOptions {
  const marked = { ...options, [kFollowed]: headers }
  return marked
}

/** The header section of the redirect that a request follows; null: it isn't known to follow one. */
export function toFollowedHeaders(options: DispatchOptions): IncomingHttpHeaders | null {
  const headers: unknown = Reflect.get(options, kFollowed)
  return typeof headers === 'object' ? (headers as IncomingHttpHeaders | null) : null
}

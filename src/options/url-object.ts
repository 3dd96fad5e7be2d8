/**
 * URLs as objects with their parts, as undici and `url.format()` accept them.
 *
 * @module
 */

import type { UrlObject } from 'node:url'
import { format } from 'node:url'
import { isUrl } from '../core/realms.ts'

/** The names of the parts. An object may also contain the options of a request. */
const PIECES: ReadonlySet<string> = new Set([
  ...['auth', 'hash', 'host', 'hostname', 'href', 'origin', 'password', 'path', 'pathname', 'port'],
  ...['search', 'slashes', 'username'],
])

/** A value that may be a URL in parts: `origin` and `path` are undici's. */
type UrlPieces = UrlObject & { readonly origin?: unknown; readonly path?: unknown }

/**
 * The URL from a string, a URL, or an object with its parts: `origin`, or `protocol`, `hostname` and `port`; and
 * `path`, or `pathname` and `search`.
 *
 * @throws whatever the URL parser throws
 */
export function toUrl(value: unknown): URL {
  if (isUrl(value)) return new URL(value.href)
  if (typeof value === 'string') return new URL(value)
  if (typeof value !== 'object' || value === null) throw new TypeError('No URL')
  const { origin, path, ...pieces }: UrlPieces = value
  const where = typeof origin === 'string' ? origin.replace(/\/$/, '') : null
  if (typeof path === 'string') {
    const { pathname: _pathname, search: _search, query: _query, hash: _hash, ...host } = pieces
    // Joined, not resolved: a path such as `//host` must not name another host.
    return new URL((where ?? format(host)) + withSlash(path))
  }
  if (where === null) return new URL(format(pieces))
  const { pathname, search } = pieces
  return new URL(where + withSlash(`${pathname ?? ''}${search ?? ''}`))
}

/** A path that begins with a slash. */
export function withSlash(path: string): string {
  return path.replace(/^(?!\/)/, '/')
}

/** The rest of an object without the parts of a URL. The `protocol` of an upgrade has no colon at its end. */
export function withoutUrlPieces(object: object): object {
  return Object.fromEntries(
    Object.entries(object).filter(
      ([name, value]) =>
        !PIECES.has(name) && !(name === 'protocol' && typeof value === 'string' && value.endsWith(':')),
    ),
  )
}

/**
 * URLs as the Fetch standard treats them.
 *
 * @module
 */

import { withoutSecrets } from '../core/validate.ts'
import { isError } from '../errors/errors.ts'

/** Where undici's `setGlobalOrigin()` stores the base for relative URLs. Node's own fetch reads it there, too. */
const GLOBAL_ORIGIN = Symbol.for('undici.globalOrigin.1')

/** Fetch, "bad port": ports of services that don't speak HTTP. */
const BAD_PORTS: ReadonlySet<string> = new Set([
  ...['0', '1', '7', '9', '11', '13', '15', '17', '19', '20', '21', '22', '23', '25', '37', '42', '43', '53'],
  ...['69', '77', '79', '87', '95', '101', '102', '103', '104', '109', '110', '111', '113', '115', '117'],
  ...['119', '123', '135', '137', '139', '143', '161', '179', '389', '427', '465', '512', '513', '514'],
  ...['515', '526', '530', '531', '532', '540', '548', '554', '556', '563', '587', '601', '636', '989'],
  ...['990', '993', '995', '1719', '1720', '1723', '2049', '3659', '4045', '4190', '5060', '5061', '6000'],
  ...['6566', '6665', '6666', '6667', '6668', '6669', '6679', '6697', '10080'],
])

/** An http: or https: URL, split into the parts that a request needs. */
export interface FetchUrl {
  /**
   * Scheme, host and port, as in `URL.origin`. A redirect's URL may contain credentials: then they are here, too, and
   * the redirect isn't followed.
   */
  readonly origin: string
  /** Path and query. An empty query keeps its question mark. */
  readonly path: string
}

/** The base for relative URLs; undefined if none was set. */
export function readBase(): URL | undefined {
  // Reflect.get() would take a tenth of a microsecond.
  const base = (globalThis as Record<symbol, unknown>)[GLOBAL_ORIGIN]
  return base instanceof URL ? base : undefined
}

/** By character code: 1 for characters that a URL's path and query contain unchanged. */
const IS_PLAIN = Uint8Array.from({ length: 128 }, (_none, code) =>
  /[\w\-.~!$&()*+,;=:/?]/.test(String.fromCharCode(code)) ? 1 : 0,
)
const SLASH = 0x2f
const DOT = 0x2e

/**
 * The last origin that was parsed, as in `URL.origin`: most processes use few origins. Empty for none. What follows
 * the origin in another text can't change it, because it begins with a slash.
 */
let lastOrigin = ''

/** Whether a text is its own serialization, as far as can be told without parsing it. */
function isSerialized(text: string): boolean {
  const { length } = lastOrigin
  if (length === 0 || !text.startsWith(lastOrigin) || text.charCodeAt(length) !== SLASH) return false
  let previous = 0
  for (let at = length; at < text.length; at++) {
    const code = text.charCodeAt(at)
    // A segment that begins with a dot may be a step: `/../`.
    if (IS_PLAIN[code] !== 1 || (code === DOT && previous === SLASH)) return false
    previous = code
  }
  return true
}

/**
 * The serialized URL for `fetch()`.
 *
 * @param base the base for relative URLs; undefined for none
 * @throws TypeError for a text that isn't a URL, and for a URL with credentials
 */
export function toHref(text: string, base: URL | undefined): string {
  return isSerialized(text) ? text : toParsedHref(text, base)
}

function toParsedHref(text: string, base: URL | undefined): string {
  let url: URL
  try {
    url = new URL(text, base)
  } catch (cause) {
    // Node puts both on its error unchanged, with a password or a token in the query.
    if (isError(cause)) Object.assign(cause, { input: withoutSecrets(text), base: undefined })
    throw new TypeError(`Failed to parse URL from ${withoutSecrets(text)}`, { cause })
  }
  const { href } = url
  // A URL without `@` has no credentials. Reading `username` and `password` costs as much as parsing.
  if (href.includes('@') && (url.username !== '' || url.password !== '')) {
    const shown = `${url.protocol}//${url.host}${url.pathname}`
    throw new TypeError(`A URL for fetch can't contain credentials, use an authorization header: ${shown}`)
  }
  if (isHttp(href) && !href.includes('@')) lastOrigin = splitUrl(href).origin
  return href
}

/** Whether a URL is fetched over HTTP. */
export function isHttp(href: string): boolean {
  return href.startsWith('http://') || href.startsWith('https://')
}

/**
 * The parts of a URL, without its fragment, which isn't sent.
 *
 * @param href an http: or https: URL as `URL.href` writes it: with a path
 */
export function splitUrl(href: string): FetchUrl {
  const path = href.indexOf('/', 'https://'.length)
  const fragment = href.indexOf('#', path)
  const end = fragment === -1 ? href.length : fragment
  return { origin: href.slice(0, path), path: href.slice(path, end) }
}

/** Whether requests to this port are blocked (Fetch, "port blocking"). */
export function isBadPort({ origin }: FetchUrl): boolean {
  const colon = origin.lastIndexOf(':')
  return colon > 'https:'.length && BAD_PORTS.has(origin.slice(colon + 1))
}

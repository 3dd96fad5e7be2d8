/**
 * Referrer Policy, https://www.w3.org/TR/referrer-policy/: which part of the referrer a server gets.
 *
 * @module
 */

/** The policies of section 3, without the empty string, which stands for the default. */
const POLICIES: ReadonlySet<string> = new Set([
  'no-referrer',
  'no-referrer-when-downgrade',
  'same-origin',
  'origin',
  'strict-origin',
  'origin-when-cross-origin',
  'strict-origin-when-cross-origin',
  'unsafe-url',
])

/** The longest URL that is sent as a `referer`, in characters: of a longer one only the origin is sent. */
const MAX_LENGTH = 4096

/** Fetch's local schemes: a URL of one of them is no referrer. */
const LOCAL_SCHEMES: ReadonlySet<string> = new Set(['about:', 'blob:', 'data:'])

/**
 * The `referer` of a request (Referrer Policy §8.3), without credentials and fragment; null for none.
 *
 * @param referrer What `Request.referrer` gives: an absolute URL; or `''` or `'about:client'`, which are none,
 *   for in Node no document has made the request.
 * @param policy One of the eight policies. `''`, and what is none of them, is strict-origin-when-cross-origin.
 * @param url Where this request goes: after a redirect the new place.
 * @throws TypeError when `referrer` is no URL.
 */
export function toReferrerField(referrer: string, policy: string, url: URL): string | null {
  if (referrer === '' || policy === 'no-referrer') return null
  const source = new URL(referrer)
  if (LOCAL_SCHEMES.has(source.protocol)) return null
  source.username = ''
  source.password = ''
  source.hash = ''
  const isSameOrigin = source.origin !== 'null' && source.origin === url.origin
  const isDowngrade = isPotentiallyTrustworthy(source) && !isPotentiallyTrustworthy(url)
  switch (policy) {
    case 'no-referrer-when-downgrade':
      return isDowngrade ? null : toWhole(source)
    case 'same-origin':
      return isSameOrigin ? toWhole(source) : null
    case 'origin':
      return toOrigin(source)
    case 'strict-origin':
      return isDowngrade ? null : toOrigin(source)
    case 'origin-when-cross-origin':
      return isSameOrigin ? toWhole(source) : toOrigin(source)
    case 'unsafe-url':
      return toWhole(source)
    default:
      if (isSameOrigin) return toWhole(source)
      return isDowngrade ? null : toOrigin(source)
  }
}

/**
 * The policy after a redirect (Referrer Policy §8.2): the last known one of its `referrer-policy` field, which may list
 * newer ones behind those that everybody knows; `current` where there is none.
 *
 * @param field The field's value, several fields joined by commas; null where the redirect has none.
 */
export function toRedirectPolicy(field: string | null, current: string): string {
  if (field === null) return current
  const tokens = field.split(',').map((token) => token.trim())
  return tokens.findLast((token) => POLICIES.has(token)) ?? current
}

function toWhole(stripped: URL): string {
  const { href } = stripped
  return href.length > MAX_LENGTH ? toOrigin(stripped) : href
}

/** The URL without path and query: it ends with a slash, as the standard has it. */
function toOrigin(stripped: URL): string {
  const origin = new URL(stripped)
  origin.pathname = ''
  origin.search = ''
  return origin.href
}

/** Secure Contexts §3.1, of a URL that isn't of a local scheme. */
function isPotentiallyTrustworthy({ protocol, origin }: URL): boolean {
  return protocol === 'wss:' || protocol === 'file:' || isTrustworthyOrigin(origin)
}

/**
 * What the URL parser has made is canonical: an IPv4 address has four decimal parts, an IPv6 address is as short as it
 * gets.
 */
const LOOPBACK = /^http:\/\/(?:\[::1\]|127(?:\.\d+){3}|(?:[^:]*\.)?localhost\.?)(?::\d+)?$/

/**
 * Secure Contexts §3.1, of an origin of http: or https:.
 *
 * @param origin as `URL.origin` has it
 */
export function isTrustworthyOrigin(origin: string): boolean {
  return origin.startsWith('https:') || LOOPBACK.test(origin)
}

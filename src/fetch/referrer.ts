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

/** The longest URL that is sent as a `referer`, in characters: for longer ones, only the origin is sent. */
const MAX_LENGTH = 4096

/** Fetch's local schemes: URLs with them are never a referrer. */
const LOCAL_SCHEMES: ReadonlySet<string> = new Set(['about:', 'blob:', 'data:'])

/**
 * The `referer` of a request (Referrer Policy §8.3), without credentials and fragment; null for none.
 *
 * @param referrer the value of `Request.referrer`: an absolute URL, or `''` or `'about:client'`, which mean none,
 *   because in Node no document has made the request
 * @param policy one of the eight policies. `''` and unknown ones mean strict-origin-when-cross-origin.
 * @param url the URL of this request: after a redirect, the new one
 * @throws TypeError if `referrer` isn't a URL
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
 * The policy after a redirect (Referrer Policy §8.2): the last known one in its `referrer-policy` field, which may
 * list newer ones after widely known ones; `current` if there is none.
 *
 * @param field the field's value, several fields joined by commas; null if the redirect has none
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

/** The URL without path and query: it ends with a slash, as the standard requires. */
function toOrigin(stripped: URL): string {
  const origin = new URL(stripped)
  origin.pathname = ''
  origin.search = ''
  return origin.href
}

/** Secure Contexts §3.1, for a URL without a local scheme. */
function isPotentiallyTrustworthy({ protocol, origin }: URL): boolean {
  return protocol === 'wss:' || protocol === 'file:' || isTrustworthyOrigin(origin)
}

/**
 * URLs from the URL parser are canonical: an IPv4 address has four decimal parts, an IPv6 address is as short as
 * possible.
 */
const LOOPBACK = /^http:\/\/(?:\[::1\]|127(?:\.\d+){3}|(?:[^:]*\.)?localhost\.?)(?::\d+)?$/

/**
 * Secure Contexts §3.1, for an http: or https: origin.
 *
 * @param origin as in `URL.origin`
 */
export function isTrustworthyOrigin(origin: string): boolean {
  return origin.startsWith('https:') || LOOPBACK.test(origin)
}

/**
 * Converts the arguments of `fetch()` to the request that is fetched.
 *
 * @module
 */

import type { RequestLike } from '../../types/fetch.ts'
import { show, showKind } from '../core/validate.ts'
import { FETCH_OPTIONS } from '../options/known-options.ts'
import { warnOfUnknownOptions } from '../options/unknown-options.ts'
import { isToken } from '../request/field-names.ts'
import type { WireHeaders } from '../request/wire-headers.ts'
import { getField } from '../request/wire-headers.ts'
import type { FetchBody } from './fetch-body.ts'
import { toFetchBody } from './fetch-body.ts'
import { toFields } from './fetch-fields.ts'
import type { SignalOwner } from './fetch-operation.ts'
import type { RareMembers } from './fetch-request.ts'

/** The Fetch standard's `RequestInit`, with undici's `dispatcher`: a JavaScript caller may pass anything. */
export type UncheckedInit = Readonly<Record<string, unknown>>

/** All its members, each read only once: a getter may return something else the next time. */
export type InitMembers = Readonly<Partial<ReturnType<typeof readInit>>>

/** Reads the members in Web IDL's order. */
export function readInit(init: UncheckedInit) {
  return {
    body: init.body,
    cache: init.cache,
    credentials: init.credentials,
    dispatcher: init.dispatcher,
    duplex: init.duplex,
    headers: init.headers,
    integrity: init.integrity,
    keepalive: init.keepalive,
    method: init.method,
    mode: init.mode,
    priority: init.priority,
    redirect: init.redirect,
    referrer: init.referrer,
    referrerPolicy: init.referrerPolicy,
    signal: init.signal,
    window: init.window,
  }
}

/** The members for a call without an init. */
export const NO_INIT: InitMembers = Object.freeze(readInit({}))

/** The rare members of a plain call. */
const PLAIN: RareMembers = Object.freeze({
  mode: 'cors',
  cache: 'default',
  integrity: '',
  referrer: '',
  referrerPolicy: '',
})

/** Fetch, "normalize a method": no other methods are changed. */
const NORMALIZED: ReadonlyMap<string, string> = new Map(
  ['DELETE', 'GET', 'HEAD', 'OPTIONS', 'POST', 'PUT'].map((method) => [method, method]),
)

/** Fetch, "forbidden method". */
const FORBIDDEN: ReadonlySet<string> = new Set(['CONNECT', 'TRACE', 'TRACK'])

/** The values that Request accepts: Request's own errors name only the value, not what is accepted. */
const ENUMS: readonly (readonly [name: string, accepted: readonly string[]])[] = [
  ['cache', ['default', 'no-store', 'reload', 'no-cache', 'force-cache', 'only-if-cached']],
  ['credentials', ['omit', 'same-origin', 'include']],
  ['mode', ['cors', 'no-cors', 'same-origin']],
  [
    'referrerPolicy',
    [
      ...['', 'no-referrer', 'no-referrer-when-downgrade', 'same-origin', 'origin', 'strict-origin'],
      ...['origin-when-cross-origin', 'strict-origin-when-cross-origin', 'unsafe-url'],
    ],
  ],
]

const REDIRECTS: ReadonlySet<unknown> = new Set(['follow', 'error', 'manual'])

/** @throws TypeError for an init that is neither an object nor missing */
export function checkInit(init: unknown): asserts init is UncheckedInit | null | undefined {
  if (init === undefined || init === null) return
  if (typeof init === 'object' || typeof init === 'function') {
    // The standard lets other members pass: frameworks have some of their own.
    warnOfUnknownOptions(init, FETCH_OPTIONS, true)
    return
  }
  throw new TypeError(`Invalid fetch init: got ${showKind(init)}, expected an object`)
}

/**
 * A string, converted from any value as Web IDL does. @throws TypeError for a symbol, and what the value's own code
 * throws
 */
export function toText(name: string, given: unknown): string {
  if (typeof given === 'symbol') throw new TypeError(`Invalid ${name}: got ${show(given)}, expected a string`)
  return `${given}`
}

/** Whether it is a Request: Node's own, or a similar one, such as undici's. */
export function isRequest(input: unknown): input is RequestLike {
  if (typeof input !== 'object' || input === null || input instanceof URL) return false
  return Reflect.get(input, Symbol.toStringTag) === 'Request' && 'url' in input && 'bodyUsed' in input
}

/** @throws TypeError for a string that isn't a method, and for a forbidden method */
export function toMethod(given: unknown): string {
  if (given === 'GET' || given === 'POST') return given
  const method = toText('method', given)
  if (!isToken(method)) throw new TypeError(`${show(given)} is not a valid HTTP method.`)
  const upperCase = method.toUpperCase()
  if (FORBIDDEN.has(upperCase)) throw new TypeError(`'${method}' HTTP method is unsupported.`)
  return NORMALIZED.get(upperCase) ?? method
}

/** @throws TypeError that names what is accepted */
export function toRedirect(given: unknown): string {
  const redirect = toText('redirect', given)
  if (REDIRECTS.has(redirect)) return redirect
  throw new TypeError(`Invalid redirect: got ${show(given)}, expected 'follow', 'error' or 'manual'`)
}

/** @throws TypeError that names what is accepted */
export function toSignalOwner(given: unknown): SignalOwner | null {
  if (given === null || given === undefined) return null
  if (isSignal(given)) return { signal: given }
  throw new TypeError(`Invalid signal: got ${show(given)}, expected an AbortSignal`)
}

/** A signal from another realm, or from a polyfill, is accepted, too. */
function isSignal(given: unknown): given is AbortSignal {
  if (given instanceof AbortSignal) return true
  if (typeof given !== 'object' || given === null) return false
  return (
    'aborted' in given &&
    typeof given.aborted === 'boolean' &&
    'addEventListener' in given &&
    typeof given.addEventListener === 'function' &&
    'removeEventListener' in given &&
    typeof given.removeEventListener === 'function'
  )
}

/** Only half duplex is supported: the response arrives after the request was sent. */
export function checkDuplex(given: unknown): void {
  if (given === undefined || given === 'half') return
  throw new TypeError(`Invalid duplex: got ${show(given)}, expected 'half'`)
}

/** Whether a call has none of the members that Node's own Request has to check. */
function isPlain(init: InitMembers): boolean {
  return (
    init.cache === undefined &&
    init.credentials === undefined &&
    init.integrity === undefined &&
    init.keepalive === undefined &&
    init.mode === undefined &&
    init.priority === undefined &&
    init.referrer === undefined &&
    init.referrerPolicy === undefined &&
    init.window === undefined
  )
}

/**
 * The members that a plain call doesn't have. Node's own Request checks them as the standard requires: one is created
 * only for that, without the body.
 *
 * @param base the fetched Request; null for a URL
 * @throws TypeError as Request does
 */
export function toRareMembers(
  href: string,
  method: string,
  base: RequestLike | null,
  init: InitMembers,
): RareMembers {
  const members = base === null ? PLAIN : readMembers(base, init)
  return isPlain(init) ? members : checkMembers(href, { ...members, ...toKnown(init), method })
}

/**
 * The rare members of a Request. With an init, the Request's referrer is dropped. A Request from another package may
 * lack some members.
 */
function readMembers(base: RequestLike, init: InitMembers): RareMembers {
  const { dispatcher: _dispatcher, ...changes } = init
  const isChanged = Object.values(changes).some((value) => value !== undefined)
  return {
    mode: base.mode ?? PLAIN.mode,
    cache: base.cache ?? PLAIN.cache,
    integrity: base.integrity ?? '',
    referrer: isChanged ? '' : withoutClient(base.referrer ?? ''),
    referrerPolicy: isChanged ? '' : (base.referrerPolicy ?? ''),
  }
}

/** The members that a Request checks. `credentials`, `keepalive` and `priority` have no further effect. */
function toKnown(init: InitMembers): UncheckedInit {
  const { cache, credentials, integrity, keepalive, mode, priority, referrer, referrerPolicy, window } = init
  const all = { cache, credentials, integrity, keepalive, mode, priority, referrer, referrerPolicy, window }
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined))
}

function checkMembers(href: string, init: UncheckedInit): RareMembers {
  for (const [name, accepted] of ENUMS) {
    const value = init[name]
    if (value === undefined || accepted.includes(toText(name, value))) continue
    throw new TypeError(
      `Invalid ${name}: got ${show(value)}, expected one of ${accepted.map(show).join(', ')}`,
    )
  }
  const { mode, cache, integrity, referrer, referrerPolicy } = new Request(href, init)
  return { mode, cache, integrity, referrer: withoutClient(referrer), referrerPolicy }
}

/** In Node there is no page that a request could come from. */
function withoutClient(referrer: string): string {
  return referrer === 'about:client' ? '' : referrer
}

/**
 * The body of a call, and its type among the fields.
 *
 * @throws TypeError for a GET or HEAD with a body, and for a stream without `duplex`
 */
export function toInitBody(init: InitMembers, method: string, fields: WireHeaders): FetchBody {
  checkBodyAllowed(method)
  const body = toFetchBody(init.body)
  if (!body.hasSource) {
    if (init.duplex === undefined) throw new TypeError("A stream body needs the option duplex: 'half'")
    if (init.keepalive === true) throw new TypeError("A stream body can't be combined with keepalive")
  }
  const { contentType } = body
  if (contentType !== null && getField(fields, 'content-type') === undefined) {
    fields.push('content-type', contentType)
  }
  return body
}

/** @throws TypeError if requests with this method have no body */
export function checkBodyAllowed(method: string): void {
  if (method === 'GET' || method === 'HEAD')
    throw new TypeError('Request with GET/HEAD method cannot have body.')
}

/** A call's fields: from its init, or else from the Request. */
export function toCallFields(base: RequestLike | null, init: InitMembers): WireHeaders {
  return toFields(init.headers === undefined && base !== null ? base.headers : init.headers)
}

/**
 * What `fetch()` is given → what is fetched.
 *
 * @module
 */

import type { RequestLike } from '../../types/fetch.ts'
import { isToken } from '../core/field-names.ts'
import { show } from '../core/validate.ts'
import type { WireHeaders } from '../core/wire-headers.ts'
import { getField } from '../core/wire-headers.ts'
import type { FetchBody } from './fetch-body.ts'
import { toFetchBody } from './fetch-body.ts'
import { toFields } from './fetch-fields.ts'

/** `RequestInit` of the Fetch standard, with undici's `dispatcher`: a caller in JavaScript may give anything. */
export type UncheckedInit = Readonly<Record<string, unknown>>

/** Those of a Request that a fetch of it goes by. */
export interface RareMembers {
  readonly mode: string
  readonly cache: string
  readonly integrity: string
  readonly referrer: string
  readonly referrerPolicy: string
}

/** Those of a plain call. */
const PLAIN: RareMembers = Object.freeze({
  mode: 'cors',
  cache: 'default',
  integrity: '',
  referrer: '',
  referrerPolicy: '',
})

/** Fetch, "normalize a method": no other is changed. */
const NORMALIZED: ReadonlyMap<string, string> = new Map(
  ['DELETE', 'GET', 'HEAD', 'OPTIONS', 'POST', 'PUT'].map((method) => [method, method]),
)

/** Fetch, "forbidden method". */
const FORBIDDEN: ReadonlySet<string> = new Set(['CONNECT', 'TRACE', 'TRACK'])

/** What Request takes; its own errors name the value alone. */
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

/** @throws TypeError for what is neither an object nor missing */
export function checkInit(init: unknown): asserts init is UncheckedInit | null | undefined {
  if (init === undefined || init === null || typeof init === 'object' || typeof init === 'function') return
  throw new TypeError(`Invalid init of fetch: got ${show(init)}, expected an object`)
}

/** A string, as Web IDL makes it of anything. @throws TypeError for a symbol, and what the value's own code throws */
export function toText(name: string, given: unknown): string {
  if (typeof given === 'symbol') throw new TypeError(`Invalid ${name}: got ${show(given)}, expected a string`)
  return `${given}`
}

/** Whether it is a Request: Node's own, or another of the same making, such as undici's. */
export function isRequest(input: unknown): input is RequestLike {
  if (typeof input !== 'object' || input === null || input instanceof URL) return false
  return Reflect.get(input, Symbol.toStringTag) === 'Request' && 'url' in input && 'bodyUsed' in input
}

/** @throws TypeError for what is no method, and for a forbidden one */
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
export function toSignal(given: unknown): AbortSignal | null {
  if (given === null || given === undefined || given instanceof AbortSignal) return given ?? null
  throw new TypeError(`Invalid signal: got ${show(given)}, expected an AbortSignal`)
}

/** Only half duplex is there: the answer comes when the request has gone. */
export function checkDuplex(given: unknown): void {
  if (given === undefined || given === 'half') return
  throw new TypeError(`Invalid duplex: got ${show(given)}, expected 'half'`)
}

/** Whether a call has none of the members that Node's own Request has to judge. */
function isPlain(init: UncheckedInit): boolean {
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
 * The members that a plain call doesn't have. Node's own Request has the standard's word on what they may be: one is made for that
 * alone, without the body.
 *
 * @param base the Request that is fetched; null for a URL
 * @throws TypeError as Request does
 */
export function toRareMembers(
  href: string,
  method: string,
  base: RequestLike | null,
  init: UncheckedInit,
): RareMembers {
  const members = base === null ? PLAIN : readMembers(base, init)
  return isPlain(init)
    ? members
    : checkMembers(href, { ...toKnown({ ...members }), ...toKnown(init), method })
}

/** Those of a Request; one that is fetched with an init forgets where it came from. */
function readMembers(base: RequestLike, init: UncheckedInit): RareMembers {
  const { mode, cache, integrity } = base
  const isChanged = Object.keys(init).some((name) => name !== 'dispatcher')
  const referrer = isChanged ? '' : withoutClient(base.referrer)
  return { mode, cache, integrity, referrer, referrerPolicy: isChanged ? '' : base.referrerPolicy }
}

/** Those that a Request judges. `credentials`, `keepalive` and `priority` have no effect beyond that. */
function toKnown(init: UncheckedInit): UncheckedInit {
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

/** Node has no page that a request could come from. */
function withoutClient(referrer: string): string {
  return referrer === 'about:client' ? '' : referrer
}

/**
 * The body of a call, and its type among the fields.
 *
 * @throws TypeError for a GET or HEAD with one, and for a stream that isn't announced by `duplex`
 */
export function toInitBody(
  given: unknown,
  method: string,
  fields: WireHeaders,
  init: UncheckedInit,
): FetchBody {
  checkBodyAllowed(method)
  const body = toFetchBody(given)
  if (!body.hasSource) {
    if (init.duplex === undefined) throw new TypeError("A stream as body needs the option duplex: 'half'")
    if (init.keepalive === true) throw new TypeError('A stream as body does not go with keepalive')
  }
  const { contentType } = body
  if (contentType !== null && getField(fields, 'content-type') === undefined) {
    fields.push('content-type', contentType)
  }
  return body
}

/** @throws TypeError */
export function checkBodyAllowed(method: string): void {
  if (method === 'GET' || method === 'HEAD')
    throw new TypeError('Request with GET/HEAD method cannot have body.')
}

/** The fields of a call: those of its init, or else those of the Request. */
export function toCallFields(base: RequestLike | null, init: UncheckedInit): WireHeaders {
  return toFields(init.headers === undefined && base !== null ? base.headers : init.headers)
}

/**
 * The header fields of a fetch: the caller's, and those that the Fetch standard adds.
 *
 * @module
 */

import { isError } from '../errors/errors.ts'
import { respell, toFieldName } from '../request/field-names.ts'
import { setMember } from '../request/header-object.ts'
import { toRawHeaders } from '../request/headers.ts'
import type { WireHeaders } from '../request/wire-headers.ts'
import { getField } from '../request/wire-headers.ts'
import { toSupportedCodings } from './decode.ts'
import type { FetchBody } from './fetch-body.ts'
import type { FetchRequest } from './fetch-request.ts'
import { isTrustworthyOrigin } from './referrer.ts'

/** A value that needs no further check: it contains only visible ASCII and inner spaces. */
const PLAIN_VALUE = /^(?:[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?)?$/

/** `default User-Agent value`: implementation-defined. */
const USER_AGENT = 'dodici'

/** As in Node's fetch: without TLS, old middleboxes break newer codings. */
const PLAIN_CODINGS = 'gzip, deflate'

/** A caller that sends one of these already has a copy of the response (Fetch, "HTTP-network-or-cache fetch"). */
const CONDITIONAL = ['if-modified-since', 'if-none-match', 'if-unmodified-since', 'if-match', 'if-range']

/**
 * The caller's fields, in wire form. Plain objects are read here. Objects with an unusual name or value, and all
 * other forms, are left to Node's own `Headers`, which checks them as the standard requires.
 *
 * @param headers what `new Headers()` accepts; undefined: no fields
 * @throws TypeError as `Headers` does
 */
export function toFields(headers: unknown): WireHeaders {
  if (headers === undefined) return []
  const fields = isPlainObject(headers) ? readPlainFields(headers) : null
  return fields ?? toNormalFields(headers)
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Symbol.iterator in value) return false
  return Object.getPrototypeOf(value) === Object.prototype
}

/** Null if a name or a value needs a closer check. */
function readPlainFields(headers: Record<string, unknown>): WireHeaders | null {
  if (Object.getOwnPropertySymbols(headers).length > 0) return null
  const fields: WireHeaders = []
  let isRespelled = false
  // Unlike `Object.keys()`, this makes no list. A program may have added members to all objects.
  for (const given in headers) {
    if (!Object.hasOwn(headers, given)) continue
    const value = headers[given]
    if (typeof value !== 'string' || !PLAIN_VALUE.test(value) || !isName(given)) return null
    const { name } = toFieldName(given)
    // The same name in two spellings is one field.
    isRespelled ||= name !== given
    if (isRespelled && getField(fields, name) !== undefined) return null
    if (name !== 'host') fields.push(name, value)
  }
  return fields
}

/** Whether `toFieldName()` accepts it without an error. */
function isName(name: string): boolean {
  return /^[\w-]+$/.test(name)
}

/**
 * The names that the caller hasn't written in lower case, in the caller's spelling, for HTTP/1.1. A Headers or a
 * Request doesn't keep them.
 *
 * @returns null for none
 */
export function toSpellings(headers: unknown): string[] | null {
  if (typeof headers !== 'object' || headers === null) return null
  let spellings: string[] | null = null
  for (const name of toNames(headers)) {
    if (typeof name !== 'string' || name === name.toLowerCase()) continue
    spellings ??= []
    spellings.push(name)
  }
  return spellings
}

function toNames(headers: object): unknown[] {
  if (Array.isArray(headers))
    return headers.map((pair: unknown): unknown => (Array.isArray(pair) ? pair[0] : null))
  return Symbol.iterator in headers ? [] : Object.keys(headers)
}

function toNormalFields(headers: unknown): WireHeaders {
  const fields: WireHeaders = []
  for (const [name, value] of toHeaders(headers)) {
    // The URL names the host of a request, as in Node's fetch.
    if (name !== 'host') fields.push(name, value)
  }
  return fields
}

/** @throws TypeError as `Headers` does, but without the name or the value, which may be an `authorization` */
function toHeaders(headers: unknown): Headers {
  try {
    return new Headers(headers as ConstructorParameters<typeof Headers>[0])
  } catch (thrown) {
    if (!isError(thrown) || thrown.name !== 'TypeError') throw thrown
    throw new TypeError(thrown.message.replace(/".*"/s, '(not shown)'))
  }
}

/** A request's header fields as undici's fetch dispatches them: interceptors spread them, and look up names. */
export type DispatchedFields = Record<string, string | string[]>

/**
 * All fields of one request: the caller's, and those that the standard appends, in undici's order. The referrer must
 * have been determined before. Returns a new object.
 */
export function toDispatchedFields(request: FetchRequest): DispatchedFields {
  const { fields, url, method, body, referrer, client, mode, cache, spellings } = request
  const headers = toObject(fields)
  addMissing(headers, 'accept', '*/*')
  addMissing(headers, 'accept-language', '*')
  const length = toLength(method, body)
  if (length !== null) addMissing(headers, 'content-length', `${length}`)
  if (referrer !== '') headers.referer = referrer
  if (client !== null) addOrigin(headers, request, client)
  // Fetch Metadata §2: no other server gets it.
  if (isTrustworthyOrigin(url.origin)) headers['sec-fetch-mode'] = mode
  addMissing(headers, 'user-agent', USER_AGENT)
  if (cache !== 'default' || hasCondition(fields)) addCacheFields(headers, cache)
  // A part of an encoded body can't be decoded.
  if (headers.range !== undefined) addMissing(headers, 'accept-encoding', 'identity')
  addMissing(
    headers,
    'accept-encoding',
    url.origin.startsWith('https:') ? toSupportedCodings() : PLAIN_CODINGS,
  )
  return spellings === null ? headers : toRespelled(headers, spellings)
}

/**
 * Only `set-cookie` consists of several fields, because it can't be joined (RFC 9110 §5.3): then its value is a list.
 */
function toObject(fields: WireHeaders): DispatchedFields {
  const headers: DispatchedFields = {}
  for (let i = 0; i < fields.length; i += 2) {
    const name = fields[i] as string
    const value = fields[i + 1] as string
    // Every object has a `constructor`, and a `__proto__` that Node may throw at, for example.
    const present = Object.hasOwn(headers, name) ? headers[name] : undefined
    setMember(headers, name, present === undefined ? value : [present, value].flat())
  }
  return headers
}

function toRespelled(headers: DispatchedFields, spellings: readonly string[]): DispatchedFields {
  const fields = toRawHeaders(headers)
  respell(fields, spellings)
  return toObject(fields)
}

function addMissing(headers: DispatchedFields, name: string, value: string): void {
  if (headers[name] === undefined) headers[name] = value
}

/** Fetch, "HTTP-network-or-cache fetch": the value of `content-length`, in bytes; null for none. */
function toLength(method: string, body: FetchBody | null): number | null {
  if (body === null) return method === 'POST' || method === 'PUT' ? 0 : null
  return body.length
}

/** Fetch, "append a request `Origin` header": only if the client's origin was set. */
function addOrigin(headers: DispatchedFields, request: FetchRequest, client: URL): void {
  const { method, referrerPolicy, isTainted, url } = request
  if (isTainted) {
    headers.origin = client.origin
    return
  }
  if (method === 'GET' || method === 'HEAD') return
  const isHidden =
    referrerPolicy === 'no-referrer' ||
    (referrerPolicy === 'same-origin' && url.origin !== client.origin) ||
    (client.protocol === 'https:' && !url.origin.startsWith('https:') && STRICT.has(referrerPolicy))
  headers.origin = isHidden ? 'null' : client.origin
}

/** The policies that send no referrer from a secure to an insecure URL. */
const STRICT: ReadonlySet<string> = new Set([
  ...['', 'no-referrer-when-downgrade', 'strict-origin', 'strict-origin-when-cross-origin'],
])

function hasCondition(fields: WireHeaders): boolean {
  for (let i = 0; i < fields.length; i += 2) {
    const name = fields[i] as string
    if (name.charCodeAt(1) === 0x66 /* f */ && CONDITIONAL.includes(name)) return true
  }
  return false
}

function addCacheFields(headers: DispatchedFields, mode: string): void {
  if (mode === 'no-cache') {
    addMissing(headers, 'cache-control', 'max-age=0')
  } else if (mode === 'default' || mode === 'no-store' || mode === 'reload') {
    addMissing(headers, 'pragma', 'no-cache')
    addMissing(headers, 'cache-control', 'no-cache')
  }
}

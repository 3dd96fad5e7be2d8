/**
 * Request headers → what goes on the wire; and `toRawHeaders()`, the one normalizer.
 *
 * @module
 */

import type { RequestHeaders } from '../../types/headers.ts'
import { InvalidArgumentError } from '../errors.ts'
import { invalid, show } from './validate.ts'

/** What node:http2 takes: lower-case names, no prototype, several values of a name in an array. */
export type WireHeaders = Record<string, string | string[]>

/**
 * Makes objects that inherit nothing (a field may be called `constructor` or `__proto__`), and are still no dictionaries to V8,
 * as those of `Object.create(null)` are: a sixth to a quarter of the time (`bench/micro/objects.mjs`).
 */
const WireObject = function WireObject() {} as unknown as new () => WireHeaders
WireObject.prototype = Object.freeze(Object.create(null))

/** An object for header fields, without any. */
export function makeWireHeaders(): WireHeaders {
  return new WireObject()
}

/** Where a request's header list goes, with what the list says of the request itself. */
export interface HeaderTarget {
  readonly wire: WireHeaders
  /** The value of `host`, which is `:authority` in HTTP/2 (RFC 9113 §8.3.1); null when the caller gave none. */
  host: string | null
  /** Bytes, or null when the caller gave none. */
  contentLength: number | null
  /** Bytes of the caller's fields so far, as RFC 9113 §6.5.2 counts them. */
  headerSize: number
}

/**
 * A field of this size makes node:http2 tear the whole session down (its header block no longer fits), on Node 20
 * without a word. Name and value together, in bytes.
 */
export const MAX_FIELD_SIZE = 65_536

/**
 * nghttp2, and with it Node's own server, nghttpd and Apache, ends the session at the ninth CONTINUATION frame: all fields of
 * one request together must stay below nine frames of 16 KiB. Bytes, as RFC 9113 §6.5.2 counts them.
 */
export const MAX_HEADERS_SIZE = 139_264

/** RFC 9113 §6.5.2: what each field counts besides its name and value. Bytes. */
const FIELD_OVERHEAD = 32

/** RFC 9110 §5.6.2. */
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
/** RFC 9110 §5.5: everything but visible ASCII, SP, HTAB and obs-text. */
const BAD_VALUE = /[^\t\x20-\x7e\x80-\xff]/
/** RFC 9113 §8.2.2: these speak of one HTTP/1.1 connection and make a request malformed. */
const HOP_BY_HOP: ReadonlySet<string> = new Set([
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
])

/** Fields whose value must not get into an error message, and from there into a log. */
const SECRET: ReadonlySet<string> = new Set(['authorization', 'proxy-authorization', 'cookie', 'set-cookie'])

/** Fields of which node:http2 takes one value only (it throws ERR_HTTP2_HEADER_SINGLE_VALUE). */
const SINGLE_VALUE: ReadonlySet<string> = new Set([
  ...['access-control-allow-credentials', 'access-control-max-age', 'access-control-request-method', 'age'],
  ...[
    'authorization',
    'content-encoding',
    'content-language',
    'content-length',
    'content-location',
    'content-md5',
  ],
  ...['content-range', 'content-type', 'date', 'dnt', 'etag', 'expires', 'from', 'host', 'if-match'],
  ...['if-modified-since', 'if-none-match', 'if-range', 'if-unmodified-since', 'last-modified', 'location'],
  ...[
    'max-forwards',
    'proxy-authorization',
    'range',
    'referer',
    'retry-after',
    'tk',
    'upgrade-insecure-requests',
  ],
  ...['user-agent', 'x-content-type-options'],
])

/** Names that were found to be tokens, in lower case. Bounded: names may come from outside. */
const checkedNames = new Map<string, string>()
const MAX_CHECKED_NAMES = 1_024

/** Whether a string is a token of RFC 9110 §5.6.2, as a method and a field name must be. */
export function isToken(value: string): boolean {
  return TOKEN.test(value)
}

function toFieldName(name: unknown): string {
  if (typeof name !== 'string') throw invalid('header name', name, 'a string')
  const known = checkedNames.get(name)
  if (known !== undefined) return known
  if (name.startsWith(':')) {
    throw new InvalidArgumentError(
      `Invalid header name: got ${show(name)}, expected no pseudo-header: they are made from method, path and origin`,
    )
  }
  if (!TOKEN.test(name)) throw invalid('header name', name, 'a token (RFC 9110 §5.6.2)')
  const lowerCase = name.toLowerCase()
  if (checkedNames.size < MAX_CHECKED_NAMES && name.length <= 64) checkedNames.set(name, lowerCase)
  return lowerCase
}

function toFieldValue(name: string, value: unknown): string {
  let text: string
  if (typeof value === 'string') text = value
  else if (typeof value === 'number' || typeof value === 'boolean' || typeof value === 'bigint')
    text = String(value)
  else if (value === null) text = ''
  else throw invalid(`header ${show(name)}`, value, 'a string, a number, or an array of them')
  if (BAD_VALUE.test(text)) {
    const accepted = 'a value without CR, LF, NUL or characters outside ISO-8859-1'
    throw invalid(`header ${show(name)}`, toShown(name, text), accepted)
  }
  text = trim(text)
  const size = name.length + text.length
  if (size > MAX_FIELD_SIZE) {
    throw new InvalidArgumentError(
      `Invalid header ${show(name)}: its field has ${size} bytes, expected at most ${MAX_FIELD_SIZE}`,
    )
  }
  return text
}

function toShown(name: string, value: string): string {
  return SECRET.has(name) ? '(not shown)' : value
}

/** RFC 9113 §8.2.1: a value neither starts nor ends with SP or HTAB. By index: a pattern could be made to backtrack. */
function trim(text: string): string {
  let start = 0
  let end = text.length
  while (start < end && isSpace(text.charCodeAt(start))) start++
  while (end > start && isSpace(text.charCodeAt(end - 1))) end--
  return start === 0 && end === text.length ? text : text.slice(start, end)
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x09
}

/** `connection: close` and `keep-alive` are what undici users send; they mean nothing here and are dropped. */
function checkConnection(value: string): void {
  for (const option of value.split(',')) {
    const name = option.trim().toLowerCase()
    if (name !== 'close' && name !== 'keep-alive') {
      throw invalid(
        "header 'connection'",
        value,
        "'close' or 'keep-alive': HTTP/2 has no connection-specific fields",
      )
    }
  }
}

function toContentLength(value: string): number {
  const length = /^\d+$/.test(value) ? Number(value) : Number.NaN
  if (!Number.isSafeInteger(length))
    throw invalid("header 'content-length'", value, 'a whole number of bytes')
  return length
}

function addField(target: HeaderTarget, name: string, value: string): void {
  const { wire } = target
  target.headerSize += name.length + value.length + FIELD_OVERHEAD
  if (target.headerSize > MAX_HEADERS_SIZE) {
    throw new InvalidArgumentError(`Invalid headers: they have more than ${MAX_HEADERS_SIZE} bytes in all`)
  }
  switch (name) {
    case 'connection':
      checkConnection(value)
      return
    case 'keep-alive':
      return
    case 'host':
      if (target.host !== null) throw invalid("header 'host'", value, 'one value')
      if (!/^[^\s/?#@\\]+$/.test(value)) throw invalid("header 'host'", value, 'a host, or host:port')
      target.host = value
      return
    case 'te':
      if (value.toLowerCase() !== 'trailers') {
        throw invalid("header 'te'", value, "'trailers', which is all that HTTP/2 allows (RFC 9113 §8.2.2)")
      }
      // In lower case and once: node:http2 throws on any other spelling.
      wire.te = 'trailers'
      return
    case 'content-length':
      if (target.contentLength !== null) throw invalid("header 'content-length'", value, 'one value')
      target.contentLength = toContentLength(value)
      break
    default:
      if (HOP_BY_HOP.has(name)) {
        throw invalid(
          `header ${show(name)}`,
          value,
          'no connection-specific field: HTTP/2 has none (RFC 9113 §8.2.2)',
        )
      }
  }
  const present = wire[name]
  if (present === undefined) wire[name] = value
  else if (SINGLE_VALUE.has(name)) throw invalid(`header ${show(name)}`, toShown(name, value), 'one value')
  else if (typeof present === 'string') wire[name] = [present, value]
  else present.push(value)
}

function addHeader(target: HeaderTarget, givenName: unknown, value: unknown): void {
  if (value === undefined) return
  const name = toFieldName(givenName)
  if (Array.isArray(value)) {
    for (const entry of value) addField(target, name, toFieldValue(name, entry))
  } else {
    addField(target, name, toFieldValue(name, value))
  }
}

/** Adds a field where the caller has given none of its name. @throws InvalidArgumentError for a value that is none. */
export function addDefaultHeader(target: HeaderTarget, name: string, value: string): void {
  if (target.wire[name] === undefined) addField(target, name, toFieldValue(name, value))
}

/**
 * Adds the caller's headers to `target.wire`, checked, in lower case, in the caller's order.
 *
 * @param headers an object, a flat array, an iterable of pairs, a Headers; null and undefined are no headers.
 * @param option what they are called in an error
 * @throws InvalidArgumentError that names the field and what it takes.
 */
export function addHeaders(
  target: HeaderTarget,
  headers: RequestHeaders | null | undefined,
  option: 'headers' | 'trailers' = 'headers',
): void {
  if (headers === null || headers === undefined) return
  if (typeof headers !== 'object') {
    throw invalid(option, headers, 'an object, a flat array, an iterable of pairs, or a Headers')
  }
  if (Array.isArray(headers) && !Array.isArray(headers[0])) {
    if (headers.length % 2 !== 0) throw invalid(option, headers, 'a flat array with a value for each name')
    for (let i = 0; i < headers.length; i += 2) addHeader(target, headers[i], headers[i + 1])
  } else if (Symbol.iterator in headers) {
    for (const pair of headers as Iterable<unknown>) {
      if (!Array.isArray(pair) || pair.length !== 2)
        throw invalid(option, pair, 'pairs of a name and a value')
      addHeader(target, pair[0], pair[1])
    }
  } else {
    // No Object.entries: a pair array for each field is garbage that every request would make.
    for (const name of Object.keys(headers))
      addHeader(target, name, (headers as Record<string, unknown>)[name])
  }
}

/** RFC 9110 §6.5.1: fields that frame, route or describe the message can't come after it. */
const NOT_IN_TRAILERS: ReadonlySet<string> = new Set([
  ...['authorization', 'cache-control', 'connection', 'content-encoding', 'content-length', 'content-range'],
  ...['content-type', 'expect', 'host', 'keep-alive', 'max-forwards', 'te', 'trailer', 'proxy-authorization'],
])

/**
 * Checks a request's trailers as its headers are checked.
 *
 * @throws InvalidArgumentError that names the field and what it takes
 */
export function toTrailers(trailers: RequestHeaders | null | undefined): WireHeaders {
  const wire = makeWireHeaders()
  const target: HeaderTarget = { wire, host: null, contentLength: null, headerSize: 0 }
  addHeaders(target, trailers, 'trailers')
  const forbidden =
    target.host !== null ? 'host' : Object.keys(wire).find((name) => NOT_IN_TRAILERS.has(name))
  // Without its value: some of these are secrets.
  if (forbidden !== undefined) {
    throw new InvalidArgumentError(
      `Invalid trailer ${show(forbidden)}: expected no such field in trailers (RFC 9110 §6.5.1)`,
    )
  }
  return wire
}

/** The size of an answer's fields as RFC 9113 §6.5.2 counts it: 32 bytes for each besides its name and value. */
export function toFieldsSize(raw: readonly string[]): number {
  let size = (raw.length / 2) * FIELD_OVERHEAD
  for (let i = 0; i < raw.length; i++) size += raw[i]?.length ?? 0
  return size
}

/** What may stand for raw headers: what a session made, what an older interceptor assigned, a `Headers`, or nothing. */
export type RawHeadersSource =
  | readonly (string | Uint8Array | readonly (string | Uint8Array)[])[]
  | Readonly<Record<string, string | readonly string[] | undefined>>
  | Iterable<readonly [name: string, value: string]>
  | null
  | undefined

function toText(value: string | Uint8Array): string {
  if (typeof value === 'string') return value
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('latin1')
}

/**
 * The normalizer: any form of headers → a new flat array `[name, value, name, value, …]`.
 *
 * A flat array keeps its order and its duplicates; an object gives a pair for each entry of an array value; an iterable of
 * pairs, such as a `Headers` or a `Map`, its pairs. Buffers are read as ISO-8859-1. Pseudo-headers are left out. Null and
 * undefined give an empty array.
 */
export function toRawHeaders(headers: RawHeadersSource): string[] {
  const raw: string[] = []
  if (headers === null || headers === undefined) return raw
  if (isFlat(headers)) {
    for (let i = 0; i + 1 < headers.length; i += 2) addRaw(raw, toText(headers[i] as string), headers[i + 1])
  } else if (Symbol.iterator in headers) {
    for (const [name, value] of headers as Iterable<readonly [string, string]>) addRaw(raw, name, value)
  } else {
    for (const name of Object.keys(headers)) addRaw(raw, name, headers[name])
  }
  return raw
}

type FlatHeaders = readonly (string | Uint8Array | readonly (string | Uint8Array)[])[]

function isFlat(headers: NonNullable<RawHeadersSource>): headers is FlatHeaders {
  // The first entry of a flat list is a name.
  return Array.isArray(headers) && !Array.isArray(headers[0])
}

function addRaw(
  raw: string[],
  name: string,
  value: string | Uint8Array | readonly (string | Uint8Array)[] | undefined,
): void {
  if (value === undefined || name.charCodeAt(0) === 0x3a /* : */) return
  if (typeof value === 'string') raw.push(name, value)
  else if (value instanceof Uint8Array) raw.push(name, toText(value))
  else for (const entry of value) raw.push(name, toText(entry))
}

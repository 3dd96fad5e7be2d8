/**
 * Converts request headers to wire form; and `toRawHeaders()`, the only normalizer.
 *
 * @module
 */

import type { RequestHeaders } from '../../types/headers.ts'
import { isAuthority } from '../core/authority.ts'
import { isUint8Array } from '../core/realms.ts'
import { invalidKind, show, showTarget, toInvalid } from '../core/validate.ts'
import { InvalidArgumentError } from '../errors/errors.ts'
import type { FieldName } from './field-names.ts'
import { isToken, toFieldName } from './field-names.ts'
import type { WireHeaders } from './wire-headers.ts'
import { getField, setField } from './wire-headers.ts'

/** The request that a header list is added to, with the values that are read from the list. */
export interface HeaderTarget {
  readonly wire: WireHeaders
  /** The value of `host`, which is `:authority` in HTTP/2 (RFC 9113 §8.3.1); null if the caller gave none. */
  host: string | null
  /** In bytes; null if the caller gave none. */
  contentLength: number | null
  /** The size of the caller's fields so far, in bytes counted as in RFC 9113 §6.5.2. */
  headerSize: number
  /**
   * Names of fields, in lower case, whose values no error shows, in addition to those that are always secret; null
   * for none.
   */
  readonly sensitiveHeaders: ReadonlySet<string> | null
  /** Names that the caller hasn't written in lower case, in the caller's spelling; null for none. */
  spellings: string[] | null
  /** Set to true by `connection: close`. Null: the caller doesn't say. */
  reset: boolean | null
}

/**
 * A field of this size makes node:http2 destroy the whole session (its header block no longer fits), on Node 20
 * without any error. Name and value together, in bytes.
 */
export const MAX_REQUEST_FIELD_SIZE = 65_536

/**
 * nghttp2, and with it Node's own server, nghttpd and Apache, ends the session at the ninth CONTINUATION frame: all
 * fields of a request together must stay below nine frames of 16 KiB. In bytes, counted as in RFC 9113 §6.5.2.
 */
export const MAX_REQUEST_HEADER_SIZE = 139_264

/** RFC 9113 §6.5.2: the size of each field in addition to its name and value, in bytes. */
const FIELD_OVERHEAD = 32

/** RFC 9110 §5.5: everything except visible ASCII, SP, HTAB and obs-text. */
const BAD_VALUE = /[^\t\x20-\x7e\x80-\xff]/
/** Fields whose value must not get into an error message, and from there into a log. */
const SECRET: ReadonlySet<string> = new Set(['authorization', 'proxy-authorization', 'cookie', 'set-cookie'])

function toFieldValue(target: HeaderTarget, name: string, value: unknown): string {
  let text: string
  if (typeof value === 'string') text = value
  else if (typeof value === 'number' || typeof value === 'boolean' || typeof value === 'bigint')
    text = String(value)
  else if (value === null) text = ''
  else throw invalidKind(`header ${show(name)}`, value, 'a string, a number, or an array of them')
  if (BAD_VALUE.test(text)) {
    const accepted = 'a value without CR, LF, NUL or characters outside ISO-8859-1'
    throw toInvalid(`header ${show(name)}`, showValue(target, name, text), accepted)
  }
  text = trim(text)
  const size = name.length + text.length
  if (size > MAX_REQUEST_FIELD_SIZE) {
    throw new InvalidArgumentError(
      `Invalid header ${show(name)}: the field has ${size} bytes, expected at most ${MAX_REQUEST_FIELD_SIZE}`,
    )
  }
  return text
}

/** Hides the values of secret fields: those that the caller named (RFC 7541 §7.1.3), and those in {@link SECRET}. */
function showValue({ sensitiveHeaders }: HeaderTarget, name: string, value: string): string {
  return SECRET.has(name) || sensitiveHeaders?.has(name) === true ? '"(not shown)"' : show(value)
}

/**
 * RFC 9113 §8.2.1: a value neither starts nor ends with SP or HTAB. It uses indexes, because a pattern could be made
 * to backtrack.
 */
export function trim(text: string): string {
  let start = 0
  let end = text.length
  while (start < end && isSpace(text.charCodeAt(start))) start++
  while (end > start && isSpace(text.charCodeAt(end - 1))) end--
  return start === 0 && end === text.length ? text : text.slice(start, end)
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x09
}

/**
 * The connection options (RFC 9110 §7.6.1) are for HTTP/1.1, whose dispatcher writes the field itself: only `close`
 * matters. `keep-alive` is the default, and undici also ignores the names of fields.
 */
function readConnection(target: HeaderTarget, value: string): void {
  for (const option of value.split(',')) {
    const name = option.trim()
    if (!isToken(name)) {
      throw toInvalid(
        "header 'connection'",
        showValue(target, 'connection', value),
        'tokens, separated by commas (RFC 9110 §7.6.1)',
      )
    }
    if (name.toLowerCase() === 'close') target.reset = true
  }
}

function toContentLength(target: HeaderTarget, value: string): number {
  const length = /^\d+$/.test(value) ? Number(value) : Number.NaN
  if (!Number.isSafeInteger(length))
    throw toInvalid(
      "header 'content-length'",
      showValue(target, 'content-length', value),
      'a whole number of bytes',
    )
  return length
}

/** `host` becomes `:authority`, so it is checked like any other authority. */
function checkHost(target: HeaderTarget, value: string): void {
  if (target.host !== null) throw toInvalid("header 'host'", showValue(target, 'host', value), 'one value')
  if (isAuthority(value, false)) return
  const isSecret = target.sensitiveHeaders?.has('host') === true
  const shown = isSecret ? showValue(target, 'host', value) : showTarget(value)
  throw toInvalid("header 'host'", shown, 'a host, or host:port')
}

/** @returns false for a field that isn't sent */
function addSpecial(target: HeaderTarget, name: string, value: string): boolean {
  switch (name) {
    case 'connection':
      readConnection(target, value)
      return false
    case 'keep-alive':
      return false
    case 'host':
      checkHost(target, value)
      target.host = value
      return false
    case 'te':
      if (value.toLowerCase() !== 'trailers') {
        throw toInvalid(
          "header 'te'",
          showValue(target, name, value),
          "'trailers', which is all that HTTP/2 allows (RFC 9113 §8.2.2)",
        )
      }
      // In lower case and once: node:http2 throws on any other spelling.
      setField(target.wire, 'te', 'trailers')
      return false
    case 'content-length':
      if (target.contentLength !== null)
        throw toInvalid("header 'content-length'", showValue(target, name, value), 'one value')
      target.contentLength = toContentLength(target, value)
      return true
    default:
      throw toInvalid(
        `header ${show(name)}`,
        showValue(target, name, value),
        'no connection-specific field: HTTP/2 has none (RFC 9113 §8.2.2)',
      )
  }
}

function addField(target: HeaderTarget, { name, rule }: FieldName, value: string): void {
  target.headerSize += name.length + value.length + FIELD_OVERHEAD
  if (target.headerSize > MAX_REQUEST_HEADER_SIZE) {
    throw new InvalidArgumentError(
      `Invalid headers: they have more than ${MAX_REQUEST_HEADER_SIZE} bytes in total`,
    )
  }
  if (rule === 'special' && !addSpecial(target, name, value)) return
  if (rule === 'single' && getField(target.wire, name) !== undefined) {
    throw toInvalid(`header ${show(name)}`, showValue(target, name, value), 'one value')
  }
  target.wire.push(name, value)
}

function addHeader(target: HeaderTarget, givenName: unknown, value: unknown): void {
  if (value === undefined) return
  const field = toFieldName(givenName)
  if (field.name !== givenName) {
    target.spellings ??= []
    target.spellings.push(givenName as string)
  }
  if (Array.isArray(value)) {
    for (const entry of value) addField(target, field, toFieldValue(target, field.name, entry))
  } else {
    addField(target, field, toFieldValue(target, field.name, value))
  }
}

/** Adds a field that the caller hasn't given. @throws InvalidArgumentError for an invalid value */
export function addDefaultHeader(target: HeaderTarget, name: string, value: string): void {
  if (getField(target.wire, name) === undefined) addHeader(target, name, value)
}

/**
 * Adds the caller's headers to `target.wire`: checked, in lower case, in the caller's order.
 *
 * @param headers an object, a flat array, an iterable of pairs, or a Headers; null and undefined: no headers.
 * @param option how an error names them
 * @throws InvalidArgumentError that names the field and what would be accepted.
 */
export function addHeaders(
  target: HeaderTarget,
  headers: RequestHeaders | null | undefined,
  option: 'headers' | 'trailers' = 'headers',
): void {
  if (headers === null || headers === undefined) return
  if (typeof headers !== 'object') {
    throw invalidKind(option, headers, 'an object, a flat array, an iterable of pairs, or a Headers')
  }
  if (Array.isArray(headers) && !Array.isArray(headers[0])) {
    if (headers.length % 2 !== 0)
      throw invalidKind(option, headers, 'a flat array with a value for each name')
    for (let i = 0; i < headers.length; i += 2) addHeader(target, headers[i], headers[i + 1])
  } else if (Symbol.iterator in headers) {
    for (const pair of headers as Iterable<unknown>) {
      if (!Array.isArray(pair) || pair.length !== 2)
        throw invalidKind(option, pair, 'pairs of a name and a value')
      addHeader(target, pair[0], pair[1])
    }
  } else {
    // By index, without Object.entries(): each request would allocate a pair and an iterator result for each field.
    const names = Object.keys(headers)
    for (let i = 0; i < names.length; i++)
      addHeader(target, names[i], (headers as Record<string, unknown>)[names[i] as string])
  }
}

/** RFC 9110 §6.5.1: fields that frame, route or describe the message can't follow it. */
const NOT_IN_TRAILERS: ReadonlySet<string> = new Set([
  ...['authorization', 'cache-control', 'connection', 'content-encoding', 'content-length', 'content-range'],
  ...['content-type', 'expect', 'host', 'keep-alive', 'max-forwards', 'te', 'trailer', 'proxy-authorization'],
])

/**
 * Checks a request's trailers like its headers.
 *
 * @param sensitiveHeaders names of fields whose values no error shows; null for none
 * @throws InvalidArgumentError that names the field and what would be accepted
 */
export function toTrailers(
  trailers: RequestHeaders | null | undefined,
  sensitiveHeaders: ReadonlySet<string> | null,
): WireHeaders {
  const wire: WireHeaders = []
  const none = { host: null, contentLength: null, headerSize: 0, spellings: null, reset: null }
  const target: HeaderTarget = { wire, sensitiveHeaders, ...none }
  addHeaders(target, trailers, 'trailers')
  const forbidden =
    target.host !== null ? 'host' : wire.find((name, index) => index % 2 === 0 && NOT_IN_TRAILERS.has(name))
  // The message doesn't show the value: some of these fields are secrets.
  if (forbidden !== undefined) {
    throw new InvalidArgumentError(
      `Invalid trailer ${show(forbidden)}: this field isn't allowed in trailers (RFC 9110 §6.5.1)`,
    )
  }
  return wire
}

/** The size of a response's fields, counted as in RFC 9113 §6.5.2: name and value plus 32 bytes per field. */
export function toFieldsSize(raw: readonly string[]): number {
  let size = (raw.length / 2) * FIELD_OVERHEAD
  for (let i = 0; i < raw.length; i++) size += raw[i]?.length ?? 0
  return size
}

/** The possible forms of raw headers: from a session, from an older interceptor, a `Headers`, or nothing. */
export type RawHeadersSource =
  | readonly (string | Uint8Array | readonly (string | Uint8Array)[])[]
  | Readonly<Record<string, string | readonly string[] | undefined>>
  | Iterable<readonly [name: string, value: string]>
  | null
  | undefined

function toText(value: string | Uint8Array): string {
  if (typeof value === 'string') return value
  if (Buffer.isBuffer(value)) return value.toString('latin1')
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('latin1')
}

/**
 * Converts any form of headers to a new flat array `[name, value, name, value, …]`.
 *
 * A flat array keeps its order and its duplicates; an object gives a pair for each entry of an array value; an
 * iterable of pairs, such as a `Headers` or a `Map`, gives its pairs. Buffers are read as ISO-8859-1. Pseudo-header
 * fields are omitted. Null and undefined give an empty array.
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

/**
 * A normalized list in the form that undici's older handlers and its subscribers expect: latin1 Buffers. Null: no
 * fields.
 */
export function toRawBuffers(raw: readonly string[] | null): Buffer[] {
  return raw === null ? [] : raw.map((text) => Buffer.from(text, 'latin1'))
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
  else if (isUint8Array(value)) raw.push(name, toText(value))
  else for (const entry of value) raw.push(name, toText(entry))
}

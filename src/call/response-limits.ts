/**
 * The limits of a response: its size, its length, the number of informational responses.
 *
 * @module
 */

import type { IncomingHttpHeaders } from '../../types/headers.ts'
import { ErrorCode } from '../errors/error-codes.ts'
import type { DodiciError } from '../errors/errors.ts'
import { HeadersCountError, ResponseContentLengthMismatchError, StreamError } from '../errors/errors.ts'
import type { Limits } from '../options/limits.ts'
import { toLimitError } from '../options/limits.ts'
import { toFieldsSize } from '../request/headers.ts'

/**
 * The most informational responses before a final response: more are a flood. A server that sends a 102 every ten
 * seconds has nearly an hour.
 */
const MAX_INFORMATIONAL = 300

/** What is needed of the response's request. */
interface Judged {
  readonly limits: Limits
  readonly method: string
}

/** The counters for an attempt's response. An attempt may have them as its own fields. */
export interface ResponseMeter {
  /** How many informational responses have arrived. */
  informational: number
  /** The size of their fields in bytes, counted as in RFC 9113 §6.5.2. */
  informationalSize: number
  /** How many bytes the body must have; -1 if the response has no `content-length`. */
  expected: number
  /** How many bytes of the body the call has received. */
  received: number
  /** Whether the response has no body because of its status or the request's method (RFC 9110 §6.4.1). */
  isBare: boolean
  /** Whether the header section of the final response has ended it. */
  isHeaderOnly: boolean
}

/** The counters for an attempt without a response. */
export function createMeter(): ResponseMeter {
  return {
    informational: 0,
    informationalSize: 0,
    expected: -1,
    received: 0,
    isBare: false,
    isHeaderOnly: false,
  }
}

/**
 * Whether the response is known to be complete without END_STREAM: it has no body, or as much body as announced has
 * arrived.
 *
 * @param held bytes that have arrived, but weren't passed to the call
 */
export function hasWholeBody({ expected, received, isBare }: ResponseMeter, held: number): boolean {
  return (isBare ? 0 : expected) === received + held
}

function isBare(method: string, status: number): boolean {
  return method === 'HEAD' || status === 204 || status === 304
}

/**
 * Counts a response's header section.
 *
 * @param raw in wire order, may contain pseudo-header fields
 * @returns what is wrong with it; null for nothing
 */
export function checkHeader(
  meter: ResponseMeter,
  { limits, method }: Judged,
  status: number,
  headers: IncomingHttpHeaders,
  raw: readonly string[],
): DodiciError | null {
  const error = checkFields(limits, 'header', raw)
  if (error !== null) return error
  if (status < 200) return checkInformational(meter, limits, raw)
  meter.isBare = isBare(method, status)
  // RFC 9110 §8.6: in a response without a body the field is the length that the body of a GET's would have had.
  meter.expected = meter.isBare ? -1 : toExpected(headers['content-length'])
  const { maxResponseSize } = limits
  // The announced length is too large: the call fails before any of the body comes.
  if (maxResponseSize !== -1 && meter.expected > maxResponseSize) return toSizeError(maxResponseSize)
  return null
}

/** A list with so few entries is converted to an object: that costs less than checking the list first. */
const SHORT_LIST = 64

/**
 * Whether it is pointless to convert these fields to an object: there are many of them, and {@link checkHeader} or
 * {@link checkEnd} will refuse the list.
 *
 * @param raw in wire order, may contain pseudo-header fields
 */
export function isRefusedList({ maxHeaderSize, maxHeadersCount }: Limits, raw: readonly string[]): boolean {
  if (raw.length <= SHORT_LIST) return false
  return toCount(raw) > maxHeadersCount || toFieldsSize(raw) > maxHeaderSize
}

/** `:status` isn't a field. */
function toCount(raw: readonly string[]): number {
  return raw.length / 2 - (raw[0] === ':status' ? 1 : 0)
}

function checkFields(
  { maxHeaderSize, maxHeadersCount }: Limits,
  what: 'header' | 'trailers',
  raw: readonly string[],
): DodiciError | null {
  const count = toCount(raw)
  if (count > maxHeadersCount) {
    const found = `The response ${what} section has ${count} fields, more than`
    return toLimitError('maxHeadersCount', maxHeadersCount, found)
  }
  const size = toFieldsSize(raw)
  if (size <= maxHeaderSize) return null
  return toLimitError(
    'maxHeaderSize',
    maxHeaderSize,
    `The response ${what} section has ${size} bytes, more than`,
  )
}

/** Counts a piece of the body. @returns what is wrong with it; null for nothing */
export function checkData(
  meter: ResponseMeter,
  { maxResponseSize }: Limits,
  length: number,
): DodiciError | null {
  meter.received += length
  const { expected, received } = meter
  if (maxResponseSize !== -1 && received > maxResponseSize) return toSizeError(maxResponseSize)
  if (expected !== -1 && received > expected) return toMismatch('has more than', expected)
  return null
}

/**
 * Checks the end of the response, with its trailer fields, or null without trailers. @returns what is wrong with it;
 * null for nothing
 */
export function checkEnd(
  { expected, received }: ResponseMeter,
  limits: Limits,
  trailers: readonly string[] | null,
): DodiciError | null {
  if (expected !== -1 && expected !== received)
    return toMismatch(`ended after ${received} bytes instead of`, expected)
  return trailers === null ? null : checkFields(limits, 'trailers', trailers)
}

/**
 * The session may check lengths, too (nghttp2 does), and reset the stream with PROTOCOL_ERROR. Then the length is
 * wrong, whether the session or the peer has reset the stream. Null for other failures.
 */
export function toLengthError({ expected }: ResponseMeter, cause: DodiciError): DodiciError | null {
  const { http2ErrorCode } = cause
  // The error code of a GOAWAY isn't about this response.
  const isOfStream = cause instanceof StreamError && http2ErrorCode === ErrorCode.PROTOCOL_ERROR
  if (expected === -1 || !isOfStream) return null
  const message = `The response body isn't the ${expected} bytes that content-length announced: ${cause.message}`
  return new ResponseContentLengthMismatchError(message, { cause, http2ErrorCode, processed: 'yes' })
}

function checkInformational(
  meter: ResponseMeter,
  { maxHeaderSize }: Limits,
  raw: readonly string[],
): DodiciError | null {
  meter.informational++
  meter.informationalSize += toFieldsSize(raw)
  if (meter.informational > MAX_INFORMATIONAL) {
    return new HeadersCountError(`The server sent more than ${MAX_INFORMATIONAL} informational responses`)
  }
  if (meter.informationalSize <= maxHeaderSize) return null
  const found = 'The informational responses have more than'
  return toLimitError('maxHeaderSize', maxHeaderSize, found, ' bytes in total')
}

function toExpected(contentLength: string | string[] | undefined): number {
  return contentLength === undefined ? -1 : toLength(contentLength)
}

const ZERO = 0x30
/** Numbers with up to this many digits are exact. */
const EXACT_DIGITS = 15

/** The number, as `Number()` reads it. Digits, the usual case, are read here, because that costs less. */
function toLength(contentLength: string | string[]): number {
  const { length } = contentLength
  if (typeof contentLength !== 'string' || length === 0 || length > EXACT_DIGITS) return Number(contentLength)
  let total = 0
  for (let i = 0; i < length; i++) {
    const digit = contentLength.charCodeAt(i) - ZERO
    if (digit < 0 || digit > 9) return Number(contentLength)
    total = total * 10 + digit
  }
  return total
}

function toMismatch(what: string, expected: number): DodiciError {
  return new ResponseContentLengthMismatchError(`The response body ${what} ${expected} bytes`)
}

/** @param maxResponseSize in bytes */
export function toSizeError(maxResponseSize: number): DodiciError {
  return toLimitError('maxResponseSize', maxResponseSize, 'The response body has more bytes than')
}

/**
 * Whether a call has failed because its response is malformed (RFC 9113 §8.1.1), not because it is too large or
 * unwanted.
 */
export function isMalformed(error: Error): boolean {
  return error instanceof ResponseContentLengthMismatchError
}

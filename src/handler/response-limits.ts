/**
 * What a response may be: its size, its length, its number of informational responses.
 *
 * @module
 */

import type { IncomingHttpHeaders } from '../../types/headers.ts'
import { ErrorCode } from '../core/error-codes.ts'
import { toFieldsSize } from '../core/headers.ts'
import type { Limits } from '../core/limits.ts'
import { toLimitError } from '../core/limits.ts'
import type { DodiciError } from '../errors.ts'
import { HeadersCountError, ResponseContentLengthMismatchError, StreamError } from '../errors.ts'

/** More of them before one final response are a flood: a server that says 102 every ten seconds gets nearly an hour. */
const MAX_INFORMATIONAL = 300

/** Judges one attempt's response while it comes. Each method gives what is wrong, or null. */
export class ResponseLimits {
  readonly #limits: Limits
  readonly #method: string
  #informational = 0
  #informationalSize = 0
  /** Bytes of the body that must come; -1 where the response doesn't say. */
  #expected = -1
  #received = 0

  constructor(limits: Limits, method: string) {
    this.#limits = limits
    this.#method = method
  }

  /** Whether a length was announced, and all of it has come; `held` bytes of it weren't judged yet. */
  isWhole(held: number): boolean {
    return this.#expected !== -1 && this.#expected === this.#received + held
  }

  /** The header of a response: `raw` is in wire order, pseudo-headers may be in it. */
  checkHeader(status: number, headers: IncomingHttpHeaders, raw: readonly string[]): DodiciError | null {
    const error = this.checkFields('header', raw)
    if (error !== null) return error
    if (status < 200) return this.#checkInformational(raw)
    this.#expected = this.#toExpected(status, headers['content-length'])
    const { maxResponseSize } = this.#limits
    // Known now: nothing of it needs to come.
    if (maxResponseSize !== -1 && this.#expected > maxResponseSize) return toSizeError(maxResponseSize)
    return null
  }

  /** The fields of a header or of trailers. */
  checkFields(what: 'header' | 'trailers', raw: readonly string[]): DodiciError | null {
    const { maxHeaderSize, maxHeadersCount } = this.#limits
    // `:status` is no field.
    const count = raw.length / 2 - (raw[0] === ':status' ? 1 : 0)
    if (count > maxHeadersCount) {
      const found = `The response's ${what} has ${count} fields, more than`
      return toLimitError('maxHeadersCount', maxHeadersCount, found)
    }
    const size = toFieldsSize(raw)
    if (size <= maxHeaderSize) return null
    return toLimitError('maxHeaderSize', maxHeaderSize, `The response's ${what} has ${size} bytes, more than`)
  }

  /** A piece of the body. */
  checkData(length: number): DodiciError | null {
    this.#received += length
    const { maxResponseSize } = this.#limits
    if (maxResponseSize !== -1 && this.#received > maxResponseSize) return toSizeError(maxResponseSize)
    if (this.#expected !== -1 && this.#received > this.#expected) return this.#toLengthError('has more than')
    return null
  }

  /**
   * The session may judge lengths as well (nghttp2 does), and reset the stream with PROTOCOL_ERROR where one is wrong.
   * Whoever did it: what was announced hasn't come. Null for a failure of another kind.
   */
  toLengthError(cause: DodiciError): DodiciError | null {
    const { http2ErrorCode } = cause
    // That of a GOAWAY is no word on this response.
    const isOfStream = cause instanceof StreamError && http2ErrorCode === ErrorCode.PROTOCOL_ERROR
    if (this.#expected === -1 || !isOfStream) return null
    const message = `The body of the response isn't the ${this.#expected} bytes that were announced: ${cause.message}`
    return new ResponseContentLengthMismatchError(message, { cause, http2ErrorCode, processed: 'yes' })
  }

  /** The body's end. */
  checkEnd(): DodiciError | null {
    if (this.#expected === -1 || this.#expected === this.#received) return null
    return this.#toLengthError(`ended after ${this.#received} bytes instead of`)
  }

  #checkInformational(raw: readonly string[]): DodiciError | null {
    this.#informational++
    this.#informationalSize += toFieldsSize(raw)
    if (this.#informational > MAX_INFORMATIONAL) {
      return new HeadersCountError(`More than ${MAX_INFORMATIONAL} informational responses came`)
    }
    const { maxHeaderSize } = this.#limits
    if (this.#informationalSize <= maxHeaderSize) return null
    const found = 'The informational responses have more than'
    return toLimitError('maxHeaderSize', maxHeaderSize, found, ' bytes in all')
  }

  #toExpected(status: number, contentLength: string | string[] | undefined): number {
    // RFC 9110 §8.6: there the field tells of the body that a GET would have had.
    if (contentLength === undefined || status === 204 || status === 304) return -1
    return this.#method === 'HEAD' ? -1 : Number(contentLength)
  }

  #toLengthError(what: string): DodiciError {
    return new ResponseContentLengthMismatchError(`The body of the response ${what} ${this.#expected} bytes`)
  }
}

/** @param maxResponseSize bytes */
export function toSizeError(maxResponseSize: number): DodiciError {
  return toLimitError('maxResponseSize', maxResponseSize, 'The body of the response has more bytes than')
}

/**
 * Whether a call has failed since its response is malformed (RFC 9113 §8.1.1), as opposed to too large, or not wanted.
 */
export function isMalformed(error: Error): boolean {
  return error instanceof ResponseContentLengthMismatchError
}

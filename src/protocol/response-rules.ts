/**
 * The rules that make a whole response malformed (RFC 9113 §8.1, §8.3.2). HPACK's decoder judges single fields. The
 * call checks whether the content has the announced length.
 *
 * @module
 */

import type { Http2Stream } from './stream.ts'

const COLON = 0x3a
const ZERO = 0x30

/** RFC 9113 §8.6: there is no 101 in HTTP/2. */
const SWITCHING_PROTOCOLS = 101

/** A header section's `:status`, as a number; -1 if it isn't the first field, or isn't a status. */
export function toStatus(fields: readonly string[]): number {
  if (fields[0] !== ':status') return -1
  const text = fields[1] as string
  const first = text.charCodeAt(0) - ZERO
  const second = text.charCodeAt(1) - ZERO
  const third = text.charCodeAt(2) - ZERO
  // A missing character is NaN.
  const isNumber = first >= 1 && first <= 9 && second >= 0 && second <= 9 && third >= 0 && third <= 9
  return isNumber && text.length === 3 ? first * 100 + second * 10 + third : -1
}

/** Why a header section is malformed; null if it isn't. */
export function toHeaderFault(status: number, fields: readonly string[], isEnd: boolean): string | null {
  if (status === -1) return "its header section doesn't start with a valid :status (RFC 9113 §8.3.2)"
  let length: string | null = null
  for (let i = 2; i < fields.length; i += 2) {
    const name = fields[i] as string
    if (name.charCodeAt(0) === COLON)
      return `its header section has a misplaced pseudo-header field (RFC 9113 §8.3)`
    if (name !== 'content-length') continue
    const value = fields[i + 1] as string
    if (!isDigits(value) || (length !== null && length !== value))
      return 'its content-length is not a single number (RFC 9113 §8.1.1)'
    length = value
  }
  if (status >= 200) return null
  if (status === SWITCHING_PROTOCOLS) return "its status is 101, which HTTP/2 doesn't have (RFC 9113 §8.6)"
  return isEnd ? 'it ends with an informational response (RFC 9113 §8.1)' : null
}

/** Why a second header section isn't a trailer section; null if it is. */
export function toTrailersFault(fields: readonly string[], isEnd: boolean): string | null {
  if (!isEnd) return "a second header section doesn't end it (RFC 9113 §8.1)"
  for (let i = 0; i < fields.length; i += 2) {
    if ((fields[i] as string).charCodeAt(0) === COLON)
      return 'its trailer section has a pseudo-header field (RFC 9113 §8.1)'
  }
  return null
}

/** Why a piece of content is malformed here; null if it isn't. */
export function toContentFault(stream: Http2Stream, size: number): string | null {
  if (stream.phase !== 'header') return 'its content arrived before its header section (RFC 9113 §8.1)'
  return stream.data === 'none' && size > 0 ? 'it has content where none is allowed (RFC 9110 §6.4.1)' : null
}

/** Whether a response has no content, whatever its fields and the request's method say (RFC 9110 §6.4.1). */
export function isBare(status: number): boolean {
  return status === 204 || status === 304
}

function isDigits(text: string): boolean {
  if (text.length === 0) return false
  for (let i = 0; i < text.length; i++) {
    const digit = text.charCodeAt(i) - ZERO
    if (digit < 0 || digit > 9) return false
  }
  return true
}

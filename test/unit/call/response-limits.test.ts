import { describe, expect, it } from 'vitest'
import {
  checkData,
  checkEnd,
  checkHeader,
  createMeter,
  hasWholeBody,
} from '../../../src/call/response-limits.ts'
import type { DodiciError } from '../../../src/errors/errors.ts'
import {
  HeadersCountError,
  HeadersOverflowError,
  ResponseContentLengthMismatchError,
  ResponseExceededMaxSizeError,
} from '../../../src/errors/errors.ts'
import type { Limits } from '../../../src/options/limits.ts'
import { toClientOptions } from '../../../src/options/options.ts'
import type { IncomingHttpHeaders } from '../../../types/headers.ts'
import type { CallLimits } from '../../../types/limits.ts'

/** One response, with the limits and the method of its request. */
class Response {
  readonly #meter = createMeter()
  readonly #request: { readonly limits: Limits; readonly method: string }

  constructor(limits: Limits, method: string) {
    this.#request = { limits, method }
  }

  isWhole(held: number): boolean {
    return hasWholeBody(this.#meter, held)
  }

  checkHeader(status: number, headers: IncomingHttpHeaders, raw: readonly string[]): DodiciError | null {
    return checkHeader(this.#meter, this.#request, status, headers, raw)
  }

  checkData(length: number): DodiciError | null {
    return checkData(this.#meter, this.#request.limits, length)
  }

  checkEnd(trailers: readonly string[] | null = null): DodiciError | null {
    return checkEnd(this.#meter, this.#request.limits, trailers)
  }
}

function make(limits: CallLimits = {}, method = 'GET'): Response {
  return new Response(toClientOptions(limits).limits, method)
}

/** A list of `count` fields, each of 34 bytes as RFC 9113 §6.5.2 counts them. */
function fields(count: number): string[] {
  return Array.from({ length: count }, () => ['a', 'b']).flat()
}

/** The response's header, with a content-length. */
function announce(response: Response, length: string, status = 200) {
  return response.checkHeader(status, { 'content-length': length }, ['content-length', length])
}

describe('the limits of a response', () => {
  describe('when no limit is reached', () => {
    it('reports no error', () => {
      const response = make({ maxResponseSize: 3, maxHeaderSize: 34, maxHeadersCount: 1 })
      expect(response.checkHeader(103, {}, fields(1))).toBeNull()
      expect(response.checkHeader(200, {}, fields(1))).toBeNull()
      expect(response.checkData(1)).toBeNull()
      expect(response.checkData(2)).toBeNull()
      expect(response.checkEnd(fields(1))).toBeNull()
    })

    it('has no limit of the body size by default', () => {
      const response = make()
      expect(announce(response, String(2 ** 50))).toBeNull()
      expect(response.checkData(2 ** 49)).toBeNull()
    })
  })

  describe.each<[string, (response: Response, raw: string[]) => DodiciError | null]>([
    ['header', (response, raw) => response.checkHeader(200, {}, raw)],
    ['trailers', (response, raw) => response.checkEnd(raw)],
  ])('when the %s exceeds a limit', (what, check) => {
    it('reports how many fields came, and how many are allowed', () => {
      const error = check(make({ maxHeadersCount: 2 }), fields(3))
      expect(error).toBeInstanceOf(HeadersCountError)
      expect(error?.message).toBe(`The response ${what} section has 3 fields, more than maxHeadersCount (2)`)
    })

    it('reports how many bytes came, and how many are allowed', () => {
      const error = check(make({ maxHeaderSize: 67 }), fields(2))
      expect(error).toBeInstanceOf(HeadersOverflowError)
      expect(error?.message).toBe(`The response ${what} section has 68 bytes, more than maxHeaderSize (67)`)
    })
  })

  describe('when informational responses come', () => {
    it('accepts 300 of them, and no more', () => {
      const response = make()
      for (let i = 0; i < 300; i++) expect(response.checkHeader(102, {}, [])).toBeNull()
      const error = response.checkHeader(102, {}, [])
      expect(error).toBeInstanceOf(HeadersCountError)
      expect(error?.message).toBe('The server sent more than 300 informational responses')
    })

    it('counts the bytes of all of them together', () => {
      const response = make({ maxHeaderSize: 100 })
      expect(response.checkHeader(103, {}, fields(1))).toBeNull()
      expect(response.checkHeader(103, {}, fields(1))).toBeNull()
      const error = response.checkHeader(103, {}, fields(1))
      expect(error).toBeInstanceOf(HeadersOverflowError)
      expect(error?.message).toBe(
        'The informational responses have more than maxHeaderSize (100) bytes in total',
      )
    })

    it('does not count them against the limit of the final response', () => {
      const response = make({ maxHeaderSize: 68 })
      expect(response.checkHeader(103, {}, fields(2))).toBeNull()
      expect(response.checkHeader(200, {}, fields(2))).toBeNull()
    })

    it('ignores a content-length in an informational response', () => {
      const response = make()
      expect(announce(response, '5', 103)).toBeNull()
      expect(response.checkHeader(200, {}, [])).toBeNull()
      expect(response.checkEnd()).toBeNull()
    })
  })

  describe('when the body is larger than maxResponseSize', () => {
    it('refuses it before the body comes when content-length announces it', () => {
      const error = announce(make({ maxResponseSize: 3 }), '4')
      expect(error).toBeInstanceOf(ResponseExceededMaxSizeError)
      expect(error?.message).toBe('The response body has more bytes than maxResponseSize (3)')
    })

    it('refuses it at the first excess byte when there is no content-length', () => {
      const response = make({ maxResponseSize: 3 })
      expect(response.checkHeader(200, {}, [])).toBeNull()
      expect(response.checkData(3)).toBeNull()
      expect(response.checkData(0)).toBeNull()
      expect(response.checkData(1)).toBeInstanceOf(ResponseExceededMaxSizeError)
    })

    it('accepts no body at all when the limit is 0', () => {
      const response = make({ maxResponseSize: 0 })
      expect(announce(response, '0')).toBeNull()
      expect(response.checkEnd()).toBeNull()
      expect(response.checkData(1)).toBeInstanceOf(ResponseExceededMaxSizeError)
    })

    it.each([
      ['HEAD', 200],
      ['GET', 304],
      ['GET', 204],
    ])('accepts a content-length above the limit when no body follows: %s, %i', (method, status) => {
      expect(announce(make({ maxResponseSize: 3 }, method), '4', status)).toBeNull()
    })
  })

  describe('when content-length is written in an unusual way', () => {
    it.each([
      ['0', 0],
      ['0003', 3],
      ['999999999999999', 999_999_999_999_999],
      ['9007199254740991', Number.MAX_SAFE_INTEGER],
      ['00000000000000000003', 3],
    ])('expects the bytes that it says: %s', (text, length) => {
      const response = make()
      expect(announce(response, text)).toBeNull()
      expect(response.isWhole(length)).toBe(true)
    })

    it.each(['3x', 'x', '-1x'])('expects no length that a body could have: %s', (text) => {
      const response = make()
      expect(announce(response, text)).toBeNull()
      for (const length of [0, 1, 3]) expect(response.isWhole(length)).toBe(false)
    })
  })

  describe('when the body length differs from content-length', () => {
    it('refuses the first excess byte', () => {
      const response = make()
      expect(announce(response, '3')).toBeNull()
      expect(response.checkData(3)).toBeNull()
      const error = response.checkData(1)
      expect(error).toBeInstanceOf(ResponseContentLengthMismatchError)
      expect(error?.message).toBe('The response body has more than 3 bytes')
    })

    it.each([0, 2])('refuses the end after %i bytes of 3', (length) => {
      const response = make()
      expect(announce(response, '3')).toBeNull()
      expect(response.checkData(length)).toBeNull()
      const error = response.checkEnd()
      expect(error).toBeInstanceOf(ResponseContentLengthMismatchError)
      expect(error?.message).toBe(`The response body ended after ${length} bytes instead of 3 bytes`)
    })

    it.each([
      ['HEAD', 200],
      ['GET', 304],
      ['GET', 204],
    ])('accepts any content-length when no body follows: %s, %i', (method, status) => {
      const response = make({}, method)
      expect(announce(response, '3', status)).toBeNull()
      expect(response.checkEnd()).toBeNull()
    })
  })

  describe('hasWholeBody', () => {
    it('is true when all announced bytes have come', () => {
      const response = make()
      expect(response.isWhole(0)).toBe(false)
      announce(response, '3')
      expect(response.isWhole(0)).toBe(false)
      response.checkData(2)
      expect(response.isWhole(0)).toBe(false)
      response.checkData(1)
      expect(response.isWhole(0)).toBe(true)
    })

    it('is never true when no length was announced', () => {
      const response = make()
      response.checkHeader(200, {}, [])
      response.checkData(3)
      expect(response.isWhole(0)).toBe(false)
    })
  })
})

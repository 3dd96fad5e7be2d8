import { describe, expect, test } from 'vitest'
import { toClientOptions } from '../../../src/core/options.ts'
import {
  HeadersCountError,
  HeadersOverflowError,
  ResponseContentLengthMismatchError,
  ResponseExceededMaxSizeError,
} from '../../../src/errors.ts'
import { AnswerLimits } from '../../../src/handler/answer-limits.ts'
import type { CallLimits } from '../../../types/limits.ts'

function make(limits: CallLimits = {}, method = 'GET'): AnswerLimits {
  return new AnswerLimits(toClientOptions(limits).limits, method)
}

/** A list of `count` fields, each of 34 bytes as RFC 9113 §6.5.2 counts them. */
function fields(count: number): string[] {
  return Array.from({ length: count }, () => ['a', 'b']).flat()
}

/** The answer's header, with a content-length. */
function announce(answer: AnswerLimits, length: string, status = 200) {
  return answer.checkHeader(status, { 'content-length': length }, ['content-length', length])
}

describe('AnswerLimits', () => {
  describe('when no limit is reached', () => {
    test('finds nothing wrong', () => {
      const answer = make({ maxResponseSize: 3, maxHeaderSize: 34, maxHeadersCount: 1 })
      expect(answer.checkHeader(103, {}, fields(1))).toBeNull()
      expect(answer.checkHeader(200, {}, fields(1))).toBeNull()
      expect(answer.checkData(1)).toBeNull()
      expect(answer.checkData(2)).toBeNull()
      expect(answer.checkEnd()).toBeNull()
      expect(answer.checkFields('trailers', fields(1))).toBeNull()
    })

    test('has no limit of the body by default', () => {
      const answer = make()
      expect(announce(answer, String(2 ** 50))).toBeNull()
      expect(answer.checkData(2 ** 49)).toBeNull()
    })
  })

  describe.each(['header', 'trailers'] as const)('when the %s is too much', (what) => {
    test('says how many fields came, and how many may', () => {
      const error = make({ maxHeadersCount: 2 }).checkFields(what, fields(3))
      expect(error).toBeInstanceOf(HeadersCountError)
      expect(error?.message).toBe(`The answer's ${what} has 3 fields, more than maxHeadersCount (2)`)
    })

    test('says how many bytes came, and how many may', () => {
      const error = make({ maxHeaderSize: 67 }).checkFields(what, fields(2))
      expect(error).toBeInstanceOf(HeadersOverflowError)
      expect(error?.message).toBe(`The answer's ${what} has 68 bytes, more than maxHeaderSize (67)`)
    })
  })

  describe.each([103, 200])('when the header of an answer is too much: status %i', (status) => {
    test('refuses it', () => {
      expect(make({ maxHeadersCount: 2 }).checkHeader(status, {}, fields(3))).toBeInstanceOf(
        HeadersCountError,
      )
      expect(make({ maxHeaderSize: 67 }).checkHeader(status, {}, fields(2))).toBeInstanceOf(
        HeadersOverflowError,
      )
    })
  })

  describe('when informational answers come', () => {
    test('takes 300 of them, and no more', () => {
      const answer = make()
      for (let i = 0; i < 300; i++) expect(answer.checkHeader(102, {}, [])).toBeNull()
      const error = answer.checkHeader(102, {}, [])
      expect(error).toBeInstanceOf(HeadersCountError)
      expect(error?.message).toBe('More than 300 informational answers came')
    })

    test('counts the bytes of all of them together', () => {
      const answer = make({ maxHeaderSize: 100 })
      expect(answer.checkHeader(103, {}, fields(1))).toBeNull()
      expect(answer.checkHeader(103, {}, fields(1))).toBeNull()
      const error = answer.checkHeader(103, {}, fields(1))
      expect(error).toBeInstanceOf(HeadersOverflowError)
      expect(error?.message).toBe('The informational answers have more than maxHeaderSize (100) bytes in all')
    })

    test('does not count them against the final one', () => {
      const answer = make({ maxHeaderSize: 68 })
      expect(answer.checkHeader(103, {}, fields(2))).toBeNull()
      expect(answer.checkHeader(200, {}, fields(2))).toBeNull()
    })

    test('takes a content-length in one for nothing', () => {
      const answer = make()
      expect(announce(answer, '5', 103)).toBeNull()
      expect(answer.checkHeader(200, {}, [])).toBeNull()
      expect(answer.checkEnd()).toBeNull()
    })
  })

  describe('when the body is larger than maxResponseSize', () => {
    test('refuses it before it comes where its length is announced', () => {
      const error = announce(make({ maxResponseSize: 3 }), '4')
      expect(error).toBeInstanceOf(ResponseExceededMaxSizeError)
      expect(error?.message).toBe('The body of the answer has more bytes than maxResponseSize (3)')
    })

    test('refuses it at the first byte too many where it is not', () => {
      const answer = make({ maxResponseSize: 3 })
      expect(answer.checkHeader(200, {}, [])).toBeNull()
      expect(answer.checkData(3)).toBeNull()
      expect(answer.checkData(0)).toBeNull()
      expect(answer.checkData(1)).toBeInstanceOf(ResponseExceededMaxSizeError)
    })

    test('takes no body at all where it is 0', () => {
      const answer = make({ maxResponseSize: 0 })
      expect(announce(answer, '0')).toBeNull()
      expect(answer.checkEnd()).toBeNull()
      expect(answer.checkData(1)).toBeInstanceOf(ResponseExceededMaxSizeError)
    })

    test.each([
      ['HEAD', 200],
      ['GET', 304],
      ['GET', 204],
    ])('is not so where none follows: %s, %i', (method, status) => {
      expect(announce(make({ maxResponseSize: 3 }, method), '4', status)).toBeNull()
    })
  })

  describe('when the body is not as long as announced', () => {
    test('refuses the first byte too many', () => {
      const answer = make()
      expect(announce(answer, '3')).toBeNull()
      expect(answer.checkData(3)).toBeNull()
      const error = answer.checkData(1)
      expect(error).toBeInstanceOf(ResponseContentLengthMismatchError)
      expect(error?.message).toBe('The body of the answer has more than 3 bytes')
    })

    test.each([0, 2])('refuses the end after %i bytes of 3', (length) => {
      const answer = make()
      expect(announce(answer, '3')).toBeNull()
      expect(answer.checkData(length)).toBeNull()
      const error = answer.checkEnd()
      expect(error).toBeInstanceOf(ResponseContentLengthMismatchError)
      expect(error?.message).toBe(`The body of the answer ended after ${length} bytes instead of 3 bytes`)
    })

    test.each([
      ['HEAD', 200],
      ['GET', 304],
      ['GET', 204],
    ])('is right where none follows: %s, %i', (method, status) => {
      const answer = make({}, method)
      expect(announce(answer, '3', status)).toBeNull()
      expect(answer.checkEnd()).toBeNull()
    })
  })

  describe('isWhole', () => {
    test('tells when all that was announced has come', () => {
      const answer = make()
      expect(answer.isWhole(0)).toBe(false)
      announce(answer, '3')
      expect(answer.isWhole(0)).toBe(false)
      answer.checkData(2)
      expect(answer.isWhole(0)).toBe(false)
      answer.checkData(1)
      expect(answer.isWhole(0)).toBe(true)
    })

    test('is so at once where nothing was announced to come', () => {
      const answer = make()
      announce(answer, '0')
      expect(answer.isWhole(0)).toBe(true)
    })

    test('is never so where no length was announced', () => {
      const answer = make()
      answer.checkHeader(200, {}, [])
      answer.checkData(3)
      expect(answer.isWhole(0)).toBe(false)
    })
  })
})

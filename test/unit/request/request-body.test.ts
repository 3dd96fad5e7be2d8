import { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { InvalidArgumentError, RequestContentLengthMismatchError } from '../../../src/errors/errors.ts'
import { toClientOptions } from '../../../src/options/options.ts'
import type { SendableBody } from '../../../src/request/body-source.ts'
import { NO_BODY } from '../../../src/request/body-source.ts'
import { Request } from '../../../src/request/request.ts'
import type { WireHeaders } from '../../../src/request/wire-headers.ts'
import { getField } from '../../../src/request/wire-headers.ts'
import type { DispatchOptions } from '../../../types/request.ts'
import { make as makeRequest, ORIGIN, toRefusal } from './request-scene.ts'

const make: typeof makeRequest = (options, client) => makeRequest({ method: 'POST', ...options }, client)

/** The body that the factory of a request makes. */
function toMade(request: Request): SendableBody {
  if (request.body.kind !== 'factory') throw new Error(`Made a body of kind ${request.body.kind}`)
  return request.body.make()
}

/** The fields that tell of a body, of a header. */
function toBodyFields(wire: WireHeaders): unknown[] {
  return [getField(wire, 'content-type'), getField(wire, 'content-length')]
}

const form = new FormData()
form.append('a', '1')
const multipart = expect.stringMatching(/^multipart\/form-data; boundary=\S+$/)
const params = 'application/x-www-form-urlencoded;charset=UTF-8'

/** What makes a body, and the `content-type` and `content-length` that it has by itself. */
const kinds: [string, () => DispatchOptions['body'], unknown, unknown][] = [
  ['a string', () => 'é', undefined, '2'],
  ['an empty string', () => '', undefined, '0'],
  ['bytes', () => new Uint8Array(3), undefined, '3'],
  ['a Blob with a type', () => new Blob(['abc'], { type: 'text/plain' }), 'text/plain', '3'],
  ['a Blob without one', () => new Blob(['abc']), undefined, '3'],
  ['a FormData', () => form, multipart, expect.stringMatching(/^[1-9]\d+$/)],
  ['a URLSearchParams', () => new URLSearchParams('a=1'), params, '3'],
  ['an array', () => ['abc'], undefined, undefined],
  ['a web stream', () => new ReadableStream(), undefined, undefined],
  ['a Readable', () => new Readable({ read() {} }), undefined, undefined],
]

/** RFC 9110 §8.6: the `content-length` of a request without content. */
const lengths: [string, string | undefined][] = [
  ['POST', '0'],
  ['PUT', '0'],
  ['PATCH', '0'],
  ['GET', undefined],
  ['DELETE', undefined],
]

describe('Request', () => {
  describe('when the body is of any kind', () => {
    it.each(kinds)('says what is known of it: %s', (_kind, toBody, contentType, contentLength) => {
      expect(toBodyFields(make({ body: toBody() }).wire)).toEqual([contentType, contentLength])
    })

    it.each(kinds)('leaves a content-type that is given: %s', (_kind, toBody) => {
      const { wire } = make({ body: toBody(), headers: { 'Content-Type': 'a/b' } })
      expect(getField(wire, 'content-type')).toBe('a/b')
    })

    it.each(kinds)('says nothing of what a function makes before it is called: %s', (_kind, toBody) => {
      const request = make({ body: toBody as () => null })
      expect(toBodyFields(request.wire)).toEqual([undefined, undefined])
      expect(request.contentLength).toBeNull()
    })

    it.each(kinds)('says what is known of what a function made: %s', (_kind, toBody, type, length) => {
      const request = make({ body: toBody as () => null })
      expect(toBodyFields(request.toWireFor(toMade(request)))).toEqual([type, length])
    })

    it.each(kinds)('leaves a content-type that is given with a function: %s', (_kind, toBody) => {
      const request = make({ body: toBody as () => null, headers: { 'content-type': 'a/b' } })
      expect(getField(request.toWireFor(toMade(request)), 'content-type')).toBe('a/b')
    })
  })

  describe("when a Blob's type is no value of a field", () => {
    const toLike = (type: string) => ({ size: 0, type, stream: () => new Blob([]).stream() })

    it.each([
      ['a line break', toLike('a/b\r\nx: y')],
      ['a character outside ISO-8859-1', toLike('a/€')],
      ['a size that ends the session', new Blob([], { type: 'a'.repeat(70_000) })],
    ])('refuses it, made by a function or not: %s', (_what, body) => {
      const error = toRefusal({ body })
      expect(error).toBeInstanceOf(InvalidArgumentError)
      expect(error.message).toMatch(/content-type/)
      const request = make({ body: () => body })
      expect(() => request.toWireFor(toMade(request))).toThrow(InvalidArgumentError)
    })

    // RFC 9113 §8.2.1: a field value with white space around it makes the request malformed.
    it('leaves out the white space around it', () => {
      expect(getField(make({ body: new Blob([], { type: ' a/b ' }) }).wire, 'content-type')).toBe('a/b')
    })
  })

  describe('when a function makes the body', () => {
    it('has a header of its own for each attempt, that inherits nothing', () => {
      let calls = 0
      const request = make({ body: () => 'a'.repeat(++calls), headers: { 'x-a': '1' } })
      const first = request.toWireFor(toMade(request))
      const second = request.toWireFor(toMade(request))
      expect(first).toEqual([...request.wire, 'content-length', '1'])
      expect(second).toEqual([...request.wire, 'content-length', '2'])
    })

    it.each(lengths)('says that there is none where that is to be said: %s', (method, contentLength) => {
      const request = make({ method, body: () => '' })
      expect(getField(request.toWireFor(toMade(request)), 'content-length')).toBe(contentLength)
    })

    it('takes the content-length that was given where it is right', () => {
      const request = make({ body: () => 'abc', headers: { 'content-length': 3 } })
      expect(request.contentLength).toBe(3)
      expect(getField(request.toWireFor(toMade(request)), 'content-length')).toBe('3')
    })

    it('sends the content-length that was given where nothing is known', () => {
      const request = make({ body: () => ['abc'], headers: { 'content-length': 3 } })
      expect(getField(request.toWireFor(toMade(request)), 'content-length')).toBe('3')
    })

    it.each([
      ['a string', 'abcd', 4],
      ['none', null, 0],
    ] as const)('refuses a content-length that is wrong: %s', (_kind, body, length) => {
      const request = make({ body: () => body, headers: { 'content-length': 3 } })
      const refused = () => request.toWireFor(toMade(request))
      expect(refused).toThrow(RequestContentLengthMismatchError)
      expect(refused).toThrow(
        `Invalid header 'content-length': got 3, expected ${length}, the length of the body in bytes`,
      )
    })

    it.each([
      ['a string', 'POST', 'abcd', '4'],
      ['none', 'POST', null, '0'],
      ['none', 'DELETE', null, '0'],
    ] as const)('sends the length of the body instead when it is not strict: %s, %s', (_kind, method, body, length) => {
      const options = { method, body: () => body, headers: { 'content-length': 3 } }
      const request = make(options, { strictContentLength: false })
      expect(getField(request.toWireFor(toMade(request)), 'content-length')).toBe(length)
    })
  })

  describe('when the body is none', () => {
    it.each([
      [1, '1'],
      [true, 'true'],
      [{ a: 1 }, 'an object (Object)'],
      [Promise.resolve('abc'), 'an object (Promise)'],
    ])('names it: %s', (body, got) => {
      const error = toRefusal({ body })
      expect(error).toBeInstanceOf(InvalidArgumentError)
      expect(error.message).toMatch(
        new RegExp(`^Invalid body: got ${got.replace(/[()]/g, '\\$&')}, expected `),
      )
    })
  })

  describe('when expectContinue is given', () => {
    const unempty = kinds.filter(([kind]) => kind !== 'an empty string')
    it.each(unempty)('says so with a body, which waits: %s', (_kind, toBody) => {
      const request = make({ body: toBody(), expectContinue: true })
      expect(getField(request.wire, 'expect')).toBe('100-continue')
      expect(request.expectContinue).toBe(true)
      if (request.body.kind !== 'factory') expect(request.toUpload(request.body)).toBe('waiting')
    })

    it.each([undefined, null, '', new Blob([])])('has no effect without a body: %j', (body) => {
      const request = make({ body, expectContinue: true })
      expect(getField(request.wire, 'expect')).toBeUndefined()
      expect(request.expectContinue).toBe(false)
      expect(request.toUpload(NO_BODY)).toBe('none')
    })

    it('has none where a function makes no body', () => {
      const request = make({ body: () => null, expectContinue: true })
      expect('expect' in request.toWireFor(NO_BODY)).toBe(false)
      expect(request.toUpload(NO_BODY)).toBe('none')
    })

    it('has its effect where a function makes one', () => {
      const request = make({ body: () => 'abc', expectContinue: true })
      const body = toMade(request)
      expect(getField(request.toWireFor(body), 'expect')).toBe('100-continue')
      expect(request.toUpload(body)).toBe('waiting')
    })

    it.each([false, null, undefined])('asks for nothing: %s', (expectContinue) => {
      const request: Request = Reflect.construct(Request, [
        { method: 'POST', path: '/', body: 'abc', expectContinue },
        ORIGIN,
        toClientOptions({}),
      ])
      expect(getField(request.wire, 'expect')).toBeUndefined()
      expect(request.expectContinue).toBe(false)
      expect(request.toUpload(request.body as SendableBody)).toBe('sending')
    })

    it.each(['100-continue', 1])('refuses %j', (expectContinue) => {
      expect(toRefusal({ expectContinue }).message).toMatch(
        /^Invalid expectContinue: got .+, expected true or false$/,
      )
    })
  })

  describe('when trailers are given', () => {
    it('keeps them for each attempt', () => {
      const request = make({ body: 'abc', trailers: { 'X-Checksum': '1', 'x-list': ['1', '2'] } })
      const trailers = request.toTrailers()
      expect(trailers).toEqual(['x-checksum', '1', 'x-list', '1', 'x-list', '2'])
      expect(request.toTrailers()).toEqual(trailers)
      expect(request.toTrailers()).not.toBe(trailers)
      expect(getField(request.wire, 'x-checksum')).toBeUndefined()
    })

    it.each([null, undefined])('has none: %s', (trailers) => {
      const request = make({ body: 'abc', trailers })
      expect(request.trailers).toBeNull()
      expect({ ...request.toTrailers() }).toEqual({})
    })

    it('calls a function for them by each attempt, and not before', () => {
      let calls = 0
      const request = make({ body: 'abc', trailers: () => ({ 'x-call': ++calls }) })
      expect(calls).toBe(0)
      expect(request.toTrailers()).toEqual(['x-call', '1'])
      expect(request.toTrailers()).toEqual(['x-call', '2'])
    })

    it.each([null, undefined])('has none where the function gives none: %s', (trailers) => {
      expect({ ...make({ body: 'abc', trailers: () => trailers }).toTrailers() }).toEqual({})
    })

    it('fails with what the function throws, or with what it gives', () => {
      const error = new Error('No checksum')
      const throwing = make({
        trailers: () => {
          throw error
        },
      })
      expect(() => throwing.toTrailers()).toThrow(error)
      const wrong = make({ trailers: () => ({ 'content-length': '3' }) })
      expect(() => wrong.toTrailers()).toThrow(InvalidArgumentError)
    })

    it.each([
      [{ 'content-length': '3' }, /^Invalid trailer "content-length": this field isn't allowed in trailers/],
      [{ 'a b': '3' }, /^Invalid header name: got "a b"/],
      ['x-a: 1', /^Invalid trailers: got a string/],
    ])('refuses what can be none before a stream is opened: %j', (trailers, message) => {
      const error = toRefusal({ body: 'abc', trailers })
      expect(error).toBeInstanceOf(InvalidArgumentError)
      expect(error.message).toMatch(message)
    })
  })
})

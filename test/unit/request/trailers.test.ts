import { describe, expect, it } from 'vitest'
import { InvalidArgumentError } from '../../../src/errors/errors.ts'
import { toFieldsSize, toTrailers } from '../../../src/request/headers.ts'
import type { WireHeaders } from '../../../src/request/wire-headers.ts'

/** toTrailers() as JavaScript calls it: with anything at all. */
function make(trailers: unknown): WireHeaders {
  return Reflect.apply(toTrailers, undefined, [trailers])
}

describe('toTrailers', () => {
  describe('when there are none', () => {
    it.each([null, undefined, {}, []])('gives none: %j', (trailers) => {
      expect(make(trailers)).toEqual([])
    })
  })

  describe('when they come in any of the forms', () => {
    it.each<[string, unknown]>([
      ['an object', { 'X-A': '1', 'x-b': ['2', '3'] }],
      ['a flat array', ['X-A', '1', 'x-b', '2', 'x-b', '3']],
      [
        'pairs',
        [
          ['X-A', 1],
          ['x-b', '2'],
          ['x-b', 3n],
        ],
      ],
      [
        'a Map',
        new Map<string, unknown>([
          ['X-A', '1'],
          ['x-b', ['2', '3']],
        ]),
      ],
    ])('gives what goes on the wire: %s', (_form, trailers) => {
      expect(make(trailers)).toEqual(['x-a', '1', 'x-b', '2', 'x-b', '3'])
    })

    it('takes a Headers', () => {
      expect(make(new Headers({ 'x-a': '1' }))).toEqual(['x-a', '1'])
    })
  })

  describe('when a field cannot come after the message', () => {
    it.each([
      ...['authorization', 'cache-control', 'content-encoding', 'content-length', 'content-range'],
      ...['content-type', 'expect', 'host', 'max-forwards', 'te', 'trailer', 'proxy-authorization'],
    ])('names it: %s', (name) => {
      const value = name === 'te' ? 'trailers' : '1'
      for (const spelling of [name, name.toUpperCase()]) {
        expect(() => make({ 'x-a': '1', [spelling]: value })).toThrow(InvalidArgumentError)
        expect(() => make({ 'x-a': '1', [spelling]: value })).toThrow(
          new RegExp(
            `^Invalid trailer "${name}": this field isn't allowed in trailers \\(RFC 9110 §6.5.1\\)$`,
          ),
        )
      }
    })

    it.each([
      'transfer-encoding',
      'upgrade',
      'proxy-connection',
      'http2-settings',
    ])('names one that HTTP/2 has not at all: %s', (name) => {
      expect(() => make({ [name]: '1' })).toThrow(/no connection-specific field/)
    })

    it.each([{ connection: 'close' }, { 'keep-alive': '5' }])('never sends it: %j', (trailers) => {
      expect(make(trailers)).toEqual([])
    })

    it.each(['authorization', 'proxy-authorization'])('keeps a secret: %s', (name) => {
      let message = ''
      try {
        make({ [name]: 'Bearer hunter2' })
      } catch (error) {
        message = String(error)
      }
      expect(message).toContain(name)
      expect(message).not.toContain('hunter2')
    })
  })

  describe('when a field is none', () => {
    it.each([
      [{ ':status': '200' }, /pseudo-header/],
      [{ 'a b': '1' }, /^Invalid header name: got "a b"/],
      [{ 'x-a': 'a\r\nb' }, /without CR, LF, NUL/],
      [{ 'x-a': {} }, /^Invalid header "x-a": got an object/],
      [['x-a'], /a flat array with a value for each name/],
      ['x-a: 1', /^Invalid trailers: got a string/],
    ])('is checked as a header is: %j', (trailers, message) => {
      expect(() => make(trailers)).toThrow(InvalidArgumentError)
      expect(() => make(trailers)).toThrow(message)
    })
  })
})

describe('toFieldsSize', () => {
  it.each<[string[], number]>([
    [[], 0],
    [['a', 'b'], 34],
    [['a', ''], 33],
    [[':status', '200', 'x-a', '1'], 32 + 10 + 32 + 4],
    [['a', 'b', 'a', 'b'], 68],
  ])('counts 32 bytes for each field besides its name and value: %j', (raw, size) => {
    expect(toFieldsSize(raw)).toBe(size)
  })
})

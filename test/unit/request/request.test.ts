import { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { InvalidArgumentError, RequestContentLengthMismatchError } from '../../../src/errors/errors.ts'
import { toClientOptions, toOrigin } from '../../../src/options/options.ts'
import { NO_BODY } from '../../../src/request/body-source.ts'
import { Request } from '../../../src/request/request.ts'
import { getField } from '../../../src/request/wire-headers.ts'
import type { DispatchOptions } from '../../../types/request.ts'
import { toFields } from '../../support/clients/fields.ts'
import { make, ORIGIN, toRefusal } from './request-scene.ts'

describe('Request', () => {
  describe('when it is made', () => {
    const request = make({ method: 'GET', path: '/a?b=c', headers: { 'X-A': '1', 'x-b': ['2', '3'] } })

    it('has its header as it goes on the wire, pseudo-headers first', () => {
      expect(Object.entries(toFields(request.wire))).toEqual([
        [':method', 'GET'],
        [':scheme', 'https'],
        [':authority', 'example.com:8443'],
        [':path', '/a?b=c'],
        ['x-a', '1'],
        ['x-b', ['2', '3']],
      ])
    })

    it('has what was asked for', () => {
      expect(request).toMatchObject({
        origin: ORIGIN,
        method: 'GET',
        path: '/a?b=c',
        host: null,
        contentLength: 0,
      })
      expect(request.body).toBe(NO_BODY)
    })

    it.each<{ of?: string; options: Partial<DispatchOptions>; target: string }>([
      { options: {}, target: 'https://example.com:8443' },
      { options: { headers: { host: 'EXAMPLE.com:8443' } }, target: 'https://example.com:8443' },
      { options: { headers: { host: 'example.com:08443' } }, target: 'https://example.com:8443' },
      { options: { headers: { host: 'example.com' } }, target: 'https://example.com' },
      { options: { headers: ['Host', 'a.test:443'] }, target: 'https://a.test' },
      { options: { headers: { host: ['a.test'] } }, target: 'https://a.test' },
      { options: { headers: new Map([['host', '[2001:DB8::0:1]:1']]) }, target: 'https://[2001:db8::1]:1' },
      { options: { headers: { host: '1.2.3.4.5' } }, target: 'https://1.2.3.4.5' },
      { options: { path: 'http://A.test:80/x' }, target: 'http://a.test' },
      { options: { path: 'http://a.test/x', headers: { host: 'b.test' } }, target: 'http://b.test' },
      { options: { method: 'CONNECT', path: 'a.test:443' }, target: 'https://a.test' },
      { options: { method: 'CONNECT', path: '/' }, target: 'https://example.com:8443' },
      { options: { upgrade: 'websocket', headers: { host: 'a.test' } }, target: 'https://a.test' },
      {
        of: 'https://example.com',
        options: { headers: { host: 'example.com:443' } },
        target: 'https://example.com',
      },
      {
        of: 'http://example.com',
        options: { headers: { host: 'example.com:80' } },
        target: 'http://example.com',
      },
      {
        of: 'http://example.com',
        options: { headers: { host: 'example.com:443' } },
        target: 'http://example.com:443',
      },
    ])('asks for the origin $target with $options', ({ of = ORIGIN.href, options, target }) => {
      const all = { method: 'GET', path: '/', ...options }
      expect(new Request(all, toOrigin(of), toClientOptions({})).targetOrigin).toBe(target)
    })

    it('shares nothing with the next one', () => {
      const headers = { 'x-list': ['1', '2'] }
      const first = make({ headers })
      const second = make({ headers })
      expect(first.wire).not.toBe(second.wire)
    })

    it('leaves the options as they were', () => {
      const options = Object.freeze({
        method: 'POST',
        path: '/',
        headers: Object.freeze({ Host: 'a' }),
        body: 'abc',
      })
      expect(() => make(options)).not.toThrow()
    })

    it.each([
      ['http://example.com', 'http', 'example.com'],
      ['https://[::1]:8443', 'https', '[::1]:8443'],
    ])('has the scheme and the authority of its origin: %s', (href, scheme, authority) => {
      const { wire } = new Request({ method: 'GET', path: '/' }, toOrigin(href), toClientOptions({}))
      expect(toFields(wire)).toMatchObject({ ':scheme': scheme, ':authority': authority })
    })
  })

  describe('when host is given', () => {
    it('sends it as :authority, in its place, and no host', () => {
      const request = make({ headers: { 'x-a': '1', Host: 'other.example' } })
      expect(Object.entries(toFields(request.wire))).toEqual([
        [':method', 'GET'],
        [':scheme', 'https'],
        [':authority', 'other.example'],
        [':path', '/'],
        ['x-a', '1'],
      ])
      expect(request.host).toBe('other.example')
    })
  })

  describe('when the method is a token', () => {
    it.each(['GET', 'HEAD', 'QUERY', 'M-SEARCH', 'get', 'x!#$'])('sends it as it is: %s', (method) => {
      expect(toFields(make({ method }).wire)[':method']).toBe(method)
    })
  })

  describe('when the method is none', () => {
    it.each([
      ['', '""'],
      ['GET /', '"GET /"'],
      ['GET\r\n', '"GET\\r\\n"'],
      ['GÉT', '"GÉT"'],
      [undefined, 'undefined'],
      [null, 'null'],
      [1, '1'],
      [['GET'], 'an array'],
      ['x'.repeat(257), `"${'x'.repeat(80)}…"`],
    ])('refuses it: %j', (method, got) => {
      const error = toRefusal({ method })
      expect(error).toBeInstanceOf(InvalidArgumentError)
      expect(error.message).toBe(
        `Invalid method: got ${got}, expected a token such as GET or POST, of at most 256 characters`,
      )
    })
  })

  describe('when the path is good', () => {
    it.each([
      '/',
      '//',
      '/a/b?c=d&e',
      '/?',
      '/%00',
      '/é',
      '/a:b@c',
      "/!$&'()*+,;=-._~",
    ])('sends it as it is: %s', (path) => {
      const request = make({ path })
      expect(request.path).toBe(path)
      expect(toFields(request.wire)[':path']).toBe(path)
    })

    it("takes '*' for OPTIONS", () => {
      expect(toFields(make({ method: 'OPTIONS', path: '*' }).wire)[':path']).toBe('*')
    })
  })

  describe('when the path is bad', () => {
    it.each([
      ['', '""'],
      ['a', '"a"'],
      ['?a=b', '"?…"'],
      ['*', '"*"'],
      ['https://', '"https://"'],
      ['https:/example.com/', '"https:/example.com/"'],
      ['HTTPS://example.com/', '"HTTPS://example.com/"'],
      ['ftp://example.com/', '"ftp://example.com/"'],
      ['http://a:99999/', '"http://a:99999/"'],
      ['/a b', '"/a b"'],
      ['/a\t', '"/a\\t"'],
      ['/a\r\nb', '"/a\\r\\nb"'],
      ['/a\0', '"/a\\u0000"'],
      ['/€', '"/€"'],
      ['/a#b', '"/a#…"'],
      [undefined, 'undefined'],
      [null, 'null'],
      [1, '1'],
      [new URL('https://example.com/'), 'an object (URL)'],
    ])('refuses it: %j', (path, got) => {
      const error = toRefusal({ path })
      expect(error).toBeInstanceOf(InvalidArgumentError)
      expect(error.message).toBe(
        `Invalid path: got ${got}, expected a path that starts with '/', or an http: or https: URL, without white space, control characters or a fragment`,
      )
    })

    it('refuses a URL with credentials, and shows none', () => {
      const { message } = toRefusal({ path: 'http://user:secret@example.com/' })
      expect(message).toMatch(/^Invalid path: /)
      expect(message).not.toContain('secret')
    })

    it.each([
      ['GET', 'http://b.test', ['http', 'b.test', '/']],
      ['GET', 'http://b.test/', ['http', 'b.test', '/']],
      ['GET', 'http://b.test:8080/a?b=c', ['http', 'b.test:8080', '/a?b=c']],
      ['GET', 'https://[::1]:8080?b=c', ['https', '[::1]:8080', '/?b=c']],
      ['OPTIONS', 'http://b.test', ['http', 'b.test', '*']],
      ['OPTIONS', 'http://b.test/', ['http', 'b.test', '/']],
    ])('takes it apart where it is absolute: %s %s', (method, path, expected) => {
      const { wire, path: own } = make({ method, path })
      expect([':scheme', ':authority', ':path'].map((name) => getField(wire, name))).toEqual(expected)
      expect(own).toBe(path)
    })

    it('adds a query to an absolute one, and the host field counts', () => {
      const { wire, path } = make({ path: 'http://b.test/a', query: { b: 1 }, headers: { host: 'c.test' } })
      expect(path).toBe('http://b.test/a?b=1')
      expect(getField(wire, ':path')).toBe('/a?b=1')
      expect(getField(wire, ':authority')).toBe('c.test')
    })

    it.each(['**', '*a', '* '])('refuses what only starts as OPTIONS may: %s', (path) => {
      expect(toRefusal({ method: 'OPTIONS', path }).message).toMatch(/^Invalid path: /)
    })
  })

  describe('when a query is given', () => {
    it.each([
      ['nothing', {}, '/a'],
      ['values', { b: 'c', d: 1, e: true, f: 10n }, '/a?b=c&d=1&e=true&f=10'],
      ['a list', { b: ['c', 'd', 1] }, '/a?b=c&b=d&b=1'],
      ['an empty list', { b: [], c: '1' }, '/a?c=1'],
      ['null and undefined', { b: null, c: undefined, d: '' }, '/a?b=&c=&d='],
      ['what has to be escaped', { 'b c': 'd&e=f#g', h: 'é' }, '/a?b%20c=d%26e%3Df%23g&h=%C3%A9'],
      ['line breaks', { b: '\r\n\0' }, '/a?b=%0D%0A%00'],
    ])('appends it: %s', (_what, query, path) => {
      const request = make({ path: '/a', query })
      expect(request.path).toBe(path)
      expect(toFields(request.wire)[':path']).toBe(path)
    })

    it.each([undefined, null])('appends nothing for %s', (query) => {
      expect(
        Reflect.construct(Request, [{ method: 'GET', path: '/a', query }, ORIGIN, toClientOptions({})]),
      ).toMatchObject({
        path: '/a',
      })
    })

    it.each([
      ['/a?b=c', '/a?…'],
      ['/a?', '/a?'],
    ])('refuses a path that has one already: %s', (path, got) => {
      expect(toRefusal({ path, query: { d: 'e' } }).message).toBe(
        `Invalid path: got "${got}", expected a path without '?' when query is set`,
      )
    })

    it.each(['b=c', 1, true])('refuses what is no object: %j', (query) => {
      expect(toRefusal({ query }).message).toMatch(
        /^Invalid query: got .+, expected an object of names and values$/,
      )
    })
  })

  describe('when an origin is given', () => {
    it.each([
      ['the same', 'https://example.com:8443'],
      ['the same with a slash', 'https://example.com:8443/'],
      ['the same in capitals', 'HTTPS://EXAMPLE.com:8443'],
      ['a URL', new URL('https://example.com:8443')],
      ['undefined', undefined],
    ])('takes the own one: %s', (_kind, given) => {
      expect(make({ origin: given }).origin).toBe(ORIGIN)
    })

    it.each([
      ['another host', 'https://example.org:8443'],
      ['another port', 'https://example.com'],
      ['another scheme', 'http://example.com:8443'],
      ['a URL', new URL('https://example.org')],
    ])('refuses any other: %s', (_kind, given) => {
      const error = toRefusal({ origin: given })
      expect(error).toBeInstanceOf(InvalidArgumentError)
      expect(error.message).toMatch(
        /^Invalid origin: got .+, expected https:\/\/example\.com:8443, this client's origin$/,
      )
    })

    it.each([['https://example.com:8443/a'], ['garbage'], [1], [{}]])('refuses what is none: %j', (given) => {
      expect(toRefusal({ origin: given }).message).toMatch(
        /^Invalid origin: got .+, expected an http: or https: URL/,
      )
    })
  })

  describe('when idempotent is not given', () => {
    it.each([
      ['GET', true],
      ['HEAD', true],
      ['OPTIONS', true],
      ['TRACE', true],
      ['POST', false],
      ['PUT', false],
      ['PATCH', false],
      ['DELETE', false],
      ['get', false],
      ['X', false],
    ])('depends on the method: %s: %s', (method, idempotent) => {
      expect(make({ method }).idempotent).toBe(idempotent)
      expect(make({ method, idempotent: undefined }).idempotent).toBe(idempotent)
    })
  })

  describe('when idempotent is given', () => {
    it.each([true, false])('is what is given: %s', (idempotent) => {
      expect(make({ method: 'GET', idempotent }).idempotent).toBe(idempotent)
      expect(make({ method: 'POST', idempotent }).idempotent).toBe(idempotent)
    })

    it.each([0, 'true'])('refuses %j', (idempotent) => {
      expect(toRefusal({ idempotent }).message).toMatch(
        /^Invalid idempotent: got .+, expected true or false$/,
      )
    })
  })

  it("has the client's limits, except for its own", () => {
    const client = { headersTimeout: 7, bodyTimeout: 7, requestTimeout: 7 }
    const { limits } = make({ headersTimeout: 0, bodyTimeout: null }, client)
    expect(limits).toMatchObject({ headersTimeout: 0, bodyTimeout: 7, requestTimeout: 7 })
    expect(toRefusal({ bodyTimeout: -1 }).message).toMatch(/^Invalid bodyTimeout: got -1, expected /)
  })

  describe('when there is no body', () => {
    const WITH_BODY = ['POST', 'PUT', 'PATCH', 'QUERY', 'PROPFIND', 'PROPPATCH']

    it.each(WITH_BODY)('sends content-length: 0 with %s', (method) => {
      const request = make({ method })
      expect(toFields(request.wire)['content-length']).toBe('0')
      expect(request.body).toBe(NO_BODY)
    })

    it.each([
      'GET',
      'HEAD',
      'DELETE',
      'OPTIONS',
      'TRACE',
      'query',
      'X',
    ])('sends no content-length with %s', (method) => {
      expect('content-length' in toFields(make({ method }).wire)).toBe(false)
    })

    it('keeps a content-length of 0', () => {
      const request = make({ headers: { 'content-length': 0 } })
      expect(toFields(request.wire)['content-length']).toBe('0')
      expect(request.contentLength).toBe(0)
    })
  })

  describe('when the length of the body is known', () => {
    it.each([
      ['abc', 3],
      ['é€', 5],
      [new Uint16Array(4), 8],
      ['', 0],
    ])('sends it: %j', (body, length) => {
      const request = make({ method: 'POST', body })
      expect(toFields(request.wire)['content-length']).toBe(String(length))
      expect(request.contentLength).toBe(length)
    })

    it('takes the same content-length', () => {
      const request = make({ method: 'POST', body: 'abc', headers: { 'Content-Length': '3' } })
      expect(toFields(request.wire)['content-length']).toBe('3')
      expect(request.contentLength).toBe(3)
    })

    describe('and content-length is another', () => {
      const cases = [
        ['longer', 'abc', 4, 3],
        ['shorter', 'abc', 2, 3],
        ['of no body', undefined, 5, 0],
        ['0', 'abc', 0, 3],
        ['of characters, not bytes', 'é', 1, 2],
      ] as const

      it.each(cases)('refuses it when it is strict: %s', (_how, body, given, length) => {
        const refused = () => make({ method: 'POST', body, headers: { 'content-length': given } })
        expect(refused).toThrow(RequestContentLengthMismatchError)
        expect(refused).toThrow(
          `Invalid header 'content-length': got ${given}, expected ${length}, the length of the body in bytes`,
        )
      })

      it.each(cases)('sends the length of the body when it is not: %s', (_how, body, given, length) => {
        const options = { method: 'POST', body, headers: { 'content-length': given } }
        const request = make(options, { strictContentLength: false })
        expect(toFields(request.wire)['content-length']).toBe(String(length))
        expect(request.contentLength).toBe(length)
      })
    })
  })

  describe('when the length of the body is not known', () => {
    it.each([
      [true, 5],
      [false, null],
    ])('sends the content-length that was given, and holds the body to it if strict: %s', (strict, contentLength) => {
      const body = new Readable({ read() {} })
      const request = make(
        { method: 'POST', body, headers: { 'content-length': 5 } },
        { strictContentLength: strict },
      )
      expect(toFields(request.wire)['content-length']).toBe('5')
      expect(request.contentLength).toBe(contentLength)
      body.destroy()
    })
  })

  describe('when it is refused', () => {
    it.each([
      ['the method', { method: '' }],
      ['the path', { path: '' }],
      ['the query', { query: 1 }],
      ['the origin', { origin: 'garbage' }],
      ['a header', { headers: { 'a b': '1' } }],
      ['a timeout', { bodyTimeout: -1 }],
      ['an upgrade', { upgrade: '' }],
      ['a tunnel', { upgrade: 'websocket' }],
      ['a trailer', { trailers: { host: 'a' } }],
      ['expectContinue', { expectContinue: 1 }],
    ])('has not touched the body: %s', (_what, options) => {
      const body = new Readable({ read() {} })
      toRefusal({ ...options, body })
      expect(body.listenerCount('error')).toBe(0)
      expect(Readable.isDisturbed(body)).toBe(false)
      expect(body.destroyed).toBe(false)
    })
  })

  describe('when its path is short, and when it is long', () => {
    const lengths = [
      ['short', ''],
      ['just short', 'p'.repeat(61)],
      ['just long', 'p'.repeat(62)],
      ['long', 'p'.repeat(99)],
    ] as const

    it.each(lengths)('judges each character alike: %s', (_name, filling) => {
      const isAccepted = (path: string): boolean => {
        try {
          return make({ path }).path === path
        } catch (error) {
          if (error instanceof InvalidArgumentError) return false
          throw error
        }
      }
      for (const code of [...Array(0x120).keys(), 0x2028, 0xd800, 0xffff]) {
        const isGood = (code > 0x20 && code < 0x7f && code !== 0x23) || (code >= 0x80 && code <= 0xff)
        const character = String.fromCharCode(code)
        expect([code, isAccepted(`/${character}${filling}a`)]).toEqual([code, isGood])
        expect([code, isAccepted(`/${filling}a${character}`)]).toEqual([code, isGood])
      }
    })
  })
})

import { describe, expect, it } from 'vitest'
import { InvalidArgumentError } from '../../../src/errors/errors.ts'
import { toClientOptions, toOrigin } from '../../../src/options/options.ts'
import { NO_BODY } from '../../../src/request/body-source.ts'
import { Request } from '../../../src/request/request.ts'
import type { DispatchOptions } from '../../../types/request.ts'
import { toFields } from '../../support/clients/fields.ts'
import { ORIGIN, toRefusal } from './request-scene.ts'

function make(options: DispatchOptions, to = ORIGIN): Request {
  return new Request(options, to, toClientOptions({}))
}

describe('Request', () => {
  describe('when the method is CONNECT', () => {
    it('sends the method and the authority alone (RFC 9113 §8.5)', () => {
      const request = make({ method: 'CONNECT', path: 'a.example:443', headers: { 'x-a': '1' } })
      expect(Object.entries(toFields(request.wire))).toEqual([
        [':method', 'CONNECT'],
        [':authority', 'a.example:443'],
        ['x-a', '1'],
      ])
    })

    it('asks for a tunnel, without a body, and not twice', () => {
      const request = make({ method: 'CONNECT', path: 'a.example:443' })
      expect(request).toMatchObject({
        isTunnel: true,
        isConnect: true,
        protocol: null,
        idempotent: false,
        trailers: null,
      })
      expect(request.body).toBe(NO_BODY)
      expect('content-length' in toFields(request.wire)).toBe(false)
    })

    it('has no other authority than its path, whatever host says', () => {
      const request = make({ method: 'CONNECT', path: 'a.example:443', headers: { host: 'b.example' } })
      expect(toFields(request.wire)[':authority']).toBe('a.example:443')
      expect('host' in toFields(request.wire)).toBe(false)
    })

    it.each(['a.example:1', '[::1]:443'])('takes a host and a port: %s', (path) => {
      expect(toFields(make({ method: 'CONNECT', path }).wire)[':authority']).toBe(path)
    })

    it.each([
      ['https://example.com:8443', '/', 'example.com:8443'],
      ['https://example.com', '/a?b=c', 'example.com:443'],
      ['http://example.com', '/', 'example.com:80'],
      ['https://[::1]', '/', '[::1]:443'],
    ])('takes a path for the origin itself: %s%s', (href, path, authority) => {
      expect(toFields(make({ method: 'CONNECT', path }, toOrigin(href)).wire)[':authority']).toBe(authority)
    })

    it.each([
      ['a.example', '"a.example"'],
      ['user:s3cret@a.example:443', '"…@a.example:443"'],
      ['a\r\nb:443', '"a\\r\\nb:443"'],
      ['https://a.example:443', '"https://a.example:443"'],
      [undefined, 'undefined'],
      [1, '1'],
    ])('refuses anything else: %j', (path, got) => {
      const error = toRefusal({ method: 'CONNECT', path })
      expect(error).toBeInstanceOf(InvalidArgumentError)
      expect(error.message).toBe(
        `Invalid path: got ${got}, expected the authority to connect to, such as 'example.com:443'`,
      )
    })

    it('takes one that is too long for none', () => {
      expect(toRefusal({ method: 'CONNECT', path: `${'a'.repeat(70_000)}:443` }).message).toMatch(
        /^Invalid path: /,
      )
    })
  })

  describe('when a protocol is asked for', () => {
    it('sends an extended CONNECT (RFC 8441), pseudo-headers first', () => {
      const request = make({
        method: 'GET',
        path: '/chat?a=b',
        upgrade: 'websocket',
        headers: { 'x-a': '1' },
      })
      expect(Object.entries(toFields(request.wire))).toEqual([
        [':method', 'CONNECT'],
        [':protocol', 'websocket'],
        [':scheme', 'https'],
        [':authority', 'example.com:8443'],
        [':path', '/chat?a=b'],
        ['x-a', '1'],
      ])
    })

    it.each(['GET', 'POST', 'CONNECT'])('asks for a tunnel, whatever the method was: %s', (method) => {
      const request = make({ method, path: '/', upgrade: 'websocket' })
      expect(request).toMatchObject({
        method: 'CONNECT',
        protocol: 'websocket',
        isTunnel: true,
        isConnect: false,
        idempotent: false,
      })
      expect(toFields(request.wire)[':path']).toBe('/')
      expect('content-length' in toFields(request.wire)).toBe(false)
    })

    it.each([
      [true, 'websocket'],
      ['Websocket', 'websocket'],
      ['WEBSOCKET', 'websocket'],
      ['connect-udp', 'connect-udp'],
      ['Connect-IP', 'Connect-IP'],
    ])('knows its name: %s', (upgrade, protocol) => {
      expect(toFields(make({ method: 'GET', path: '/', upgrade }).wire)[':protocol']).toBe(protocol)
    })

    it('sends host as :authority', () => {
      const request = make({
        method: 'GET',
        path: '/',
        upgrade: 'websocket',
        headers: { host: 'other.example' },
      })
      expect(toFields(request.wire)[':authority']).toBe('other.example')
    })

    it.each([null, undefined, false])('asks for none: %s', (upgrade) => {
      const request = make({ method: 'GET', path: '/', upgrade })
      expect(request).toMatchObject({ method: 'GET', protocol: null, isTunnel: false, isConnect: false })
      expect(':protocol' in toFields(request.wire)).toBe(false)
    })

    it.each([
      ['', '""'],
      ['a b', '"a b"'],
      ['websocket, x', '"websocket, x"'],
      [1, '1'],
      [{}, 'an object (Object)'],
    ])('refuses what is no name: %j', (upgrade, got) => {
      const error = toRefusal({ method: 'GET', path: '/', upgrade })
      expect(error).toBeInstanceOf(InvalidArgumentError)
      expect(error.message).toBe(
        `Invalid upgrade: got ${got}, expected a protocol name, such as 'websocket', or null`,
      )
    })

    it('still wants a method', () => {
      expect(toRefusal({ method: '', path: '/', upgrade: 'websocket' }).message).toMatch(/^Invalid method: /)
    })
  })

  describe.each([
    ['CONNECT', { method: 'CONNECT', path: 'a.example:443' }],
    ['an extended CONNECT', { method: 'GET', path: '/', upgrade: 'websocket' }],
  ])('when a tunnel is asked for by %s', (_how, options) => {
    it.each([
      ['a string', 'abc', 'a string'],
      ['an empty string', '', 'a string'],
      ['a function', () => null, 'a function'],
    ])('takes no body: %s', (_kind, body, got) => {
      const error = toRefusal({ ...options, body })
      expect(error).toBeInstanceOf(InvalidArgumentError)
      expect(error.message).toBe(
        `Invalid body: got ${got}, expected none: write to the tunnel after the response`,
      )
    })

    it('takes no trailers', () => {
      const error = toRefusal({ ...options, trailers: { 'x-a': '1' } })
      expect(error).toBeInstanceOf(InvalidArgumentError)
      expect(error.message).toBe(
        'Invalid trailers: got an object (Object), expected none: a tunnel sends no trailers',
      )
    })

    it.each([null, undefined])('takes those that are none: %s', (none) => {
      expect(make({ ...options, body: none, trailers: none }).isTunnel).toBe(true)
    })

    it('waits for no 100', () => {
      const request = make({ ...options, expectContinue: true })
      expect(request.expectContinue).toBe(false)
      expect('expect' in toFields(request.wire)).toBe(false)
    })
  })
})

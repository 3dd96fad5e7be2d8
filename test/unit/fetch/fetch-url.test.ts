import { describe, expect, it, onTestFinished } from 'vitest'
import { isBadPort, isHttp, readBase, splitUrl, toHref } from '../../../src/fetch/fetch-url.ts'
import { Random } from '../../support/clocks/seeded-random.ts'

describe('toHref', () => {
  it.each([
    ['http://a', undefined, 'http://a/'],
    [' HTTPS://A.Test:443/x/../y?q#f\n', undefined, 'https://a.test/y?q#f'],
    ['../c?d', new URL('http://a/b/b/b'), 'http://a/b/c?d'],
    ['http://@a/@', undefined, 'http://a/@'],
    ['http://a/?user:password@b', undefined, 'http://a/?user:password@b'],
  ])('parses %j', (text, base, href) => {
    expect(toHref(text, base)).toBe(href)
  })

  it.each([
    ['', undefined],
    ['/path', undefined],
    ['http://', undefined],
    ['http://a:99999/', undefined],
    ['/path', new URL('data:,x')],
  ])('refuses %j, with the parser’s error as cause', (text, base) => {
    expect(() => toHref(text, base)).toThrow(
      expect.objectContaining({
        constructor: TypeError,
        message: `Failed to parse URL from ${text}`,
        cause: expect.any(TypeError),
      }),
    )
  })

  it.each([
    'http://user@a/p',
    'http://user:secret@a/p',
    'http://:secret@a/p',
    'data://user:secret@a/p',
  ])('refuses the credentials of %s, and does not show them', (text) => {
    expect(() => toHref(text, undefined)).toThrow(TypeError)
    expect(() => toHref(text, undefined)).toThrow(/can't contain credentials.*:\/\/a\/p$/)
  })
})

describe('toHref after a URL of the same origin', () => {
  it('serializes any path as the parser does', () => {
    const random = new Random(7)
    const octets = Array.from({ length: 128 }, (_none, code) => String.fromCharCode(code))
    const pieces: readonly [string, ...string[]] = [
      'a',
      '/',
      '.',
      '..',
      '%2e',
      '%41',
      '?',
      '#',
      '@',
      '\\',
      'é',
      '😀',
      ...octets,
    ]
    toHref('http://a.test:8080/', undefined)
    for (let i = 0; i < 20_000; i++) {
      const rest = random.some(pieces, 8).join('')
      const text = `http://a.test:8080/${rest}`
      expect(toHref(text, undefined)).toBe(new URL(text).href)
    }
  })

  it.each([
    ['http://a.test:80/x', 'http://a.test/x'],
    ['http://a.test.b/x', 'http://a.test.b/x'],
    ['http://a.test:8081/x', 'http://a.test:8081/x'],
    ['HTTP://a.test/x', 'http://a.test/x'],
    ['http://a.test', 'http://a.test/'],
    ['http://a.test?x', 'http://a.test/?x'],
    ['https://a.test/x', 'https://a.test/x'],
  ])('takes %j for what it is', (text, href) => {
    toHref('http://a.test/', undefined)
    expect(toHref(text, undefined)).toBe(href)
  })

  it('refuses credentials as before', () => {
    toHref('http://a.test/', undefined)
    expect(() => toHref('http://a.test@b/x', undefined)).toThrow(/can't contain credentials/)
    expect(() => toHref('http://user:a.test@b/x', undefined)).toThrow(/can't contain credentials/)
  })
})

describe('readBase', () => {
  const place = Symbol.for('undici.globalOrigin.1')

  function setBase(value: unknown): void {
    Reflect.defineProperty(globalThis, place, { value, writable: true, configurable: true })
    onTestFinished(() => void Reflect.deleteProperty(globalThis, place))
  }

  it('is the origin that undici was given, and ignores any other value there', () => {
    expect(readBase()).toBeUndefined()
    const base = new URL('http://a.test/b')
    setBase(base)
    expect(readBase()).toBe(base)
    for (const other of ['http://a.test/', null, undefined, {}]) {
      setBase(other)
      expect(readBase()).toBeUndefined()
    }
  })
})

describe('isHttp', () => {
  it.each([
    ['http://a/', true],
    ['https://a/', true],
    ['httpx://a/', false],
    ['http+unix://a/', false],
    ['data:http://a/', false],
    ['ws://a/', false],
    ['blob:http://a/1', false],
  ])('for %s returns %s', (href, expected) => {
    expect(isHttp(href)).toBe(expected)
  })
})

describe('splitUrl', () => {
  it.each([
    ['http://a/', 'http://a', '/', ''],
    ['https://a.test:8443/b/c?d#e', 'https://a.test:8443', '/b/c?d', '#e'],
    ['http://[::1]:80/?', 'http://[::1]:80', '/?', ''],
    ['http://a/?b/c#d/?e#f', 'http://a', '/?b/c', '#d/?e#f'],
    ['http://a/#', 'http://a', '/', '#'],
    ['http://user:password@a/b', 'http://user:password@a', '/b', ''],
  ])('splits %s', (href, origin, path) => {
    expect(splitUrl(href)).toEqual({ origin, path })
  })

  it.each([
    'http://a.test/b?c#d',
    'https://[::1]:444/',
    'http://1.2.3.4/?',
  ])('gives the same parts as URL for %s', (href) => {
    const { origin, path } = splitUrl(href)
    expect(origin).toBe(new URL(href).origin)
    expect(`${origin}${path}`).toBe(href.replace(/#.*/, ''))
  })
})

describe('isBadPort', () => {
  it.each([
    ['http://a/', false],
    ['https://a/', false],
    ['http://[::1]/', false],
    ['http://[::25]/', false],
    ['http://a:8080/', false],
    ['http://a:8025/', false],
    ['http://a:25/', true],
    ['https://a:22/', true],
    ['http://[::1]:6000/', true],
    ['https://a:10080/', true],
    ['http://a:0/', true],
  ])('for %s returns %s', (href, expected) => {
    expect(isBadPort(splitUrl(href))).toBe(expected)
  })

  it("blocks the ports that Node's fetch blocks, and no others", async () => {
    const dispatcher = {
      dispatch() {
        throw new Error('not blocked')
      },
    }
    // The standard blocks port 0 as well.
    const ports = Array.from({ length: 11_000 }, (_, port) => port + 1)
    const blocked: number[] = []
    for (const port of ports) {
      const { cause } = await fetch(`http://a:${port}/`, Object({ dispatcher })).catch((error) => error)
      if (cause.message === 'bad port') blocked.push(port)
    }
    expect(blocked.length).toBeGreaterThan(50)
    const ours = ports.filter((port) => isBadPort(splitUrl(new URL(`http://a:${port}/`).href)))
    expect(ours).toEqual(blocked)
  })
})

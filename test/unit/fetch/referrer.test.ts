import { describe, expect, it } from 'vitest'
import { toRedirectPolicy, toReferrerField } from '../../../src/fetch/referrer.ts'

const WHOLE = 'https://a.test/path?query'
const ORIGIN = 'https://a.test/'

function toField(referrer: string, policy: string, url: string): string | null {
  return toReferrerField(referrer, policy, new URL(url))
}

describe('toReferrerField', () => {
  // Referrer Policy §3, each policy: to the same origin, to another one, and to one that isn't secure.
  describe.each<[string, string | null, string | null, string | null]>([
    ['no-referrer', null, null, null],
    ['no-referrer-when-downgrade', WHOLE, WHOLE, null],
    ['same-origin', WHOLE, null, null],
    ['origin', ORIGIN, ORIGIN, ORIGIN],
    ['strict-origin', ORIGIN, ORIGIN, null],
    ['origin-when-cross-origin', WHOLE, ORIGIN, ORIGIN],
    ['strict-origin-when-cross-origin', WHOLE, ORIGIN, null],
    ['unsafe-url', WHOLE, WHOLE, WHOLE],
    ['', WHOLE, ORIGIN, null],
    ['none-that-is-known', WHOLE, ORIGIN, null],
  ])('when the policy is %j', (policy, same, cross, downgrade) => {
    it('gives the referrer of that policy', () => {
      const referrer = 'https://user:secret@a.test/path?query#fragment'
      expect(toField(referrer, policy, 'https://a.test/other')).toBe(same)
      expect(toField(referrer, policy, 'https://b.test/')).toBe(cross)
      expect(toField(referrer, policy, 'https://a.test:8443/')).toBe(cross)
      expect(toField(referrer, policy, 'http://a.test/')).toBe(downgrade)
    })

    it('does not treat a request from an insecure referrer as a downgrade', () => {
      const toHttp = (field: string | null) => field?.replace('https:', 'http:') ?? null
      expect(toField('http://a.test/path?query', policy, 'http://a.test/')).toBe(toHttp(same))
      expect(toField('http://a.test/path?query', policy, 'http://b.test/')).toBe(toHttp(cross))
      expect(toField('http://a.test/path?query', policy, 'https://a.test/')).toBe(toHttp(cross))
    })

    it.each([
      '',
      'about:client',
      'about:blank',
      'data:,a',
      'blob:https://a.test/1',
    ])('gives no referrer for %j', (referrer) => {
      expect(toField(referrer, policy, 'https://a.test/')).toBeNull()
    })
  })

  it.each([
    'same-origin',
    'unsafe-url',
    'no-referrer-when-downgrade',
    '',
  ])('gives only the origin of a URL longer than 4096 characters: policy %j', (policy) => {
    const longest = `${ORIGIN}${'a'.repeat(4096 - ORIGIN.length)}`
    expect(toField(`${longest}#fragment`, policy, ORIGIN)).toBe(longest)
    expect(toField(`${longest}b`, policy, ORIGIN)).toBe(ORIGIN)
  })

  it('treats a missing port as the default port', () => {
    expect(toField('https://a.test:443/path?query', 'same-origin', 'https://a.test/')).toBe(WHOLE)
    expect(toField('https://a.test:444/', 'origin', 'https://b.test/')).toBe('https://a.test:444/')
  })

  it('does not change the URL of the request', () => {
    const url = new URL('https://user:secret@a.test/path?query#fragment')
    const { href } = url
    expect(toReferrerField(url.href, 'unsafe-url', url)).toBe(WHOLE)
    expect(url.href).toBe(href)
  })

  it('throws a TypeError for an invalid URL', () => {
    expect(() => toField('/path', '', ORIGIN)).toThrow(TypeError)
  })

  describe('when the policy depends on whether a URL is trustworthy', () => {
    it.each([
      'https://b.test/',
      'http://localhost:80/',
      'http://LOCALHOST./',
      'http://a.b.localhost/',
      'http://a.localhost./',
      'http://127.0.0.1/',
      'http://127.255.0.254:8080/',
      'http://127.1/',
      'http://0x7f000001/',
      'http://[::1]/',
      'http://[0:0:0:0:0:0:0:1]/',
    ])('treats it as trustworthy: %s', (url) => {
      expect(toField(WHOLE, 'strict-origin', url)).toBe(ORIGIN)
      expect(toField(url, 'strict-origin', 'http://b.test/')).toBeNull()
    })

    it.each([
      'http://b.test/',
      'http://notlocalhost/',
      'http://localhost.b.test/',
      'http://a.localhost.b.test/',
      'http://127.0.0.1.b.test/',
      'http://127.b.test/',
      'http://128.0.0.1/',
      'http://[::2]/',
      'http://[::ffff:7f00:1]/',
    ])('treats it as not trustworthy: %s', (url) => {
      expect(toField(WHOLE, 'strict-origin', url)).toBeNull()
      expect(toField(url, 'strict-origin', 'http://b.test/')).toBe(url)
    })

    it('treats files and secure WebSockets as trustworthy, and no unknown scheme', () => {
      expect(toField('file:///path', 'strict-origin', 'http://b.test/')).toBeNull()
      expect(toField('wss://a.test/path', 'strict-origin', 'http://b.test/')).toBeNull()
      expect(toField('ws://a.test/path', 'strict-origin', 'http://b.test/')).toBe('ws://a.test/')
      expect(toField('app://localhost/path', 'strict-origin', 'http://b.test/')).toBe('app://localhost')
    })
  })
})

describe('toRedirectPolicy', () => {
  it.each<[string | null, string]>([
    [null, 'origin'],
    ['', 'origin'],
    [' , ,', 'origin'],
    ['unknown', 'origin'],
    ['ORIGIN', 'origin'],
    ['no-referrer unsafe-url', 'origin'],
    ['same-origin', 'same-origin'],
    ['\tsame-origin ', 'same-origin'],
    ['no-referrer, unsafe-url', 'unsafe-url'],
    ['no-referrer,strict-origin , unknown,', 'strict-origin'],
  ])('converts %j to %j', (field, policy) => {
    expect(toRedirectPolicy(field, 'origin')).toBe(policy)
  })

  it.each([
    'no-referrer',
    'no-referrer-when-downgrade',
    'same-origin',
    'origin',
    'strict-origin',
    'origin-when-cross-origin',
    'strict-origin-when-cross-origin',
    'unsafe-url',
  ])('accepts %s', (policy) => {
    expect(toRedirectPolicy(policy, '')).toBe(policy)
  })
})

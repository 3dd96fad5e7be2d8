import { describe, expect, it } from 'vitest'
import { isAuthority, isHost } from '../../../src/core/authority.ts'
import { toOrigin } from '../../../src/options/options.ts'

const NAMES = [
  'example.com',
  'EXAMPLE.com.',
  'xn--bcher-kva.example',
  'a_b.example',
  "a-b~c!d$e&f'g(h)i*j+k,l;m=n",
  'a%20b',
  '127.0.0.1',
  '[::1]',
  '[::FFFF:1.2.3.4]',
]

const NO_NAMES = [
  ...['', 'a b', 'a/b', 'a?b', 'a#b', 'a@b', 'a\\b', 'a:b', 'a"b', 'a<b', 'a>b', 'a[b', 'a]b', 'a^b', 'a`b'],
  ...['a{b', 'a|b', 'a}b', 'a%', 'a%2', 'a%zz', '::1', '[]', '[::1', '::1]', '[a.example]', '[1.2.3.4]'],
  ...['[fe80::1%eth0]', '[fe80::1%25eth0]', '[v1.a]', '[::1]a', 'bücher.example', 'a\n', '\ufeffa'],
]

describe('isHost', () => {
  it.each(NAMES)('takes %j', (host) => {
    expect(isHost(host)).toBe(true)
  })

  it.each(NO_NAMES)('refuses %j', (host) => {
    expect(isHost(host)).toBe(false)
  })

  it('takes no code unit beyond ASCII, and of ASCII what RFC 3986 §3.2.2 lists', () => {
    const taken = Array.from({ length: 0x10000 }, (_, unit) => String.fromCharCode(unit)).filter(isHost)
    expect(taken.join('')).toBe(
      "!$&'()*+,-.0123456789;=ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz~",
    )
  })
})

describe('isAuthority', () => {
  it.each(NAMES)('takes %j, with a port and without', (host) => {
    expect(isAuthority(host, false)).toBe(true)
    expect(isAuthority(host, true)).toBe(false)
    for (const port of ['1', '443', '00443', '65535']) {
      expect(isAuthority(`${host}:${port}`, false)).toBe(true)
      expect(isAuthority(`${host}:${port}`, true)).toBe(true)
    }
  })

  it.each(NO_NAMES.filter((host) => host !== 'a:b'))('refuses %j and a port', (host) => {
    expect(isAuthority(`${host}:443`, true)).toBe(false)
  })

  it.each([
    '',
    '0',
    '65536',
    '99999',
    '123456',
    '-1',
    '+1',
    ' 1',
    '1 ',
    '1a',
    '٣',
    '1:2',
  ])('refuses the port %j', (port) => {
    expect(isAuthority(`a.example:${port}`, true)).toBe(false)
    expect(isAuthority(`a.example:${port}`, false)).toBe(false)
  })
})

describe('the host of an origin', () => {
  it.each([
    'https://a"b.example',
    'https://a`b.example',
    'https://a{b}.example',
  ])('is checked by the same rule, where the URL parser has none: %s', (origin) => {
    expect(() => toOrigin(origin)).toThrow(/^Invalid origin: got ".*", expected an http: or https: URL/)
  })
})

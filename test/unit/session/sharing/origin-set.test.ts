import { describe, expect, it } from 'vitest'
import { toOneNotation } from '../../../../src/session/sharing/addresses.ts'
import { OriginSet } from '../../../../src/session/sharing/origin-set.ts'

const OWN = 'https://example.com'

function toSet(entries: readonly string[]): OriginSet {
  const set = new OriginSet(OWN)
  set.add(entries)
  return set
}

describe('an Origin Set (RFC 8336 §2.3)', () => {
  it('begins with the origin that the connection was made for', () => {
    expect(toSet([]).has(OWN)).toBe(true)
    expect(toSet(['https://a.example']).has(OWN)).toBe(true)
  })

  it.each([
    ['https://a.example', 'https://a.example'],
    ['https://A.Example', 'https://a.example'],
    ['HTTPS://a.example:443', 'https://a.example'],
    ['https://a.example:8443', 'https://a.example:8443'],
    ['https://[2001:DB8::1]:8443', 'https://[2001:db8::1]:8443'],
  ])('has %s as %s', (entry, origin) => {
    expect(toSet([entry]).has(origin)).toBe(true)
  })

  it.each([
    '',
    'null',
    'a.example',
    'http://a.example',
    'https://a.example/',
    'https://a.example/path',
    'https://a.example?query',
    'https://a.example#fragment',
    'https://user@a.example',
    'https://a.example\\path',
    'https:// a.example',
    'https://*.example',
    'https://a.example:99999',
    'wss://a.example',
  ])('ignores %j, and takes what follows', (entry) => {
    const set = toSet([entry, 'https://b.example'])
    expect(set.has('https://b.example')).toBe(true)
    expect(
      ['https://a.example', 'https://a.example:443', 'https://*.example'].filter((one) => set.has(one)),
    ).toEqual(entry === 'https://*.example' ? ['https://*.example'] : [])
  })

  it('loses an origin that was answered with 421', () => {
    const set = toSet(['https://a.example'])
    set.delete('https://a.example')
    expect(set.has('https://a.example')).toBe(false)
  })

  it('keeps 128 origins, its own among them', () => {
    const entries = Array.from({ length: 200 }, (_, i) => `https://o${i}.example`)
    const set = toSet(entries)
    expect(entries.filter((entry) => set.has(entry))).toEqual(entries.slice(0, 127))
  })

  it('keeps 64 KiB of names', () => {
    const entries = Array.from(
      { length: 100 },
      (_, i) => `https://${`${i}`.padStart(3, '0')}${'.x'.repeat(500)}`,
    )
    const set = toSet(entries)
    const [first = ''] = entries
    const size = first.length
    expect(entries.filter((entry) => set.has(entry)).length).toBe(Math.floor(65_536 / size))
  })
})

describe('addresses', () => {
  it.each([
    ['192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['::FFFF:192.0.2.1', '192.0.2.1'],
    ['2001:db8::1', '2001:db8::1'],
    ['2001:DB8:0:0:0:0:0:1', '2001:db8::1'],
    ['fe80::1%eth0', 'fe80::1%eth0'],
    ['', ''],
  ])('%s is written as %s', (address, expected) => {
    expect(toOneNotation(address)).toBe(expected)
  })
})

import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { matchesIntegrity, parseIntegrity } from '../../../src/fetch/integrity.ts'

const bytes = Buffer.from('the body')

function digest(algorithm: string, encoding: 'base64' | 'base64url' = 'base64', of = bytes): string {
  return createHash(algorithm).update(of).digest(encoding)
}

/** Whether the body is accepted. */
function passes(metadata: string, body = bytes): boolean {
  const integrity = parseIntegrity(metadata)
  return integrity === null || matchesIntegrity(body, integrity)
}

const sha256 = digest('sha256')
const wrong = digest('sha256', 'base64', Buffer.from('another body'))

/** A body whose digest has both characters that differ in base64url. */
function findSpecial(algorithm: string) {
  for (let i = 0; ; i++) {
    const body = Buffer.from(`body ${i}`)
    const value = digest(algorithm, 'base64', body)
    if (value.includes('+') && value.includes('/')) return body
  }
}

describe('parseIntegrity', () => {
  describe('when there is no integrity metadata', () => {
    it.each([
      '',
      ' \t\r\n\f ',
      'md5-1B2M2Y8AsgTpgAmY7PhCfg==',
      'sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk=',
      '?sha256-a',
    ])('gives null: %j', (metadata) => {
      expect(parseIntegrity(metadata)).toBeNull()
    })

    it.each([
      'sha',
      'sha-256',
      'sha2560-YQ==',
      `xsha256-${sha256}`,
      `sha256=${sha256}`,
      'sha512/256-a',
      '-a',
    ])('gives null for malformed metadata: %j', (metadata) => {
      expect(parseIntegrity(metadata)).toBeNull()
    })
  })

  it('gives the algorithm and the hash, without padding', () => {
    expect(parseIntegrity('sha512-Zm9v')).toEqual({ algorithm: 'sha512', digests: ['Zm9v'] })
    expect(parseIntegrity('sha256-Zg==')).toEqual({ algorithm: 'sha256', digests: ['Zg'] })
    expect(parseIntegrity('sha256-a-b_=')).toEqual({ algorithm: 'sha256', digests: ['a+b/'] })
  })

  it('uses the strongest algorithm alone, at any position, with all of its hashes', () => {
    const metadata = 'sha384-A sha256-B sha512-C\tsha384-D\nsha1-E SHA512-F'
    expect(parseIntegrity(metadata)).toEqual({ algorithm: 'sha512', digests: ['C', 'F'] })
    expect(parseIntegrity('sha256-A sha384-B sha256-C')).toEqual({ algorithm: 'sha384', digests: ['B'] })
  })

  it('ignores options after a question mark', () => {
    expect(parseIntegrity('sha256-A?x=y?z sha256?-B')).toEqual({ algorithm: 'sha256', digests: ['A', ''] })
  })
})

describe('matchesIntegrity', () => {
  it.each(['sha256', 'sha384', 'sha512'])('accepts the body and no other by %s', (algorithm) => {
    expect(passes(`${algorithm}-${digest(algorithm)}`)).toBe(true)
    expect(passes(`${algorithm}-${digest(algorithm)}`, Buffer.from('the bodY'))).toBe(false)
    expect(passes(`${algorithm.toUpperCase()}-${digest(algorithm)}?options`)).toBe(true)
  })

  it.each([
    'sha256',
    'sha384',
    'sha512',
  ])('accepts base64 and base64url of %s, padded or not', (algorithm) => {
    const body = findSpecial(algorithm)
    const padded = digest(algorithm, 'base64', body)
    const bare = padded.replaceAll('=', '')
    const url = digest(algorithm, 'base64url', body)
    expect(url).not.toBe(bare)
    for (const value of [padded, bare, url, padded.replaceAll('+', '-').replaceAll('/', '_')]) {
      expect(passes(`${algorithm}-${value}`, body)).toBe(true)
    }
  })

  it('compares the hashes case-sensitively', () => {
    expect(passes(`sha256-${sha256.toLowerCase()}`)).toBe(false)
  })

  it('accepts a body that matches any of several hashes', () => {
    expect(passes(`sha256-${wrong} sha256-${sha256}`)).toBe(true)
    expect(passes(`sha256-${sha256} sha256-${wrong}`)).toBe(true)
    expect(passes(`sha256-${wrong} sha256-${wrong}`)).toBe(false)
  })

  it('checks the strongest algorithm alone', () => {
    expect(passes(`sha256-${sha256} sha384-${wrong}`)).toBe(false)
    expect(passes(`sha256-${wrong} sha512-${digest('sha512')}`)).toBe(true)
    expect(passes(`sha256-${sha256} md5-${wrong}`)).toBe(true)
  })

  it.each([
    'sha256',
    'sha256-',
    'sha256-=',
    'sha256-==',
    'sha256-?x',
    `sha256-${sha256}==`,
    `sha256- ${sha256}`,
  ])('accepts no body when the hash is missing or invalid: %j', (metadata) => {
    expect(passes(metadata)).toBe(false)
    expect(passes(metadata, Buffer.alloc(0))).toBe(false)
  })

  it('accepts an empty body, and a view of a part of a buffer', () => {
    expect(passes('sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=', Buffer.alloc(0))).toBe(true)
    expect(passes(`sha256-${sha256}`, Buffer.from('<the body>').subarray(1, 9))).toBe(true)
  })
})

import { describe, expect, it } from 'vitest'
import { HpackDecoder } from '../../../src/protocol/hpack/decoder.ts'
import { HpackEncoder, maxEncodedSize } from '../../../src/protocol/hpack/encoder.ts'
import { decode, encode, startDecoder, toInteger } from './support.ts'

/** The first octets of a field that is written alone: what it is, and by which index. */
const hexOf = (encoder: HpackEncoder, ...field: string[]): string => encode(encoder, field).toString('hex')

describe('the encoder', () => {
  describe('when a field is in the static table', () => {
    it.each([
      [':method', 'GET', '82'],
      [':path', '/index.html', '85'],
      [':status', '500', '8e'],
      ['accept-encoding', 'gzip, deflate', '90'],
      [':authority', '', '81'],
      ['www-authenticate', '', 'bd'],
    ])('writes the index of %s: %s', (name, value, hex) => {
      expect(hexOf(new HpackEncoder(), name, value)).toBe(hex)
    })
  })

  describe('when a field comes again', () => {
    it('writes its index, as far as newer ones have moved it', () => {
      const encoder = new HpackEncoder()
      encode(encoder, ['x-a', '1', 'x-a', '2', 'x-b', '1'])
      expect(hexOf(encoder, 'x-a', '1')).toBe('c0')
      expect(hexOf(encoder, 'x-a', '2')).toBe('bf')
      expect(hexOf(encoder, 'x-b', '1')).toBe('be')
    })

    it('writes an index of two octets where it has moved that far', () => {
      const encoder = new HpackEncoder()
      encode(encoder, ['x-a', '1'])
      for (let count = 0; count < 65; count++) encode(encoder, ['x-b', `${count}`])
      expect(hexOf(encoder, 'x-a', '1')).toBe('ff00')
    })

    it('writes it whole where the table has dropped it', () => {
      const encoder = new HpackEncoder()
      encode(encoder, ['x-a', '1'])
      for (let count = 0; count < 4; count++) encode(encoder, ['x-b', `${count}`.repeat(1_000)])
      expect(hexOf(encoder, 'x-a', '1')).toMatch(/^40/)
    })
  })

  describe('when the table is just full', () => {
    it('has both of the entries that fill it', () => {
      const encoder = new HpackEncoder()
      encoder.setMaxTableSize(72)
      encode(encoder, ['x-a', '1', 'x-b', '2'])
      expect(hexOf(encoder, 'x-a', '1')).toBe('bf')
      expect(hexOf(encoder, 'x-b', '2')).toBe('be')
    })
  })

  describe('when a name of the static table has left the dynamic one', () => {
    it('indexes it anew', () => {
      const encoder = new HpackEncoder()
      encoder.setMaxTableSize(60)
      encode(encoder, ['server', '1', 'x-b', '2', 'server', '3'])
      expect(hexOf(encoder, 'server', '3')).toBe('be')
    })
  })

  describe('when only the name is known', () => {
    it.each([
      ['the static table', 'server', '7601'],
      ['the lowest of several in the static table', ':status', '4801'],
    ])('writes the index in %s', (_where, name, hex) => {
      expect(hexOf(new HpackEncoder(), name, '@')).toBe(`${hex}40`)
    })

    it('writes the index in the dynamic table', () => {
      const encoder = new HpackEncoder()
      encode(encoder, ['x-a', '1', 'x-b', '1'])
      expect(hexOf(encoder, 'x-a', '@')).toBe('7f000140')
    })
  })

  describe('when a value hardly comes twice', () => {
    it.each([
      ...[
        ':path',
        'content-length',
        'etag',
        'if-modified-since',
        'if-none-match',
        'age',
        'location',
        'range',
      ],
    ])('does not index %s (RFC 7541 §6.2.2)', (name) => {
      const encoder = new HpackEncoder()
      const first = encode(encoder, [name, 'value'])
      expect((first[0] ?? 0) & 0xf0).toBe(0x00)
      for (let times = 0; times < 3; times++) expect(encode(encoder, [name, 'value'])).toEqual(first)
      const decoder = startDecoder()
      decoder.decode(first, 0, first.length)
      expect(() => decode(decoder, 'be')).toThrow('beyond')
    })

    it('does not write the last value for another one', () => {
      const encoder = new HpackEncoder()
      const paths = ['/a', '/a', '/a', '/b', '/b', '/a', '/a', '/b', `/${'c'.repeat(5_000)}`, '/b']
      for (const path of paths.flatMap((path) => [path, path])) {
        const bytes = encode(encoder, [':path', path])
        expect(startDecoder().decode(bytes, 0, bytes.length)).toEqual([':path', path])
      }
    })

    it('keeps no part of the buffer that it has written to', () => {
      const encoder = new HpackEncoder()
      const out = Buffer.alloc(64)
      const write = (path: string): string => {
        out.fill(0)
        return out.toString('hex', 0, encoder.encode([':path', path], out, 0))
      }
      const first = write('/abc')
      for (let times = 0; times < 3; times++) expect(write('/abc')).toBe(first)
    })

    it('does not index what takes more than three quarters of the table', () => {
      const encoder = new HpackEncoder()
      const fitting = 3_072 - 32 - 'server'.length
      expect(encode(encoder, ['server', '@'.repeat(fitting + 1)])[0]).toBe(0x0f)
      expect(encode(encoder, ['server', '@'.repeat(fitting)])[0]).toBe(0x76)
    })
  })

  describe('when a value is a secret', () => {
    const SECRETS = ['authorization', 'proxy-authorization', 'cookie', 'set-cookie']
    it.each(SECRETS)('never indexes %s (RFC 7541 §7.1.3)', (name) => {
      const encoder = new HpackEncoder()
      const first = encode(encoder, [name, 'secret'])
      expect((first[0] ?? 0) & 0xf0).toBe(0x10)
      for (let times = 0; times < 3; times++) expect(encode(encoder, [name, 'secret'])).toEqual(first)
    })

    it.each([
      ['of no table', 'x-api-key', '10'],
      ['of the static table', 'server', '1f27'],
      ['that has its value in the static table', ':method', '12'],
    ])('never indexes what the caller names, %s', (_what, name, hex) => {
      const encoder = new HpackEncoder()
      const sensitive = new Set([name])
      for (let times = 0; times < 3; times++) {
        expect(encode(encoder, [name, 'GET'], sensitive).toString('hex')).toMatch(new RegExp(`^${hex}`))
      }
      const decoder = startDecoder()
      const bytes = encode(encoder, [name, 'GET'], sensitive)
      expect(decoder.decode(bytes, 0, bytes.length)).toEqual([name, 'GET'])
      expect(() => decode(decoder, 'be')).toThrow('beyond')
    })

    it('does not look its value up in the dynamic table', () => {
      const encoder = new HpackEncoder()
      encode(encoder, ['x-api-key', 'secret'])
      expect(encode(encoder, ['x-api-key', 'secret'], new Set(['x-api-key']))[0]).toBe(0x1f)
      expect(hexOf(encoder, 'x-api-key', 'secret')).toBe('be')
    })
  })

  describe('when the Huffman code is not shorter', () => {
    it.each(['@', '!!', '{|}', '\x01\x02', 'é'.repeat(40)])('writes %j as it is', (value) => {
      const bytes = encode(new HpackEncoder(), ['server', value])
      expect(bytes.subarray(-value.length - 1)).toEqual(
        Buffer.concat([Buffer.of(value.length), Buffer.from(value, 'latin1')]),
      )
    })

    it('takes the Huffman code where it saves one octet', () => {
      expect(hexOf(new HpackEncoder(), 'server', 'aa')).toBe('76026161')
      expect(hexOf(new HpackEncoder(), 'server', 'aaa')).toBe('768218c7')
    })
  })

  describe("when the peer's table has another size (RFC 7541 §4.2)", () => {
    it('announces a smaller one, once', () => {
      const encoder = new HpackEncoder()
      encoder.setMaxTableSize(100)
      expect(hexOf(encoder, ':method', 'GET')).toBe(`${toInteger(0x20, 5, 100).toString('hex')}82`)
      expect(hexOf(encoder, ':method', 'GET')).toBe('82')
    })

    it('uses no more than 4,096 bytes of a larger one, and says nothing', () => {
      const encoder = new HpackEncoder()
      encoder.setMaxTableSize(65_536)
      expect(hexOf(encoder, ':method', 'GET')).toBe('82')
    })

    it.each([
      { sizes: [100, 4_096], updates: [100, 4_096] },
      { sizes: [100, 50, 1_000, 500], updates: [50, 500] },
      { sizes: [1_000, 500, 500], updates: [500] },
      { sizes: [0], updates: [0] },
      { sizes: [4_096], updates: [] },
    ])('announces $updates for $sizes', ({ sizes, updates }) => {
      const encoder = new HpackEncoder()
      encode(encoder, ['x-a', '1'])
      for (const size of sizes) encoder.setMaxTableSize(size)
      expect(encode(encoder, [])).toEqual(Buffer.concat(updates.map((size) => toInteger(0x20, 5, size))))
    })

    it('announces a larger one after a smaller one has been announced', () => {
      const encoder = new HpackEncoder()
      encoder.setMaxTableSize(100)
      encode(encoder, [])
      encoder.setMaxTableSize(200)
      expect(encode(encoder, [])).toEqual(toInteger(0x20, 5, 200))
    })

    it('has forgotten what did not fit in between', () => {
      const encoder = new HpackEncoder()
      const decoder = startDecoder()
      const send = (fields: string[]): string[] => {
        const bytes = encode(encoder, fields)
        return decoder.decode(bytes, 0, bytes.length)
      }
      send(['x-a', '1', 'x-b', '2'])
      encoder.setMaxTableSize(40)
      encoder.setMaxTableSize(4_096)
      expect(send(['x-a', '1', 'x-b', '2'])).toEqual(['x-a', '1', 'x-b', '2'])
    })

    it('indexes nothing in a table of no size', () => {
      const encoder = new HpackEncoder()
      encoder.setMaxTableSize(0)
      encode(encoder, [])
      for (let times = 0; times < 2; times++) expect(hexOf(encoder, 'x-a', '@')).toMatch(/^00/)
      expect(hexOf(encoder, ':method', 'GET')).toBe('82')
    })
  })

  describe('when 100,000 different names have come', () => {
    it('remembers those of its tables', () => {
      const encoder = new HpackEncoder()
      const out = Buffer.alloc(1_024)
      for (let count = 0; count < 100_000; count++)
        encoder.encode([`x-${count}`, '1', 'via', `${count}`], out, 0)
      // 39 bytes an entry at least, and the names of the static table.
      expect(encoder.nameCount).toBeLessThan(4_096 / 33 + 61)
      expect(encoder.nameCount).toBeGreaterThan(10)
    })
  })

  describe('when it writes behind an offset', () => {
    it('leaves what is before it, and returns the end', () => {
      const out = Buffer.alloc(8, 0xaa)
      expect(new HpackEncoder().encode([':method', 'GET', ':scheme', 'http'], out, 3)).toBe(5)
      expect(out.toString('hex')).toBe('aaaaaa8286aaaaaa')
    })
  })
})

describe('maxEncodedSize()', () => {
  it('is enough for the longest names and values, with size updates', () => {
    const encoder = new HpackEncoder()
    encoder.setMaxTableSize(1_000)
    encoder.setMaxTableSize(2_000)
    for (const length of [0, 1, 126, 127, 128, 16_510, 200_000]) {
      const field = ['\x01'.repeat(length), '\0'.repeat(length), 'server', '\xff'.repeat(length)]
      const fields = [...field, ...field, ...field, ...field, ...field]
      const out = Buffer.alloc(maxEncodedSize(fields) + 1, 0xaa)
      const end = encoder.encode(fields, out, 0)
      expect(out.at(-1)).toBe(0xaa)
      expect(end).toBeLessThanOrEqual(maxEncodedSize(fields))
      expect(new HpackDecoder(4_096, 1e9).decode(out, 0, end)).toEqual(fields)
    }
  })
})

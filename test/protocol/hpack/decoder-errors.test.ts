import { describe, expect, it } from 'vitest'
import { HpackError } from '../../../src/protocol/hpack/hpack-error.ts'
import { decode, startDecoder, toInteger } from './support.ts'

/** What a fresh decoder throws for a block. */
function failureOf(hex: string): unknown {
  const decoder = startDecoder()
  try {
    return decode(decoder, hex)
  } catch (error) {
    return error
  }
}

/** A name of one octet, and its value as a literal in the Huffman code. */
const huffman = (hex: string): string => `00 0161 ${(0x80 + hex.length / 2).toString(16)} ${hex}`

const BAD_BLOCKS = [
  { section: '§5.1', what: 'an integer ends with the block', hex: '7f', says: 'ends inside an integer' },
  { section: '§5.1', what: 'an integer goes on behind it', hex: '7f80', says: 'ends inside an integer' },
  {
    section: '§5.1',
    what: 'an integer is 2^31',
    hex: toInteger(0x80, 7, 2 ** 31).toString('hex'),
    says: 'larger than 2147483647',
  },
  {
    section: '§5.1',
    what: 'an integer has the most that five octets can say',
    hex: 'ffffffffff7f',
    says: 'larger than 2147483647',
  },
  {
    section: '§5.1',
    what: 'an integer has zeros in a sixth octet',
    hex: 'ff808080808000',
    says: 'more than 5 octets',
  },
  { section: '§5.2', what: 'a name is missing', hex: '00', says: 'ends inside a field' },
  { section: '§5.2', what: 'a value is missing', hex: '000161', says: 'ends inside a field' },
  { section: '§5.2', what: 'a value of an indexed name is missing', hex: '44', says: 'ends inside a field' },
  { section: '§5.2', what: 'a name goes past the end', hex: '000261', says: 'has 2 octets' },
  { section: '§5.2', what: 'a value goes past the end', hex: '0001610261', says: 'ends after 1 ' },
  { section: '§5.2', what: 'a Huffman string goes past the end', hex: '0001618218', says: 'ends after 1 ' },
  { section: '§5.2', what: 'EOS is in a string', hex: huffman('ffffffff'), says: 'EOS' },
  { section: '§5.2', what: 'EOS is followed by a symbol', hex: huffman('fffffffc7f'), says: 'EOS' },
  { section: '§5.2', what: 'EOS comes behind a symbol', hex: huffman('1fffffffff'), says: 'EOS' },
  { section: '§5.2', what: 'the padding has eight bits', hex: huffman('ff'), says: 'padding' },
  { section: '§5.2', what: 'the padding has 15 bits', hex: huffman('1fffff'), says: 'padding' },
  { section: '§5.2', what: 'the padding is of zeros', hex: huffman('18'), says: 'padding' },
  { section: '§5.2', what: 'the last bit of the padding is 0', hex: huffman('1e'), says: 'padding' },
  { section: '§5.2', what: 'the first bit of the padding is 0', hex: huffman('1b'), says: 'padding' },
  { section: '§6.1', what: 'an index is 0', hex: '80', says: 'index 0' },
  { section: '§2.3.3', what: 'an index is behind an empty table', hex: 'be', says: 'Index 62 ' },
  { section: '§2.3.3', what: 'a name is behind an empty table', hex: '7e0161', says: 'Index 62 ' },
  { section: '§2.3.3', what: 'an index is behind an entry', hex: '40016101 62 bf', says: 'end at 62' },
  {
    section: '§2.3.3',
    what: 'a plain literal has put nothing into the table',
    hex: '0001610162 be',
    says: 'end at 61',
  },
  {
    section: '§2.3.3',
    what: 'a never indexed literal has put nothing into the table',
    hex: '1001610162 be',
    says: 'end at 61',
  },
  { section: '§6.3', what: 'the table grows above what was announced', hex: '3fe21f', says: 'at most 4096' },
  {
    section: '§6.3',
    what: 'the second of two size updates is too large',
    hex: '203fe21f',
    says: 'at most 4096',
  },
  { section: '§4.2', what: 'a size update follows a field', hex: '8220', says: 'follows a field' },
  { section: '§4.2', what: 'a size update follows a literal', hex: '00016101623f', says: 'follows a field' },
]

describe('the decoder', () => {
  // The message names the section as well.
  for (const { section, what, hex, says } of BAD_BLOCKS) {
    it(`when ${what} › throws an HpackError (RFC 7541 ${section})`, () => {
      const failure = failureOf(hex)
      expect(failure).toBeInstanceOf(HpackError)
      expect(failure).toMatchObject({ name: 'HpackError' })
      expect(String(failure)).toContain(says)
      expect(String(failure)).toContain(`(RFC 7541 ${section})`)
    })
  }

  describe('when a block is just good', () => {
    const GOOD_BLOCKS = [
      { what: 'nothing', hex: '', list: [] },
      { what: 'the last static index', hex: 'bd', list: ['www-authenticate', ''] },
      // A comma has eight bits, and an 'a' five.
      { what: 'no padding', hex: huffman('fa'), list: ['a', ','] },
      { what: 'three bits of padding', hex: huffman('1f'), list: ['a', 'a'] },
      { what: 'seven bits of padding', hex: huffman('18eeff'), list: ['a', 'aaB'] },
      { what: 'an empty Huffman string', hex: '000161 80', list: ['a', ''] },
      {
        what: 'zeros at the end of an integer, up to its fifth octet',
        hex: `00 0161 7f8180808000 ${'62'.repeat(128)}`,
        list: ['a', 'b'.repeat(128)],
      },
      { what: 'three size updates', hex: '20 3fe11f 21 82', list: [':method', 'GET'] },
    ]
    it.each(GOOD_BLOCKS)('takes $what', (block) => {
      expect(decode(startDecoder(), block.hex)).toEqual(block.list)
    })

    it('takes the index 2^31 - 1 for an integer, and for an index beyond the tables', () => {
      expect(() => decode(startDecoder(), toInteger(0x80, 7, 2 ** 31 - 1).toString('hex'))).toThrow(
        'Index 2147483647 is beyond',
      )
    })
  })

  describe('when it reads a part of a buffer', () => {
    it('stops at its end, and does not look behind it', () => {
      const bytes = Buffer.from('ff828684be', 'hex')
      expect(startDecoder().decode(bytes, 1, 3)).toEqual([':method', 'GET', ':scheme', 'http'])
      expect(() => startDecoder().decode(Buffer.from('00016101', 'hex'), 0, 3)).toThrow('ends inside a field')
      expect(() => startDecoder().decode(Buffer.from('0001610162', 'hex'), 0, 4)).toThrow('ends after 0')
      expect(() => startDecoder().decode(Buffer.from('ff00', 'hex'), 0, 1)).toThrow('ends inside an integer')
    })
  })
})

describe("the decoder's table", () => {
  const entry = (name: string, value: string): string =>
    `40${toInteger(0, 7, name.length).toString('hex')}${Buffer.from(name).toString('hex')}` +
    `${toInteger(0, 7, value.length).toString('hex')}${Buffer.from(value).toString('hex')}`

  describe('when an entry is as large as the table (RFC 7541 §4.4)', () => {
    it('is full of it', () => {
      const decoder = startDecoder(40)
      expect(decode(decoder, `${entry('a', 'b')} ${entry('name', 'four')}be`)).toEqual([
        ...['a', 'b', 'name', 'four', 'name', 'four'],
      ])
      expect(() => decode(decoder, 'bf')).toThrow('end at 62')
    })
  })

  describe('when an entry is larger than the table (RFC 7541 §4.4)', () => {
    it('is empty, and the field is there', () => {
      const decoder = startDecoder(40)
      expect(decode(decoder, `${entry('a', 'b')} ${entry('name', 'fives')}`)).toEqual([
        ...['a', 'b', 'name', 'fives'],
      ])
      expect(() => decode(decoder, 'be')).toThrow('end at 61')
    })
  })

  describe('when a new entry has the name of one that it pushes out (RFC 7541 §4.4)', () => {
    it('has the name still', () => {
      const decoder = startDecoder(40)
      expect(decode(decoder, `${entry('name', 'four')} 7e0131 be`)).toEqual([
        ...['name', 'four', 'name', '1', 'name', '1'],
      ])
    })
  })

  describe('when a size update empties it (RFC 7541 §4.3)', () => {
    it('takes new entries after it has grown again', () => {
      const decoder = startDecoder()
      decode(decoder, entry('a', 'b'))
      expect(decode(decoder, `20 3fe11f ${entry('c', 'd')}be`)).toEqual(['c', 'd', 'c', 'd'])
      expect(() => decode(decoder, 'bf')).toThrow('end at 62')
    })
  })

  describe('when the size that we announced is larger than the default (RFC 7541 §4.2)', () => {
    it('has the default until the peer raises it', () => {
      const big = entry('a', 'b'.repeat(4_090))
      expect(() => decode(startDecoder(65_536), `${big}be`)).toThrow('end at 61')
      expect(decode(startDecoder(65_536), `3fe1ff03 ${big}be`)).toHaveLength(4)
      expect(() => decode(startDecoder(65_536), '3fe2ff03')).toThrow('at most 65536')
    })
  })

  describe('when the peer has acknowledged a smaller size (RFC 7541 §4.2)', () => {
    it('wants a size update first', () => {
      const decoder = startDecoder()
      decoder.setTableSize(100)
      expect(() => decode(decoder, '82')).toThrow(/at most 100 bytes \(RFC 7541 §4\.2\)/)
    })

    it('wants an update to this size or less', () => {
      const decoder = startDecoder()
      decoder.setTableSize(100)
      expect(() => decode(decoder, `${toInteger(0x20, 5, 101).toString('hex')}82`)).toThrow('at most 100')
    })

    it('takes the update, once', () => {
      const decoder = startDecoder()
      decoder.setTableSize(100)
      expect(decode(decoder, `${toInteger(0x20, 5, 100).toString('hex')}82`)).toEqual([':method', 'GET'])
      expect(decode(decoder, '82')).toEqual([':method', 'GET'])
      expect(() => decode(decoder, toInteger(0x20, 5, 101).toString('hex'))).toThrow('at most 100')
    })

    it('wants the smallest of several first, and takes the last one behind it', () => {
      const decoder = startDecoder()
      for (const size of [500, 100, 1_000]) decoder.setTableSize(size)
      const [small, last] = [100, 1_000].map((size) => toInteger(0x20, 5, size).toString('hex'))
      expect(decode(decoder, `${small}${last}82`)).toEqual([':method', 'GET'])

      const strict = startDecoder()
      for (const size of [500, 100, 1_000]) strict.setTableSize(size)
      expect(() => decode(strict, `${last}82`)).toThrow('at most 100')
    })

    it('lets an empty block pass', () => {
      const decoder = startDecoder()
      decoder.setTableSize(100)
      expect(decode(decoder, '')).toEqual([])
      expect(() => decode(decoder, '82')).toThrow('at most 100')
    })

    it('wants no update when the table is that small already', () => {
      const decoder = startDecoder()
      decode(decoder, toInteger(0x20, 5, 50).toString('hex'))
      decoder.setTableSize(100)
      expect(decode(decoder, '82')).toEqual([':method', 'GET'])
    })
  })
})

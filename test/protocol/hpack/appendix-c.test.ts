/** The examples of RFC 7541, appendix C. */

import { describe, expect, it } from 'vitest'
import { HpackEncoder } from '../../../src/protocol/hpack/encoder.ts'
import { decode, encode, startDecoder, toBytes } from './support.ts'

interface Block {
  readonly hex: string
  readonly fields: readonly string[]
  /** The dynamic table behind it, from the newest entry on. */
  readonly table: readonly string[]
}

const GET = [':method', 'GET', ':scheme', 'http', ':path', '/', ':authority', 'www.example.com']
const AUTHORITY = [':authority', 'www.example.com']
const NO_CACHE = ['cache-control', 'no-cache']
const CUSTOM = ['custom-key', 'custom-value']
const REQUESTS: readonly (Omit<Block, 'hex'> & { readonly plain: string; readonly huffman: string })[] = [
  {
    plain: '8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d',
    huffman: '8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff',
    fields: GET,
    table: AUTHORITY,
  },
  {
    plain: '8286 84be 5808 6e6f 2d63 6163 6865',
    huffman: '8286 84be 5886 a8eb 1064 9cbf',
    fields: [...GET, ...NO_CACHE],
    table: [...NO_CACHE, ...AUTHORITY],
  },
  {
    plain: '8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65',
    huffman: '8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf',
    fields: [':method', 'GET', ':scheme', 'https', ':path', '/index.html', ...AUTHORITY, ...CUSTOM],
    table: [...CUSTOM, ...NO_CACHE, ...AUTHORITY],
  },
]

const S302 = [':status', '302']
const S307 = [':status', '307']
const PRIVATE = ['cache-control', 'private']
const DATE_21 = ['date', 'Mon, 21 Oct 2013 20:13:21 GMT']
const DATE_22 = ['date', 'Mon, 21 Oct 2013 20:13:22 GMT']
const LOCATION = ['location', 'https://www.example.com']
const GZIP = ['content-encoding', 'gzip']
const COOKIE = ['set-cookie', 'foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1']
const RESPONSES: typeof REQUESTS = [
  {
    plain:
      '4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133' +
      '2032 303a 3133 3a32 3120 474d 546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63 6f6d',
    huffman:
      '4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6' +
      '2d1b ff6e 919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3',
    fields: [...S302, ...PRIVATE, ...DATE_21, ...LOCATION],
    table: [...LOCATION, ...DATE_21, ...PRIVATE, ...S302],
  },
  {
    plain: '4803 3330 37c1 c0bf',
    huffman: '4883 640e ffc1 c0bf',
    fields: [...S307, ...PRIVATE, ...DATE_21, ...LOCATION],
    table: [...S307, ...LOCATION, ...DATE_21, ...PRIVATE],
  },
  {
    plain:
      '88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d 54c0 5a04 677a 6970' +
      '7738 666f 6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049 5541 5851 5745 4f49 553b 206d 6178 2d61 6765 3d33' +
      '3630 303b 2076 6572 7369 6f6e 3d31',
    huffman:
      '88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab' +
      '77ad 94e7 821d d7f2 e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed 4ee5 b106' +
      '3d50 07',
    fields: [':status', '200', ...PRIVATE, ...DATE_22, ...LOCATION, ...GZIP, ...COOKIE],
    table: [...COOKIE, ...GZIP, ...DATE_22],
  },
]

const SEQUENCES = [
  { section: 'C.3', what: 'requests', tableSize: 4_096, blocks: toBlocks(REQUESTS, 'plain') },
  {
    section: 'C.4',
    what: 'requests in the Huffman code',
    tableSize: 4_096,
    blocks: toBlocks(REQUESTS, 'huffman'),
  },
  {
    section: 'C.5',
    what: 'responses, in a table of 256 bytes',
    tableSize: 256,
    blocks: toBlocks(RESPONSES, 'plain'),
  },
  {
    section: 'C.6',
    what: 'responses in the Huffman code, in a table of 256 bytes',
    tableSize: 256,
    blocks: toBlocks(RESPONSES, 'huffman'),
  },
]

function toBlocks(blocks: typeof REQUESTS, coding: 'plain' | 'huffman'): Block[] {
  return blocks.map((block) => ({ hex: block[coding], fields: block.fields, table: block.table }))
}

/** Decodes blocks, then each index of the dynamic table and the one behind it. */
function decodeAll(tableSize: number, blocks: readonly Block[]): { lists: string[][]; table: string[] } {
  const decoder = startDecoder(tableSize)
  const lists = blocks.map(({ hex }) => decode(decoder, hex))
  const length = (blocks.at(-1)?.table.length ?? 0) / 2
  const indexes = Array.from({ length }, (_none, age) => (0x80 + 62 + age).toString(16))
  const table = decode(decoder, indexes.join(''))
  expect(() => decode(decoder, (0x80 + 62 + length).toString(16))).toThrow('beyond the tables')
  return { lists, table }
}

describe('the decoder', () => {
  describe.each(SEQUENCES)('when it decodes the $what of $section', ({ tableSize, blocks }) => {
    it.each([1, 2, 3])('has the lists and the table of the appendix behind block %i', (count) => {
      const some = blocks.slice(0, count)
      const { lists, table } = decodeAll(tableSize, some)
      expect(lists).toEqual(some.map(({ fields }) => fields))
      expect(table).toEqual(some.at(-1)?.table)
    })
  })

  const SINGLE = [
    {
      section: 'C.2.1, with indexing',
      hex: '400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572',
      fields: ['custom-key', 'custom-header'],
      isIndexed: true,
    },
    {
      section: 'C.2.2, without indexing',
      hex: '040c 2f73 616d 706c 652f 7061 7468',
      fields: [':path', '/sample/path'],
      isIndexed: false,
    },
    {
      section: 'C.2.3, never indexed',
      hex: '1008 7061 7373 776f 7264 0673 6563 7265 74',
      fields: ['password', 'secret'],
      isIndexed: false,
    },
    { section: 'C.2.4, indexed', hex: '82', fields: [':method', 'GET'], isIndexed: false },
  ]
  describe.each(SINGLE)('when it decodes the field of $section', ({ hex, fields, isIndexed }) => {
    it('has the list and the table of the appendix', () => {
      const { lists, table } = decodeAll(4_096, [{ hex, fields, table: isIndexed ? fields : [] }])
      expect(lists).toEqual([fields])
      expect(table).toEqual(isIndexed ? fields : [])
    })
  })

  describe('when it decodes the integers of C.1', () => {
    it('takes 10 in a prefix of five bits', () => {
      const decoder = startDecoder()
      // A size update has this prefix: an entry of 33 bytes is not kept in 10.
      expect(decode(decoder, '2a 40 0161 00')).toEqual(['a', ''])
      expect(() => decode(decoder, 'be')).toThrow('beyond the tables')
    })

    it('takes 1337 in a prefix of five bits', () => {
      const decoder = startDecoder(1_337)
      expect(decode(decoder, '3f9a0a')).toEqual([])
      expect(() => decode(startDecoder(1_336), '3f9a0a')).toThrow('dynamic table to 1337 bytes')
    })

    it('takes 42 at an octet boundary', () => {
      // Without its own prefix octet an integer isn't in HPACK: 42 is a literal's length here, in one octet.
      expect(decode(startDecoder(), `04 2a ${'2f'.repeat(42)}`)).toEqual([':path', '/'.repeat(42)])
    })
  })
})

describe('the encoder', () => {
  it('makes the octets of C.4, whose policy is ours', () => {
    const encoder = new HpackEncoder()
    expect(REQUESTS.map(({ fields }) => encode(encoder, fields))).toEqual(
      REQUESTS.map(({ huffman }) => toBytes(huffman)),
    )
  })

  it.each(SEQUENCES)('is decoded to the lists of $section', ({ tableSize, blocks }) => {
    const encoder = new HpackEncoder()
    encoder.setMaxTableSize(tableSize)
    const decoder = startDecoder()
    for (const { fields } of blocks) {
      const bytes = encode(encoder, fields)
      expect(decoder.decode(bytes, 0, bytes.length)).toEqual(fields)
    }
  })
})

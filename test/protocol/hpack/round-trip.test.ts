import { describe, expect, it } from 'vitest'
import { HpackEncoder } from '../../../src/protocol/hpack/encoder.ts'
import {
  huffmanSize,
  readHuffman,
  toHuffmanLength,
  writeHuffman,
} from '../../../src/protocol/hpack/huffman.ts'
import { encode, Random, startDecoder, toFields } from './support.ts'

describe.each([1, 2])('random lists of seed %i', (seed) => {
  it('when the table changes its size again and again › are decoded to what was encoded', () => {
    const random = new Random(seed)
    const encoder = new HpackEncoder()
    // What the peer has announced bounds our encoder; and its decoder, which is ours here, wants to see that obeyed.
    const decoder = startDecoder(4_096)
    for (let count = 0; count < 3_000; count++) {
      while (random.below(20) === 0) {
        const size = random.pick([0, 31, 64, 100, 500, 1_000, 4_095, 4_096, 5_000, 65_536])
        encoder.setMaxTableSize(size)
        decoder.setTableSize(size)
      }
      const fields = toFields(random)
      const sensitive = random.below(4) === 0 ? new Set(fields.slice(0, 2)) : undefined
      const bytes = encode(encoder, fields, sensitive)
      expect(decoder.decode(bytes, 0, bytes.length)).toEqual(fields)
      expect(decoder.listSize).toBe(fields.join('').length + 16 * fields.length)
      expect(decoder.fault).toBe(null)
    }
  })
})

describe('the Huffman code', () => {
  it('when each octet stands beside each other one › is decoded to what was encoded', () => {
    const coded = Buffer.alloc(64)
    const decoded = Buffer.alloc(64)
    for (let pair = 0; pair < 65_536; pair++) {
      const text = String.fromCharCode(pair >> 8, pair & 0xff, (pair * 31) & 0xff)
      const end = writeHuffman(text, coded, 0, Number.POSITIVE_INFINITY)
      if (end !== huffmanSize(text)) expect.fail(`${JSON.stringify(text)} has ${end} octets`)
      const length = toHuffmanLength(readHuffman(coded, 0, end, decoded))
      if (decoded.toString('latin1', 0, length) !== text) expect.fail(`${JSON.stringify(text)} is another`)
    }
  })

  it('when strings are long › is decoded to what was encoded', () => {
    const random = new Random(5)
    const any = Array.from({ length: 256 }, (_none, octet) => String.fromCharCode(octet)).join('')
    for (let count = 0; count < 300; count++) {
      const text = random.text(random.below(2_000), any)
      const coded = Buffer.alloc(huffmanSize(text))
      expect(writeHuffman(text, coded, 0, Number.POSITIVE_INFINITY)).toBe(coded.length)
      const decoded = Buffer.alloc(Math.ceil((coded.length * 8) / 5) + 2)
      const length = toHuffmanLength(readHuffman(coded, 0, coded.length, decoded))
      expect(decoded.toString('latin1', 0, length)).toBe(text)
    }
  })
})

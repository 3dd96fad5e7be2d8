/**
 * Literals that are not indexed, which a decoder remembers by their octets: as some servers send all of their fields.
 */

import { describe, expect, it } from 'vitest'
import { Random, startDecoder, toHuffmanLiteral, toInteger, toLiteral } from './support.ts'

/** A field without indexing, of a name that is a literal as well. */
const toField = (name: Buffer, value: Buffer): Buffer => Buffer.concat([Buffer.of(0x00), name, value])

describe('a literal that is not indexed', () => {
  describe('when its octets are those of another one in the Huffman code', () => {
    it('is decoded as what it is', () => {
      const decoder = startDecoder()
      const coded = toHuffmanLiteral('aaaaaaaaaaaa').subarray(1)
      const octets = coded.toString('latin1')
      const [raw, huffman] = [toLiteral(octets), toHuffmanLiteral('aaaaaaaaaaaa')]
      for (const [value, expected] of [
        [raw, octets],
        [huffman, 'aaaaaaaaaaaa'],
        [raw, octets],
        [raw, octets],
        [huffman, 'aaaaaaaaaaaa'],
      ] as const) {
        const block = toField(toLiteral('x-name'), value)
        expect(decoder.decode(block, 0, block.length)).toEqual(['x-name', expected])
        const named = toField(value, toLiteral('v'))
        expect(decoder.decode(named, 0, named.length)).toEqual([expected, 'v'])
      }
    })
  })

  describe('when it is one octet too long to be remembered', () => {
    it('leaves what is remembered beside it', () => {
      const decoder = startDecoder()
      // `date` and `etag` are neighbours in the static table.
      for (const [index, value] of [
        [34, 'aaaaaa'],
        [33, 'b'.repeat(33)],
        [34, 'baaaaa'],
        [34, 'c'.repeat(32)],
        [33, 'b'.repeat(33)],
        [34, `b${'c'.repeat(31)}`],
      ] as const) {
        const block = Buffer.concat([toInteger(0x00, 4, index), toLiteral(value)])
        expect(decoder.decode(block, 0, block.length)[1]).toBe(value)
      }
    })
  })

  describe('when it is bad each time it comes', () => {
    it('is said to be, each time', () => {
      const decoder = startDecoder()
      const good = toField(toLiteral('x-name'), toLiteral('a-value'))
      const bad = toField(toLiteral('x-name'), toLiteral('a\nvalue'))
      const badName = toField(toLiteral('X-name'), toLiteral('a-value'))
      const verdicts = [good, bad, bad, good, badName, badName, good].map((block) => {
        decoder.decode(block, 0, block.length)
        return decoder.fault === null
      })
      expect(verdicts).toEqual([true, false, false, true, false, false, true])
    })
  })

  it.each([1, 2])('when names share what is remembered › is decoded as what it is, seed %i', (seed) => {
    const random = new Random(seed)
    const decoder = startDecoder()
    // Few letters and many names: most lengths are just at an edge of what is remembered.
    const names = Array.from({ length: 200 }, () => random.text(random.pick([1, 5, 6, 7, 31, 32, 33]), 'ab'))
    const toText = (): string =>
      random.text(random.pick([0, 1, 5, 6, 7, 9, 12, 13, 31, 32, 33, 51, 52]), 'ab')
    for (let count = 0; count < 20_000; count++) {
      const name = names[random.below(names.length)] ?? ''
      const value = toText()
      const block = toField(
        random.below(2) === 0 ? toLiteral(name) : toHuffmanLiteral(name),
        random.below(2) === 0 ? toLiteral(value) : toHuffmanLiteral(value),
      )
      const list = decoder.decode(block, 0, block.length)
      if (list[0] !== name || list[1] !== value) expect(list).toEqual([name, value])
    }
  })

  it.each([1, 2])('when the name is a static one › is decoded as what it is, seed %i', (seed) => {
    const random = new Random(seed)
    const decoder = startDecoder()
    for (let count = 0; count < 20_000; count++) {
      const [index, name] = random.pick<readonly [number, string]>([
        [33, 'date'],
        [61, 'www-authenticate'],
        [1, ':authority'],
      ])
      const value = random.text(random.pick([5, 6, 7, 8]), 'ab')
      const block = Buffer.concat([
        toInteger(random.pick([0x00, 0x10]), 4, index),
        random.below(2) === 0 ? toLiteral(value) : toHuffmanLiteral(value),
      ])
      expect(decoder.decode(block, 0, block.length)).toEqual([name, value])
    }
  })
})

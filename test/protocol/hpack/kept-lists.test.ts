import { describe, expect, it } from 'vitest'
import { HpackDecoder } from '../../../src/protocol/hpack/decoder.ts'
import { HpackEncoder } from '../../../src/protocol/hpack/encoder.ts'
import { encode, Random, toFields } from './support.ts'

/** A decoder that fills one list again and again: what must not be. */
class ReusingDecoder extends HpackDecoder {
  readonly #list: string[] = []

  override decode(bytes: Buffer, start: number, end: number): string[] {
    this.#list.splice(0, Number.POSITIVE_INFINITY, ...super.decode(bytes, start, end))
    return this.#list
  }
}

/** How many of the lists that a decoder has returned are what they were, when all of them are there. */
function countKept(decoder: HpackDecoder): { lists: number; same: number } {
  const random = new Random(11)
  const encoder = new HpackEncoder()
  const expected: string[][] = []
  const kept: string[][] = []
  // All blocks come in one buffer, as they do from a socket.
  const block = Buffer.alloc(65_536)
  for (let count = 0; count < 2_000; count++) {
    const fields = toFields(random, 6)
    const bytes = encode(encoder, fields)
    bytes.copy(block)
    expected.push(fields)
    kept.push(decoder.decode(block, 0, bytes.length))
    block.fill(0xff, 0, bytes.length)
  }
  const same = kept.filter((list, at) => JSON.stringify(list) === JSON.stringify(expected[at])).length
  return { lists: new Set(kept).size, same }
}

describe('the lists that a decoder has returned', () => {
  it('when later blocks were decoded › are what they were', () => {
    expect(countKept(new HpackDecoder(4_096, 65_536))).toEqual({ lists: 2_000, same: 2_000 })
  })

  it('when a decoder reuses its list › are not, and the same check tells', () => {
    const { lists, same } = countKept(new ReusingDecoder(4_096, 65_536))
    expect(lists).toBe(1)
    expect(same).toBeLessThan(1_000)
  })
})

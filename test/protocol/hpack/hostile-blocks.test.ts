/** Field blocks that no encoder makes. */

import { describe, expect, it } from 'vitest'
import { HpackDecoder } from '../../../src/protocol/hpack/decoder.ts'
import { HpackEncoder } from '../../../src/protocol/hpack/encoder.ts'
import { HpackError } from '../../../src/protocol/hpack/hpack-error.ts'
import { toRounds } from '../../support/clocks/sample.ts'
import { encode, Random, startDecoder, toFields, toInteger } from './support.ts'

const MAX_LIST_SIZE = 65_536
const MEBIBYTE = 2 ** 20

/** What came of many blocks. */
interface Tally {
  lists: number
  errors: number
  /** Errors that are none of HPACK. */
  readonly others: unknown[]
  /** Bytes of the largest list that was kept, as RFC 9113 §6.5.2 counts them. */
  largest: number
}

/** Decodes a block; a decoder that has thrown is followed by a new one. */
function decodeInto(tally: Tally, decoder: HpackDecoder, bytes: Buffer): HpackDecoder {
  try {
    const list = decoder.decode(bytes, 0, bytes.length)
    tally.lists++
    tally.largest = Math.max(tally.largest, list.join('').length + 16 * list.length)
    return decoder
  } catch (error) {
    if (error instanceof HpackError) tally.errors++
    else tally.others.push(error)
    return new HpackDecoder(4_096, MAX_LIST_SIZE)
  }
}

/** Changes, removes, repeats or inserts some octets. */
function mutate(random: Random, block: Buffer): Buffer {
  let bytes = Buffer.from(block)
  for (let times = 1 + random.below(3); times > 0; times--) {
    const at = random.below(bytes.length + 1)
    const end = at + random.below(4)
    const kind = random.below(4)
    if (kind === 0 && at < bytes.length) bytes[at] = (bytes[at] ?? 0) ^ (1 << random.below(8))
    else if (kind === 1) bytes = Buffer.concat([bytes.subarray(0, at), bytes.subarray(end)])
    else if (kind === 2) bytes = Buffer.concat([bytes.subarray(0, end), bytes.subarray(at)])
    else bytes = Buffer.concat([bytes.subarray(0, at), Buffer.of(random.below(256)), bytes.subarray(at)])
  }
  return bytes
}

function startTally(): Tally {
  return { lists: 0, errors: 0, others: [], largest: 0 }
}

describe('the decoder', () => {
  it('when real blocks are mutated › throws nothing but HpackErrors', () => {
    const random = new Random(21)
    const tally = startTally()
    let encoder = new HpackEncoder()
    let decoder = new HpackDecoder(4_096, MAX_LIST_SIZE)
    for (let octets = 0; octets < toRounds(7e6, 2e6); ) {
      const block = encode(encoder, toFields(random, 20))
      const bytes = random.below(4) === 0 ? block : mutate(random, block)
      octets += bytes.length
      const next = decodeInto(tally, decoder, bytes)
      // With the old encoder, most of what follows would be indexes of nothing.
      if (next !== decoder) encoder = new HpackEncoder()
      decoder = next
    }
    expect(tally.others).toEqual([])
    expect(tally.largest).toBeLessThanOrEqual(MAX_LIST_SIZE)
    // Both have to come often, or the test tells nothing.
    expect(tally.lists).toBeGreaterThan(1_500)
    expect(tally.errors).toBeGreaterThan(1_500)
  })

  it('when random octets come › throws nothing but HpackErrors', () => {
    const random = new Random(22)
    const tally = startTally()
    let decoder = new HpackDecoder(4_096, MAX_LIST_SIZE)
    for (let octets = 0; octets < toRounds(3e6, 1e6); ) {
      const bytes = Buffer.alloc(random.below(random.below(10) === 0 ? 2_000 : 40))
      for (let at = 0; at < bytes.length; at++) bytes[at] = random.below(256)
      octets += bytes.length
      decoder = decodeInto(tally, decoder, bytes)
    }
    expect(tally.others).toEqual([])
    expect(tally.largest).toBeLessThanOrEqual(MAX_LIST_SIZE)
    expect(tally.lists).toBeGreaterThan(150)
    expect(tally.errors).toBeGreaterThan(3_000)
  })

  /** Octets again and again, a mebibyte of them. */
  const repeat = (hex: string): Buffer => Buffer.alloc(MEBIBYTE - (MEBIBYTE % (hex.length / 2)), hex, 'hex')
  const entry = Buffer.concat([
    Buffer.from('400178', 'hex'),
    toInteger(0, 7, 4_000),
    Buffer.alloc(4_000, 'v'),
  ])
  const BOMBS: readonly { readonly what: string; readonly block: Buffer; readonly size: number }[] = [
    {
      what: 'an index of a large entry',
      block: Buffer.concat([entry, repeat('be')]),
      size: (MEBIBYTE + 1) * 4_033,
    },
    { what: 'an index of a small entry', block: repeat('82'), size: MEBIBYTE * 42 },
    { what: 'entries without name or value', block: repeat('400000'), size: 349_525 * 32 },
    { what: 'bad literals', block: repeat('0001410100'), size: 209_715 * 34 },
    { what: 'size updates', block: repeat('203fe11f'), size: 0 },
    { what: 'names that are literals', block: repeat('00066162636465660667686970717a'), size: 69_905 * 44 },
    {
      what: 'one string in the Huffman code',
      block: Buffer.concat([
        Buffer.from('000178', 'hex'),
        toInteger(0x80, 7, MEBIBYTE),
        Buffer.alloc(MEBIBYTE),
      ]),
      // Each five zeros are a '0'; what is left over, three, would be bad padding.
      size: -1,
    },
  ]

  it.each(BOMBS)('when a mebibyte of $what comes › keeps no more of it than the limit', (bomb) => {
    const { block, size } = bomb
    const tally = startTally()
    const decoder = new HpackDecoder(4_096, MAX_LIST_SIZE)
    // Far above what it takes, and far below what anything would take that is more than linear.
    const before = process.cpuUsage()
    const same = decodeInto(tally, decoder, block) === decoder
    expect(process.cpuUsage(before).user).toBeLessThan(5e6)
    expect(tally.others).toEqual([])
    expect(tally.largest).toBeLessThanOrEqual(MAX_LIST_SIZE)
    expect(same).toBe(size >= 0)
    if (size >= 0) expect(decoder.listSize).toBe(size)
  })

  it('when a large string in the Huffman code is good › decodes the whole of it', () => {
    const length = MEBIBYTE - (MEBIBYTE % 5)
    const text = '0'.repeat((length / 5) * 8)
    const block = Buffer.concat([
      Buffer.from('000178', 'hex'),
      toInteger(0x80, 7, length),
      Buffer.alloc(length),
    ])
    expect(startDecoder().decode(block, 0, block.length)).toEqual(['x', text])
  })
})

import { Code } from '@connectrpc/connect'
import { describe, expect, it } from 'vitest'
import type { Envelope } from '../../../src/connect/envelopes.ts'
import { EnvelopeReader, toFrame } from '../../../src/connect/envelopes.ts'

const MAX = 0xffff_ffff

const toData = (length: number): Uint8Array => Uint8Array.from({ length }, (_, index) => index % 251)

/** What a reader finds in pieces of a body. */
function readAll(pieces: readonly Uint8Array[], readMaxBytes = MAX): Envelope[] {
  const reader = new EnvelopeReader(readMaxBytes)
  const envelopes: Envelope[] = []
  for (const piece of pieces) reader.read(piece, envelopes)
  reader.end()
  return envelopes
}

describe('an envelope', () => {
  it('is five octets and the message', () => {
    expect([...toFrame(2, Uint8Array.of(7, 8, 9))]).toEqual([2, 0, 0, 0, 3, 7, 8, 9])
  })

  it.each([0, 1, 255, 256, 65_536, 16_777_217])('says a length of %i', (length) => {
    const frame = Buffer.from(toFrame(0, new Uint8Array(length)).buffer)
    expect([frame.readUInt32BE(1), frame.length]).toEqual([length, length + 5])
  })
})

describe('the reader of envelopes', () => {
  const messages = [toData(3), toData(0), toData(300), toData(0)]
  const body = Buffer.concat(messages.map((data, flags) => toFrame(flags, data)))
  const expected = messages.map((data, flags) => ({ flags, data: new Uint8Array(data) }))

  it('finds messages in one piece, and in pieces of one octet', () => {
    expect(readAll([body])).toEqual(expected)
    expect(readAll([...body].map((octet) => Uint8Array.of(octet)))).toEqual(expected)
  })

  it('finds them wherever a piece ends', () => {
    for (let at = 0; at <= body.length; at++) {
      expect(readAll([body.subarray(0, at), body.subarray(at)])).toEqual(expected)
    }
  })

  it('finds one that is larger than what it begins with', () => {
    const data = toData(500_000)
    const frame = toFrame(1, data)
    const pieces = [
      frame.subarray(0, 7),
      frame.subarray(7, 70_000),
      frame.subarray(70_000, 80_000),
      frame.subarray(80_000),
    ]
    const [envelope] = readAll(pieces)
    expect(envelope?.flags).toBe(1)
    expect(Buffer.compare(envelope?.data ?? toData(0), data)).toBe(0)
  })

  it.each([1, 4, 5, 7])('refuses a body that ends behind %i octets', (length) => {
    expect(() => readAll([body.subarray(0, length)])).toThrow(
      expect.objectContaining({ code: Code.Internal }),
    )
  })

  it('refuses a message that is too large when its prefix has come', () => {
    const announced = Uint8Array.of(0, 0xff, 0xff, 0xff, 0xff)
    expect(() => readAll([announced], MAX - 1)).toThrow(
      expect.objectContaining({ code: Code.ResourceExhausted }),
    )
    expect(() => readAll([announced.subarray(0, 4), announced.subarray(4)], 1_000)).toThrow(
      /4294967295 is larger/,
    )
  })

  it('takes no memory for what was announced and has not come', () => {
    const before = process.memoryUsage().arrayBuffers
    const readers = Array.from({ length: 100 }, () => new EnvelopeReader(MAX))
    for (const reader of readers) reader.read(Uint8Array.of(0, 0x7f, 0xff, 0xff, 0xff, 1), [])
    // 100 × 2 GiB were announced.
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(100_000_000)
    expect(readers).toHaveLength(100)
  })

  it('keeps no chunk alive for a message that is a small part of it', () => {
    const chunk = Buffer.alloc(65_536)
    chunk.set(toFrame(0, toData(10)))
    const [small] = readAll([chunk.subarray(0, 15)])
    expect(small?.data.buffer.byteLength).toBe(10)
    const large = Buffer.from(toFrame(0, toData(60_000)).buffer)
    const [whole] = readAll([large])
    expect(whole?.data.buffer.byteLength).toBe(60_005)
  })

  it('gives bytes, and no Buffer: a `bytes` field is a part of them', () => {
    const [small] = readAll([Buffer.from(toFrame(0, toData(10)))])
    const [large] = readAll([Buffer.from(toFrame(0, toData(10_000)).buffer)])
    for (const envelope of [small, large]) {
      expect(Object.getPrototypeOf(envelope?.data)).toBe(Uint8Array.prototype)
    }
  })
})

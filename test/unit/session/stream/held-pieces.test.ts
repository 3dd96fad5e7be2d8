import { describe, expect, it } from 'vitest'
import { HeldPieces } from '../../../../src/session/stream/held-pieces.ts'

/** All held pieces, oldest first. */
function take(held: HeldPieces): Buffer[] {
  const pieces: Buffer[] = []
  for (let piece = held.shift(); piece !== null; piece = held.shift()) pieces.push(piece)
  return pieces
}

/** Bytes that stay alive with these pieces. */
function toMemory(pieces: readonly Buffer[]): number {
  const buffers = new Set(pieces.map(({ buffer }) => buffer))
  return [...buffers].reduce((sum, { byteLength }) => sum + byteLength, 0)
}

describe('pieces that are held', () => {
  it('come back in their order, for any sizes', () => {
    const held = new HeldPieces()
    const sizes = [1, 5_000, 2_047, 2_048, 0, 3, 3, 9_000, 8_000, 500, 700]
    const expected: Buffer[] = []
    for (const [at, size] of sizes.entries()) {
      const chunk = Buffer.alloc(size + 20, at + 1)
      held.addPart(chunk, 10, 10 + size)
      expected.push(Buffer.alloc(size, at + 1))
    }
    expect(Buffer.concat(take(held)).equals(Buffer.concat(expected))).toBe(true)
    expect(held.shift()).toBeNull()
  })

  it('come back in their order, when whole pieces come between small parts', () => {
    const held = new HeldPieces()
    const chunk = Buffer.from('abcdef')
    held.addPart(chunk, 0, 2)
    held.add(Buffer.from('12'))
    held.addPart(chunk, 2, 4)
    held.add(Buffer.from('3'))
    expect(Buffer.concat(take(held)).toString()).toBe('ab12cd3')
  })

  it.each([
    { size: 4_000, chunk: 10_000, isCopied: false },
    { size: 2_048, chunk: 2_048, isCopied: false },
    { size: 2_500, chunk: 20_000, isCopied: true },
    { size: 2_047, chunk: 2_047, isCopied: true },
  ])('of $size bytes, out of a chunk of $chunk › are copied: $isCopied', ({ size, chunk, isCopied }) => {
    const held = new HeldPieces()
    const bytes = Buffer.alloc(chunk, 'c')
    held.addPart(bytes, chunk - size, chunk)
    const piece = held.shift()
    expect(piece?.length).toBe(size)
    expect(piece?.buffer === bytes.buffer).toBe(!isCopied)
  })

  it('are the same objects when each has its own memory', () => {
    const held = new HeldPieces()
    const pieces = [1, 3_000, 2].map((size) => Buffer.alloc(size))
    for (const piece of pieces) held.add(piece)
    expect(held.size).toBe(3_003)
    expect(held.shift()).toBe(pieces[0])
    held.addPart(Buffer.alloc(100), 0, 10)
    expect(held.size).toBe(3_012)
    expect([held.shift(), held.shift(), held.shift()?.length, held.shift()]).toEqual([
      pieces[1],
      pieces[2],
      10,
      null,
    ])
    expect(held.size).toBe(0)
  })

  it('keep their content when others have come and gone', () => {
    const held = new HeldPieces()
    const taken: { readonly piece: Buffer; readonly before: string }[] = []
    for (let round = 0; round < 500; round++) {
      const chunk = Buffer.alloc(3_000, round)
      held.addPart(chunk, 0, 1 + ((round * 37) % 2_500))
      if (round % 3 !== 0) continue
      const piece = held.shift()
      if (piece !== null) taken.push({ piece, before: piece.toString('latin1') })
      // Small pieces were copied: none holds the chunk.
      if (piece !== null && piece.buffer !== chunk.buffer) chunk.fill(0xff)
    }
    expect(taken.length).toBeGreaterThan(100)
    expect(taken.filter(({ piece, before }) => piece.toString('latin1') !== before)).toEqual([])
  })

  it('of one byte each, out of large chunks › take about as much memory as they have bytes', () => {
    const held = new HeldPieces()
    const chunk = Buffer.alloc(65_536)
    for (let count = 0; count < 100_000; count++) held.addPart(chunk, 7, 8)
    const pieces = take(held)
    expect(pieces.reduce((sum, { length }) => sum + length, 0)).toBe(100_000)
    expect(pieces.length).toBeLessThan(20)
    expect(toMemory(pieces)).toBeLessThan(130_000)
  })

  it('of one byte, between large ones › keep no memory of the large ones alive', () => {
    const held = new HeldPieces()
    for (let count = 0; count < 100; count++) {
      held.addPart(Buffer.alloc(10), 0, 1)
      held.addPart(Buffer.alloc(4_096), 0, 4_096)
    }
    expect(toMemory(take(held))).toBeLessThan(100 * 4_096 + 3 * 65_536)
  })
})

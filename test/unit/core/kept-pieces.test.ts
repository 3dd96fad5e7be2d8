import { describe, expect, it } from 'vitest'
import { KeptPieces } from '../../../src/core/kept-pieces.ts'
import { PieceList, toCopy } from '../../../src/core/piece-list.ts'

const CHUNK = 65_536

interface Queue {
  shift(limit: number): Buffer | null
}

/** All kept pieces, oldest first. */
function take(kept: Queue): Buffer[] {
  const pieces: Buffer[] = []
  for (let piece = kept.shift(Infinity); piece !== null; piece = kept.shift(Infinity)) pieces.push(piece)
  return pieces
}

/** Bytes that stay alive with these pieces. */
function toMemory(pieces: readonly Buffer[]): number {
  const buffers = new Set(pieces.map(({ buffer }) => buffer))
  return [...buffers].reduce((sum, { byteLength }) => sum + byteLength, 0)
}

/** Numbers below `below`, always the same. */
function toRandom(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

describe('kept pieces', () => {
  it('come back in their order, for any sizes', () => {
    const kept = new KeptPieces()
    const sizes = [1, 5_000, 2_047, 2_048, 0, 3, 3, 9_000, 8_000, 500, 700]
    const expected: Buffer[] = []
    for (const [at, size] of sizes.entries()) {
      const chunk = Buffer.alloc(size + 20, at + 1)
      kept.addPart(chunk, 10, 10 + size)
      expected.push(Buffer.alloc(size, at + 1))
    }
    expect(kept.size).toBe(27_302)
    expect(Buffer.concat(take(kept)).equals(Buffer.concat(expected))).toBe(true)
    expect(kept.shift()).toBeNull()
    expect(kept.size).toBe(0)
  })

  it('come back in their order, when whole pieces come between parts', () => {
    const kept = new KeptPieces()
    const chunk = Buffer.from('abcdef')
    kept.addPart(chunk, 0, 2)
    kept.add(Buffer.from('12'))
    kept.addPart(chunk, 2, 4)
    kept.add(Buffer.from('3'))
    expect(Buffer.concat(take(kept)).toString()).toBe('ab12cd3')
  })

  it('when joined › are one piece, and none is left', () => {
    const kept = new KeptPieces()
    expect(kept.join().length).toBe(0)
    for (const text of ['ab', '', 'c', 'd'.repeat(5_000)]) kept.add(Buffer.from(text))
    expect(kept.shift(1)?.toString()).toBe('a')
    expect(kept.join().toString()).toBe(`bc${'d'.repeat(5_000)}`)
    expect(kept.size).toBe(0)
    expect(kept.shift()).toBeNull()
  })

  it('when there is one only › is joined uncopied', () => {
    const kept = new KeptPieces()
    const piece = Buffer.alloc(100)
    kept.add(piece)
    expect(kept.join()).toBe(piece)
  })

  it('when dropped › are gone', () => {
    const kept = new KeptPieces()
    for (let count = 0; count < 3; count++) kept.add(Buffer.alloc(5_000))
    kept.clear()
    expect(kept.size).toBe(0)
    expect(kept.shift()).toBeNull()
  })

  it('when empty › take no place', () => {
    const kept = new KeptPieces()
    for (const size of [0, 3, 0]) kept.add(Buffer.alloc(size))
    kept.addPart(Buffer.alloc(5), 2, 2)
    expect(take(kept).map(({ length }) => length)).toEqual([3])
  })

  it('are taken in parts of at most the limit', () => {
    const kept = new KeptPieces()
    // Copies: what Buffer.from() gives pins node's pool, of up to 64 KiB, and would be copied, joined with others.
    kept.add(toCopy(Buffer.from('abcde')))
    expect(kept.shift(2)?.toString()).toBe('ab')
    kept.add(toCopy(Buffer.from('fg')))
    kept.add(Buffer.alloc(3_000, 'h'))
    expect(kept.shift(2)?.toString()).toBe('cd')
    expect(kept.shift(2)?.toString()).toBe('e')
    expect(kept.shift(5)?.toString()).toBe('fg')
    expect(kept.shift(2_999)?.length).toBe(2_999)
    expect(kept.size).toBe(1)
    expect(kept.shift(2)?.toString()).toBe('h')
    expect(kept.shift(2)).toBeNull()
  })

  it.each([
    { size: 16_384, chunk: 16_384, isCopied: false },
    { size: 16_384, chunk: CHUNK, isCopied: false },
    { size: 1, chunk: 32_000, isCopied: false },
    { size: 1_000, chunk: CHUNK, isCopied: false },
    { size: 1_000, chunk: 2 * CHUNK, isCopied: true },
  ])('when only one, of $size bytes in a chunk of $chunk › is copied: $isCopied', ({
    size,
    chunk,
    isCopied,
  }) => {
    const kept = new KeptPieces()
    const bytes = Buffer.alloc(chunk, 'c')
    kept.addPart(bytes, chunk - size, chunk)
    const piece = kept.shift()
    expect(piece?.equals(bytes.subarray(chunk - size))).toBe(true)
    expect(piece?.buffer === bytes.buffer).toBe(!isCopied)
  })

  it('when they take enough of their chunk › are never copied', () => {
    const kept = new KeptPieces()
    for (let count = 0; count < 100; count++) {
      const chunk = Buffer.alloc(CHUNK)
      for (let at = 0; at < CHUNK; at += 16_384) kept.addPart(chunk, at, at + 16_384)
    }
    const pieces = take(kept)
    expect(pieces.length).toBe(400)
    expect(pieces.every(({ buffer }) => buffer.byteLength === CHUNK)).toBe(true)
  })

  it('of a body that comes between others, whose size is known › are one piece in the end', () => {
    const kept = new KeptPieces(65_536)
    for (let at = 0; at < 65_536; at += 8_192) kept.addPart(Buffer.alloc(CHUNK, at / 8_192), 100, 8_292)
    const pieces = take(kept)
    expect(pieces.map(({ length }) => length)).toEqual([65_536])
    expect(toMemory(pieces)).toBe(65_536)
    expect(pieces[0]?.[65_535]).toBe(7)
  })

  it('when more comes than was expected, or less › are the same bytes', () => {
    for (const expected of [0, 1, 40_000, 1e9]) {
      const kept = new KeptPieces(expected)
      for (let at = 0; at < 8; at++) kept.addPart(Buffer.alloc(CHUNK, at), 100, 8_292)
      expect(
        kept.join().equals(Buffer.concat([0, 1, 2, 3, 4, 5, 6, 7].map((n) => Buffer.alloc(8_192, n)))),
      ).toBe(true)
    }
  })

  it('keep their content when others have come and gone', () => {
    const kept = new KeptPieces()
    const taken: { readonly piece: Buffer; readonly before: string }[] = []
    for (let round = 0; round < 500; round++) {
      const chunk = Buffer.alloc(3_000, round)
      kept.addPart(chunk, 0, 1 + ((round * 37) % 2_500))
      if (round % 3 !== 0) continue
      const piece = kept.shift()
      if (piece !== null) taken.push({ piece, before: piece.toString('latin1') })
    }
    expect(taken.length).toBeGreaterThan(100)
    expect(taken.filter(({ piece, before }) => piece.toString('latin1') !== before)).toEqual([])
  })

  it('of one byte each, out of large chunks › take about as much memory as they have bytes', () => {
    const kept = new KeptPieces()
    const chunk = Buffer.alloc(CHUNK)
    for (let count = 0; count < 100_000; count++) kept.addPart(chunk, 7, 8)
    const pieces = take(kept)
    expect(pieces.reduce((sum, { length }) => sum + length, 0)).toBe(100_000)
    expect(pieces.length).toBeLessThan(25)
    expect(toMemory(pieces)).toBeLessThan(130_000)
  })
})

describe('a list of pieces', () => {
  it('counts each ArrayBuffer once', () => {
    const chunk = Buffer.alloc(50_000)
    const list = new PieceList(chunk.subarray(0, 10_000), -1)
    list.add(chunk, 10_000, 30_000)
    expect(list.pinned).toBe(50_000)
    list.add(Buffer.alloc(3_000), 0, 3_000)
    expect(list.pinned).toBe(53_000)
    list.shift(Infinity)
    expect(list.pinned).toBe(53_000)
    list.shift(Infinity)
    expect(list.pinned).toBe(3_000)
  })

  it('when the oldest chunk is mostly taken › copies the rest of it', () => {
    const chunk = Buffer.alloc(300_000, 'r')
    const list = new PieceList(chunk.subarray(0, 290_000), -1)
    list.add(chunk, 290_000, 295_000)
    list.add(chunk, 295_000, 300_000)
    list.shift(Infinity)
    expect(list.pinned).toBeLessThanOrEqual(20_000)
    expect(list.join().toString()).toBe('r'.repeat(10_000))
  })

  it('when most of a large piece was taken in parts › copies the rest of it', () => {
    const list = new PieceList(Buffer.alloc(500_000, 'p'), -1)
    list.add(Buffer.alloc(3_000, 'q'), 0, 3_000)
    for (let part = 0; part < 49; part++) list.shift(10_000)
    expect(list.pinned).toBeLessThanOrEqual(2 * 13_000 + CHUNK)
    expect(list.join().toString()).toBe('p'.repeat(10_000) + 'q'.repeat(3_000))
  })

  it('when the newest chunks are small, and the larger ones are taken › copies the newest', () => {
    const list = new PieceList(Buffer.alloc(CHUNK), -1)
    for (let count = 0; count < 20; count++) list.add(Buffer.alloc(CHUNK), 0, CHUNK)
    for (let count = 0; count < 10; count++) list.add(Buffer.alloc(CHUNK), 0, 3_000)
    expect(list.pinned).toBe(31 * CHUNK)
    for (let count = 0; count < 21; count++) list.shift(Infinity)
    expect(list.size).toBe(30_000)
    expect(list.pinned).toBeLessThanOrEqual(2 * 30_000 + CHUNK)
  })

  it.each([
    1, 2, 3, 4, 5, 6, 7, 8,
  ])('in any order of additions and takes (%i) › counts what is pinned, keeps it low, and keeps the bytes', (seed) => {
    const random = toRandom(seed)
    const kept = new KeptPieces()
    const expected: Buffer[] = []
    const taken: Buffer[] = []
    for (let round = 0; round < 3_000; round++) {
      const chunk = Buffer.alloc(1 + random(random(2) === 0 ? CHUNK : 3_000), random(256))
      let at = 0
      for (let pieces = random(5); pieces >= 0; pieces--) {
        const end = Math.min(chunk.length, at + random([3, 300, 20_000, CHUNK][random(4)] ?? 1))
        kept.addPart(chunk, at, end)
        expected.push(Buffer.from(chunk.subarray(at, end)))
        at = end
      }
      for (let takes = random(random(8) === 0 ? 60 : 4); takes > 0; takes--) {
        const piece = kept.shift(random(3) === 0 ? 1 + random(5_000) : Infinity)
        if (piece !== null) taken.push(Buffer.from(piece))
      }
    }
    const left = kept.size
    const rest = take(kept)
    expect(toMemory(rest)).toBeLessThanOrEqual(2 * left + CHUNK)
    expect(Buffer.concat([...taken, ...rest]).equals(Buffer.concat(expected))).toBe(true)
  })
})

describe('pieces for a reader of the whole body', () => {
  const LARGE = 16_384

  /** A body in pieces of 16 KiB, four to a chunk, of which each pins 64 KiB. */
  function toPieces(size: number): Buffer[] {
    const pieces: Buffer[] = []
    for (let at = 0; at < size; at += CHUNK) {
      const chunk = Buffer.alloc(CHUNK, at / CHUNK)
      for (let part = 0; part < CHUNK && at + part < size; part += LARGE)
        pieces.push(chunk.subarray(part, Math.min(part + LARGE, size - at)))
    }
    return pieces
  }

  it.each([
    { size: 1_048_576, copied: 4 },
    { size: 1_000_001, copied: 4 },
    { size: 10 * 1_048_576, copied: 4.5 * 64 },
  ])('when $size bytes come, as announced › pin no chunk once $copied pieces are here', ({
    size,
    copied,
  }) => {
    const pieces = toPieces(size)
    const list = new PieceList(pieces[0] as Buffer, size)
    for (const [at, piece] of pieces.entries()) {
      if (at === 0) continue
      list.add(piece, 0, piece.length)
      list.gather()
      if (at + 1 < copied) expect(list.pinned).toBe(Math.ceil((at + 1) / 4) * CHUNK)
      else expect(list.pinned).toBe(size)
    }
    expect(list.joinOwn().byteLength).toBe(size)
  })

  it.each([
    -1,
    0,
    100,
    Number.NaN,
    0.5,
    1e15,
    Number.POSITIVE_INFINITY,
    10 * 1_048_576,
    262_143,
  ])('when %d bytes were announced, and 256 KiB come › are kept as they are', (announced) => {
    const pieces = toPieces(262_144)
    const list = new PieceList(pieces[0] as Buffer, announced)
    for (const piece of pieces.slice(1)) {
      list.add(piece, 0, piece.length)
      list.gather()
    }
    expect(list.pinned).toBe(262_144)
    expect(Buffer.from(list.joinOwn()).equals(Buffer.concat(pieces))).toBe(true)
  })

  it.each([1, 2, 3, 4, 5, 6])('in any sizes, with any length announced (%i) › are the same bytes', (seed) => {
    const random = toRandom(seed)
    for (let round = 0; round < 60; round++) {
      const pieces = Array.from({ length: 1 + random(8) }, (_, at) =>
        Buffer.alloc(random(random(2) * 200_000 + 9), at),
      )
      const all = Buffer.concat(pieces)
      const kept = new KeptPieces([-1, all.length, random(2 * all.length + 1), all.length + 1][random(4)])
      // Some came before their reader.
      const early = random(3)
      for (const [at, piece] of pieces.entries()) at < early ? kept.add(piece) : kept.gather(piece)
      expect(kept.size).toBe(all.length)
      const joined = random(2) === 0 ? kept.join() : Buffer.from(kept.joinOwn())
      expect(joined.equals(all)).toBe(true)
      expect(kept.size).toBe(0)
    }
  })
})

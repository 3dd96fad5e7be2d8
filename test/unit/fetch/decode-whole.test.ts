import { randomBytes } from 'node:crypto'
import zlib from 'node:zlib'
import { describe, expect, test, vi } from 'vitest'
import type { Coding } from '../../../src/fetch/coding-layer.ts'
import { decodeWhole, toBrotliSize } from '../../../src/fetch/decode-whole.ts'
import { encodeAll } from './decode-support.ts'

const { BROTLI_PARAM_LGWIN, BROTLI_PARAM_QUALITY } = zlib.constants
const MAX = 65_536

function brotli(bytes: Buffer, window = 22, quality = 5): Buffer {
  return zlib.brotliCompressSync(bytes, {
    params: { [BROTLI_PARAM_LGWIN]: window, [BROTLI_PARAM_QUALITY]: quality },
  })
}

describe('toBrotliSize', () => {
  test.each([10, 16, 17, 18, 22, 24])('tells the exact size with a window of 2^%i bytes', (window) => {
    for (const size of [0, 1, 16, 17, 300, 4096]) {
      for (const bytes of [Buffer.alloc(size, 'json'), randomBytes(size)]) {
        for (const quality of [2, 5, 11]) expect(toBrotliSize(brotli(bytes, window, quality))).toBe(size)
      }
    }
  })

  test('tells the size of a large stream in one meta-block', () => {
    expect(toBrotliSize(brotli(Buffer.alloc(2 ** 23), 24, 9))).toBe(2 ** 23)
  })

  test('tells nothing of a stream of several compressed meta-blocks, or of none', () => {
    expect(toBrotliSize(Buffer.alloc(0))).toBe(Number.POSITIVE_INFINITY)
    expect(toBrotliSize(brotli(Buffer.alloc(2 ** 26), 24, 9))).toBe(Number.POSITIVE_INFINITY)
  })
})

describe('decodeWhole', () => {
  test.each<[Coding]>([['gzip'], ['deflate'], ['br']])('decodes 64 KiB of %s, and no byte more', (coding) => {
    expect(decodeWhole(encodeAll([coding], Buffer.alloc(MAX)), [coding], -1)).toHaveLength(MAX)
    expect(decodeWhole(encodeAll([coding], Buffer.alloc(MAX + 1)), [coding], -1)).toBe(null)
  })

  test('counts the bytes of all codings together', () => {
    const codings: Coding[] = ['gzip', 'gzip']
    const half = randomBytes(MAX / 2)
    expect(decodeWhole(encodeAll(codings, half.subarray(0, 32_000)), codings, -1)).toHaveLength(32_000)
    expect(decodeWhole(encodeAll(codings, half), codings, -1)).toBe(null)
  })

  test('does not begin with a brotli stream that is larger', () => {
    const spy = vi.spyOn(zlib, 'brotliDecompressSync')
    for (const size of [MAX + 1, 2 ** 24, 2 ** 26]) {
      expect(decodeWhole(brotli(Buffer.alloc(size), 24, 9), ['br'], -1)).toBe(null)
    }
    expect(spy).not.toHaveBeenCalled()
    spy.mockRestore()
  })
})

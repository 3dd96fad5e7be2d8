import { describe, expect, it } from 'vitest'
import { readArrayBuffer, readBytes, readText, toText } from '../../../src/core/body-bytes.ts'
import { KeptPieces } from '../../../src/core/kept-pieces.ts'

/** Transfers its memory away, as `postMessage(buffer, [buffer])` does. */
function transfer(buffer: ArrayBuffer): void {
  structuredClone(buffer, { transfer: [buffer] })
  expect(buffer.byteLength).toBe(0)
}

function keep(...pieces: readonly Buffer[]): KeptPieces {
  const kept = new KeptPieces()
  for (const piece of pieces) kept.add(piece)
  return kept
}

describe('readBytes()', () => {
  it('when the only piece is a view › copies it into an ArrayBuffer of its own', () => {
    const chunk = Buffer.from(new Uint8Array([1, 2, 3, 4]).buffer)
    const bytes = readBytes(keep(chunk.subarray(1, 3)))
    expect([...bytes]).toEqual([2, 3])
    expect(bytes.buffer.byteLength).toBe(2)
    transfer(bytes.buffer)
    expect([...chunk]).toEqual([1, 2, 3, 4])
  })

  it('when the only piece has an ArrayBuffer alone › copies it: its source may have it, too', () => {
    const piece = Buffer.from(new Uint8Array([1, 2, 3, 4]).buffer)
    transfer(readBytes(keep(piece)).buffer)
    expect([...piece]).toEqual([1, 2, 3, 4])
  })

  it('when there are several pieces › gives them joined, in an ArrayBuffer of their own', () => {
    for (const size of [1, 10_000]) {
      const bytes = readBytes(keep(Buffer.alloc(size, 1), Buffer.alloc(2 * size, 2)))
      expect(bytes.buffer.byteLength).toBe(3 * size)
      expect([bytes[size - 1], bytes[size]]).toEqual([1, 2])
    }
  })

  it('when there are no bytes › gives an ArrayBuffer that no other empty body has', () => {
    const bytes = readBytes(keep())
    transfer(bytes.buffer)
    expect(readBytes(keep()).length).toBe(0)
    expect(readArrayBuffer(keep()).byteLength).toBe(0)
  })
})

describe('readText()', () => {
  it.each([
    '\ufeffé€😀',
    '\ufeff',
    'plain',
    '',
    '\ufeff\ufeffa',
  ])('of %j › is what TextDecoder gives', (text) => {
    const bytes = Buffer.from(text)
    expect(readText(keep(bytes))).toBe(new TextDecoder().decode(bytes))
    expect(toText(bytes.subarray(0, -1))).toBe(new TextDecoder().decode(bytes.subarray(0, -1)))
  })
})

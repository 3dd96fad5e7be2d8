import { describe, expect, it } from 'vitest'
import { toArrayBuffer, toUint8Array } from '../../../src/core/body-bytes.ts'

/** Transfers its memory away, as `postMessage(bytes, [bytes.buffer])` does. */
function transfer({ buffer }: Uint8Array): void {
  if (!(buffer instanceof ArrayBuffer)) throw new Error('can not be transferred')
  structuredClone(buffer, { transfer: [buffer] })
  expect(buffer.byteLength).toBe(0)
}

describe('toUint8Array()', () => {
  it('when the bytes are a view › copies them into an ArrayBuffer of their own', () => {
    const chunk = Buffer.from(new Uint8Array([1, 2, 3, 4]).buffer)
    const bytes = toUint8Array(chunk.subarray(1, 3))
    expect([...bytes]).toEqual([2, 3])
    expect(bytes.buffer.byteLength).toBe(2)
    transfer(bytes)
    expect([...chunk]).toEqual([1, 2, 3, 4])
  })

  it('when the ArrayBuffer has these bytes alone › copies nothing', () => {
    const joined = Buffer.allocUnsafeSlow(100_000)
    expect(toUint8Array(joined).buffer).toBe(joined.buffer)
  })

  it('when there are no bytes › gives an ArrayBuffer that no other empty body has', () => {
    const empty = Buffer.alloc(0)
    const bytes = toUint8Array(empty)
    transfer(bytes)
    expect(toUint8Array(empty).length).toBe(0)
    expect(toArrayBuffer(empty).byteLength).toBe(0)
  })
})

import { describe, expect, test } from 'vitest'
import { UselessBytes } from '../../../../src/session/node/useless-bytes.ts'

/** What a connection may have had before any time has passed. Bytes. */
const BURST = 1_048_576
const WINDOW = 16_777_216

/** How many bytes may come in all, when nothing was sent and no time has passed. */
function toAllowance(bytes: UselessBytes): number {
  let [low, high] = [0, 2 ** 40]
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (bytes.areTooMany(0, middle, 0)) high = middle - 1
    else low = middle
  }
  return low
}

describe('UselessBytes', () => {
  test('allow a mebibyte, and 64 KiB more for each second', () => {
    const bytes = new UselessBytes(5_000)
    expect(bytes.areTooMany(5_000, BURST, 0)).toBe(false)
    expect(bytes.areTooMany(5_000, BURST + 1, 0)).toBe(true)
    expect(bytes.areTooMany(7_000, BURST + 131_072, 0)).toBe(false)
    expect(bytes.areTooMany(7_000, BURST + 131_073, 0)).toBe(true)
  })

  test.each<[string, number, (bytes: UselessBytes) => void]>([
    ['a piece of data', 1_000 + 9 + 256, (bytes) => bytes.onData(1_000)],
    ['a piece of one byte, with its padding', 1 + 9 + 256, (bytes) => bytes.onData(1)],
    ['a header section', 147_456, (bytes) => bytes.onHeaderSection()],
    [
      'the data that is under way for a stream that was cut off',
      WINDOW + 147_456,
      (bytes) => bytes.onCutOff(WINDOW),
    ],
  ])('allow %s', (_name, size, come) => {
    const bytes = new UselessBytes(0)
    come(bytes)
    expect(toAllowance(bytes)).toBe(BURST + size)
  })

  test('allow two WINDOW_UPDATEs for each byte of ours', () => {
    const bytes = new UselessBytes(0)
    expect(bytes.areTooMany(0, BURST + 26_000, 1_000)).toBe(false)
    expect(bytes.areTooMany(0, BURST + 26_001, 1_000)).toBe(true)
  })

  test('are not judged while a reader holds data back, of which nothing is known', () => {
    const bytes = new UselessBytes(0)
    bytes.hold(true)
    bytes.hold(true)
    bytes.hold(false)
    expect(bytes.areTooMany(0, WINDOW, 0)).toBe(false)
    bytes.hold(false)
    expect(bytes.areTooMany(0, WINDOW, 0)).toBe(true)
  })
})

import { describe, expect, test } from 'vitest'
import { MAX_FRUITLESS_ATTEMPTS, mayReplay } from '../../../src/core/replay.ts'

describe('mayReplay', () => {
  describe('when the server certainly did not act on the attempt', () => {
    test.each([
      [1, true],
      [2, true],
      [3, true],
      [4, false],
      [5, false],
    ])('is bounded: %i fruitless attempts give %s', (fruitless, expected) => {
      expect(MAX_FRUITLESS_ATTEMPTS).toBe(4)
      expect(mayReplay({ processed: 'no', replayable: true, fruitless })).toBe(expected)
    })

    test('is false where the body cannot be had again', () => {
      expect(mayReplay({ processed: 'no', replayable: false, fruitless: 1 })).toBe(false)
    })
  })

  describe('when the server may have acted on the attempt', () => {
    test.each([
      ['maybe', true],
      ['maybe', false],
      ['yes', true],
      ['yes', false],
    ] as const)('is false: processed %s, replayable %s', (processed, replayable) => {
      expect(mayReplay({ processed, replayable, fruitless: 1 })).toBe(false)
    })
  })
})

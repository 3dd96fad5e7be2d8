import { describe, expect, it } from 'vitest'
import { toTurns } from '../../../bench/e2e/measure.mjs'

describe('the turns of a measurement', () => {
  it.each([
    [10_000, 100, 'steady', 10],
    [4_000, 100, 'steady', 8],
    [20_000, 10_000, 'steady', 1],
    [7, 1, 'steady', 1],
    [40, 100, 'steady', 1],
    [4_001, 1, 'steady', 10],
    [16_000, 200, 'rounds', 10],
    [1_800, 200, 'rounds', 1],
    [3_800, 200, 'rounds', 3],
  ] as const)('%i requests, %i in flight, %s: %i turns that come to all of them', (requests, inFlight, pattern, turns) => {
    const sizes = toTurns({ requests, inFlight, pattern })
    expect(sizes).toHaveLength(turns)
    expect(sizes.reduce((sum, size) => sum + size)).toBe(requests)
    // As alike as can be, and no round in two parts.
    const unit = pattern === 'rounds' ? inFlight : 1
    expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(unit)
    expect(sizes.filter((size) => size % unit !== 0)).toEqual([])
  })
})

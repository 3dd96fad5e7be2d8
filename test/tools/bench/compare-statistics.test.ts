import { describe, expect, it } from 'vitest'
import {
  holm,
  median,
  pairedRatio,
  signedRank,
  signedRankInterval,
  visibleShift,
} from '../../../bench/e2e/statistics.mjs'

const SQUARES = [1, 4, 9, 16, 25, 36, 49, 64]

describe('the median', () => {
  it('is the value in the middle, or between the two in the middle, in any order', () => {
    expect([median([3, 1, 2]), median([4, 1, 3, 2]), median([7])]).toEqual([2, 2.5, 7])
  })
})

describe('a paired ratio', () => {
  it('is the median of the ratios within the rounds, and not the ratio of the medians', () => {
    expect(pairedRatio([10, 40, 90], [10, 20, 30]).median).toBe(2)
  })

  it('has an interval that is the same for the same rounds, and lies within them', () => {
    const [a, b] = [SQUARES, SQUARES.map((value) => value + 10)]
    const { low, median: middle, high } = pairedRatio(a, b)
    expect(pairedRatio(a, b)).toEqual({ low, median: middle, high })
    expect([1 / 11 <= low, low < middle, middle < high, high <= 64 / 74]).toEqual(Array(4).fill(true))
  })
})

describe('the signed-rank test', () => {
  it('gives 2 of 2^n when all values are on one side', () => {
    expect(signedRank([1, 2, 3, 4, 5, 6])).toBe(2 / 64)
    expect(signedRank([-1, -2, -3, -4, -5, -6])).toBe(2 / 64)
  })

  it('counts the ways to get rank sums as small: 0, 1 and 2 in one way each when the second rank is against the others', () => {
    expect(signedRank([1, -2, 3, 4, 5, 6, 7, 8])).toBe((2 * 3) / 256)
  })

  it('sees nothing in values that lie evenly about zero, or on it', () => {
    expect(signedRank([-2, -1, 1, 2])).toBe(1)
    expect(signedRank([0, 0, 0, 0, 0, 0, 0, 0])).toBe(1)
  })
})

describe('the interval of the signed-rank test', () => {
  it('spans all values when there are six of them, where one rank sum of 64 lies outside at either end', () => {
    expect(signedRankInterval([1, 2, 3, 4, 5, 6])).toEqual({ centre: 3.5, low: 1, high: 6 })
  })

  it('leaves out three means of pairs at either end when there are eight values, as the tables say', () => {
    // From below 1, 2.5 and 4 come before 5, the mean of 1 and 9; from above 64, 56.5 and 50 before 49.
    expect(signedRankInterval(SQUARES)).toEqual({ centre: 25, low: 5, high: 49 })
  })

  it('has no bounds when there are five values, which prove nothing', () => {
    expect(signedRankInterval([1, 2, 3, 4, 5])).toEqual({ centre: 3, low: -Infinity, high: Infinity })
  })

  it('is wider for a stricter level', () => {
    expect(signedRankInterval(SQUARES, 0.01)).toEqual({ centre: 25, low: 1, high: 64 })
  })
})

describe("Holm's correction", () => {
  it('multiplies the least by the count of tests, the next by one less, and never sinks', () => {
    expect(holm([0.01, 0.04, 0.03, 0.5]).map((value) => Number(value.toFixed(10)))).toEqual([
      0.04, 0.09, 0.09, 0.5,
    ])
  })

  it('never passes 1', () => {
    expect(holm([0.6, 0.9])).toEqual([1, 1])
  })
})

describe('the smallest shift that shows', () => {
  it('is none when nothing scatters, grows as much as the scatter does, and shrinks with more values', () => {
    const values = [-3, -2, -1, 0, 0.5, 1.5, 2, 2.5]
    const shift = visibleShift(values, 0.05)
    expect(visibleShift([5, 5, 5, 5, 5, 5], 0.05)).toBe(0)
    expect(
      visibleShift(
        values.map((value) => value * 2),
        0.05,
      ),
    ).toBeCloseTo(shift * 2, 10)
    expect(visibleShift([...values, ...values, ...values], 0.05)).toBeLessThan(shift)
    // Somewhere about the scatter itself, for so few values.
    expect([shift > 1, shift < 5]).toEqual([true, true])
  })

  it('is what the lowest of six values lies below their centre, nearly always, made wider by the root of 6/5', () => {
    // With six values the interval spans them all, and all but one of 64 drawings have a -1 in them.
    expect(visibleShift([-1, -1, -1, 1, 1, 1], 0.05)).toBeCloseTo(Math.sqrt(6 / 5), 10)
  })

  it('is out of reach when there are too few values', () => {
    expect(visibleShift([1, 2, 3, 4, 5], 0.05)).toBe(Infinity)
  })
})

import { describe, expect, it } from 'vitest'
import { isOutlier, toOutlierThreshold } from '../../../../src/dispatcher/upstream/outliers.ts'

/** Upstreams with so many failures among so many calls. */
function toCounts(failures: readonly number[], calls = 100) {
  return failures.map((count) => ({ successes: calls - count, failures: count }))
}

/** The indexes of the outliers. */
function find(counts: ReturnType<typeof toCounts>): number[] {
  const threshold = toOutlierThreshold(counts)
  return counts.flatMap((count, index) => (isOutlier(count, threshold) ? [index] : []))
}

describe('toOutlierThreshold()', () => {
  it.each([
    ['one of five fails half of its calls', toCounts([0, 0, 50, 0, 0]), [2]],
    ['one of eight fails 20 of 100', toCounts([1, 0, 2, 20, 0, 1, 0, 0]), [3]],
    ['all fail as many', toCounts([30, 31, 29, 30, 30, 32]), []],
    ['half of them fail', toCounts([90, 90, 90, 0, 0, 0]), []],
    ['one fails hardly more than the others', toCounts([0, 0, 0, 0, 0, 4]), []],
    ['there are four', toCounts([0, 0, 0, 90]), []],
    ['there are few calls', toCounts([0, 0, 0, 0, 0, 50], 99), []],
    ['none has a call', toCounts([0, 0, 0, 0, 0, 0], 0), []],
  ])('finds the outliers where %s', (_what, counts, expected) => {
    expect(find(counts)).toEqual(expected)
  })

  it('leaves upstreams with few calls alone', () => {
    const counts = [...toCounts([0, 0, 0, 0, 50]), ...toCounts([99], 99)]
    expect(find(counts)).toEqual([4])
  })
})

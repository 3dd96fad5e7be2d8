import { describe, expect, it } from 'vitest'
import { Histogram } from '../../../../src/cli/load/histogram.ts'

function toHistogram(durations: readonly number[]): Histogram {
  const histogram = new Histogram()
  for (const duration of durations) histogram.record(duration)
  return histogram
}

/** By nearest rank, of all values. */
function toPercentile(durations: readonly number[], share: number): number {
  return (
    durations.toSorted((a, b) => a - b)[Math.max(0, Math.ceil(share * durations.length) - 1)] ?? Number.NaN
  )
}

/** The same ones each time, from 2 µs to about 2 hours. */
const SPREAD = Array.from({ length: 20_000 }, (_, index) => 0.002 * 1.0011 ** index)

const SHARES = [0, 0.1, 0.5, 0.9, 0.99, 0.999, 0.9999, 1]

describe('a histogram', () => {
  it.each(SHARES)('has the percentile %d at most 0.4 %% from what was recorded', (share) => {
    const exact = toPercentile(SPREAD, share)
    const found = toHistogram(SPREAD).percentile(share)
    expect(Math.abs(found / exact - 1)).toBeLessThan(0.004)
  })

  it('has the shortest and the longest duration as they were', () => {
    const histogram = toHistogram([3.3, 17.123_456, 1.000_001])
    expect([histogram.percentile(0), histogram.percentile(1)]).toEqual([1.000_001, 17.123_456])
  })

  it('has the mean and the standard deviation of all', () => {
    expect(toHistogram([2, 4, 4, 4, 5, 5, 7, 9]).toSummary()).toMatchObject({
      min: 2,
      mean: 5,
      stddev: 2,
      max: 9,
    })
  })

  it('takes durations beyond its buckets for the first or the last one', () => {
    const histogram = toHistogram([0, 1e-9, 2 ** 40])
    expect(histogram.total).toBe(3)
    expect([histogram.percentile(0), histogram.percentile(0.5), histogram.percentile(1)]).toEqual([
      0,
      expect.closeTo(2 ** -10, 4),
      2 ** 40,
    ])
  })

  it('when merged, has what all have recorded', () => {
    const merged = toHistogram(SPREAD.filter((_, index) => index % 2 === 0))
    merged.merge(structuredClone(toHistogram(SPREAD.filter((_, index) => index % 2 === 1)).toData()))
    const whole = toHistogram(SPREAD)
    expect(merged.total).toBe(SPREAD.length)
    for (const share of SHARES) expect(merged.percentile(share)).toBe(whole.percentile(share))
    const { mean = 0, stddev = 0 } = whole.toSummary() ?? {}
    expect(merged.toSummary()?.mean).toBeCloseTo(mean, 3)
    expect(merged.toSummary()?.stddev).toBeCloseTo(stddev, 3)
  })

  it('without durations, has no figures', () => {
    const histogram = new Histogram()
    histogram.merge(new Histogram().toData())
    expect(histogram.toSummary()).toBeNull()
    expect(histogram.percentile(0.5)).toBeNaN()
  })
})

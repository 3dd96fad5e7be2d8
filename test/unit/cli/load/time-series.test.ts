import { describe, expect, it } from 'vitest'
import { TimeSeries } from '../../../../src/cli/load/time-series.ts'

function toSeries(times: readonly number[]): TimeSeries {
  const series = new TimeSeries()
  for (const time of times) series.record(time)
  return series
}

/** One event in each 10 ms, up to a time in milliseconds. */
function toSteady(end: number): number[] {
  return Array.from({ length: end / 10 }, (_, index) => index * 10)
}

describe('a time series', () => {
  it('counts by intervals of 100 ms', () => {
    expect(toSeries([0, 99.9, 100, 350]).toData()).toEqual({ width: 100, counts: [2, 1, 0, 1] })
  })

  it('when its intervals are used up, has half as many of twice the width', () => {
    const { width, counts } = toSeries(toSteady(60_000)).toData()
    expect(width).toBe(200)
    expect(counts).toEqual(Array.from({ length: 300 }, () => 20))
  })

  it('has at most 512 intervals, however long it lasts', () => {
    const day = 86_400_000
    const { width, counts } = toSeries([0, 1, day - 1]).toData()
    expect(counts.length).toBeLessThanOrEqual(512)
    expect(width * counts.length).toBeGreaterThanOrEqual(day)
    expect([counts[0], counts.at(-1)]).toEqual([2, 1])
  })

  it.each([
    { one: 60_000, other: 1_000 },
    { one: 1_000, other: 60_000 },
  ])('when merged ($one ms and $other ms), has what both have counted', ({ one, other }) => {
    const merged = toSeries(toSteady(one))
    merged.merge(toSeries(toSteady(other)).toData())
    const { width, counts } = merged.toData()
    expect(width).toBe(200)
    expect(counts).toEqual(Array.from({ length: 300 }, (_, index) => (index < 5 ? 40 : 20)))
  })
})

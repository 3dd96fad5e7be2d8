import { describe, expect, it } from 'vitest'
import { SuccessRate } from '../../../../src/dispatcher/upstream/success-rate.ts'

function start(...results: boolean[]) {
  const rate = new SuccessRate(10_000)
  for (const isSuccess of results) rate.record(isSuccess, 0)
  return rate
}

describe('SuccessRate', () => {
  it('of an upstream that is not known, or never failed, is 1', () => {
    expect(start().at(0)).toBe(1)
    expect(start(true, true).at(0)).toBe(1)
  })

  it('counts one success more than there were, so that it is never 0', () => {
    expect(start(false).at(0)).toBe(1 / 2)
    expect(start(false, false, false).at(0)).toBe(1 / 4)
    expect(start(true, false, true, false).at(0)).toBe(3 / 5)
  })

  it('forgets: after a long time without calls it is 1 again', () => {
    const rate = start(false, false, false)
    expect(rate.at(10_000)).toBeCloseTo(1 / (1 + 3 / Math.E))
    expect(rate.at(200_000)).toBeCloseTo(1)
  })

  it('weighs what is new more than what is old', () => {
    const rate = start(...Array.from({ length: 100 }, () => true))
    for (let i = 0; i < 10; i++) rate.record(false, 60_000)
    expect(rate.at(60_000)).toBeLessThan(0.15)
  })

  it('forgets all by a reset', () => {
    const rate = start(false, false)
    rate.reset()
    expect(rate.at(0)).toBe(1)
  })
})

import { describe, expect, it } from 'vitest'
import { LatencyAverage } from '../../../../src/dispatcher/upstream/latency-average.ts'
import { FakeClock } from '../../../support/clocks/fake-clock.ts'

const WINDOW = 10_000

function start() {
  const clock = new FakeClock()
  const latency = new LatencyAverage(WINDOW)
  return {
    latency,
    record: (sample: number) => latency.record(sample, clock.now()),
    advance: (milliseconds: number) => clock.advance(milliseconds),
    now: () => clock.now(),
    value: () => latency.at(clock.now()),
  }
}

describe('LatencyAverage', () => {
  it('without a sample is not measured, and 0', () => {
    const { latency, value } = start()
    expect([latency.isMeasured, value()]).toEqual([false, 0])
  })

  it('takes the first sample as it is, and the next ones as a mean', () => {
    const { latency, record, value } = start()
    record(40)
    expect([latency.isMeasured, value()]).toEqual([true, 40])
    record(60)
    expect(value()).toBe(50)
    record(80)
    expect(value()).toBe(60)
  })

  it('hardly changes by one sample after many, and follows 60 of them', () => {
    const { record, value } = start()
    for (let i = 0; i < 100; i++) record(10)
    record(100)
    expect(value()).toBeCloseTo(14.5)
    for (let i = 0; i < 60; i++) record(100)
    expect(value()).toBeGreaterThan(95)
  })

  it('falls to 1/e within its window, without samples', () => {
    const { record, advance, value } = start()
    record(500)
    advance(WINDOW)
    expect(value()).toBeCloseTo(500 / Math.E)
  })

  it('follows samples that come seldom at once', () => {
    const { record, advance, value } = start()
    for (let i = 0; i < 30; i++) record(500)
    advance(10 * WINDOW)
    record(10)
    expect(value()).toBeCloseTo(10, 0)
  })

  it('takes a lower bound into account only when it is higher', () => {
    const { latency, record, now, value } = start()
    record(100)
    latency.recordAtLeast(50, now())
    expect(value()).toBe(100)
    latency.recordAtLeast(300, now())
    expect(value()).toBe(200)
  })

  it('forgets all by a reset', () => {
    const { latency, record, value } = start()
    for (let i = 0; i < 30; i++) record(20)
    latency.reset()
    expect([latency.isMeasured, value()]).toEqual([false, 0])
    record(7)
    expect(value()).toBe(7)
  })
})

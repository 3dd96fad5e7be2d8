import { describe, expect, it } from 'vitest'
import { PeakEwma } from '../../../../src/dispatcher/upstream/peak-ewma.ts'
import { FakeClock } from '../../../support/fake-clock.ts'

const WINDOW = 10_000

function start() {
  const clock = new FakeClock()
  const latency = new PeakEwma(WINDOW)
  return {
    latency,
    record: (sample: number) => latency.record(sample, clock.now()),
    advance: (milliseconds: number) => clock.advance(milliseconds),
    now: () => clock.now(),
    value: () => latency.at(clock.now()),
  }
}

describe('PeakEwma', () => {
  it('without a sample is not measured, and 0', () => {
    const { latency, value } = start()
    expect([latency.isMeasured, value()]).toEqual([false, 0])
  })

  it('takes the first sample as it is', () => {
    const { latency, record, value } = start()
    record(40)
    expect([latency.isMeasured, value()]).toEqual([true, 40])
  })

  it('rises to a peak at once', () => {
    const { record, value } = start()
    for (let i = 0; i < 100; i++) record(5)
    record(500)
    expect(value()).toBe(500)
  })

  it('falls to 1/e of a peak within its window, without samples', () => {
    const { record, advance, value } = start()
    record(500)
    advance(WINDOW)
    expect(value()).toBeCloseTo(500 / Math.E)
  })

  it('approaches lower samples, the more slowly the faster they come', () => {
    const [often, seldom] = [start(), start()]
    for (const { record } of [often, seldom]) record(500)
    for (let i = 0; i < 10; i++) {
      often.advance(10)
      often.record(10)
      seldom.advance(10_000)
      seldom.record(10)
    }
    expect(often.value()).toBeGreaterThan(480)
    expect(seldom.value()).toBeCloseTo(10, 0)
  })

  it('takes a lower bound into account only when it is higher', () => {
    const { latency, record, now, value } = start()
    record(100)
    latency.recordAtLeast(50, now())
    expect(value()).toBe(100)
    latency.recordAtLeast(300, now())
    expect(value()).toBe(300)
  })

  it('doubles by a failure, or takes the time until then, whichever is more', () => {
    const { latency, record, now, value } = start()
    record(20)
    latency.recordFailure(1, now())
    expect(value()).toBe(40)
    latency.recordFailure(1_000, now())
    expect(value()).toBe(1_000)
  })

  it('forgets all by a reset', () => {
    const { latency, record, value } = start()
    record(20)
    latency.reset()
    expect([latency.isMeasured, value()]).toEqual([false, 0])
    record(7)
    expect(value()).toBe(7)
  })
})

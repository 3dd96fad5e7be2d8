import { describe, expect, it } from 'vitest'
import { LatencyQuantiles } from '../../../../src/dispatcher/upstream/latency-quantiles.ts'

const WINDOW = 10_000

describe('LatencyQuantiles', () => {
  it('without latencies is 0', () => {
    expect(new LatencyQuantiles(WINDOW, 0).at(0.95, 0)).toBe(0)
  })

  it.each([
    [0.5, 50],
    [0.95, 95],
    [1, 100],
  ])('is right up to a fifth: quantile %d of 1 to 100', (share, exact) => {
    const latencies = new LatencyQuantiles(WINDOW, 0)
    for (let latency = 1; latency <= 100; latency++) latencies.record(latency, 0)
    const found = latencies.at(share, 0)
    expect(found).toBeGreaterThanOrEqual(exact)
    expect(found).toBeLessThanOrEqual(exact * 2 ** (1 / 4))
  })

  it('takes latencies of any size', () => {
    const latencies = new LatencyQuantiles(WINDOW, 0)
    for (const latency of [0, 1e-9, 1e12]) latencies.record(latency, 0)
    expect(latencies.at(0.5, 0)).toBeLessThan(0.1)
    expect(latencies.at(1, 0)).toBeGreaterThan(1e7)
  })

  it('keeps what came in the last window, and forgets what is older than two', () => {
    const latencies = new LatencyQuantiles(WINDOW, 0)
    latencies.record(100, 9_999)
    expect(latencies.at(1, 10_000)).toBeGreaterThanOrEqual(100)
    latencies.record(1, 12_000)
    expect(latencies.at(1, 19_999)).toBeGreaterThanOrEqual(100)
    expect(latencies.at(1, 20_000)).toBeLessThan(2)
    expect(latencies.at(1, 40_001)).toBe(0)
  })

  it('forgets all after a long pause', () => {
    const latencies = new LatencyQuantiles(WINDOW, 0)
    latencies.record(100, 0)
    expect(latencies.at(1, 20_000)).toBe(0)
  })
})

import { describe, expect, it } from 'vitest'
import { BandwidthMeter } from '../../src/protocol/bandwidth.ts'

const MEGABYTE = 1_000_000

/** Flow control doubles the window once a large enough part of it is in flight. */
const FULL = 0.4
function toWindow(meter: BandwidthMeter, now: number, window: number): number {
  const hasGrown = meter.end(now) >= window * FULL
  meter.conclude(now, hasGrown)
  return hasGrown ? window * 2 : window
}

/** A path, and a sender that keeps it as full as the window permits. */
interface Path {
  /** Milliseconds, while nothing stands in a queue. */
  readonly roundTrip: number
  /** Bytes for each millisecond. */
  readonly rate: number
}

/**
 * Measures that many times, and sets the window that the meter asks for.
 *
 * @param queue bytes that stand in a queue before the first measurement
 * @returns the windows, one after the other
 */
function measure({ roundTrip, rate }: Path, window: number, rounds: number, queue = 0): number[] {
  const meter = new BandwidthMeter()
  const windows = [window]
  let now = 5_000
  let current = window
  let waiting = queue
  while (windows.length <= rounds) {
    const isMeasured = meter.begin(now)
    // Bytes beyond the capacity of the path wait in its queue: the round trip takes longer.
    const trip = Math.max(roundTrip, waiting / rate)
    now += trip
    meter.add(Math.min(current, rate * trip))
    waiting = Math.max(0, current - rate * roundTrip)
    if (!isMeasured) continue
    current = toWindow(meter, now, current)
    windows.push(current)
  }
  return windows
}

describe('the window that a meter asks for', () => {
  it('when the path is long and fast › grows until the path is full, and not far beyond', () => {
    // 1 GBit/s over 100 ms: 12.5 MB are on their way.
    const windows = measure({ roundTrip: 100, rate: 125_000 }, MEGABYTE, 60)
    const last = windows.at(-1) ?? 0
    expect(last).toBeGreaterThanOrEqual(12.5 * MEGABYTE)
    expect(last).toBeLessThanOrEqual(4 * 12.5 * MEGABYTE)
    // It doubles every other round trip: what comes within the first one was sent by the window before.
    expect(windows.slice(0, 6)).toEqual([1, 2, 2, 4, 4, 8].map((size) => size * MEGABYTE))
  })

  it.each([
    ['is slow', { roundTrip: 100, rate: 125 }],
    ['is short', { roundTrip: 0.2, rate: 125_000 }],
  ])('when the path %s › stays', (_what, path) => {
    expect(new Set(measure(path, MEGABYTE, 50))).toEqual(new Set([MEGABYTE]))
  })

  it('when the path is slow, and its queue grows longer › keeps its size, however much comes in a round trip', () => {
    // 200 KB are on their way, and 800 KB in the queue.
    expect(new Set(measure({ roundTrip: 100, rate: 2_000 }, MEGABYTE, 50))).toEqual(new Set([MEGABYTE]))
  })

  it('when there was a queue from the start › is at most a few times the size of that queue', () => {
    const windows = measure({ roundTrip: 100, rate: 2_000 }, MEGABYTE, 50, 800_000)
    expect(Math.max(...windows)).toBeLessThanOrEqual(4 * MEGABYTE)
  })
})

describe('a measurement', () => {
  it('when one is under way › is not restarted, and data from before it does not count', () => {
    const meter = new BandwidthMeter()
    meter.add(50 * MEGABYTE)
    expect([meter.begin(0), meter.begin(1)]).toEqual([true, false])
    meter.add(MEGABYTE)
    expect(meter.end(10)).toBe(MEGABYTE)
  })

  it('when a round trip takes longer than the shortest › counts the data of the shortest time', () => {
    const meter = new BandwidthMeter()
    meter.begin(0)
    meter.add(1_000)
    expect(meter.end(10)).toBe(1_000)
    meter.conclude(10, false)
    expect(meter.begin(2_000)).toBe(true)
    meter.add(10_000)
    expect(meter.end(2_100)).toBe(1_000)
  })

  it('when the last one has changed nothing › starts a second later at the earliest', () => {
    const meter = new BandwidthMeter()
    meter.begin(0)
    meter.end(10)
    meter.conclude(10, false)
    expect([11, 1_009, 1_010].map((now) => meter.begin(now))).toEqual([false, false, true])
  })

  it('when the last one has changed something › starts at once, and changes nothing by itself', () => {
    const meter = new BandwidthMeter()
    meter.begin(0)
    meter.add(MEGABYTE)
    meter.end(10)
    meter.conclude(10, true)
    expect(meter.begin(10)).toBe(true)
    meter.add(50 * MEGABYTE)
    expect(meter.end(20)).toBe(0)
  })

  it('when a coarse clock shows no time between its ends › has a finite result', () => {
    const meter = new BandwidthMeter()
    meter.begin(7)
    meter.add(MEGABYTE)
    expect(meter.end(7)).toBe(MEGABYTE)
  })
})

import { afterEach, describe, expect, it, vi } from 'vitest'
import { Backoff, toBackoffDelay } from '../../../src/scheduler/backoff.ts'
import { FakeClock } from '../../support/clocks/fake-clock.ts'

const FIRST_DELAY = 100
const LONGEST_DELAY = 1_000

function setUp() {
  const clock = new FakeClock()
  const ended: number[] = []
  const backoff = new Backoff(clock, () => ended.push(clock.now()))
  return { clock, backoff, ended }
}

/** With a jitter from 0 to 1. */
function toDelay(setbacks: number, jitter: number): number {
  vi.spyOn(Math, 'random').mockReturnValue(jitter)
  return toBackoffDelay(setbacks)
}

afterEach(() => {
  vi.restoreAllMocks()
})

describe('Backoff', () => {
  it.each([0, 1])('has no delay after %i setbacks', (setbacks) => {
    const { clock, backoff, ended } = setUp()
    backoff.start(setbacks, true)
    expect([backoff.isWaiting, clock.made, ended]).toEqual([false, 0, []])
  })

  it('doubles the delay, up to a maximum', () => {
    const delays = [2, 3, 4, 5, 6, 7, 8, 50, 2_000].map((setbacks) => toDelay(setbacks, 1))
    expect(delays).toEqual([FIRST_DELAY, 200, 400, 800, ...Array(5).fill(LONGEST_DELAY)])
  })

  it.each([2, 5, 100])('is at least half of the full delay: after %i setbacks', (setbacks) => {
    const longest = toDelay(setbacks, 1)
    expect(toDelay(setbacks, 0)).toBe(longest / 2)
    expect(toDelay(setbacks, 0.5)).toBe(longest * 0.75)
  })

  it('varies the delay: clients that lost the same server do not reconnect in step', () => {
    const delays = Array.from({ length: 100 }, () => toBackoffDelay(7))
    expect(new Set(delays).size).toBeGreaterThan(90)
    expect(Math.min(...delays)).toBeGreaterThanOrEqual(LONGEST_DELAY / 2)
    expect(Math.max(...delays)).toBeLessThanOrEqual(LONGEST_DELAY)
  })

  it('reports its end once, and has ended by then', () => {
    const clock = new FakeClock()
    const seen: boolean[] = []
    const backoff: Backoff = new Backoff(clock, () => seen.push(backoff.isWaiting))
    backoff.start(2, true)
    expect(backoff.isWaiting).toBe(true)
    clock.advance(FIRST_DELAY / 2 - 1)
    expect(seen).toEqual([])
    clock.advance(10 * LONGEST_DELAY)
    expect(seen).toEqual([false])
  })

  it('can be started again from the callback of its end', () => {
    const clock = new FakeClock()
    let ends = 0
    const backoff: Backoff = new Backoff(clock, () => {
      if (++ends < 5) backoff.start(ends + 2, true)
    })
    backoff.start(2, true)
    clock.advance(10 * LONGEST_DELAY)
    expect([ends, backoff.isWaiting, clock.alarms]).toEqual([5, false, 0])
  })

  it('is not prolonged by a setback during the delay', () => {
    const { clock, backoff, ended } = setUp()
    backoff.start(2, true)
    backoff.start(50, true)
    expect(clock.made).toBe(1)
    clock.advance(FIRST_DELAY)
    expect(ended).toHaveLength(1)
  })

  it('keeps the process alive while a call waits for its end', () => {
    const { clock, backoff } = setUp()
    backoff.setRef(true)
    backoff.start(2, false)
    expect(clock.referenced).toBe(0)
    backoff.setRef(true)
    expect(clock.referenced).toBe(1)
    backoff.setRef(false)
    expect(clock.referenced).toBe(0)
    backoff.stop()
    backoff.start(2, true)
    expect(clock.referenced).toBe(1)
  })

  it('reports nothing when it was stopped, and can be started again', () => {
    const { clock, backoff, ended } = setUp()
    backoff.stop()
    backoff.start(2, true)
    backoff.stop()
    expect([backoff.isWaiting, clock.alarms]).toEqual([false, 0])
    clock.advance(10 * LONGEST_DELAY)
    expect(ended).toEqual([])
    backoff.start(2, true)
    clock.advance(FIRST_DELAY)
    expect(ended).toHaveLength(1)
  })
})

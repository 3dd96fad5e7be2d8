import { afterEach, describe, expect, test, vi } from 'vitest'
import type { Call } from '../../../src/call/call.ts'
import type { Alarm, OnAlarm } from '../../../src/core/clock.ts'
import { DelayedCalls } from '../../../src/scheduler/delayed-calls.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { Scene } from '../call/call-scene.ts'

const FIRST_DELAY = 100
const LONGEST_DELAY = 1_000
/** A deadline may be met this much later, in milliseconds. */
const RESOLUTION = 50

/** Records whether one of its alarms would keep the process alive. */
class WatchedClock extends FakeClock {
  readonly referenced = new Set<Alarm>()

  override after(delay: number, callback: OnAlarm): Alarm {
    const inner = super.after(delay, (rungAt) => {
      this.referenced.delete(alarm)
      callback(rungAt)
    })
    const alarm: Alarm = {
      cancel: () => {
        this.referenced.delete(alarm)
        inner.cancel()
      },
      setRef: (isNeeded) => {
        if (isNeeded) this.referenced.add(alarm)
        else this.referenced.delete(alarm)
      },
    }
    return alarm
  }
}

/** Calls of one kind are equal to each other: these ids distinguish them. */
const names = new WeakMap<Call, string>()

function toCall(name = 'call'): Call {
  const { call } = new Scene()
  names.set(call, name)
  return call
}

function toNames(calls: readonly Call[]): (string | undefined)[] {
  return calls.map((call) => names.get(call))
}

/** @param jitter from 0 to 1 */
function setUp(jitter = 1) {
  vi.spyOn(Math, 'random').mockReturnValue(jitter)
  const clock = new WatchedClock()
  const released: (string | undefined)[] = []
  const delayed: DelayedCalls = new DelayedCalls(clock, (call) => {
    expect(delayed.toArray()).not.toContain(call)
    released.push(names.get(call))
  })
  return { clock, delayed, released }
}

afterEach(() => {
  vi.restoreAllMocks()
})

describe('DelayedCalls', () => {
  test.each([0, 1])('delays no call after %i setbacks: its delay is 0', (setbacks) => {
    const { clock, delayed } = setUp()
    expect(delayed.add(toCall(), setbacks)).toBe(false)
    expect([delayed.size, delayed.toArray(), clock.made]).toEqual([0, [], 0])
  })

  test.each([
    { setbacks: 2, jitter: 1, delay: FIRST_DELAY },
    { setbacks: 2, jitter: 0, delay: FIRST_DELAY / 2 },
    { setbacks: 3, jitter: 1, delay: 2 * FIRST_DELAY },
    { setbacks: 5, jitter: 0.5, delay: 600 },
    { setbacks: 8, jitter: 1, delay: LONGEST_DELAY },
  ])('delays a call for $delay ms after $setbacks setbacks, with a jitter of $jitter', ({
    setbacks,
    jitter,
    delay,
  }) => {
    const { clock, delayed, released } = setUp(jitter)
    const call = toCall()
    expect(delayed.add(call, setbacks)).toBe(true)
    clock.advance(delay - 1)
    expect([released, delayed.size]).toEqual([[], 1])
    clock.advance(1)
    expect(released).toEqual(['call'])
    expect(delayed.size).toBe(0)
    clock.advance(LONGEST_DELAY)
    expect(released).toHaveLength(1)
  })

  test('delays each call separately', () => {
    const { clock, delayed, released } = setUp()
    const [long, short, originalSetImmediate] = [toCall('long'), toCall('short'), toCall('later')]
    delayed.add(long, 6)
    delayed.add(short, 2)
    clock.advance(FIRST_DELAY)
    expect(released).toEqual(['short'])
    delayed.add(originalSetImmediate, 2)
    clock.advance(FIRST_DELAY + RESOLUTION)
    expect(released).toEqual(['short', 'later'])
    expect(toNames(delayed.toArray())).toEqual(['long'])
    clock.advance(16 * FIRST_DELAY)
    expect(released).toEqual(['short', 'later', 'long'])
  })

  test('removes a call that has settled, and never releases it', () => {
    const { clock, delayed, released } = setUp()
    const [gone, left] = [toCall('gone'), toCall('left')]
    delayed.add(gone, 2)
    delayed.add(left, 2)
    expect(delayed.delete(gone)).toBe(true)
    expect(delayed.delete(gone)).toBe(false)
    expect(delayed.delete(toCall())).toBe(false)
    expect(toNames(delayed.toArray())).toEqual(['left'])
    clock.advance(FIRST_DELAY)
    expect(released).toEqual(['left'])
    expect(delayed.delete(left)).toBe(false)
  })

  test('accepts a call again after its release, also from within the callback', () => {
    vi.spyOn(Math, 'random').mockReturnValue(1)
    const clock = new WatchedClock()
    const at: number[] = []
    const delayed: DelayedCalls = new DelayedCalls(clock, (call) => {
      at.push(clock.now() - start)
      if (at.length < 3) delayed.add(call, 2)
    })
    const start = clock.now()
    delayed.add(toCall(), 2)
    clock.advance(LONGEST_DELAY)
    expect(at).toEqual([FIRST_DELAY, 2 * FIRST_DELAY, 3 * FIRST_DELAY])
    expect([delayed.size, clock.alarms, clock.referenced.size]).toEqual([0, 0, 0])
  })

  describe('keeps the process alive', () => {
    test('while it has a call, whatever happened to earlier ones', () => {
      const { clock, delayed } = setUp()
      const [first, second] = [toCall('first'), toCall('second')]
      delayed.add(first, 2)
      expect(clock.referenced.size).toBe(1)
      delayed.add(second, 6)
      clock.advance(FIRST_DELAY)
      expect(toNames(delayed.toArray())).toEqual(['second'])
      expect(clock.referenced.size).toBe(1)
      clock.advance(16 * FIRST_DELAY)
      expect([delayed.size, clock.alarms, clock.referenced.size]).toEqual([0, 0, 0])
    })

    test('no longer than until the last one has settled', () => {
      const { clock, delayed } = setUp()
      const [first, second] = [toCall('first'), toCall('second')]
      delayed.add(first, 2)
      delayed.add(second, 6)
      delayed.delete(first)
      expect(clock.referenced.size).toBe(1)
      delayed.delete(second)
      expect([clock.alarms, clock.referenced.size]).toEqual([0, 0])
      // The same for the next call.
      delayed.add(first, 2)
      expect(clock.referenced.size).toBe(1)
    })
  })
})

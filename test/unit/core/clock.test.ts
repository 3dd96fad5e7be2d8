import { once } from 'node:events'
import type { AddressInfo, Socket } from 'node:net'
import { connect, createServer } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import type { Alarm, OnAlarm, Timed } from '../../../src/core/clock.ts'
import { Deadlines, systemClock } from '../../../src/core/clock.ts'
import { FakeClock } from '../../support/clocks/fake-clock.ts'
import { listen } from '../../support/servers/listen.ts'

/** The longest that a deadline may be met after its time, in milliseconds. */
const RESOLUTION = 50

const NEVER = Number.POSITIVE_INFINITY

class Item implements Timed {
  deadline = Number.POSITIVE_INFINITY
  listIndex = -1
  /** When it was told that it is late. */
  readonly late: number[] = []
  readonly #clock: FakeClock
  readonly #then: () => void

  constructor(clock: FakeClock, then: () => void = () => {}) {
    this.#clock = clock
    this.#then = then
  }

  onDeadline(): void {
    this.late.push(this.#clock.now())
    this.#then()
  }
}

/** Late in `delay` milliseconds from now. */
function setIn(deadlines: Deadlines, item: Timed, delay: number): void {
  const now = deadlines.now()
  deadlines.set(item, now + delay, now)
}

function setUp() {
  const clock = new FakeClock(0)
  return { clock, deadlines: new Deadlines(clock) }
}

describe('Deadlines', () => {
  describe('when a deadline is set', () => {
    it('meets it at its time, once', () => {
      const { clock, deadlines } = setUp()
      const item = new Item(clock)
      setIn(deadlines, item, 300)
      clock.advance(299)
      expect(item.late).toEqual([])
      clock.advance(10_000)
      expect(item.late).toEqual([300])
    })

    it('holds the item until then', () => {
      const { clock, deadlines } = setUp()
      const item = new Item(clock)
      setIn(deadlines, item, 300)
      expect(deadlines.size).toBe(1)
      expect(item.deadline).toBe(300)
      expect(item.listIndex).not.toBe(-1)
      clock.advance(300)
      expect(deadlines.size).toBe(0)
      expect(item.deadline).toBe(Number.POSITIVE_INFINITY)
      expect(item.listIndex).toBe(-1)
    })
  })

  describe('when a deadline is Infinity', () => {
    it('never comes', () => {
      const { clock, deadlines } = setUp()
      const item = new Item(clock)
      setIn(deadlines, item, NEVER)
      clock.advance(2 ** 31)
      expect(item.late).toEqual([])
      expect(clock.made).toBe(0)
    })

    it('can be set again to come', () => {
      const { clock, deadlines } = setUp()
      const item = new Item(clock)
      setIn(deadlines, item, 300)
      setIn(deadlines, item, NEVER)
      clock.advance(1_000)
      setIn(deadlines, item, 300)
      clock.advance(1_000)
      expect(item.late).toEqual([1_300])
      expect(deadlines.size).toBe(0)
    })
  })

  describe('when a deadline has passed already', () => {
    it('meets it at once', () => {
      const { clock, deadlines } = setUp()
      clock.advance(1_000)
      const item = new Item(clock)
      deadlines.set(item, 400, 1_000)
      clock.advance(0)
      expect(item.late).toEqual([1_000])
    })
  })

  describe('when a deadline is moved', () => {
    it('is met at the later time, within the resolution', () => {
      const { clock, deadlines } = setUp()
      const item = new Item(clock)
      setIn(deadlines, item, 300)
      clock.advance(290)
      setIn(deadlines, item, 300)
      clock.advance(299)
      expect(item.late).toEqual([])
      clock.advance(1 + RESOLUTION)
      expect(item.late).toHaveLength(1)
    })

    it('is met at the earlier time', () => {
      const { clock, deadlines } = setUp()
      const item = new Item(clock)
      setIn(deadlines, item, 300)
      setIn(deadlines, item, 100)
      clock.advance(10_000)
      expect(item.late).toEqual([100])
    })

    it('asks for no alarm each time', () => {
      const { clock, deadlines } = setUp()
      const item = new Item(clock)
      for (let i = 0; i < 1_000; i++) {
        setIn(deadlines, item, 300)
        clock.skip(0.1)
      }
      expect(clock.made).toBe(1)
      expect(deadlines.size).toBe(1)
    })
  })

  describe('when an item is deleted', () => {
    it.each([0, 1, 2, 3])('leaves the others: item %i of 4', (index) => {
      const { clock, deadlines } = setUp()
      const items = [100, 200, 300, 400].map((time) => {
        const item = new Item(clock)
        setIn(deadlines, item, time)
        return item
      })
      const deleted = items[index]
      if (deleted === undefined) throw new Error('The table names an item that is not there')
      deadlines.delete(deleted)
      expect(deadlines.size).toBe(3)
      clock.advance(10_000)
      expect(items.map((item) => item.late)).toEqual(
        [100, 200, 300, 400].map((time, at) => (at === index ? [] : [time])),
      )
      expect(deadlines.size).toBe(0)
    })

    it('may be deleted again, or before it was set', () => {
      const { clock, deadlines } = setUp()
      const other = new Item(clock)
      const item = new Item(clock)
      setIn(deadlines, other, 300)
      deadlines.delete(item)
      setIn(deadlines, item, 200)
      deadlines.delete(item)
      deadlines.delete(item)
      expect(deadlines.size).toBe(1)
      clock.advance(300)
      expect(other.late).toEqual([300])
    })
  })

  describe('when several are late', () => {
    it('tells them in the order of their times', () => {
      const { clock, deadlines } = setUp()
      const told: string[] = []
      for (const [name, time] of [
        ['c', 900],
        ['a', 300],
        ['b', 600],
      ] as const) {
        setIn(deadlines, new Item(clock, () => told.push(name)), time)
      }
      clock.advance(1_000)
      expect(told).toEqual(['a', 'b', 'c'])
    })

    it('tells all of them at once when the process was busy', () => {
      const { clock, deadlines } = setUp()
      const items = [100, 200, 300, 5_000].map((time) => {
        const item = new Item(clock)
        setIn(deadlines, item, time)
        return item
      })
      clock.skip(1_000)
      clock.advance(0)
      expect(items.map((item) => item.late)).toEqual([[1_000], [1_000], [1_000], []])
      expect(deadlines.size).toBe(1)
      clock.advance(4_000)
      expect(items[3]?.late).toEqual([5_000])
    })
  })

  describe('when time passes between an alarm and its call', () => {
    /** Takes 30 ms for what waits to be read. */
    class Reading extends FakeClock {
      override after(delay: number, callback: OnAlarm): Alarm {
        return super.after(delay, (rungAt) => {
          this.skip(30)
          callback(rungAt)
        })
      }
    }

    it('leaves the items that are due since for the next alarm', () => {
      const clock = new Reading(0)
      const deadlines = new Deadlines(clock)
      const items = [100, 101, 130, 131].map((time) => {
        const item = new Item(clock)
        setIn(deadlines, item, time)
        return item
      })
      clock.advance(100)
      expect(items.map((item) => item.late)).toEqual([[130], [], [], []])
      clock.advance(200)
      const next = 130 + RESOLUTION + 30
      expect(items.map((item) => item.late)).toEqual([[130], [next], [next], [next]])
    })
  })

  describe('when onDeadline changes the list', () => {
    it('takes an item that is added', () => {
      const { clock, deadlines } = setUp()
      const added = new Item(clock)
      setIn(deadlines, new Item(clock, () => setIn(deadlines, added, 200)), 100)
      clock.advance(10_000)
      expect(added.late).toEqual([300])
    })

    it('takes the item itself again', () => {
      const { clock, deadlines } = setUp()
      const item = new Item(clock, () => {
        if (item.late.length < 3) setIn(deadlines, item, 100)
      })
      setIn(deadlines, item, 100)
      clock.advance(10_000)
      expect(item.late).toEqual([100, 200, 300])
      expect(deadlines.size).toBe(0)
    })

    it('tells those behind an item that throws, too', () => {
      const { clock, deadlines } = setUp()
      const thrower = new Item(clock, () => {
        throw new Error('of a listener')
      })
      const behind = new Item(clock)
      const originalSetImmediate = new Item(clock)
      setIn(deadlines, thrower, 100)
      setIn(deadlines, behind, 100)
      setIn(deadlines, originalSetImmediate, 500)
      expect(() => clock.advance(100)).toThrow('of a listener')
      clock.advance(RESOLUTION)
      expect(behind.late).toHaveLength(1)
      clock.advance(500)
      expect(originalSetImmediate.late).toHaveLength(1)
      expect(thrower.late).toHaveLength(1)
    })

    describe('and the other one is late too', () => {
      it('does without an item that is deleted', () => {
        const { clock, deadlines } = setUp()
        const deleted = new Item(clock)
        setIn(deadlines, new Item(clock, () => deadlines.delete(deleted)), 100)
        setIn(deadlines, deleted, 100)
        clock.advance(10_000)
        expect(deleted.late).toEqual([])
      })

      it('meets an item at the time that it is moved to', () => {
        const { clock, deadlines } = setUp()
        const moved = new Item(clock)
        setIn(deadlines, new Item(clock, () => setIn(deadlines, moved, 500)), 100)
        setIn(deadlines, moved, 100)
        clock.advance(10_000)
        expect(moved.late).toEqual([600])
      })
    })
  })

  describe('when there are 10,000 items', () => {
    function fill(clock: FakeClock, deadlines: Deadlines, toDelay: (index: number) => number): Item[] {
      return Array.from({ length: 10_000 }, (_, index) => {
        const item = new Item(clock)
        setIn(deadlines, item, toDelay(index))
        return item
      })
    }

    it('has one alarm for them', () => {
      const { clock, deadlines } = setUp()
      const items = fill(clock, deadlines, () => 300)
      expect(clock.made).toBe(1)
      expect(deadlines.size).toBe(10_000)
      clock.advance(300)
      expect(items.every((item) => item.late.length === 1)).toBe(true)
      expect(clock.made).toBe(1)
      expect(clock.alarms).toBe(0)
    })

    it('has one alarm at a time when each is due before the one before', () => {
      const { clock, deadlines } = setUp()
      const items = fill(clock, deadlines, (index) => 20_000 - index)
      expect(clock.alarms).toBe(1)
      clock.advance(20_000 + RESOLUTION)
      expect(items.every((item) => item.late.length === 1)).toBe(true)
      expect(clock.alarms).toBe(0)
    })

    it('meets staggered deadlines within the resolution, and looks no more often', () => {
      const { clock, deadlines } = setUp()
      const items = fill(clock, deadlines, (index) => 1_000 + index)
      clock.advance(20_000)
      const lateness = items.map((item, index) => (item.late[0] ?? Number.NaN) - (1_000 + index))
      expect(Math.min(...lateness)).toBe(0)
      expect(Math.max(...lateness)).toBeLessThanOrEqual(RESOLUTION)
      expect(clock.made).toBeLessThanOrEqual(1 + 10_000 / RESOLUTION)
    })
  })

  describe('when nothing is left to be late', () => {
    it('sets no new alarm', () => {
      const { clock, deadlines } = setUp()
      const item = new Item(clock)
      setIn(deadlines, item, 300)
      deadlines.delete(item)
      clock.advance(10_000)
      expect(clock.made).toBe(1)
      expect(clock.alarms).toBe(0)
    })
  })

  describe('when it is stopped', () => {
    it('has no alarm left', () => {
      const { clock, deadlines } = setUp()
      const item = new Item(clock)
      setIn(deadlines, item, 300)
      deadlines.stop()
      expect(clock.alarms).toBe(0)
      clock.advance(10_000)
      expect(item.late).toEqual([])
    })

    it('starts again with the next item', () => {
      const { clock, deadlines } = setUp()
      const item = new Item(clock)
      const next = new Item(clock)
      setIn(deadlines, item, 300)
      deadlines.stop()
      setIn(deadlines, next, 400)
      clock.advance(10_000)
      expect(next.late).toEqual([400])
      expect(item.late).toEqual([400])
    })
  })
})

describe('systemClock', () => {
  describe('when an alarm is set', () => {
    // Those of a test, which it isn't to hear of.
    beforeEach(() => {
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
    })
    afterEach(() => {
      vi.useRealTimers()
    })

    /** Settles with the real time at which it rings. */
    function ring(delay: number): Promise<number> {
      return new Promise((resolve) => systemClock.after(delay, () => resolve(systemClock.now())))
    }

    it('calls back once, after that many real milliseconds', async () => {
      let called = 0
      const start = systemClock.now()
      systemClock.after(20, () => called++)
      vi.advanceTimersByTime(10_000)
      expect(called).toBe(0)
      // Node's timers know whole milliseconds alone.
      expect((await ring(20)) - start).toBeGreaterThan(18)
      await ring(20)
      expect(called).toBe(1)
    })

    it('does not call back once it is cancelled', async () => {
      const called: string[] = []
      const alarm = systemClock.after(1, () => called.push('cancelled'))
      alarm.cancel()
      alarm.cancel()
      await ring(20)
      expect(called).toEqual([])
    })

    it('leaves the others alone when it is cancelled after it has rung', async () => {
      const called: string[] = []
      const alarm = systemClock.after(1, () => called.push('first'))
      await ring(5)
      systemClock.after(1, () => called.push('second'))
      alarm.cancel()
      await ring(20)
      expect(called).toEqual(['first', 'second'])
    })
  })

  describe('when the process comes late to an alarm', () => {
    /** Notes what happens to a process that is busy when bytes come, and then its alarm is due. */
    async function play(onRead: (alarm: Alarm) => void): Promise<string[]> {
      const told: string[] = []
      const server = createServer()
      await listen(server)
      const { port } = server.address() as AddressInfo
      const socket = connect(port, '127.0.0.1')
      onTestFinished(() => void socket.destroy())
      const [far] = (await once(server, 'connection')) as [Socket]
      await setImmediate()
      const alarm = systemClock.after(10, () => told.push('rings'))
      socket.once('data', () => {
        told.push('reads')
        onRead(alarm)
      })
      far.write('bytes')
      const end = systemClock.now() + 50
      while (systemClock.now() < end);
      await setImmediate()
      await setImmediate()
      return told
    }

    it('calls back when what has come was read', async () => {
      expect(await play(() => {})).toEqual(['reads', 'rings'])
    })

    it('does not call back when what was read cancels the alarm', async () => {
      expect(await play((alarm) => alarm.cancel())).toEqual(['reads'])
    })
  })

  describe('when nothing but an alarm is left', () => {
    it('keeps no process alive', () => {
      const timeouts = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
      const before = timeouts()
      const alarm = systemClock.after(60_000, () => {})
      const after = timeouts()
      alarm.cancel()
      expect(after).toBe(before)
    })
  })
})

describe('a list for short limits', () => {
  /** The longest that a deadline may be met after its time, in milliseconds. */
  const SHORT_RESOLUTION = 5

  it('is one for all limits below a second, and not for others', () => {
    const { deadlines } = setUp()
    const short = deadlines.listFor(1)
    expect(short).not.toBe(deadlines)
    expect(deadlines.listFor(999.9)).toBe(short)
    expect([0, 1_000, 2 ** 31 - 1].map((limit) => deadlines.listFor(limit))).toEqual([
      deadlines,
      deadlines,
      deadlines,
    ])
  })

  it('meets each of 2,000 staggered deadlines within five milliseconds, and none early', () => {
    const { clock, deadlines } = setUp()
    const items = Array.from({ length: 2_000 }, () => new Item(clock))
    const due = items.map((item, i) => {
      const delay = 10 + ((i * 7_919) % 9_000) / 10.7
      setIn(deadlines.listFor(delay), item, delay)
      return delay
    })
    clock.advance(2_000)
    const late = items.map((item, i) => (item.late[0] ?? NEVER) - (due[i] ?? 0))
    expect(Math.min(...late)).toBeGreaterThanOrEqual(0)
    expect(Math.max(...late)).toBeLessThanOrEqual(SHORT_RESOLUTION)
    // A look at all of them in four milliseconds at most.
    expect(clock.made).toBeLessThan(300)
  })

  it('meets none early where timers ring too soon, and all within five milliseconds of the timer', () => {
    class Hasty extends FakeClock {
      override after(delay: number, callback: OnAlarm): Alarm {
        return super.after(Math.max(0, delay - 0.9), callback)
      }
    }
    const clock = new Hasty(0)
    const deadlines = new Deadlines(clock)
    const items = Array.from({ length: 100 }, () => new Item(clock))
    for (const [i, item] of items.entries()) setIn(deadlines.listFor(500), item, 100 + i * 3.3)
    clock.advance(1_000)
    const late = items.map((item, i) => (item.late[0] ?? NEVER) - (100 + i * 3.3))
    expect(Math.min(...late)).toBeGreaterThanOrEqual(0)
    expect(Math.max(...late)).toBeLessThanOrEqual(SHORT_RESOLUTION)
  })

  it('counts, and stops, with the other', () => {
    const { clock, deadlines } = setUp()
    const item = new Item(clock)
    setIn(deadlines.listFor(500), item, 500)
    expect([deadlines.size, clock.alarms]).toEqual([1, 1])
    deadlines.stop()
    expect(clock.alarms).toBe(0)
    deadlines.listFor(500).delete(item)
    expect(deadlines.size).toBe(0)
  })
})

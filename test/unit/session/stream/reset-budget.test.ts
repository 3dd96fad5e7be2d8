import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { Deadlines } from '../../../../src/core/clock.ts'
import type { ResetOwner, Resettable } from '../../../../src/session/stream/reset-budget.ts'
import { ResetBudget } from '../../../../src/session/stream/reset-budget.ts'
import type { ResetPing } from '../../../../src/session/stream/reset-confirmation.ts'
import { FakeClock } from '../../../support/clocks/fake-clock.ts'

const BURST = 800
const RATE = 30
/** The resets of streams that are young and have no response. */
const EARLY = 200
/** From this age on a stream isn't young. */
const AGE = 2_000
/** Resets without an ACK of the PING behind them. */
const MAX_UNCONFIRMED = 100
/** The interval at which waiting streams are checked; a deadline may be met 50 ms late. */
const TICK = 300

interface Given {
  readonly burst?: number
  readonly ping?: ResetPing
}

/** By default, streams have a response, and each PING is acknowledged at once. */
function setUp({ burst = BURST, ping = 'refused' }: Given = {}) {
  const clock = new FakeClock()
  const deadlines = new Deadlines(clock)
  /** The numbers of the streams that were reset, in order. */
  const resets: number[] = []
  /** How many were reset by the time that the session was told of others which still wait. */
  const stuck: number[] = []
  const session = { completed: 0, newestId: 0, pings: 0 }
  const owner: ResetOwner = {
    areFramesSent: true,
    get completed() {
      return session.completed
    },
    isNearLimit: () => true,
    toNewestId: () => session.newestId,
    pingAfterReset() {
      session.pings++
      return ping
    },
    onConfirmed: () => budget.onConfirmed(),
    onStuck: () => stuck.push(resets.length),
  }
  const budget: ResetBudget = new ResetBudget(deadlines, { resetRate: RATE }, burst, owner)
  const make = (number: number, then = (): void => {}, hasResponded = true): Resettable => ({
    streamId: number * 2 + 1,
    hasResponded,
    reset() {
      resets.push(number)
      budget.onEarlyEnd()
      then()
    },
  })
  /** Requests so many resets; returns how many were done soon: a hundred in each turn of the event loop. */
  const reset = async (count: number, hasResponded = true): Promise<number> => {
    const before = resets.length
    for (let i = 0; i < count; i++) {
      const number = before + budget.waiting
      session.newestId = Math.max(session.newestId, number * 2 + 1)
      budget.add(make(number, () => {}, hasResponded))
    }
    for (let turns = 0; turns <= count / MAX_UNCONFIRMED; turns++) await turn()
    return resets.length - before
  }
  return { clock, deadlines, budget, resets, stuck, session, make, reset }
}

const upTo = (count: number): number[] => Array.from({ length: count }, (_, i) => i)

describe('ResetBudget', () => {
  it(`resets ${BURST} streams at once, and lets the next one wait`, async () => {
    const { budget, resets, reset } = setUp()
    expect(await reset(BURST)).toBe(BURST)
    expect(budget.waiting).toBe(0)
    expect(await reset(1)).toBe(0)
    expect([resets.length, budget.waiting, budget.sent]).toEqual([BURST, 1, BURST])
  })

  it('resets any number without a burst, young or not', async () => {
    const { reset, budget } = setUp({ burst: Number.POSITIVE_INFINITY })
    expect(await reset(10_000, false)).toBe(10_000)
    expect(budget.isCrowded(1)).toBe(false)
  })

  it('reports that streams still wait, each time that it has checked them', async () => {
    const { clock, stuck, reset } = setUp()
    await reset(BURST)
    expect(stuck).toEqual([])
    await reset(2 + RATE)
    expect(stuck).toEqual([BURST])
    clock.advance(TICK)
    expect(stuck).toHaveLength(2)
  })

  it('resets no stream within the call that requests it', async () => {
    const { budget, resets, make } = setUp()
    budget.add(make(0))
    await Promise.resolve()
    await new Promise((resolve) => process.nextTick(resolve))
    expect([resets, budget.waiting]).toEqual([[], 1])
    await turn()
    expect([resets, budget.waiting]).toEqual([[0], 0])
  })

  it('sets no alarm before a stream waits, or the reserve is reached', async () => {
    const { clock, reset } = setUp()
    await reset((BURST * 3) / 4)
    expect(clock.made).toBe(0)
  })

  it('resets waiting streams in the order in which they came, at the rate', async () => {
    const { clock, budget, resets, reset } = setUp()
    await reset(BURST + 100)
    for (let second = 1; second <= 3; second++) {
      for (let step = 0; step < 20; step++) clock.advance(50)
      const due = BURST + second * RATE
      expect(resets.length).toBeLessThanOrEqual(due)
      expect(resets.length).toBeGreaterThan(due - RATE)
    }
    for (let step = 0; step < 20; step++) clock.advance(50)
    expect(resets).toEqual(upTo(BURST + 100))
    expect(budget.waiting).toBe(0)
  })

  it('never resets more in any period than the burst and the rate allow', async () => {
    const { clock, resets, reset } = setUp()
    const start = clock.now()
    for (let i = 0; i < 200; i++) {
      await reset(i % 30)
      clock.advance((i * 37) % 400)
      expect(resets.length).toBeLessThanOrEqual(BURST + ((clock.now() - start) * RATE) / 1_000)
    }
    expect(resets).toEqual(upTo(resets.length))
    expect(resets.length).toBeGreaterThan(BURST)
  })

  it('saves unused tokens, up to the burst', async () => {
    const { clock, reset } = setUp()
    await reset(BURST)
    clock.advance(5_000)
    expect(await reset(BURST)).toBe(5 * RATE)
    clock.advance(3_600_000)
    expect(await reset(2 * BURST)).toBe(BURST)
  })

  it('counts fractions of tokens', async () => {
    const { clock, reset } = setUp()
    await reset(BURST)
    clock.advance(33)
    // A request in between must not lose the tokens that have come so far.
    expect(await reset(1)).toBe(0)
    clock.advance(1)
    expect(await reset(1)).toBe(1)
  })

  describe('when streams are young and have no response', () => {
    it(`resets ${EARLY} of them at once, and the others when they are of age`, async () => {
      const { clock, budget, resets, reset } = setUp()
      expect(await reset(EARLY + 50, false)).toBe(EARLY)
      expect(budget.waiting).toBe(50)
      clock.advance(AGE - TICK)
      expect(resets).toHaveLength(EARLY)
      clock.advance(2 * TICK)
      expect(resets).toEqual(upTo(EARLY + 50))
    })

    it('resets those with a response meanwhile', async () => {
      const { reset, budget } = setUp()
      await reset(EARLY + 50, false)
      expect(await reset(100)).toBe(100)
      expect(budget.waiting).toBe(50)
    })

    it('resets those at once that were opened long before', async () => {
      const { clock, session, budget, make, resets, reset } = setUp()
      await reset(EARLY, false)
      session.newestId = 2_001
      await reset(1, true)
      clock.advance(250)
      await reset(1, true)
      clock.advance(AGE)
      const before = resets.length
      for (let number = 900; number < 1_000; number++) budget.add(make(number, () => {}, false))
      budget.add(make(2_000, () => {}, false))
      await turn()
      expect(resets.slice(before)).toEqual(Array.from({ length: 100 }, (_, i) => 900 + i))
      expect(budget.waiting).toBe(1)
    })

    it('resets more of them at once behind many responses', async () => {
      const { session, reset } = setUp()
      session.completed = 1_000
      expect(await reset(600, false)).toBe(500)
    })
  })

  describe('when the peer acknowledges nothing', () => {
    it(`resets ${MAX_UNCONFIRMED} streams, and the others behind each ACK`, async () => {
      const { budget, session, reset, resets } = setUp({ ping: 'sent' })
      expect(await reset(250)).toBe(MAX_UNCONFIRMED)
      expect([budget.confirmation.places, session.pings]).toEqual([MAX_UNCONFIRMED, 1])
      budget.confirmation.onPong()
      // Never within the ACK: nghttp2 may be reading.
      expect(resets).toHaveLength(MAX_UNCONFIRMED)
      await turn()
      expect(resets).toHaveLength(2 * MAX_UNCONFIRMED)
      budget.confirmation.onPong()
      await turn()
      expect(resets).toEqual(upTo(250))
      expect([budget.waiting, session.pings]).toEqual([0, 3])
    })

    it('tries again when no PING could be sent', async () => {
      const { clock, session, reset } = setUp({ ping: 'busy' })
      await reset(1)
      expect(session.pings).toBe(1)
      clock.advance(TICK)
      expect(session.pings).toBeGreaterThan(1)
    })
  })

  describe('when it is asked whether the session is crowded', () => {
    it('is, when waiting streams hold most of the places', async () => {
      const { budget, make, reset } = setUp({ burst: 10 })
      for (let i = 0; i < 10; i++) budget.add(make(i))
      // They wait only for the next turn.
      expect(budget.isCrowded(10)).toBe(false)
      await turn()
      expect(budget.isCrowded(0)).toBe(false)
      await reset(51)
      expect([100, 101, 102].map((places) => budget.isCrowded(places))).toEqual([true, true, false])
      budget.stop()
      expect(budget.isCrowded(100)).toBe(false)
    })

    it('is, when 200 streams wait, on a session of any size', async () => {
      const { budget, reset } = setUp({ burst: 10 })
      await reset(10 + 199)
      expect(budget.isCrowded(2 ** 32)).toBe(false)
      await reset(1)
      expect(budget.isCrowded(2 ** 32)).toBe(true)
    })

    it('is, when a quarter of a large burst is left, until there is more', async () => {
      const { clock, budget, reset } = setUp()
      await reset(600)
      expect(budget.isCrowded(2 ** 32)).toBe(false)
      await reset(1)
      expect(budget.isCrowded(2 ** 32)).toBe(true)
      clock.advance(TICK)
      expect(budget.isCrowded(2 ** 32)).toBe(false)
      expect(clock.alarms).toBe(0)
    })
  })

  it('resets no stream that has closed by itself', async () => {
    const { clock, budget, resets, make, reset } = setUp()
    await reset(BURST)
    const [gone, other] = [make(-1), make(BURST)]
    budget.add(gone)
    budget.add(other)
    budget.delete(gone)
    expect(budget.waiting).toBe(1)
    await turn()
    clock.advance(TICK)
    expect(resets).toEqual(upTo(BURST + 1))
  })

  it('allows a reset to close other streams, and to request more resets', async () => {
    const { clock, budget, resets, make, reset } = setUp()
    await reset(BURST)
    const second = make(-1)
    const first = make(BURST, () => {
      budget.delete(second)
      budget.delete(first)
      budget.add(make(BURST + 1))
    })
    budget.add(first)
    budget.add(second)
    clock.advance(1_000)
    await turn()
    expect(resets).toEqual(upTo(BURST + 2))
    expect(budget.waiting).toBe(0)
  })

  it('resets nothing more when it is stopped, even during a reset', async () => {
    const { clock, deadlines, budget, resets, make, reset } = setUp()
    await reset(BURST)
    budget.add(make(BURST, () => budget.stop()))
    for (let i = 0; i < 10; i++) budget.add(make(-1))
    clock.advance(1_000)
    await turn()
    clock.advance(60_000)
    expect(resets).toEqual(upTo(BURST + 1))
    expect([budget.waiting, deadlines.size, clock.alarms]).toEqual([0, 0, 0])
  })
})

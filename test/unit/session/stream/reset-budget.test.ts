import { describe, expect, test } from 'vitest'
import { Deadlines } from '../../../../src/core/clock.ts'
import type { Resettable } from '../../../../src/session/stream/reset-budget.ts'
import { ResetBudget } from '../../../../src/session/stream/reset-budget.ts'
import { FakeClock } from '../../../support/fake-clock.ts'

/** The burst, and the rate per second. */
const BURST = 400
const RATE = 30
/** The interval at which waiting streams are checked; a deadline may be met 50 ms late. */
const TICK = 550

function setUp() {
  const clock = new FakeClock()
  const deadlines = new Deadlines(clock)
  /** The numbers of the streams that were reset, in order. */
  const resets: number[] = []
  /** How many were reset by the time that the session was told. */
  const told: number[] = []
  /** How many were reset by the time that it was told of others which still wait. */
  const stuck: number[] = []
  const budget = new ResetBudget(
    deadlines,
    () => told.push(resets.length),
    () => stuck.push(resets.length),
  )
  const make = (number: number, then: () => void = () => {}): Resettable => ({
    reset() {
      resets.push(number)
      then()
    },
  })
  /** Requests so many resets; returns how many were done by the next turn of the event loop. */
  const reset = async (count: number): Promise<number> => {
    const before = resets.length
    for (let i = 0; i < count; i++) budget.add(make(before + budget.waiting))
    await turn()
    return resets.length - before
  }
  return { clock, deadlines, budget, resets, told, stuck, make, reset }
}

/** A turn of the event loop. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

const upTo = (count: number): number[] => Array.from({ length: count }, (_, i) => i)

describe('ResetBudget', () => {
  test(`resets ${BURST} streams at once, and lets the next one wait`, async () => {
    const { budget, resets, make, reset } = setUp()
    for (let i = 0; i < BURST; i++) budget.add(make(i))
    expect([resets.length, budget.waiting]).toEqual([0, BURST])
    await turn()
    expect([resets.length, budget.waiting]).toEqual([BURST, 0])
    expect(await reset(1)).toBe(0)
    expect([resets.length, budget.waiting]).toEqual([BURST, 1])
  })

  test('reports that streams still wait, each time that it has checked them', async () => {
    const { clock, budget, told, stuck, reset } = setUp()
    await reset(BURST)
    expect([told, stuck]).toEqual([[BURST], []])
    await reset(1)
    expect([told, stuck, budget.holdMost(1)]).toEqual([[BURST], [BURST], true])
    clock.advance(TICK)
    expect([told, stuck]).toEqual([[BURST, BURST + 1], [BURST]])
  })

  test('reports when streams that wait for a token hold most of so many places', async () => {
    const { budget, resets, make, reset } = setUp()
    for (let i = 0; i < BURST; i++) budget.add(make(i))
    // They wait only for the next turn.
    expect(budget.holdMost(10)).toBe(false)
    await turn()
    expect(budget.holdMost(0)).toBe(false)
    await reset(51)
    expect(resets).toHaveLength(BURST)
    expect([100, 101, 102].map((places) => budget.holdMost(places))).toEqual([true, true, false])
    budget.stop()
    expect(budget.holdMost(100)).toBe(false)
  })

  test('resets no stream within the call that requests it', async () => {
    const { budget, resets, make } = setUp()
    budget.add(make(0))
    await Promise.resolve()
    await new Promise((resolve) => process.nextTick(resolve))
    expect([resets, budget.waiting]).toEqual([[], 1])
    await turn()
    expect([resets, budget.waiting]).toEqual([[0], 0])
  })

  test('tells the session once for all streams that were reset together, and not when there were none', async () => {
    const { clock, told, reset } = setUp()
    await reset(BURST + 1)
    expect(told).toEqual([BURST])
    await reset(1)
    expect(told).toEqual([BURST])
    clock.advance(10_000)
    expect(told).toEqual([BURST, BURST + 2])
  })

  test('sets no alarm before a stream waits', async () => {
    const { clock, reset } = setUp()
    await reset(BURST)
    expect(clock.made).toBe(0)
  })

  test('resets waiting streams in the order in which they came, at the rate', async () => {
    const { clock, budget, resets, reset } = setUp()
    await reset(BURST + 100)
    for (let second = 1; second <= 3; second++) {
      clock.advance(1_000)
      const due = BURST + second * RATE
      expect(resets.length).toBeLessThanOrEqual(due)
      expect(resets.length).toBeGreaterThan(due - RATE)
    }
    clock.advance(1_000)
    expect(resets).toEqual(upTo(BURST + 100))
    expect(budget.waiting).toBe(0)
  })

  test('never resets more in any period than the burst and the rate allow', async () => {
    const { clock, resets, reset } = setUp()
    const start = clock.now()
    for (let i = 0; i < 200; i++) {
      await reset(i % 20)
      clock.advance((i * 37) % 400)
      expect(resets.length).toBeLessThanOrEqual(BURST + ((clock.now() - start) * RATE) / 1_000)
    }
    expect(resets).toEqual(upTo(resets.length))
    expect(resets.length).toBeGreaterThan(BURST)
  })

  test('saves unused tokens, up to the burst', async () => {
    const { clock, reset } = setUp()
    await reset(BURST)
    clock.advance(5_000)
    expect(await reset(BURST)).toBe(5 * RATE)
    clock.advance(3_600_000)
    expect(await reset(2 * BURST)).toBe(BURST)
  })

  test('counts fractions of tokens', async () => {
    const { clock, reset } = setUp()
    await reset(BURST)
    clock.advance(33)
    // A request in between must not lose the tokens that have come so far.
    expect(await reset(1)).toBe(0)
    clock.advance(1)
    clock.advance(TICK)
    expect(await reset(100)).toBe(Math.floor(((34 + TICK) * RATE) / 1_000) - 1)
  })

  test('resets waiting streams before one that comes later, which finds enough tokens for all', async () => {
    const { clock, budget, resets, make, reset } = setUp()
    await reset(BURST + 1)
    clock.advance(100)
    budget.add(make(BURST + 1))
    await turn()
    expect(resets).toEqual(upTo(BURST + 2))
  })

  test('resets no stream that has closed by itself', async () => {
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

  test('sets no alarm when the last waiting stream has closed by itself', async () => {
    const { clock, deadlines, budget, resets, make, reset } = setUp()
    await reset(BURST)
    const last = make(-1)
    budget.add(last)
    budget.delete(last)
    budget.delete(last)
    expect([budget.waiting, deadlines.size]).toEqual([0, 0])
    clock.advance(60_000)
    expect(resets).toEqual(upTo(BURST))
    expect(await reset(1)).toBe(1)
  })

  test('allows a reset to close other streams, and to request more resets', async () => {
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

  test('resets nothing more when it is stopped, even during a reset', async () => {
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

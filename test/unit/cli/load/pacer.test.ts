import { describe, expect, it } from 'vitest'
import { Pacer, toPace } from '../../../../src/cli/load/pacer.ts'

describe('a pacer', () => {
  it('has the first request due at the beginning, and the others one interval apart', () => {
    const pacer = new Pacer(toPace(200, 0, 1), 1_000)
    expect([0, 1, 200].map((index) => pacer.dueAt(index))).toEqual([1_000, 1_005, 2_000])
  })

  it.each([
    { now: 999.9, due: 0 },
    { now: 1_000, due: 1 },
    { now: 1_004.9, due: 1 },
    { now: 1_005, due: 2 },
    { now: 2_000, due: 201 },
  ])('at $now has $due requests due', ({ now, due }) => {
    expect(new Pacer(toPace(200, 0, 1), 1_000).dueUntil(now)).toBe(due)
  })

  it('in a duration has as many due as the rate says', () => {
    const pacer = new Pacer(toPace(200, 0, 1), 1_000)
    expect(pacer.dueBefore(2_000)).toBe(200)
    expect(pacer.dueBefore(1_000)).toBe(0)
    expect(pacer.dueBefore(Number.POSITIVE_INFINITY)).toBe(Number.POSITIVE_INFINITY)
  })

  it.each([3, 7, 333, 999_983])('says the same by time and by number at %d a second', (rate) => {
    const pacer = new Pacer(toPace(rate, 0, 1), 0.1)
    for (let index = 0; index < 10_000; index++) expect(pacer.dueUntil(pacer.dueAt(index))).toBe(index + 1)
  })

  it('of several threads, which take turns, keeps the whole rate', () => {
    const times = [0, 1, 2].flatMap((thread) => {
      const pacer = new Pacer(toPace(300, thread, 3), 0)
      return Array.from({ length: 100 }, (_, index) => pacer.dueAt(index))
    })
    const alone = new Pacer(toPace(300, 0, 1), 0)
    for (const [index, time] of times.toSorted((a, b) => a - b).entries()) {
      expect(time).toBeCloseTo(alone.dueAt(index), 6)
    }
  })
})

import { describe, expect, it } from 'vitest'
import { StreamAges } from '../../../../src/session/stream/stream-ages.ts'

const AGE = 2_000

describe('StreamAges', () => {
  it('knows of no stream that it is of age before a sample is', () => {
    const ages = new StreamAges(AGE)
    expect(ages.toLastOfAge(0)).toBe(0)
    ages.sample(0, () => 9)
    expect([AGE - 1, AGE].map((now) => ages.toLastOfAge(now))).toEqual([0, 9])
  })

  it('never takes a stream for older than it is', () => {
    const ages = new StreamAges(AGE)
    const openedAt: number[] = []
    for (let now = 0; now < 30_000; now += 70) {
      openedAt.push(now)
      ages.sample(now, () => openedAt.length)
      const last = ages.toLastOfAge(now)
      if (last > 0) expect(now - (openedAt[last - 1] ?? now)).toBeGreaterThanOrEqual(AGE)
      if (now > AGE + 500) expect(now - (openedAt[last - 1] ?? 0)).toBeLessThan(AGE + 500)
    }
  })

  it('looks for the newest stream four times a second at most', () => {
    const ages = new StreamAges(AGE)
    let looks = 0
    for (let now = 0; now < 1_000; now++)
      ages.sample(now, () => {
        looks++
        return 1
      })
    expect(looks).toBe(4)
  })

  it('goes on to know the newest id when no stream is open', () => {
    const ages = new StreamAges(AGE)
    ages.sample(0, () => 9)
    ages.sample(500, () => 0)
    expect(ages.toLastOfAge(10_000)).toBe(9)
  })
})

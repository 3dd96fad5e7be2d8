import { describe, expect, it } from 'vitest'
import { toToleratedBurst } from '../../../../src/session/stream/reset-tolerance.ts'
import { ERROR_CODES } from '../../../../src/testing/frames.ts'

const NOTHING_KNOWN = Number.POSITIVE_INFINITY

describe('toToleratedBurst', () => {
  it.each(
    ERROR_CODES.map((name, code) => [name, code] as const),
  )('learns from %s, or doesn’t', (name, code) => {
    const isLearned = name === 'INTERNAL_ERROR' || name === 'ENHANCE_YOUR_CALM'
    expect(toToleratedBurst(code, 101, NOTHING_KNOWN)).toBe(isLearned ? 50 : null)
  })

  it('learns nothing from a session with few resets', () => {
    expect(toToleratedBurst(2, 19, NOTHING_KNOWN)).toBe(null)
  })

  it('learns less each time', () => {
    expect(toToleratedBurst(2, 400, NOTHING_KNOWN)).toBe(200)
    expect(toToleratedBurst(2, 600, 200)).toBe(100)
  })

  it('never learns that a server tolerates none', () => {
    let burst: number | null = NOTHING_KNOWN
    const learned = Array.from({ length: 8 }, () => (burst = toToleratedBurst(2, 20, burst ?? 0)))
    expect(learned).toEqual(Array(8).fill(10))
  })
})

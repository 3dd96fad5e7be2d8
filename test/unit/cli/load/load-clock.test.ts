import { describe, expect, it } from 'vitest'
import { loadClock } from '../../../../src/cli/load/load-clock.ts'

describe('the clock of a load', () => {
  it.each([0, 0.5, 1.9, 2.1, 12.34])('rings after %d ms, and not before', async (delay) => {
    const begun = loadClock.now()
    await new Promise<void>((resolve) => void loadClock.after(delay, () => resolve()))
    expect(loadClock.now() - begun).toBeGreaterThanOrEqual(delay)
  })

  it.each([0, 0.5, 3])('does not ring after %d ms when the alarm was cancelled', async (delay) => {
    let rings = 0
    const alarm = loadClock.after(delay, () => rings++)
    alarm.cancel()
    await new Promise<void>((resolve) => void loadClock.after(delay + 5, () => resolve()))
    expect(rings).toBe(0)
  })
})

import { describe, expect, it } from 'vitest'
import { fuzzOnce, toCounts } from './support/fuzz.ts'
import { HAND_MADE, recordNode } from './support/recording.ts'

/** The same as `npm run fuzz`, for a moment: that one goes on for as long as one likes. */
const ROUNDS = 2_000

describe('a connection whose peer sends arbitrary bytes', () => {
  it('when real sessions are mutated › throws nothing, is silent after a fault, and writes valid frames', async () => {
    const recordings = [HAND_MADE, await recordNode()]
    const counts = toCounts()
    for (let seed = 1; seed <= ROUNDS; seed++) fuzzOnce(recordings, seed, counts)
    expect(counts.rounds).toBe(ROUNDS)
    // Both ways it may go are there, and most of the codes.
    const faults = [...counts.faults.values()].reduce((sum, count) => sum + count, 0)
    expect(faults).toBeGreaterThan(ROUNDS / 10)
    expect(faults).toBeLessThan(ROUNDS * 0.9)
    expect([...counts.faults.keys()]).toEqual(expect.arrayContaining([1, 5, 6, 9]))
    expect(counts.events).toBeGreaterThan(ROUNDS)
  })
})

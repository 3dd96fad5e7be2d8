import { describe, expect, it } from 'vitest'
import type { Candidate } from '../../../../src/dispatcher/upstream/choice.ts'
import { choose, toCost } from '../../../../src/dispatcher/upstream/choice.ts'

/** Mulberry32: the same numbers each time. */
function toRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** An upstream that takes `latency` turns for a call. */
class Server implements Candidate {
  readonly weight: number
  readonly latency: number
  readonly ends: number[] = []
  total = 0

  constructor(weight: number, latency: number) {
    this.weight = weight
    this.latency = latency
  }

  cost(now: number): number {
    return toCost(this.latency, this.ends.filter((end) => end > now).length, this.weight)
  }
}

/** So many calls in each turn; gives the share of each server. */
function play(servers: Server[], callsPerTurn: number): number[] {
  const random = toRandom(1)
  const turns = 2_000
  for (let now = 0; now < turns; now++) {
    for (let i = 0; i < callsPerTurn; i++) {
      const server = choose(servers, now, random)
      if (server === null) throw new Error('There is a server')
      server.total++
      server.ends.push(now + server.latency)
    }
    for (const { ends } of servers) ends.splice(0, ends.findIndex((end) => end > now) >>> 0)
  }
  return servers.map(({ total }) => total / (turns * callsPerTurn))
}

describe('toCost()', () => {
  it('grows with the latency and the calls in flight, and falls with the weight', () => {
    expect(toCost(10, 0, 1)).toBe(10)
    expect(toCost(10, 4, 1)).toBe(50)
    expect(toCost(10, 4, 5)).toBe(10)
  })

  it('of an upstream without a latency is 0 while it has no call, and above all others then', () => {
    expect(toCost(null, 0, 1)).toBe(0)
    expect(toCost(null, 1, 1)).toBeGreaterThan(toCost(60_000, 1_000, 1))
    expect(toCost(null, 2, 1)).toBeGreaterThan(toCost(null, 1, 1))
  })
})

describe('choose()', () => {
  it('gives null without candidates, and the only one there is', () => {
    expect(choose([], 0, () => 0)).toBeNull()
    const only = new Server(1, 10)
    expect(choose([only], 0, () => 0.999)).toBe(only)
  })

  it.each([
    0, 0.3, 0.7, 0.999_999,
  ])('of two candidates gives the cheaper one, with random number %d', (number) => {
    const [slow, fast] = [new Server(1, 200), new Server(1, 10)]
    expect(choose([slow, fast], 0, () => number)).toBe(fast)
    expect(choose([fast, slow], 0, () => number)).toBe(fast)
  })

  it('never gives the worst of several', () => {
    const servers = [new Server(1, 10), new Server(1, 11), new Server(1, 12), new Server(1, 1_000)]
    const random = toRandom(7)
    const worst = servers.at(-1)
    for (let i = 0; i < 1_000; i++) expect(choose(servers, 0, random)).not.toBe(worst)
  })

  it('spreads calls by weight over servers that are equally fast', () => {
    const shares = play([new Server(1, 20), new Server(2, 20), new Server(5, 20)], 4)
    expect(shares[0]).toBeCloseTo(1 / 8, 1)
    expect(shares[1]).toBeCloseTo(2 / 8, 1)
    expect(shares[2]).toBeCloseTo(5 / 8, 1)
  })

  it('gives a server that is 50 times slower a small share', () => {
    const [, , , slow] = play([new Server(1, 2), new Server(1, 2), new Server(1, 2), new Server(1, 100)], 4)
    expect(slow).toBeLessThan(0.05)
  })
})

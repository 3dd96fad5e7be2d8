import { describe, expect, it } from 'vitest'
import { toRandom } from '../../../../scripts/upstreams/world.ts'
import type { Candidate } from '../../../../src/dispatcher/upstream/choice.ts'
import { choose, isCheaper } from '../../../../src/dispatcher/upstream/choice.ts'

/** An upstream that takes `time` turns for a call. */
class Server implements Candidate {
  readonly weight: number
  readonly time: number | null
  ends: number[] = []
  turn = 0
  total = 0
  isOut = false
  fails = false
  share = 1

  constructor(weight: number, time: number | null, load = 0) {
    this.weight = weight
    this.time = time
    this.ends.length = load
    this.ends.fill(Number.POSITIVE_INFINITY)
  }

  load(): number {
    return this.ends.length
  }

  isLeftOut(): boolean {
    return this.isOut
  }

  isFailing(): boolean {
    return this.fails
  }

  latency(): number | null {
    return this.time
  }

  warmth(): number {
    return this.share
  }
}

/** So many calls in each turn; gives the share of each server. */
function play(servers: Server[], callsPerTurn: number): number[] {
  const random = toRandom(1)
  const turns = 2_000
  for (let now = 0; now < turns; now++) {
    for (let i = 0; i < callsPerTurn; i++) {
      const server = choose(servers, null, false, now, random)
      if (server === null) throw new Error('There is a server')
      server.total++
      server.ends.push(now + (server.time ?? 0))
    }
    for (const server of servers) server.ends = server.ends.filter((end) => end > now + 1)
  }
  return servers.map(({ total }) => total / (turns * callsPerTurn))
}

describe('isCheaper()', () => {
  it.each([
    ['has fewer calls', new Server(1, 10, 1), new Server(1, 10, 2)],
    ['has fewer calls for its weight', new Server(4, 10, 2), new Server(1, 10, 1)],
    ['has fewer calls, and is slower by a bit', new Server(1, 14, 1), new Server(1, 10, 2)],
    ['is twice as fast', new Server(1, 10, 0), new Server(1, 20, 0)],
    ['is five times as fast, and has more calls', new Server(1, 10, 3), new Server(1, 50, 0)],
    ['is not known, and has no call', new Server(1, null, 0), new Server(1, 1, 0)],
    ['is known, and the other has a call', new Server(1, 60_000, 1_000), new Server(1, null, 1)],
    ['is not known either, and has fewer calls', new Server(1, null, 0), new Server(1, null, 1)],
  ])('is true for one that %s, and false the other way round', (_what, a, b) => {
    expect([isCheaper(a, b, 0), isCheaper(b, a, 0)]).toEqual([true, false])
  })

  it('is true for one that is not known, although it has calls, where the other fails', () => {
    const [unknown, failing] = [new Server(1, null, 9), new Server(1, 1)]
    failing.fails = true
    expect([isCheaper(unknown, failing, 0), isCheaper(failing, unknown, 0)]).toEqual([true, false])
  })

  it('prefers neither of two that hardly differ', () => {
    const [a, b] = [new Server(1, 10, 1), new Server(1, 12, 1)]
    expect([isCheaper(a, b, 0), isCheaper(b, a, 0)]).toEqual([false, false])
  })
})

describe('choose()', () => {
  it('gives null without candidates, and the only one there is', () => {
    expect(choose([], null, false, 0, () => 0)).toBeNull()
    const only = new Server(1, 10)
    expect(choose([only], null, false, 0, () => 0.999)).toBe(only)
    expect(choose([only], [only], true, 0, () => 0.999)).toBeNull()
  })

  it.each([0, 0.3, 0.7, 0.999_999])('of two gives the cheaper one, with random number %d', (number) => {
    const [slow, fast] = [new Server(1, 200), new Server(1, 10)]
    for (let i = 0; i < 4; i++) expect(choose([slow, fast], null, false, 0, () => number)).toBe(fast)
  })

  it('gives none that is left out, unless all are for choice, and none that was tried', () => {
    const [a, b, c] = [new Server(1, 10), new Server(1, 10), new Server(1, 10)]
    a.isOut = true
    const pick = (tried: Server[] | null, isForAll: boolean) => {
      const found = new Set(
        Array.from({ length: 30 }, () => choose([a, b, c], tried, isForAll, 0, toRandom(3))),
      )
      return [a, b, c].filter((server) => found.has(server))
    }
    expect(pick(null, false)).toEqual([b, c])
    expect(pick(null, true)).toEqual([a, b, c])
    expect(pick([b], false)).toEqual([c])
    expect(pick([b, c], false)).toEqual([])
    expect(pick([b, c], true)).toEqual([a])
  })

  it('never gives the worst of several', () => {
    const servers = [new Server(1, 10), new Server(1, 11), new Server(1, 12), new Server(1, 1_000)]
    const random = toRandom(7)
    const worst = servers.at(-1)
    for (let i = 0; i < 1_000; i++) expect(choose(servers, null, false, 0, random)).not.toBe(worst)
  })

  it('takes turns among those that are alike and idle', () => {
    const servers = [new Server(1, 10), new Server(1, 10), new Server(1, 10)]
    const chosen = Array.from({ length: 6 }, () => choose(servers, null, false, 0, Math.random))
    expect(chosen).toEqual([...servers, ...servers])
  })

  it('spreads calls by weight over servers that are equally fast, idle and busy', () => {
    for (const [calls, time] of [
      [1, 1],
      [4, 20],
    ] as const) {
      const shares = play([new Server(1, time), new Server(2, time), new Server(5, time)], calls)
      expect(shares[0]).toBeCloseTo(1 / 8, 1)
      expect(shares[1]).toBeCloseTo(2 / 8, 1)
      expect(shares[2]).toBeCloseTo(5 / 8, 1)
    }
  })

  it('gives a server that is 50 times slower a small share', () => {
    const [, , , slow] = play([new Server(1, 2), new Server(1, 2), new Server(1, 2), new Server(1, 100)], 4)
    expect(slow).toBeLessThan(0.05)
  })

  it.each([2, 5])('gives one of %d that starts a part of its share', (count) => {
    const servers = Array.from({ length: count }, () => new Server(1, 1))
    const [first] = servers
    if (first === undefined) throw new Error('There is a server')
    first.share = 0.1
    expect((play(servers, 1)[0] ?? 1) * count).toBeLessThan(0.25)
    expect(first.total).toBeGreaterThan(0)
  })

  it.each([
    [3, 0.5],
    [5, 0],
    [100, 0],
  ])('does not spare one that starts where the other takes %d times as long', (times, share) => {
    const [starting, slow] = [new Server(1, 10), new Server(1, 10 * times)]
    starting.share = 0.1
    const random = toRandom(1)
    const chosen = Array.from({ length: 200 }, () => choose([starting, slow], null, false, 0, random))
    const part = chosen.filter((server) => server === slow).length / chosen.length
    if (share === 0) expect(part).toBe(0)
    else expect(part).toBeGreaterThan(share)
  })

  it('gives all their share when all start', () => {
    const servers = [new Server(1, 1), new Server(1, 1)]
    for (const server of servers) server.share = 0.1
    expect(play(servers, 1)).toEqual([0.5, 0.5])
  })
})

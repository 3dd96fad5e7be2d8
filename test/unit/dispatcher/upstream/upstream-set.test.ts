import { describe, expect, it } from 'vitest'
import { Upstream } from '../../../../src/dispatcher/upstream/upstream.ts'
import { UpstreamSet } from '../../../../src/dispatcher/upstream/upstream-set.ts'
import { FakeDispatcher } from '../../../support/clients/fake-dispatcher.ts'
import { FakeClock } from '../../../support/clocks/fake-clock.ts'

const RULES = {
  ...{ latencyWindow: 10_000, maxFailures: 1, ejectionTime: 1_000, maxEjectionTime: 60_000 },
  ...{ maxEjectionPercent: 50, mayProbe: true, slowStart: 0 },
}
const GET = { path: '/', method: 'GET' } as const
const POST = { path: '/', method: 'POST' } as const

function toScene(count: number, rules: Partial<typeof RULES> = {}) {
  const clock = new FakeClock()
  let turn = 0
  const set = new UpstreamSet(clock, () => (turn++ % 10) / 10, { ...RULES, ...rules })
  const upstreams = Array.from({ length: count }, (_, index) => {
    const origin = `http://${index}.example`
    const upstream = new Upstream(origin, 1, new FakeDispatcher(), () => true, RULES, clock.now())
    upstream.recordResponse(10, clock.now())
    set.add(upstream)
    return upstream
  })
  const [a, b, c, d] = upstreams
  const eject = (...ejected: (Upstream | undefined)[]): void => {
    for (const upstream of ejected)
      upstream?.ejection.record('failure', 0, upstream.ejection.ejections, clock.now())
  }
  /** The upstreams of 40 choices, without repetitions. */
  const chosen = (options: typeof GET | typeof POST, tried: Upstream[] | null = null) => {
    const found = new Set(Array.from({ length: 40 }, () => set.choose(options, tried, clock.now())))
    return upstreams.filter((upstream) => found.has(upstream))
  }
  return { clock, set, a, b, c, d, eject, chosen, upstreams }
}

describe('UpstreamSet', () => {
  it('without an upstream chooses none', () => {
    expect(toScene(0).set.choose(GET, null, 0)).toBeNull()
  })

  it('chooses the only one, whatever its health, and not twice', () => {
    const { set, a, eject, clock } = toScene(1)
    eject(a)
    expect(set.choose(POST, null, clock.now())).toBe(a)
    expect(set.choose(POST, a === undefined ? [] : [a], clock.now())).toBeNull()
  })

  it('chooses none that is ejected or overloaded', () => {
    const { a, b, c, d, eject, chosen, clock } = toScene(4)
    eject(b)
    c?.recordOverload(5_000, clock.now())
    expect(chosen(GET)).toEqual([a, d])
  })

  it.each([
    [4, 3, 50, 'all'],
    [4, 2, 50, 'healthy'],
    [3, 2, 50, 'all'],
    [2, 1, 50, 'healthy'],
    [2, 2, 50, 'all'],
    [4, 1, 0, 'all'],
    [4, 3, 100, 'healthy'],
    [4, 4, 100, 'all'],
  ])('of %d, of which %d are ejected, with maxEjectionPercent %d chooses among %s', (count, ejected, maxEjectionPercent, among) => {
    const { eject, chosen, upstreams } = toScene(count, { maxEjectionPercent })
    eject(...upstreams.slice(0, ejected))
    const expected = among === 'all' ? upstreams : upstreams.slice(ejected)
    expect(chosen(GET)).toEqual(expected)
    expect(chosen(POST)).toEqual(expected)
  })

  it('when the time of one is over, has an idempotent request probe it', () => {
    const { clock, set, a, b, c, eject, chosen } = toScene(3)
    eject(b)
    clock.advance(1_000)
    expect(chosen(POST)).toEqual([a, c])
    expect(set.choose(GET, null, clock.now())).toBe(b)
    b?.ejection.begin(clock.now(), 1_000)
    expect(chosen(GET)).toEqual([a, c])
  })

  it('when no idempotent request comes for a while, has any request probe it', () => {
    const { clock, set, a, b, c, eject, chosen } = toScene(3)
    eject(b)
    clock.advance(1_999)
    expect(chosen(POST)).toEqual([a, c])
    clock.advance(1)
    expect(set.choose(POST, null, clock.now())).toBe(b)
  })

  it('when the probe is late, has another request probe it', () => {
    const { clock, set, a, b, c, eject, chosen } = toScene(3)
    eject(b)
    clock.advance(1_000)
    b?.ejection.begin(clock.now(), set.toPatience(clock.now()))
    clock.advance(999)
    expect(chosen(GET)).toEqual([a, c])
    clock.advance(1)
    expect(set.choose(GET, null, clock.now())).toBe(b)
  })

  it('has one that asks for no calls probed by none', () => {
    const { clock, a, b, c, eject, chosen } = toScene(3)
    eject(b)
    b?.recordOverload(5_000, clock.now())
    clock.advance(2_000)
    expect(chosen(GET)).toEqual([a, c])
  })

  it('for a retry chooses one that was not tried, and is healthy if possible', () => {
    const { clock, a, b, c, eject, chosen, set, upstreams } = toScene(3)
    eject(b)
    clock.advance(1_000)
    expect(chosen(GET, a === undefined ? [] : [a])).toEqual([c])
    eject(c)
    expect(chosen(GET, a === undefined ? [] : [a])).toEqual([b, c])
    expect(set.choose(GET, upstreams, clock.now())).toBeNull()
  })

  it('gives probes twice the usual latency, and a second at least', () => {
    const { clock, set } = toScene(1)
    expect(set.toPatience(clock.now())).toBe(1_000)
    for (let i = 0; i < 100; i++) set.recordLatency(i < 97 ? 3_000 : 60_000, clock.now())
    expect(set.toPatience(clock.now())).toBeGreaterThanOrEqual(6_000)
    expect(set.toPatience(clock.now())).toBeLessThan(7_200)
  })

  it('ejects, every ten seconds, one whose success rate is far below that of the others', () => {
    const { clock, set, c, upstreams } = toScene(5, { maxFailures: 1_000 })
    for (const { recent } of upstreams) recent.successes = 100
    if (c !== undefined) c.recent.failures = 30
    clock.advance(9_999)
    set.choose(GET, null, clock.now())
    expect(upstreams.every(({ ejection }) => ejection.isHealthy)).toBe(true)
    clock.advance(1)
    set.choose(GET, null, clock.now())
    expect(upstreams.filter(({ ejection }) => !ejection.isHealthy)).toEqual([c])
    expect(upstreams.map(({ recent }) => recent.successes + recent.failures)).toEqual([0, 0, 0, 0, 0])
  })

  it('ejects no further one by calls while half of them are unwell', () => {
    const { set, a, b, c, d, eject, clock } = toScene(4)
    const mayEject = () => [a, b, c, d].map((one) => one !== undefined && set.mayEject(one, clock.now()))
    expect(mayEject()).toEqual([true, true, true, true])
    eject(a)
    expect(mayEject()).toEqual([true, true, true, true])
    // One that fails now and then is unwell, too.
    for (let i = 0; i < 4; i++) b?.recordFailure(1, 1, clock.now())
    expect(mayEject()).toEqual([true, true, false, false])
    c?.judge('failure', 0, 0, clock.now(), false)
    expect([c?.ejection.isHealthy, c?.ejection.isFlawless]).toEqual([true, false])
    expect(mayEject()).toEqual([false, false, false, false])
    clock.advance(600_000)
    c?.judge('success', 0, 0, clock.now())
    expect(mayEject()).toEqual([true, true, true, true])
  })

  describe('with long streams at all upstreams but one', () => {
    /** 12 streams at each of them, for long, and so many calls in each second; gives the share of the one without. */
    function toShare(callsPerSecond: number): number {
      const { clock, set, upstreams } = toScene(4)
      for (const upstream of upstreams.slice(1)) {
        for (let i = 0; i < 12; i++) {
          upstream.send(clock.now())
          upstream.hear(clock.now())
        }
      }
      let [given, all] = [0, 0]
      for (let second = 0; second < 60; second++) {
        for (let i = 0; i < callsPerSecond; i++) {
          const chosen = set.choose(GET, null, clock.now())
          if (second < 20) continue
          all++
          if (chosen === upstreams[0]) given++
        }
        clock.advance(1_000)
      }
      return given / (all / 4)
    }

    it('gives that one its share of the calls, where these are more than the streams', () => {
      expect(toShare(10)).toBeCloseTo(1, 1)
      expect(toShare(1_000)).toBeCloseTo(1, 1)
    })

    it('prefers that one where more streams are open than calls come: they are the load', () => {
      expect(toShare(1)).toBeGreaterThan(1.5)
    })

    it('goes by the rate of the calls after a pause', () => {
      const { clock, set, upstreams } = toScene(2)
      const [one] = upstreams
      for (let i = 0; i < 12; i++) {
        one?.send(clock.now())
        one?.hear(clock.now())
      }
      const counts = () => {
        set.choose(GET, null, clock.now())
        return upstreams.map(({ countsStreams }) => countsStreams)
      }
      clock.advance(20_000)
      for (let i = 0; i < 100; i++) set.choose(GET, null, clock.now())
      // 100 calls in 25 s.
      clock.advance(25_000)
      expect(counts()).toEqual([false, false])
      clock.advance(60_000)
      expect(counts()).toEqual([true, true])
      set.add(new Upstream('http://new.example', 1, new FakeDispatcher(), () => true, RULES, clock.now()))
      expect(set.all.map(({ countsStreams }) => countsStreams)).toEqual([true, true, true])
    })
  })

  describe('with priorities', () => {
    /** Two upstreams of priority 0, and two of priority 1. */
    function toLevels(rules: Partial<typeof RULES> = {}) {
      const scene = toScene(4, rules)
      for (const upstream of [scene.c, scene.d]) if (upstream !== undefined) upstream.priority = 1
      scene.set.onPriorityChange()
      return scene
    }

    it('chooses among the lowest, while one of them is in', () => {
      const { a, b, chosen, eject } = toLevels()
      expect(chosen(GET)).toEqual([a, b])
      eject(a)
      expect(chosen(GET)).toEqual([b])
    })

    it('chooses among the next when all of the lowest are ejected or overloaded', () => {
      const { a, b, c, d, chosen, eject, clock } = toLevels()
      eject(a)
      b?.recordOverload(5_000, clock.now())
      expect(chosen(GET)).toEqual([c, d])
      expect(chosen(POST)).toEqual([c, d])
    })

    it('goes back by a probe of the lowest, when its time is over', () => {
      const { a, b, c, d, chosen, eject, clock, set } = toLevels()
      eject(a, b)
      clock.skip(1_000)
      expect(set.choose(GET, null, clock.now())).toBe(a)
      expect(chosen(POST)).toEqual([c, d])
      const probe = a?.ejection.begin(clock.now(), 1_000) ?? 0
      a?.judge('success', probe, a.ejection.ejections, clock.now())
      b?.ejection.begin(clock.now(), 1_000)
      expect(chosen(GET)).toEqual([a])
    })

    it('chooses among the next for a request that all of the lowest have failed', () => {
      const { a, b, c, d, chosen } = toLevels()
      expect(chosen(GET, [a, b] as Upstream[])).toEqual([c, d])
      expect(chosen(GET, [a] as Upstream[])).toEqual([b])
    })

    it('chooses among the lowest when all are out, and then among the next', () => {
      const { a, b, c, d, chosen, eject, set, clock } = toLevels()
      eject(a, b, c, d)
      expect(chosen(GET)).toEqual([a, b])
      expect(chosen(GET, [a, b] as Upstream[])).toEqual([c, d])
      expect(set.choose(GET, [a, b, c, d] as Upstream[], clock.now())).toBeNull()
    })

    it('is told of another priority, and of one that goes', () => {
      const { a, b, c, d, chosen, set } = toLevels()
      if (c !== undefined) c.priority = 0
      set.onPriorityChange()
      expect(chosen(GET)).toEqual([a, b, c])
      for (const upstream of [a, b, c]) if (upstream !== undefined) set.delete(upstream)
      expect(chosen(GET)).toEqual([d])
    })
  })
})

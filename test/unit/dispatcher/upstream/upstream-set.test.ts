import { describe, expect, it } from 'vitest'
import { Upstream } from '../../../../src/dispatcher/upstream/upstream.ts'
import { UpstreamSet } from '../../../../src/dispatcher/upstream/upstream-set.ts'
import { FakeClock } from '../../../support/fake-clock.ts'
import { FakeDispatcher } from '../../../support/fake-dispatcher.ts'

const RULES = { latencyWindow: 10_000, maxFailures: 1, ejectionTime: 1_000, maxEjectionTime: 60_000 }
const GET = { path: '/', method: 'GET' } as const
const POST = { path: '/', method: 'POST' } as const

function toScene(count: number) {
  const clock = new FakeClock()
  let turn = 0
  const set = new UpstreamSet(clock, () => (turn++ % 10) / 10)
  const upstreams = Array.from({ length: count }, (_, index) => {
    const upstream = new Upstream(`http://${index}.example`, 1, new FakeDispatcher(), () => true, RULES)
    upstream.latency.record(10, clock.now())
    set.add(upstream)
    return upstream
  })
  const [a, b, c] = upstreams
  const eject = (...ejected: (Upstream | undefined)[]): void => {
    for (const upstream of ejected) upstream?.ejection.record('failure', false, 0, clock.now())
  }
  /** The upstreams of 40 choices, without repetitions. */
  const chosen = (options: typeof GET | typeof POST, tried: Upstream[] | null = null) => {
    const found = new Set(Array.from({ length: 40 }, () => set.choose(options, tried, clock.now())))
    return upstreams.filter((upstream) => found.has(upstream))
  }
  return { clock, set, a, b, c, eject, chosen, upstreams }
}

describe('UpstreamSet', () => {
  it('without an upstream chooses none', () => {
    expect(toScene(0).set.choose(GET, null, 0)).toBeNull()
  })

  it('chooses none that is ejected', () => {
    const { a, b, c, eject, chosen } = toScene(3)
    eject(b)
    expect(chosen(GET)).toEqual([a, c])
  })

  it('when all are ejected, chooses among all', () => {
    const { eject, chosen, upstreams } = toScene(3)
    eject(...upstreams)
    expect(chosen(GET)).toEqual(upstreams)
    expect(chosen(POST)).toEqual(upstreams)
  })

  it('when the time of one is over, has an idempotent request probe it, and no other', () => {
    const { clock, set, a, b, c, eject, chosen } = toScene(3)
    eject(b)
    clock.advance(1_000)
    expect(chosen(POST)).toEqual([a, c])
    expect(set.choose(GET, null, clock.now())).toBe(b)
    b?.ejection.begin(clock.now())
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
})

import { describe, expect, it } from 'vitest'
import { Upstream } from '../../../../src/dispatcher/upstream/upstream.ts'
import { FakeDispatcher } from '../../../support/clients/fake-dispatcher.ts'
import { FakeClock } from '../../../support/clocks/fake-clock.ts'

const RULES = {
  ...{ latencyWindow: 10_000, maxFailures: 3, ejectionTime: 1_000, maxEjectionTime: 60_000 },
  slowStart: 10_000,
}

function start(slowStart = RULES.slowStart) {
  const clock = new FakeClock()
  const rules = { ...RULES, slowStart }
  const now = () => clock.now()
  const upstream = new Upstream('http://a.example', 2, new FakeDispatcher(), () => true, rules, now())
  return {
    clock,
    upstream,
    now,
    latency: () => upstream.latency(now()),
    warmth: () => upstream.warmth(now()),
  }
}

describe('the latency of an Upstream', () => {
  it('is not known without a response', () => {
    const { upstream, latency, now } = start()
    expect(latency()).toBeNull()
    upstream.send(now())
    expect(latency()).toBeNull()
    upstream.recordResponse(10, now())
    expect(latency()).toBe(10)
  })

  it('grows while calls wait and no response comes, although the average falls', () => {
    const { clock, upstream, latency, now } = start()
    upstream.recordResponse(10, now())
    upstream.send(now())
    clock.advance(60_000)
    expect(latency()).toBe(60_000)
    // A further call doesn't hide the first.
    upstream.send(now())
    expect(latency()).toBe(60_000)
  })

  it('falls when a response comes, although other calls wait', () => {
    const { clock, upstream, latency, now } = start()
    upstream.recordResponse(10, now())
    upstream.send(now())
    upstream.send(now())
    clock.advance(1_000)
    upstream.hear(now())
    clock.advance(50)
    expect(latency()).toBe(50)
  })

  it('counts no time in which no call waits', () => {
    const { clock, upstream, latency, now } = start()
    upstream.send(now())
    upstream.hear(now())
    clock.advance(1_000)
    upstream.recordResponse(10, now())
    upstream.send(now())
    expect(latency()).toBe(10)
  })

  it('is never made lower by a failure, however fast it comes', () => {
    const { upstream, latency, now } = start()
    upstream.recordResponse(100, now())
    let before = 100
    for (let i = 0; i < 50; i++) {
      upstream.recordFailure(1, 40, now())
      expect(latency()).toBeGreaterThan(before)
      before = latency() ?? 0
    }
  })

  it('of one that has only failed is what is usual elsewhere, times its failures', () => {
    const { upstream, latency, now } = start()
    upstream.recordFailure(1, 40, now())
    expect(latency()).toBe(40 * 2 ** 3)
  })

  it('is eight times as much when half of the calls fail, and forgets that', () => {
    const { clock, upstream, latency, now } = start()
    for (let i = 0; i < 1_000; i++) {
      upstream.recordResponse(10, now())
      upstream.recordFailure(1, 1, now())
    }
    expect(latency()).toBeCloseTo(80, 0)
    clock.advance(200_000)
    upstream.recordResponse(10, now())
    expect(latency()).toBeCloseTo(10, 0)
  })

  it('is raised by calls that were given up, and not lowered', () => {
    const { upstream, latency, now } = start()
    upstream.recordResponse(100, now())
    upstream.recordWait(1, now())
    expect(latency()).toBe(100)
    upstream.recordWait(300, now())
    expect(latency()).toBe(200)
  })
})

describe('the slow start of an Upstream', () => {
  it('goes from a tenth of its share to all of it', () => {
    const { clock, warmth } = start()
    expect(warmth()).toBe(0.1)
    clock.advance(5_000)
    expect(warmth()).toBe(0.5)
    clock.advance(5_000)
    expect(warmth()).toBe(1)
    clock.advance(5_000)
    expect(warmth()).toBe(1)
  })

  it('may be none', () => {
    expect(start(0).warmth()).toBe(1)
  })

  it('begins anew when it is back, and its former latency is forgotten', () => {
    const { clock, upstream, warmth, latency, now } = start()
    clock.advance(60_000)
    for (let i = 0; i < 3; i++) {
      upstream.recordFailure(1, 1_000, now())
      upstream.judge('failure', 0, 0, now())
    }
    expect(upstream.isLeftOut(now())).toBe(true)
    clock.advance(1_000)
    const probe = upstream.ejection.begin(now(), 1_000)
    upstream.judge('success', probe, upstream.ejection.ejections, now())
    upstream.recordResponse(7, now())
    expect([upstream.isLeftOut(now()), warmth(), latency()]).toEqual([false, 0.1, 7])
  })
})

describe('an overloaded Upstream', () => {
  it('is left out for the time that it asks for, and starts slowly then', () => {
    const { clock, upstream, warmth, now } = start()
    clock.advance(60_000)
    upstream.recordOverload(3_000, now())
    // A later answer that asks for less doesn't shorten it.
    upstream.recordOverload(1_000, now())
    expect([upstream.isLeftOut(now()), upstream.toStats(now()).state]).toEqual([true, 'overloaded'])
    clock.advance(2_999)
    expect(upstream.isLeftOut(now())).toBe(true)
    clock.advance(1)
    expect([upstream.isLeftOut(now()), warmth()]).toEqual([false, 0.1])
    expect(upstream.toStats(now()).state).toBe('healthy')
  })
})

describe('the load of an Upstream', () => {
  it('is what waits at any age, and responses for 5 to 10 seconds', () => {
    const { clock, upstream, now } = start()
    const load = () => [upstream.load(now()), upstream.inFlight, upstream.streams(now())]
    for (let i = 0; i < 3; i++) upstream.send(now())
    clock.advance(60_000)
    expect(load()).toEqual([3, 3, 0])
    const [first, second] = [upstream.hear(now()), upstream.hear(now())]
    expect(load()).toEqual([3, 3, 0])
    clock.advance(4_900)
    expect(load()).toEqual([3, 3, 0])
    clock.advance(5_200)
    expect(load()).toEqual([1, 3, 2])
    upstream.countsStreams = true
    expect(load()).toEqual([3, 3, 2])
    upstream.endResponse(first)
    upstream.endResponse(second)
    upstream.hearNothing(now())
    expect(load()).toEqual([0, 0, 0])
  })

  it('is 0 when all has ended, whenever that was', () => {
    const { clock, upstream, now } = start()
    const open: number[] = []
    for (let i = 0; i < 40; i++) {
      upstream.send(now())
      open.push(upstream.hear(now()))
      if (i % 3 === 0) open.push(upstream.openTunnel(now()))
      clock.advance(700)
      // Some end at once, some late, some in another order.
      if (i % 2 === 0) upstream.endResponse(open.splice(i % 5 === 0 ? 0 : -1, 1)[0] ?? -1)
      expect(upstream.inFlight).toBe(open.length)
      expect(upstream.load(now()) + upstream.streams(now())).toBe(open.length)
      expect(upstream.load(now())).toBeGreaterThanOrEqual(0)
    }
    for (const response of open) upstream.endResponse(response)
    expect([upstream.load(now()), upstream.inFlight]).toEqual([0, 0])
    clock.advance(60_000)
    expect(upstream.load(now())).toBe(0)
  })
})

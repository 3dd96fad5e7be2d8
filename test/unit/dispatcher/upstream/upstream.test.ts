import { describe, expect, it } from 'vitest'
import { Upstream } from '../../../../src/dispatcher/upstream/upstream.ts'
import { FakeClock } from '../../../support/fake-clock.ts'
import { FakeDispatcher } from '../../../support/fake-dispatcher.ts'

const RULES = { latencyWindow: 10_000, maxFailures: 3, ejectionTime: 1_000, maxEjectionTime: 60_000 }

function start() {
  const clock = new FakeClock()
  const upstream = new Upstream('http://a.example', 2, new FakeDispatcher(), () => true, RULES)
  return { clock, upstream, cost: () => upstream.cost(clock.now()) }
}

describe('the cost of an Upstream', () => {
  it('is that of its latency, its calls and its weight', () => {
    const { clock, upstream, cost } = start()
    expect(cost()).toBe(0)
    upstream.latency.record(10, clock.now())
    expect(cost()).toBe(5)
    upstream.send(clock.now())
    upstream.send(clock.now())
    expect(cost()).toBe(15)
  })

  it('grows while calls wait and no response comes, although the average falls', () => {
    const { clock, upstream, cost } = start()
    upstream.latency.record(10, clock.now())
    upstream.send(clock.now())
    clock.advance(60_000)
    expect(cost()).toBe(60_000)
    // A further call doesn't hide the first.
    upstream.send(clock.now())
    expect(cost()).toBe(90_000)
  })

  it('falls when a response comes, although other calls wait', () => {
    const { clock, upstream, cost } = start()
    upstream.latency.record(10, clock.now())
    upstream.send(clock.now())
    upstream.send(clock.now())
    clock.advance(1_000)
    upstream.hear(clock.now())
    upstream.inFlight--
    clock.advance(50)
    expect(cost()).toBe(50)
  })

  it('counts no time in which no call waits', () => {
    const { clock, upstream, cost } = start()
    upstream.send(clock.now())
    upstream.hear(clock.now())
    upstream.inFlight--
    clock.advance(1_000)
    upstream.latency.record(10, clock.now())
    upstream.send(clock.now())
    expect(cost()).toBe(10)
  })
})

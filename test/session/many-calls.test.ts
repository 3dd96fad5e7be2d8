import { once } from 'node:events'
import { describe, expect, it, onTestFinished } from 'vitest'
import { errors } from '../../src/index.ts'
import { ENGINES, Harness } from '../support/clients/engines.ts'
import { FakeClock } from '../support/clocks/fake-clock.ts'
import { startServer } from '../support/servers/server.ts'

const COUNT = 10_000

describe.each(ENGINES)('ten thousand calls on engine %s', (engine) => {
  it('in flight, each with every timeout, use a handful of timers, and each times out by itself', async () => {
    const clock = new FakeClock()
    let streams = 0
    const server = await startServer(
      () => {
        streams++
        if (streams === COUNT) server.server.emit('all')
      },
      { settings: { maxConcurrentStreams: COUNT } },
    )
    const limits = { queueTimeout: 60_000, headersTimeout: 1_000, bodyTimeout: 1_000, requestTimeout: 5_000 }
    const harness = new Harness(server.origin, { engine, uploadTimeout: 2_000, ...limits }, clock)
    onTestFinished(() => harness.scheduler.destroy(null))
    const all = once(server.server, 'all')
    const calls = Array.from({ length: COUNT }, (_, i) =>
      harness.dispatch(i % 2 === 0 ? {} : { method: 'POST', body: 'x', headersTimeout: 2_000 }),
    )
    await all
    expect(harness.scheduler.running).toBe(COUNT)
    expect(clock.alarms).toBeLessThanOrEqual(3)
    clock.advance(1_100)
    expect(calls.filter((call) => call.errors[0] instanceof errors.HeadersTimeoutError)).toHaveLength(
      COUNT / 2,
    )
    expect(harness.scheduler.running).toBe(COUNT / 2)
    clock.advance(1_100)
    await Promise.all(calls.map((call) => call.settled))
    expect(calls.every((call) => call.errors.length === 1)).toBe(true)
    expect(clock.made).toBeLessThan(20)
  })
})

import { describe, expect, it } from 'vitest'
import { HealthChecks } from '../../../../src/dispatcher/upstream/health-check.ts'
import { Upstream } from '../../../../src/dispatcher/upstream/upstream.ts'
import type { DispatchHandler, DispatchOptions } from '../../../../types/index.ts'
import { FakeDispatcher } from '../../../support/clients/fake-dispatcher.ts'
import { INERT } from '../../../support/clients/inert-controller.ts'
import { listenForUncaught } from '../../../support/clients/uncaught.ts'
import { FakeClock } from '../../../support/clocks/fake-clock.ts'

const RULES = {
  ...{ latencyWindow: 10_000, maxFailures: 1, ejectionTime: 1_000, maxEjectionTime: 60_000 },
  slowStart: 10_000,
}
const CHECKS = {
  request: { path: '/health', method: 'GET' },
  interval: 10_000,
  timeout: 2_000,
  isGood: ({ statusCode }: { statusCode: number }) => statusCode === 200,
}

/** One upstream, whose checks end as the test says. */
class Scene {
  readonly clock = new FakeClock()
  readonly handlers: DispatchHandler[] = []
  readonly options: DispatchOptions[] = []
  readonly aborts: unknown[] = []
  readonly upstream: Upstream
  readonly checks: HealthChecks
  isClosed = false

  constructor(random = 0.5, isGood = CHECKS.isGood) {
    const dispatch = (options: DispatchOptions, handler: DispatchHandler): boolean => {
      if (this.isClosed) throw new Error('It is closed')
      this.options.push(options)
      this.handlers.push(handler)
      handler.onRequestStart?.({ ...INERT, abort: (reason) => this.aborts.push(reason) }, null)
      return true
    }
    const now = this.clock.now()
    this.upstream = new Upstream('http://a.example', 1, new FakeDispatcher(), dispatch, RULES, now)
    this.checks = new HealthChecks({ ...CHECKS, isGood }, this.clock, () => random)
    this.checks.add(this.upstream)
    this.clock.advance(0)
  }

  get state(): string {
    return this.upstream.ejection.health.kind
  }

  /** The check that runs gets a response. */
  respond(status: number): void {
    const handler = this.handlers.at(-1)
    handler?.onResponseStart?.(INERT, status, {}, '')
    handler?.onResponseEnd?.(INERT, {})
  }

  /** So many intervals, each with a check that gets this response. */
  play(...statuses: number[]): this {
    for (const status of statuses) {
      this.respond(status)
      this.clock.advance(CHECKS.interval)
    }
    return this
  }
}

describe('HealthChecks', () => {
  it('check at once, and again after each interval, one at a time', () => {
    const scene = new Scene()
    expect(scene.options).toEqual([CHECKS.request])
    scene.clock.advance(1_999)
    expect(scene.handlers).toHaveLength(1)
    scene.respond(200)
    scene.clock.advance(9_999)
    expect(scene.handlers).toHaveLength(1)
    scene.clock.advance(1)
    expect(scene.handlers).toHaveLength(2)
  })

  it.each([
    [0, 9_000],
    [0.999_999, 11_000],
  ])('with random number %d wait for %d milliseconds', (random, expected) => {
    const scene = new Scene(random)
    scene.respond(200)
    scene.clock.advance(expected - 1)
    expect(scene.handlers).toHaveLength(1)
    scene.clock.advance(1)
    expect(scene.handlers).toHaveLength(2)
  })

  it('eject after two failures in a row, and count in no stats of calls', () => {
    expect(new Scene().play(503, 200, 503, 200, 503).state).toBe('healthy')
    const scene = new Scene().play(200)
    scene.respond(503)
    scene.clock.advance(CHECKS.interval)
    scene.respond(404)
    expect(scene.state).toBe('ejected')
    expect(scene.upstream.toStats(scene.clock.now())).toMatchObject({
      ...{ requests: 0, failures: 0, inFlight: 0, ejections: 1, successRate: 1 },
    })
  })

  it('fail when the response is late, and end the request', () => {
    const scene = new Scene()
    scene.clock.advance(1_999)
    expect(scene.aborts).toEqual([])
    scene.clock.advance(1)
    expect(scene.aborts).toHaveLength(1)
    // What comes after that counts for nothing.
    scene.respond(200)
    scene.clock.advance(CHECKS.interval)
    scene.clock.advance(2_000)
    expect([scene.state, scene.handlers.length]).toEqual(['ejected', 2])
  })

  it('fail by an error, also by one that the dispatcher throws', () => {
    const scene = new Scene()
    scene.handlers[0]?.onResponseError?.(INERT, new Error('no connection'))
    scene.isClosed = true
    scene.clock.advance(CHECKS.interval)
    expect(scene.state).toBe('ejected')
  })

  it('probe an ejected upstream as soon as its time is over, and not before', () => {
    const scene = new Scene()
    scene.respond(200)
    scene.upstream.judge('failure', 0, 0, scene.clock.now())
    scene.clock.advance(CHECKS.interval)
    expect([scene.state, scene.handlers.length]).toEqual(['probing', 2])
    scene.respond(503)
    expect([scene.state, scene.upstream.ejection.ejections]).toEqual(['ejected', 2])
    scene.clock.advance(1_999)
    expect(scene.handlers).toHaveLength(2)
    scene.clock.advance(1)
    expect([scene.state, scene.handlers.length]).toEqual(['probing', 3])
    scene.respond(200)
    expect([scene.state, scene.upstream.warmth(scene.clock.now())]).toEqual(['healthy', 0.1])
  })

  it('leave an upstream alone that calls ejected while a check ran', () => {
    const scene = new Scene()
    scene.upstream.judge('failure', 0, 0, scene.clock.now())
    scene.respond(200)
    expect(scene.state).toBe('ejected')
    scene.clock.advance(1_000)
    expect([scene.state, scene.handlers.length]).toEqual(['probing', 2])
  })

  it('go on after a function of the caller’s has thrown: its error is an uncaught exception', async () => {
    const uncaught = listenForUncaught()
    const scene = new Scene(0.5, () => {
      throw new Error('of the caller')
    })
    scene.respond(200)
    await expect.poll(() => uncaught).toEqual(['of the caller'])
    scene.clock.advance(CHECKS.interval)
    expect(scene.handlers).toHaveLength(2)
  })

  it.each(['stop', 'delete'] as const)('end by %s(), with the request that runs', (end) => {
    const scene = new Scene()
    if (end === 'stop') scene.checks.stop()
    else scene.checks.delete(scene.upstream)
    expect(scene.aborts).toHaveLength(1)
    scene.clock.advance(10 * CHECKS.interval)
    expect([scene.handlers.length, scene.clock.alarms, scene.state]).toEqual([1, 0, 'healthy'])
  })

  it('end by stop() between two checks', () => {
    const scene = new Scene()
    scene.respond(200)
    scene.checks.stop()
    scene.clock.advance(10 * CHECKS.interval)
    expect([scene.handlers.length, scene.clock.alarms, scene.aborts.length]).toEqual([1, 0, 0])
  })
})

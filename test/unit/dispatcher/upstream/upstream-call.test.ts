import { describe, expect, it } from 'vitest'
import { RetryBudget } from '../../../../src/dispatcher/upstream/retry-budget.ts'
import { Upstream } from '../../../../src/dispatcher/upstream/upstream.ts'
import type { UpstreamCall } from '../../../../src/dispatcher/upstream/upstream-call.ts'
import { toUpstreamCall } from '../../../../src/dispatcher/upstream/upstream-call.ts'
import { UpstreamSet } from '../../../../src/dispatcher/upstream/upstream-set.ts'
import { SocketError } from '../../../../src/errors/errors.ts'
import type { DispatchHandler, DispatchOptions } from '../../../../types/index.ts'
import { FakeDispatcher } from '../../../support/clients/fake-dispatcher.ts'
import { INERT } from '../../../support/clients/inert-controller.ts'
import { Recorder } from '../../../support/clients/recorder.ts'
import { FakeClock } from '../../../support/clocks/fake-clock.ts'

const RULES = {
  ...{ latencyWindow: 10_000, maxFailures: 5, ejectionTime: 1_000, maxEjectionTime: 60_000 },
  ...{ maxEjectionPercent: 50, mayProbe: true, slowStart: 0 },
}

/** A call that waits until upstreams are known, and what they get. */
function start(options: Partial<DispatchOptions>, requestTimeout: number) {
  const clock = new FakeClock()
  const upstreams = new UpstreamSet(clock, () => 0, RULES)
  const sent: { options: DispatchOptions; handler: DispatchHandler }[] = []
  const waiting: Pick<UpstreamCall, 'begin'>[] = []
  const recorder = new Recorder()
  toUpstreamCall(
    {
      upstreams,
      budget: new RetryBudget({ percent: 20, minPerSecond: 10 }),
      repeats: 0,
      failureStatuses: new Set(),
      maxRetries: 2,
      maxOverload: 60_000,
      replaySafe: true,
      requestTimeout,
      maxReplayBuffer: 0,
      mayRetry: true,
      discoveries: { wait: (call) => waiting.push(call) > 0, unwait: () => {} },
      redirects: null,
      onCallSettled: () => {},
    },
    { path: '/', method: 'GET', ...options },
    recorder,
  ).start()
  const discover = (count: number): void => {
    for (let i = 0; i < count; i++) {
      const dispatch = (given: DispatchOptions, handler: DispatchHandler): boolean => {
        sent.push({ options: given, handler })
        handler.onRequestStart?.(INERT, null)
        return true
      }
      upstreams.add(
        new Upstream(`http://${i}.example`, 1, new FakeDispatcher(), dispatch, RULES, clock.now()),
      )
    }
    for (const call of waiting.splice(0)) call.begin()
  }
  const fail = (): void =>
    sent.at(-1)?.handler.onResponseError?.(INERT, new SocketError('lost', { processed: 'no' }))
  const timeouts = (): unknown[] => sent.map(({ options: { requestTimeout } }) => requestTimeout)
  return { clock, discover, fail, recorder, timeouts }
}

describe.each([
  { whose: 'its own', options: { requestTimeout: 1_000 }, limit: 0 },
  { whose: 'the pool’s', options: {}, limit: 1_000 },
])('a call with $whose requestTimeout', ({ options, limit }) => {
  it('that waited for upstreams gives each the rest of the time', () => {
    const { clock, discover, fail, recorder, timeouts } = start(options, limit)
    clock.advance(300)
    discover(3)
    clock.advance(200)
    fail()
    clock.advance(100)
    fail()
    expect(timeouts()).toEqual([700, 500, 400])
    expect(recorder.errors).toEqual([])
  })

  it('that waited for upstreams twice loses each wait once', () => {
    const { clock, discover, timeouts } = start(options, limit)
    clock.advance(300)
    discover(0)
    clock.advance(300)
    discover(1)
    expect(timeouts()).toEqual([400])
  })

  it('that waited for all that time fails', () => {
    const { clock, discover, recorder, timeouts } = start(options, limit)
    clock.advance(1_000)
    discover(1)
    expect(timeouts()).toEqual([])
    expect(recorder.errors).toMatchObject([{ code: 'DODICI_ERR_REQUEST_TIMEOUT' }])
  })
})

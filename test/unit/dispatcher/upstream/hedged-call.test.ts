import { AsyncLocalStorage } from 'node:async_hooks'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Deadlines } from '../../../../src/core/clock.ts'
import { HedgedCall, mayHedge } from '../../../../src/dispatcher/upstream/hedged-call.ts'
import type { RetryBudgetRules } from '../../../../src/dispatcher/upstream/retry-budget.ts'
import { RetryBudget } from '../../../../src/dispatcher/upstream/retry-budget.ts'
import { Upstream } from '../../../../src/dispatcher/upstream/upstream.ts'
import type { UpstreamCallOwner } from '../../../../src/dispatcher/upstream/upstream-call.ts'
import { UpstreamSet } from '../../../../src/dispatcher/upstream/upstream-set.ts'
import {
  HeadersTimeoutError,
  RequestAbortedError,
  RequestTimeoutError,
  SocketError,
} from '../../../../src/errors/errors.ts'
import type { DispatchController, DispatchHandler, DispatchOptions } from '../../../../types/index.ts'
import { FakeDispatcher } from '../../../support/clients/fake-dispatcher.ts'
import { INERT } from '../../../support/clients/inert-controller.ts'
import { Recorder } from '../../../support/clients/recorder.ts'
import { FakeClock } from '../../../support/clocks/fake-clock.ts'

const RULES = {
  ...{ latencyWindow: 10_000, maxFailures: 5, ejectionTime: 1_000, maxEjectionTime: 60_000 },
  ...{ maxEjectionPercent: 50, mayProbe: true, slowStart: 0 },
}
const GET: DispatchOptions = { path: '/', method: 'GET' }
const DELAY = 100
/** Of the list of short deadlines. */
const SLACK = 4

/** A request at an upstream, which the test plays. */
class Played {
  readonly upstream: string
  readonly options: DispatchOptions
  readonly handler: DispatchHandler
  /** Why it was aborted; null while it wasn't. */
  reason: Error | null = null
  readonly controller: DispatchController
  readonly verbs: string[] = []
  /** An abort has no effect yet: what was on its way comes. */
  isDeaf = false
  /** Runs while it is aborted, before its end is told. */
  onAbort: () => void = () => {}

  constructor(upstream: string, options: DispatchOptions, handler: DispatchHandler, isConnected = true) {
    this.upstream = upstream
    this.options = options
    this.handler = handler
    this.controller = {
      ...INERT,
      abort: (reason?: Error) => {
        this.onAbort()
        if (this.isDeaf) this.reason = reason ?? null
        else this.fail(reason ?? new RequestAbortedError(), reason)
      },
      pause: () => this.verbs.push('pause'),
      resume: () => this.verbs.push('resume'),
      reprioritize: ({ urgency }: { urgency?: number }) => this.verbs.push(`urgency ${urgency}`),
    } as DispatchController
    if (isConnected) this.begin()
  }

  /** It has a connection: only then a dispatcher of undici tells of it. */
  begin(): void {
    this.handler.onRequestStart?.(this.controller, `context of ${this.upstream}`)
  }

  respond(status = 200): void {
    this.handler.onResponseStarted?.()
    this.handler.onResponseStart?.(this.controller, status, { 'x-upstream': this.upstream }, '')
  }

  end(): void {
    this.handler.onResponseData?.(this.controller, Buffer.from(this.upstream))
    this.handler.onResponseEnd?.(this.controller, {})
  }

  fail(error: Error, reason: Error | null = null): void {
    this.reason ??= reason
    if (error instanceof SocketError || error instanceof RequestAbortedError) error.attempts = 1
    this.handler.onResponseError?.(this.controller, error)
  }
}

/** Also writes down what is told of its upload. */
class Sending extends Recorder {
  onBodySent(chunk: Buffer): void {
    this.events.push(`sent ${chunk}`)
  }

  onRequestSent(): void {
    this.events.push('all sent')
  }
}

interface Given {
  readonly options?: DispatchOptions
  readonly count?: number
  readonly budget?: RetryBudgetRules
  readonly maxRetries?: number
  readonly recorder?: Recorder
  /** The attempts that {@link Played.begin} begins; the others have begun at once. */
  readonly connecting?: readonly number[]
}

function play({
  options = GET,
  count = 2,
  budget,
  maxRetries = 1,
  recorder = new Recorder(),
  connecting = [],
}: Given = {}) {
  const clock = new FakeClock()
  const set = new UpstreamSet(clock, () => 0, RULES)
  const played: Played[] = []
  const upstreams = Array.from({ length: count }, (_, index) => {
    const origin = `http://${index}.example`
    const upstream = new Upstream(
      origin,
      1,
      new FakeDispatcher(),
      (given, handler) =>
        played.push(new Played(origin, given, handler, !connecting.includes(played.length))) > 0,
      RULES,
      clock.now(),
    )
    set.add(upstream)
    return upstream
  })
  let settled = 0
  const owner: UpstreamCallOwner = {
    upstreams: set,
    budget: new RetryBudget(budget ?? { percent: 20, minPerSecond: 10 }),
    repeats: 0,
    failureStatuses: new Set([500, 503]),
    maxRetries,
    maxOverload: 60_000,
    replaySafe: true,
    requestTimeout: 0,
    maxReplayBuffer: 0,
    mayRetry: true,
    discoveries: null,
    redirects: null,
    onCallSettled: () => settled++,
  }
  const deadlines = new Deadlines(clock).listFor(1)
  onTestFinished(() => deadlines.stop())
  const call = new HedgedCall(owner, deadlines, options, recorder, DELAY)
  const isSent = call.start()
  const late = (): void => clock.advance(DELAY + SLACK)
  const at = (index: number): Played => played[index] ?? expect.fail(`attempt ${index} was not made`)
  return {
    clock,
    set,
    upstreams,
    played,
    at,
    owner,
    recorder,
    late,
    isSent,
    deadlines,
    settled: () => settled,
  }
}

const lost = () => new SocketError('lost', { processed: 'maybe' })

describe('mayHedge', () => {
  it.each<[string, DispatchOptions, boolean]>([
    ['a GET', GET, true],
    ['a GET that is not to be repeated', { ...GET, idempotent: false }, false],
    ['a POST', { path: '/', method: 'POST', body: 'x' }, false],
    ['an idempotent POST', { path: '/', method: 'POST', body: 'x', idempotent: true }, true],
    ['bytes', { ...GET, body: Buffer.from('x') }, true],
    ['a function', { ...GET, body: () => 'x' } as DispatchOptions, true],
    [
      'an iterable, also of a known length',
      { ...GET, headers: { 'content-length': '1' }, body: ['x'] } as DispatchOptions,
      false,
    ],
    ['a CONNECT', { path: 'a:1', method: 'CONNECT', idempotent: true }, false],
    ['an upgrade', { ...GET, upgrade: 'websocket' }, false],
  ])('%s: %o is %s', (_what, options, expected) => {
    expect(mayHedge(options)).toBe(expected)
  })
})

describe('a hedged call', () => {
  it('in time makes no second attempt', () => {
    const { clock, played, at, recorder, settled, deadlines } = play()
    clock.advance(DELAY - 1)
    at(0).respond()
    clock.advance(10 * DELAY)
    at(0).end()
    expect(played).toHaveLength(1)
    expect(recorder.events).toEqual(['start', 'response 200', 'data', 'end'])
    expect([settled(), deadlines.size]).toEqual([1, 0])
  })

  it.each([
    { winner: 0, isDeaf: false },
    { winner: 1, isDeaf: false },
    { winner: 0, isDeaf: true },
    { winner: 1, isDeaf: true },
  ])('is answered by the attempt that responds first, and the other is aborted: %o', ({ winner, isDeaf }) => {
    const { at, late, recorder, settled, upstreams, deadlines } = play()
    late()
    const loser = 1 - winner
    expect(at(1).upstream).not.toBe(at(0).upstream)
    at(loser).isDeaf = isDeaf
    at(winner).respond()
    expect(at(loser).reason).toMatchObject({
      name: 'AbortError',
      message: 'Another upstream responded first',
    })
    expect(at(winner).reason).toBeNull()
    // What still comes of it isn't heard.
    if (isDeaf) at(loser).respond()
    if (isDeaf) at(loser).end()
    at(winner).end()
    expect(recorder.events).toEqual(['start', 'response 200', 'data', 'end'])
    expect(recorder.text).toBe(at(winner).upstream)
    expect([settled(), deadlines.size]).toEqual([1, 0])
    expect(upstreams.map(({ inFlight }) => inFlight)).toEqual([0, 0])
    const second = upstreams.find(({ name }) => name === at(1).upstream)
    expect([second?.hedges, second?.hedgeWins, second?.requests]).toEqual([1, winner, 1])
    expect(upstreams.map(({ failures }) => failures)).toEqual([0, 0])
  })

  it.each([500, 503, 404, 103])('whose first response is a %i takes it', (status) => {
    const { at, late, recorder } = play()
    late()
    at(1).respond(status)
    expect(at(0).reason).not.toBeNull()
    at(1).respond(200)
    at(1).end()
    expect(recorder.statuses).toEqual([status, 200])
  })

  it('with a first attempt that fails is answered by the second', () => {
    const { at, late, recorder, played, settled } = play()
    late()
    at(0).fail(lost())
    expect(recorder.events).toEqual(['start'])
    at(1).respond()
    at(1).end()
    expect(recorder.events).toEqual(['start', 'response 200', 'data', 'end'])
    expect([played.length, settled()]).toEqual([2, 1])
  })

  it('with a second attempt that fails is answered by the first', () => {
    const { at, late, recorder, played } = play()
    late()
    at(1).fail(lost())
    at(0).respond()
    at(0).end()
    expect(recorder.events).toEqual(['start', 'response 200', 'data', 'end'])
    expect(played).toHaveLength(2)
  })

  it.each([
    { order: [0, 1], maxRetries: 1 },
    { order: [1, 0], maxRetries: 5 },
  ])('of which both fail fails with the last error, and makes no further attempt: %o', ({
    order,
    maxRetries,
  }) => {
    const { at, late, recorder, played, settled } = play({ count: 5, maxRetries })
    late()
    const last = new HeadersTimeoutError('late')
    for (const [index, place] of order.entries()) at(place).fail(index === 0 ? lost() : last)
    expect(recorder.error).toBe(last)
    expect(last).toMatchObject({ attempts: 1, processed: 'maybe' })
    expect([played.length, settled()]).toEqual([2, 1])
  })

  it('counts the streams of both in the error of a response that breaks off', () => {
    const { at, late, recorder } = play()
    late()
    at(1).respond()
    at(1).fail(new SocketError('broken', { processed: 'yes' }))
    expect(recorder.error).toMatchObject({ attempts: 2, processed: 'yes' })
  })

  it('that fails before it is late goes to another upstream, and isn’t hedged then', () => {
    const { at, late, clock, recorder, played } = play({ count: 5 })
    at(0).fail(lost())
    expect(played).toHaveLength(2)
    late()
    clock.advance(100 * DELAY)
    expect(played).toHaveLength(2)
    at(1).respond()
    at(1).end()
    expect(recorder.events).toEqual(['start', 'response 200', 'data', 'end'])
  })

  it('ends for its requestTimeout whichever attempt tells of it, and gives the second one the rest of the time', () => {
    const { at, late, recorder } = play({ options: { ...GET, requestTimeout: 1_000 } })
    late()
    expect(at(1).options.requestTimeout).toBe(1_000 - DELAY)
    const error = new RequestTimeoutError('late')
    at(0).fail(error)
    expect(recorder.error).toBe(error)
    expect(at(1).reason).not.toBeNull()
  })

  it('is not hedged when no time is left', () => {
    const { clock, played } = play({ options: { ...GET, requestTimeout: DELAY } })
    clock.skip(10)
    clock.advance(DELAY)
    expect(played).toHaveLength(1)
  })

  it('isn’t hedged without budget', () => {
    const { late, played, at, recorder } = play({ budget: { percent: 0, minPerSecond: 0 } })
    late()
    expect(played).toHaveLength(1)
    at(0).respond()
    at(0).end()
    expect(recorder.events).toEqual(['start', 'response 200', 'data', 'end'])
  })

  it('costs one of the budget', () => {
    const { late, owner, at } = play({ budget: { percent: 100, minPerSecond: 0 } })
    late()
    at(1).respond()
    expect(owner.budget.spend(owner.upstreams.now())).toBe(false)
  })

  it('isn’t hedged when all other upstreams are left out', () => {
    const { late, played, upstreams, clock, at } = play({ count: 3 })
    for (const upstream of upstreams)
      if (upstream.name !== at(0).upstream) upstream.recordOverload(60_000, clock.now())
    late()
    expect(played).toHaveLength(1)
  })

  it('isn’t hedged at an upstream of another priority', () => {
    const { late, played, upstreams, set, at } = play()
    for (const upstream of upstreams) if (upstream.name !== at(0).upstream) upstream.priority = 1
    set.onPriorityChange()
    late()
    expect(played).toHaveLength(1)
  })

  describe('when its caller aborts it', () => {
    it('before it is late, makes no second attempt', () => {
      const { late, played, recorder, settled, deadlines } = play()
      recorder.controller?.abort()
      late()
      expect(played).toHaveLength(1)
      expect(recorder.events).toEqual(['start', 'error'])
      expect([settled(), deadlines.size]).toEqual([1, 0])
    })

    it('after it was late, aborts both', () => {
      const { late, at, recorder, settled } = play()
      late()
      const reason = new RequestAbortedError('given up')
      recorder.controller?.abort(reason)
      expect(recorder.error).toBe(reason)
      expect(reason.attempts).toBe(2)
      expect([at(0).reason, at(1).reason?.name]).toEqual([reason, 'AbortError'])
      expect(settled()).toBe(1)
    })

    it('after the first attempt has failed, aborts the second', () => {
      const { late, at, recorder, settled } = play()
      late()
      at(0).fail(lost())
      const reason = new Error('given up')
      recorder.controller?.abort(reason)
      expect(recorder.error).toBe(reason)
      expect(at(1).reason).toBe(reason)
      expect(settled()).toBe(1)
    })

    it('after the second has responded, aborts that one', () => {
      const { late, at, recorder } = play()
      late()
      at(1).respond()
      const reason = new Error('given up')
      recorder.controller?.abort(reason)
      expect(at(1).reason).toBe(reason)
      expect(recorder.error).toBe(reason)
    })
  })

  it('pauses the attempt that wins, and resumes it', () => {
    const { late, at, recorder } = play()
    recorder.controller?.pause()
    late()
    at(1).respond()
    expect(at(1).verbs).toEqual(['pause'])
    recorder.controller?.resume()
    expect(at(1).verbs).toEqual(['pause', 'resume'])
  })

  it('changes the priority of both', () => {
    const { late, at, recorder } = play()
    recorder.controller?.reprioritize?.({ urgency: 1 })
    late()
    expect(at(1).options.priority).toEqual({ urgency: 1 })
    recorder.controller?.reprioritize?.({ urgency: 2 })
    expect([at(0).verbs, at(1).verbs]).toEqual([['urgency 1', 'urgency 2'], ['urgency 2']])
  })

  it('tells of the first upload alone', () => {
    const { late, at, recorder } = play({
      recorder: new Sending(),
      options: { path: '/', method: 'POST', idempotent: true, body: 'x' },
    })
    at(0).handler.onBodySent?.(Buffer.from('x'))
    late()
    expect(at(1).handler.onBodySent).toBeUndefined()
    at(0).handler.onRequestSent?.()
    expect(recorder.events).toEqual(['start', 'sent x', 'all sent'])
  })

  it.each(['onBodySent', 'onRequestSent'] as const)('fails when its handler throws in %s', (method) => {
    const thrown = new Error('thrown')
    class Throwing extends Recorder {
      onBodySent(): void {
        if (method === 'onBodySent') throw thrown
      }
      onRequestSent(): void {
        throw thrown
      }
    }
    const { late, at, recorder, settled } = play({ recorder: new Throwing() })
    late()
    // As the engines do it: what a handler throws fails its stream.
    try {
      if (method === 'onBodySent') at(0).handler.onBodySent?.(Buffer.from('x'))
      else at(0).handler.onRequestSent?.()
    } catch (error) {
      at(0).fail(error as Error)
    }
    expect(recorder.events).toEqual(['start', 'error'])
    expect(recorder.error).toBe(thrown)
    expect([at(0).reason, at(1).reason?.name, settled()]).toEqual([thrown, 'AbortError', 1])
  })

  it('tells nothing of an upload that goes on after the other attempt has won', () => {
    const { at, late, recorder } = play({ recorder: new Sending() })
    late()
    at(0).isDeaf = true
    at(1).respond()
    at(0).handler.onBodySent?.(Buffer.from('x'))
    at(0).handler.onRequestSent?.()
    expect(recorder.events).toEqual(['start', 'response 200'])
  })

  describe('whose dispatchers tell of an attempt when it has a connection', () => {
    class WithContext extends Recorder {
      readonly contexts: unknown[] = []
      override onRequestStart(controller: DispatchController, context?: unknown): void {
        super.onRequestStart(controller)
        this.contexts.push(context)
      }
    }

    it('begins with the second attempt while the first connects, with its context, and is answered by it', () => {
      const recorder = new WithContext()
      const { at, late, settled } = play({ connecting: [0], recorder })
      late()
      expect(recorder.events).toEqual(['start'])
      at(1).respond()
      at(1).end()
      expect(recorder.events).toEqual(['start', 'response 200', 'data', 'end'])
      expect(recorder.contexts).toEqual([`context of ${at(1).upstream}`])
      // The first gets its connection now: it is aborted.
      at(0).begin()
      expect(at(0).reason?.name).toBe('AbortError')
      expect([recorder.events.length, settled()]).toEqual([4, 1])
    })

    it.each([
      { order: [0, 1], first: 0 },
      { order: [1, 0], first: 1 },
    ])('begins once, with the attempt that has a connection first: %o', ({ order, first }) => {
      const recorder = new WithContext()
      const { at, late } = play({ connecting: [0, 1], recorder })
      late()
      expect(recorder.events).toEqual([])
      for (const index of order) at(index).begin()
      expect(recorder.contexts).toEqual([`context of ${at(first).upstream}`])
    })

    it.each([{ winner: 0 }, { winner: 1 }])('pauses and resumes the attempt that wins: %o', ({ winner }) => {
      const { at, late, recorder } = play({ connecting: [0] })
      late()
      recorder.controller?.pause()
      at(0).begin()
      recorder.controller?.resume()
      recorder.controller?.pause()
      at(winner).respond()
      expect(at(winner).verbs.at(-1)).toBe('pause')
      recorder.controller?.resume()
      expect(at(winner).verbs.at(-1)).toBe('resume')
    })

    it('begins with the second attempt when the first has found no connection', () => {
      const { at, late, recorder } = play({ connecting: [0, 1] })
      late()
      at(0).fail(Object.assign(new Error('refused'), { syscall: 'connect' }))
      expect(recorder.events).toEqual([])
      at(1).begin()
      at(1).respond()
      at(1).end()
      expect(recorder.events).toEqual(['start', 'response 200', 'data', 'end'])
    })

    it.each<[string, (scene: ReturnType<typeof play>) => void, (string | undefined)[]]>([
      ['before the response', () => {}, [undefined, 'given up']],
      ['after the headers', ({ at }) => at(1).respond(), [undefined, 'given up']],
      [
        'after the first has found no connection',
        ({ at }) => at(0).fail(Object.assign(new Error('refused'), { syscall: 'connect' })),
        [undefined, 'given up'],
      ],
      ['after both have begun', ({ at }) => at(0).begin(), ['Another upstream responded first', 'given up']],
    ])('is aborted %s', (_when, happen, reasons) => {
      const scene = play({ connecting: [0] })
      const { at, late, recorder } = scene
      late()
      happen(scene)
      recorder.controller?.abort(new Error('given up'))
      expect(recorder.error.message).toBe('given up')
      expect([0, 1].map((index) => at(index).reason?.message)).toEqual(reasons)
    })

    it('is aborted at once when the attempt that is left still connects', () => {
      const { at, late, recorder, settled } = play({ connecting: [1] })
      late()
      at(0).fail(lost())
      const reason = new RequestAbortedError('given up')
      recorder.controller?.abort(reason)
      expect(recorder.events).toEqual(['start', 'error'])
      expect(recorder.error).toBe(reason)
      expect(reason).toMatchObject({ attempts: 1, processed: 'maybe' })
      // The dispatchers stay open until the upstream has done with it.
      expect(settled()).toBe(0)
      at(1).begin()
      expect(at(1).reason?.name).toBe('AbortError')
      expect([recorder.events.length, settled()]).toEqual([2, 1])
    })

    it.each([
      { connecting: [0] },
      { connecting: [0, 1] },
    ])('fails when its handler throws in onRequestStart: %o', ({ connecting }) => {
      const thrown = new Error('thrown')
      class Throwing extends Recorder {
        override onRequestStart(): void {
          throw thrown
        }
      }
      const { at, late, recorder, settled } = play({ connecting, recorder: new Throwing() })
      late()
      if (connecting.includes(1)) at(1).begin()
      expect(recorder.error).toBe(thrown)
      expect(at(1).reason).toBe(thrown)
      at(0).begin()
      expect([recorder.events, settled()]).toEqual([['error'], 1])
    })
  })

  it.each([
    { what: 'its requestTimeout', index: 0 },
    { what: 'its requestTimeout', index: 1 },
    { what: 'its caller', index: null },
  ])('that $what ends may have been processed when either attempt may have been: %o', ({ index }) => {
    for (const sent of [0, 1]) {
      const { at, late, recorder } = play()
      late()
      const { controller } = at(sent)
      const { abort } = controller
      // As the engines do it: an attempt that was sent tells so.
      Object.assign(controller, {
        abort: (reason: RequestAbortedError) => {
          reason.processed = 'maybe'
          abort.call(controller, reason)
        },
      })
      if (index === null) recorder.controller?.abort(new RequestAbortedError('given up'))
      else at(index).fail(new RequestTimeoutError('late', { processed: index === sent ? 'maybe' : 'no' }))
      expect(recorder.error).toMatchObject({ processed: 'maybe' })
    }
  })

  it('of which no attempt was sent was not processed', () => {
    const { at, late, recorder } = play()
    late()
    at(0).fail(new RequestTimeoutError('late', { processed: 'no' }))
    expect(recorder.error).toMatchObject({ processed: 'no' })
  })

  it.each([
    0, 1,
  ])('says nothing of the response after what the loser’s end calls has aborted it: %i wins', (winner) => {
    class Hearing extends Recorder {
      onResponseStarted(): void {
        this.events.push('started')
      }
    }
    for (const recorder of [new Hearing(), new Recorder()]) {
      const { at, late, settled } = play({ recorder })
      late()
      const reason = new Error('given up')
      at(1 - winner).onAbort = () => recorder.controller?.abort(reason)
      at(winner).respond()
      at(winner).end()
      expect(recorder.events).toEqual(['start', 'error'])
      expect(recorder.error).toBe(reason)
      expect([at(winner).reason, settled()]).toEqual([reason, 1])
    }
  })

  it('settles once, although a dispatcher goes on after the error that it has told of', () => {
    const { at, recorder, settled } = play({ maxRetries: 0 })
    at(0).fail(lost())
    at(0).begin()
    at(0).respond()
    at(0).end()
    at(0).fail(lost())
    expect(recorder.events).toEqual(['start', 'error'])
    expect(settled()).toBe(1)
  })

  it('makes the second attempt in the async context of its caller', () => {
    const storage = new AsyncLocalStorage<string>()
    const contexts: unknown[] = []
    const options = { ...GET, body: () => 'x' } as DispatchOptions
    const scene = storage.run('caller', () => play({ options }))
    const { upstreams } = scene
    for (const upstream of upstreams) {
      const { dispatch } = upstream
      Object.assign(upstream, {
        dispatch: (...given: Parameters<typeof dispatch>) => {
          contexts.push(storage.getStore())
          return dispatch(...given)
        },
      })
    }
    storage.run('clock', () => scene.late())
    expect(contexts).toEqual(['caller'])
  })

  it('keeps what is usual: the first attempt counts for as long as it took, although it was aborted', () => {
    const { clock, set, late, at } = play()
    late()
    clock.advance(400)
    at(1).respond()
    expect(set.toUsualLatency(clock.now())).toBeGreaterThanOrEqual(DELAY + 400)
  })

  it.each([
    { winner: 1, times: 2 },
    { winner: 0, times: 1 },
  ])('counts for the upstream of the loser, for twice its time if it was the first: %o', ({
    winner,
    times,
  }) => {
    const { clock, late, at, upstreams } = play()
    late()
    clock.advance(400)
    at(winner).respond()
    const loser = upstreams.find(({ name }) => name === at(1 - winner).upstream)
    // The second began when the first was late, within the slack of the clock.
    const took = winner === 1 ? DELAY + SLACK + 400 : 400
    expect(loser?.latency(clock.now())).toBeGreaterThanOrEqual(times * took)
    expect(loser?.latency(clock.now())).toBeLessThanOrEqual(times * took + SLACK)
  })
})

describe('UpstreamSet.toLateness()', () => {
  it('is null for the 95th percentile while fewer than 20 latencies are known', () => {
    const { set, clock } = play()
    for (let i = 0; i < 19; i++) set.recordLatency(10, clock.now())
    expect(set.toLateness('p95', clock.now())).toBeNull()
    set.recordLatency(1_000, clock.now())
    expect(set.toLateness('p95', clock.now())).toBeGreaterThanOrEqual(10)
    expect(set.toLateness('p95', clock.now())).toBeLessThanOrEqual(12)
    clock.advance(10 * RULES.latencyWindow)
    expect(set.toLateness('p95', clock.now())).toBeNull()
  })

  it('is null with one upstream', () => {
    const { set, clock } = play({ count: 1 })
    expect(set.toLateness(50, clock.now())).toBeNull()
  })
})

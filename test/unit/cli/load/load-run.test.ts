import { describe, expect, it } from 'vitest'
import type { LoadOutcome, LoadPlan } from '../../../../src/cli/load/load-run.ts'
import { LoadRun } from '../../../../src/cli/load/load-run.ts'
import { toPace } from '../../../../src/cli/load/pacer.ts'
import type { DispatchHandler } from '../../../../types/handler.ts'
import type { DispatchOptions } from '../../../../types/request.ts'
import { INERT } from '../../../support/clients/inert-controller.ts'
import { FakeClock } from '../../../support/clocks/fake-clock.ts'

const OPTIONS: DispatchOptions = { path: '/', method: 'GET' }
const BODY = Buffer.from('12345')

interface Behaviour {
  /** Of each response, in milliseconds. */
  readonly delay?: number
  /** From when to when the server does nothing, in milliseconds after the beginning. */
  readonly pause?: readonly [from: number, to: number]
  /** Which requests fail, by their number from 0. */
  readonly fails?: (index: number) => boolean
  /** A failure comes at once, within `dispatch()`. */
  readonly isSudden?: boolean
}

/** A session to a server that takes the same time for each request, on a clock of the test's. */
class FakeSession {
  readonly #clock: FakeClock
  readonly #behaviour: Behaviour
  readonly #begun: number
  requests = 0
  open = 0
  mostOpen = 0

  constructor(clock: FakeClock, behaviour: Behaviour) {
    this.#clock = clock
    this.#behaviour = behaviour
    this.#begun = clock.now()
  }

  dispatch(_options: DispatchOptions, handler: DispatchHandler): boolean {
    const { delay = 1, fails = () => false, isSudden = false } = this.#behaviour
    const isFailing = fails(this.requests++)
    this.mostOpen = Math.max(this.mostOpen, ++this.open)
    const end = (): void => {
      this.open--
      if (isFailing) handler.onResponseError?.(INERT, Object.assign(new Error('no'), { code: 'E_TEST' }))
      else this.#respond(handler)
    }
    if (isFailing && isSudden) end()
    else this.#clock.after(this.#toEnd(delay) - this.#clock.now(), end)
    return true
  }

  #toEnd(delay: number): number {
    const end = this.#clock.now() + delay
    const [from, to] = this.#behaviour.pause ?? [0, 0]
    const isPaused = end > this.#begun + from && end <= this.#begun + to
    return isPaused ? this.#begun + to + delay : end
  }

  #respond(handler: DispatchHandler): void {
    handler.onResponseStart?.(INERT, 103, {})
    handler.onResponseStart?.(INERT, 200, {})
    handler.onResponseData?.(INERT, BODY)
    handler.onResponseEnd?.(INERT, {})
  }
}

interface Scene extends Behaviour, Partial<LoadPlan> {
  readonly streams?: number
  readonly sessions?: number
}

function begin({
  streams = 10,
  sessions = 1,
  requests = null,
  duration = null,
  pace = null,
  ...rest
}: Scene) {
  const clock = new FakeClock()
  const senders = Array.from({ length: sessions }, () => new FakeSession(clock, rest))
  const lanes = senders.map((sender) => ({ sender, streams }))
  const run = new LoadRun(lanes, [OPTIONS], { requests, duration, pace }, clock)
  return { clock, senders, run }
}

/** Plays a run to its end. */
async function play(scene: Scene): Promise<LoadOutcome & { senders: readonly FakeSession[] }> {
  const { clock, senders, run } = begin(scene)
  clock.advance(100_000)
  expect(clock.alarms).toBe(0)
  return { ...(await run.outcome), senders }
}

describe('a closed loop', () => {
  it('sends exactly as many requests as it is told, as many at a time as there are streams', async () => {
    const { tally, senders, elapsed, inTime } = await play({ requests: 1_003, streams: 10 })
    expect(senders[0]).toMatchObject({ requests: 1_003, mostOpen: 10 })
    expect(tally.statuses[200]).toBe(1_003)
    expect(tally.bodyBytes).toBe(1_003 * BODY.length)
    expect({ elapsed, inTime }).toEqual({ elapsed: 101, inTime: 1_003 })
  })

  it('sends fewer than there are streams when fewer are wanted', async () => {
    const { senders, tally } = await play({ requests: 3 })
    expect(senders[0]?.requests).toBe(3)
    expect(tally.responses).toBe(3)
  })

  it('without requests ends at once', async () => {
    const { run } = begin({ requests: 0 })
    expect(await run.outcome).toMatchObject({ elapsed: 0, inTime: 0, unfinished: 0 })
  })

  it('uses all sessions', async () => {
    const { senders } = await play({ requests: 90, sessions: 3 })
    expect(senders.map(({ requests }) => requests)).toEqual([30, 30, 30])
  })

  it('ends with the duration, waits for what is in flight, and counts it for the latencies alone', async () => {
    const { tally, elapsed, lasted, inTime } = await play({ duration: 1_000, delay: 300, streams: 1 })
    expect({ elapsed, lasted, inTime, responses: tally.responses }).toEqual({
      elapsed: 1_000,
      lasted: 1_200,
      inTime: 3,
      responses: 4,
    })
    expect(tally.latency.percentile(1)).toBe(300)
  })

  it('with a number and a duration, ends with what comes first', async () => {
    expect(await play({ duration: 1_000, requests: 5 })).toMatchObject({ elapsed: 1, inTime: 5 })
    expect(await play({ duration: 10, requests: 1_000_000 })).toMatchObject({ elapsed: 10 })
  })

  it('counts failures by their code, and goes on', async () => {
    const { tally, senders } = await play({ requests: 100, fails: (index) => index % 4 === 0 })
    expect([...tally.errors]).toEqual([['E_TEST', 25]])
    expect(tally.responses).toBe(75)
    expect(senders[0]?.requests).toBe(100)
  })

  it('when requests fail at once, sends the next ones a millisecond later', async () => {
    const { tally } = await play({ duration: 20, streams: 2, isSudden: true, fails: () => true })
    expect([...tally.errors]).toEqual([['E_TEST', 40]])
    expect(tally.latency.toSummary()).toBeNull()
  })

  it('hides that the server has paused for a second', async () => {
    const { tally } = await play({ duration: 10_000, pause: [4_000, 5_000] })
    expect(tally.latency.percentile(0.999)).toBeCloseTo(1, 1)
    expect(tally.latency.percentile(1)).toBe(1_001)
  })

  it('when it is cut, ends at once with what it has', async () => {
    const { clock, run } = begin({ delay: 10, streams: 3 })
    clock.advance(25)
    run.cut()
    const { tally, elapsed, unfinished } = await run.outcome
    expect({ responses: tally.responses, elapsed, unfinished }).toEqual({
      responses: 6,
      elapsed: 25,
      unfinished: 3,
    })
    clock.advance(100)
    expect(tally.responses).toBe(6)
  })
})

describe('an open loop', () => {
  const pace = toPace(1_000, 0, 1)

  it('sends as many requests as the rate says, whatever a response takes', async () => {
    const { tally, elapsed, unsent, mostWaiting } = await play({ duration: 1_000, pace, delay: 9.5 })
    expect(tally.responses).toBe(1_000)
    expect({ elapsed, unsent, mostWaiting }).toEqual({ elapsed: 1_000, unsent: 0, mostWaiting: 0 })
    expect(tally.latency.toSummary()).toMatchObject({ min: 9.5, max: 9.5 })
    expect(tally.service.toSummary()).toEqual(tally.latency.toSummary())
  })

  it('shows that the server has paused for a second, in the latencies since requests were due', async () => {
    const { tally, senders, mostWaiting } = await play({ duration: 10_000, pace, pause: [4_000, 5_000] })
    expect(tally.responses).toBe(10_000)
    expect(senders[0]?.mostOpen).toBe(10)
    // A tenth of all were due in the pause, and waited for what was left of it.
    expect(tally.latency.percentile(0.85)).toBeCloseTo(1, 1)
    expect(tally.latency.percentile(0.95)).toBeGreaterThan(500)
    expect(tally.latency.percentile(0.99)).toBeGreaterThan(900)
    expect(mostWaiting).toBeGreaterThan(980)
    // Only those ten that were in flight then.
    expect(tally.service.percentile(0.99)).toBeCloseTo(1, 1)
    expect(tally.service.percentile(1)).toBeGreaterThan(1_000)
  })

  it('that the server cannot follow counts what was never sent', async () => {
    const { tally, unsent, mostWaiting } = await play({ duration: 1_000, pace, delay: 20, streams: 10 })
    // Ten at a time, for 20 ms each.
    expect(tally.responses).toBe(500)
    expect({ unsent, mostWaiting }).toEqual({ unsent: 500, mostWaiting: 500 })
    expect(tally.service.percentile(0.999)).toBeCloseTo(20, 0)
    expect(tally.latency.percentile(0.999)).toBeGreaterThan(480)
  })

  it('with a number, sends all of them, also those that had to wait', async () => {
    const { tally, unsent, elapsed } = await play({ requests: 200, pace, delay: 20, streams: 2 })
    expect({ responses: tally.responses, unsent, elapsed }).toEqual({
      responses: 200,
      unsent: 0,
      elapsed: 2_001,
    })
  })

  it('goes round its sessions', async () => {
    const { senders } = await play({ requests: 99, pace, sessions: 3, delay: 0.5 })
    expect(senders.map(({ requests }) => requests)).toEqual([33, 33, 33])
  })

  it('sends what waits as soon as a place has become free by a failure', async () => {
    const slow = { first: 0, interval: 10_000 }
    const { clock, run } = begin({ requests: 3, pace: slow, streams: 1, delay: 15_000, fails: () => true })
    // The first one fails at 15 s, the second one was due at 10 s.
    clock.advance(15_010)
    expect(run.progress).toEqual({ responses: 0, failures: 1 })
    clock.advance(15_010)
    expect(run.progress).toEqual({ responses: 0, failures: 2 })
    clock.advance(15_010)
    expect(await run.outcome).toMatchObject({ unsent: 0 })
  })
})

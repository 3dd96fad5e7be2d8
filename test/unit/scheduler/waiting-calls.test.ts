import { afterEach, describe, expect, it, vi } from 'vitest'
import type { Call } from '../../../src/call/call.ts'
import type { FailureNotes } from '../../../src/call/call-owner.ts'
import { NO_FAILURES } from '../../../src/call/call-owner.ts'
import { SocketError } from '../../../src/errors/errors.ts'
import { WaitingCalls } from '../../../src/scheduler/waiting-calls.ts'
import type { DispatchOptions } from '../../../types/index.ts'
import { FakeClock } from '../../support/clocks/fake-clock.ts'
import { Scene } from '../call/call-scene.ts'

const FIRST_DELAY = 100
const LONGEST_DELAY = 1_000
/** A deadline may be met this much later, in milliseconds. */
const RESOLUTION = 50

function setUp() {
  const clock = new FakeClock()
  const onOver = vi.fn<(call: Call) => void>()
  return { clock, onOver, waiting: new WaitingCalls(clock, onOver) }
}

function toCall(notes: Partial<FailureNotes> = {}, options: Partial<DispatchOptions> = {}): Call {
  return Object.assign(new Scene(options).call, { failures: { ...NO_FAILURES, ...notes } })
}

/** Whether these are the same objects: calls of one kind are equal to each other. */
function areSame(found: readonly (Call | null)[], expected: readonly (Call | null)[]): boolean {
  return found.length === expected.length && found.every((call, index) => call === expected[index])
}

describe('WaitingCalls', () => {
  it('keeps two groups apart: calls for the fallback, and all others', () => {
    const { waiting } = setUp()
    const ordinary = toCall()
    const misdirected = toCall({ wasMisdirected: true })
    const http1 = toCall({ http1Required: new SocketError('it wants HTTP/1.1') })
    for (const call of [ordinary, misdirected, http1]) waiting.add(call)
    expect(areSame([waiting.fallback.first, waiting.ordinary.first], [http1, ordinary])).toBe(true)
    expect(areSame(waiting.toArray(), [http1, ordinary, misdirected])).toBe(true)
    expect([waiting.size, waiting.total]).toEqual([3, 3])
  })

  it('keeps calls with requirements of their own in the order of dispatch', () => {
    const { waiting } = setUp()
    const calls = [
      toCall(),
      toCall({}, { upgrade: 'websocket' }),
      toCall({}, { method: 'PUT', body: ['a'] }),
      toCall(),
    ]
    for (const call of calls) waiting.add(call)
    expect(areSame(waiting.toArray(), calls)).toBe(true)
    expect([waiting.fallback.size, waiting.ordinary.size]).toEqual([0, 4])
  })

  it.each<Partial<FailureNotes>>([
    {},
    { wasMisdirected: true },
    { http1Required: new SocketError('') },
  ])('removes a call that has settled: %o', (notes) => {
    const { waiting } = setUp()
    const [before, call, after] = [toCall(notes), toCall(notes), toCall(notes)]
    for (const each of [before, call, after]) waiting.add(each)
    waiting.delete(call)
    expect(areSame(waiting.toArray(), [before, after])).toBe(true)
    expect(waiting.size).toBe(2)
  })

  it('counts a refused call during its delay, but gives it only afterwards', () => {
    const { clock, onOver, waiting } = setUp()
    const call = toCall({ setbacks: 2 })
    expect(waiting.delay(toCall({ setbacks: 1 }))).toBe(false)
    expect(waiting.delay(call)).toBe(true)
    expect([waiting.size, waiting.total, waiting.isDelayed(call)]).toEqual([0, 1, true])
    expect(areSame(waiting.toArray(), [call])).toBe(true)
    clock.advance(1_000)
    expect(onOver.mock.calls).toHaveLength(1)
    expect(onOver.mock.calls[0]?.[0] === call).toBe(true)
    expect([waiting.total, waiting.isDelayed(call)]).toEqual([0, false])
  })
})

describe('the delay of a refused call', () => {
  /** Calls of one kind are equal to each other: these names distinguish them. */
  const names = new WeakMap<Call, string>()

  function toRefused(setbacks: number, name = 'call'): Call {
    const call = toCall({ setbacks })
    names.set(call, name)
    return call
  }

  function toNames(calls: readonly Call[]): (string | undefined)[] {
    return calls.map((call) => names.get(call))
  }

  /** @param jitter from 0 to 1 */
  function setUpDelays(jitter = 1) {
    vi.spyOn(Math, 'random').mockReturnValue(jitter)
    const clock = new FakeClock()
    const released: (string | undefined)[] = []
    const waiting: WaitingCalls = new WaitingCalls(clock, (call) => {
      expect(waiting.toArray()).not.toContain(call)
      released.push(names.get(call))
    })
    return { clock, waiting, released }
  }

  afterEach(() => {
    vi.restoreAllMocks()
  })

  it.each([
    { setbacks: 2, jitter: 1, delay: FIRST_DELAY },
    { setbacks: 5, jitter: 0.5, delay: 600 },
  ])('is $delay ms after $setbacks setbacks, with a jitter of $jitter', ({ setbacks, jitter, delay }) => {
    const { clock, waiting, released } = setUpDelays(jitter)
    expect(waiting.delay(toRefused(setbacks))).toBe(true)
    clock.advance(delay - 1)
    expect([released, waiting.total]).toEqual([[], 1])
    clock.advance(1)
    expect(released).toEqual(['call'])
    expect(waiting.total).toBe(0)
    clock.advance(LONGEST_DELAY)
    expect(released).toHaveLength(1)
  })

  it('is its own', () => {
    const { clock, waiting, released } = setUpDelays()
    waiting.delay(toRefused(6, 'long'))
    waiting.delay(toRefused(2, 'short'))
    clock.advance(FIRST_DELAY)
    expect(released).toEqual(['short'])
    waiting.delay(toRefused(2, 'later'))
    clock.advance(FIRST_DELAY + RESOLUTION)
    expect(released).toEqual(['short', 'later'])
    expect(toNames(waiting.toArray())).toEqual(['long'])
    clock.advance(16 * FIRST_DELAY)
    expect(released).toEqual(['short', 'later', 'long'])
  })

  it('ends when the call has settled, which is never released then', () => {
    const { clock, waiting, released } = setUpDelays()
    const gone = toRefused(2, 'gone')
    waiting.delay(gone)
    waiting.delay(toRefused(2, 'left'))
    waiting.delete(gone)
    expect(toNames(waiting.toArray())).toEqual(['left'])
    clock.advance(FIRST_DELAY)
    expect(released).toEqual(['left'])
  })

  it('can follow another one, also from within the callback', () => {
    vi.spyOn(Math, 'random').mockReturnValue(1)
    const clock = new FakeClock()
    const at: number[] = []
    const waiting: WaitingCalls = new WaitingCalls(clock, (call) => {
      at.push(clock.now() - start)
      if (at.length < 3) waiting.delay(call)
    })
    const start = clock.now()
    waiting.delay(toRefused(2))
    clock.advance(LONGEST_DELAY)
    expect(at).toEqual([FIRST_DELAY, 2 * FIRST_DELAY, 3 * FIRST_DELAY])
    expect([waiting.total, clock.alarms, clock.referenced]).toEqual([0, 0, 0])
  })

  describe('keeps the process alive', () => {
    it('while there is such a call, whatever happened to earlier ones', () => {
      const { clock, waiting } = setUpDelays()
      waiting.delay(toRefused(2, 'first'))
      expect(clock.referenced).toBe(1)
      waiting.delay(toRefused(6, 'second'))
      clock.advance(FIRST_DELAY)
      expect(toNames(waiting.toArray())).toEqual(['second'])
      expect(clock.referenced).toBe(1)
      clock.advance(16 * FIRST_DELAY)
      expect([waiting.total, clock.alarms, clock.referenced]).toEqual([0, 0, 0])
    })

    it('no longer than until the last one has settled', () => {
      const { clock, waiting } = setUpDelays()
      const [first, second] = [toRefused(2, 'first'), toRefused(6, 'second')]
      waiting.delay(first)
      waiting.delay(second)
      waiting.delete(first)
      expect(clock.referenced).toBe(1)
      waiting.delete(second)
      expect([clock.alarms, clock.referenced]).toEqual([0, 0])
      // The same for the next call.
      waiting.delay(first)
      expect(clock.referenced).toBe(1)
    })
  })
})

import { describe, expect, it, vi } from 'vitest'
import type { Call } from '../../../src/call/call.ts'
import type { FailureNotes } from '../../../src/call/scheduler-notes.ts'
import { NO_FAILURES } from '../../../src/call/scheduler-notes.ts'
import { SocketError } from '../../../src/errors/errors.ts'
import { WaitingCalls } from '../../../src/scheduler/waiting-calls.ts'
import type { DispatchOptions } from '../../../types/index.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { Scene } from '../call/call-scene.ts'

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
    const call = toCall()
    expect(waiting.delay(call, 1)).toBe(false)
    expect(waiting.delay(call, 2)).toBe(true)
    expect([waiting.size, waiting.total, waiting.isDelayed(call)]).toEqual([0, 1, true])
    expect(areSame(waiting.toArray(), [call])).toBe(true)
    clock.advance(1_000)
    expect(onOver.mock.calls).toHaveLength(1)
    expect(onOver.mock.calls[0]?.[0] === call).toBe(true)
    expect([waiting.total, waiting.isDelayed(call)]).toEqual([0, false])
  })

  it('removes a refused call that has settled during its delay', () => {
    const { clock, onOver, waiting } = setUp()
    const call = toCall()
    waiting.delay(call, 3)
    waiting.delete(call)
    clock.advance(10_000)
    expect([waiting.total, onOver.mock.calls.length]).toEqual([0, 0])
  })
})

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { EndedSession, ReconnectDemand } from '../../../src/scheduler/reconnect-policy.ts'
import { ReconnectPolicy } from '../../../src/scheduler/reconnect-policy.ts'
import { MAX_FRUITLESS_ATTEMPTS } from '../../../src/scheduler/replay.ts'
import { FakeClock } from '../../support/clocks/fake-clock.ts'

const FIRST_DELAY = 100

/** The calls for which connections are made. */
class TestDemand implements ReconnectDemand {
  progress = 0
  calls = 1

  waiting(): number {
    return this.calls
  }
}

function setUp() {
  const clock = new FakeClock()
  const demand = new TestDemand()
  const onOver = vi.fn()
  return { clock, demand, onOver, policy: new ReconnectPolicy(clock, demand, onOver) }
}

const toSession = (responded = 0): EndedSession => ({ responded })

/** Ends so many sessions without a response, and returns whether the policy gave up after each of them. */
function endFruitless(policy: ReconnectPolicy, times: number, isServed = false): boolean[] {
  return Array.from({ length: times }, () => policy.recordEnd(toSession(), isServed))
}

beforeEach(() => {
  vi.spyOn(Math, 'random').mockReturnValue(1)
})

afterEach(() => {
  vi.restoreAllMocks()
})

describe('ReconnectPolicy', () => {
  describe('when a connection attempt fails', () => {
    it('allows another one at once, the first time', () => {
      const { clock, policy } = setUp()
      expect(policy.mayConnect).toBe(true)
      policy.recordFailedConnection()
      expect([policy.mayConnect, clock.made]).toEqual([true, 0])
    })

    it('backs off from the second failure in a row on, and reports the end of the delay', () => {
      const { clock, onOver, policy } = setUp()
      policy.recordFailedConnection()
      policy.recordFailedConnection()
      clock.advance(FIRST_DELAY - 1)
      expect([policy.mayConnect, onOver.mock.calls.length]).toEqual([false, 0])
      clock.advance(1)
      expect([policy.mayConnect, onOver.mock.calls.length]).toEqual([true, 1])
    })

    it('never gives up: the calls have failed with each connection', () => {
      const { policy } = setUp()
      for (let i = 0; i < 10; i++) policy.recordFailedConnection()
      expect(policy.recordEnd(toSession(), false)).toBe(false)
    })

    it('begins a new row after a response on any session', () => {
      const { clock, demand, policy } = setUp()
      policy.recordFailedConnection()
      demand.progress++
      policy.recordFailedConnection()
      expect([policy.mayConnect, clock.made]).toEqual([true, 0])
      policy.recordFailedConnection()
      expect(policy.mayConnect).toBe(false)
    })
  })

  it('allows another attempt at once when the last failures are ten minutes ago', () => {
    const { clock, policy } = setUp()
    for (let i = 0; i < 5; i++) policy.recordFailedConnection()
    clock.advance(600_000)
    policy.recordFailedConnection()
    expect(policy.mayConnect).toBe(true)
    policy.recordFailedConnection()
    expect(policy.mayConnect).toBe(false)
  })

  describe('when a session ends', () => {
    it('without a response, counts a setback', () => {
      const { policy } = setUp()
      policy.recordFailedConnection()
      policy.recordEnd(toSession(), false)
      expect(policy.mayConnect).toBe(false)
    })

    it('with a response, ends the row', () => {
      const { policy } = setUp()
      policy.recordFailedConnection()
      policy.recordEnd(toSession(1), false)
      policy.recordFailedConnection()
      expect(policy.mayConnect).toBe(true)
    })

    it('counts it once', () => {
      const { clock, policy } = setUp()
      const session = toSession()
      const verdicts = Array.from({ length: 10 }, () => policy.recordEnd(session, false))
      expect(verdicts).not.toContain(true)
      expect([policy.mayConnect, clock.made]).toEqual([true, 0])
    })

    it('does not count a session that the client has closed', () => {
      const { clock, policy } = setUp()
      for (let i = 0; i < 10; i++) {
        const session = toSession()
        policy.exempt(session)
        expect(policy.recordEnd(session, false)).toBe(false)
      }
      expect(clock.made).toBe(0)
    })
  })

  describe('when sessions in a row end without a response', () => {
    it('gives up at the limit, and begins a new row', () => {
      const { policy } = setUp()
      const row = [...Array(MAX_FRUITLESS_ATTEMPTS - 1).fill(false), true]
      expect(endFruitless(policy, 2 * row.length)).toEqual([...row, ...row])
    })

    it('does not give up while another session accepts calls, but at the next end when none does', () => {
      const { policy } = setUp()
      expect(endFruitless(policy, 2 * MAX_FRUITLESS_ATTEMPTS, true)).not.toContain(true)
      expect(endFruitless(policy, 1)).toEqual([true])
    })

    it('counts failed connections between them for the delay alone', () => {
      const { policy } = setUp()
      endFruitless(policy, MAX_FRUITLESS_ATTEMPTS - 1)
      policy.recordFailedConnection()
      expect(endFruitless(policy, 1)).toEqual([true])
    })

    it.each([
      {
        what: 'a session with a response',
        act: ({ policy }: ReturnType<typeof setUp>) => {
          policy.recordEnd(toSession(1), false)
        },
      },
      {
        what: 'a response by another session',
        act: ({ demand }: ReturnType<typeof setUp>) => {
          demand.progress++
        },
      },
      {
        what: 'ten minutes',
        act: ({ clock }: ReturnType<typeof setUp>) => {
          clock.advance(600_000)
        },
      },
    ])('begins a new row after $what', ({ act }) => {
      const scene = setUp()
      endFruitless(scene.policy, MAX_FRUITLESS_ATTEMPTS - 1)
      act(scene)
      const row = [...Array(MAX_FRUITLESS_ATTEMPTS - 1).fill(false), true]
      expect(endFruitless(scene.policy, row.length)).toEqual(row)
    })
  })

  describe('keeps the process alive during a back-off', () => {
    it.each([0, 1])('while calls wait: %i of them', (calls) => {
      const { clock, demand, policy } = setUp()
      demand.calls = calls
      policy.recordFailedConnection()
      policy.recordFailedConnection()
      expect(clock.referenced).toBe(calls)
      demand.calls = 1 - calls
      policy.updateRef()
      expect(clock.referenced).toBe(1 - calls)
    })
  })

  it('leaves no alarm behind when it is stopped', () => {
    const { clock, onOver, policy } = setUp()
    policy.recordFailedConnection()
    policy.recordFailedConnection()
    policy.stop()
    clock.advance(100 * FIRST_DELAY)
    expect([clock.alarms, onOver.mock.calls.length]).toEqual([0, 0])
  })
})

import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { ResetPing } from '../../../../src/session/stream/reset-confirmation.ts'
import { ResetConfirmation } from '../../../../src/session/stream/reset-confirmation.ts'

function setUp() {
  const session = {
    areFramesSent: true,
    isNear: true,
    ping: 'sent' as ResetPing,
    urgent: [] as boolean[],
    confirmed: 0,
  }
  const confirmation = new ResetConfirmation({
    get areFramesSent() {
      return session.areFramesSent
    },
    isNearLimit: () => session.isNear,
    pingAfterReset(isUrgent) {
      session.urgent.push(isUrgent)
      return session.ping
    },
    onConfirmed: () => session.confirmed++,
  })
  const reset = (count: number): void => {
    for (let i = 0; i < count; i++) confirmation.onEarlyEnd()
    confirmation.check()
  }
  return { session, confirmation, reset }
}

describe('ResetConfirmation', () => {
  it('counts the places of reset streams until the ACK of the PING behind them', () => {
    const { session, confirmation, reset } = setUp()
    reset(3)
    expect([confirmation.places, session.urgent]).toEqual([3, [true]])
    confirmation.onPong()
    expect([confirmation.places, session.confirmed]).toEqual([0, 1])
  })

  it('sends one PING at a time: resets that follow it wait for the next one', () => {
    const { session, confirmation, reset } = setUp()
    reset(3)
    reset(2)
    expect([confirmation.places, session.urgent]).toEqual([5, [true]])
    confirmation.onPong()
    expect([confirmation.places, session.urgent]).toEqual([2, [true, true]])
    confirmation.onPong()
    expect([confirmation.places, session.confirmed]).toEqual([0, 2])
  })

  it('takes no ACK of a PING that was sent before for its own', () => {
    const { session, confirmation, reset } = setUp()
    session.ping = 'busy'
    reset(1)
    session.ping = 'sent'
    confirmation.onPong()
    expect([confirmation.places, session.urgent]).toEqual([1, [true, true]])
    confirmation.onPong()
    expect(confirmation.places).toBe(0)
  })

  it('keeps the places when no call waits for them and no PING was sent', () => {
    const { session, confirmation, reset } = setUp()
    session.isNear = false
    session.ping = 'spared'
    reset(2)
    expect([confirmation.places, confirmation.isWanted, session.urgent]).toEqual([2, false, [false]])
    session.isNear = true
    session.ping = 'sent'
    expect(confirmation.isWanted).toBe(true)
    confirmation.check()
    confirmation.onPong()
    expect(confirmation.places).toBe(0)
  })

  it('frees the places at once where no PING may be sent', () => {
    const { session, confirmation, reset } = setUp()
    session.ping = 'refused'
    reset(2)
    expect([confirmation.places, session.confirmed]).toEqual([0, 1])
  })

  describe('when frames wait inside the engine', () => {
    it('sends the PING in a later turn, behind them', async () => {
      const { session, confirmation, reset } = setUp()
      session.areFramesSent = false
      reset(1)
      expect(session.urgent).toEqual([])
      session.areFramesSent = true
      await turn()
      expect([confirmation.places, session.urgent]).toEqual([1, [true]])
    })

    it('sends a PING for the path alone when they don’t go out', async () => {
      const { session, confirmation, reset } = setUp()
      session.areFramesSent = false
      reset(1)
      for (let i = 0; i < 10; i++) await turn()
      expect(session.urgent).toEqual([false])
      confirmation.onPong()
      expect(confirmation.places).toBe(1)
      session.areFramesSent = true
      confirmation.check()
      confirmation.onPong()
      expect(confirmation.places).toBe(0)
    })
  })

  it('does nothing more when it is stopped', async () => {
    const { session, confirmation, reset } = setUp()
    session.areFramesSent = false
    reset(1)
    confirmation.stop()
    session.areFramesSent = true
    await turn()
    confirmation.onPong()
    expect([confirmation.places, session.urgent, session.confirmed]).toEqual([0, [], 0])
  })
})

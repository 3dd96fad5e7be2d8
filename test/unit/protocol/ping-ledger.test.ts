import { describe, expect, it } from 'vitest'
import { PingLedger } from '../../../src/protocol/ping-ledger.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE

describe('PingLedger', () => {
  /**
   * Sends PINGs at these times, as far as they may be sent; each gets its ACK at once.
   *
   * @returns the times of those sent
   */
  function play(times: readonly number[], hasStreams: boolean, ledger = new PingLedger()): number[] {
    return times.filter((time) => {
      if (!ledger.canSend(time, hasStreams)) return false
      ledger.onSent(time, hasStreams)
      ledger.onAck(time)
      return true
    })
  }

  it('without news › permits one PING, and two strikes', () => {
    expect(play([0, 1, 2, 3, 4], true)).toEqual([0, 1, 2])
  })

  it('without news › permits a PING every five minutes while streams are open', () => {
    const times = [0, 1, 2, 5 * MINUTE + 1, 5 * MINUTE + 2, 10 * MINUTE + 2]
    expect(play(times, true)).toEqual([0, 1, 2, 5 * MINUTE + 2, 10 * MINUTE + 2])
  })

  it('without news › permits a PING every two hours while no stream is open', () => {
    const times = [0, 1, 2, 5 * MINUTE + 2, 2 * HOUR + 1, 2 * HOUR + 2]
    expect(play(times, false)).toEqual([0, 1, 2, 2 * HOUR + 2])
  })

  it('after news › permits a PING at any time, and two strikes after it', () => {
    const ledger = new PingLedger()
    play([0, 1, 2], true, ledger)
    ledger.onNews()
    expect([ledger.isFree, ledger.isSpent]).toEqual([true, false])
    expect(play([3, 4, 5, 6], true, ledger)).toEqual([3, 4, 5])
    expect([ledger.isFree, ledger.isSpent]).toEqual([false, true])
  })

  it('news that comes while a PING is under way may have been sent before that arrived, and does not count', () => {
    const ledger = new PingLedger()
    ledger.onNews()
    ledger.onSent(0, true)
    ledger.onNews()
    expect(ledger.isFree).toBe(false)
    ledger.onAck(50)
    expect(ledger.isFree).toBe(false)
    ledger.onNews()
    expect(ledger.isFree).toBe(true)
  })

  it('the time between two PINGs runs from the response of the first, since that may have come late', () => {
    const ledger = new PingLedger()
    play([0, 0], true, ledger)
    ledger.onSent(0, true)
    ledger.onAck(1_000)
    expect(ledger.lastAt).toBe(1_000)
    expect(ledger.canSend(5 * MINUTE + 999, true)).toBe(false)
    expect(ledger.canSend(5 * MINUTE + 1_000, true)).toBe(true)
  })
})

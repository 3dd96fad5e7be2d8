import { describe, expect, it } from 'vitest'
import { FrameBudget } from '../../src/protocol/limits.ts'
import { ConnectionFault } from '../../src/protocol/protocol-error.ts'
import { Flag, frames, Type } from '../../src/testing/frames.ts'
import { CANCEL, NO_ERROR, REFUSED_STREAM } from '../support/peers/error-codes.ts'
import { Rig } from './support/rig.ts'

/** How many frames without effect the budget allows, at most, before one is too many. */
function countUntilFault(spend: () => void, most: number): number {
  for (let count = 0; count < most; count++) {
    try {
      spend()
    } catch (thrown) {
      if (thrown instanceof ConnectionFault && thrown.code === 11) return count
      throw thrown
    }
  }
  return most
}

describe('the budget of frames without effect', () => {
  it('when they come at once › is 5,000 frames', () => {
    const budget = new FrameBudget(() => 0)
    expect(countUntilFault(() => budget.spend(), 10_000)).toBe(5_000)
  })

  it('when time passes › grows by 200 frames for each second, however long', () => {
    let now = 0
    const budget = new FrameBudget(() => now)
    const hour = 3_600
    const count = countUntilFault(() => {
      now += 1_000 / 200
      budget.spend()
    }, hour * 200)
    expect(count).toBe(hour * 200)
    // However much time passes, the budget stays bounded.
    now += 1e9
    expect(countUntilFault(() => budget.spend(), 20_000)).toBeLessThanOrEqual(10_001)
  })

  it('when more than 200 come in each second › is used up at some time', () => {
    let now = 0
    const budget = new FrameBudget(() => now)
    const count = countUntilFault(() => {
      now += 1_000 / 400
      budget.spend()
    }, 100_000)
    expect(count).toBeGreaterThan(5_000)
    expect(count).toBeLessThan(10_500)
  })

  it('when every fifth frame is useful › is never used up, and does not grow beyond its start', () => {
    const budget = new FrameBudget(() => 0)
    for (let count = 0; count < 20_000; count++) {
      budget.earn()
      for (let spent = 0; spent < 4; spent++) budget.spend()
    }
    for (let count = 0; count < 20_000; count++) budget.earn()
    expect(countUntilFault(() => budget.spend(), 10_000)).toBeLessThan(5_010)
  })

  it('when the peer reads no ACKs › allows 1,000 ACKs that wait', () => {
    const budget = new FrameBudget(() => 0)
    expect(countUntilFault(() => budget.addAck(), 2_000)).toBe(1_000)
    const other = new FrameBudget(() => 0)
    expect(
      countUntilFault(() => {
        other.addAck()
        other.clearAcks()
      }, 2_000),
    ).toBe(2_000)
  })
})

describe('a flood', () => {
  const open = frames.response(1)
  const PADDING_ALONE = frames.frame(Type.DATA, Flag.PADDED, 1, Buffer.of(0))
  it.each([
    ['SETTINGS', frames.settings()],
    ['PING', frames.ping()],
    ['an ACK of a PING that was never sent', frames.ping(Buffer.alloc(8, 1), Flag.ACK)],
    ['empty DATA', frames.data(1, '')],
    ['DATA of padding alone', PADDING_ALONE],
    ['RST_STREAM of a stream that is closed', frames.reset(3, CANCEL)],
    ['PRIORITY', frames.frame(Type.PRIORITY, 0, 1, Buffer.alloc(5))],
    ['frames of an unknown type', frames.frame(0xbe, 0, 0)],
    ['GOAWAY', frames.goAway(5, NO_ERROR)],
    ['DATA of a stream that was reset', frames.frame(Type.DATA, 0, 3)],
    ['HEADERS of a stream that was reset', frames.response(3)],
  ])('of %s › ends the connection with ENHANCE_YOUR_CALM within 10,000 frames', (_name, frame) => {
    const rig = new Rig()
    rig.open()
    rig.http2.reset(rig.open(), 8)
    rig.receive(frames.settings(), open)
    rig.take()
    let count = 0
    // Each is taken by itself, and the peer reads what it is told: only their number can be too much.
    while (rig.faults.length === 0 && count < 10_000) {
      rig.receive(frame)
      rig.take()
      count++
    }
    expect(rig.faults.map(({ code }) => code)).toEqual([11])
    expect(count).toBeGreaterThan(2_000)
    expect(rig.http2.canTake).toBe(false)
  })

  it('of informational responses › ends the connection with ENHANCE_YOUR_CALM', () => {
    const rig = new Rig()
    rig.open()
    rig.receive(frames.settings())
    const early = frames.headers(1, [[':status', '103']])
    for (let count = 0; count < 10_000; count++) rig.receive(early)
    expect(rig.faults.map(({ code }) => code)).toEqual([11])
  })
})

describe('unusual but legal traffic', () => {
  it('a WINDOW_UPDATE for each byte that is sent › is no flood, however many there are', () => {
    const rig = new Rig()
    const stream = rig.open({ hasBody: true })
    rig.receive(frames.settings([4, 1]))
    rig.http2.send(stream, Buffer.alloc(12_000), true)
    for (let count = 0; count < 12_000; count++) {
      rig.take()
      rig.receive(frames.windowUpdate(1, 1), frames.windowUpdate(0, 1))
    }
    expect(stream.events.at(-1)).toBe('sent all')
    expect(rig.faults).toEqual([])
  })

  it('a PING each second for an hour, with unknown frames and settings › is no flood', () => {
    const rig = new Rig()
    rig.receive(frames.settings([0x1a, 1], [0xfa, 2 ** 32 - 1]))
    for (let second = 0; second < 3_600; second++) {
      rig.time += 1_000
      rig.receive(
        frames.ping(),
        frames.frame(0x0b + 0x1f * (second % 7), 0xff, second, Buffer.from('GREASE')),
      )
      expect(rig.take().filter(({ type }) => type === Type.PING)).toHaveLength(1)
    }
    expect(rig.faults).toEqual([])
    expect(rig.http2.canTake).toBe(true)
  })

  it('1,000 streams that are refused at once, ten times over › is no flood', () => {
    const rig = new Rig()
    rig.receive(frames.settings())
    for (let round = 0; round < 10; round++) {
      const streams = Array.from({ length: 1_000 }, () => rig.open())
      rig.receive(Buffer.concat(streams.map(({ id }) => frames.reset(id, REFUSED_STREAM))))
    }
    expect(rig.faults).toEqual([])
  })
})

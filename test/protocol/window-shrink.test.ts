import { describe, expect, it } from 'vitest'
import { frames, Type } from '../../src/testing/frames.ts'
import type { HeardStream, OpenOptions } from './support/rig.ts'
import { Rig } from './support/rig.ts'

const LARGE = 64_000
const SMALL = 16_000

const data = (bytes: number, flags = 0): Buffer => frames.frame(Type.DATA, flags, 1, Buffer.alloc(bytes))

/** The increments that go out now for the stream. */
function takeUpdates(rig: Rig): number[] {
  return rig
    .take()
    .filter(({ type, streamId }) => type === Type.WINDOW_UPDATE && streamId === 1)
    .map(({ payload }) => payload.readUInt32BE(0))
}

/** One stream with a large window, whose response has begun. */
function start(options: OpenOptions = {}): { rig: Rig; stream: HeardStream } {
  const rig = new Rig({ windows: { streamWindow: LARGE } })
  rig.receive(frames.settings(), frames.settingsAck())
  const stream = rig.open(options)
  rig.receive(frames.response(1))
  rig.take()
  return { rig, stream }
}

describe('a smaller stream window', () => {
  it.each([
    SMALL / 2,
    SMALL,
    28_000,
  ])('when %i bytes were read of the larger one, and the peer wasn’t told › tells it, so that it may go on', (bytes) => {
    const { rig, stream } = start()
    for (let left = bytes; left > 0; left -= 4_000) rig.receive(data(4_000))
    expect(takeUpdates(rig)).toEqual([])
    rig.setStreamWindow(SMALL)
    expect(takeUpdates(rig)).toEqual([bytes])
    rig.receive(frames.settingsAck())
    expect(stream.consumed).toBe(0)
    rig.receive(data(SMALL))
    expect([stream.events.at(-1), rig.faults]).toEqual([`bytes ${SMALL}`, []])
  })

  it('when less than half was read › causes a WINDOW_UPDATE, and another once half of the smaller one is read', () => {
    const { rig } = start()
    rig.receive(data(SMALL / 2 - 1))
    rig.setStreamWindow(SMALL)
    rig.receive(frames.settingsAck())
    expect(takeUpdates(rig)).toEqual([SMALL / 2 - 1])
    rig.receive(data(SMALL / 2 - 1))
    expect(takeUpdates(rig)).toEqual([])
    rig.receive(data(1))
    expect(takeUpdates(rig)).toEqual([SMALL / 2])
  })

  it('when it shrinks step by step, with a little read at each › leaves the peer some window each time', () => {
    const { rig, stream } = start()
    for (let size = LARGE; size >= 1_000; size = Math.floor(size / 4)) {
      rig.receive(data(Math.ceil(size / 2) - 1))
      rig.setStreamWindow(Math.floor(size / 4))
      rig.receive(frames.settingsAck())
      expect(stream.receiveWindow, `of ${size}`).toBeGreaterThan(0)
    }
    expect(stream.events.filter((event) => event.startsWith('breach'))).toEqual([])
  })
})

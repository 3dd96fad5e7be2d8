import { describe, expect, it } from 'vitest'
import { frames, Type } from '../../src/testing/frames.ts'
import type { Reading } from './support/rig.ts'
import { Rig } from './support/rig.ts'
import type { WindowSizes } from './support/windows.ts'

const FRAME = 10_000

const data = (streamId: number, bytes: number): Buffer =>
  frames.frame(Type.DATA, 0, streamId, Buffer.alloc(bytes))

/** How much the connection is told of now. */
function takeCredit(rig: Rig): number {
  return rig
    .take()
    .filter(({ type, streamId }) => type === Type.WINDOW_UPDATE && streamId === 0)
    .reduce((sum, { payload }) => sum + payload.readUInt32BE(0), 0)
}

/** Streams of a window that nothing in a test fills, and the responses' headers. */
function start(windows: Partial<WindowSizes>, ...readings: Reading[]) {
  const rig = new Rig({ windows: { streamWindow: 8_000_000, maxStreamWindow: 8_000_000, ...windows } })
  rig.receive(frames.settings(), frames.settingsAck())
  const streams = readings.map((reading) => rig.open({ reading }))
  for (const { id } of streams) rig.receive(frames.response(id))
  rig.take()
  return { rig, streams }
}

/** By frames of one size. */
function send(rig: Rig, streamId: number, bytes: number): void {
  for (let left = bytes; left > 0; left -= FRAME) rig.receive(data(streamId, Math.min(left, FRAME)))
}

describe('a reader that resumes', () => {
  const WINDOW = 100_000

  it('when unread data of another fills nearly all of the window › gets that much credit in advance, at once', () => {
    const windows = { connectionWindow: WINDOW, maxConnectionWindow: WINDOW, maxBuffer: 3 * WINDOW }
    const { rig, streams } = start(windows, 'holds', 'holds')
    const [holder, reader] = streams
    if (holder === undefined || reader === undefined) throw new Error('two were opened')
    send(rig, reader.id, 10)
    send(rig, holder.id, WINDOW - 10)
    // No reader reads: no stream needs more credit.
    expect(takeCredit(rig)).toBe(0)
    rig.http2.flow.release(reader, 10)
    // The credit that it returned, and the unread data of the other.
    expect(takeCredit(rig)).toBe(WINDOW)
  })

  it('when some of its data is still unread › gets credit only for data that was read', () => {
    const windows = { connectionWindow: WINDOW, maxConnectionWindow: WINDOW, maxBuffer: 3 * WINDOW }
    const { rig, streams } = start(windows, 'holds', 'holds')
    const [holder, reader] = streams
    if (holder === undefined || reader === undefined) throw new Error('two were opened')
    send(rig, reader.id, 20)
    send(rig, holder.id, WINDOW - 20)
    rig.http2.flow.release(reader, 10)
    expect(takeCredit(rig)).toBe(10)
  })

  it('when the bound equals the window › gets no credit in advance', () => {
    const windows = { connectionWindow: WINDOW, maxConnectionWindow: WINDOW, maxBuffer: WINDOW }
    const { rig, streams } = start(windows, 'holds', 'holds')
    const [holder, reader] = streams
    if (holder === undefined || reader === undefined) throw new Error('two were opened')
    send(rig, reader.id, 10)
    send(rig, holder.id, WINDOW - 10)
    rig.http2.flow.release(reader, 10)
    expect(takeCredit(rig)).toBe(10)
  })
})

describe('credit in advance', () => {
  it('when the connection window can still grow › is the bound less the present window', () => {
    const windows = { connectionWindow: 1_000_000, maxConnectionWindow: 4_000_000, maxBuffer: 3_000_000 }
    const { rig } = start(windows, 'holds')
    send(rig, 1, 1_000_000)
    expect([takeCredit(rig), rig.http2.flow.held]).toEqual([0, 1_000_000])
    rig.open()
    expect(takeCredit(rig)).toBe(1_000_000)
    // The sum never exceeds the bound, however often credit becomes scarce.
    let sent = 1_000_000
    for (let credit = 1_000_000; credit > 0; credit = takeCredit(rig)) {
      send(rig, 1, credit)
      sent += credit
    }
    expect([sent, rig.http2.flow.held]).toEqual([3_000_000, 3_000_000])
    expect(rig.faults).toEqual([])
  })
})

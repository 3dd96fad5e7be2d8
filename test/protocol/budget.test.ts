import { describe, expect, test, vi } from 'vitest'
import { StreamTable } from '../../src/protocol/stream-table.ts'
import { Flag, frames, Setting, Type } from '../support/frames.ts'
import { Rig } from './support/rig.ts'

const ENHANCE_YOUR_CALM = 11
const CANCEL = 8
const MEGABYTE = 1_000_000

/** Repeats a step until it is too much. @returns how often it was accepted */
function flood(rig: Rig, most: number, toBytes: (count: number) => Buffer): number {
  let count = 0
  while (rig.faults.length === 0 && count < most) {
    rig.receive(toBytes(count++))
    rig.take()
  }
  return count
}

const codes = (rig: Rig): number[] => rig.faults.map(({ code }) => code)

/** A peer that takes large frames, and a stream that sends to it. */
function startUpload() {
  const rig = new Rig()
  rig.receive(frames.settings([Setting.MAX_FRAME_SIZE, 1_048_576], [Setting.INITIAL_WINDOW_SIZE, MEGABYTE]))
  rig.receive(frames.windowUpdate(0, MEGABYTE))
  return { rig, stream: rig.open({ hasBody: true }) }
}

describe('WINDOW_UPDATEs of an upload', () => {
  // Go's net/http gives credit for each 4 KiB that were read, on the stream and on the connection; older ones for each
  // read.
  test.each([
    { step: 4_096, total: 32 * MEGABYTE },
    { step: 512, total: 8 * MEGABYTE },
  ])('of $step bytes each, while frames are large › are no flood', ({ step, total }) => {
    const { rig, stream } = startUpload()
    const slice = Buffer.alloc(65_536)
    const updates = [frames.windowUpdate(stream.id, step), frames.windowUpdate(0, step)]
    for (let sent = 0; sent < total; sent += slice.length) {
      rig.http2.send(stream, slice, false)
      expect(rig.take().filter(({ type }) => type === Type.DATA)).toHaveLength(1)
      for (let read = 0; read < slice.length; read += step) rig.receive(...updates)
    }
    expect(rig.faults.map(String)).toEqual([])
  })

  test('of 1,024 bytes and more › cost nothing, whenever they come: their sum is bounded', () => {
    const { rig, stream } = startUpload()
    flood(rig, 20_000, (count) => frames.windowUpdate(count % 2 === 0 ? stream.id : 0, 1_024))
    expect(rig.faults.map(String)).toEqual([])
  })

  test('of a byte less, that nothing was sent for › are a flood', () => {
    const { rig, stream } = startUpload()
    expect(flood(rig, 20_000, () => frames.windowUpdate(stream.id, 1_023))).toBeLessThan(10_000)
    expect(codes(rig)).toEqual([ENHANCE_YOUR_CALM])
  })

  test.each([
    [
      'that has ended',
      (rig: Rig): void => rig.receive(frames.headers(1, [[':status', '200']], Flag.END_STREAM)),
    ],
    ['that was reset', (rig: Rig): void => rig.http2.reset(rig.streams[0] ?? rig.open(), CANCEL)],
  ])('on a stream %s › are a flood, however large: no window bounds them', (_what, close) => {
    const rig = new Rig()
    rig.receive(frames.settings())
    rig.open()
    close(rig)
    rig.take()
    expect(flood(rig, 20_000, () => frames.windowUpdate(1, 65_536))).toBeLessThan(10_000)
    expect(codes(rig)).toEqual([ENHANCE_YOUR_CALM])
  })
})

describe('informational responses', () => {
  test('on an abandoned stream that is not reset yet › are a flood as on any other stream', () => {
    const rig = new Rig()
    rig.receive(frames.settings())
    rig.http2.abandon(rig.open())
    const early = frames.headers(1, [[':status', '100']])
    expect(flood(rig, 20_000, () => early)).toBeLessThan(10_000)
    expect(codes(rig)).toEqual([ENHANCE_YOUR_CALM])
  })
})

describe('frames that count for all open streams', () => {
  /** So many that are open. */
  function startMany(streams: number): Rig {
    const rig = new Rig()
    rig.receive(frames.settings([Setting.MAX_CONCURRENT_STREAMS, streams]), frames.settingsAck())
    for (let count = 0; count < streams; count++) rig.open({ hasBody: true })
    rig.receive(frames.response(1))
    rig.take()
    return rig
  }

  const toChange = (count: number): Buffer =>
    frames.settings([Setting.INITIAL_WINDOW_SIZE, 70_000 + (count % 2)])

  test('when SETTINGS change 2,000 windows › cost in proportion: a thousand such frames are a flood', () => {
    const rig = startMany(2_000)
    expect(flood(rig, 1_000, toChange)).toBeLessThan(500)
    expect(codes(rig)).toEqual([ENHANCE_YOUR_CALM])
  })

  test('when a byte of data comes with every four of them › are still a flood', () => {
    const rig = startMany(2_000)
    const byte = frames.data(1, 'x')
    flood(rig, 2_500, (count) => (count % 5 === 0 ? Buffer.concat([byte, toChange(count)]) : toChange(count)))
    expect(codes(rig)).toEqual([ENHANCE_YOUR_CALM])
  })

  test('when SETTINGS repeat known values › change no window, and cost as little as any frame', () => {
    const rig = startMany(2_000)
    const same = frames.settings([Setting.INITIAL_WINDOW_SIZE, 65_535])
    expect(flood(rig, 4_000, () => same)).toBe(4_000)
    expect(rig.faults.map(String)).toEqual([])
  })

  test('when SETTINGS change the windows of 100 streams a thousand times › are no flood', () => {
    const rig = startMany(100)
    expect(flood(rig, 1_000, toChange)).toBe(1_000)
    expect(rig.faults.map(String)).toEqual([])
  })

  test('when a GOAWAY repeats the previous one › cause no search for refused streams', () => {
    const rig = startMany(2_000)
    const above = vi.spyOn(StreamTable.prototype, 'above')
    try {
      flood(rig, 1_000, () => frames.goAway(2 ** 31 - 1, 0))
      expect(above.mock.calls).toHaveLength(1)
      rig.receive(frames.goAway(3_001, 0))
      expect(above.mock.calls).toHaveLength(2)
    } finally {
      above.mockRestore()
    }
    expect(rig.streams.filter(({ events }) => events.includes('refused'))).toHaveLength(499)
  })
})

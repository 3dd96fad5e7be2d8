import { describe, expect, it, vi } from 'vitest'
import { StreamTable } from '../../src/protocol/stream-table.ts'
import { Flag, frames, Setting, Type } from '../../src/testing/frames.ts'
import { CANCEL, ENHANCE_YOUR_CALM, NO_ERROR } from '../support/peers/error-codes.ts'
import type { HeardStream } from './support/rig.ts'
import { Rig } from './support/rig.ts'

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
  // Go's net/http returns credit for each 4 KiB that were read, on the stream and on the connection; before 2023 for each
  // read.
  it.each([
    { step: 4_096, total: 32 * MEGABYTE },
    { step: 512, total: 8 * MEGABYTE },
    { step: 200, total: 3 * MEGABYTE },
    { step: 64, total: 3 * MEGABYTE },
    { step: 1, total: 131_072 },
  ])('of $step bytes each, while frames are large › are no flood', ({ step, total }) => {
    const { rig, stream } = startUpload()
    const slice = Buffer.alloc(65_536)
    const updates = [frames.windowUpdate(stream.id, step), frames.windowUpdate(0, step)]
    for (let sent = 0; sent < total; sent += slice.length) {
      rig.http2.send(stream, slice, false)
      expect(rig.take().filter(({ type }) => type === Type.DATA)).toHaveLength(1)
      for (let read = 0; read + step <= slice.length; read += step) rig.receive(...updates)
    }
    expect(rig.faults.map(String)).toEqual([])
    // The budget is untouched.
    expect(flood(rig, 10_000, () => frames.ping())).toBeGreaterThan(4_999)
  })

  it.each([
    { what: 'the stream', toId: (stream: HeardStream): number => stream.id },
    { what: 'the connection', toId: (): number => 0 },
  ])('of $what, byte by byte, for what was sent at once › are no flood, and one byte more each is one', ({
    toId,
  }) => {
    const { rig, stream } = startUpload()
    rig.http2.send(stream, Buffer.alloc(200_000), false)
    rig.take()
    const update = frames.windowUpdate(toId(stream), 1)
    expect(flood(rig, 200_000, () => update)).toBe(200_000)
    expect(rig.faults.map(String)).toEqual([])
    expect(flood(rig, 20_000, () => update)).toBeLessThan(10_000)
    expect(codes(rig)).toEqual([ENHANCE_YOUR_CALM])
  })

  it.each([1, 1_023, 1_024, 100_000])('of %i bytes, that nothing was sent for › are a flood', (size) => {
    for (const id of [0, 1]) {
      const { rig } = startUpload()
      expect(flood(rig, 20_000, () => frames.windowUpdate(id, size))).toBeLessThan(10_000)
      expect(codes(rig)).toEqual([ENHANCE_YOUR_CALM])
    }
  })

  it('of 2^31-1 bytes, that nothing was sent for › end the stream at once, and then are a flood', () => {
    const { rig, stream } = startUpload()
    const update = frames.windowUpdate(stream.id, 2 ** 31 - 1)
    rig.receive(update)
    expect(stream.events).toEqual(['breach 3'])
    expect(flood(rig, 20_000, () => update)).toBeLessThan(10_000)
    expect(codes(rig)).toEqual([ENHANCE_YOUR_CALM])
  })

  it('of 2^31-1 bytes for the connection › end it at once', () => {
    const { rig } = startUpload()
    rig.receive(frames.windowUpdate(0, 2 ** 31 - 1))
    expect(codes(rig)).toEqual([3])
  })

  it('that enlarge a window while much is sent › cost a token each, and use up no credit', () => {
    const { rig, stream } = startUpload()
    rig.http2.send(stream, Buffer.alloc(100_000), false)
    rig.take()
    for (let count = 0; count < 100; count++) rig.receive(frames.windowUpdate(stream.id, 100_001))
    expect(stream.upload?.unreturned).toBe(100_000)
    expect(flood(rig, 100_000, () => frames.windowUpdate(stream.id, 1))).toBe(100_000)
    expect(rig.faults.map(String)).toEqual([])
  })

  it('on the streams of small uploads that have ended › are paid for by what was sent on them', () => {
    const { rig } = startUpload()
    const byte = (id: number): Buffer =>
      Buffer.concat(Array.from({ length: 1_000 }, () => frames.windowUpdate(id, 1)))
    for (let count = 0; count < 100; count++) {
      const stream = rig.open({ hasBody: true })
      rig.http2.send(stream, Buffer.alloc(1_000), true)
      rig.take()
      rig.receive(frames.headers(stream.id, [[':status', '200']], Flag.END_STREAM), byte(stream.id), byte(0))
    }
    expect(rig.faults.map(String)).toEqual([])
  })

  it('on a stream that was reset while it was sent › cost nothing up to what was sent, and are a flood above it', () => {
    const { rig, stream } = startUpload()
    rig.http2.send(stream, Buffer.alloc(50_000), false)
    rig.take()
    rig.http2.reset(stream, CANCEL)
    const count = flood(rig, 100_000, () => frames.windowUpdate(stream.id, 1))
    expect(count).toBeGreaterThan(54_000)
    expect(count).toBeLessThan(60_000)
    expect(codes(rig)).toEqual([ENHANCE_YOUR_CALM])
  })

  it('on streams that are gone › cost nothing for a MiB at most, whatever was sent on them', () => {
    const { rig } = startUpload()
    const MIB = 1_048_576
    for (let sent = 0; sent < 4 * MIB; sent += 65_536) {
      const stream = rig.open({ hasBody: true })
      rig.http2.send(stream, Buffer.alloc(65_536), false)
      rig.take()
      rig.http2.reset(stream, CANCEL)
      rig.receive(frames.windowUpdate(0, 65_536))
    }
    const many = Buffer.concat(Array.from({ length: 256 }, () => frames.windowUpdate(3, 1)))
    const count = 256 * flood(rig, MIB, () => many)
    expect(count).toBeGreaterThan(MIB)
    expect(count).toBeLessThan(MIB + 10_000)
  })

  it('of 0 bytes on a stream that is gone › are a flood', () => {
    const { rig, stream } = startUpload()
    rig.http2.send(stream, Buffer.alloc(50_000), false)
    rig.take()
    rig.http2.reset(stream, CANCEL)
    expect(flood(rig, 20_000, () => frames.windowUpdate(stream.id, 0))).toBeLessThan(10_000)
  })

  it.each([
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
  it('on an abandoned stream that is not reset yet › are a flood as on any other stream', () => {
    const rig = new Rig()
    rig.receive(frames.settings())
    rig.http2.cancel(rig.open())
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

  it('when SETTINGS change 2,000 windows › cost in proportion: a thousand such frames are a flood', () => {
    const rig = startMany(2_000)
    expect(flood(rig, 1_000, toChange)).toBeLessThan(500)
    expect(codes(rig)).toEqual([ENHANCE_YOUR_CALM])
  })

  it('when a byte of data comes with every four of them › are still a flood', () => {
    const rig = startMany(2_000)
    const byte = frames.data(1, 'x')
    flood(rig, 2_500, (count) => (count % 5 === 0 ? Buffer.concat([byte, toChange(count)]) : toChange(count)))
    expect(codes(rig)).toEqual([ENHANCE_YOUR_CALM])
  })

  it('when SETTINGS repeat known values › change no window, and cost as little as any frame', () => {
    const rig = startMany(2_000)
    const same = frames.settings([Setting.INITIAL_WINDOW_SIZE, 65_535])
    expect(flood(rig, 4_000, () => same)).toBe(4_000)
    expect(rig.faults.map(String)).toEqual([])
  })

  it('when SETTINGS change the windows of 100 streams a thousand times › are no flood', () => {
    const rig = startMany(100)
    expect(flood(rig, 1_000, toChange)).toBe(1_000)
    expect(rig.faults.map(String)).toEqual([])
  })

  it('when a GOAWAY repeats the previous one › cause no search for refused streams', () => {
    const rig = startMany(2_000)
    const above = vi.spyOn(StreamTable.prototype, 'above')
    try {
      flood(rig, 1_000, () => frames.goAway(2 ** 31 - 1, NO_ERROR))
      expect(above.mock.calls).toHaveLength(1)
      rig.receive(frames.goAway(3_001, NO_ERROR))
      expect(above.mock.calls).toHaveLength(2)
    } finally {
      above.mockRestore()
    }
    expect(rig.streams.filter(({ events }) => events.includes('refused'))).toHaveLength(499)
  })
})

const FRAME_SIZE = 16_384
const WINDOW = 1_048_576

/** A stream with a response, and windows for more than a stream's. */
function startDownload(streamWindow = WINDOW) {
  const rig = new Rig({ windows: { streamWindow, connectionWindow: 4 * streamWindow } })
  rig.receive(frames.settings(), frames.settingsAck())
  const stream = rig.open()
  rig.receive(frames.response(stream.id))
  rig.take()
  return { rig, stream }
}

/** Sends so much data in frames of that size. */
function download(rig: Rig, streamId: number, bytes: number, size: number): void {
  const frame = frames.data(streamId, Buffer.alloc(size))
  for (let sent = 0; sent < bytes && rig.faults.length === 0; sent += size) {
    rig.receive(frame)
    rig.take()
  }
}

describe('DATA for a stream that we have reset', () => {
  it.each([
    1_024,
    FRAME_SIZE,
  ])('that was in flight, as much as its window allows, in frames of %i bytes › costs nothing, stream after stream', (size) => {
    const { rig } = startDownload()
    for (let count = 0; count < 20; count++) {
      const stream = rig.open()
      rig.receive(frames.response(stream.id))
      rig.http2.reset(stream, CANCEL)
      download(rig, stream.id, WINDOW, size)
    }
    expect(rig.faults.map(String)).toEqual([])
    const ping = frames.ping()
    // The budget is untouched.
    expect(flood(rig, 10_000, () => ping)).toBeGreaterThan(4_999)
  })

  it('that was in flight, of streams that were reset together › costs nothing, in any order', () => {
    const { rig } = startDownload()
    const streams = Array.from({ length: 100 }, () => rig.open())
    for (const stream of streams) rig.receive(frames.response(stream.id))
    for (const stream of streams) rig.http2.reset(stream, CANCEL)
    for (const stream of streams.toReversed()) download(rig, stream.id, WINDOW, FRAME_SIZE)
    expect(rig.faults.map(String)).toEqual([])
  })

  // A server that echoes what comes in pieces of a byte sends such frames until it hears of the reset.
  it.each([
    { what: 'of a byte', flags: 0, content: 'x' },
    { what: 'that are empty, and end the stream', flags: Flag.END_STREAM, content: '' },
  ])('in frames $what › costs nothing within its window, and is a flood above it', ({ flags, content }) => {
    const small = 65_536
    const { rig, stream } = startDownload(small)
    rig.http2.reset(stream, CANCEL)
    const frame = frames.data(stream.id, content, flags)
    const count = flood(rig, 2 * small, () => frame)
    expect(count).toBeGreaterThan(small)
    expect(count).toBeLessThan(small + 10_000)
    expect(codes(rig)).toEqual([ENHANCE_YOUR_CALM])
  })

  it('beyond its window › is a flood by its size', () => {
    const { rig, stream } = startDownload()
    rig.http2.reset(stream, CANCEL)
    download(rig, stream.id, 100 * WINDOW, FRAME_SIZE)
    expect(codes(rig)).toEqual([ENHANCE_YOUR_CALM])
  })

  it('when the peer has reset the stream itself › is charged from the first one: none was in flight', () => {
    const { rig, stream } = startDownload()
    rig.receive(frames.reset(stream.id, CANCEL))
    const byte = frames.data(stream.id, 'x')
    expect(flood(rig, 50_000, () => byte)).toBeLessThan(10_000)
  })
})

describe('DATA for a stream that is abandoned, and not reset yet', () => {
  it('in frames of a byte, within its window › is no flood: the peer knows nothing of it', () => {
    const { rig, stream } = startDownload()
    rig.http2.cancel(stream)
    download(rig, stream.id, 60_000, 1)
    expect(rig.faults.map(String)).toEqual([])
  })

  it('beyond its window › is FLOW_CONTROL_ERROR of the stream, as on a live one', () => {
    const { rig, stream } = startDownload()
    rig.http2.cancel(stream)
    download(rig, stream.id, WINDOW, FRAME_SIZE)
    expect(stream.state).toBe('half-closed (local)')
    rig.receive(frames.data(stream.id, 'x'))
    expect(stream.events).toEqual(['response 200', 'forgotten'])
    const resets = rig.take().filter(({ type }) => type === Type.RST_STREAM)
    expect(resets.map(({ streamId, payload }) => [streamId, payload.readUInt32BE()])).toEqual([
      [stream.id, 3],
    ])
    expect(rig.faults.map(String)).toEqual([])
  })

  it('after SETTINGS with a larger window › may be as much more', () => {
    const { rig, stream } = startDownload()
    rig.http2.cancel(stream)
    rig.setStreamWindow(2 * WINDOW)
    rig.receive(frames.settingsAck())
    download(rig, stream.id, 2 * WINDOW, FRAME_SIZE)
    expect(stream.state).toBe('half-closed (local)')
    expect(rig.faults.map(String)).toEqual([])
  })
})

describe('frames that are charged by their size', () => {
  const GREASE = 0x0b + 0x1f * 3

  it('when they are of an unknown type and small › are taken as others: 4,000 at once', () => {
    const { rig } = startDownload()
    const small = frames.frame(GREASE, 0, 0, Buffer.alloc(32))
    expect(flood(rig, 4_000, () => small)).toBe(4_000)
    expect(rig.faults.map(String)).toEqual([])
  })

  it('when they are of an unknown type and large › are a flood after some megabytes', () => {
    const { rig, stream } = startDownload()
    const large = frames.frame(GREASE, 0, stream.id, Buffer.alloc(FRAME_SIZE))
    expect(flood(rig, 4_000, () => large)).toBeLessThan(2_000)
    expect(codes(rig)).toEqual([ENHANCE_YOUR_CALM])
  })

  it.each([
    ['is gone', (rig: Rig, stream: HeardStream): void => rig.http2.reset(stream, CANCEL), '200'],
    ['is abandoned', (rig: Rig, stream: HeardStream): void => rig.http2.cancel(stream), '200'],
    ['has no final response yet', (): void => {}, '103'],
  ])('when they are HEADERS of a stream that %s › are a flood after some megabytes', (_what, end, status) => {
    const rig = new Rig()
    rig.receive(frames.settings())
    const stream = rig.open()
    end(rig, stream)
    rig.take()
    const large = frames.headers(stream.id, [
      [':status', status],
      ['x', 'v'.repeat(FRAME_SIZE - 100)],
    ])
    expect(flood(rig, 4_000, () => large)).toBeLessThan(1_200)
    expect(codes(rig)).toEqual([ENHANCE_YOUR_CALM])
  })

  it('when each GOAWAY refuses one more of 2,000 streams › are a flood', () => {
    const rig = new Rig()
    rig.receive(frames.settings([Setting.MAX_CONCURRENT_STREAMS, 2_000]))
    for (let count = 0; count < 2_000; count++) rig.open()
    expect(flood(rig, 2_000, (count) => frames.goAway(4_000 - count, NO_ERROR))).toBeLessThan(200)
    expect(codes(rig)).toEqual([ENHANCE_YOUR_CALM])
  })
})

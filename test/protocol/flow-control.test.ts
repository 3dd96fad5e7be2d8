import { describe, expect, it } from 'vitest'
import { Flag, frames, Type } from '../../src/testing/frames.ts'
import { toRounds } from '../support/clocks/sample.ts'
import { Random } from './hpack/support.ts'
import { LongPath } from './support/long-path.ts'
import { ObedientPeer, readAll } from './support/obedient-peer.ts'
import type { HeardStream } from './support/rig.ts'
import { Rig } from './support/rig.ts'
import type { WindowSizes } from './support/windows.ts'

const DEFAULT_WINDOW = 65_535

/** The increments that go out now: `'0 +100'` is one of the connection. */
function takeUpdates(rig: Rig): string[] {
  return rig
    .take()
    .filter(({ type }) => type === Type.WINDOW_UPDATE)
    .map(({ streamId, payload }) => `${streamId} +${payload.readUInt32BE(0)}`)
}

/** A connection before any frame. By default, as much data may be unread as the connection window allows. */
function startFresh(streamWindow: number, connectionWindow: number, more: Partial<WindowSizes> = {}): Rig {
  const sizes = {
    maxStreamWindow: streamWindow,
    maxConnectionWindow: connectionWindow,
    maxBuffer: connectionWindow,
  }
  return new Rig({ windows: { streamWindow, connectionWindow, ...sizes, ...more } })
}

/** The peer has sent its SETTINGS, and has acknowledged the client's. */
function start(streamWindow: number, connectionWindow: number, more: Partial<WindowSizes> = {}): Rig {
  const rig = startFresh(streamWindow, connectionWindow, more)
  rig.receive(frames.settings(), frames.settingsAck())
  return rig
}

const data = (streamId: number, size: number, flags = 0): Buffer =>
  frames.frame(Type.DATA, flags, streamId, Buffer.alloc(size))

describe('the windows', () => {
  it('when the connection begins › are announced by SETTINGS, and by one WINDOW_UPDATE of the connection', () => {
    const rig = new Rig({ windows: { streamWindow: 100_000, connectionWindow: 1_000_000 } })
    const [settings, update] = rig.take()
    expect(settings?.payload.toString('hex')).toContain('0004000186a0')
    expect([update?.streamId, update?.payload.readUInt32BE(0)]).toEqual([0, 1_000_000 - DEFAULT_WINDOW])
  })

  it('of streams whose data is read › are opened again once half of them was used', () => {
    const rig = start(20_000, 1_000_000)
    const stream = rig.open()
    rig.receive(frames.response(1), data(1, 9_999))
    expect(takeUpdates(rig)).toEqual([`0 +${1_000_000 - DEFAULT_WINDOW}`])
    rig.receive(data(1, 1))
    expect(takeUpdates(rig)).toEqual(['1 +10000'])
    expect(stream.receiveWindow).toBe(20_000)
  })

  it('of a stream that has ended › are not opened again', () => {
    const rig = start(20_000, 1_000_000)
    rig.open({ hasBody: true })
    rig.receive(frames.response(1), data(1, 15_000, Flag.END_STREAM))
    expect(takeUpdates(rig)).toEqual([`0 +${1_000_000 - DEFAULT_WINDOW}`])
  })

  it('of a stream whose data lies unread › are opened again when it is read, and the connection’s likewise', () => {
    const rig = start(80_000, 80_000)
    const stream = rig.open({ reading: 'holds' })
    rig.receive(frames.response(1), ...Array.from({ length: 5 }, () => data(1, 16_000)))
    expect(takeUpdates(rig)).toEqual([`0 +${80_000 - DEFAULT_WINDOW}`])
    expect([rig.http2.flow.held, stream.held]).toEqual([80_000, 80_000])
    rig.http2.flow.release(stream, 40_000)
    expect(takeUpdates(rig)).toEqual(['0 +40000', '1 +40000'])
  })
})

describe('data beyond the window', () => {
  it('on a stream › is a stream error (RFC 9113 §6.9.1), and its bytes count for the connection window', () => {
    const rig = start(20_000, 100_000)
    const [stream, sibling] = [rig.open({ reading: 'holds' }), rig.open()]
    rig.receive(frames.response(1), frames.response(3), data(1, 16_000), data(1, 4_001))
    expect(stream.events.at(-1)).toBe('breach 3')
    expect(
      rig
        .take()
        .filter(({ type }) => type === Type.RST_STREAM)
        .map(({ payload }) => payload.readUInt32BE(0)),
    ).toEqual([3])
    rig.receive(frames.data(3, 'fine', Flag.END_STREAM))
    expect([sibling.text, rig.faults]).toEqual(['fine', []])
  })
})

describe('readers', () => {
  it('when unread data of others fills the connection window › still get data, up to the bound', () => {
    const rig = startFresh(DEFAULT_WINDOW, DEFAULT_WINDOW, { maxBuffer: 3 * DEFAULT_WINDOW })
    const peer = new ObedientPeer(rig, new Random(1))
    peer.settle()
    const holder = rig.open({ reading: 'holds' })
    const reader = rig.open()
    peer.settle()
    for (let count = 0; count < 4; count++) peer.send(holder.id, 16_384)
    peer.settle()
    expect(holder.held).toBeGreaterThan(DEFAULT_WINDOW - 4 * 256)
    expect(peer.window).toBeGreaterThan(0)
    for (let count = 0; count < 50; count++) {
      peer.send(reader.id, 16_384)
      peer.settle()
    }
    expect(reader.copies.length).toBe(50)
  })
})

describe('a large response on a long path', () => {
  const MAX_STREAM_WINDOW = 4_000_000
  const MAX_CONNECTION_WINDOW = 8_000_000
  /** Milliseconds. */
  const DURATION = 3_000

  function play(roundTrip: number, rate: number): { rig: Rig; path: LongPath } {
    const more = {
      maxStreamWindow: MAX_STREAM_WINDOW,
      maxConnectionWindow: MAX_CONNECTION_WINDOW,
      maxBuffer: 2 * MAX_CONNECTION_WINDOW,
    }
    const rig = startFresh(100_000, 200_000, more)
    const path = new LongPath(rig, { roundTrip, rate })
    path.run(DURATION)
    return { rig, path }
  }

  it('is measured by PINGs, and makes the windows grow to what the path holds or to the largest size', () => {
    const { rig, path } = play(50, 125_000)
    expect(path.initialWindow).toBeGreaterThanOrEqual(MAX_STREAM_WINDOW)
    expect(path.connectionWindow).toBeLessThanOrEqual(MAX_CONNECTION_WINDOW)
    // 100,000 bytes for each 50 milliseconds, if nothing had grown: 6 MB.
    expect(path.sent).toBeGreaterThan(60_000_000)
    expect(rig.faults).toEqual([])
  })

  it('when the path holds little › leaves the windows as they are', () => {
    const { rig, path } = play(10, 2_000)
    expect([rig.windows.streamWindow, path.initialWindow]).toEqual([100_000, 100_000])
    // The path's own rate, all the time.
    expect(path.sent).toBeGreaterThan(0.95 * 2_000 * DURATION)
  })
})

/** Plays the connection of a seed, with a peer that keeps to the windows. @returns how many bytes have come */
function play(seed: number): number {
  const random = new Random(seed)
  const connectionWindow = DEFAULT_WINDOW + random.below(200_000)
  const maxBuffer = connectionWindow * (1 + random.below(3))
  const windows = { streamWindow: 1 + random.below(100_000), connectionWindow }
  const rig = new Rig({ windows: { ...windows, maxConnectionWindow: connectionWindow, maxBuffer } })
  const peer = new ObedientPeer(rig, random)
  const open = (): HeardStream[] => rig.streams.filter(({ state }) => state !== 'closed')
  // One change at a time, as a session does it.
  let isChanging = false
  for (let step = 0; step < 400; step++) {
    const streams = open()
    const stream = streams[random.below(streams.length)]
    const sendable = [...peer.windows.keys()]
    const sending = sendable[random.below(sendable.length)]
    const choice = random.below(12)
    if (choice === 0 && streams.length < 10) rig.open({ reading: random.below(3) === 0 ? 'holds' : 'reads' })
    else if (choice === 1 && !isChanging) {
      isChanging = true
      rig.setStreamWindow(1 + random.below(random.pick([100, 200_000])), () => {
        isChanging = false
      })
    } else if (choice === 2 && stream !== undefined && random.below(4) === 0) {
      rig.http2.reset(stream, 8)
      rig.http2.flow.release(stream, stream.held)
    } else if (choice === 3 && stream !== undefined)
      stream.reading = stream.reading === 'reads' ? 'holds' : 'reads'
    else if (choice === 4)
      for (const one of rig.streams) rig.http2.flow.release(one, random.below(one.held + 1))
    else if (choice < 7) peer.hear(random.below(6))
    else if (choice < 9) peer.deliver(random.below(6))
    else if (sending !== undefined) peer.send(sending, random.below(16_385), random.below(30) === 0)
    if (rig.http2.flow.held > Math.max(maxBuffer, connectionWindow))
      throw new Error(`${rig.http2.flow.held} bytes are held`)
  }
  peer.settle()
  readAll(rig, rig.streams)
  peer.settle()
  // RFC 9113 §6.9: the peer kept to the rules. All data is read, so it may send at least half of each window.
  const breaches = rig.streams.flatMap(({ events }) => events.filter((event) => event.startsWith('breach')))
  expect([rig.faults.map(String), breaches], `seed ${seed}`).toEqual([[], []])
  expect(peer.window * 2, `seed ${seed}`).toBeGreaterThan(connectionWindow)
  expect(peer.window, `seed ${seed}`).toBeLessThanOrEqual(connectionWindow)
  for (const window of peer.windows.values()) {
    expect(window * 2, `seed ${seed}`).toBeGreaterThan(peer.initialWindow)
    expect(window, `seed ${seed}`).toBeLessThanOrEqual(peer.initialWindow)
  }
  return rig.streams.flatMap(({ copies }) => copies).reduce((sum, { length }) => sum + length, 0)
}

describe('a peer that keeps to the windows, with a delay', () => {
  it('whatever readers do › breaks no rule, and never waits for credit in vain', () => {
    const seeds = toRounds(150, 40)
    let bytes = 0
    for (let seed = 1; seed <= seeds; seed++) bytes += play(seed)
    expect(bytes).toBeGreaterThan(seeds * 100_000)
  })
})

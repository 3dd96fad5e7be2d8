import { describe, expect, it } from 'vitest'
import { Flag, frames, Setting, Type, toSettings } from '../../src/testing/frames.ts'
import type { HeardStream } from './support/rig.ts'
import { Rig } from './support/rig.ts'
import type { WindowSizes } from './support/windows.ts'

const KIB = 1_024
const MIB = KIB * KIB
const FRAME = 16_000
const DEFAULT_WINDOW = 65_535

/** A peer whose path takes a millisecond for a round trip, and that keeps to what it is told. */
class Peer {
  readonly rig: Rig
  /** What it may send on the connection now. */
  window = DEFAULT_WINDOW
  /** The most that it might send at once so far: all of the connection's window, once all that has come was read. */
  most = 0
  /** PINGs that it was sent. */
  pings = 0
  /** Stream windows that it was told of. */
  readonly streamWindows: number[] = []
  /** It has no ACK for SETTINGS meanwhile. */
  isMute = false
  readonly #acks: Buffer[] = []

  constructor(windows: Partial<WindowSizes>) {
    this.rig = new Rig({ windows: { maxStreamWindow: 16 * MIB, maxConnectionWindow: 16 * MIB, ...windows } })
    this.rig.receive(frames.settings())
    this.#hear()
  }

  /** Streams whose responses have begun. */
  open(count: number): HeardStream[] {
    const streams = Array.from({ length: count }, () => this.rig.open())
    for (const { id } of streams) this.rig.receive(frames.response(id))
    this.#hear()
    return streams
  }

  /** A round trip in which these streams get so much in turn, as far as the connection's window allows. */
  play(streams: readonly HeardStream[], bytes: number): void {
    let sent = 0
    while (sent < bytes) {
      for (const { id } of streams) this.#send(id, FRAME)
      sent += streams.length * FRAME
    }
    this.pass()
  }

  /** A whole response's body. */
  end({ id }: HeardStream, bytes: number): void {
    for (let left = bytes; left > FRAME; left -= FRAME) this.#send(id, FRAME)
    this.#send(id, FRAME, Flag.END_STREAM)
  }

  /** The peer responds to each frame a millisecond later. */
  pass(): void {
    this.rig.time += 1
    this.rig.receive(...this.#acks.splice(0))
    this.#hear()
  }

  #send(streamId: number, bytes: number, flags = 0): void {
    if (this.window < bytes) return
    this.window -= bytes
    this.rig.receive(frames.frame(Type.DATA, flags, streamId, Buffer.alloc(bytes)))
    this.#hear()
  }

  #hear(): void {
    for (const frame of this.rig.take()) {
      const { type, flags, streamId, payload } = frame
      if (type === Type.WINDOW_UPDATE && streamId === 0) this.window += payload.readUInt32BE(0)
      this.most = Math.max(this.most, this.window)
      if ((flags & Flag.ACK) !== 0) continue
      if (type === Type.SETTINGS) {
        this.streamWindows.push(
          toSettings(frame).findLast(([id]) => id === Setting.INITIAL_WINDOW_SIZE)?.[1] ?? -1,
        )
        if (!this.isMute) this.#acks.push(frames.settingsAck())
      }
      if (type !== Type.PING) continue
      this.pings++
      this.#acks.push(frames.ping(payload, Flag.ACK))
    }
  }
}

describe('a larger stream window, while the peer has not acknowledged another one', () => {
  const windows = { streamWindow: 64 * KIB, connectionWindow: 4 * MIB }
  const FIRST = 64 * KIB + 1

  function start(): { peer: Peer; streams: HeardStream[] } {
    const peer = new Peer(windows)
    peer.pass()
    peer.isMute = true
    peer.rig.setStreamWindow(FIRST)
    const streams = peer.open(1)
    peer.streamWindows.length = 0
    return { peer, streams }
  }

  it('is asked for once a second, and no PING is sent in between', () => {
    const { peer, streams } = start()
    for (let millisecond = 0; millisecond < 1_000; millisecond++) peer.play(streams, 2 * FRAME)
    expect([peer.pings, peer.rig.windows.streamWindow]).toEqual([1, FIRST])
    for (let millisecond = 0; millisecond < 10; millisecond++) peer.play(streams, 8 * FRAME)
    expect([peer.pings, peer.streamWindows, peer.rig.faults]).toEqual([2, [], []])
  })

  it('when it has at last › grows as if nothing had been in the way', () => {
    const { peer, streams } = start()
    for (let millisecond = 0; millisecond < 1_200; millisecond++) peer.play(streams, 2 * FRAME)
    expect(peer.streamWindows).toEqual([])
    peer.isMute = false
    peer.rig.receive(frames.settingsAck())
    peer.rig.time += 1_000
    for (let millisecond = 0; millisecond < 20; millisecond++) peer.play(streams, 8 * FRAME)
    // 128,000 bytes are on their way: that is a large part of 256 KiB, and a small one of 512.
    expect(peer.streamWindows).toEqual([131_075, 262_151, 524_303].slice(0, peer.streamWindows.length))
    expect(peer.streamWindows.length).toBeGreaterThanOrEqual(2)
    expect(peer.rig.faults).toEqual([])
  })
})

describe('the connection’s window', () => {
  const windows = { streamWindow: 128 * KIB, connectionWindow: 512 * KIB, maxConnectionWindow: 2 * MIB }

  it('when many large responses use it up, and streams get no larger ones › grows up to the largest', () => {
    const peer = new Peer(windows)
    const streams = peer.open(100)
    expect(peer.window).toBe(512 * KIB)
    for (let millisecond = 0; millisecond < 20; millisecond++) peer.play(streams, 2 * MIB)
    // All of it was read; half a window at most isn't worth a frame yet.
    expect(peer.window).toBeGreaterThan(MIB)
    expect(peer.window).toBeLessThanOrEqual(2 * MIB)
    expect(peer.rig.faults).toEqual([])
  })

  it('when it grows from a round size › is no multiple of 1,024 in any step', () => {
    const peer = new Peer({ ...windows, connectionWindow: 512 * KIB, maxConnectionWindow: 4_194_319 })
    const streams = peer.open(100)
    const steps = new Set<number>()
    for (let millisecond = 0; millisecond < 20; millisecond++) {
      peer.play(streams, 4 * MIB)
      steps.add(peer.most)
    }
    expect([...steps]).toEqual([1_048_577, 2_097_155, 4_194_311, 4_194_319])
    expect(peer.rig.faults).toEqual([])
  })

  it('when many small responses use it up › grows too', () => {
    const peer = new Peer(windows)
    for (let millisecond = 0; millisecond < 20; millisecond++) {
      // Below half of a stream's window each.
      for (const stream of peer.open(50)) peer.end(stream, 3 * FRAME)
      peer.pass()
    }
    expect(peer.window).toBeGreaterThan(MIB)
    expect(peer.rig.faults).toEqual([])
  })

  it('when little data comes › keeps its size', () => {
    const peer = new Peer(windows)
    const streams = peer.open(10)
    for (let millisecond = 0; millisecond < 200; millisecond++) peer.play(streams, 128 * KIB)
    expect(peer.window).toBeLessThanOrEqual(512 * KIB)
    expect(peer.pings).toBeGreaterThan(0)
  })
})

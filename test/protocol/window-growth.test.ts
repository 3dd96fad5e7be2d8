import { describe, expect, it } from 'vitest'
import { Flag, frames, Type } from '../../src/testing/frames.ts'
import type { HeardStream, OpenOptions } from './support/rig.ts'
import { Rig } from './support/rig.ts'

const SMALL = 64_001
const LARGE = 128_003

/**
 * A server that heeds SETTINGS only when it goes on at a WINDOW_UPDATE of the stream, as RFC 9113 §6.9.2 doesn't
 * forbid.
 */
class Peer {
  readonly rig = new Rig({ windows: { streamWindow: SMALL } })
  readonly stream: HeardStream
  /** What it believes it may send on the stream. */
  window = SMALL
  /** By how much SETTINGS have changed that, since the last WINDOW_UPDATE. */
  #change = 0
  #announced = SMALL

  constructor(options: OpenOptions = {}) {
    this.rig.receive(frames.settings(), frames.settingsAck())
    this.stream = this.rig.open(options)
    this.rig.receive(frames.response(1))
    this.hear()
  }

  send(bytes: number, flags = 0): void {
    this.window -= bytes
    this.rig.receive(frames.frame(Type.DATA, flags, 1, Buffer.alloc(bytes)))
  }

  /** @returns the increments that the stream got */
  hear(): number[] {
    const increments: number[] = []
    for (const { type, flags, streamId, payload } of this.rig.take()) {
      if (type === Type.SETTINGS && (flags & Flag.ACK) === 0 && payload.length === 6) {
        const size = payload.readUInt32BE(2)
        this.#change += size - this.#announced
        this.#announced = size
      }
      if (type !== Type.WINDOW_UPDATE || streamId !== 1) continue
      increments.push(payload.readUInt32BE(0))
      this.window += payload.readUInt32BE(0) + this.#change
      this.#change = 0
    }
    return increments
  }
}

function grow(peer: Peer, size = LARGE): void {
  peer.rig.setStreamWindow(size)
}

describe('a larger stream window, with a peer that resumes only on WINDOW_UPDATE', () => {
  it('when a part was read › is announced by WINDOW_UPDATE along with SETTINGS', () => {
    const peer = new Peer()
    peer.send(16_000)
    expect(peer.hear()).toEqual([])
    grow(peer)
    expect(peer.hear()).toEqual([16_000])
    expect([peer.window, peer.stream.receiveWindow]).toEqual([LARGE, LARGE])
  })

  it('when all but a few bytes are in flight › lets the peer resume once they are read', () => {
    const peer = new Peer()
    grow(peer)
    expect(peer.hear()).toEqual([])
    // No padded frame fits into the rest.
    for (const bytes of [16_000, 16_000, 16_000, 15_990]) peer.send(bytes)
    expect(peer.hear().length).toBeGreaterThan(0)
    expect(peer.window).toBeGreaterThan(LARGE / 2)
    expect(peer.window).toBeLessThanOrEqual(peer.stream.receiveWindow)
  })

  it('when the reader resumes after the change › lets the peer resume', () => {
    const peer = new Peer({ reading: 'holds' })
    for (const bytes of [16_000, 16_000, 16_000, 15_990]) peer.send(bytes)
    grow(peer)
    peer.rig.receive(frames.settingsAck())
    expect(peer.hear()).toEqual([])
    peer.rig.http2.flow.release(peer.stream, 63_990)
    expect(peer.hear()).toEqual([63_990])
    expect(peer.window).toBe(LARGE)
  })

  it('when the peer has heard of it › gets a WINDOW_UPDATE once half of the smaller window is read', () => {
    const peer = new Peer()
    peer.send(16_000)
    grow(peer)
    peer.hear()
    for (const bytes of [16_000, 16_000]) peer.send(bytes)
    expect(peer.hear()).toEqual([])
    peer.send(1)
    expect(peer.hear()).toEqual([32_001])
  })

  it('when nothing was read › causes no WINDOW_UPDATE of the stream', () => {
    const peer = new Peer()
    grow(peer)
    expect(peer.hear()).toEqual([])
    expect(peer.stream.receiveWindow).toBe(LARGE)
  })

  it.each([
    'END_STREAM has come',
    'the caller has given up',
  ] as const)('when %s › is told nothing of the stream', (what) => {
    const peer = new Peer({ hasBody: true })
    peer.send(16_000, what === 'END_STREAM has come' ? Flag.END_STREAM : 0)
    if (what === 'the caller has given up') peer.rig.http2.cancel(peer.stream)
    grow(peer)
    expect(peer.hear()).toEqual([])
  })
})

/** How a server may take SETTINGS_INITIAL_WINDOW_SIZE, all of them with an ACK. */
const USES = {
  'at once, as RFC 9113 §6.9.2 says': (change: number): { now: number; later: number } => ({
    now: change,
    later: 0,
  }),
  'at its next WINDOW_UPDATE': (change: number) => ({ now: 0, later: change }),
  'if it is larger': (change: number) => ({ now: Math.max(0, change), later: 0 }),
  // As Bun's.
  'for streams that are opened later alone': () => ({ now: 0, later: 0 }),
}

describe('an open stream, with a peer that applies another stream window', () => {
  const FRAME = 16_000

  describe.each(Object.keys(USES) as (keyof typeof USES)[])('%s', (use) => {
    /** A download during which these windows are announced, one at each tenth. @returns bytes that were sent */
    function download(sizes: readonly number[], reading: 'reads' | 'holds'): { sent: number; rig: Rig } {
      const total = 3_000_000
      const rig = new Rig({ windows: { streamWindow: SMALL } })
      rig.receive(frames.settings(), frames.settingsAck())
      const stream = rig.open({ reading })
      rig.receive(frames.response(1))
      let [sent, window, later, announced] = [0, SMALL, 0, SMALL]
      const hear = (): void => {
        for (const { type, flags, streamId, payload } of rig.take()) {
          if (type === Type.SETTINGS && (flags & Flag.ACK) === 0 && payload.length === 6) {
            const size = payload.readUInt32BE(2)
            const change = USES[use](size - announced)
            announced = size
            window += change.now
            later += change.later
            rig.receive(frames.settingsAck())
          } else if (type === Type.WINDOW_UPDATE && streamId === 1) {
            window += payload.readUInt32BE(0) + later
            later = 0
          }
        }
      }
      hear()
      let next = 0
      for (let isMoving = true; isMoving && sent < total; ) {
        isMoving = false
        while (window > 0 && sent < total) {
          const size = Math.min(window, FRAME, total - sent)
          window -= size
          sent += size
          isMoving = true
          rig.receive(frames.frame(Type.DATA, 0, 1, Buffer.alloc(size)))
          const wanted = sizes[next]
          if (wanted !== undefined && sent > (next + 1) * (total / 10)) {
            next++
            rig.setStreamWindow(wanted)
          }
          if (reading === 'reads') hear()
        }
        hear()
        if (stream.held > 0) rig.http2.flow.release(stream, stream.held)
        hear()
      }
      expect([rig.faults, stream.events.filter((event) => event.startsWith('breach'))]).toEqual([[], []])
      return { sent, rig }
    }

    it.each([
      { what: 'grows', sizes: [128_003, 256_001, 512_001, 1_048_579, 4_194_319] },
      { what: 'grows by much', sizes: [16_777_259] },
      { what: 'shrinks', sizes: [32_001, 16_385] },
      { what: 'shrinks, and grows again', sizes: [16_385, 1_048_579] },
      { what: 'grows, shrinks, and grows', sizes: [512_001, 16_385, 256_001, 64_001, 16_777_259] },
    ])('that $what › gets all of its data, whether its reader reads or not for a time', ({ sizes }) => {
      expect(download(sizes, 'reads').sent).toBe(3_000_000)
      expect(download(sizes, 'holds').sent).toBe(3_000_000)
    })
  })
})

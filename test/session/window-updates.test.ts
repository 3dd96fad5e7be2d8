import { describe, expect, it } from 'vitest'
import type { ConnectionScript, FaultConnection } from '../../src/testing/fault-connection.ts'
import type { FaultStream } from '../../src/testing/fault-stream.ts'
import type { Frame } from '../../src/testing/frames.ts'
import { Flag, frames, Setting, Type, toSettings } from '../../src/testing/frames.ts'
import { ENGINES } from '../support/clients/engines.ts'
import { ask, PATIENT, startHarness, startPeer } from '../support/peers/peer-rig.ts'

const FRAME = 16_000
const BODY = 12_000_000

/**
 * Sends bodies in frames of one size, and goes on at a WINDOW_UPDATE of the stream alone: SETTINGS that come while it
 * waits count from the next one on, or only for streams that are opened later, as with Bun's server. It acknowledges a
 * PING when it can send no more.
 */
class StubbornScript implements ConnectionScript {
  readonly acksPings = false
  readonly #enlargesOpen: boolean
  readonly #windows = new Map<number, number>()
  readonly #left = new Map<number, number>()
  #initial = 65_535
  #connection = 65_535

  /** @param enlargesOpen whether SETTINGS count for streams that are open */
  constructor(enlargesOpen = true) {
    this.#enlargesOpen = enlargesOpen
  }

  onRequest(stream: FaultStream): void {
    stream.head(200)
    this.#windows.set(stream.id, this.#initial)
    this.#left.set(stream.id, BODY)
  }

  onFrame(frame: Frame, connection: FaultConnection): void {
    const { type, flags, streamId, payload } = frame
    if (type === Type.SETTINGS && (flags & Flag.ACK) === 0) {
      const size = toSettings(frame).find(([id]) => id === Setting.INITIAL_WINDOW_SIZE)?.[1]
      const change = (size ?? this.#initial) - this.#initial
      this.#initial += change
      if (!this.#enlargesOpen) return
      for (const [id, window] of this.#windows) this.#windows.set(id, window + change)
    } else if (type === Type.WINDOW_UPDATE && streamId === 0) {
      this.#connection += payload.readUInt32BE(0)
    } else if (type === Type.WINDOW_UPDATE) {
      this.#windows.set(streamId, (this.#windows.get(streamId) ?? 0) + payload.readUInt32BE(0))
      this.#send(streamId, connection)
    } else if (type === Type.HEADERS) {
      this.#send(streamId, connection)
    } else if (type === Type.PING && (flags & Flag.ACK) === 0) {
      connection.write(frames.ping(payload, Flag.ACK))
    }
  }

  #send(id: number, connection: FaultConnection): void {
    let [window, left] = [this.#windows.get(id) ?? 0, this.#left.get(id) ?? 0]
    while (left > 0 && window >= FRAME && this.#connection >= FRAME) {
      left -= FRAME
      window -= FRAME
      this.#connection -= FRAME
      connection.write(frames.data(id, 'x'.repeat(FRAME), left > 0 ? 0 : Flag.END_STREAM))
    }
    this.#windows.set(id, window)
    this.#left.set(id, left)
  }
}

describe.each(ENGINES)('a server that resumes only on WINDOW_UPDATE, on engine %s', (engine) => {
  it('when the windows grow under a download › sends all of it', async () => {
    const peer = await startPeer(new StubbornScript())
    const harness = startHarness(peer, { ...PATIENT, engine })
    const call = ask(harness, 'GET /')
    await call.settled
    expect(call.events.at(-1)).toBe('end')
    expect(Buffer.concat(call.chunks)).toHaveLength(BODY)
    const connection = peer.connection(0)
    const sizes = connection.of(Type.SETTINGS).flatMap((frame) => toSettings(frame).map(([, value]) => value))
    expect(Math.max(...sizes)).toBeGreaterThan(1_048_579)
  })
})

describe('a server that acknowledges a larger stream window, and gives it only to later streams', () => {
  // nghttp2 sends WINDOW_UPDATE when half of the larger window was read.
  it('on engine node › stops, and the call ends by bodyTimeout; with a window of the caller’s it sends all', async () => {
    const peer = await startPeer(Array.from({ length: 2 }, () => new StubbornScript(false)))
    const call = ask(startHarness(peer, { ...PATIENT, engine: 'node', bodyTimeout: 1_000 }), 'GET /')
    await call.settled
    expect(call.errors.map(({ name }) => name)).toEqual(['BodyTimeoutError'])
    const other = ask(
      startHarness(peer, { ...PATIENT, engine: 'node', initialWindowSize: 1_048_579 }),
      'GET /',
    )
    await other.settled
    expect(Buffer.concat(other.chunks)).toHaveLength(BODY)
  })
})

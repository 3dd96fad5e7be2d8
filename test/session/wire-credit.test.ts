import { describe, expect, it } from 'vitest'
import type { FaultConnection } from '../../src/testing/fault-connection.ts'
import { Flag, frames, Type } from '../../src/testing/frames.ts'
import type { DispatchController, PoolOptions } from '../../types/index.ts'
import type { Harness } from '../support/clients/engines.ts'
import { Recorder } from '../support/clients/recorder.ts'
import { NO_ERROR } from '../support/peers/error-codes.ts'
import { GreedyScript } from '../support/peers/greedy-script.ts'
import { startHarness, startPeer } from '../support/peers/peer-rig.ts'

const MIB = 1_024 * 1_024
/** RFC 9113 §6.9.2, and the smallest that can be asked for. */
const WINDOW = 65_535

/** Streams may have more than the connection: it is the connection's credit that counts. */
const OPTIONS = {
  engine: 'wire',
  connections: 1,
  initialWindowSize: MIB,
  connectionWindowSize: WINDOW,
  maxSessionBuffer: 8 * MIB,
} as const satisfies PoolOptions

/** Reads this many bytes, and no more until the test resumes it. */
class Taker extends Recorder {
  taken = 0
  limit: number

  constructor(limit: number) {
    super()
    this.limit = limit
  }

  /** So many more. */
  take(bytes: number): void {
    this.limit = this.taken + bytes
    this.controller?.resume()
  }

  override onRequestStart(controller: DispatchController): void {
    super.onRequestStart(controller)
    if (this.limit === 0) controller.pause()
  }

  /** Nothing is kept: there is much of it. */
  override onResponseData(controller: DispatchController, chunk: Buffer): void {
    this.taken += chunk.length
    if (this.taken >= this.limit) controller.pause()
  }
}

function read(harness: Harness, limit: number, path = '/'): Taker {
  const taker = new Taker(limit)
  harness.dispatch({ path }, taker)
  return taker
}

/** The sum of the WINDOW_UPDATEs of the connection. */
function toCredit(connection: FaultConnection): number {
  const grants = connection.of(Type.WINDOW_UPDATE, 0)
  return grants.reduce((sum, { payload }) => sum + payload.readUInt32BE(0), 0)
}

/** A peer that sends whatever it may. */
async function startGreedy() {
  const script = new GreedyScript()
  const peer = await startPeer(script)
  const harness = startHarness(peer, OPTIONS)
  /** Until the peer has had so many requests, and may send no more. */
  const settle = async (requests: number): Promise<void> => {
    await peer.waitFor(() => peer.requests.length === requests)
    for (let sent = -1; sent !== script.sent; ) {
      sent = script.sent
      await peer.connection(0).ping()
    }
  }
  return { script, peer, harness, settle }
}

/** A peer that sends what a test says. */
async function startSilent() {
  const peer = await startPeer({})
  const harness = startHarness(peer, OPTIONS)
  /** A call that has heard its header, and takes so much. */
  const begin = async (limit: number, path = '/') => {
    const taker = read(harness, limit, path)
    await peer.waitFor(() => peer.requests.some((stream) => stream.path === path))
    const stream = peer.request(path)
    stream.head(200)
    return { taker, stream }
  }
  const first = await begin(0)
  const connection = peer.connection(0)
  /** In frames of 8 KiB; heard when it settles. */
  const send = async (streamId: number, bytes: number, flags = 0): Promise<void> => {
    for (let left = bytes; left > 0; left -= 8_192) {
      const piece = Buffer.alloc(Math.min(left, 8_192))
      connection.write(frames.frame(Type.DATA, left <= 8_192 ? flags : 0, streamId, piece))
    }
    await connection.ping()
  }
  return { peer, harness, connection, send, begin, ...first }
}

describe('the credit of a connection, on engine wire', () => {
  it('limits what the peer can send when no reader reads', async () => {
    const { script, harness, settle } = await startGreedy()
    read(harness, 0)
    await settle(1)
    expect(script.sent).toBe(WINDOW)
  })

  describe('when one reader reads, and others do not', () => {
    it('is returned for the stream that is read, and unread data of the others stays below the bound', async () => {
      const { script, harness, settle } = await startGreedy()
      const paused = [read(harness, 0), read(harness, 0), read(harness, 0)]
      await settle(3)
      const reader = read(harness, 16 * MIB)
      await settle(4)
      expect(reader.taken).toBeGreaterThanOrEqual(16 * MIB)
      expect(paused.map(({ taken }) => taken)).toEqual([0, 0, 0])
      // Their windows are full, and so is what the reader had left when it stopped.
      expect(script.sent - reader.taken).toBeLessThanOrEqual(4 * MIB + WINDOW)
      expect(script.sent - reader.taken).toBeLessThanOrEqual(OPTIONS.maxSessionBuffer)
    })

    it('is given in advance, once, to a small response when another has used all of it up', async () => {
      const { connection, send, stream, taker, begin } = await startSilent()
      await send(stream.id, WINDOW)
      const small = await begin(MIB, '/small')
      await connection.ping()
      expect(toCredit(connection)).toBe(WINDOW)
      small.stream.end('hello')
      await small.taker.settled
      expect(small.taker.events.at(-1)).toBe('end')
      // No stream needs it any more.
      await send(stream.id, WINDOW - 5)
      expect(toCredit(connection)).toBe(WINDOW + 5)
      expect(taker.taken).toBe(0)
    })
  })

  describe('is returned', () => {
    it('as unread data is read', async () => {
      const { connection, send, stream, taker } = await startSilent()
      await send(stream.id, WINDOW)
      expect([toCredit(connection), taker.taken]).toEqual([0, 0])
      taker.take(WINDOW)
      await connection.ping()
      expect(taker.taken).toBe(WINDOW)
      // Less what isn't worth a frame yet.
      expect(toCredit(connection)).toBeGreaterThan(WINDOW / 2)
      expect(toCredit(connection)).toBeLessThanOrEqual(WINDOW)
    })

    it('in full when the reader aborts', async () => {
      const { connection, send, stream, taker, peer } = await startSilent()
      await send(stream.id, WINDOW)
      taker.controller?.abort(new Error('enough'))
      await peer.waitFor(() => stream.resetCode !== null)
      expect(toCredit(connection)).toBe(WINDOW)
    })

    it('when the peer resets the stream, for its unread data, too', async () => {
      const { connection, send, stream, taker } = await startSilent()
      await send(stream.id, WINDOW)
      stream.reset(NO_ERROR)
      await taker.settled
      await connection.ping()
      expect(taker.events.at(-1)).toBe('error')
      // Less than half of the window isn't worth a frame yet.
      expect(toCredit(connection)).toBeGreaterThan(WINDOW / 2)
      expect(toCredit(connection)).toBeLessThanOrEqual(WINDOW)
    })

    it('for a complete response only when it is read', async () => {
      const { connection, send, stream, taker, begin } = await startSilent()
      await send(stream.id, WINDOW - 5, Flag.END_STREAM)
      expect(toCredit(connection)).toBe(0)
      taker.take(WINDOW)
      await taker.settled
      const other = await begin(MIB, '/other')
      other.stream.end('hello')
      await other.taker.settled
      expect([taker.taken, other.taker.taken]).toEqual([WINDOW - 5, 5])
      expect(toCredit(connection)).toBeGreaterThan(WINDOW / 2)
      expect(toCredit(connection)).toBeLessThanOrEqual(WINDOW)
    })
  })
})

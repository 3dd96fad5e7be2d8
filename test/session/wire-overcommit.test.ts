import { setImmediate } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { FaultConnection } from '../../src/testing/fault-connection.ts'
import { frames, Type } from '../../src/testing/frames.ts'
import type { PoolOptions } from '../../types/index.ts'
import { PausingRecorder } from '../support/clients/recorder.ts'
import { ask, PATIENT, startHarness, startPeer } from '../support/peers/peer-rig.ts'

const MIB = 1_024 * 1_024
const FRAME = 16_384
const DEFAULT_WINDOW = 65_535

/** Until both sides have done all that they can do by themselves. */
async function quiet(connection: FaultConnection): Promise<void> {
  for (let turn = 0; turn < 5; turn++) {
    await connection.ping()
    await setImmediate()
  }
}

/** Calls that hold their responses back, and the peer's way to send to them all at once. */
async function start(options: PoolOptions, paths: readonly string[]) {
  const peer = await startPeer({ onRequest: (stream) => stream.head(200) })
  const harness = startHarness(peer, { ...PATIENT, engine: 'wire', ...options })
  const calls = paths.map((path) => harness.dispatch({ path }, new PausingRecorder()))
  await peer.waitFor(() => peer.requests.length === paths.length)
  const connection = peer.connection(0)
  let sent = 0
  const send = async (path: string, bytes: number): Promise<void> => {
    const { id } = peer.request(path)
    const pieces: Buffer[] = []
    for (let left = bytes; left > 0; left -= FRAME) {
      pieces.push(frames.data(id, 'x'.repeat(Math.min(left, FRAME))))
    }
    sent += bytes
    connection.write(...pieces)
    await quiet(connection)
  }
  /** What the peer may send on the connection. */
  const left = (): number =>
    connection
      .of(Type.WINDOW_UPDATE, 0)
      .reduce((sum, { payload }) => sum + payload.readUInt32BE(0), DEFAULT_WINDOW - sent)
  return { peer, harness, calls, connection, send, left }
}

describe('the credit of a connection, on engine wire', () => {
  it('is given in advance to a call while unread data of another fills a window that has not grown yet', async () => {
    const options = { initialWindowSize: 4 * MIB, maxSessionBuffer: 12 * MIB }
    const { peer, harness, connection, send, left } = await start(options, ['/paused'])
    await quiet(connection)
    expect(left()).toBe(4_194_319)
    await send('/paused', 4 * MIB)
    const call = ask(harness, 'GET /small')
    await peer.waitFor(() => peer.requests.length === 2)
    await quiet(connection)
    expect(left()).toBeGreaterThanOrEqual(MIB)
    peer.request('/small').end('all of it')
    await call.settled
    expect(call.text).toBe('all of it')
  })

  it('is given in advance to a reader that resumes while unread data of another uses nearly all of it', async () => {
    const WINDOW = 300_000
    const options = { initialWindowSize: WINDOW, connectionWindowSize: WINDOW }
    const { calls, send, left } = await start(options, ['/paused', '/reader'])
    await send('/reader', 1)
    await send('/paused', WINDOW - 1)
    expect(left()).toBe(0)
    calls[1]?.controller?.resume()
    // A window for it, whatever the other one holds: not the one octet that it has read.
    let brought = 0
    for (let trips = 0; trips < 10; trips++) {
      const bytes = Math.min(16_000, left())
      brought += bytes
      await send('/reader', bytes)
    }
    expect(brought).toBeGreaterThanOrEqual(9 * 16_000)
    expect(calls.map(({ chunks }) => Buffer.concat(chunks).length)).toEqual([0, brought + 1])
  })
})

import { once } from 'node:events'
import { setImmediate } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { Client } from '../../src/index.ts'
import type { FaultConnection } from '../../src/testing/fault-connection.ts'
import { Flag, frames } from '../../src/testing/frames.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import { PausingRecorder } from '../support/clients/recorder.ts'
import { PATIENT, startHarness, startPeer } from '../support/peers/peer-rig.ts'

const MIB = 1_024 * 1_024
/** A frame of an unknown type and of the largest size: it fills the chunks in which the data comes. */
const FILLER = frames.frame(0xbb, 0, 0, Buffer.alloc(16_384))

/** Bytes of the buffers that stay alive with these pieces. */
function toMemory(pieces: readonly Buffer[]): number {
  const buffers = new Set(pieces.map(({ buffer }) => buffer))
  return [...buffers].reduce((sum, { byteLength }) => sum + byteLength, 0)
}

/** Sends so many frames of data, with so many others behind each. */
async function send(connection: FaultConnection, id: number, count: number, size: number, fillers: number) {
  const round = [frames.data(id, 'x'.repeat(size)), ...Array.from({ length: fillers }, () => FILLER)]
  for (let sent = 0; sent < count; sent++) {
    connection.write(...round)
    if (sent % 10 === 9) await connection.ping()
  }
  await connection.ping()
}

describe('unread data on engine wire, a small part of all that came', () => {
  it.each([
    { size: 1, count: 1_000, fillers: 1 },
    { size: 2_048, count: 300, fillers: 4 },
    { size: 8_000, count: 100, fillers: 4 },
  ])('in a response, pieces of $size › takes about as much memory as it has bytes', async ({
    size,
    count,
    fillers,
  }) => {
    const peer = await startPeer({ onRequest: (stream) => stream.head(200) })
    const harness = startHarness(peer, { ...PATIENT, engine: 'wire', initialWindowSize: 2 * MIB })
    const call = harness.dispatch({}, new PausingRecorder())
    await peer.waitFor(() => peer.requests.length === 1)
    const [connection, stream] = [peer.connection(0), peer.request('/')]
    await send(connection, stream.id, count, size, fillers)
    expect(call.chunks).toEqual([])
    call.controller?.resume()
    stream.end()
    await call.settled
    expect(call.text).toHaveLength(size * count)
    // A room of 8 KiB may be half empty, and so on; the chunks were up to 64 KiB each.
    expect(toMemory(call.chunks)).toBeLessThan(4 * size * count + 16_384)
  })

  it.each([
    { size: 1, count: 1_000, fillers: 1 },
    { size: 2_048, count: 100, fillers: 4 },
  ])('in a tunnel, pieces of $size › takes about as much', async ({ size, count, fillers }) => {
    const peer = await startPeer({ onRequest: (stream) => stream.head(200) })
    const client = destroyWithTest(new Client(peer.origin, { engine: 'wire', pingInterval: 0 }))
    const { socket: tunnel } = await client.connect({ path: 'x.example:443' })
    const [connection, stream] = [peer.connection(0), peer.request('*')]
    await send(connection, stream.id, count, size, fillers)
    await setImmediate()
    // All of it waits outside of node's buffer.
    expect(tunnel.readableLength).toBe(0)
    connection.write(frames.data(stream.id, '', Flag.END_STREAM))
    const chunks: Buffer[] = []
    tunnel.on('data', (chunk: Buffer) => chunks.push(chunk))
    await once(tunnel, 'end')
    tunnel.end()
    await once(tunnel, 'close')
    expect(Buffer.concat(chunks)).toHaveLength(size * count)
    // Node's own pool, which copies of a few bytes come from, has parts of others in it.
    expect(toMemory(chunks)).toBeLessThan(4 * size * count + 100_000)
  })
})

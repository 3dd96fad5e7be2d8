import { once } from 'node:events'
import type { Duplex } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { Client } from '../../src/index.ts'
import type { FaultStream } from '../../src/testing/fault-stream.ts'
import { Flag, frames, Type } from '../../src/testing/frames.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import { ENGINES } from '../support/clients/engines.ts'
import { startPeer } from '../support/peers/peer-rig.ts'

const DEFAULT_WINDOW = 65_535
const WINDOW = 1_000_000
const FRAME = 16_000
/** What each tunnel brings: much more than a Duplex reads ahead, and six times that is nearly the window. */
const BROUGHT = 10 * FRAME
const TUNNELS = 6

/** A tunnel, and its stream at the peer. */
interface Pair {
  readonly tunnel: Duplex
  readonly stream: FaultStream
}

/** Tunnels one after the other, on one connection. */
async function start(engine: (typeof ENGINES)[number]) {
  const peer = await startPeer({ onRequest: (stream) => stream.head(200) })
  const client = destroyWithTest(
    new Client(peer.origin, {
      engine,
      pingInterval: 0,
      initialWindowSize: WINDOW,
      connectionWindowSize: WINDOW,
    }),
  )
  let sent = 0
  const quiet = async (): Promise<void> => {
    for (let turn = 0; turn < 5; turn++) {
      await peer.connection(0).ping()
      await setImmediate()
    }
  }
  const open = async (): Promise<Pair> => {
    const { socket } = await client.connect({ path: 'x.example:443' })
    const stream = peer.requests.at(-1)
    if (stream === undefined) throw new Error('There is no tunnel')
    return { tunnel: socket, stream }
  }
  /** Much data, and the end of the peer's side, at once. */
  const bring = async ({ stream }: Pair): Promise<void> => {
    const pieces = Array.from({ length: 9 }, () => frames.data(stream.id, 'x'.repeat(FRAME)))
    peer.connection(0).write(...pieces, frames.data(stream.id, 'x'.repeat(FRAME), Flag.END_STREAM))
    sent += BROUGHT
    await quiet()
  }
  /** What the peer may send on the connection. */
  const left = (): number =>
    peer
      .connection(0)
      .of(Type.WINDOW_UPDATE, 0)
      .reduce((sum, { payload }) => sum + payload.readUInt32BE(0), DEFAULT_WINDOW - sent)
  return { peer, open, bring, quiet, left }
}

/** Reads all of it. @returns how much there was */
async function readAll(tunnel: Duplex): Promise<number> {
  let read = 0
  tunnel.on('data', (chunk: Buffer) => {
    read += chunk.length
  })
  await once(tunnel, 'end')
  return read
}

describe.each(ENGINES)('the credit of a connection with tunnels, on engine %s', (engine) => {
  it('is returned for data read after the peer’s end, while the client’s side is still open', async () => {
    const { open, bring, quiet, left } = await start(engine)
    const tunnels: Duplex[] = []
    for (let count = 0; count < TUNNELS; count++) {
      const pair = await open()
      await bring(pair)
      expect(await readAll(pair.tunnel)).toBe(BROUGHT)
      expect(pair.tunnel.writable).toBe(true)
      await quiet()
      expect(left(), `after ${count + 1} tunnels`).toBeGreaterThan(WINDOW / 2)
      tunnels.push(pair.tunnel)
    }
    // The end of ours gives back whatever is left: not before all of them were counted.
    for (const tunnel of tunnels) {
      const closed = once(tunnel, 'close')
      tunnel.end()
      await closed
    }
  })

  it('is returned for data read when both sides have ended', async () => {
    const { peer, open, bring, quiet, left } = await start(engine)
    for (let count = 0; count < TUNNELS; count++) {
      const pair = await open()
      pair.tunnel.end()
      await peer.waitFor(() => pair.stream.isComplete)
      await bring(pair)
      const closed = once(pair.tunnel, 'close')
      expect(await readAll(pair.tunnel)).toBe(BROUGHT)
      await closed
      await quiet()
      expect(left(), `after ${count + 1} tunnels`).toBeGreaterThan(WINDOW / 2)
    }
  })

  it('is returned for unread data when both sides have ended and the tunnel is destroyed', async () => {
    const { peer, open, bring, quiet, left } = await start(engine)
    for (let count = 0; count < TUNNELS; count++) {
      const pair = await open()
      pair.tunnel.end()
      await peer.waitFor(() => pair.stream.isComplete)
      await bring(pair)
      const closed = once(pair.tunnel, 'close')
      pair.tunnel.destroy()
      await closed
      await quiet()
      expect(left(), `after ${count + 1} tunnels`).toBeGreaterThan(WINDOW / 2)
    }
  })
})

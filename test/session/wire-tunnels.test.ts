import { once } from 'node:events'
import type { Duplex } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { Client } from '../../src/index.ts'
import { Flag, frames, Setting } from '../../src/testing/frames.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import { NO_ERROR } from '../support/peers/error-codes.ts'
import { startPeer } from '../support/peers/peer-rig.ts'

const TARGET = { path: 'x.example:443' } as const

/** A tunnel whose peer takes so many bytes, and gives no more credit by itself. */
async function start(windowSize: number) {
  const peer = await startPeer({
    settings: [[Setting.INITIAL_WINDOW_SIZE, windowSize]],
    grantsCredit: false,
    onRequest: (stream) => stream.head(200),
  })
  const client = destroyWithTest(
    new Client(peer.origin, { engine: 'wire', initialWindowSize: 1_000_000, pingInterval: 0 }),
  )
  const { socket: tunnel } = await client.connect(TARGET)
  const heard: string[] = []
  for (const event of ['end', 'finish', 'close']) tunnel.on(event, () => heard.push(event))
  tunnel.on('error', ({ name }) => heard.push(name))
  const connection = peer.connection(0)
  const stream = peer.request('*')
  /** Until both sides have done all that they can do by themselves. */
  const quiet = async (): Promise<void> => {
    for (let turn = 0; turn < 5; turn++) {
      await connection.ping()
      await setImmediate()
    }
  }
  /** END_STREAM of the peer's. */
  const endPeer = (text = ''): void => connection.write(frames.data(stream.id, text, Flag.END_STREAM))
  return { peer, client, tunnel, heard, connection, stream, quiet, endPeer }
}

function write(tunnel: Duplex, bytes: Buffer | string): Promise<Error | null> {
  return new Promise((resolve) => tunnel.write(bytes, (error) => resolve(error ?? null)))
}

describe('a tunnel on engine wire', () => {
  describe('with writes that wait for the peer', () => {
    async function startWaiting() {
      const scene = await start(1_000)
      const written = Promise.all([write(scene.tunnel, Buffer.alloc(5_000)), write(scene.tunnel, 'more')])
      await scene.peer.waitFor(() => scene.stream.length === 1_000)
      return { ...scene, written }
    }

    it('fails all of them when the connection is lost', async () => {
      const { connection, tunnel, heard, written } = await startWaiting()
      const closed = once(tunnel, 'close').catch(() => {})
      connection.break()
      const errors = await written
      await closed
      expect(errors[0]).toMatchObject({ name: 'SocketError', processed: 'yes', streamId: 1, attempts: 1 })
      expect(errors[1]).toBeInstanceOf(Error)
      await expect.poll(() => heard).toEqual(['SocketError', 'close'])
    })

    it('goes on after a GOAWAY that names its stream', async () => {
      const { peer, connection, stream, tunnel, written } = await startWaiting()
      connection.goAway({ lastStreamId: stream.id, code: NO_ERROR })
      await connection.ping()
      connection.grant(stream.id, 10_000)
      expect(await written).toEqual([null, null])
      tunnel.end()
      await peer.waitFor(() => stream.isComplete)
      expect(stream.length).toBe(5_004)
    })
  })

  it('that has ended on both sides says nothing of the end of its connection', async () => {
    const { peer, tunnel, heard, stream, connection, client, endPeer } = await start(1_000)
    tunnel.end('ours')
    await peer.waitFor(() => stream.isComplete)
    endPeer('theirs')
    await connection.ping()
    const lost = once(client, 'disconnect')
    connection.break()
    await lost
    const [chunk] = await once(tunnel, 'data')
    expect(String(chunk)).toBe('theirs')
    await expect.poll(() => heard).toEqual(['finish', 'end', 'close'])
  })
})

import { once } from 'node:events'
import type { Duplex } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { Client } from '../../src/index.ts'
import { Flag, frames, Setting, Type } from '../../src/testing/frames.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import { CANCEL, NO_ERROR } from '../support/peers/error-codes.ts'
import { startPeer } from '../support/peers/peer-rig.ts'

const TARGET = { path: 'x.example:443' } as const
const DEFAULT_WINDOW = 65_535

/** A tunnel whose peer takes so many bytes, and gives no more credit by itself. */
async function start(windowSize: number, clientWindow = 1_000_000) {
  const peer = await startPeer({
    settings: [[Setting.INITIAL_WINDOW_SIZE, windowSize]],
    grantsCredit: false,
    onRequest: (stream) => stream.head(200),
  })
  const client = destroyWithTest(
    new Client(peer.origin, {
      engine: 'wire',
      initialWindowSize: clientWindow,
      pingInterval: 0,
    }),
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
  it('ends the client’s side first, and continues to read', async () => {
    const { peer, tunnel, heard, stream, quiet, endPeer } = await start(1_000)
    tunnel.end('ours')
    await peer.waitFor(() => stream.isComplete)
    expect(stream.text).toBe('ours')
    const closed = once(tunnel, 'close')
    const chunks: Buffer[] = []
    tunnel.on('data', (chunk: Buffer) => chunks.push(chunk))
    stream.data('theirs ')
    await quiet()
    expect(Buffer.concat(chunks).toString()).toBe('theirs ')
    endPeer('last')
    await closed
    expect(Buffer.concat(chunks).toString()).toBe('theirs last')
    expect(heard).toEqual(['finish', 'end', 'close'])
    expect(stream.resetCode).toBe(null)
  })

  it('sees the peer’s end first, and continues to write', async () => {
    const { peer, tunnel, heard, stream, endPeer } = await start(1_000)
    endPeer('theirs')
    const chunks: Buffer[] = []
    tunnel.on('data', (chunk: Buffer) => chunks.push(chunk))
    await once(tunnel, 'end')
    expect(Buffer.concat(chunks).toString()).toBe('theirs')
    expect(tunnel.writable).toBe(true)
    expect(await write(tunnel, 'ours ')).toBe(null)
    const closed = once(tunnel, 'close')
    tunnel.end('last')
    await closed
    await peer.waitFor(() => stream.isComplete)
    expect(stream.text).toBe('ours last')
    expect(heard).toEqual(['end', 'finish', 'close'])
    expect(stream.resetCode).toBe(null)
  })

  it('writes no more than the peer takes, and in order', async () => {
    const { peer, tunnel, connection, stream, quiet } = await start(1_000)
    let written = 0
    let expected = ''
    for (let i = 0; i < 1_000; i++) {
      const text = `${i},`
      expected += text
      tunnel.write(text, () => written++)
    }
    tunnel.end()
    await peer.waitFor(() => stream.length === 1_000)
    await quiet()
    expect(stream.length).toBe(1_000)
    // What has lain there longest is 'taken' when its last byte was.
    expect(written).toBeLessThan(300)
    for (let sent = 2_000; !stream.isComplete; sent += 1_000) {
      connection.grant(stream.id, 1_000)
      await peer.waitFor(() => stream.length === sent || stream.isComplete)
    }
    expect(stream.text).toBe(expected)
    await quiet()
    expect(written).toBe(1_000)
  })

  it('ends while the window of the connection is used up', async () => {
    const { peer, tunnel, stream } = await start(100_000)
    tunnel.write(Buffer.alloc(DEFAULT_WINDOW))
    await peer.waitFor(() => stream.length === DEFAULT_WINDOW)
    tunnel.end()
    await peer.waitFor(() => stream.isComplete)
  })

  it('gives credit only for data that was read', async () => {
    const { tunnel, connection, stream, quiet } = await start(1_000, 200_000)
    const sum = (): number =>
      connection
        .of(Type.WINDOW_UPDATE, stream.id)
        .reduce((all, { payload }) => all + payload.readUInt32BE(0), 0)
    // More than a Duplex reads ahead by itself.
    const pieces = 10
    for (let i = 0; i < pieces; i++) stream.data('x'.repeat(16_384))
    await quiet()
    const ahead = sum()
    expect(ahead).toBeLessThan(pieces * 16_384)
    let read = 0
    tunnel.on('data', (chunk: Buffer) => {
      read += chunk.length
    })
    await quiet()
    expect(read).toBe(pieces * 16_384)
    expect(sum()).toBeGreaterThan(ahead)
    expect(sum()).toBeLessThanOrEqual(read)
  })

  describe('with writes that wait for the peer', () => {
    async function startWaiting() {
      const scene = await start(1_000)
      const written = Promise.all([write(scene.tunnel, Buffer.alloc(5_000)), write(scene.tunnel, 'more')])
      await scene.peer.waitFor(() => scene.stream.length === 1_000)
      return { ...scene, written }
    }

    it('fails all of them when it is destroyed, and is reset', async () => {
      const { peer, client, tunnel, heard, stream, written } = await startWaiting()
      const mine = new Error('mine')
      tunnel.destroy(mine)
      for (const error of await written) expect(error).toBeInstanceOf(Error)
      await peer.waitFor(() => stream.resetCode === CANCEL)
      expect(heard).toEqual(['Error', 'close'])
      expect(tunnel.errored).toBe(mine)
      await expect.poll(() => client.stats).toMatchObject({ running: 0, size: 0 })
    })

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

    it('fails all of them when the peer resets it, also after the peer has ended its side', async () => {
      const { tunnel, heard, stream, written, endPeer } = await startWaiting()
      tunnel.resume()
      endPeer()
      await once(tunnel, 'end')
      stream.reset(NO_ERROR)
      const errors = await written
      expect(errors[0]).toMatchObject({ name: 'StreamError', http2ErrorCode: NO_ERROR })
      await expect.poll(() => heard).toEqual(['end', 'StreamError', 'close'])
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

  it('that neither side has ended fails with its connection', async () => {
    const { tunnel, heard, connection } = await start(1_000)
    connection.break()
    await expect.poll(() => heard).toEqual(['SocketError', 'close'])
    expect(tunnel.errored).toMatchObject({ processed: 'yes', streamId: 1 })
  })
})

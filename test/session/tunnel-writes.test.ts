import { once } from 'node:events'
import type { Duplex } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { Client } from '../../src/index.ts'
import { Flag, frames, Setting } from '../../src/testing/frames.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import { ENGINES } from '../support/clients/engines.ts'
import { startPeer } from '../support/peers/peer-rig.ts'

type Engine = (typeof ENGINES)[number]

/** A tunnel whose peer takes so many bytes. */
async function start(engine: Engine, windowSize: number, status = 200) {
  const peer = await startPeer({
    settings: [[Setting.INITIAL_WINDOW_SIZE, windowSize]],
    grantsCredit: false,
    onRequest: (stream) => stream.head(status),
  })
  const client = destroyWithTest(new Client(peer.origin, { engine, pingInterval: 0 }))
  const { socket: tunnel, statusCode } = await client.connect({ path: 'x.example:443' })
  const errors: Error[] = []
  tunnel.on('error', (error: Error) => errors.push(error))
  return {
    peer,
    client,
    tunnel,
    statusCode,
    errors,
    connection: peer.connection(0),
    stream: peer.request('*'),
  }
}

/** Settles with what the callback of a write is given. */
function write(tunnel: Duplex, text: string): Promise<Error | null> {
  return new Promise((resolve) => tunnel.write(text, (error) => resolve(error ?? null)))
}

describe.each(ENGINES)('writes to a tunnel that wait for the peer, on engine %s', (engine) => {
  it('each fail when the tunnel is destroyed', async () => {
    const { tunnel, errors, connection } = await start(engine, 0)
    const written = Promise.all([write(tunnel, 'one'), write(tunnel, 'two'), write(tunnel, 'three')])
    await connection.ping()
    tunnel.destroy()
    for (const error of await written) expect(error).toBeInstanceOf(Error)
    expect(errors).toEqual([])
  })

  it('each fail with the error that the client is destroyed with, or with one of the tunnel', async () => {
    const { client, tunnel, errors, connection } = await start(engine, 0)
    const written = Promise.all([write(tunnel, 'one'), write(tunnel, 'two')])
    await connection.ping()
    const closed = once(tunnel, 'close').catch(() => {})
    await client.destroy(new Error('mine'))
    for (const error of await written) expect(error).toBeInstanceOf(Error)
    await closed
    await expect.poll(() => errors.length).toBe(1)
  })
})

describe.each(ENGINES)('a write to a tunnel, on engine %s', (engine) => {
  it.each([
    100, 4_096, 50_000,
  ])('of %i bytes › is sent as it was, when its callback uses the memory again', async (size) => {
    const { peer, tunnel, stream } = await start(engine, 65_535)
    const memory = Buffer.alloc(size, 'a')
    tunnel.write(memory, () => memory.fill('b'))
    await peer.waitFor(() => stream.length === size)
    expect(stream.text).toBe('a'.repeat(size))
  })
})

describe('a write to a tunnel, on engine wire', () => {
  it('that has failed is never sent, also when its callback destroys the client', async () => {
    const { peer, client, tunnel, connection, stream } = await start('wire', 65_535)
    const heard: string[] = []
    tunnel.write('never', (error) => {
      heard.push(error === null || error === undefined ? 'sent' : 'failed')
      void client.destroy()
    })
    tunnel.destroy()
    await peer.waitFor(() => connection.isClosed)
    await setImmediate()
    expect(heard).toEqual(['failed'])
    expect(stream.length).toBe(0)
  })
})

describe('a CONNECT on engine wire', () => {
  // RFC 9110 §9.3.6: any 2xx makes a tunnel, and §15.3.5's rule of no content is about content, which a tunnel has none
  // of.
  it.each([200, 204, 205, 299])('with a response of %i is a tunnel in both directions', async (status) => {
    const { peer, tunnel, statusCode, stream, connection } = await start('wire', 1_000, status)
    expect(statusCode).toBe(status)
    connection.write(frames.data(stream.id, 'theirs', Flag.END_STREAM))
    const chunks: Buffer[] = []
    tunnel.on('data', (chunk: Buffer) => chunks.push(chunk))
    await once(tunnel, 'end')
    expect(Buffer.concat(chunks).toString()).toBe('theirs')
    tunnel.end('ours')
    await peer.waitFor(() => stream.isComplete)
    expect(stream.text).toBe('ours')
  })
})

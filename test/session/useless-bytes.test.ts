import { describe, expect, it } from 'vitest'
import { Client } from '../../src/index.ts'
import type { ConnectionScript } from '../../src/testing/fault-connection.ts'
import type { FaultStream } from '../../src/testing/fault-stream.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import { ENGINES } from '../support/clients/engines.ts'
import { startPeer } from '../support/peers/peer-rig.ts'

/** More than a session may get that brings nothing, and less than a stream window. Bytes. */
const MUCH = 8_000_000
const REQUESTS = 5
/** Two looks at the connection. Milliseconds. */
const LOOKS = 1_200

describe.each(ENGINES)('bytes that bring nothing, on engine %s', (engine) => {
  async function start(script: ConnectionScript) {
    const peer = await startPeer({ obeysWindows: true, ...script })
    const client = destroyWithTest(new Client(peer.origin, { engine, replaySafe: false }))
    const get = (path: string) => client.request({ path, method: 'GET' })
    const getText = async (path: string) => (await get(path)).body.text()
    return { peer, client, get, getText }
  }

  const respond = (stream: FaultStream): void => void stream.respond()

  it('when they come behind whole responses › end the session', async () => {
    const { peer, getText } = await start({ onComplete: respond })
    for (let index = 0; index < REQUESTS; index++) await getText('/')
    // No request meanwhile: a response counts for the peer with the largest header section that there is, so that a slow flood
    // with many of them between its frames brings nothing too much.
    await peer.connection(0).flood('unknown frames, small', { bytes: MUCH })
    await expect.poll(async () => (await getText('/next').catch(() => ''), peer.connections.length)).toBe(2)
  })

  it('when a reader holds much data back › the session lives, and its siblings are served', async () => {
    const { peer, get, getText } = await start({
      onComplete: (stream) =>
        void (stream.path === '/much' ? stream.respond({ body: Buffer.alloc(MUCH) }) : respond(stream)),
    })
    const { body } = await get('/much')
    for (const end = Date.now() + LOOKS; Date.now() < end; )
      expect(await getText('/sibling')).toBe('GET /sibling')
    expect((await body.arrayBuffer()).byteLength).toBe(MUCH)
    expect(peer.connections).toHaveLength(1)
  })

  it('when streams are cut off while data comes › what was under way counts for nothing', async () => {
    const { peer, get, getText } = await start({
      onComplete(stream) {
        if (stream.path !== '/cut') return respond(stream)
        stream.head(200)
        void stream.data(Buffer.alloc(MUCH))
      },
    })
    for (let index = 0; index < REQUESTS; index++) {
      const { body } = await get('/cut')
      body.destroy()
      body.on('error', () => {})
    }
    for (const end = Date.now() + LOOKS; Date.now() < end; )
      expect(await getText('/sibling')).toBe('GET /sibling')
    expect(peer.connections).toHaveLength(1)
  })

  it('when responses are malformed, so that their streams are reset at once › what was under way counts for nothing', async () => {
    const { peer, get, getText } = await start({
      onComplete(stream) {
        if (stream.path !== '/bad') return respond(stream)
        stream.head(200, { connection: 'keep-alive' })
        void stream.data(Buffer.alloc(MUCH))
      },
    })
    for (let index = 0; index < REQUESTS; index++)
      await expect(get('/bad')).rejects.toMatchObject({ name: 'StreamError' })
    for (const end = Date.now() + LOOKS; Date.now() < end; )
      expect(await getText('/sibling')).toBe('GET /sibling')
    expect(peer.connections).toHaveLength(1)
  })
})

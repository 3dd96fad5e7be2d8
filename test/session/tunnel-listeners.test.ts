import { describe, expect, it } from 'vitest'
import { Client } from '../../src/index.ts'
import { Flag, frames } from '../../src/testing/frames.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import { ENGINES } from '../support/clients/engines.ts'
import { listenForUncaught } from '../support/clients/uncaught.ts'
import { startPeer } from '../support/peers/peer-rig.ts'

type Engine = (typeof ENGINES)[number]

/** A tunnel, and requests on the same connection that the test answers. */
async function start(engine: Engine) {
  const peer = await startPeer({
    onRequest: (stream) => {
      if (stream.method === 'CONNECT') stream.head(200)
    },
  })
  const client = destroyWithTest(new Client(peer.origin, { engine, pingInterval: 0 }))
  const { socket: tunnel } = await client.connect({ path: 'x.example:443' })
  tunnel.on('error', () => {})
  const sibling = client.request({ path: '/sibling', method: 'GET' }).then(({ body }) => body.text())
  await peer.waitFor(() => peer.requests.length === 2)
  const [tunnelId = 0, id = 0] = peer.requests.map((stream) => stream.id)
  const respond = () => Buffer.concat([frames.response(id), frames.data(id, 'sibling', Flag.END_STREAM)])
  return {
    client,
    tunnel,
    sibling,
    tunnelId,
    respond,
    connection: peer.connection(0),
    uncaught: listenForUncaught(),
  }
}

describe.each(ENGINES)('a listener of a tunnel that throws, on engine %s', (engine) => {
  it('for data › disturbs neither other calls nor the tunnel', async () => {
    const { tunnel, sibling, tunnelId, respond, connection, uncaught } = await start(engine)
    let text = ''
    tunnel.on('data', (chunk: Buffer) => {
      text += chunk
      throw new Error(`at ${chunk}`)
    })
    connection.write(Buffer.concat([frames.data(tunnelId, 'one'), respond()]))
    expect(await sibling).toBe('sibling')
    connection.write(frames.data(tunnelId, 'two'))
    await expect.poll(() => text).toBe('onetwo')
    expect(uncaught).toEqual(['at one', 'at two'])
  })

  it('when a write is done › disturbs no other call', async () => {
    const { client, tunnel, sibling, respond, connection, uncaught } = await start(engine)
    tunnel.write(Buffer.alloc(5_000), () => {
      throw new Error('written')
    })
    await expect.poll(() => uncaught).toEqual(['written'])
    connection.write(respond())
    expect(await sibling).toBe('sibling')
    void client.request({ path: '/next', method: 'GET' }).catch(() => {})
    await expect.poll(() => connection.streams.length).toBe(3)
  })
})

import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { Client } from '../../src/index.ts'
import { PairedDuplex } from '../../src/testing/duplex-pair.ts'
import type { Connector } from '../../types/index.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import { ENGINES } from '../support/clients/engines.ts'
import { Recorder } from '../support/clients/recorder.ts'
import { SERVE, startPeer, toConnector } from '../support/peers/peer-rig.ts'

const POST = { path: '/', method: 'POST', body: 'body' } as const

/** A client of a peer, and the stand-ins for its sockets, which emit no event when they are destroyed. */
async function start() {
  const peer = await startPeer(SERVE)
  const toPeer = toConnector(peer)
  const sockets: PairedDuplex[] = []
  const connect: Connector = (options, callback) =>
    toPeer(options, (error, socket) => {
      if (socket instanceof PairedDuplex) sockets.push(socket)
      if (error === null && socket !== null) callback(null, socket)
      else callback(error ?? new Error('There is no socket'), null)
    })
  const client = destroyWithTest(new Client(peer.origin, { engine: 'wire', connect, fallback: null }))
  const first = new Recorder()
  client.dispatch(POST, first)
  await first.settled
  return { peer, client, sockets }
}

describe('a session whose socket is destroyed without an event', () => {
  it('when the next call comes › is replaced, and the call is served', async () => {
    const { peer, client, sockets } = await start()
    sockets[0]?.removeAllListeners('close')
    sockets[0]?.destroy()
    const next = new Recorder()
    client.dispatch(POST, next)
    await next.settled
    expect(next.events.at(-1)).toBe('end')
    expect(peer.connections).toHaveLength(2)
  })

  it('when the next call comes in the same turn › emits disconnect after that dispatch(), not within', async () => {
    const { client, sockets } = await start()
    const heard: string[] = []
    client.on('disconnect', () => heard.push('disconnect'))
    const disconnected = once(client, 'disconnect')
    sockets[0]?.destroy()
    const next = new Recorder()
    client.dispatch(POST, next)
    heard.push('dispatched')
    await disconnected
    expect(heard).toEqual(['dispatched', 'disconnect'])
    await next.settled
    expect(next.events.filter((event) => event === 'end' || event === 'error')).toEqual(['end'])
  })
})

describe.each(ENGINES)('on engine %s, a client that is destroyed while a tunnel is open', (engine) => {
  it('fails the tunnel before the promise of destroy() settles, and emits disconnect with the same reason', async () => {
    const peer = await startPeer({ onRequest: (stream) => stream.head(200) })
    const client = new Client(peer.origin, { engine, fallback: null })
    const { socket } = await client.connect({ path: 'x.example:443' })
    const heard: string[] = []
    socket.on('error', ({ message }) => heard.push(message))
    socket.on('close', () => heard.push('close'))
    client.on('disconnect', (_origin, _targets, { message }) => heard.push(message))
    await client.destroy(new Error('enough'))
    heard.push('destroyed')
    expect(heard).toEqual(['enough', 'close', 'enough', 'destroyed'])
  })
})

import { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { Client, errors } from '../../src/index.ts'
import { Setting } from '../../src/testing/frames.ts'
import type { ClientOptions } from '../../types/index.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import { ENGINES } from '../support/clients/engines.ts'
import { Recorder } from '../support/clients/recorder.ts'
import { REFUSED_STREAM } from '../support/peers/error-codes.ts'
import { startPeer } from '../support/peers/peer-rig.ts'
import { serveHello, startServer } from '../support/servers/server.ts'

const POST = { path: '/', method: 'POST' } as const
const GET = { path: '/', method: 'GET' } as const

const BLOCK = Buffer.alloc(65_536)

describe.each(ENGINES)('on engine %s', (engine) => {
  function toClient(origin: string, options: ClientOptions = {}): Client {
    const client = destroyWithTest(new Client(origin, { engine, ...options }))
    return client
  }

  /** Refuses the first stream once a part of its body has come, and responds to the others. */
  async function startRefusing() {
    const peer = await startPeer({
      grantsCredit: false,
      onRequest: (stream) => stream.id !== 1 && stream.respond(),
      onData: (stream) => stream.id === 1 && stream.chunks.length === 1 && stream.reset(REFUSED_STREAM),
    })
    return { peer, client: toClient(peer.origin) }
  }

  /** Bodies without an end, each of which records that it was released. */
  const SOURCES: { readonly what: string; readonly toBody: (onRelease: () => void) => () => unknown }[] = [
    {
      what: "a generator's finally",
      toBody: (onRelease) =>
        function* () {
          try {
            for (;;) yield BLOCK
          } finally {
            onRelease()
          }
        },
    },
    {
      what: "a Readable's destroy",
      toBody: (onRelease) => () =>
        new Readable({
          read() {
            this.push(BLOCK)
          },
          destroy(error, callback) {
            onRelease()
            callback(error)
          },
        }),
    },
  ]

  describe.each(SOURCES)('a refused body of which $what', ({ toBody }) => {
    it('aborts the call is not sent again, and the call fails once', async () => {
      const { peer, client } = await startRefusing()
      const recorder = new Recorder()
      const mine = new Error('mine')
      const body = toBody(() => recorder.controller?.abort(mine)) as () => Readable
      client.dispatch({ ...POST, body }, recorder)
      await recorder.settled
      expect(client.stats).toMatchObject({ pending: 0, running: 0, size: 0 })
      // Were it sent again, it would be ahead of this one.
      await (await client.request(GET)).body.dump()
      expect(recorder.events).toEqual(['start', 'error'])
      expect(recorder.error).toBe(mine)
      expect(peer.requests).toHaveLength(2)
    })

    it('destroys the client is not sent again, and the call fails once', async () => {
      const { peer, client } = await startRefusing()
      const recorder = new Recorder()
      const destroyed: Promise<void>[] = []
      const body = toBody(() => destroyed.push(client.destroy())) as () => Readable
      client.dispatch({ ...POST, body }, recorder)
      await recorder.settled
      expect(destroyed).not.toHaveLength(0)
      await Promise.all(destroyed)
      expect(recorder.events).toEqual(['start', 'error'])
      expect(recorder.error).toBeInstanceOf(errors.ClientDestroyedError)
      expect(client.stats).toMatchObject({ pending: 0, running: 0, size: 0 })
      expect(peer.ledger).toEqual(['0/1 POST /'])
    })
  })

  describe('5,000 queued calls', () => {
    const COUNT = 5_000

    it('whose body functions throw fail one by one, and their sibling gets its response', async () => {
      const server = await startServer(serveHello)
      const client = toClient(server.origin)
      const mine = new Error('mine')
      const recorders = Array.from({ length: COUNT }, () => new Recorder())
      const body = () => {
        throw mine
      }
      for (const recorder of recorders) client.dispatch({ ...POST, body }, recorder)
      const { body: response } = await client.request(GET)
      expect(await response.text()).toBe('hello')
      for (const { events, errors } of recorders) {
        expect(events).toEqual(['start', 'error'])
        expect(errors).toEqual([mine])
      }
      expect(client.stats).toMatchObject({ pending: 0, running: 0 })
    })

    it('that end while their bodies are sent fail one by one, and their sibling gets its response', async () => {
      const server = await startServer(serveHello)
      const client = toClient(server.origin, { maxConcurrentStreams: 1 })
      const mine = new Error('mine')
      const recorders = Array.from({ length: COUNT }, () => new Recorder())
      for (const recorder of recorders) {
        const onBodySent = () => recorder.controller?.abort(mine)
        client.dispatch({ ...POST, body: 'x' }, Object.assign(recorder, { onBodySent }))
      }
      const { body: response } = await client.request(GET)
      expect(await response.text()).toBe('hello')
      for (const { events, errors } of recorders) {
        expect(events).toEqual(['start', 'error'])
        expect(errors).toEqual([mine])
      }
      expect(client.stats).toMatchObject({ pending: 0, running: 0 })
    })
  })

  describe('a peer that allows no streams, and retires each connection unused', () => {
    it.each([
      { what: 'an upgrade()', ask: (client: Client) => client.upgrade({ path: '/' }) },
      // It doesn't wait for the first SETTINGS; those that follow find the limit of 0 remembered.
      { what: 'a GET', ask: (client: Client) => client.request(GET) },
    ])('fails $what after four connections', async ({ ask }) => {
      const peer = await startPeer({
        settings: [
          [Setting.ENABLE_CONNECT_PROTOCOL, 1],
          [Setting.MAX_CONCURRENT_STREAMS, 0],
        ],
        onConnection: (connection) => connection.goAway({ lastStreamId: 0, code: 0 }),
      })
      const client = toClient(peer.origin)
      const failure: unknown = await ask(client).catch((error: unknown) => error)
      expect(failure).toBeInstanceOf(errors.SocketError)
      expect(failure).toMatchObject({ processed: 'no' })
      await client.destroy()
      expect(peer.connections).toHaveLength(4)
      expect(client.stats).toMatchObject({ pending: 0, running: 0 })
    })
  })
})

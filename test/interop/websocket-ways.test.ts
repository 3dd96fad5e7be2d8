import { once } from 'node:events'
import { createSecureServer } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Agent } from '../../src/index.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import { startServer, toCertificate } from '../support/servers/server.ts'
import { CLIENTS, KINDS, toExpectedWays, toInstalledStage, toStage, toWays } from './websocket-clients.ts'
import {
  CHOPPED_SCENES,
  CROWD_SCENE,
  DEFLATE_SCENES,
  DESTROY_SCENE,
  HANDSHAKE_SCENES,
  PING_LENGTHS,
  REFUSED,
  refuse,
} from './websocket-scenes.ts'
import type { EchoServer, ServerKind } from './websocket-servers.ts'
import { startEchoServer } from './websocket-servers.ts'
import { Talk } from './websocket-talk.ts'

const CROWD = 100

function toVisit({ visits }: EchoServer): EchoServer['visits'][number] {
  const [visit] = visits
  if (visit === undefined || visits.length !== 1) throw new Error(`${visits.length} sockets have come`)
  return visit
}

/** Connections for so many sockets: one more where HTTP/2 was tried first. */
function toConnections(kind: ServerKind): number {
  if (kind === 'h2') return 1
  return kind === 'h2-without' ? CROWD + 1 : CROWD
}

describe.each(CLIENTS)('WebSocket of $client', ({ socketClass }) => {
  describe.each(KINDS)('when the server speaks $over', ({ kind }) => {
    it.each(DEFLATE_SCENES)('$what', async ({ play, expected }) => {
      const server = await startEchoServer(kind, { deflate: true })
      expect(await play(toStage(server, socketClass))).toEqual(expected)
      expect(toWays(server)).toEqual(toExpectedWays(kind, 1))
    })

    it.each(HANDSHAKE_SCENES)('finds the installed agent, and $what', async ({ play, expected }) => {
      const server = await startEchoServer(kind)
      expect(await play(toInstalledStage(server, socketClass))).toEqual(expected)
      expect(toWays(server)).toEqual(toExpectedWays(kind, server.visits.length))
    })

    it('sends back the bytes of each ping', async () => {
      const server = await startEchoServer(kind)
      const { agent, url } = toStage(server, socketClass)
      const talk = new Talk(socketClass, `${url}/pings`, { dispatcher: agent })
      expect(await talk.next()).toBe('done')
      expect(toVisit(server).pongs).toEqual(PING_LENGTHS.map((n) => Buffer.alloc(n, n).toString('hex')))
    })

    it('tells the server its code and reason, and the server closes the socket', async () => {
      const server = await startEchoServer(kind)
      const { agent, url } = toStage(server, socketClass)
      const talk = new Talk(socketClass, `${url}/echo`, { dispatcher: agent })
      await talk.opened
      talk.socket.close(4321, 'schön')
      await talk.closed
      const visit = toVisit(server)
      await visit.gone
      expect(visit.close).toEqual([4321, 'schön'])
    })

    it(`${CROWD_SCENE.what}`, async () => {
      const server = await startEchoServer(kind)
      const stage = toStage(server, socketClass)
      expect(await CROWD_SCENE.play(stage)).toEqual(CROWD_SCENE.expected)
      expect(server.visits).toHaveLength(CROWD)
      expect(toWays(server)).toEqual(toExpectedWays(kind, CROWD))
      expect(server.connections()).toBe(toConnections(kind))
    })
  })

  describe('when its socket is a stream of HTTP/2', () => {
    it.each(CHOPPED_SCENES)('$what', async ({ play, expected }) => {
      const server = await startEchoServer('h2')
      expect(await play(toStage(server, socketClass))).toEqual(expected)
      expect(toWays(server)).toEqual(toExpectedWays('h2', 1))
    })

    it(DESTROY_SCENE.what, async () => {
      const server = await startEchoServer('h2')
      expect(await DESTROY_SCENE.play(toStage(server, socketClass))).toEqual(DESTROY_SCENE.expected)
      await toVisit(server).gone
    })

    it('resets a stream whose handshake it does not accept', async () => {
      const server = await startEchoServer('h2')
      const stage = toStage(server, socketClass)
      expect(await refuse(stage, '/echo', ['first', 'third'])).toEqual(REFUSED)
      await toVisit(server).gone
      expect(server.sessions.map(({ destroyed }) => destroyed)).toEqual([false])
    })

    it('sends the fields that RFC 8441 requires, and none of the handshake of HTTP/1.1', async () => {
      const server = await startEchoServer('h2')
      const { agent, url } = toStage(server, socketClass)
      const talk = new Talk(socketClass, `${url}/echo`, { dispatcher: agent })
      await talk.opened
      const { headers } = toVisit(server)
      expect(headers).toMatchObject({
        ':method': 'CONNECT',
        ':protocol': 'websocket',
        ':scheme': 'https',
        ':path': '/echo',
        'sec-websocket-version': '13',
      })
      for (const name of ['connection', 'upgrade', 'sec-websocket-key'])
        expect(headers).not.toHaveProperty(name)
    })

    it('is over TLS or not, as h2c says', async () => {
      const seen: unknown[] = []
      const { origin } = await startServer(
        (stream, headers) => {
          seen.push(headers[':protocol'], headers[':scheme'])
          stream.respond({ ':status': 200 })
        },
        { settings: { enableConnectProtocol: true } },
      )
      const agent = destroyWithTest(new Agent({ h2c: true, fallback: null }))
      await new Talk(socketClass, origin.replace('http:', 'ws:'), { dispatcher: agent }).opened
      expect(seen).toEqual(['websocket', 'http'])
    })
  })

  describe('when there is no fallback', () => {
    it.each(KINDS.filter(({ kind }) => kind !== 'h2'))('fails with a server that speaks $over', async ({
      kind,
    }) => {
      const server = await startEchoServer(kind)
      const stage = toStage(server, socketClass, { fallback: null })
      expect(await refuse(stage, '/echo')).toEqual(REFUSED)
      expect(server.visits).toEqual([])
    })

    it('has its socket over HTTP/2 nevertheless', async () => {
      const server = await startEchoServer('h2')
      const { agent, url } = toStage(server, socketClass, { fallback: null })
      const talk = new Talk(socketClass, `${url}/echo`, { dispatcher: agent })
      await talk.opened
      expect(await talk.echo('x')).toBe('x')
    })

    it('fails with a server that speaks HTTP/2 alone, without extended CONNECT', async () => {
      const { private: key, cert } = await toCertificate()
      const server = createSecureServer({ key, cert })
      server.listen(0, '127.0.0.1')
      await once(server, 'listening')
      onTestFinished(() => {
        server.close()
      })
      const { port } = server.address() as AddressInfo
      for (const options of [{ fallback: null }, {}]) {
        const agent = destroyWithTest(new Agent({ connect: { ca: cert }, ...options }))
        const talk = new Talk(socketClass, `wss://localhost:${port}`, { dispatcher: agent })
        await expect(talk.opened).rejects.toThrow('The handshake failed')
      }
    })
  })
})

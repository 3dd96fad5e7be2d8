import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { createServer as createHttpsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { connect as connectSocket, Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { Agent, Client } from '../../src/index.ts'
import type { ClientOptions, ConnectTlsOptions } from '../../types/index.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import { ENGINES } from '../support/clients/engines.ts'
import { REFUSED_DUPLEX, startPeer, toConnector } from '../support/peers/peer-rig.ts'
import { startHttp1 as startPlain } from '../support/servers/fallback-http1.ts'
import { startServer, toCertificate } from '../support/servers/server.ts'

/** An HTTPS server without HTTP/2. */
async function startHttp1(): Promise<{ origin: string; ca: string }> {
  const { private: key, cert } = await toCertificate()
  const server = createHttpsServer({ key, cert }, (_request, response) => response.end('hello'))
  server.listen(0)
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  return { origin: `https://localhost:${(server.address() as AddressInfo).port}`, ca: cert }
}

/** The last options of the sockets that clients have connected. */
function watchSockets(): () => { noDelay: unknown; keepAlive: unknown }[] {
  const noDelay = vi.spyOn(Socket.prototype, 'setNoDelay')
  const keepAlive = vi.spyOn(Socket.prototype, 'setKeepAlive')
  const sockets: unknown[] = []
  const onConnected = (message: unknown): void => {
    sockets.push(Object(message).socket)
  }
  subscribe('undici:client:connected', onConnected)
  onTestFinished(() => {
    unsubscribe('undici:client:connected', onConnected)
    noDelay.mockRestore()
    keepAlive.mockRestore()
  })
  return () =>
    sockets.map((socket) => ({
      // A missing option means true.
      noDelay: noDelay.mock.calls[noDelay.mock.contexts.lastIndexOf(socket as Socket)]?.[0] ?? true,
      keepAlive: keepAlive.mock.calls[keepAlive.mock.contexts.lastIndexOf(socket as Socket)],
    }))
}

async function get(origin: string, options: ClientOptions): Promise<string> {
  const client = destroyWithTest(new Client(origin, options))
  const { body } = await client.request({ path: '/', method: 'GET' })
  return body.text()
}

describe.each([
  ...ENGINES.map((engine) => ({ name: `engine ${engine}`, engine, isHttp1: false })),
  { name: 'the fallback', engine: 'wire', isHttp1: true },
] as const)('a socket over TLS, of $name', ({ engine, isHttp1 }) => {
  const start = (): Promise<{ origin: string; ca: string }> =>
    isHttp1
      ? startHttp1()
      : startServer(
          (stream) => {
            stream.respond({ ':status': 200 })
            stream.end('hello')
          },
          { tls: true },
        )

  it.each([
    { what: 'nothing is said', given: {}, noDelay: true, keepAlive: [true, 0] },
    { what: 'noDelay is false', given: { noDelay: false }, noDelay: false, keepAlive: [true, 0] },
    { what: 'keepAlive is false', given: { keepAlive: false }, noDelay: true, keepAlive: undefined },
    {
      what: 'keepAliveInitialDelay is given',
      given: { keepAliveInitialDelay: 5_000 },
      noDelay: true,
      keepAlive: [true, 5_000],
    },
  ] satisfies {
    what: string
    given: ConnectTlsOptions
    noDelay: boolean
    keepAlive: unknown
  }[])('when $what › is told so itself', async ({ given, noDelay, keepAlive }) => {
    const { origin, ca } = await start()
    const toTold = watchSockets()
    expect(await get(origin, { engine, connect: { ca, ...given } })).toBe('hello')
    // The last one: what found out that the server speaks HTTP/1.1 alone was another.
    expect(toTold().at(-1)).toEqual({ noDelay, keepAlive })
  })

  it('when a connector yields it › gets the same options', async () => {
    const { origin, ca } = await start()
    const toTold = watchSockets()
    const connect: ClientOptions['connect'] = ({ ALPNProtocols, port }, callback) => {
      const socket = connectTls({
        host: 'localhost',
        port: Number(port),
        ca,
        ALPNProtocols: [...(ALPNProtocols ?? [])],
      })
      socket.once('secureConnect', () => callback(null, socket))
    }
    expect(await get(origin, { engine, connect })).toBe('hello')
    expect(toTold().at(-1)).toEqual({ noDelay: true, keepAlive: [true, 0] })
  })
})

describe('when a connector yields a Duplex without such methods', () => {
  it.each([
    ['engine wire', { engine: 'wire' }],
    ['a client that names no engine', {}],
  ] as const)('%s › uses it', async (_what, options) => {
    const peer = await startPeer({ onComplete: (stream) => stream.respond('hello') })
    expect(await get(peer.origin, { ...options, connect: toConnector(peer) })).toBe('hello')
  })

  it('engine node › refuses it', async () => {
    const peer = await startPeer({ onComplete: (stream) => stream.respond('hello') })
    const response = get(peer.origin, { engine: 'node', connect: toConnector(peer) })
    await expect(response).rejects.toMatchObject(REFUSED_DUPLEX)
    expect(peer.requests).toEqual([])
  })
})

it('when a connector yields a socket whose methods throw, the fallback › fails the request with that error', async () => {
  const { origin } = await startPlain(undefined, { tls: false })
  const mine = new Error('mine')
  const agent = destroyWithTest(
    new Agent({
      connect: ({ port }, callback) => {
        const socket = connectSocket(Number(port), 'localhost', () => {
          socket.setNoDelay = () => {
            throw mine
          }
          callback(null, socket)
        })
      },
    }),
  )
  await expect(agent.request({ origin, path: '/', method: 'GET' })).rejects.toMatchObject({ cause: mine })
})

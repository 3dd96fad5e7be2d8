/** The age of sessions in each class, with servers and proxies of real sockets; test/session/session-age.test.ts has the cases. */

import type { ServerHttp2Stream } from 'node:http2'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Agent, Client, install, Pool, ProxyAgent, UpstreamPool, uninstall } from '../../src/index.ts'
import type { Dispatcher, PoolOptions } from '../../types/index.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import type { TestServer } from '../support/servers/server.ts'
import { startServer } from '../support/servers/server.ts'
import { KINDS as PROXIES, startTunnelProxy } from '../support/servers/tunnel-proxy.ts'

/** Milliseconds, by the real clock: the tests go on until so many sessions have come. */
const AGE = 20
const SESSIONS = 5

interface Counted extends TestServer {
  /** Requests of each session, in the order in which they came. */
  readonly requests: number[]
  /** The most sessions that were open at once. */
  most(): number
}

async function startCounted(): Promise<Counted> {
  const requests: number[] = []
  const places = new Map<unknown, number>()
  let most = 0
  let open = 0
  const serve = (stream: ServerHttp2Stream): void => {
    const place = places.get(stream.session) ?? 0
    requests[place] = (requests[place] ?? 0) + 1
    stream.resume().on('end', () => {
      stream.respond({ ':status': 200 })
      stream.end('served')
    })
  }
  const server = await startServer(serve, { tls: true })
  server.server.on('session', (session) => {
    places.set(session, requests.push(0) - 1)
    open++
    most = Math.max(most, open)
    session.on('close', () => open--)
  })
  return { ...server, requests, most: () => most }
}

type Options = Pick<PoolOptions, 'connections' | 'maxSessionAge' | 'maxSessionRequests'>

type Ask = (path: string, body: string | null) => Promise<string>

interface Route {
  readonly what: string
  make(server: Counted, options: Options): Ask | Promise<Ask>
}

const through =
  (dispatcher: Dispatcher, origin: string): Ask =>
  async (path, body) => {
    const response = await dispatcher.request({ origin, path, method: body === null ? 'GET' : 'POST', body })
    return response.body.text()
  }

const ROUTES: Route[] = [
  ...[Client, Pool].map((Class) => ({
    what: `a ${Class.name}`,
    make: (server: Counted, options: Options) => {
      const dispatcher = new Class(server.origin, { ...options, connect: { ca: server.ca } })
      return through(destroyWithTest<Client | Pool>(dispatcher), server.origin)
    },
  })),
  {
    what: 'an Agent',
    make: (server, options) => {
      const agent = destroyWithTest(new Agent({ ...options, connect: { ca: server.ca } }))
      return through(agent, server.origin)
    },
  },
  {
    what: 'an UpstreamPool',
    make: (server, options) => {
      const pool = destroyWithTest(
        new UpstreamPool([server.origin], { ...options, connect: { ca: server.ca } }),
      )
      return through(pool, server.origin)
    },
  },
  {
    what: 'fetch of Node, installed',
    make: (server, options) => {
      const agent = new Agent({ ...options, connect: { ca: server.ca } })
      install(agent)
      onTestFinished(async () => {
        uninstall()
        await agent.destroy()
      })
      return async (path, body) => {
        const init = body === null ? {} : { method: 'POST', body }
        return (await globalThis.fetch(`${server.origin}${path}`, init)).text()
      }
    },
  },
  ...PROXIES.map((kind) => ({
    what: `a ProxyAgent, through a proxy of ${kind}`,
    make: async (server: Counted, options: Options) => {
      const proxy = await startTunnelProxy(kind)
      const agent = new ProxyAgent({
        ...{ ...options, uri: proxy.uri, proxyTls: { ca: proxy.ca }, requestTls: { ca: server.ca } },
      })
      return through(destroyWithTest(agent), server.origin)
    },
  })),
]

describe.each(ROUTES)('through $what', ({ make }) => {
  it.each([
    { how: 'one call at a time', width: 1 },
    { how: 'twenty at a time', width: 20 },
  ])('maxSessionAge fails no call, $how', async ({ width }) => {
    const server = await startCounted()
    const ask = await make(server, { maxSessionAge: AGE, connections: 2 })
    while (server.requests.length < SESSIONS) {
      const calls = Array.from({ length: width }, (_, i) => ask(`/${i}`, i % 2 === 0 ? null : 'body'))
      expect(await Promise.all(calls)).toEqual(calls.map(() => 'served'))
    }
    expect(server.most()).toBeLessThanOrEqual(3)
  })

  it.each([
    { how: 'one call at a time', width: 1 },
    { how: 'twenty at a time', width: 20 },
  ])('maxSessionRequests is never exceeded, and fails no call, $how', async ({ width }) => {
    const server = await startCounted()
    const ask = await make(server, { maxSessionRequests: 8, connections: 2 })
    while (server.requests.length < SESSIONS) {
      const calls = Array.from({ length: width }, (_, i) => ask(`/${i}`, i % 2 === 0 ? null : 'body'))
      expect(await Promise.all(calls)).toEqual(calls.map(() => 'served'))
    }
    expect(Math.max(...server.requests)).toBeLessThanOrEqual(8)
  })
})

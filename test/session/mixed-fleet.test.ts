import { once } from 'node:events'
import type { IncomingMessage, RequestListener } from 'node:http'
import { createServer as createHttp1 } from 'node:http'
import type { ServerHttp2Stream } from 'node:http2'
import { createServer as createHttp2 } from 'node:http2'
import type { AddressInfo, Socket } from 'node:net'
import { Readable } from 'node:stream'
import type { TLSSocket } from 'node:tls'
import { createServer as createTls } from 'node:tls'
import { buildConnector, Agent as UndiciAgent } from 'undici'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Agent, Client, Pool, ProxyAgent } from '../../src/index.ts'
import { MAX_AGES } from '../../src/session/origin-memory.ts'
import type { DispatchOptions } from '../../types/index.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import { ENGINES, Harness } from '../support/clients/engines.ts'
import { FakeClock } from '../support/clocks/fake-clock.ts'
import { sample } from '../support/clocks/sample.ts'
import { PATIENT } from '../support/peers/peer-rig.ts'
import { toCertificate } from '../support/servers/server.ts'
import { startTunnelProxy } from '../support/servers/tunnel-proxy.ts'

/** What a server behind the address speaks: both means that it prefers HTTP/2. */
type Kind = 'h2' | 'http/1.1' | 'both'

interface Fleet {
  readonly origin: string
  readonly ca: string
  /** The server of the next connection, by its number from 0. */
  next: (connection: number) => Kind
  /** What each connection has come to speak; null where the handshake has failed. */
  readonly spoken: (string | null)[]
  /** What each connection was offered. */
  readonly offered: (readonly string[])[]
  /** Ends all connections, as a restart does. Settles when the clients have closed their sides, too. */
  restart(): Promise<unknown>
}

const LISTED = { h2: ['h2'], 'http/1.1': ['http/1.1'], both: ['h2', 'http/1.1'] } as const

/** One address, whose connections end at servers of different kinds. Each says what it was asked, and by which protocol. */
async function startFleet(next: Fleet['next']): Promise<Fleet> {
  const { private: key, cert } = await toCertificate()
  const sockets = new Set<Socket>()
  const hold: RequestListener = (request: IncomingMessage, response) => {
    request.resume()
    request.on('end', () => response.end(`${request.method} ${request.url} over 1.1`))
  }
  const http1 = createHttp1(hold)
  const http2 = createHttp2()
  http2.on('session', (session) => session.on('error', () => {}))
  http2.on('stream', (stream: ServerHttp2Stream, headers) => {
    stream.on('error', () => {})
    stream.resume()
    stream.on('end', () => {
      stream.respond({ ':status': 200 })
      stream.end(`${headers[':method']} ${headers[':path']} over 2`)
    })
  })
  const fleet = { next, spoken: [] as (string | null)[], offered: [] as (readonly string[])[] }
  const server = createTls({
    key,
    cert,
    // An undefined result is the alert no_application_protocol.
    ALPNCallback: ({ protocols }) => {
      const chosen = LISTED[fleet.next(fleet.offered.length)].find((name) => protocols.includes(name))
      fleet.offered.push(protocols)
      fleet.spoken.push(chosen ?? null)
      return chosen
    },
  })
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('error', () => {}).on('close', () => sockets.delete(socket))
  })
  server.on('tlsClientError', () => {})
  server.on('secureConnection', (socket: TLSSocket) => {
    ;(socket.alpnProtocol === 'h2' ? http2 : http1).emit('connection', socket)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const restart = (): Promise<unknown> =>
    Promise.all(
      [...sockets].map((socket) => {
        socket.end()
        return once(socket, 'close')
      }),
    )
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return Object.assign(fleet, { origin: `https://localhost:${port}`, ca: cert, restart })
}

const DISPATCHERS = { Client, Pool, Agent } as const

/** Kinds of requests, each with what a server says to it before the protocol. */
const REQUESTS: readonly (readonly [string, () => Partial<DispatchOptions>])[] = [
  ['GET', () => ({ method: 'GET' })],
  ['POST', () => ({ method: 'POST', body: 'body' })],
  ['POST', () => ({ method: 'POST', body: Readable.from(['one ', 'two']) })],
]

const NAMES = Object.keys(DISPATCHERS) as (keyof typeof DISPATCHERS)[]

describe.each(ENGINES)('on engine %s', (engine) => {
  describe.each(NAMES)('a %s', (name) => {
    /** The engines take turns: each dispatcher meets each case, and each engine does. */
    const toDue = <T>(cases: readonly T[]): readonly T[] =>
      sample(cases, { usual: 2, sample: 2 }, NAMES.indexOf(name) + ENGINES.indexOf(engine))

    function open(fleet: Fleet, more: object = {}): Client | Pool | Agent {
      const options = { engine, connect: { ca: fleet.ca }, ...more }
      const dispatcher = name === 'Agent' ? new Agent(options) : new DISPATCHERS[name](fleet.origin, options)
      onTestFinished(() => dispatcher.destroy())
      return dispatcher
    }

    async function ask(dispatcher: Client | Pool | Agent, fleet: Fleet, options: object): Promise<string> {
      const { body } = await dispatcher.request({
        origin: fleet.origin,
        path: '/',
        method: 'GET',
        ...options,
      })
      return body.text()
    }

    it.each(
      toDue(REQUESTS),
    )('an origin that is rolled out to HTTP/2 alone is served at once: %s', async (method, toOptions) => {
      const fleet = await startFleet(() => 'http/1.1')
      const dispatcher = open(fleet)
      expect(await ask(dispatcher, fleet, toOptions())).toBe(`${method} / over 1.1`)
      fleet.next = () => 'h2'
      await fleet.restart()
      expect(await ask(dispatcher, fleet, toOptions())).toBe(`${method} / over 2`)
      const all = await Promise.all(Array.from({ length: 50 }, () => ask(dispatcher, fleet, toOptions())))
      expect(new Set(all)).toEqual(new Set([`${method} / over 2`]))
    })

    it('an origin that comes to speak both is asked by HTTP/2 as soon as the fallback opens a connection', async () => {
      const fleet = await startFleet(() => 'http/1.1')
      const dispatcher = open(fleet)
      await ask(dispatcher, fleet, {})
      fleet.next = () => 'both'
      await fleet.restart()
      expect(await ask(dispatcher, fleet, {})).toBe('GET / over 2')
      expect(fleet.offered.every((protocols) => protocols.includes('h2'))).toBe(true)
    })

    it.each(
      toDue([
        ['alternating', (i: number) => (i % 2 === 0 ? 'h2' : 'http/1.1')],
        ['alternating, HTTP/1.1 first', (i: number) => (i % 2 === 0 ? 'http/1.1' : 'h2')],
        ['two of three by HTTP/1.1', (i: number) => (i % 3 === 2 ? 'h2' : 'http/1.1')],
        ['nine of ten by HTTP/1.1', (i: number) => (i % 10 === 9 ? 'h2' : 'http/1.1')],
        ['in no order', (i: number) => ('0110100110010110'[i % 16] === '1' ? 'h2' : 'http/1.1')],
      ] as const),
    )('a mixed fleet serves every request, through restarts: %s', async (_what, next) => {
      const fleet = await startFleet(next)
      const dispatcher = open(fleet)
      for (let round = 0; round < 8; round++) {
        const all = await Promise.all(
          Array.from({ length: 20 }, (_, i) => ask(dispatcher, fleet, REQUESTS[i % 2]?.[1]() ?? {})),
        )
        for (const said of all) expect(said).toMatch(/^(GET|POST) \/ over (1\.1|2)$/)
        await fleet.restart()
      }
      expect(fleet.spoken).not.toContain(null)
    })

    it('with a fallback of its own: a roll-out to HTTP/2 alone is noticed when that fails on ALPN', async () => {
      const fleet = await startFleet(() => 'http/1.1')
      const fallback = new UndiciAgent({ connect: { ca: fleet.ca } })
      onTestFinished(() => fallback.destroy())
      const dispatcher = open(fleet, { fallback })
      expect(await ask(dispatcher, fleet, {})).toBe('GET / over 1.1')
      fleet.next = () => 'h2'
      await fleet.restart()
      expect(await ask(dispatcher, fleet, {})).toBe('GET / over 2')
      const all = await Promise.all(
        Array.from({ length: 20 }, () => ask(dispatcher, fleet, { method: 'POST' })),
      )
      expect(new Set(all)).toEqual(new Set(['POST / over 2']))
    })
  })

  it('a request that needs HTTP/1.1 fails on a server of HTTP/2 alone, and is offered nothing else', async () => {
    const fleet = await startFleet(() => 'h2')
    const client = destroyWithTest(new Client(fleet.origin, { engine, connect: { ca: fleet.ca } }))
    const upgraded = client.upgrade({ path: '/', method: 'GET', protocol: 'chat' })
    await expect(upgraded).rejects.toMatchObject({ processed: 'no' })
    expect(fleet.spoken.filter((spoken) => spoken === null)).toHaveLength(1)
    const { body } = await client.request({ path: '/', method: 'GET' })
    expect(await body.text()).toBe('GET / over 2')
  })

  it("a listener of 'connect' that throws keeps no request from a roll-out to HTTP/2", async () => {
    const fleet = await startFleet(() => 'http/1.1')
    const client = destroyWithTest(new Client(fleet.origin, { engine, connect: { ca: fleet.ca } }))
    const ask = async (): Promise<string> => (await client.request({ path: '/', method: 'GET' })).body.text()
    expect(await ask()).toBe('GET / over 1.1')
    fleet.next = () => 'h2'
    await fleet.restart()
    const thrown = new Error('from a listener')
    const uncaught: unknown[] = []
    process.setUncaughtExceptionCaptureCallback((error) => uncaught.push(error))
    onTestFinished(() => process.setUncaughtExceptionCaptureCallback(null))
    client.once('connect', () => {
      throw thrown
    })
    expect(await ask()).toBe('GET / over 2')
    expect(uncaught).toEqual([thrown])
  })

  it('HTTP/1.1 is believed for five minutes: then both are offered though the fallback has a connection', async () => {
    const fleet = await startFleet(() => 'http/1.1')
    const clock = new FakeClock()
    const fallback = new UndiciAgent({ connect: { ca: fleet.ca }, keepAliveTimeout: 600_000 })
    onTestFinished(() => fallback.destroy())
    const harness = new Harness(
      fleet.origin,
      { ...PATIENT, engine, fallback, connect: { ca: fleet.ca } },
      clock,
    )
    onTestFinished(() => harness.scheduler.destroy(null))
    const ask = async (): Promise<string> => {
      const call = harness.dispatch()
      await call.settled
      return call.text
    }
    expect(await ask()).toBe('GET / over 1.1')
    fleet.next = () => 'both'
    clock.advance(MAX_AGES.protocol - 1)
    expect(await ask()).toBe('GET / over 1.1')
    clock.advance(1)
    expect(await ask()).toBe('GET / over 2')
  })

  it.each([
    'Dodici’s own',
    'the caller’s',
  ])('when no connection can tell after five minutes, the open ones of HTTP/1.1 serve: %s', async (whose) => {
    const fleet = await startFleet(() => 'http/1.1')
    const clock = new FakeClock()
    const fallback = new UndiciAgent({ connect: { ca: fleet.ca }, keepAliveTimeout: 600_000 })
    onTestFinished(() => fallback.destroy())
    const dial = buildConnector({ ca: fleet.ca, allowH2: true })
    let isDown = false
    let dials = 0
    const connect = ((options, callback) => {
      dials++
      if (isDown) callback(new Error('down'), null)
      else dial(options, callback)
    }) as typeof dial
    const own = whose === 'the caller’s' ? { fallback } : { fallback: undefined }
    const harness = new Harness(
      fleet.origin,
      { ...PATIENT, engine, connect, keepAliveTimeout: 600_000, ...own },
      clock,
    )
    onTestFinished(() => harness.scheduler.destroy(null))
    const ask = async (): Promise<unknown> => {
      const call = harness.dispatch()
      await call.settled
      return call.errors[0] ?? call.text
    }
    expect(await ask()).toBe('GET / over 1.1')
    isDown = true
    clock.advance(MAX_AGES.protocol)
    const before = dials
    expect(await ask()).toBe('GET / over 1.1')
    expect(dials).toBe(before + 1)
    expect(await ask()).toBe('GET / over 1.1')
    expect(dials).toBe(before + 1)
    isDown = false
    fleet.next = () => 'both'
    clock.advance(MAX_AGES.protocol)
    expect(await ask()).toBe('GET / over 2')
  })

  it('behind a proxy, a roll-out to HTTP/2 alone is noticed, too', async () => {
    const fleet = await startFleet(() => 'http/1.1')
    const proxy = await startTunnelProxy('HTTP/1.1')
    const agent = new ProxyAgent({ uri: proxy.uri, engine, requestTls: { ca: fleet.ca } })
    onTestFinished(() => agent.destroy())
    const ask = async (): Promise<string> => {
      const { body } = await agent.request({ origin: fleet.origin, path: '/', method: 'GET' })
      return body.text()
    }
    expect(await ask()).toBe('GET / over 1.1')
    fleet.next = () => 'h2'
    await fleet.restart()
    expect(await ask()).toBe('GET / over 2')
    expect(fleet.spoken).not.toContain(null)
  })
})

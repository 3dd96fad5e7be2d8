import { once } from 'node:events'
import { Readable } from 'node:stream'
import { connect } from 'node:tls'
import { buildConnector, Agent as UndiciAgent } from 'undici'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Connector, Dispatcher } from '../../src/index.ts'
import { Agent, Client, errors, Pool } from '../../src/index.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import { FakeFallback, respondTo } from '../support/clients/fallback-fake.ts'
import { serveHttp1Hello, startHttp1 } from '../support/servers/fallback-http1.ts'
import { startServer } from '../support/servers/server.ts'

const GET = { path: '/', method: 'GET' } as const

async function ask(dispatcher: Dispatcher, origin: string, path = '/'): Promise<string> {
  const { body } = await dispatcher.request({ ...GET, path, origin })
  return body.text()
}

async function fail(dispatcher: Dispatcher, origin: string): Promise<unknown> {
  return dispatcher.request({ ...GET, origin }).catch((reason: unknown) => reason)
}

describe('an origin that chooses HTTP/1.1', () => {
  it.each(['http/1.1', null])('by ALPN (%s) is served by the fallback', async (alpn) => {
    const server = await startHttp1(serveHttp1Hello, { alpn })
    const agent = destroyWithTest(new Agent({ connect: { ca: server.ca } }))
    const responses = [ask(agent, server.origin), ask(agent, server.origin)]
    expect(await Promise.all(responses)).toEqual(['GET / over 1.1', 'GET / over 1.1'])
    // The connection that has found out serves the first request.
    expect(server.sockets).toHaveLength(2)
    expect(new Set(server.requests.map(({ socket }) => socket)).size).toBe(2)
    if (alpn === null) return
    expect(server.handshakes[0]?.protocols).toEqual(['h2', 'http/1.1'])
    // The fallback's own: another server may be behind the address, or another version of this one.
    expect(server.handshakes[1]?.protocols).toEqual(['h2', 'http/1.1'])
  })

  it.each([Client, Pool])('is served by the fallback of a %o, too', async (dispatcherClass) => {
    const server = await startHttp1()
    const dispatcher = destroyWithTest(new dispatcherClass(server.origin, { connect: { ca: server.ca } }))
    expect(await ask(dispatcher, server.origin)).toBe('GET / over 1.1')
  })

  it('is found out by one connection, however many requests wait for it', async () => {
    const server = await startHttp1()
    const fallback = new FakeFallback((request) => respondTo(request))
    const agent = destroyWithTest(new Agent({ connect: { ca: server.ca }, fallback }))
    const responses = Array.from({ length: 100 }, (_, index) => ask(agent, server.origin, `/${index}`))
    expect(new Set(await Promise.all(responses))).toEqual(new Set(['by the fallback']))
    expect(server.handshakes).toHaveLength(1)
    expect(fallback.requests.map(({ options }) => options.path)).toEqual(
      responses.map((_, index) => `/${index}`),
    )
    // Remembered.
    expect(await ask(agent, server.origin)).toBe('by the fallback')
    expect(server.handshakes).toHaveLength(1)
    expect(server.requests).toEqual([])
  })

  it('is announced as no error: there is no connectionError event', async () => {
    const server = await startHttp1()
    const client = destroyWithTest(new Client(server.origin, { connect: { ca: server.ca } }))
    const events: string[] = []
    for (const event of ['connect', 'disconnect', 'connectionError'] as const)
      client.on(event, () => events.push(event))
    expect(await ask(client, server.origin)).toBe('GET / over 1.1')
    // It is connected to by the fallback.
    expect(events).toEqual(['connect'])
  })

  it('leaves a body that can be read only once untouched before the fallback gets it', async () => {
    let isRead = false
    const seen: boolean[] = []
    const ALPNCallback = (): string => {
      seen.push(isRead)
      return 'http/1.1'
    }
    const server = await startHttp1(serveHttp1Hello, { ALPNCallback })
    const agent = destroyWithTest(new Agent({ connect: { ca: server.ca } }))
    const body = new Readable({
      read() {
        isRead = true
        this.push('text')
        this.push(null)
      },
    })
    const responded = agent.request({ origin: server.origin, path: '/', method: 'POST', body })
    const response = await responded
    expect(seen).toEqual([false])
    expect(await response.body.text()).toBe('POST / over 1.1')
    expect(await server.requests[0]?.body).toBe('text')
  })

  it('without a fallback is offered h2 alone, and fails with a clear error', async () => {
    const server = await startHttp1()
    const agent = destroyWithTest(new Agent({ connect: { ca: server.ca }, fallback: null }))
    const error = await fail(agent, server.origin)
    expect(error).toBeInstanceOf(errors.AlpnError)
    expect(error).toMatchObject({ processed: 'no', attempts: 0 })
    expect(server.handshakes.map(({ protocols }) => protocols)).toEqual([['h2']])
  })

  it('without ALPN and without a fallback fails with a clear error', async () => {
    const server = await startHttp1(serveHttp1Hello, { alpn: null })
    const agent = destroyWithTest(new Agent({ connect: { ca: server.ca }, fallback: null }))
    expect(await fail(agent, server.origin)).toBeInstanceOf(errors.AlpnError)
    expect(server.requests).toEqual([])
  })

  it('by the connector of the caller is served over the same connector', async () => {
    const server = await startHttp1()
    const build = buildConnector({ ca: server.ca, allowH2: true })
    let asked = 0
    const connect: typeof build = (options, callback) => {
      asked++
      return build(options, callback)
    }
    const agent = destroyWithTest(new Agent({ connect }))
    expect(await ask(agent, server.origin)).toBe('GET / over 1.1')
    expect(asked).toBe(1)
  })

  describe.each([
    null,
    undefined,
    '',
  ])('by a socket that says %o for its protocol, as tools that replace sockets do', (alpnProtocol) => {
    const connectTo =
      (ca: string): Connector =>
      ({ hostname, port }, callback) => {
        const socket = connect({ host: hostname, port: Number(port), ca, ALPNProtocols: ['http/1.1'] }, () =>
          callback(null, Object.assign(socket, { alpnProtocol })),
        ).once('error', (error) => callback(error, null))
      }

    it('is served by the fallback', async () => {
      const server = await startHttp1()
      const agent = destroyWithTest(new Agent({ connect: connectTo(server.ca) }))
      expect(await ask(agent, server.origin)).toBe('GET / over 1.1')
      expect(await ask(agent, server.origin)).toBe('GET / over 1.1')
    })

    it('fails without a fallback, and chose no protocol', async () => {
      const server = await startHttp1()
      const agent = destroyWithTest(new Agent({ connect: connectTo(server.ca), fallback: null }))
      const message = expect.stringContaining("doesn't speak HTTP/2: it chose no protocol in ALPN, not 'h2'")
      expect(await fail(agent, server.origin)).toMatchObject({
        name: 'AlpnError',
        message,
        alpnProtocol: false,
      })
      expect(server.requests).toEqual([])
    })
  })

  it('does not affect an origin that speaks HTTP/2', async () => {
    const [old, modern] = await Promise.all([
      startHttp1(),
      startServer(
        (stream) => {
          stream.respond({ ':status': 200 })
          stream.end('over 2')
        },
        { tls: true },
      ),
    ])
    const agent = destroyWithTest(new Agent({ connect: { ca: old.ca } }))
    const origins = [old.origin, modern.origin, old.origin, modern.origin]
    const texts = await Promise.all(origins.map((origin) => ask(agent, origin)))
    expect(texts).toEqual(['GET / over 1.1', 'over 2', 'GET / over 1.1', 'over 2'])
    expect(modern.sessions).toHaveLength(1)
  })

  it('differs from an origin that refuses every offered protocol', async () => {
    const server = await startHttp1(serveHttp1Hello, { ALPNCallback: () => undefined })
    const agent = destroyWithTest(new Agent({ connect: { ca: server.ca } }))
    const error = await fail(agent, server.origin)
    expect(error).toBeInstanceOf(errors.AlpnError)
    expect(error).toMatchObject({ alpnProtocol: null, processed: 'no' })
    expect(server.requests).toEqual([])
  })
})

describe('an http: origin', () => {
  const serve2: Parameters<typeof startServer>[0] = (stream) => {
    stream.respond({ ':status': 200 })
    stream.end('over 2')
  }

  it('is passed to the h2c function once, as long as the agent remembers it', async () => {
    const [old, modern] = [await startHttp1(serveHttp1Hello, { tls: false }), await startServer(serve2)]
    const asked: URL[] = []
    const h2c = (origin: URL): boolean => asked.push(origin) > 0 && origin.origin === modern.origin
    const agent = destroyWithTest(new Agent({ h2c }))
    for (let i = 0; i < 3; i++) {
      expect(await ask(agent, modern.origin)).toBe('over 2')
      expect(await ask(agent, old.origin)).toBe('GET / over 1.1')
    }
    expect(asked.map(({ origin }) => origin)).toEqual([modern.origin, old.origin])
    expect(asked.every((origin) => origin instanceof URL)).toBe(true)
  })

  it('fails with the exception of the h2c function, which is called again for the next request', async () => {
    const mine = new Error('mine')
    let asked = 0
    const h2c = (): boolean => {
      if (asked++ === 0) throw mine
      return true
    }
    const { origin } = await startServer(serve2)
    const agent = destroyWithTest(new Agent({ h2c }))
    expect(await fail(agent, origin)).toBe(mine)
    expect(await ask(agent, origin)).toBe('over 2')
    expect(asked).toBe(2)
  })

  it.each([1, 'true', null, undefined])('fails when the function returns %o', async (returned) => {
    const agent = destroyWithTest(new Agent({ h2c: () => returned as unknown as boolean }))
    expect(await fail(agent, 'http://127.0.0.1:1')).toBeInstanceOf(errors.InvalidReturnValueError)
  })

  it('is in the stats like a Pool, without sessions', async () => {
    const server = await startHttp1(() => {}, { tls: false })
    const agent = destroyWithTest(new Agent())
    const responded = fail(agent, server.origin)
    await expect.poll(() => server.requests.length).toBe(1)
    const http1 = { connections: 1, running: 1 }
    const calls = { pending: 0, queued: 0, running: 1, size: 1 }
    const busy = { connected: 1, free: 0, ...calls, sessions: [], http1, ended: expect.anything() }
    expect(agent.stats).toEqual({ [server.origin]: busy })
    await agent.destroy()
    expect(await responded).toBeInstanceOf(errors.ClientDestroyedError)
  })

  it('is in the stats with its idle connections', async () => {
    const server = await startHttp1(serveHttp1Hello, { tls: false })
    const agent = destroyWithTest(new Agent())
    await ask(agent, server.origin)
    const idle = { connected: 1, free: 1, running: 0, size: 0 }
    await expect.poll(() => agent.stats[server.origin]).toMatchObject(idle)
  })
})

describe('the default fallback', () => {
  it('is one for all origins of an agent, and ends with it', async () => {
    const servers = [await startHttp1(serveHttp1Hello, { tls: false }), await startHttp1()]
    const agent = new Agent({ connect: { ca: servers[1]?.ca } })
    for (const { origin } of servers) await ask(agent, origin)
    const sockets = servers.flatMap((server) => server.sockets)
    await agent.close()
    await Promise.all(sockets.map((socket) => socket.closed || once(socket, 'close')))
    expect(await fail(agent, servers[0]?.origin ?? '')).toBeInstanceOf(errors.ClientDestroyedError)
  })

  it('closes the idle connections of an origin that the agent drops', async () => {
    const [a, b] = [
      await startHttp1(serveHttp1Hello, { tls: false }),
      await startHttp1(serveHttp1Hello, { tls: false }),
    ]
    const agent = destroyWithTest(new Agent({ maxOrigins: 1 }))
    for (const { origin } of [a, b, a, b]) expect(await ask(agent, origin)).toBe('GET / over 1.1')
    await expect
      .poll(() => [...a.sockets, ...b.sockets].filter(({ destroyed }) => !destroyed))
      .toHaveLength(1)
  })

  it.each([null, new Error('mine')])('fails its calls on destroy(%s)', async (reason) => {
    const server = await startHttp1(
      (_request, response) => {
        response.writeHead(200)
        response.write('some')
      },
      { tls: false },
    )
    const silent = await startHttp1(() => {}, { tls: false })
    const agent = new Agent()
    const { body } = await agent.request({ ...GET, origin: server.origin })
    const [read, waiting] = [body.text().catch((error: unknown) => error), fail(agent, silent.origin)]
    await expect.poll(() => silent.requests.length).toBe(1)
    await agent.destroy(reason)
    for (const error of [await read, await waiting]) {
      if (reason === null) expect(error).toBeInstanceOf(errors.ClientDestroyedError)
      else expect(error).toBe(reason)
    }
  })

  it("of the caller's own is not ended", async () => {
    const server = await startHttp1(serveHttp1Hello, { tls: false })
    const fallback = new UndiciAgent()
    onTestFinished(() => fallback.destroy())
    const agent = new Agent({ fallback })
    expect(await ask(agent, server.origin)).toBe('GET / over 1.1')
    await agent.close()
    await destroyWithTest(new Agent({ fallback })).destroy()
    expect([fallback.closed, fallback.destroyed]).toEqual([false, false])
    expect(await ask(destroyWithTest(new Agent({ fallback })), server.origin)).toBe('GET / over 1.1')
  })
})

/** `connections` over HTTP/1.1: how many there are, who waits for one, and what ends that wait. */

import { once } from 'node:events'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import * as undici7 from 'undici'
import { afterEach, describe, expect, it, onTestFinished } from 'vitest'
import * as dodici from '../../src/index.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import { inTurn } from '../support/clocks/sample.ts'
import { serveHttp1Hello, startHttp1 } from '../support/servers/fallback-http1.ts'
import { startHttp1Proxy } from '../support/servers/proxies.ts'
import type { AnyDispatcher, AnyLibrary } from './undicis.ts'
import { ours, UNDICIS } from './undicis.ts'

type Connections = number | null | undefined

/** undici's surface: its classes have undici's rules about origins, and the same connections. */
const entry = (await import('../../src/undici/all.ts')) as unknown as AnyLibrary

const GET = { path: '/', method: 'GET' } as const
/** Requests at once. */
const BURST = 60

afterEach(() => dodici.uninstall())

async function burst(dispatcher: AnyDispatcher, origin: string, count = BURST): Promise<void> {
  const responses = Array.from({ length: count }, (_, i) =>
    dispatcher.request({ ...GET, origin, path: `/${i}` }),
  )
  const texts = await Promise.all(responses.map(async (response) => (await response).body.text()))
  expect(texts).toEqual(texts.map((_, i) => `GET /${i} over 1.1`))
}

/** Answers each request with what it was; holds it until `isOpen`. */
interface Gate {
  readonly listener: RequestListener
  readonly held: (readonly [IncomingMessage, ServerResponse])[]
  release(): void
}

function toGate(): Gate {
  let isOpen = false
  const held: (readonly [IncomingMessage, ServerResponse])[] = []
  return {
    held,
    listener(request, response) {
      if (isOpen) serveHttp1Hello(request, response)
      else held.push([request, response])
    },
    release() {
      isOpen = true
      for (const [request, response] of held.splice(0)) serveHttp1Hello(request, response)
    },
  }
}

interface Kind {
  readonly tls: boolean
  /** Options of ours that choose HTTP/1.1, and of undici. */
  readonly ours: object
  readonly theirs: object
}

const KINDS: Readonly<Record<string, Kind>> = {
  'https: by ALPN': { tls: true, ours: {}, theirs: {} },
  'https: with allowH2: false': { tls: true, ours: { allowH2: false }, theirs: { allowH2: false } },
  'http: with h2c: false': { tls: false, ours: { h2c: false }, theirs: {} },
  'http: with allowH2: false': { tls: false, ours: { allowH2: false }, theirs: { allowH2: false } },
}

const LIMITS: readonly Connections[] = [undefined, null, 1, 5]

type Make = (library: AnyLibrary, origin: string, options: object) => AnyDispatcher

const CLASSES: Readonly<Record<string, Make>> = {
  Client: (library, origin, options) => new library.Client(origin, options),
  Pool: (library, origin, options) => new library.Pool(origin, options),
  Agent: (library, _origin, options) => new library.Agent(options),
}

/** Each kind with each limit, and the classes in turn. */
const BURSTS = Object.entries(KINDS).flatMap(([what, kind], turn) =>
  LIMITS.flatMap((connections, at) =>
    inTurn(Object.entries(CLASSES), turn + at).map(([name, make]) => ({
      what,
      kind,
      connections,
      name,
      make,
    })),
  ),
)

describe('a burst of requests to an origin of HTTP/1.1', () => {
  it.each(BURSTS)('$what, from a $name with connections: $connections opens as many as undici', async ({
    kind,
    connections,
    name,
    make,
  }) => {
    const given = connections === undefined || name === 'Client' ? {} : { connections }
    const count = async (library: AnyLibrary, options: object): Promise<number> => {
      const server = await startHttp1(serveHttp1Hello, { tls: kind.tls })
      const more = { ...given, ...options, connect: { ca: server.ca } }
      await burst(destroyWithTest(make(library, server.origin, more)), server.origin)
      return server.sockets.length
    }
    const opened = await count(ours, kind.ours)
    expect(opened).toBe(name === 'Client' ? 1 : (connections ?? BURST))
    expect(await count(entry, kind.ours)).toBe(opened)
    for (const [, library] of UNDICIS) expect(await count(library, kind.theirs)).toBe(opened)
  })
})

describe('200 requests at once', () => {
  it.each([
    ['Client', undefined, 1],
    ['Pool', 5, 5],
    ['Agent', 5, 5],
  ] as const)('from a %s with connections: %s open %d', async (name, connections, expected) => {
    const server = await startHttp1()
    const options = { connections, connect: { ca: server.ca } }
    const make = CLASSES[name]
    if (make === undefined) throw new Error(name)
    await burst(destroyWithTest(make(ours, server.origin, options)), server.origin, 200)
    expect(server.sockets).toHaveLength(expected)
  })

  it('of the built-in fetch, through install(), open as many as the Agent permits', async () => {
    const server = await startHttp1(serveHttp1Hello, { tls: false })
    dodici.install(destroyWithTest(new dodici.Agent({ connections: 5 })))
    const texts = Array.from({ length: 200 }, async (_, i) => (await fetch(`${server.origin}/${i}`)).text())
    expect(await Promise.all(texts)).toEqual(texts.map((_, i) => `GET /${i} over 1.1`))
    expect(server.sockets).toHaveLength(5)
  })

  it('of an UpstreamPool open as many to each upstream', async () => {
    const servers = [
      await startHttp1(serveHttp1Hello, { tls: false }),
      await startHttp1(serveHttp1Hello, { tls: false }),
    ]
    const origins = servers.map(({ origin }) => origin)
    const pool = destroyWithTest(new dodici.UpstreamPool(origins, { connections: 5, h2c: false }))
    await burst(pool as unknown as AnyDispatcher, origins[0] ?? '', 200)
    expect(servers.map(({ sockets }) => sockets.length)).toEqual([5, 5])
  })

  it('over a caller’s own fallback open as many as that permits', async () => {
    const server = await startHttp1(serveHttp1Hello, { tls: false })
    const fallback = destroyWithTest(new undici7.Agent({ connections: 7 }))
    await burst(
      destroyWithTest(new dodici.Agent({ connections: 5, fallback })) as AnyDispatcher,
      server.origin,
      200,
    )
    expect(server.sockets).toHaveLength(7)
  })

  it('to two names of one address open as many for each name', async () => {
    const server = await startHttp1()
    const connect = { ca: server.ca, checkServerIdentity: () => undefined }
    const agent = destroyWithTest(new dodici.Agent({ connections: 5, connect }))
    const ask = async (servername: string): Promise<string> =>
      (await agent.request({ ...GET, origin: server.origin, servername })).body.text()
    await Promise.all(Array.from({ length: 200 }, (_, i) => ask(i % 2 === 0 ? 'a.test' : 'b.test')))
    const names = server.handshakes.map(({ servername }) => servername)
    expect(names.filter((name) => name === 'a.test')).toHaveLength(5)
    expect(names).toHaveLength(10)
  })
})

describe('slow responses', () => {
  it.each(['Pool', 'Agent'])('of a %s without connections don’t wait for each other', async (name) => {
    const gate = toGate()
    const server = await startHttp1(gate.listener, { tls: false })
    const dispatcher = destroyWithTest(
      CLASSES[name]?.(ours, server.origin, { h2c: false }) ?? new dodici.Agent(),
    )
    const done = burst(dispatcher, server.origin, 10)
    await expect.poll(() => gate.held.length).toBe(10)
    gate.release()
    await done
  })
})

describe('through a proxy', () => {
  /** The connections that the proxy has got. */
  async function count(
    library: AnyLibrary,
    tls: boolean,
    connections: Connections,
    env: boolean,
  ): Promise<number> {
    const proxy = await startHttp1Proxy()
    const server = await startHttp1(serveHttp1Hello, { tls })
    const limit = connections === undefined ? {} : { connections }
    // A busy machine has time for all handshakes.
    const more = { ...limit, connectTimeout: 60_000, requestTls: { ca: server.ca }, proxyTunnel: tls }
    const agent = env
      ? new library.EnvHttpProxyAgent({ ...more, httpProxy: proxy.url, httpsProxy: proxy.url, noProxy: '' })
      : new library.ProxyAgent({ ...more, uri: proxy.url })
    await burst(destroyWithTest(agent), server.origin)
    return proxy.connections()
  }

  const ROUTES = [
    ['tunnels of a ProxyAgent', true, false],
    ['requests that a ProxyAgent has forwarded', false, false],
    ['tunnels of an EnvHttpProxyAgent', true, true],
    ['requests that an EnvHttpProxyAgent has forwarded', false, true],
  ] as const

  describe.each(ROUTES)('%s', (_what, tls, env) => {
    it.each(LIMITS)('with connections: %s', async (connections) => {
      expect(await count(ours, tls, connections, env)).toBe(connections ?? BURST)
    })
  })

  it.each(UNDICIS)('%s bounds tunnels, too, and no requests that are forwarded', async (version, library) => {
    expect(await count(library, true, 5, false)).toBe(5)
    if (version !== 'undici 6') expect(await count(library, false, 5, false)).toBe(BURST)
  })
})

describe('a call that waits for a connection of HTTP/1.1', () => {
  async function start(options: object = {}) {
    const gate = toGate()
    const server = await startHttp1(gate.listener, { tls: false })
    const client = destroyWithTest(new dodici.Client(server.origin, { h2c: false, ...options }))
    const ask = (more: object = {}) => client.request({ ...GET, ...more })
    const first = ask()
    first.catch(() => {})
    await expect.poll(() => gate.held.length).toBe(1)
    return { gate, server, client, ask, first }
  }

  it('is pending, and dispatch() says so', async () => {
    const { gate, client, ask, first } = await start()
    const second = ask()
    expect(client.stats).toMatchObject({ pending: 1, running: 1, size: 2, sessions: [] })
    const drained = once(client, 'drain')
    gate.release()
    await Promise.all([first, second].map(async (each) => (await each).body.dump()))
    await drained
    expect(client.stats).toMatchObject({ pending: 0, running: 0, size: 0 })
  })

  it('fails by queueTimeout, unprocessed', async () => {
    const { ask, gate } = await start()
    const error = await ask({ queueTimeout: 50 }).catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(dodici.errors.QueueTimeoutError)
    expect(error).toMatchObject({ processed: 'no', attempts: 0 })
    expect(gate.held).toHaveLength(1)
  })

  it('doesn’t fail by headersTimeout or connectTimeout, which aren’t for that wait', async () => {
    const { gate, ask, first } = await start()
    // Once it is sent the first one counts: a busy machine has time for the response.
    const second = ask({ headersTimeout: 1_000, connectTimeout: 50 })
    // It outlives one with a limit that is for that wait.
    await expect(ask({ queueTimeout: 1_300 })).rejects.toBeInstanceOf(dodici.errors.QueueTimeoutError)
    gate.release()
    for (const each of [first, second]) expect(await (await each).body.text()).toBe('GET / over 1.1')
  })

  it('has its headersTimeout once it is sent', async () => {
    const { gate, ask, first } = await start()
    const second = ask({ headersTimeout: 50 })
    second.catch(() => {})
    const [held] = gate.held.splice(0)
    if (held !== undefined) serveHttp1Hello(...held)
    await (await first).body.dump()
    await expect(second).rejects.toBeInstanceOf(dodici.errors.HeadersTimeoutError)
    expect(gate.held).toHaveLength(1)
  })

  it('can be aborted, and the next one is served', async () => {
    const { gate, ask, first, server } = await start()
    const controller = new AbortController()
    const second = ask({ signal: controller.signal, path: '/second' })
    const third = ask({ path: '/third' })
    controller.abort(new Error('mine'))
    await expect(second).rejects.toThrow('mine')
    gate.release()
    for (const each of [first, third]) await (await each).body.dump()
    expect(server.requests.map(({ url }) => url)).toEqual(['/', '/third'])
    expect(server.sockets).toHaveLength(1)
  })

  it('keeps a body untouched that can be read only once', async () => {
    const { gate, ask, first } = await start()
    let isRead = false
    async function* body(): AsyncGenerator<string> {
      isRead = true
      yield 'text'
    }
    const second = ask({ method: 'POST', body: body() })
    expect(isRead).toBe(false)
    gate.release()
    for (const each of [first, second]) await (await each).body.dump()
    expect(isRead).toBe(true)
  })

  it('is served before close() settles', async () => {
    const { gate, client, ask, first } = await start()
    const second = ask()
    const closed = client.close()
    gate.release()
    for (const each of [first, second]) expect(await (await each).body.text()).toBe('GET / over 1.1')
    await closed
  })

  it('fails by destroy()', async () => {
    const { client, ask, first } = await start()
    const mine = new Error('mine')
    const second = ask()
    second.catch(() => {})
    await client.destroy(mine)
    for (const each of [first, second]) await expect(each).rejects.toBe(mine)
  })

  it('gets the place of one that was aborted while it ran', async () => {
    const gate = toGate()
    const server = await startHttp1(gate.listener, { tls: false })
    const client = destroyWithTest(new dodici.Client(server.origin, { h2c: false }))
    const controller = new AbortController()
    const first = client.request({ ...GET, signal: controller.signal })
    first.catch(() => {})
    await expect.poll(() => gate.held.length).toBe(1)
    const second = client.request({ ...GET, path: '/second' })
    controller.abort()
    await expect.poll(() => gate.held.length).toBe(2)
    gate.release()
    expect(await (await second).body.text()).toBe('GET /second over 1.1')
  })

  it('gets the place of one whose connection was lost', async () => {
    const { gate, server, ask, first } = await start()
    const second = ask({ path: '/second' })
    server.sockets[0]?.destroy()
    await expect(first).rejects.toBeInstanceOf(dodici.errors.DodiciError)
    await expect.poll(() => gate.held.length).toBe(2)
    gate.release()
    expect(await (await second).body.text()).toBe('GET /second over 1.1')
  })

  it('waits for a response that its reader holds back, as in undici', async () => {
    const big = Buffer.alloc(4_000_000)
    for (const [, library] of [['dodici', ours] as const, ...UNDICIS]) {
      const server = await startHttp1((_request, response) => void response.end(big), { tls: false })
      const client = destroyWithTest(
        new library.Client(server.origin, library === ours ? { h2c: false } : {}),
      )
      const { body } = await client.request({ ...GET, path: '/held' })
      const second = client.request({ ...GET, path: '/second' })
      // Others are served meanwhile.
      const other = destroyWithTest(new library.Client(server.origin, library === ours ? { h2c: false } : {}))
      for (let i = 0; i < 5; i++) await (await other.request({ ...GET, path: '/other' })).body.dump()
      expect(server.requests.map(({ url }) => url)).not.toContain('/second')
      expect((await body.text()).length).toBe(big.length)
      await (await second).body.dump()
    }
  })
})

describe('a connection that is upgraded', () => {
  it('doesn’t count: the next request has another', async () => {
    for (const [, library] of [['dodici', ours] as const, ...UNDICIS]) {
      const server = await startHttp1(serveHttp1Hello, { tls: false })
      server.server.on('upgrade', (_request: IncomingMessage, socket: Socket) => {
        socket.on('error', () => {})
        socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\n')
      })
      server.server.on('connect', (_request: IncomingMessage, socket: Socket) => {
        socket.on('error', () => {}).write('HTTP/1.1 200 OK\r\n\r\n')
      })
      const options = library === ours ? { h2c: false } : {}
      const client = destroyWithTest(new library.Client(server.origin, options)) as AnyDispatcher & {
        upgrade(options: object): Promise<{ socket: Socket }>
        connect(options: object): Promise<{ socket: Socket }>
      }
      const { socket } = await client.upgrade({ path: '/', protocol: 'echo' })
      const { socket: tunnel } = await client.connect({ path: 'example.com:443' })
      onTestFinished(() => {
        for (const each of [socket, tunnel]) each.on('error', () => {}).destroy()
      })
      await burst(client, server.origin, 5)
      expect(server.sockets).toHaveLength(3)
    }
  })
})

describe('async context', () => {
  it('of a subscriber is the caller’s, also for a request that had to wait', async () => {
    const { AsyncLocalStorage } = await import('node:async_hooks')
    const { subscribe, unsubscribe } = await import('node:diagnostics_channel')
    const storage = new AsyncLocalStorage<number>()
    const seen: [unknown, unknown][] = []
    const onCreate = (message: unknown): void => {
      const request: unknown = Reflect.get(Object(message), 'request')
      seen.push([Reflect.get(Object(request), 'path'), storage.getStore()])
    }
    subscribe('undici:request:create', onCreate)
    onTestFinished(() => void unsubscribe('undici:request:create', onCreate))
    const server = await startHttp1(serveHttp1Hello, { tls: false })
    const client = destroyWithTest(new dodici.Client(server.origin, { h2c: false }))
    await Promise.all(
      Array.from({ length: 10 }, (_, i) =>
        storage.run(i, async () => text((await client.request({ ...GET, path: `/${i}` })).body)),
      ),
    )
    expect(seen).toEqual(Array.from({ length: 10 }, (_, i) => [`/${i}`, i]))
  })
})

import { once } from 'node:events'
import { createServer as createHttpsServer } from 'node:https'
import type { AddressInfo, LookupFunction } from 'node:net'
import { connect as connectTls, createSecureContext } from 'node:tls'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import type { AgentOptions, ConnectTlsOptions, DispatchOptions } from '../../types/index.ts'
import { askAgent, toAgent } from '../support/clients/agents.ts'
import { ENGINES } from '../support/clients/engines.ts'
import type { NamesOptions, NamesServer } from '../support/servers/shared-names.ts'
import { startNames, toNamesCertificate, toNamesLookup } from '../support/servers/shared-names.ts'

/**
 * Ten times as slow: on a busy machine the first handshake may take a second, for which the other origins would wait no longer
 * (coalescing-life.test.ts has that limit).
 */
vi.mock('../../src/core/clock.ts', async (load) => {
  const original = await load<typeof import('../../src/core/clock.ts')>()
  const { PacedClock } = await import('../support/clocks/paced-clock.ts')
  return { ...original, systemClock: new PacedClock(original.systemClock, 0.1) }
})

const NAMES = Array.from({ length: 20 }, (_, i) => `o${i}.a.test`)
const HERE = { '*': ['127.0.0.1'] }

/** A condition that is broken, or one that holds: what the server and the agent are like. */
interface Scene {
  readonly what: string
  readonly server?: Partial<NamesOptions>
  readonly hosts?: Readonly<Record<string, readonly string[]>>
  readonly options?: Omit<AgentOptions, 'connect'>
  readonly connect?: ConnectTlsOptions
  /** A connect function in place of the options. */
  readonly isFunction?: boolean
  /** Each request names its server. */
  readonly servername?: string
  readonly connections: number
}

const CHECK_ONE: ConnectTlsOptions = {
  checkServerIdentity: (host) => (host === 'o0.a.test' ? undefined : new Error(`not ${host}`)),
}

const SHARED: readonly Scene[] = [
  { what: 'one certificate and one address', connections: 1 },
  { what: 'an ORIGIN frame that lists them', server: { origins: NAMES }, connections: 1 },
  {
    what: 'an ORIGIN frame, where one is needed',
    server: { origins: NAMES },
    options: { coalesce: { origins: 'origin-frame' } },
    connections: 1,
  },
  { what: 'a localAddress that is the same for all', connect: { localAddress: '127.0.0.1' }, connections: 1 },
]

const BROKEN: readonly Scene[] = [
  { what: 'the option is off', options: { coalesce: false }, connections: 20 },
  { what: 'the names have addresses of their own', hosts: toHosts(), connections: 20 },
  { what: 'an ORIGIN frame lists another', server: { origins: ['o99.a.test'] }, connections: 20 },
  {
    what: 'the certificate is not verified',
    connect: { ca: [], rejectUnauthorized: false },
    connections: 20,
  },
  {
    what: 'checkServerIdentity takes one name',
    connect: { ...CHECK_ONE, rejectUnauthorized: false },
    connections: 20,
  },
  { what: 'a connect function makes the connections', isFunction: true, connections: 20 },
  { what: 'all servers are asked for one name', connect: { servername: 'o0.a.test' }, connections: 20 },
  { what: 'each request names its server', servername: 'o0.a.test', connections: 20 },
]

/** Of the whole 127.0.0.0/8 the system takes connections, on Linux. */
function toHosts(): Readonly<Record<string, readonly string[]>> {
  return Object.fromEntries(NAMES.map((name, i) => [name, [`127.0.1.${i + 1}`]]))
}

interface Setup {
  readonly server: NamesServer
  readonly asked: readonly string[]
  ask(name: string, path?: string): Promise<{ status: number; text: string }>
  readonly agent: ReturnType<typeof toAgent>
}

async function setUp(engine: 'node' | 'wire', scene: Partial<Scene> = {}): Promise<Setup> {
  const { hosts = HERE, connect = {}, options = {}, isFunction = false, servername } = scene
  // All addresses of the loopback network.
  const server = await startNames({ names: NAMES, host: '0.0.0.0', ...scene.server })
  const lookup = toNamesLookup(hosts)
  const tls: ConnectTlsOptions = { ca: server.ca, lookup, ...connect }
  const agent = toAgent({
    coalesce: true,
    engine,
    fallback: null,
    connect: isFunction ? toConnector(server, lookup) : tls,
    ...options,
  })
  const ask: Setup['ask'] = async (name, path = '/') => {
    const target = { origin: server.toOrigin(name), path, method: 'GET' } as const
    const { statusCode, body } = await agent.request(
      servername === undefined ? target : { ...target, servername },
    )
    return { status: statusCode, text: await body.text() }
  }
  return { server, agent, ask, asked: lookup.asked }
}

function toConnector({ ca, port }: NamesServer, lookup: LookupFunction): AgentOptions['connect'] {
  return ({ hostname }, callback) => {
    const socket = connectTls({
      host: hostname,
      port,
      ca,
      lookup,
      servername: hostname,
      ALPNProtocols: ['h2'],
    })
    socket.once('secureConnect', () => callback(null, socket)).once('error', (error) => callback(error, null))
  }
}

describe.each(ENGINES)('origins of an Agent on engine %s', (engine) => {
  describe.each(['at once', 'one after the other'])('that are asked %s', (order) => {
    async function askAll({ ask }: Setup): Promise<string[]> {
      if (order === 'at once')
        return (await Promise.all(NAMES.map((name) => ask(name)))).map(({ text }) => text)
      const texts: string[] = []
      for (const name of NAMES) texts.push((await ask(name)).text)
      return texts
    }

    it.each(SHARED)('share a connection: $what', async (scene) => {
      const setup = await setUp(engine, scene)
      expect(await askAll(setup)).toEqual(NAMES.map((name) => `${name}:${setup.server.port}`))
      expect(setup.server.sessions).toHaveLength(1)
    })

    it.each(BROKEN)('have 20: $what', async (scene) => {
      const setup = await setUp(engine, scene)
      expect(await askAll(setup)).toEqual(NAMES.map((name) => `${name}:${setup.server.port}`))
      expect(setup.server.sessions).toHaveLength(scene.connections)
    })

    it.each([
      { what: 'one for all', isOne: true, connections: 1 },
      { what: 'another one each time', isOne: false, connections: 20 },
    ])('with a secureContext function that gives $what have $connections', async ({ isOne, connections }) => {
      const certificate = await toNamesCertificate(NAMES)
      const one = createSecureContext({ ca: certificate.cert })
      let calls = 0
      const secureContext = () => {
        calls++
        return isOne ? one : createSecureContext({ ca: certificate.cert })
      }
      const setup = await setUp(engine, { server: { certificate }, connect: { secureContext } })
      await askAll(setup)
      expect(setup.server.sessions).toHaveLength(connections)
      // As often as connections are needed, and never twice for one.
      expect(calls).toBe(20)
    })

    it('have a connection for each certificate, where there are two', async () => {
      const [one, other] = [NAMES.slice(0, 10), NAMES.slice(10)]
      const first = await startNames({ names: one })
      const second = await startNames({ names: other, host: '127.0.0.2', port: first.port })
      const hosts = { ...Object.fromEntries(other.map((name) => [name, ['127.0.0.2']])), ...HERE }
      const agent = toAgent({
        coalesce: true,
        engine,
        connect: { ca: [first.ca, second.ca], lookup: toNamesLookup(hosts) },
      })
      const ask = (name: string): Promise<string> => askAgent(agent, first.toOrigin(name))
      if (order === 'at once') await Promise.all(NAMES.map(ask))
      else for (const name of NAMES) await ask(name)
      expect([first.sessions.length, second.sessions.length]).toEqual([1, 1])
    })
  })

  it('ask for each name once, whether or not they share', async () => {
    const { ask, asked } = await setUp(engine)
    await Promise.all(NAMES.map((name) => ask(name)))
    expect([...asked].sort()).toEqual([...NAMES].sort())
  })

  it('need no look-up for a name in an ORIGIN frame with skipDns, and one for any other', async () => {
    const listed = NAMES.slice(0, 10)
    const scene = {
      server: { origins: listed },
      hosts: { 'o0.a.test': ['127.0.0.1'], 'o10.a.test': ['127.0.0.1'] },
    }
    const { ask, asked, server } = await setUp(engine, { ...scene, options: { coalesce: { skipDns: true } } })
    for (const name of [...listed, 'o10.a.test']) await ask(name)
    expect(asked).toEqual(['o0.a.test', 'o10.a.test'])
    expect(server.sessions).toHaveLength(2)
  })

  it('fail by the look-up of their own name, which the others do not hear of', async () => {
    const { ask } = await setUp(engine, { hosts: { 'o0.a.test': ['127.0.0.1'] } })
    const [first, second] = await Promise.allSettled([ask('o0.a.test'), ask('o1.a.test')])
    expect(first).toMatchObject({ status: 'fulfilled', value: { status: 200 } })
    expect(second).toMatchObject({ status: 'rejected', reason: { code: 'ENOTFOUND' } })
  })

  it('with an address and with a name share a connection whose certificate has both', async () => {
    const { ask, server } = await setUp(engine, { server: { names: ['localhost', '127.0.0.1'] } })
    expect((await ask('localhost')).text).toBe(`localhost:${server.port}`)
    expect((await ask('127.0.0.1')).text).toBe(`127.0.0.1:${server.port}`)
    expect(server.sessions).toHaveLength(1)
  })

  it('get a connection of their own where the renewed certificate has a further name', async () => {
    const old = await toNamesCertificate(['o0.a.test', 'o1.a.test'])
    const renewed = await toNamesCertificate(['o0.a.test', 'o1.a.test', 'o2.a.test'])
    const { ask, server } = await setUp(engine, {
      server: { certificate: old },
      connect: { ca: [old.cert, renewed.cert] },
    })
    await ask('o0.a.test')
    server.server.setSecureContext(renewed)
    await ask('o1.a.test')
    expect(server.sessions).toHaveLength(1)
    await ask('o2.a.test')
    expect(server.sessions).toHaveLength(2)
    expect(server.seen.map(({ connection }) => connection)).toEqual([0, 0, 1])
  })

  it('share a connection that was resumed by a ticket: its certificate is known', async () => {
    const { ask, server } = await setUp(engine)
    await ask('o0.a.test')
    // The ticket of o0.a.test comes with the first response at the latest.
    server.sessions[0]?.close()
    await expect.poll(() => server.sessions[0]?.destroyed).toBe(true)
    await ask('o0.a.test')
    await ask('o1.a.test')
    expect(server.seen.map(({ connection }) => connection)).toEqual([0, 1, 1])
  })

  describe('when one is answered with 421', () => {
    it('sends it again by a connection of its own, and the other ones go on', async () => {
      const { ask, server, agent } = await setUp(engine)
      await ask('o0.a.test')
      server.misdirected.add('o1.a.test')
      server.server.once('secureConnection', () => server.misdirected.clear())
      expect(await ask('o1.a.test')).toEqual({ status: 200, text: `o1.a.test:${server.port}` })
      await ask('o2.a.test')
      await ask('o1.a.test')
      expect(
        server.seen.map(({ connection, authority }) => `${connection} ${authority.split(':')[0]}`),
      ).toEqual([...['0 o0.a.test', '0 o1.a.test', '1 o1.a.test', '0 o2.a.test', '1 o1.a.test']])
      expect(agent.stats[server.toOrigin('o1.a.test')]?.ended.misdirected).toBe(1)
      expect(agent.stats[server.toOrigin('o0.a.test')]?.ended.misdirected).toBe(0)
      expect(server.sessions[0]?.destroyed).toBe(false)
    })

    it('hands a second 421 over, from its own connection', async () => {
      const { ask, server } = await setUp(engine)
      await ask('o0.a.test')
      server.misdirected.add('o1.a.test')
      expect((await ask('o1.a.test')).status).toBe(421)
      expect(server.seen.map(({ connection }) => connection)).toEqual([0, 0, 1])
    })
  })

  describe('when a request is answered with 421 that names', () => {
    interface Named {
      readonly what: string
      /** What the request has beside its origin. @param authority the origin's own */
      toRequest(authority: string, port: number): Pick<DispatchOptions, 'headers'> & { path?: string }
      /** The name for which the server says 421. */
      readonly name: string
    }
    const OWN: readonly Named[] = [
      { what: 'its origin by itself', toRequest: () => ({}), name: 'o1.a.test' },
      {
        what: 'its origin by a host field',
        toRequest: (host) => ({ headers: { host } }),
        name: 'o1.a.test',
      },
      {
        what: 'its origin in capitals',
        toRequest: (host) => ({ headers: { Host: host.toUpperCase() } }),
        name: 'O1.A.TEST',
      },
      {
        what: 'its origin by a URL',
        toRequest: (host) => ({ path: `https://${host}/x` }),
        name: 'o1.a.test',
      },
    ]
    const OTHER: readonly Named[] = [
      {
        what: 'another host',
        toRequest: (_, port) => ({ headers: { host: `x.a.test:${port}` } }),
        name: 'x.a.test',
      },
      { what: 'another port', toRequest: () => ({ headers: { host: 'o1.a.test:1' } }), name: 'o1.a.test' },
      { what: 'no port', toRequest: () => ({ headers: { host: 'o1.a.test' } }), name: 'o1.a.test' },
      {
        what: 'another host by a URL',
        toRequest: (_, port) => ({ path: `https://x.a.test:${port}/x` }),
        name: 'x.a.test',
      },
      {
        what: 'the origin of the session',
        toRequest: (_, port) => ({ headers: { host: `o0.a.test:${port}` } }),
        name: 'o0.a.test',
      },
      {
        what: "a host that is no URL's",
        toRequest: () => ({ headers: { host: '1.2.3.4.5' } }),
        name: '1.2.3.4.5',
      },
    ]

    /** What follows, when all connections are gone. */
    async function playOn(named: Named): Promise<{ before: string[]; after: string[] }> {
      const { ask, agent, server } = await setUp(engine)
      const toSeen = (): string[] =>
        server.seen
          .splice(0)
          .map(({ connection, authority }) => `${connection} ${authority.split(':')[0]?.toLowerCase()}`)
      await ask('o0.a.test')
      await ask('o1.a.test')
      server.misdirected.add(named.name)
      server.server.once('secureConnection', () => server.misdirected.clear())
      const origin = server.toOrigin('o1.a.test')
      const { statusCode, body } = await agent.request({
        ...{ origin, path: '/', method: 'GET' },
        ...named.toRequest(`o1.a.test:${server.port}`, server.port),
      })
      await body.text()
      expect(statusCode).toBe(200)
      await ask('o1.a.test')
      await ask('o0.a.test')
      const before = toSeen()
      for (const session of server.sessions) session.close()
      await expect.poll(() => server.sessions.map(({ destroyed }) => destroyed)).toEqual([true, true])
      await ask('o0.a.test')
      await ask('o1.a.test')
      return { before, after: toSeen() }
    }

    it.each(OWN)('$what, that origin has its own connections from then on', async (named) => {
      const { before, after } = await playOn(named)
      expect(before).toEqual([
        ...['0 o0.a.test', '0 o1.a.test', '0 o1.a.test', '1 o1.a.test'],
        ...['1 o1.a.test', '0 o0.a.test'],
      ])
      expect(after).toEqual(['2 o0.a.test', '3 o1.a.test'])
    })

    it.each(OTHER)('$what, the origin leaves that connection alone', async (named) => {
      const { before, after } = await playOn(named)
      const name = named.name.toLowerCase()
      expect(before).toEqual([
        ...['0 o0.a.test', '0 o1.a.test', `0 ${name}`, `1 ${name}`],
        ...['1 o1.a.test', '0 o0.a.test'],
      ])
      expect(after).toEqual(['2 o0.a.test', '2 o1.a.test'])
    })
  })

  it('stop sharing as soon as an ORIGIN frame leaves one out', async () => {
    const { ask, server } = await setUp(engine)
    await ask('o0.a.test')
    const held = ask('o1.a.test', '/held')
    await expect.poll(() => server.held.length).toBe(1)
    server.sessions[0]?.origin(server.toOrigin('o2.a.test'))
    await expect.poll(async () => (await ask('o1.a.test'), server.sessions.length)).toBe(2)
    await ask('o2.a.test')
    // What had begun comes to its end.
    server.held[0]?.respond({ ':status': 200 })
    server.held[0]?.end('late')
    expect((await held).text).toBe('late')
    expect(server.seen.at(-1)).toMatchObject({ connection: 0, authority: `o2.a.test:${server.port}` })
  })

  it('send their calls again each, when the connection dies under them', async () => {
    const { ask, server } = await setUp(engine)
    await ask('o0.a.test')
    const calls = ['o0.a.test', 'o1.a.test', 'o2.a.test'].map((name) => ask(name, '/held'))
    await expect.poll(() => server.held.length).toBe(3)
    server.sockets[0]?.destroy()
    await expect.poll(() => server.held.length).toBe(6)
    for (const stream of server.held.slice(3)) {
      stream.respond({ ':status': 200 })
      stream.end('again')
    }
    expect(await Promise.all(calls)).toEqual(Array(3).fill({ status: 200, text: 'again' }))
    // One of them connects, and the other ones wait for it.
    expect(server.sessions).toHaveLength(2)
  })

  it('move to one next connection after a GOAWAY, and finish what had begun', async () => {
    const { ask, server } = await setUp(engine)
    await ask('o0.a.test')
    const held = ask('o1.a.test', '/held')
    await expect.poll(() => server.held.length).toBe(1)
    server.sessions[0]?.goaway(0, 2 ** 31 - 1)
    await expect.poll(async () => (await ask('o2.a.test'), server.sessions.length)).toBe(2)
    await Promise.all(NAMES.map((name) => ask(name)))
    server.held[0]?.respond({ ':status': 200 })
    server.held[0]?.end('late')
    expect((await held).text).toBe('late')
    expect(server.sessions).toHaveLength(2)
  })

  it('keep the connection when the one is closed that it was opened for', async () => {
    const { ask, server, agent } = await setUp(engine)
    const pools: { close(): Promise<void>; destroy(): Promise<void> }[] = []
    agent.on('connect', (_origin, targets) => pools.push(targets[1] as (typeof pools)[number]))
    await ask('o0.a.test')
    const held = ask('o1.a.test', '/held')
    await expect.poll(() => server.held.length).toBe(1)
    expect(pools).toHaveLength(2)
    await pools[0]?.close()
    expect(server.sessions[0]?.closed).toBe(false)
    server.held[0]?.respond({ ':status': 200 })
    server.held[0]?.end('late')
    expect((await held).text).toBe('late')
    await ask('o2.a.test')
    expect(server.sessions).toHaveLength(1)
  })

  it('lose their own calls alone when one is destroyed', async () => {
    const { ask, server, agent } = await setUp(engine)
    const pools: { destroy(): Promise<void> }[] = []
    agent.on('connect', (_origin, targets) => pools.push(targets[1] as (typeof pools)[number]))
    await ask('o0.a.test')
    const first = ask('o0.a.test', '/held')
    const second = ask('o1.a.test', '/held')
    await expect.poll(() => server.held.length).toBe(2)
    const reset = once(server.held[0] as (typeof server.held)[number], 'close')
    const failed = expect(first).rejects.toMatchObject({ code: 'UND_ERR_DESTROYED' })
    await pools[0]?.destroy()
    await failed
    await reset
    server.held[1]?.respond({ ':status': 200 })
    server.held[1]?.end('late')
    expect((await second).text).toBe('late')
    expect(server.sessions).toHaveLength(1)
  })

  it('end with the agent: close() waits for all, destroy() for none', async () => {
    const { ask, server, agent } = await setUp(engine)
    await Promise.all(NAMES.map((name) => ask(name)))
    await agent.close()
    await expect.poll(() => server.sessions[0]?.destroyed).toBe(true)
    const second = await setUp(engine)
    await second.ask('o0.a.test')
    const calls = NAMES.map((name) => second.ask(name, '/held'))
    const failed = Promise.allSettled(calls)
    await expect.poll(() => second.server.held.length).toBe(20)
    await second.agent.destroy()
    for (const outcome of await failed)
      expect(outcome).toMatchObject({ reason: { code: 'UND_ERR_DESTROYED' } })
    await expect.poll(() => second.server.sessions[0]?.destroyed).toBe(true)
  })

  it('take turns where the server allows one stream', async () => {
    const { ask, server } = await setUp(engine, {
      server: { settings: { maxConcurrentStreams: 1 } },
      options: { connections: 1 },
    })
    await ask('o0.a.test')
    await ask('o1.a.test')
    server.seen.length = 0
    const many = Array.from({ length: 10 }, () => ask('o0.a.test'))
    const few = [ask('o1.a.test'), ask('o1.a.test'), ask('o1.a.test')]
    await Promise.all([...many, ...few])
    const order = server.seen.map(({ authority }) => authority.split(':')[0])
    // The first has begun before the other origin's calls came.
    expect(order.slice(0, 7)).toEqual(['o0.a.test', ...Array(3).fill(['o1.a.test', 'o0.a.test']).flat()])
    expect(server.sessions).toHaveLength(1)
  })

  it('open a further connection when the one is full, and share that as well', async () => {
    const { ask, server } = await setUp(engine, { server: { settings: { maxConcurrentStreams: 2 } } })
    await ask('o0.a.test')
    await ask('o1.a.test')
    const held = ['o0.a.test', 'o1.a.test', 'o0.a.test', 'o1.a.test'].map((name) => ask(name, '/held'))
    await expect.poll(() => server.held.length).toBe(4)
    expect(server.sessions).toHaveLength(2)
    for (const stream of server.held) stream.respond({ ':status': 200 }, { endStream: true })
    await Promise.all(held)
  })

  it('are served by HTTP/1.1 each where that is what the server speaks', async () => {
    const { key, cert } = await toNamesCertificate(NAMES)
    const server = createHttpsServer({ key, cert }, (request, response) => {
      response.end(request.headers.host)
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => {
      server.close()
    })
    const { port } = server.address() as AddressInfo
    const agent = toAgent({ coalesce: true, engine, connect: { ca: cert, lookup: toNamesLookup(HERE) } })
    const texts = await Promise.all(NAMES.map((name) => askAgent(agent, `https://${name}:${port}`)))
    expect(texts).toEqual(NAMES.map((name) => `${name}:${port}`))
    await agent.close()
  })

  it('say in their stats who shares', async () => {
    const { ask, server, agent } = await setUp(engine)
    for (const name of ['o0.a.test', 'o1.a.test', 'o1.a.test']) await ask(name)
    const both = ['o0.a.test', 'o1.a.test'].map(server.toOrigin)
    const stats = both.map((origin) => agent.stats[origin])
    expect(stats.map((one) => one?.sessions.map(({ origins }) => origins))).toEqual([[both], [both]])
    expect(stats.map((one) => one?.sessions.map(({ requests }) => requests))).toEqual([[1], [2]])
  })
})

import type { Duplex } from 'node:stream'
import { text } from 'node:stream/consumers'
import { describe, expect, it, vi } from 'vitest'
import type { AgentOptions } from '../../types/index.ts'
import { askAgent, toAgent } from '../support/clients/agents.ts'
import { ENGINES } from '../support/clients/engines.ts'
import type { NamesOptions } from '../support/servers/shared-names.ts'
import { startNames, toNamesLookup } from '../support/servers/shared-names.ts'
import { HERE, NAMES } from './coalescing-rig.ts'

/**
 * Ten times as slow: on a busy machine the first handshake may take a second, for which the other origins would wait no longer
 * (coalescing-life.test.ts has that limit).
 */
vi.mock('../../src/core/clock.ts', async (load) => {
  const original = await load<typeof import('../../src/core/clock.ts')>()
  const { PacedClock } = await import('../support/clocks/paced-clock.ts')
  return { ...original, systemClock: new PacedClock(original.systemClock, 0.1) }
})

const [A = '', B = ''] = NAMES

interface Scene {
  readonly server?: Partial<NamesOptions>
  readonly options?: Omit<AgentOptions, 'connect'>
  readonly hosts?: Readonly<Record<string, readonly string[]>>
}

async function setUp(engine: 'node' | 'wire', { server: more, options, hosts = HERE }: Scene = {}) {
  const server = await startNames({ names: NAMES, ...more })
  const lookup = toNamesLookup(hosts)
  const agent = toAgent({ coalesce: true, engine, connect: { ca: server.ca, lookup }, ...options })
  let connections = 0
  server.server.on('secureConnection', () => connections++)
  return {
    agent,
    server,
    ask: (name: string) => askAgent(agent, server.toOrigin(name)),
    toConnections: () => connections,
    /** A CONNECT to a target that the server holds, and lets through. */
    async tunnel(name: string, target = 'held.test:1'): Promise<Duplex> {
      const held = server.held.length
      const opened = agent.connect({ origin: server.toOrigin(name), path: target })
      await expect.poll(() => server.held.length).toBe(held + 1)
      server.held[held]?.respond({ ':status': 200 })
      return (await opened).socket
    },
    /** A WebSocket's stream (RFC 8441), up to its response. */
    async webSocket(name: string): Promise<Duplex> {
      const held = server.held.length
      const opened = agent.upgrade({ origin: server.toOrigin(name), path: '/held', protocol: 'websocket' })
      await expect.poll(() => server.held.length).toBe(held + 1)
      server.held[held]?.respond({ ':status': 200 })
      return (await opened).socket
    },
  }
}

const WEB_SOCKETS = { settings: { enableConnectProtocol: true } }

describe.each(ENGINES)('on a shared session of engine %s', (engine) => {
  describe.each(['tunnel', 'webSocket'] as const)('a %s', (kind) => {
    it('of each origin is its own', async () => {
      const rig = await setUp(engine, { server: WEB_SOCKETS })
      await rig.ask(A)
      const sockets = [await rig[kind](A), await rig[kind](B)]
      const words = ['one', 'two']
      for (const [at, socket] of sockets.entries()) socket.end(words[at])
      const heard = rig.server.held.map((stream) => text(stream))
      expect(await Promise.all(heard)).toEqual(words)
      for (const [at, stream] of rig.server.held.entries()) stream.end(`${words[at]} back`)
      expect(await Promise.all(sockets.map((socket) => text(socket)))).toEqual(['one back', 'two back'])
      expect(rig.toConnections()).toBe(1)
      expect(rig.server.seen.map(({ connection }) => connection)).toEqual([0, 0, 0])
    })

    it('fails with the connection, whichever origin it is for', async () => {
      const rig = await setUp(engine, { server: WEB_SOCKETS })
      await rig.ask(A)
      const sockets = [await rig[kind](A), await rig[kind](B)]
      const failed = sockets.map((socket) => text(socket))
      rig.server.sockets[0]?.destroy()
      for (const outcome of await Promise.allSettled(failed))
        expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'UND_ERR_SOCKET' } })
      await rig.ask(B)
      await rig.ask(A)
      expect(rig.toConnections()).toBe(2)
    })

    it('outlives a GOAWAY, while new requests of both share the next session', async () => {
      const rig = await setUp(engine, { server: WEB_SOCKETS })
      await rig.ask(A)
      const socket = await rig[kind](B)
      rig.server.sessions[0]?.goaway(0, 2 ** 31 - 1)
      // A server of Node's leaves requests unanswered that come behind its GOAWAY.
      const toState = () => rig.agent.stats[rig.server.toOrigin(A)]?.sessions[0]?.state
      await expect.poll(toState).toBe('draining')
      await rig.ask(A)
      await rig.ask(B)
      rig.server.held[0]?.end('late')
      socket.end()
      expect(await text(socket)).toBe('late')
      expect(rig.server.seen.slice(-2).map(({ connection }) => connection)).toEqual([1, 1])
      expect(rig.toConnections()).toBe(2)
    })

    it('counts against the limit of the session, for all its origins', async () => {
      const settings = { ...WEB_SOCKETS.settings, maxConcurrentStreams: 1 }
      const rig = await setUp(engine, { server: { settings }, options: { connections: 1 } })
      await rig.ask(A)
      await rig.ask(B)
      const socket = await rig[kind](B)
      const waiting = rig.ask(A)
      socket.end()
      rig.server.held[0]?.end()
      await text(socket)
      expect(await waiting).toBe(`${A}:${rig.server.port}`)
      expect(rig.toConnections()).toBe(1)
    })
  })

  it.each([
    { what: 'a CONNECT to another host', path: 'x.test:443', name: 'x.test', after: [2, 2] },
    { what: 'a CONNECT to the origin itself', path: '/', name: B, after: [2, 3] },
  ])('421 to $what counts for that host: then two origins are on $after', async ({ path, name, after }) => {
    const rig = await setUp(engine)
    await rig.ask(A)
    await rig.ask(B)
    rig.server.misdirected.add(name)
    await rig.agent.connect({ origin: rig.server.toOrigin(B), path }).then(
      ({ socket }) => socket.destroy(),
      () => {},
    )
    rig.server.misdirected.clear()
    const last = rig.toConnections()
    for (const session of rig.server.sessions) session.close()
    await expect.poll(() => rig.server.sessions.every(({ destroyed }) => destroyed)).toBe(true)
    await rig.ask(A)
    await rig.ask(B)
    const offset = last - 2
    expect(rig.server.seen.slice(-2).map(({ connection }) => connection - offset)).toEqual(after)
  })

  it('421 to a WebSocket takes its origin off the session, and the next connection has it', async () => {
    const rig = await setUp(engine, { server: WEB_SOCKETS })
    await rig.ask(A)
    rig.server.misdirected.add(B)
    rig.server.server.once('secureConnection', () => rig.server.misdirected.clear())
    const origin = rig.server.toOrigin(B)
    const { socket } = await rig.agent.upgrade({ origin, path: '/', protocol: 'websocket' })
    socket.destroy()
    await rig.ask(A)
    expect(rig.server.seen.map(({ connection }) => connection)).toEqual([0, 0, 1, 0])
    expect(rig.agent.stats[origin]?.ended.misdirected).toBe(1)
  })

  it('an upgrade goes over HTTP/1.1 where the session takes none, and requests still share it', async () => {
    const rig = await setUp(engine, { server: { allowHTTP1: true } })
    const hosts: unknown[] = []
    rig.server.server.on('upgrade', ({ headers }, socket: Duplex) => {
      hosts.push(headers.host)
      socket.end('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\nhello')
    })
    await rig.ask(A)
    await rig.ask(B)
    for (const name of [A, B]) {
      const { socket } = await rig.agent.upgrade({
        ...{ origin: rig.server.toOrigin(name), path: '/', protocol: 'websocket' },
        headers: { 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==', 'sec-websocket-version': '13' },
      })
      expect(await text(socket)).toBe('hello')
    }
    await rig.ask(B)
    expect(hosts).toEqual([A, B].map((name) => `${name}:${rig.server.port}`))
    expect(rig.server.sessions).toHaveLength(1)
    // Each upgrade has its own, as without the option.
    expect(rig.toConnections()).toBe(3)
  })

  describe('connectAhead()', () => {
    it('finds the session of another origin', async () => {
      const rig = await setUp(engine)
      await rig.ask(A)
      expect(await rig.agent.connectAhead(rig.server.toOrigin(B))).toBe('h2')
      expect(rig.agent.stats[rig.server.toOrigin(B)]?.sessions).toMatchObject([
        { origins: [A, B].map(rig.server.toOrigin), requests: 0, state: 'ready' },
      ])
      await rig.ask(B)
      expect(rig.toConnections()).toBe(1)
    })

    it('of several origins at once makes one connection', async () => {
      const rig = await setUp(engine)
      const all = NAMES.map((name) => rig.agent.connectAhead(rig.server.toOrigin(name)))
      expect(await Promise.all(all)).toEqual(NAMES.map(() => 'h2'))
      await Promise.all(NAMES.map((name) => rig.ask(name)))
      expect(rig.toConnections()).toBe(1)
    })

    it('rejects with the error of its own look-up', async () => {
      const rig = await setUp(engine, { hosts: { [A]: ['127.0.0.1'] } })
      await rig.ask(A)
      const connected = rig.agent.connectAhead(rig.server.toOrigin(B))
      await expect(connected).rejects.toMatchObject({ code: 'ENOTFOUND' })
    })
  })
})

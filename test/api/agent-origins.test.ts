import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Agent } from '../../src/index.ts'
import { errors } from '../../src/index.ts'
import { askAgent, toAgent } from '../support/clients/agents.ts'
import { runNode } from '../support/clients/child.ts'
import { FakeDispatcher } from '../support/clients/fake-dispatcher.ts'
import { Recorder } from '../support/clients/recorder.ts'
import { toRounds } from '../support/clocks/sample.ts'
import { serveHello, startServer } from '../support/servers/server.ts'

const GET = { path: '/', method: 'GET' } as const
const MEGABYTE = 2 ** 20

const startServers = (count: number, listener = serveHello) =>
  Promise.all(Array.from({ length: count }, () => startServer(listener)))

const originsOf = (agent: Agent): string[] => Object.keys(agent.stats).sort()

describe('maxOrigins', () => {
  it('drops an idle origin for another one, and closes its connection', async () => {
    const servers = await startServers(3)
    const [a = '', b = '', c = ''] = servers.map(({ origin }) => origin)
    const agent = toAgent({ maxOrigins: 2 })
    for (const origin of [a, b]) expect(await askAgent(agent, origin)).toBe('hello')
    const gone = once(agent, 'disconnect')
    expect(await askAgent(agent, c)).toBe('hello')
    expect(originsOf(agent)).toEqual([b, c].sort())
    const [url, targets] = await gone
    expect([url.origin, targets[0]]).toEqual([a, agent])
    // It may come back, and another one has to go for it.
    expect(await askAgent(agent, a)).toBe('hello')
    expect(originsOf(agent)).toHaveLength(2)
    expect(servers[0]?.sessions).toHaveLength(2)
  })

  it('keeps an origin that connects ahead', async () => {
    const servers = await startServers(2)
    const [a = '', b = ''] = servers.map(({ origin }) => origin)
    const agent = toAgent({ maxOrigins: 1 })
    const ahead = agent.connectAhead(a)
    await expect(askAgent(agent, b)).rejects.toMatchObject({ name: 'MaxOriginsReachedError' })
    expect(await ahead).toBe('h2c')
    expect(await askAgent(agent, b)).toBe('hello')
  })

  it('drops the origin that was used least lately', async () => {
    const servers = await startServers(4)
    const [a = '', b = '', c = '', d = ''] = servers.map(({ origin }) => origin)
    const agent = toAgent({ maxOrigins: 3 })
    for (const origin of [a, b, c, d]) await askAgent(agent, origin)
    expect(originsOf(agent)).toEqual([b, c, d].sort())
    // C is the only one that has got nothing since.
    for (const origin of [b, d, a]) await askAgent(agent, origin)
    expect(originsOf(agent)).toEqual([a, b, d].sort())
  })

  it('keeps an origin that has a request, however long ago that began', async () => {
    let release = (): void => {}
    const busy = await startServer((stream, headers) => {
      release = () => serveHello(stream, headers)
    })
    const others = await startServers(5)
    const agent = toAgent({ maxOrigins: 2 })
    const asked = once(busy.server, 'stream')
    const response = askAgent(agent, busy.origin)
    await asked
    for (const { origin } of others) {
      expect(await askAgent(agent, origin)).toBe('hello')
      expect(originsOf(agent)).toEqual([busy.origin, origin].sort())
    }
    release()
    expect(await response).toBe('hello')
    expect(busy.sessions).toHaveLength(1)
  })

  it('refuses another origin when all have requests, and takes it when one of them has none', async () => {
    const held: (() => void)[] = []
    const servers = await startServers(
      2,
      (stream, headers) => void held.push(() => serveHello(stream, headers)),
    )
    const [other] = await startServers(1)
    const agent = toAgent({ maxOrigins: 2 })
    const responses = servers.map(({ origin }) => askAgent(agent, origin))
    await expect.poll(() => held.length).toBe(2)
    const error: unknown = await askAgent(agent, other?.origin ?? '').catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(errors.MaxOriginsReachedError)
    expect(error).toMatchObject({ code: 'UND_ERR_MAX_ORIGINS_REACHED', processed: 'no' })
    expect(error).toMatchObject({ message: expect.stringContaining(other?.origin ?? '') })
    // Those that it has go on.
    expect(originsOf(agent)).toEqual(servers.map(({ origin }) => origin).sort())
    for (const release of held) release()
    expect(await Promise.all(responses)).toEqual(['hello', 'hello'])
    expect(await askAgent(agent, other?.origin ?? '')).toBe('hello')
  })

  it('leaves the tunnels of a dropped origin open; close() waits for them', async () => {
    const proxy = await startServer((stream) => {
      stream.respond({ ':status': 200 })
      stream.pipe(stream)
    })
    const [other] = await startServers(1)
    const agent = toAgent({ maxOrigins: 1 })
    const { socket } = await agent.connect({ origin: proxy.origin, path: 'example.com:443' })
    await expect.poll(() => agent.stats[proxy.origin]?.size).toBe(0)
    expect(await askAgent(agent, other?.origin ?? '')).toBe('hello')
    expect(originsOf(agent)).toEqual([other?.origin])
    socket.write('ping')
    expect(String((await once(socket, 'data'))[0])).toBe('ping')
    let isClosed = false
    const closing = agent.close().then(() => {
      isClosed = true
    })
    socket.write('pong')
    expect(String((await once(socket, 'data'))[0])).toBe('pong')
    expect(isClosed).toBe(false)
    socket.end()
    socket.resume()
    await closing
  })
})

describe('two agents with different connect options', () => {
  it('share no connection, no trust and no TLS session', async () => {
    const server = await startServer(serveHello, { tls: true })
    const reused: boolean[] = []
    server.server.on('secureConnection', (socket) => reused.push(socket.isSessionReused()))
    const trusting = toAgent({ connect: { ca: server.ca } })
    expect(await askAgent(trusting, server.origin)).toBe('hello')
    const wary = toAgent({})
    await expect(askAgent(wary, server.origin)).rejects.toMatchObject({ code: 'DEPTH_ZERO_SELF_SIGNED_CERT' })
    const other = toAgent({ connect: { ca: server.ca, servername: 'localhost' } })
    expect(await askAgent(other, server.origin)).toBe('hello')
    expect(await askAgent(trusting, server.origin)).toBe('hello')
    expect(server.sessions).toHaveLength(2)
    expect(reused.filter((isReused) => isReused)).toEqual([])
  })
})

describe('a hundred thousand origins', () => {
  it.each([
    { maxOrigins: null, most: 1_100 },
    { maxOrigins: 50, most: 50 },
  ])('leave no more memory behind than for the origins that are kept, with maxOrigins: $maxOrigins', async ({
    maxOrigins,
    most,
  }) => {
    const open = new Set<FakeDispatcher>()
    let highest = 0
    const agent = toAgent({
      maxOrigins,
      factory: () => {
        const fake = new FakeDispatcher()
        fake.closing = async () => void open.delete(fake)
        highest = Math.max(highest, open.add(fake).size)
        return fake
      },
    })
    for (let i = 0; i < 100_000; i++) {
      agent.dispatch({ ...GET, origin: `https://host-${i}.example` }, new Recorder())
      if (i % 100 === 0) await Promise.resolve()
    }
    expect(highest).toBeLessThanOrEqual(most)
    expect(Object.keys(agent.stats).length).toBeLessThanOrEqual(most)
    await agent.close()
    expect(open.size).toBe(0)
  })

  it.each([
    { count: toRounds(100_000, 25_000), maxOrigins: '', most: 1_200 },
    { count: 20_000, maxOrigins: '200', most: 200 },
  ])('that can not be connected to leave no memory behind: $count, maxOrigins: $maxOrigins', async ({
    count,
    maxOrigins,
    most,
  }) => {
    const folder = await mkdtemp(join(tmpdir(), 'dodici-origins-'))
    onTestFinished(() => rm(folder, { recursive: true, force: true }))
    const outfile = join(folder, 'origins.mjs')
    await build({
      entryPoints: [fileURLToPath(new URL('../process/children/origins.ts', import.meta.url))],
      outfile,
      bundle: true,
      format: 'esm',
      platform: 'node',
      target: 'node20',
    })
    const { code, stdout, stderr } = await runNode('--expose-gc', outfile, String(count), maxOrigins)
    expect([code, stderr]).toEqual([0, ''])
    const facts = Object(JSON.parse(stdout))
    expect(facts.failed).toBe(count)
    expect(facts.most).toBeLessThanOrEqual(most)
    expect(facts.left).toBeLessThanOrEqual(most)
    expect(facts.grown).toBeLessThan(2 * MEGABYTE)
  })
})

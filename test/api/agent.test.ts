import { once } from 'node:events'
import { interceptors } from 'undici'
import { describe, expect, it } from 'vitest'
import { Agent, Dispatcher, errors, Pool } from '../../src/index.ts'
import type { AgentOptions, DispatcherComposeInterceptor } from '../../types/index.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import { NO_ERROR } from '../support/peers/error-codes.ts'
import type { StreamListener } from '../support/servers/server.ts'
import { serveHello, startServer } from '../support/servers/server.ts'

const GET = { path: '/', method: 'GET' } as const

function toAgent(options: AgentOptions = { h2c: true }): Agent {
  return destroyWithTest(new Agent(options))
}

async function ask(agent: Dispatcher | Agent, origin: string | URL): Promise<string> {
  const { body } = await agent.request({ ...GET, origin })
  return body.text()
}

describe('Agent', () => {
  it('is a Dispatcher, checks its options when it is made, and takes none', () => {
    expect(toAgent()).toBeInstanceOf(Dispatcher)
    expect(new Agent().closed).toBe(false)
    expect(() => new Agent({ h2c: 1 as never })).toThrow('h2c')
    expect(() => new Agent({ headersTimeout: -1 })).toThrow('headersTimeout')
    expect(() => new Agent(5 as never)).toThrow(errors.InvalidArgumentError)
  })

  it('has one connection for each origin, however it is written', async () => {
    const [one, two] = [await startServer(serveHello), await startServer(serveHello)]
    const agent = toAgent()
    const { port } = new URL(one.origin)
    const spellings = [
      one.origin,
      `${one.origin}/`,
      new URL(one.origin),
      `HTTP://127.0.0.1:${port}`,
      two.origin,
      two.origin,
    ]
    const texts = await Promise.all(spellings.map((origin) => ask(agent, origin)))
    expect(texts).toEqual(Array(6).fill('hello'))
    expect([one.sessions.length, two.sessions.length]).toEqual([1, 1])
  })

  it('passes its options on to each of them', async () => {
    const server = await startServer(serveHello, { tls: true })
    const agent = toAgent({ connect: { ca: server.ca }, maxResponseSize: 4 })
    await expect(ask(agent, server.origin)).rejects.toBeInstanceOf(errors.ResponseExceededMaxSizeError)
    const { body } = await agent.request({ ...GET, origin: server.origin, maxResponseSize: 5 })
    expect(await body.text()).toBe('hello')
  })

  it.each([
    { what: 'none', origin: undefined },
    { what: 'a path', origin: 'http://localhost/a' },
    { what: 'another scheme', origin: 'ws://localhost' },
    { what: 'a number', origin: 5 as unknown as string },
  ])('refuses an origin that is or has $what', async ({ origin }) => {
    const refused = toAgent().request({ ...GET, origin })
    await expect(refused).rejects.toBeInstanceOf(errors.InvalidArgumentError)
    await expect(refused).rejects.toThrow('origin')
  })

  it('refuses http: without h2c and without a fallback, and says what would help', async () => {
    const server = await startServer(serveHello)
    const refused = ask(toAgent({ fallback: null }), server.origin)
    await expect(refused).rejects.toBeInstanceOf(errors.NotSupportedError)
    await expect(refused).rejects.toThrow('h2c')
    await expect(ask(toAgent({ h2c: false, fallback: null }), server.origin)).rejects.toMatchObject({
      processed: 'no',
    })
    expect(server.sessions).toHaveLength(0)
  })

  it('announces connect, disconnect and drain with itself before the client', async () => {
    const { origin, sessions } = await startServer(serveHello)
    const agent = toAgent()
    const [connected, drained, disconnected] = [
      once(agent, 'connect'),
      once(agent, 'drain'),
      once(agent, 'disconnect'),
    ]
    await ask(agent, origin)
    const [url, targets] = await connected
    expect(url.origin).toBe(origin)
    expect(targets).toEqual([agent, expect.any(Pool)])
    const [drainedUrl, drainedTargets] = await drained
    expect(drainedUrl.origin).toBe(origin)
    expect(drainedTargets).toEqual(targets)
    sessions[0]?.destroy()
    const [goneUrl, goneTargets, error] = await disconnected
    expect(goneUrl.origin).toBe(origin)
    expect(goneTargets).toEqual(targets)
    expect(error.code).toBeTypeOf('string')
  })

  it('announces connectionError, and serves again when the server is there', async () => {
    const { origin, server } = await startServer(serveHello)
    server.close()
    await once(server, 'close')
    const agent = toAgent()
    const announced = once(agent, 'connectionError')
    await expect(ask(agent, origin)).rejects.toMatchObject({ code: 'ECONNREFUSED' })
    const [url, targets, error] = await announced
    expect([url.origin, targets[0] === agent, error.code]).toEqual([origin, true, 'ECONNREFUSED'])
    server.listen(Number(new URL(origin).port), '127.0.0.1')
    await once(server, 'listening')
    expect(await ask(agent, origin)).toBe('hello')
  })

  it('keeps an origin whose connection was lost: its pool opens the next one', async () => {
    const { origin, sessions } = await startServer(serveHello)
    const agent = toAgent()
    const pools: unknown[] = []
    agent.on('connect', (_url, targets) => pools.push(targets[1]))
    await ask(agent, origin)
    const gone = once(agent, 'disconnect')
    sessions[0]?.destroy()
    await gone
    expect(await ask(agent, origin)).toBe('hello')
    expect(pools).toHaveLength(2)
    expect(pools[0]).toBe(pools[1])
  })

  it('keeps an origin whose connection was lost while the next one is open', async () => {
    let release = (): void => {}
    const { origin, sessions } = await startServer((stream, headers) => {
      if (stream.session !== sessions[0]) return serveHello(stream, headers)
      stream.session?.goaway(NO_ERROR)
      release = () => serveHello(stream, headers)
    })
    const agent = toAgent()
    const clients = new Set<unknown>()
    agent.on('connect', (_url, targets) => clients.add(targets[1]))
    const gone = once(agent, 'disconnect')
    const first = ask(agent, origin)
    await expect.poll(() => sessions.length).toBe(1)
    await new Promise((resolve) => sessions[0]?.ping(resolve))
    expect(await ask(agent, origin)).toBe('hello')
    release()
    expect(await first).toBe('hello')
    await gone
    expect(await ask(agent, origin)).toBe('hello')
    expect(clients.size).toBe(1)
    expect(sessions).toHaveLength(2)
  })

  it('works with interceptors, also those of undici', async () => {
    let asked = 0
    const { origin } = await startServer((stream) => {
      stream.respond({ ':status': asked++ === 0 ? 503 : 200 })
      stream.end('hello')
    })
    const retry = interceptors.retry({ minTimeout: 1 }) as unknown as DispatcherComposeInterceptor
    expect(await ask(toAgent().compose(retry) as unknown as Agent, origin)).toBe('hello')
    expect(asked).toBe(2)
  })
})

describe('close() of an Agent', () => {
  it('lets the calls of all origins finish, refuses new ones, and settles then', async () => {
    let release = (): void => {}
    const gate = new Promise<void>((resolve) => {
      release = resolve
    })
    const serve: StreamListener = (stream, headers) => void gate.then(() => serveHello(stream, headers))
    const servers = [await startServer(serve), await startServer(serve)]
    const agent = toAgent()
    const calls = servers.map(({ origin }) => ask(agent, origin))
    const closing = agent.close()
    expect([agent.closed, agent.destroyed]).toEqual([true, false])
    await expect(ask(agent, servers[0]?.origin ?? '')).rejects.toBeInstanceOf(errors.ClientClosedError)
    release()
    expect(await Promise.all(calls)).toEqual(['hello', 'hello'])
    await closing
    expect(agent.destroyed).toBe(true)
    for (const { sessions } of servers) await expect.poll(() => sessions[0]?.closed).toBe(true)
  })
})

describe('destroy() of an Agent', () => {
  it('fails the calls of all origins, and refuses new ones', async () => {
    const servers = [await startServer(() => {}), await startServer(() => {})]
    const agent = toAgent()
    const connected = Promise.all(
      servers.map(async ({ server }) => {
        await once(server, 'session')
      }),
    )
    const calls = servers.map(({ origin }) => ask(agent, origin))
    const outcomes = Promise.allSettled(calls)
    await connected
    await agent.destroy()
    for (const outcome of await outcomes) {
      expect(outcome).toMatchObject({ reason: { code: 'UND_ERR_DESTROYED' } })
    }
    await expect(ask(agent, servers[0]?.origin ?? '')).rejects.toBeInstanceOf(errors.ClientDestroyedError)
  })

  it('passes its error on', async () => {
    const { origin, server } = await startServer(() => {})
    const agent = toAgent()
    const call = ask(agent, origin)
    const error = new Error('enough')
    const failed = expect(call).rejects.toBe(error)
    await once(server, 'session')
    await agent.destroy(error)
    await failed
  })
})

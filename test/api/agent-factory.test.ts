import { once } from 'node:events'
import { createServer } from 'node:http'
import { Pool as UndiciPool } from 'undici'
import { describe, expect, it } from 'vitest'
import { Agent, Client, errors, Pool } from '../../src/index.ts'
import type { Dispatcher, PoolOptions } from '../../types/index.ts'
import { askAgent, destroyWithTest, toAgent } from '../support/clients/agents.ts'
import { FakeDispatcher } from '../support/clients/fake-dispatcher.ts'
import { Recorder } from '../support/clients/recorder.ts'
import { serveHttp1Hello, startHttp1 } from '../support/servers/fallback-http1.ts'
import { listen } from '../support/servers/listen.ts'
import { serveHello, startServer } from '../support/servers/server.ts'

const GET = { path: '/', method: 'GET' } as const

async function startHello(): Promise<string> {
  const { origin } = await startServer(serveHello)
  return origin
}

async function startHttp1Hello(): Promise<string> {
  const { port } = await listen(
    createServer((request, response) => response.end(`hello over ${request.httpVersion}`)),
  )
  return `http://127.0.0.1:${port}`
}

describe('factory', () => {
  it('gets the URL of each origin once, and the options without those of the agent itself', async () => {
    const heard: [URL, PoolOptions][] = []
    const made: FakeDispatcher[] = []
    const rest = {
      headersTimeout: 5,
      connections: 2,
      h2Options: { pingInterval: 9 },
      connect: { servername: 'a' },
    }
    const fallback = new FakeDispatcher()
    const agent = toAgent({
      ...rest,
      fallback,
      maxOrigins: 7,
      factory: (origin, options) => {
        heard.push([origin, options])
        made.push(new FakeDispatcher())
        return made.at(-1) ?? new FakeDispatcher()
      },
    })
    for (const origin of [
      'http://one.example',
      'HTTP://ONE.example/',
      'https://one.example',
      new URL('http://one.example'),
    ]) {
      agent.dispatch({ ...GET, origin }, new Recorder())
    }
    expect(heard).toEqual([
      [new URL('http://one.example'), { ...rest, fallback }],
      [new URL('https://one.example'), { ...rest, fallback }],
    ])
    expect(made.map(({ requests }) => requests.length)).toEqual([3, 1])
  })

  it('makes the dispatcher that serves the origin, and that events and stats report', async () => {
    const origin = await startHello()
    const agent = toAgent({ factory: (url, options) => new Client(url, options), connections: 3 })
    const connected = once(agent, 'connect')
    expect(await askAgent(agent, origin)).toBe('hello')
    expect((await connected)[1]).toMatchObject([agent, expect.any(Client)])
    expect(agent.stats[origin]).toMatchObject({ connected: true, size: 0 })
  })

  it.each([
    {},
    { h2c: false },
    { allowH2: false },
  ])('is asked for an http: origin that speaks HTTP/1.1, too (%o)', async (options) => {
    const origin = await startHttp1Hello()
    const asked: [string, unknown][] = []
    const agent = destroyWithTest(
      new Agent({
        ...options,
        factory: (url, given) => {
          asked.push([url.origin, given.h2c])
          return new Pool(url, given)
        },
      }),
    )
    expect(await askAgent(agent, origin)).toBe('hello over 1.1')
    expect(await askAgent(agent, origin)).toBe('hello over 1.1')
    expect(asked).toEqual([[origin, false]])
  })

  it('is asked for an https: origin with allowH2: false', async () => {
    const server = await startHttp1(serveHttp1Hello)
    const asked: string[] = []
    const agent = destroyWithTest(
      new Agent({
        allowH2: false,
        connect: { ca: server.ca },
        factory: (url, given) => {
          asked.push(url.origin)
          return new Client(url, given)
        },
      }),
    )
    expect(await askAgent(agent, server.origin)).toBe('GET / over 1.1')
    expect(asked).toEqual([server.origin])
  })

  it('may make a dispatcher of undici for it, without a fallback', async () => {
    const origin = await startHttp1Hello()
    const made: UndiciPool[] = []
    const agent = destroyWithTest(
      new Agent({
        fallback: null,
        factory: (url) => {
          made.push(new UndiciPool(url))
          return made.at(-1) as unknown as Dispatcher
        },
      }),
    )
    expect(await askAgent(agent, origin)).toBe('hello over 1.1')
    await agent.close()
    expect(made.map(({ closed }) => closed)).toEqual([true])
  })

  it('makes the dispatcher that is closed and destroyed with the agent', async () => {
    const made: FakeDispatcher[] = []
    const factory = (): FakeDispatcher => {
      made.push(new FakeDispatcher())
      return made.at(-1) ?? new FakeDispatcher()
    }
    const closed = toAgent({ factory })
    closed.dispatch({ ...GET, origin: 'http://one.example' }, new Recorder())
    await closed.close()
    expect(made[0]?.events[0]).toBe('close')
    const destroyed = toAgent({ factory })
    destroyed.dispatch({ ...GET, origin: 'http://one.example' }, new Recorder())
    const error = new Error('enough')
    await destroyed.destroy(error)
    expect(made[1]?.events).toEqual([['destroy', error]])
  })

  it.each([
    ['nothing', undefined],
    ['null', null],
    ['a string', 'Pool'],
    ['a function', () => {}],
    ['an object without dispatch()', { request() {} }],
    ['an object with a dispatch that is no function', { dispatch: 1 }],
    ['an object with nothing but dispatch()', { dispatch: () => true }],
  ])('that returns %s fails the request, and leaves nothing behind', async (_what, value) => {
    const agent: Agent = Reflect.construct(Agent, [{ h2c: true, factory: () => value }])
    for (let i = 0; i < 2; i++) {
      const call = askAgent(agent, 'http://one.example')
      await expect(call).rejects.toBeInstanceOf(errors.InvalidReturnValueError)
      await expect(call).rejects.toThrow('factory')
    }
    expect(agent.stats).toEqual({})
    await agent.close()
  })

  it('that throws fails the request with its exception, and is called again for the next', async () => {
    const origin = await startHello()
    const error = new Error('not yet')
    let calls = 0
    const agent = toAgent({
      factory: (url, options) => {
        if (calls++ === 0) throw error
        return new Client(url, options)
      },
    })
    await expect(askAgent(agent, origin)).rejects.toBe(error)
    expect(await askAgent(agent, origin)).toBe('hello')
  })

  it.each([
    ['rejects', () => Promise.reject(new Error('It would not close'))],
    [
      'throws',
      () => {
        throw new Error('It would not close')
      },
    ],
  ])('makes a dispatcher that is dropped although its close() %s, and disturbs no other', async (_how, closing) => {
    const made: FakeDispatcher[] = []
    const agent = toAgent({
      maxOrigins: 1,
      factory: () => {
        const fake = new FakeDispatcher()
        fake.closing = closing
        made.push(fake)
        return fake
      },
    })
    for (const origin of ['http://one.example', 'http://two.example']) {
      const recorder = new Recorder()
      agent.dispatch({ ...GET, origin }, recorder)
      expect(recorder.errors).toEqual([])
    }
    expect(made.map(({ requests }) => requests.length)).toEqual([1, 1])
    expect(made[0]?.events).toEqual(['close'])
    // An unhandled rejection would come by then.
    await new Promise((resolve) => setImmediate(resolve))
    for (const fake of made) fake.closing = () => Promise.resolve()
  })
})

import { Readable } from 'node:stream'
import { MockAgent, Pool as Pool7, RetryAgent, Agent as Undici7 } from 'undici'
import { MockAgent as MockAgent6, Agent as Undici6 } from 'undici-6'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Agent, errors } from '../../src/index.ts'
import type { FallbackDispatcher } from '../../types/index.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import { LegacyRecorder } from '../support/clients/fallback-legacy.ts'
import { Recorder } from '../support/clients/recorder.ts'
import { startHttp1 } from '../support/servers/fallback-http1.ts'

type Ended = FallbackDispatcher & { destroy(): Promise<void>; readonly destroyed?: boolean }

const [MAJOR = 0] = process.versions.node.split('.').map(Number)

const KINDS: { readonly name: string; readonly make: () => Ended | Promise<Ended> }[] = [
  { name: 'an Agent of undici 6', make: () => new Undici6() as unknown as Ended },
  { name: 'an Agent of undici 7', make: () => new Undici7() as unknown as Ended },
  { name: 'a RetryAgent of undici 7', make: () => new RetryAgent(new Undici7()) as unknown as Ended },
  {
    name: 'a composed Agent of undici 7',
    make: () => new Undici7().compose((next) => next) as unknown as Ended,
  },
  { name: 'another Agent of ours', make: () => new Agent() },
  {
    name: 'a composed Agent of ours',
    make: () => new Agent().compose((dispatch) => dispatch) as unknown as Ended,
  },
]
// Undici 8 doesn't load on Node 20.
if (MAJOR >= 22) {
  const { Agent: Undici8 } = await import('undici-8')
  KINDS.push({ name: 'an Agent of undici 8', make: () => new Undici8() as unknown as Ended })
}

describe.each(KINDS)('$name as the fallback', ({ make }) => {
  async function start() {
    const server = await startHttp1(
      (request, response) => {
        response.writeHead(200, 'Fine', ['X-Dup', '1', 'x-dup', '2', 'Trailer', 'x-sum'])
        response.addTrailers([['X-Sum', '42']])
        request.pipe(response)
      },
      { tls: false },
    )
    const fallback = await make()
    onTestFinished(() => fallback.destroy())
    const agent = destroyWithTest(new Agent({ fallback }))
    return { server, fallback, agent, origin: server.origin }
  }

  it('serves a request with all its parts', async () => {
    const { server, agent, origin } = await start()
    const body = (): Readable => Readable.from(['te', 'xt'])
    const headers = ['cookie', 'a=1', 'x-a', 'é', 'cookie', 'b=2', 'te', 'trailers']
    const call = new Recorder()
    agent.dispatch({ origin, path: '/a', query: { b: 'c' }, method: 'POST', headers, body }, call)
    await call.settled
    expect([...new Set(call.events)]).toEqual(['start', 'response 200', 'data', 'end'])
    expect([call.text, { ...call.trailers }]).toEqual(['text', { 'x-sum': '42' }])
    expect(call.controller?.rawHeaders?.slice(0, 4)).toEqual(['X-Dup', '1', 'x-dup', '2'])
    const [request] = server.requests
    expect([request?.method, request?.url, await request?.body]).toEqual(['POST', '/a?b=c', 'text'])
    const raw = (request?.rawHeaders ?? []).map((text) => text.toLowerCase())
    const names = raw.filter((_, i) => i % 2 === 0)
    expect(raw[raw.indexOf('cookie') + 1]).toBe('a=1; b=2')
    expect(raw[raw.indexOf('x-a') + 1]).toBe('é')
    expect(names.filter((each) => ['cookie', 'host', 'te', 'expect'].includes(each)).sort()).toEqual([
      'cookie',
      'host',
    ])
  })

  it('serves a handler of the older shape', async () => {
    const { agent, origin } = await start()
    const heard = new LegacyRecorder()
    agent.dispatch({ origin, path: '/', method: 'POST', body: 'text' }, heard)
    await heard.settled
    expect(heard.events.at(-1)).toEqual(['onComplete', ['x-sum: 42'], 'text'])
  })

  it('is aborted along with the call, and serves the next', async () => {
    const { agent, origin } = await start()
    const mine = new Error('mine')
    const call = new Recorder()
    agent.dispatch({ origin, path: '/', method: 'GET' }, call)
    call.controller?.abort(mine)
    expect(call.error).toBe(mine)
    const { statusCode, body } = await agent.request({ origin, path: '/', method: 'GET' })
    await body.dump()
    expect(statusCode).toBe(200)
  })

  it('fails with errors of Dodici', async () => {
    const { agent, origin, server } = await start()
    server.server.removeAllListeners('request')
    server.server.on('request', (request) => request.socket.resetAndDestroy())
    const error = await agent
      .request({ origin, path: '/', method: 'POST', body: 'text' })
      .catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(errors.SocketError)
    expect(error).toMatchObject({ processed: 'maybe', attempts: 1 })
  })
})

describe('a MockAgent as the fallback', () => {
  it.each([
    { name: '6', make: () => new MockAgent6() as unknown as MockAgent },
    { name: '7', make: () => new MockAgent() },
  ])('of undici $name gives the response that it was set up with', async ({ make }) => {
    const mock = make()
    mock.disableNetConnect()
    onTestFinished(() => mock.close())
    mock.get('http://example.com').intercept({ path: '/a', method: 'POST' }).reply(201, 'made')
    const agent = destroyWithTest(new Agent({ fallback: mock as unknown as FallbackDispatcher }))
    const given = { origin: 'http://example.com', path: '/a', method: 'POST', body: 'text' } as const
    const { statusCode, body } = await agent.request(given)
    expect([statusCode, await body.text()]).toEqual([201, 'made'])
    const error = await agent.request({ ...given, path: '/b' }).catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(Error)
  })
})

describe('a Pool of undici as the fallback', () => {
  it('of a Client serves its one origin', async () => {
    const server = await startHttp1()
    const pool = new Pool7(server.origin, { connect: { ca: server.ca } })
    onTestFinished(() => pool.destroy())
    const agent = destroyWithTest(
      new Agent({ connect: { ca: server.ca }, fallback: pool as unknown as FallbackDispatcher }),
    )
    const { body } = await agent.request({ origin: server.origin, path: '/', method: 'GET' })
    expect(await body.text()).toBe('GET / over 1.1')
  })
})

describe('a value that is no dispatcher', () => {
  it.each([1, 'text', {}, { dispatch: 1 }, () => {}])('(%o) is refused as the fallback', (fallback) => {
    const toAgent = () => new Agent({ fallback: fallback as unknown as FallbackDispatcher })
    expect(toAgent).toThrow(errors.InvalidArgumentError)
    expect(toAgent).toThrow('fallback')
  })
})

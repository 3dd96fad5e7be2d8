import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import * as undici7 from 'undici'
import * as undici6 from 'undici-6'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { Client, errors } from '../../src/index.ts'
import type { DispatcherComposeInterceptor, DispatchHandler, RequestOptions } from '../../types/index.ts'
import { startClient } from '../support/clients/agents.ts'
import { watchHeaderObjects } from '../support/clients/engines.ts'
import { INERT } from '../support/clients/inert-controller.ts'
import type { StreamListener } from '../support/servers/server.ts'
import { read } from '../support/servers/server.ts'

const GET = { path: '/', method: 'GET' } as const

async function start(listener: StreamListener) {
  const { server, client } = await startClient((stream, headers) => {
    if (headers[':path'] !== '/hello') return listener(stream, headers)
    stream.respond({ ':status': 200 })
    stream.end('hello')
  })
  return { server, client }
}

async function expectHello(client: Client): Promise<void> {
  expect(await (await client.request({ path: '/hello', method: 'GET' })).body.text()).toBe('hello')
}

describe('informational responses', () => {
  it('go to onInfo, each with its own fields and in their order, before the final response', async () => {
    const { client } = await start((stream) => {
      stream.additionalHeaders({ ':status': 100 })
      stream.additionalHeaders({ ':status': 102, 'x-step': '1' })
      stream.additionalHeaders({ ':status': 103, link: '</a>' })
      stream.additionalHeaders({ ':status': 103, link: '</b>' })
      stream.respond({ ':status': 200 })
      stream.end('done')
    })
    const infos: unknown[] = []
    const { statusCode, headers, body } = await client.request({
      ...GET,
      onInfo: ({ statusCode, headers }) => infos.push([statusCode, { ...headers, date: undefined }]),
    })
    expect(await body.text()).toBe('done')
    expect(statusCode).toBe(200)
    expect(headers.link).toBeUndefined()
    expect(infos).toEqual([
      [100, {}],
      [102, { 'x-step': '1' }],
      [103, { link: '</a>' }],
      [103, { link: '</b>' }],
    ])
  })

  it('come with the very header object that the engine made, without pseudo-headers and symbols', async () => {
    const { client } = await start((stream) => {
      stream.additionalHeaders({ ':status': 103, link: '</a>' })
      stream.respond({ ':status': 200 })
      stream.end('done')
    })
    const made = watchHeaderObjects()
    let heard: unknown
    const onInfo = ({ headers }: { headers: unknown }): void => {
      heard = headers
    }
    const { body } = await client.request({ ...GET, onInfo })
    await body.dump()
    expect(made().some((object) => object === heard)).toBe(true)
    expect(heard).toMatchObject({ link: '</a>' })
    expect(Object.getPrototypeOf(heard)).toBeNull()
    expect(Reflect.ownKeys(heard as object)).not.toContain(':status')
  })

  it('are ignored without onInfo', async () => {
    const { client } = await start((stream) => {
      stream.additionalHeaders({ ':status': 103, link: '</a>' })
      stream.respond({ ':status': 404 })
      stream.end()
    })
    const { statusCode, body } = await client.request({ ...GET, onInfo: null })
    await body.dump()
    expect(statusCode).toBe(404)
  })

  it('may be as many as 300', async () => {
    const { client } = await start((stream) => {
      for (let i = 0; i < 300; i++) stream.additionalHeaders({ ':status': 102 })
      stream.respond({ ':status': 200 })
      stream.end('done')
    })
    let count = 0
    const { body } = await client.request({ ...GET, onInfo: () => void count++ })
    expect(await body.text()).toBe('done')
    expect(count).toBe(300)
  })

  it.each([
    {
      what: 'more than 300 of them',
      count: 301,
      fields: {},
      error: errors.HeadersCountError,
    },
    {
      what: 'more than maxHeaderSize bytes of them in all',
      count: 20,
      fields: { link: 'x'.repeat(4_000) },
      error: errors.HeadersOverflowError,
    },
  ])('fail the call when there are $what, and no other call', async ({ count, fields, error }) => {
    const { client, server } = await start((stream) => {
      for (let i = 0; i < count; i++) stream.additionalHeaders({ ':status': 102, ...fields })
      stream.respond({ ':status': 200 })
      stream.end('done')
    })
    const failed = client.request(GET)
    const sibling = client.request({ path: '/hello', method: 'GET' })
    await expect(failed).rejects.toBeInstanceOf(error)
    expect(await (await sibling).body.text()).toBe('hello')
    await expectHello(client)
    expect(server.sessions).toHaveLength(1)
  })

  it('fail the call when onInfo throws, and no other call', async () => {
    const { client, server } = await start((stream) => {
      stream.additionalHeaders({ ':status': 103 })
      stream.respond({ ':status': 200 })
      stream.end('done')
    })
    const error = new Error('mine')
    const failed = client.request({
      ...GET,
      onInfo: () => {
        throw error
      },
    })
    await expect(failed).rejects.toBe(error)
    await expectHello(client)
    expect(server.sessions).toHaveLength(1)
  })
})

describe('expectContinue', () => {
  /** A body that reports when it is read. */
  function toBody() {
    const body = { pulled: 0, factory }
    async function* factory() {
      body.pulled++
      yield 'the '
      yield 'body'
    }
    return body
  }

  const POST = { path: '/', method: 'POST', expectContinue: true } satisfies RequestOptions

  it('holds the body back until the server says 100', async () => {
    const heard: unknown[] = []
    const body = toBody()
    const { client } = await start((stream, headers) => {
      heard.push(headers.expect, body.pulled)
      // What is on its way has come before the response to a PING.
      stream.session?.ping(() => {
        heard.push(body.pulled, stream.readableLength)
        stream.additionalHeaders({ ':status': 100 })
        void read(stream).then((text) => {
          stream.respond({ ':status': 200 })
          stream.end(text)
        })
      })
    })
    const infos: number[] = []
    const { body: response } = await client.request({
      ...POST,
      body: body.factory(),
      onInfo: ({ statusCode }) => infos.push(statusCode),
    })
    expect(await response.text()).toBe('the body')
    expect(heard).toEqual(['100-continue', 0, 0, 0])
    expect(infos).toEqual([100])
  })

  it('sends the body after a second when the server sends no response', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance', 'Date'] })
    onTestFinished(() => void vi.useRealTimers())
    const body = toBody()
    let responded: Promise<void> | null = null
    const { client } = await start((stream) => {
      responded = read(stream).then((text) => {
        stream.respond({ ':status': 200 })
        stream.end(text)
      })
    })
    const call = client.request({ ...POST, body: body.factory() })
    while (responded === null) await new Promise((resolve) => setImmediate(resolve))
    await vi.advanceTimersByTimeAsync(900)
    expect(body.pulled).toBe(0)
    await vi.advanceTimersByTimeAsync(2_000)
    expect(await (await call).body.text()).toBe('the body')
  })

  it('has no effect without a body', async () => {
    let expectation: unknown = 'unknown'
    const { client } = await start((stream, headers) => {
      expectation = headers.expect
      stream.respond({ ':status': 200 })
      stream.end('done')
    })
    const { body } = await client.request({ ...GET, expectContinue: true })
    expect(await body.text()).toBe('done')
    expect(expectation).toBeUndefined()
  })

  it('refuses a value other than true and false', async () => {
    const { client } = await start(() => {})
    const refused = client.request({ ...GET, expectContinue: 'yes' as unknown as boolean })
    await expect(refused).rejects.toThrow('expectContinue')
  })
})

describe('an interceptor that takes the header section for itself', () => {
  /** It passes on everything else. */
  const withhold: DispatcherComposeInterceptor = (dispatch) => (options, handler) => {
    const forwarding = new Proxy(handler, {
      get: (target, name) => {
        const method: unknown = name === 'onResponseStart' ? () => {} : Reflect.get(target, name)
        return typeof method === 'function' ? method.bind(target) : method
      },
    })
    return dispatch(options, forwarding)
  }

  const text = 'The response ended before its header section arrived'

  async function startWithheld() {
    const { client } = await start(() => {})
    return client.compose(withhold)
  }

  const HELLO = { path: '/hello', method: 'GET' } as const

  it('fails request()', async () => {
    await expect((await startWithheld()).request(HELLO)).rejects.toThrow(text)
  })

  it('fails stream()', async () => {
    await expect((await startWithheld()).stream(HELLO, () => new PassThrough())).rejects.toThrow(text)
  })

  it('fails pipeline()', async () => {
    const duplex = (await startWithheld()).pipeline(HELLO, ({ body }) => body)
    const [error] = await once(duplex.end(), 'error')
    expect(error.message).toBe(text)
  })

  it.each([
    ['connect()', (client: Client) => client.connect({ path: 'a.test:1' })],
    ['upgrade()', (client: Client) => client.upgrade({ path: '/', protocol: 'websocket' })],
  ])('fails %s', async (_name, open) => {
    const sender = new Client('http://a.test')
    onTestFinished(() => sender.destroy())
    const client = sender.compose(() => (_options, handler) => {
      const { onRequestStart, onResponseEnd } = handler as DispatchHandler
      onRequestStart?.call(handler, INERT, null)
      onResponseEnd?.call(handler, INERT, {})
      return true
    })
    await expect(open(client)).rejects.toThrow(text)
  })

  it.each([
    ['undici 6', undici6.interceptors.retry],
    ['undici 7', undici7.interceptors.retry],
  ])("fails the call that %s's retry interceptor mistakes for a second attempt, after a 103", async (_name, retry) => {
    const { client } = await start((stream) => {
      stream.additionalHeaders({ ':status': 103, link: '</a>' })
      stream.respond({ ':status': 200 })
      stream.end('done')
    })
    const retrying = client.compose(retry() as unknown as DispatcherComposeInterceptor)
    await expect(retrying.request(GET)).rejects.toThrow(text)
  })
})

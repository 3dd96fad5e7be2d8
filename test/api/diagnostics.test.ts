/** The channels of undici and of Dodici: what a subscriber hears of requests, sessions and the fallback. */

import { AsyncLocalStorage } from 'node:async_hooks'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { EventEmitter, once } from 'node:events'
import type { ServerHttp2Stream } from 'node:http2'
import { createServer, Socket } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Pool } from '../../src/index.ts'
import { Agent, Client, errors } from '../../src/index.ts'
import type { AgentOptions, ClientOptions, DispatchController } from '../../types/index.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import { INTERNAL_ERROR, NO_ERROR, REFUSED_STREAM } from '../support/peers/error-codes.ts'
import { startPeer } from '../support/peers/peer-rig.ts'
import { startHttp1 } from '../support/servers/fallback-http1.ts'
import { findFreePort } from '../support/servers/free-port.ts'
import { listen } from '../support/servers/listen.ts'
import type { StreamListener } from '../support/servers/server.ts'
import { startServer } from '../support/servers/server.ts'

const GET = { path: '/', method: 'GET' } as const
const POST = { path: '/up?a=b', method: 'POST', body: 'hello' } as const

type Message = Record<string, unknown>

/** What was published, in its order: the channel without its prefix, and the message. */
interface Published {
  readonly name: string
  readonly message: Message
}

/** Listens to channels until the test ends. */
function listenTo(prefix: string, names: readonly string[]): Published[] {
  const heard: Published[] = []
  for (const name of names) {
    const onMessage = (message: unknown): void => {
      heard.push({ name, message: { ...(message as Message) } })
    }
    subscribe(`${prefix}${name}`, onMessage)
    onTestFinished(() => {
      unsubscribe(`${prefix}${name}`, onMessage)
    })
  }
  return heard
}

const REQUEST = ['create', 'bodyChunkSent', 'bodySent', 'headers', 'bodyChunkReceived', 'trailers', 'error']
const CLIENT = ['beforeConnect', 'connected', 'connectError', 'sendHeaders']
const CALLS = ['queued', 'attempt', 'response', 'retry', 'end'].map((step) => `dodici:request:${step}`)
const SESSION = ['open', 'ready', 'draining', 'closed', 'ping', 'stall']

const serveTrailers: StreamListener = (stream) => {
  stream.respond({ ':status': 200, 'x-Dup': ['1', '2'] }, { waitForTrailers: true })
  stream.on('wantTrailers', () => stream.sendTrailers({ 'x-sum': 'abc' }))
  stream.end('reply')
}

async function startClient(onStream: StreamListener, options: ClientOptions = {}): Promise<Client> {
  const server = await startServer(onStream)
  return destroyWithTest(new Client(server.origin, options))
}

function toAgent(options: AgentOptions): Agent {
  return destroyWithTest(new Agent(options))
}

async function ask(
  client: Client | Pool | Agent,
  options: Parameters<Client['request']>[0],
): Promise<string> {
  const { body } = await client.request(options)
  return body.text()
}

describe("undici's channels", () => {
  it('publish a request from its creation to its trailers, with one object', async () => {
    const heard = listenTo('undici:request:', REQUEST)
    const client = await startClient(serveTrailers)
    expect(await ask(client, { ...POST, headers: { 'X-A': '1' } })).toBe('reply')
    expect(heard.map(({ name }) => name)).toEqual([
      ...['create', 'bodyChunkSent', 'bodySent', 'headers', 'bodyChunkReceived', 'trailers'],
    ])
    expect(new Set(heard.map(({ message }) => message.request)).size).toBe(1)
    const [{ message = {} } = {}] = heard
    expect(message.request).toMatchObject({
      method: 'POST',
      path: '/up?a=b',
      completed: true,
      aborted: false,
      headers: ['x-a', '1', 'content-length', '5'],
    })
    const { origin } = message.request as { origin: string }
    expect(new URL('/up', origin).pathname).toBe('/up')
    const byName = Object.fromEntries(heard.map((each) => [each.name, each.message]))
    expect(String(byName.bodyChunkSent?.chunk)).toBe('hello')
    expect(String(byName.bodyChunkReceived?.chunk)).toBe('reply')
    const { statusCode, headers } = byName.headers?.response as { statusCode: number; headers: Buffer[] }
    expect(statusCode).toBe(200)
    expect(headers.slice(0, 4).map(String)).toEqual(['x-dup', '1', 'x-dup', '2'])
    expect((byName.trailers?.trailers as Buffer[]).map(String)).toEqual(['x-sum', 'abc'])
  })

  it('publish its failure', async () => {
    const heard = listenTo('undici:request:', ['create', 'error', 'trailers'])
    const client = await startClient((stream) => stream.close(INTERNAL_ERROR))
    await expect(ask(client, GET)).rejects.toBeInstanceOf(errors.StreamError)
    expect(heard.map(({ name }) => name)).toEqual(['create', 'error'])
    expect(heard[1]?.message).toMatchObject({
      request: { completed: false, aborted: true },
      error: { http2ErrorCode: 2 },
    })
  })

  it('let a subscriber add a header, as a tracer does', async () => {
    const onCreate = (message: unknown): void => {
      const { request } = message as { request: { addHeader(name: string, value: string): void } }
      request.addHeader('Traceparent', '00-1-2-01')
    }
    subscribe('undici:request:create', onCreate)
    onTestFinished(() => {
      unsubscribe('undici:request:create', onCreate)
    })
    const client = await startClient((stream, headers) => {
      stream.respond({ ':status': 200 })
      stream.end(headers.traceparent)
    })
    expect(await ask(client, GET)).toBe('00-1-2-01')
    // With a body that each attempt makes anew.
    expect(await ask(client, { ...POST, body: () => 'made' })).toBe('00-1-2-01')
  })

  it('publish each attempt that is sent, with its socket', async () => {
    const heard = listenTo('undici:client:', CLIENT)
    let isFirst = true
    const client = await startClient((stream) => {
      if (isFirst) {
        isFirst = false
        stream.close(REFUSED_STREAM)
        return
      }
      stream.respond({ ':status': 200 })
      stream.end('hello')
    })
    expect(await ask(client, GET)).toBe('hello')
    expect(heard.map(({ name }) => name)).toEqual([
      'beforeConnect',
      'connected',
      'sendHeaders',
      'sendHeaders',
    ])
    const [before, connected, first, second] = heard.map(({ message }) => message)
    expect(before?.connectParams).toMatchObject({ hostname: '127.0.0.1', protocol: 'http:', version: 'h2' })
    expect(connected?.connectParams).toEqual(before?.connectParams)
    expect(first?.request).toBe(second?.request)
    expect(first?.headers).toContain(':path: /\r\n')
    expect(first?.socket).toMatchObject({ remoteAddress: '127.0.0.1' })
  })

  it('publish a connection that fails', async () => {
    const heard = listenTo('undici:client:', CLIENT)
    const client = new Client(`http://127.0.0.1:${await findFreePort()}`)
    await expect(ask(client, GET)).rejects.toMatchObject({ code: 'ECONNREFUSED' })
    expect(heard.map(({ name }) => name)).toEqual(['beforeConnect', 'connectError'])
    expect(heard[1]?.message.error).toMatchObject({ code: 'ECONNREFUSED' })
    await client.close()
  })

  it('publish a tunnel as a request that is complete', async () => {
    const heard = listenTo('undici:request:', REQUEST)
    const client = await startClient((stream) => {
      stream.respond({ ':status': 200 })
      stream.end()
    })
    const { socket } = await client.connect({ path: 'example.test:80' })
    socket.destroy()
    expect(heard.map(({ name }) => name)).toEqual(['create', 'headers', 'trailers'])
  })

  it('cost nothing without subscribers: the handler is not wrapped', async () => {
    const client = await startClient(serveTrailers)
    const receivers: unknown[] = []
    const handler = {
      onRequestStart(this: unknown) {
        receivers.push(this)
      },
      onResponseStart() {},
      onResponseData() {},
      onResponseEnd(this: unknown) {
        receivers.push(this)
      },
      onResponseError() {},
    }
    client.dispatch(GET, handler)
    await expect.poll(() => receivers.length).toBe(2)
    expect(receivers).toEqual([handler, handler])
  })
})

describe('dodici:session:*', () => {
  it('publish the life of a session that is closed, with one object', async () => {
    const heard = listenTo('dodici:session:', SESSION)
    const client = await startClient(serveTrailers)
    await ask(client, GET)
    await client.close()
    expect(heard.map(({ name }) => name)).toEqual(['open', 'ready', 'draining', 'closed'])
    const [open, ready, draining, closed] = heard.map(({ message }) => message)
    expect(new Set(heard.map(({ message }) => message.session)).size).toBe(1)
    expect(open?.session).toMatchObject({ id: 1, openedFor: 'cold' })
    expect(ready?.socket).toBeInstanceOf(Socket)
    expect(draining).toMatchObject({ goaway: null })
    expect(closed).toMatchObject({ cause: null })
  })

  it("publish the content of a server's GOAWAY, and the session that replaces the first", async () => {
    const heard = listenTo('dodici:session:', SESSION)
    let isFirst = true
    const client = await startClient((stream) => {
      if (isFirst) stream.session?.goaway(NO_ERROR, 1, Buffer.from('moving'))
      isFirst = false
      stream.respond({ ':status': 200 })
      stream.end('hello')
    })
    await ask(client, GET)
    await expect.poll(() => heard.some(({ name }) => name === 'closed')).toBe(true)
    await ask(client, GET)
    const goaway = heard.find(({ name }) => name === 'draining')?.message.goaway
    expect(goaway).toMatchObject({ code: 0, lastStreamId: 1, debugData: Buffer.from('moving') })
    const opened = heard.filter(({ name }) => name === 'open').map(({ message }) => message.session)
    expect(opened).toMatchObject([{ id: 1 }, { id: 2 }])
  })

  it('publish why a session was lost', async () => {
    const heard = listenTo('dodici:session:', SESSION)
    const { port } = await listen(
      createServer((socket) => socket.once('data', () => socket.resetAndDestroy())),
    )
    const client = new Client(`http://127.0.0.1:${port}`, { replaySafe: false })
    await expect(ask(client, GET)).rejects.toBeInstanceOf(errors.SocketError)
    await client.destroy()
    expect(heard.at(-1)).toMatchObject({ name: 'closed', message: { cause: { code: 'ECONNRESET' } } })
  })

  it('publish the round trip of a PING', async () => {
    const heard = listenTo('dodici:session:', ['ping'])
    const client = await startClient(() => {}, { pingInterval: 10 })
    const held = ask(client, GET).catch((error: unknown) => error)
    await expect.poll(() => heard.length).toBeGreaterThan(0)
    expect(heard[0]?.message.rtt).toBeGreaterThan(0)
    await client.destroy()
    expect(await held).toBeInstanceOf(errors.ClientDestroyedError)
  })

  it('publish an upload that waits for the connection window', async () => {
    const heard = listenTo('dodici:session:', ['stall'])
    const arrived = new EventEmitter()
    const onStream = once(arrived, 'stream')
    const client = await startClient((stream) => arrived.emit('stream', stream))
    const response = ask(client, { ...POST, body: Buffer.alloc(1_000_000) })
    await expect.poll(() => heard.length).toBeGreaterThan(0)
    expect(heard[0]?.message).toMatchObject({ session: { id: 1 }, streamId: 1, sessionWindow: 0 })
    // It is heard when it is sent, which may be before the server has it.
    const [stream]: ServerHttp2Stream[] = await onStream
    stream?.resume()
    stream?.respond({ ':status': 200 })
    stream?.end('hello')
    expect(await response).toBe('hello')
  })
})

describe('the channels of requests', () => {
  it('over HTTP/2 › tell of each step, with one object for the request', async () => {
    const heard = listenTo('', CALLS)
    const { origin } = await startServer((stream) => stream.end('hello'))
    const agent = toAgent({ h2c: true })
    await ask(agent, { ...GET, origin, path: '/a?b' })
    const connection = { protocol: 'h2c', sessionId: 1, streamId: 1, attempts: 1 }
    expect(heard).toEqual([
      {
        name: 'dodici:request:queued',
        message: { request: expect.objectContaining({ origin, path: '/a?b' }) },
      },
      { name: 'dodici:request:attempt', message: { request: expect.anything(), connection } },
      {
        name: 'dodici:request:response',
        message: { request: expect.anything(), connection, statusCode: 200 },
      },
      { name: 'dodici:request:end', message: { request: expect.anything(), connection, error: null } },
    ])
    expect(new Set(heard.map(({ message }) => message.request)).size).toBe(1)
  })

  it('over HTTP/1.1 › tell of each step, too', async () => {
    const heard = listenTo('', CALLS)
    const fallbacks = listenTo('', ['dodici:fallback'])
    const { origin, ca } = await startHttp1()
    const agent = toAgent({ connect: { ca } })
    await ask(agent, { ...GET, origin })
    await ask(agent, { ...GET, origin })
    const steps = ['attempt', 'response', 'end'].map((step) => `dodici:request:${step}`)
    expect(heard.map(({ name }) => name)).toEqual(['dodici:request:queued', ...steps, ...steps])
    const connection = { protocol: 'http/1.1', sessionId: null, streamId: null, attempts: 1 }
    expect(heard[1]?.message).toMatchObject({ connection })
    expect(fallbacks).toEqual([{ name: 'dodici:fallback', message: { origin, reason: 'alpn' } }])
  })

  it.each([
    ['option', {}],
    ['option', { h2c: false }],
  ] as const)('the fallback by %s %o › is told with its reason, once', async (reason, options) => {
    const fallbacks = listenTo('', ['dodici:fallback'])
    const { origin } = await startHttp1(undefined, { tls: false })
    const agent = toAgent(options)
    for (let round = 0; round < 3; round++) await ask(agent, { ...GET, origin })
    expect(fallbacks).toEqual([{ name: 'dodici:fallback', message: { origin, reason } }])
  })

  it('a retry › has its reason, its error and its attempt, in the context of the caller', async () => {
    const store = new AsyncLocalStorage<string>()
    const contexts: unknown[] = []
    const note = (): void => void contexts.push(store.getStore())
    for (const name of CALLS) {
      subscribe(name, note)
      onTestFinished(() => void unsubscribe(name, note))
    }
    const heard = listenTo('', ['dodici:request:retry'])
    const peer = await startPeer({
      onComplete: (stream) => (stream.id === 1 ? stream.refuse() : stream.respond()),
    })
    const agent = toAgent({ h2c: true })
    await store.run('ours', () => ask(agent, { ...GET, origin: peer.origin }))
    expect(heard).toEqual([
      {
        name: 'dodici:request:retry',
        message: {
          request: expect.objectContaining({ method: 'GET', path: '/' }),
          connection: { protocol: 'h2c', sessionId: 1, streamId: 1, attempts: 1 },
          reason: 'unprocessed',
          error: expect.objectContaining({ message: expect.stringContaining('REFUSED_STREAM') }),
        },
      },
    ])
    expect(new Set(contexts)).toEqual(new Set(['ours']))
  })

  it('a subscriber that ends the call at a retry › is obeyed', async () => {
    const abort = new AbortController()
    const onRetry = (): void => abort.abort()
    subscribe('dodici:request:retry', onRetry)
    onTestFinished(() => void unsubscribe('dodici:request:retry', onRetry))
    const peer = await startPeer({ onComplete: (stream) => stream.refuse() })
    const agent = toAgent({ h2c: true })
    const asked = agent.request({ ...GET, origin: peer.origin, signal: abort.signal })
    await expect(asked).rejects.toMatchObject({ name: 'AbortError' })
    expect(agent.stats[peer.origin]).toMatchObject({ pending: 0, running: 0 })
  })
})

const STEPS = ['dodici:request:attempt', 'dodici:request:response']

describe.each([
  {
    protocol: 'HTTP/2',
    start: async () => (await startServer((stream) => stream.end('hello'))).origin,
    names: [...STEPS, 'undici:request:bodyChunkReceived'],
  },
  {
    protocol: 'HTTP/1.1',
    start: async () => (await startHttp1(undefined, { tls: false })).origin,
    // Those of undici's channels are the fallback's undici's there.
    names: STEPS,
  },
])('a subscriber that ends the call, over $protocol', ({ protocol, start, names }) => {
  it.each(names)('at %s › the handler hears of its end, and of nothing behind it', async (name) => {
    const origin = await start()
    const heard: string[] = []
    let controller: DispatchController | null = null
    const onMessage = (): void => controller?.abort(new Error('enough'))
    subscribe(name, onMessage)
    onTestFinished(() => void unsubscribe(name, onMessage))
    const agent = toAgent({ h2c: protocol === 'HTTP/2' })
    await new Promise<void>((resolve) => {
      agent.dispatch(
        { ...GET, origin },
        {
          onRequestStart: (given) => {
            controller = given
          },
          onRequestSent: () => void heard.push('sent'),
          onResponseStart: () => void heard.push('response'),
          onResponseData: () => void heard.push('data'),
          onResponseEnd: () => resolve(),
          onResponseError: () => {
            heard.push('error')
            setImmediate(resolve)
          },
        },
      )
    })
    expect(heard.filter((what) => what === 'error')).toHaveLength(1)
    expect(heard.at(-1)).toBe('error')
  })
})

describe('the channels of sessions', () => {
  it('say the version of HTTP, and what the peer has set', async () => {
    const heard = listenTo('', ['dodici:session:ready', 'dodici:session:settings'])
    const { origin, ca } = await startServer((stream) => stream.end('hello'), {
      tls: true,
      settings: { maxConcurrentStreams: 7 },
    })
    const agent = toAgent({ connect: { ca } })
    await ask(agent, { ...GET, origin })
    const session = { id: 1, origin, openedFor: 'cold', protocol: 'h2' }
    expect(heard.map(({ message }) => message.session)).toEqual([session, session])
    expect(heard[1]?.message).toMatchObject({ settings: { maxConcurrentStreams: 7 } })
  })
})

describe('stats over HTTP/1.1', () => {
  it('have the connections and the running requests of the fallback', async () => {
    const { origin, ca } = await startHttp1((request, response) => {
      request.resume()
      response.write('a part')
    })
    const agent = toAgent({ connect: { ca } })
    const { body } = await agent.request({ ...GET, origin })
    expect(agent.stats[origin]).toMatchObject({ running: 1, http1: { connections: 1, running: 1 } })
    body.on('error', () => {}).destroy()
    await expect.poll(() => agent.stats[origin]).toMatchObject({ http1: { connections: 0, running: 0 } })
  })
})

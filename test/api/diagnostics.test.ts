import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { EventEmitter, once } from 'node:events'
import type { ServerHttp2Stream } from 'node:http2'
import { createServer, Socket } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Pool } from '../../src/index.ts'
import { Client, errors } from '../../src/index.ts'
import type { ClientOptions } from '../../types/index.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import { INTERNAL_ERROR, NO_ERROR, REFUSED_STREAM } from '../support/peers/error-codes.ts'
import { findFreePort } from '../support/servers/free-port.ts'
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
const SESSION = ['open', 'ready', 'draining', 'closed', 'ping', 'stall']

const serveTrailers: StreamListener = (stream) => {
  stream.respond({ ':status': 200, 'x-Dup': ['1', '2'] }, { waitForTrailers: true })
  stream.on('wantTrailers', () => stream.sendTrailers({ 'x-sum': 'abc' }))
  stream.end('reply')
}

async function startClient(onStream: StreamListener, options: ClientOptions = {}): Promise<Client> {
  const server = await startServer(onStream)
  const client = destroyWithTest(new Client(server.origin, options))
  return client
}

async function ask(client: Client | Pool, options: Parameters<Client['request']>[0]): Promise<string> {
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
    const server = createServer((socket) => socket.once('data', () => socket.resetAndDestroy()))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => {
      server.close()
    })
    const address = server.address()
    const port = typeof address === 'object' ? address?.port : null
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

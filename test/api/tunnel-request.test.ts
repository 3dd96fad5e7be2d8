import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { Client, errors } from '../../src/index.ts'
import { destroyWithTest, startClient } from '../support/clients/agents.ts'
import type { StreamListener } from '../support/servers/server.ts'
import { startServer } from '../support/servers/server.ts'

const TARGET = { path: 'example.test:443' } as const
const GET = { path: '/hello', method: 'GET' } as const

const accept: StreamListener = (stream) => {
  stream.respond({ ':status': 200 })
  stream.pipe(stream)
}

async function start(listener: StreamListener) {
  return startClient(listener, {}, { settings: { enableConnectProtocol: true } })
}

describe('connect()', () => {
  it('sends :method and :authority alone, and the header fields that it is given', async () => {
    let heard: Record<string, unknown> = {}
    const { client } = await start((stream, headers) => {
      heard = Object.fromEntries(Object.entries(headers))
      accept(stream, headers)
    })
    const { socket } = await client.connect({ ...TARGET, headers: { 'proxy-authorization': 'Basic eDp5' } })
    socket.destroy()
    expect(heard).toEqual({
      ':method': 'CONNECT',
      ':authority': 'example.test:443',
      'proxy-authorization': 'Basic eDp5',
    })
  })

  it.each([
    { path: '[::1]:8443', authority: '[::1]:8443' },
    { path: '127.0.0.1:80', authority: '127.0.0.1:80' },
  ])('takes $path as the authority', async ({ path, authority }) => {
    let heard: unknown
    const { client } = await start((stream, headers) => {
      heard = headers[':authority']
      accept(stream, headers)
    })
    const { socket } = await client.connect({ path })
    socket.destroy()
    expect(heard).toBe(authority)
  })

  it('means the origin itself by a path that starts with a slash', async () => {
    let heard: unknown
    const { client, server } = await start((stream, headers) => {
      heard = headers[':authority']
      accept(stream, headers)
    })
    const { socket } = await client.connect({ path: '/' })
    socket.destroy()
    expect(heard).toBe(new URL(server.origin).host)
  })

  it.each([
    { what: 'no port', path: 'example.test' },
    { what: 'a scheme', path: 'https://example.test:443' },
    { what: 'credentials', path: 'me:secret@example.test:443' },
    { what: 'white space', path: 'example.test:443 x' },
    { what: 'nothing', path: '' },
    { what: 'a bare IPv6 address', path: '::1:443' },
    { what: 'no string', path: 443 as unknown as string },
  ])('refuses an authority with $what', async ({ path }) => {
    const { client, server } = await start(accept)
    const refused = client.connect({ path })
    await expect(refused).rejects.toBeInstanceOf(errors.InvalidArgumentError)
    await expect(refused).rejects.toThrow('path')
    expect(server.sessions).toHaveLength(0)
  })
})

describe('an established tunnel', () => {
  it('takes one of the streams that the peer allows', async () => {
    const server = await startServer(
      (stream, headers) => {
        stream.respond({ ':status': 200 })
        if (headers[':method'] === 'CONNECT') stream.pipe(stream)
        else stream.end('hello')
      },
      { settings: { maxConcurrentStreams: 1 } },
    )
    const client = destroyWithTest(new Client(server.origin))
    const { socket } = await client.connect(TARGET)
    const [session] = server.sessions
    await new Promise((resolve) => session?.ping(resolve))
    let isResponded = false
    const waiting = client.request(GET).then(({ body }) => {
      isResponded = true
      return body.text()
    })
    for (let i = 0; i < 3; i++) await new Promise((resolve) => session?.ping(resolve))
    expect(isResponded).toBe(false)
    expect(client.stats.pending).toBe(1)
    socket.end()
    socket.resume()
    expect(await waiting).toBe('hello')
    expect(server.sessions).toHaveLength(1)
  })
})

describe('upgrade()', () => {
  it.each([
    { protocol: undefined, expected: 'websocket' },
    { protocol: 'Websocket', expected: 'websocket' },
    { protocol: 'connect-udp', expected: 'connect-udp' },
  ])('sends extended CONNECT with :protocol $expected', async ({ protocol, expected }) => {
    let heard: Record<string, unknown> = {}
    const { client, server } = await start((stream, headers) => {
      heard = Object.fromEntries(Object.entries(headers))
      accept(stream, headers)
    })
    const headers = { 'sec-websocket-version': '13' }
    const { socket, statusCode } = await client.upgrade({ path: '/chat?room=1', protocol, headers })
    socket.destroy()
    expect(statusCode).toBe(200)
    expect(heard).toEqual({
      ':method': 'CONNECT',
      ':protocol': expected,
      ':scheme': 'http',
      ':authority': new URL(server.origin).host,
      ':path': '/chat?room=1',
      'sec-websocket-version': '13',
    })
  })

  it.each([
    'web socket',
    'a/b/c',
    '/1',
    'a/',
    5 as unknown as string,
  ])('refuses the protocol %j', async (protocol) => {
    const { client } = await start(accept)
    await expect(client.upgrade({ path: '/', protocol })).rejects.toBeInstanceOf(errors.InvalidArgumentError)
  })

  describe("when the peer doesn't offer extended CONNECT", () => {
    it('nor a fallback, fails with NotSupportedError before a stream is opened, and siblings live', async () => {
      let streams = 0
      const { client } = await startClient(
        (stream) => {
          streams++
          stream.respond({ ':status': 200 })
          stream.end('hello')
        },
        { fallback: null },
      )
      const sibling = client.request(GET)
      const refused = client.upgrade({ path: '/' })
      await expect(refused).rejects.toBeInstanceOf(errors.NotSupportedError)
      await expect(refused).rejects.toMatchObject({ processed: 'no', attempts: 0, streamId: null })
      expect(await (await sibling).body.text()).toBe('hello')
      await expect(client.upgrade({ path: '/' })).rejects.toBeInstanceOf(errors.NotSupportedError)
      expect(streams).toBe(1)
    })
  })

  it('waits for SETTINGS on a cold connection', async () => {
    const { client, server } = await start(accept)
    // Many at once: none of them may go out before the peer has said that it takes them.
    const sockets = await Promise.all(Array.from({ length: 5 }, () => client.upgrade({ path: '/' })))
    for (const { socket } of sockets) {
      socket.write('ping')
      expect((await once(socket, 'data')).toString()).toBe('ping')
      socket.destroy()
    }
    expect(server.sessions).toHaveLength(1)
  })
})

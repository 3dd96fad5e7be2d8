/** What undici takes for servers and proxies of HTTP/1.1: a URL as path, and protocols with a version. */

import { createServer } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Agent, Client, Pool } from '../../src/index.ts'
import * as entry from '../../src/undici/all.ts'
import type { Dispatcher } from '../../types/index.ts'
import { destroyWithTest, startClient } from '../support/clients/agents.ts'
import { listen } from '../support/servers/listen.ts'
import { startServer } from '../support/servers/server.ts'
import type { AnyLibrary } from './undicis.ts'
import { UNDICIS } from './undicis.ts'

type Maker = (origin: string) => Dispatcher

const ofUndici =
  ({ Client: TheirClient }: AnyLibrary): Maker =>
  (origin) =>
    new TheirClient(origin, {}) as unknown as Dispatcher

const THEIRS = UNDICIS.map(([name, library]) => [name, ofUndici(library)] as const)

const OURS: readonly [name: string, make: Maker][] = [
  ['a Client', (origin) => new Client(origin, { h2c: false })],
  ['a Pool', (origin) => new Pool(origin, { h2c: false })],
  ['an Agent', () => new Agent()],
  ['the entry’s Client', ofUndici(entry as unknown as AnyLibrary)],
]

/** A server of HTTP/1.1 that keeps the head of each request. */
async function startHeads(reply: string) {
  const heads: string[] = []
  const server = createServer((socket) => {
    let text = ''
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
      if (!text.endsWith('\r\n\r\n')) return
      heads.push(text)
      text = ''
      socket.write(reply)
    })
  })
  const { port } = await listen(server)
  return { origin: `http://127.0.0.1:${port}`, heads }
}

function start(make: Maker, origin: string): Dispatcher {
  const dispatcher = make(origin)
  onTestFinished(() => dispatcher.destroy())
  return dispatcher
}

const toFields = (head: string): string[] =>
  head
    .split('\r\n')
    .slice(1)
    .map((line) => line.toLowerCase())

const PATHS = [
  ['GET', 'http://b.test/x?y=1'],
  ['GET', 'http://b.test:8080'],
  ['OPTIONS', 'http://b.test'],
  ['GET', 'https://b.test/x'],
] as const

describe.each([...THEIRS, ...OURS])('%s, with a proxy of HTTP/1.1', (name, make) => {
  it.each(PATHS)('sends the path as it is: %s %s', async (method, path) => {
    const { origin, heads } = await startHeads('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n')
    const { statusCode, body } = await start(make, origin).request({ origin, path, method })
    await body.dump()
    expect([statusCode, heads.map((head) => head.split('\r\n')[0])]).toEqual([
      200,
      [`${method} ${path} HTTP/1.1`],
    ])
    const [head = ''] = heads
    // RFC 9112 §3.2: the host of the URL. undici says its own.
    const { host } = new URL(name.startsWith('undici') ? origin : path)
    expect(toFields(head)).toContain(`host: ${host}`)
  })

  it.each(['SPDY/3.1', 'foo', 'HTTP/3.0', undefined])('asks for the protocol %s', async (protocol) => {
    const { origin, heads } = await startHeads(
      'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: any\r\n\r\n',
    )
    const { headers, socket } = await start(make, origin).upgrade({ origin, path: '/', protocol })
    socket.destroy()
    const [head = ''] = heads
    expect(toFields(head)).toContain(`upgrade: ${(protocol ?? 'websocket').toLowerCase()}`)
    expect(headers).toMatchObject({ upgrade: 'any' })
  })
})

describe('over HTTP/2', () => {
  it.each([
    ['GET', 'http://b.test/x?y=1', ['http', 'b.test', '/x?y=1']],
    ['GET', 'https://b.test:8443', ['https', 'b.test:8443', '/']],
    ['OPTIONS', 'http://b.test', ['http', 'b.test', '*']],
  ])('the parts of a URL are pseudo-headers: %s %s', async (method, path, expected) => {
    const heard: unknown[] = []
    const { client } = await startClient((stream, headers) => {
      heard.push([':scheme', ':authority', ':path'].map((name) => headers[name]))
      stream.respond({ ':status': 200 }, { endStream: true })
    })
    const { body } = await client.request({ path, method })
    await body.dump()
    expect(heard).toEqual([expected])
  })

  it.each(['SPDY/3.1', 'Websocket', undefined])('the protocol %s is asked for', async (protocol) => {
    const heard: unknown[] = []
    const server = await startServer(
      (stream, headers) => {
        heard.push(headers[':protocol'])
        stream.respond({ ':status': 200 })
      },
      { settings: { enableConnectProtocol: true } },
    )
    const client = destroyWithTest(new Client(server.origin))
    const { socket } = await client.upgrade({ path: '/', protocol })
    socket.destroy()
    expect(heard).toEqual([protocol === 'SPDY/3.1' ? protocol : 'websocket'])
  })
})

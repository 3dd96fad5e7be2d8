/** What undici takes for servers and proxies of HTTP/1.1: a URL as path, and protocols with a version. */

import { once } from 'node:events'
import type { AddressInfo, Socket } from 'node:net'
import { createServer } from 'node:net'
import * as undici7 from 'undici'
import * as undici6 from 'undici-6'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Agent, Client, Pool } from '../../src/index.ts'
import * as entry from '../../src/undici/all.ts'
import type { Dispatcher } from '../../types/index.ts'
import { destroyWithTest, startClient } from '../support/clients/agents.ts'
import { startServer } from '../support/servers/server.ts'

const isNode20 = Number.parseInt(process.versions.node, 10) < 22
const undici8 = isNode20 ? null : ((await import('undici-8')) as unknown as typeof undici7)

type Maker = (origin: string) => Dispatcher

const ofUndici =
  ({ Client: TheirClient }: Pick<typeof undici7, 'Client'>): Maker =>
  (origin) =>
    new TheirClient(origin) as unknown as Dispatcher

const THEIRS: readonly [name: string, make: Maker][] = [
  ['undici 6', ofUndici(undici6 as unknown as typeof undici7)],
  ['undici 7', ofUndici(undici7)],
  ...(undici8 === null ? [] : [['undici 8', ofUndici(undici8)] as [string, Maker]]),
]

const OURS: readonly [name: string, make: Maker][] = [
  ['a Client', (origin) => new Client(origin, { h2c: false })],
  ['a Pool', (origin) => new Pool(origin, { h2c: false })],
  ['an Agent', () => new Agent()],
  ['the entry’s Client', ofUndici(entry as unknown as typeof undici7)],
]

/** A server of HTTP/1.1 that keeps the head of each request. */
async function startHeads(reply: string) {
  const heads: string[] = []
  const sockets: Socket[] = []
  const server = createServer((socket) => {
    sockets.push(socket.on('error', () => {}))
    let text = ''
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
      if (!text.endsWith('\r\n\r\n')) return
      heads.push(text)
      text = ''
      socket.write(reply)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, heads }
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

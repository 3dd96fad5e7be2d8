import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2'
import { createSecureServer } from 'node:http2'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { EventSource as EventSource7 } from 'undici'
import { EventSource as EventSource6 } from 'undici-6'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Agent, install, uninstall } from '../../src/index.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import { toCertificate } from '../support/servers/server.ts'
import { toChild } from './websocket-child.ts'
import type { EventSourceClass } from './websocket-event-source.ts'
import { listenTo } from './websocket-event-source.ts'

const major = Number(process.versions.node.split('.')[0])

interface Client {
  readonly client: string
  readonly eventSource: EventSourceClass
}

const CLIENTS: readonly Client[] = [
  { client: 'undici 6', eventSource: EventSource6 },
  { client: 'undici 7', eventSource: EventSource7 },
  // It doesn't load on Node 20.
  ...(major >= 22 ? [{ client: 'undici 8', eventSource: (await import('undici-8')).EventSource }] : []),
]

const KINDS = [
  { kind: 'h2', over: 'HTTP/2', version: '2.0' },
  { kind: 'h1', over: 'HTTP/1.1 alone', version: '1.1' },
  { kind: 'plain', over: 'HTTP/1.1 without TLS', version: '1.1' },
] as const

type Kind = (typeof KINDS)[number]['kind']

/** The stream ends after two events; it is asked for again, and goes on after the last one. */
const FIRST = 'retry: 1\nid: 1\ndata: one\n\n: a comment\nid: 2\nevent: named\ndata: two\ndata: lines €\n\n'
const SECOND = 'id: 3\ndata: three\n\n'

const EXPECTED = [
  { type: 'message', data: 'one', lastEventId: '1' },
  { type: 'named', data: 'two\nlines €', lastEventId: '2' },
  { type: 'message', data: 'three', lastEventId: '3' },
]

interface Asked {
  readonly version: string
  readonly accept: string | undefined
  readonly lastEventId: string | string[] | undefined
}

async function startEventServer(kind: Kind) {
  const { private: key, cert } = await toCertificate()
  const asked: Asked[] = []
  const respond = (
    request: IncomingMessage | Http2ServerRequest,
    response: ServerResponse | Http2ServerResponse,
  ): void => {
    const { httpVersion: version, headers, url } = request
    asked.push({ version, accept: headers.accept, lastEventId: headers['last-event-id'] })
    const stream: NodeJS.WritableStream = response
    if (url === '/deny') {
      response.statusCode = 403
      stream.end()
      return
    }
    response.setHeader('content-type', 'text/event-stream')
    // The first is cut amid a character.
    const bytes = Buffer.from(FIRST)
    const cut = bytes.indexOf('€') + 1
    if (asked.length > 1) stream.write(SECOND)
    else stream.write(bytes.subarray(0, cut), () => stream.end(bytes.subarray(cut)))
  }
  const server =
    kind === 'h2'
      ? createSecureServer({ key, cert }, respond)
      : kind === 'h1'
        ? createTlsServer({ key, cert }, respond)
        : createServer(respond)
  const sockets = new Set<{ destroy(): void }>()
  server.on('connection', (socket) => {
    sockets.add(socket)
  })
  server.on('sessionError', () => {})
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(async () => {
    const closed = once(server, 'close')
    server.close()
    for (const socket of sockets) socket.destroy()
    await closed
  })
  const { port } = server.address() as AddressInfo
  const origin = kind === 'plain' ? `http://127.0.0.1:${port}` : `https://localhost:${port}`
  return { origin, ca: cert, asked, connections: () => sockets.size }
}

function toExpectedAsked(version: string): Asked[] {
  const accept = 'text/event-stream'
  return [
    { version, accept, lastEventId: undefined },
    { version, accept, lastEventId: '2' },
  ]
}

function toAgent(ca: string): Agent {
  const agent = destroyWithTest(new Agent({ connect: { ca } }))
  return agent
}

describe.each(CLIENTS)('EventSource of $client', ({ eventSource }) => {
  describe.each(KINDS)('when the server speaks $over', ({ kind, version }) => {
    it.each([
      // undici 6 and 7 know the first of the two names, 8 either.
      { how: 'given', isInstalled: false },
      { how: 'installed', isInstalled: true },
    ])('gets events through an agent that is $how, and goes on after a loss', async ({ isInstalled }) => {
      const server = await startEventServer(kind)
      const agent = toAgent(server.ca)
      if (isInstalled) {
        install(agent)
        onTestFinished(uninstall)
      }
      const heard = await listenTo(eventSource, server.origin, isInstalled ? null : agent, EXPECTED.length)
      expect(heard).toEqual(EXPECTED)
      expect(server.asked).toEqual(toExpectedAsked(version))
      if (kind === 'h2') expect(server.connections()).toBe(1)
    })

    it('fails when the server responds 403', async () => {
      const server = await startEventServer(kind)
      expect(await listenTo(eventSource, `${server.origin}/deny`, toAgent(server.ca), 1)).toEqual([
        { type: 'error', readyState: 2 },
      ])
      expect(server.asked.map((asked) => asked.version)).toEqual([version])
    })
  })
})

// Node 20 has none, whatever the flag.
if (major >= 22) {
  describe.each(KINDS)('EventSource of Node, when the server speaks $over', ({ kind, version }) => {
    const runChild = toChild('websocket-event-source')

    it.each([
      'given',
      'installed',
    ])('gets events through an agent that is %s, and goes on after a loss', async (how) => {
      const server = await startEventServer(kind)
      const lines = await runChild(['--experimental-eventsource'], server.origin, server.ca, how)
      expect(lines).toEqual(EXPECTED)
      expect(server.asked).toEqual(toExpectedAsked(version))
    })
  })
}

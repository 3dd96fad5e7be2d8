/** The servers of the programs: HTTP/2 and HTTP/1.1 with TLS, plain HTTP/1.1 with WebSocket, and a proxy. */

import { once } from 'node:events'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { createServer, request as sendPlain } from 'node:http'
import { createSecureServer } from 'node:http2'
import type { AddressInfo, Socket } from 'node:net'
import { connect } from 'node:net'
import type { Duplex } from 'node:stream'
import { gzipSync } from 'node:zlib'
import { WebSocketServer } from 'ws'
import { toCertificate } from '../../support/servers/server.ts'

/** What the programs get as environment variables. */
export interface Addresses {
  readonly ORIGIN: string
  readonly PLAIN: string
  readonly WS: string
  readonly PROXY: string
  readonly CA: string
}

const BIG = 'a line of a big file\n'.repeat(20_000)

/** How often a URL was asked for. */
type Visits = Map<string, number>

/** Responds to a request of either version of HTTP. */
function serve(visits: Visits, request: IncomingMessage, response: ServerResponse): void {
  const url = request.url ?? ''
  const { pathname, search } = new URL(url, 'https://localhost')
  const count = (visits.get(url) ?? 0) + 1
  visits.set(url, count)
  const json = (value: unknown) => {
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(value))
  }
  switch (pathname) {
    case '/echo':
      response.setHeader('x-type', request.headers['content-type'] ?? 'none')
      if (request.headers['content-type']) response.setHeader('content-type', request.headers['content-type'])
      if (request.method === 'GET') response.end(`echo ${search}`)
      else request.pipe(response)
      return
    case '/big':
      response.setHeader('content-type', 'text/plain')
      response.end(BIG)
      return
    case '/busy-twice':
      response.statusCode = count > 2 ? 200 : 503
      response.end(`visit ${count}`)
      return
    case '/moved':
      response.statusCode = 302
      response.setHeader('location', '/moved-again')
      response.end()
      return
    case '/moved-again':
      response.statusCode = 307
      response.setHeader('location', '/here')
      response.end()
      return
    case '/here':
      json({ here: true })
      return
    case '/half':
      response.writeHead(200)
      response.write('half')
      return
    case '/never':
      return
    case '/fields':
      json(request.headers)
      return
    case '/cached':
      response.setHeader('cache-control', 'max-age=60')
      response.end(`visit ${count}`)
      return
    case '/zipped':
      response.setHeader('content-encoding', 'gzip')
      response.end(gzipSync('unzipped'))
      return
    case '/cookies':
      response.setHeader('set-cookie', ['a=1; Path=/', 'b=2; HttpOnly'])
      response.end()
      return
    case '/events':
      response.setHeader('content-type', 'text/event-stream')
      response.write('id: 1\ndata: first\n\n')
      response.write('id: 2\ndata: second\n\n')
      return
    default:
      response.statusCode = 404
      response.end('missing')
  }
}

const CREDENTIALS = `Basic ${Buffer.from('me:secret').toString('base64')}`

/** A proxy for `CONNECT host:port` and for absolute URLs, with a password. */
function toProxy(): Server {
  const isAllowed = ({ headers }: IncomingMessage) => headers['proxy-authorization'] === CREDENTIALS
  const proxy = createServer((request, response) => {
    if (!isAllowed(request)) {
      response.writeHead(407).end()
      return
    }
    const { method, headers, url = '' } = request
    const next = sendPlain(url, { method, headers }, (from) => {
      response.writeHead(from.statusCode ?? 502, from.headers)
      from.pipe(response)
    })
    request.pipe(next)
  })
  proxy.on('connect', (request: IncomingMessage, socket: Duplex) => {
    if (!isAllowed(request)) {
      socket.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n')
      return
    }
    const [host, port] = (request.url ?? '').split(':')
    const target = connect(Number(port), host === 'localhost' ? '127.0.0.1' : host, () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
      socket.pipe(target).pipe(socket)
    })
    target.on('error', () => socket.destroy())
    socket.on('error', () => target.destroy())
  })
  return proxy
}

/** The servers, for one program: what one has asked for is another's first visit. */
export async function startServers(): Promise<{ addresses: Addresses; close(): void }> {
  const { private: key, cert } = await toCertificate()
  const visits: Visits = new Map()
  const listener = (request: object, response: object) =>
    serve(visits, request as IncomingMessage, response as ServerResponse)
  const secure = createSecureServer({ key, cert, allowHTTP1: true }, listener)
  const plain = createServer(listener)
  const proxy = toProxy()
  const sockets = new Set<Socket>()
  const listen = async (server: Server | typeof secure): Promise<number> => {
    server.on('connection', (socket: Socket) => {
      sockets.add(socket)
      socket.on('error', () => {}).on('close', () => sockets.delete(socket))
    })
    server.on('sessionError', () => {})
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return (server.address() as AddressInfo).port
  }
  const webSockets = new WebSocketServer({ server: plain, handleProtocols: () => 'chat' })
  webSockets.on('connection', (socket) => {
    socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary }))
  })
  const ports = [await listen(secure), await listen(plain), await listen(proxy)]
  const addresses = {
    ORIGIN: `https://localhost:${ports[0]}`,
    PLAIN: `http://localhost:${ports[1]}`,
    WS: `ws://localhost:${ports[1]}/socket`,
    PROXY: `http://localhost:${ports[2]}`,
    CA: cert,
  }
  const close = () => {
    for (const server of [secure, plain, proxy]) server.close()
    for (const socket of sockets) socket.destroy()
  }
  return { addresses, close }
}

/**
 * HTTP/2 for sockets, with prior knowledge or over TLS. Both also speak HTTP/1.1, for browsers and other programs.
 *
 * @module
 */

import type { Server as Http1Server, IncomingMessage, ServerResponse } from 'node:http'
import { createServer as createHttp1Server } from 'node:http'
import type {
  Http2SecureServer,
  Http2Server,
  Http2ServerRequest,
  Http2ServerResponse,
  ServerHttp2Session,
} from 'node:http2'
import { createSecureServer, createServer } from 'node:http2'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { ServerCertificate } from '../certificates/certificate-store.ts'
import { Exchange } from './exchange.ts'
import { acceptConnect, acceptUpgrade } from './upgrade.ts'

/** RFC 9113 §3.4: what an HTTP/2 connection begins with. The method PRI is reserved for it. */
const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'

/** RFC 8441 §3: WebSockets may be opened. */
const SETTINGS = { enableConnectProtocol: true }

/** Is told about requests. */
export interface RequestOwner {
  onRequest(exchange: Exchange): void
  /** A request asked for a WebSocket. */
  onHandshake(request: IncomingMessage | Http2ServerRequest, status: number): void
}

/** Where accepted sockets go: HTTP/2 with prior knowledge, and HTTP/1.1. */
export function toPlainServer(owner: RequestOwner): (socket: Socket) => void {
  const http2 = createServer({ settings: SETTINGS })
  const http1 = createHttp1Server()
  attach(http2, owner)
  attachHttp1(http1, owner)
  return (socket) => distinguish(socket, http2, http1)
}

/** Where accepted sockets go: TLS, with HTTP/2 or HTTP/1.1 via ALPN. */
export function toSecureServer(
  certificate: ServerCertificate,
  owner: RequestOwner,
): (socket: Socket) => void {
  const server = createTls(certificate, owner)
  return (socket) => void server.emit('connection', socket)
}

function createTls({ key, cert }: ServerCertificate, owner: RequestOwner): Http2SecureServer {
  const server = createSecureServer({ key, cert, allowHTTP1: true, settings: SETTINGS })
  attach(server, owner)
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    owner.onHandshake(request, acceptUpgrade(request, socket, head))
  })
  return server
}

function attach(server: Http2Server | Http2SecureServer, owner: RequestOwner): void {
  server.on('request', (request: Http2ServerRequest, response: Http2ServerResponse) => {
    // The stream's errors are reported here, too. They end the exchange.
    request.on('error', () => {})
    owner.onRequest(new Exchange(request, response))
  })
  server.on('connect', (request: Http2ServerRequest, response: Http2ServerResponse) => {
    request.on('error', () => {})
    owner.onHandshake(request, acceptConnect(request, response))
  })
  // A session's error closes it, and its socket.
  server.on('session', (session: ServerHttp2Session) => session.on('error', () => {}))
}

function attachHttp1(server: Http1Server, owner: RequestOwner): void {
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    owner.onRequest(new Exchange(request, response))
  })
  server.on('upgrade', (request, socket, head) => {
    owner.onHandshake(request, acceptUpgrade(request, socket, head))
  })
}

/** HTTP/1.1 begins with something other than HTTP/2's preface. */
function distinguish(socket: Socket, http2: Http2Server, http1: Http1Server): void {
  let seen = Buffer.alloc(0)
  const onData = (bytes: Buffer): void => {
    seen = Buffer.concat([seen, bytes])
    const isHttp2 = PREFACE.startsWith(seen.toString('latin1', 0, PREFACE.length))
    // `PROPFIND` begins like it, too.
    if (isHttp2 && seen.length < 'PRI'.length) return
    socket.off('data', onData)
    socket.pause()
    socket.unshift(seen)
    if (isHttp2) {
      // In the next tick, it takes what was put back, and from then on it reads below the socket.
      http2.emit('connection', socket)
    } else {
      http1.emit('connection', socket)
      socket.resume()
    }
  }
  socket.on('data', onData)
}

/** Servers of HTTP/1.1, with or without TLS, and what they have seen of their clients. */

import { once } from 'node:events'
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import type { TLSSocket, TlsOptions } from 'node:tls'
import { onTestFinished } from 'vitest'
import { listenOnFree } from './free-port.ts'
import { toCertificate } from './server.ts'

/** One handshake, as the server saw it. */
export interface SeenHandshake {
  readonly servername: string
  /** What was offered by ALPN. */
  readonly protocols: readonly string[]
}

/** One request, as the server saw it. */
export interface SeenRequest {
  readonly method: string
  readonly url: string
  readonly rawHeaders: readonly string[]
  /** Once all of it has come. */
  readonly body: Promise<string>
  readonly socket: Socket
  readonly isAuthorized: boolean
  readonly peer: unknown
}

export interface Http1Server {
  readonly origin: string
  readonly port: number
  readonly server: Server
  /** The certificate of a TLS server, to be trusted by `connect: { ca }`. */
  readonly ca: string
  readonly handshakes: SeenHandshake[]
  readonly requests: SeenRequest[]
  /** Every socket so far. */
  readonly sockets: Socket[]
}

interface Http1Options extends TlsOptions {
  /** @default true */
  readonly tls?: boolean
  /** What it chooses by ALPN; null: it has no ALPN at all. @default 'http/1.1' */
  readonly alpn?: string | null
  /** Where to listen; a free port of the loopback interface by default. */
  readonly path?: string
}

/** Says what it was asked, by which protocol. */
export function serveHttp1Hello(request: IncomingMessage, response: ServerResponse): void {
  request.resume()
  response.end(`${request.method} ${request.url} over ${request.httpVersion}`)
}

/** Starts a server that ends with the test, whatever is still open on it. */
export async function startHttp1(
  listener: RequestListener = serveHttp1Hello,
  { tls = true, alpn = 'http/1.1', path, ...options }: Http1Options = {},
): Promise<Http1Server> {
  const { private: key, cert } = await toCertificate()
  const handshakes: SeenHandshake[] = []
  const requests: SeenRequest[] = []
  const sockets: Socket[] = []
  const ALPNCallback = (handshake: SeenHandshake): string | undefined => {
    handshakes.push(handshake)
    return alpn !== null && handshake.protocols.includes(alpn) ? alpn : undefined
  }
  const withAlpn = alpn === null ? {} : { ALPNCallback }
  const server = tls ? createSecureServer({ key, cert, ...withAlpn, ...options }) : createServer()
  // It sets one of its own.
  if (tls && alpn === null) Reflect.set(server, 'ALPNProtocols', undefined)
  server.on('connection', (socket: Socket) => {
    sockets.push(socket)
    socket.on('error', ignore)
  })
  server.on('tlsClientError', ignore)
  server.on('clientError', (_error, socket) => socket.destroy())
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const { method = '', url = '', rawHeaders } = request
    const socket = request.socket as Socket & Partial<TLSSocket>
    const body = text(request)
    body.catch(ignore)
    response.on('error', ignore)
    const peer = socket.getPeerCertificate?.().subject?.CN
    requests.push({ method, url, rawHeaders, body, socket, isAuthorized: socket.authorized === true, peer })
    listener(request, response)
  })
  if (path === undefined) await listenOnFree(server)
  else await once(server.listen(path), 'listening')
  onTestFinished(() => stop(server, sockets))
  const port = path === undefined ? (server.address() as AddressInfo).port : 443
  const host = path === undefined ? `${tls ? 'localhost' : '127.0.0.1'}:${port}` : 'localhost'
  return {
    origin: `${tls ? 'https' : 'http'}://${host}`,
    port,
    server,
    ca: cert,
    handshakes,
    requests,
    sockets,
  }
}

async function stop(server: Server, sockets: readonly Socket[]): Promise<void> {
  for (const socket of sockets) socket.destroy()
  if (!server.listening) return
  const closed = once(server, 'close')
  server.close()
  await closed
}

function ignore(): void {}

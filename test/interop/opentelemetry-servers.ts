/** Servers that record the trace fields that they get. */

import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import type { Http2ServerRequest, Http2ServerResponse, Settings } from 'node:http2'
import { createSecureServer as createHttp2Server, createServer as createPlainHttp2Server } from 'node:http2'
import { createServer as createSecureServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import { toCertificate } from '../support/servers/server.ts'

/** An HTTP/1.1 server that closes no idle connection: on a busy machine 5 s may lie between two rounds of a test. */
const LASTING = { keepAliveTimeout: 0 }

/** What speaks which protocol: `h2c` by prior knowledge, `https` offers HTTP/1.1 alone by ALPN. */
export type ServerKind = 'h2' | 'h2c' | 'https' | 'http'

/** A request as a server has got it. */
export interface Received {
  readonly method: string
  readonly url: string
  readonly httpVersion: string
  /** Each `traceparent`, as often as it came. */
  readonly traceparents: readonly string[]
}

export interface TracedServer {
  readonly origin: string
  readonly port: number
  /** The certificate, to be trusted. */
  readonly ca: string
  /** In the order in which they came. */
  readonly received: Received[]
}

/**
 * Responds to `/404` with that status, and so on; to a redirection with `/target`; to everything else with 200. The
 * body is the method and the path.
 *
 * @param settings of a server that speaks HTTP/2
 */
export async function startTracedServer(kind: ServerKind, settings: Settings = {}): Promise<TracedServer> {
  const { private: key, cert } = await toCertificate()
  const received: Received[] = []
  const onRequest = (request: IncomingMessage, response: ServerResponse): void => {
    received.push(toReceived(request))
    respond(request, response)
  }
  const onHttp2Request = (request: Http2ServerRequest, response: Http2ServerResponse): void => {
    received.push(toReceived(request))
    respond(request, response)
  }
  const server = {
    h2: () => createHttp2Server({ key, cert, settings }, onHttp2Request),
    h2c: () => createPlainHttp2Server({ settings }, onHttp2Request),
    https: () => createSecureServer({ key, cert, ...LASTING }, onRequest),
    http: () => createServer(LASTING, onRequest),
  }[kind]()
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket.on('error', () => {}))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy()
    server.close()
    await once(server, 'close')
  })
  const { port } = server.address() as AddressInfo
  const origin = kind === 'h2' || kind === 'https' ? `https://localhost:${port}` : `http://127.0.0.1:${port}`
  return { origin, port, ca: cert, received }
}

function toReceived(request: IncomingMessage | Http2ServerRequest): Received {
  const { method = '', url = '', httpVersion, rawHeaders } = request
  const traceparents = rawHeaders.filter(
    (_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === 'traceparent',
  )
  return { method, url, httpVersion, traceparents }
}

function respond(
  request: IncomingMessage | Http2ServerRequest,
  response: ServerResponse | Http2ServerResponse,
): void {
  const [, status = ''] = /^\/(\d{3})$/.exec(request.url ?? '') ?? []
  request.resume()
  request.on('end', () => {
    response.statusCode = Number(status || 200)
    response.setHeader('x-response', 'yes')
    if (status.startsWith('3')) response.setHeader('location', '/target')
    // One of the two has a method of another type.
    if ('stream' in response) response.end(`${request.method} ${request.url}`)
    else response.end(`${request.method} ${request.url}`)
  })
}

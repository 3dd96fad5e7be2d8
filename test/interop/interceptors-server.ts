/** A server of the web, over HTTP/2 or HTTP/1.1 alone, and the dispatchers that talk to it. */

import { once } from 'node:events'
import type { IncomingHttpHeaders } from 'node:http'
import http2 from 'node:http2'
import https from 'node:https'
import type { AddressInfo } from 'node:net'
import type { Readable } from 'node:stream'
import type { TLSSocket } from 'node:tls'
import { generate } from 'selfsigned'
import { onTestFinished } from 'vitest'
import { Agent, Client } from '../../src/index.ts'
import type { DispatcherComposeInterceptor } from '../../types/index.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import { read, toCertificate } from '../support/servers/server.ts'

export type Protocol = 'h2' | 'http/1.1'

/** One request, as the server has got it. */
export interface Exchange {
  /** `'2.0'` or `'1.1'`. */
  readonly version: string
  readonly method: string
  readonly path: string
  /** `:authority`, or `host`. */
  readonly authority: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
  /** Which server the client has asked for by TLS. */
  readonly servername: string
}

/** What the server may do with it. */
interface Reply {
  statusCode: number
  setHeader(name: string, value: string | string[]): unknown
  write(chunk: string | Buffer): boolean
  end(chunk?: string | Buffer): unknown
  once(event: 'finish', listener: () => void): unknown
}

interface Incoming extends Readable {
  readonly httpVersion: string
  readonly headers: IncomingHttpHeaders
  readonly method?: string | undefined
  readonly url?: string | undefined
  readonly socket: object
}

export type Respond = (exchange: Exchange, reply: Reply) => void

export interface WebServer {
  readonly origin: string
  readonly port: number
  readonly ca: string
  /** All requests so far. */
  readonly exchanges: Exchange[]
  /** Ends every connection, in the middle of whatever is there. */
  cut(): void
}

/** Responds with what there is. */
export function send(
  reply: Reply,
  status: number,
  headers: Record<string, string>,
  body: string | Buffer = '',
) {
  reply.statusCode = status
  for (const [name, value] of Object.entries(headers)) reply.setHeader(name, value)
  reply.end(body)
}

/** A certificate for one name, and for no address. */
export function toNamedCertificate(name: string) {
  return generate([{ name: 'commonName', value: name }], {
    keyType: 'ec',
    extensions: [{ name: 'subjectAltName', altNames: [{ type: 2, value: name }] }],
  })
}

/** Starts a server that ends with the test. */
export async function startWebServer(
  respond: Respond,
  protocol: Protocol = 'h2',
  certificate = toCertificate(),
): Promise<WebServer> {
  const { private: key, cert } = await certificate
  const exchanges: Exchange[] = []
  const onRequest = (request: Incoming, reply: Reply): void => {
    const { httpVersion: version, headers, method = '', url: path = '' } = request
    const authority = String(headers[':authority'] ?? headers.host)
    const servername = String(Reflect.get(request.socket, 'servername'))
    read(request).then((body) => {
      const exchange = { version, method, path, authority, headers, body, servername }
      exchanges.push(exchange)
      respond(exchange, reply)
    }, ignore)
  }
  const server =
    protocol === 'h2' ? http2.createSecureServer({ key, cert }) : https.createServer({ key, cert })
  server.on('request', onRequest)
  server.on('sessionError', ignore)
  const sockets = new Set<TLSSocket>()
  server.on('secureConnection', (socket: TLSSocket) => {
    sockets.add(socket)
    socket.on('error', ignore)
    socket.on('close', () => sockets.delete(socket))
  })
  const cut = (): void => {
    for (const socket of sockets) socket.destroy()
  }
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(async () => {
    const closed = once(server, 'close')
    server.close()
    cut()
    await closed
  })
  const { port } = server.address() as AddressInfo
  return { origin: `https://localhost:${port}`, port, ca: cert, exchanges, cut }
}

function ignore(): void {}

/** An Agent with these interceptors, which ends with the test. */
export function composeAgent({ ca }: WebServer, ...interceptors: DispatcherComposeInterceptor[]) {
  const agent = destroyWithTest(new Agent({ connect: { ca } }))
  return agent.compose(interceptors)
}

/** A Client with these interceptors, which ends with the test. */
export function composeClient({ origin, ca }: WebServer, ...interceptors: DispatcherComposeInterceptor[]) {
  const client = destroyWithTest(new Client(origin, { connect: { ca } }))
  return client.compose(interceptors)
}

/** An interceptor that gets each piece of a response's body before the handler, whatever the handler's shape. */
export function tapData(onData: () => void): DispatcherComposeInterceptor {
  return (dispatch) => (options, handler) => {
    const tapped = new Proxy(handler, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name)
        if (typeof value !== 'function') return value
        return (...args: unknown[]): unknown => {
          if (name === 'onData' || name === 'onResponseData') onData()
          return Reflect.apply(value, target, args)
        }
      },
    })
    return dispatch(options, tapped)
  }
}

/** An interceptor that counts requests, and reports when there are so many. */
export function countRequests(expected: number): {
  interceptor: DispatcherComposeInterceptor
  reached: Promise<void>
} {
  let count = 0
  let tell = (): void => {}
  const reached = new Promise<void>((resolve) => {
    tell = resolve
  })
  return {
    reached,
    interceptor: (dispatch) => (options, handler) => {
      const mayGoOn = dispatch(options, handler)
      if (++count === expected) tell()
      return mayGoOn
    },
  }
}

/** Servers of one service: each on an address of its own, all on one port, with one certificate for `api.test`. */

import { once } from 'node:events'
import http from 'node:http'
import type { Http2Server, ServerHttp2Session, ServerHttp2Stream } from 'node:http2'
import http2 from 'node:http2'
import https from 'node:https'
import type { TLSSocket } from 'node:tls'
import { generate } from 'selfsigned'
import { onTestFinished } from 'vitest'
import { findFreePort } from './free-port.ts'

/** What a server speaks. */
export type Protocol = 'h2' | 'h2c' | 'https' | 'http'

export interface Replica {
  readonly address: string
  /** `:authority` and SNI of each request, and its path. */
  readonly seen: {
    readonly authority: string
    readonly servername: string | null | false
    readonly path: string
  }[]
  readonly sessions: Set<ServerHttp2Session>
  /** Streams of `/hold`, which have sent their header section. */
  readonly held: ServerHttp2Stream[]
  /** What requests get; 200 with the address as body by default. Path `/hold` never ends by itself. */
  status: number
  /** Settles after so many PINGs to its clients of HTTP/2. */
  roundTrips(count: number): Promise<void>
  stop(): Promise<void>
}

export interface Replicas {
  /** By the name. */
  readonly origin: string
  readonly port: number
  readonly ca: string
  readonly all: readonly Replica[]
  /** Starts one more. */
  start(address: string): Promise<Replica>
}

let certificate: ReturnType<typeof generate> | null = null

function toApiCertificate(): ReturnType<typeof generate> {
  certificate ??= generate([{ name: 'commonName', value: 'api.test' }], {
    keyType: 'ec',
    extensions: [{ name: 'subjectAltName', altNames: [{ type: 2, value: 'api.test' }] }],
  })
  return certificate
}

/** Starts servers on 127.0.0.1, 127.0.0.2 and so on, that end with the test. */
export async function startReplicas(count: number, protocol: Protocol = 'h2c'): Promise<Replicas> {
  const port = await findFreePort()
  const { cert } = await toApiCertificate()
  const all: Replica[] = []
  const start = async (address: string): Promise<Replica> => {
    const replica = await startReplica(address, port, protocol)
    all.push(replica)
    return replica
  }
  for (let index = 1; index <= count; index++) await start(`127.0.0.${index}`)
  const scheme = protocol === 'h2' || protocol === 'https' ? 'https' : 'http'
  return { origin: `${scheme}://api.test:${port}`, port, ca: cert, all, start }
}

async function startReplica(address: string, port: number, protocol: Protocol): Promise<Replica> {
  const { private: key, cert } = await toApiCertificate()
  const seen: Replica['seen'][number][] = []
  const sessions = new Set<ServerHttp2Session>()
  const held: ServerHttp2Stream[] = []
  const servers = {
    h2: () => http2.createSecureServer({ key, cert }) as unknown as Http2Server,
    h2c: () => http2.createServer(),
    https: () => https.createServer({ key, cert }),
    http: () => http.createServer(),
  }
  const server = servers[protocol]()
  const replica: Replica = { address, seen, sessions, held, status: 200, roundTrips, stop }
  server.on('session', (session: ServerHttp2Session) => {
    sessions.add(session)
    session.on('error', () => session.destroy()).on('close', () => sessions.delete(session))
  })
  server.on('stream', (stream: ServerHttp2Stream, headers: http2.IncomingHttpHeaders) => {
    stream.on('error', () => stream.destroy())
    const { servername = false } = (stream.session?.socket ?? {}) as Partial<TLSSocket>
    seen.push({ authority: headers[':authority'] ?? '', servername, path: headers[':path'] ?? '' })
    stream.respond({ ':status': replica.status })
    if (headers[':path'] === '/hold') {
      held.push(stream)
      stream.write('begun')
    } else stream.end(address)
  })
  if (protocol === 'https' || protocol === 'http')
    server.on('request', (request: http.IncomingMessage, response: http.ServerResponse) => {
      const { servername = false } = request.socket as Partial<TLSSocket>
      seen.push({ authority: request.headers.host ?? '', servername, path: request.url ?? '' })
      response.writeHead(replica.status).end(address)
    })
  server.listen(port, address)
  await once(server, 'listening')
  onTestFinished(stop)
  return replica

  async function roundTrips(count: number): Promise<void> {
    for (let trip = 0; trip < count; trip++) {
      for (const session of sessions) await new Promise((resolve) => session.ping(resolve))
    }
  }

  async function stop(): Promise<void> {
    for (const session of sessions) session.destroy()
    if (!server.listening) return
    const closed = once(server, 'close')
    if (server instanceof http.Server || server instanceof https.Server) server.closeAllConnections()
    server.close()
    await closed
  }
}

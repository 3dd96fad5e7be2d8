/** Servers that speak WebSocket by the ways that there are, and note by which one a client has come. */

import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { IncomingHttpHeaders } from 'node:http'
import { createServer, IncomingMessage } from 'node:http'
import type { Http2SecureServer, ServerHttp2Session, ServerHttp2Stream } from 'node:http2'
import { createSecureServer } from 'node:http2'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { onTestFinished } from 'vitest'
import type { WebSocket } from 'ws'
import { WebSocketServer } from 'ws'
import { CANCEL, INTERNAL_ERROR } from '../support/peers/error-codes.ts'
import { toCertificate } from '../support/servers/server.ts'
import { behave } from './websocket-behaviour.ts'

/**
 * - `h2`: extended CONNECT
 * - `h1`: TLS, and HTTP/1.1 alone
 * - `h2-without`: HTTP/2 without extended CONNECT, and HTTP/1.1 besides
 * - `plain`: HTTP/1.1 without TLS
 */
export type ServerKind = 'h2' | 'h1' | 'h2-without' | 'plain'

/** One socket, as its server has met it. */
export interface Visit {
  readonly way: 'stream of HTTP/2' | 'socket of HTTP/1.1'
  readonly headers: IncomingHttpHeaders
  /** What pongs have brought, in hexadecimal. */
  readonly pongs: string[]
  /** The close frame that came: its code and its reason. Null before. */
  close: readonly [number, string] | null
  /** Settles when the server's end is gone. */
  gone: Promise<unknown>
}

export interface EchoServer {
  /** `wss://localhost:…` */
  readonly url: string
  readonly ca: string
  readonly visits: Visit[]
  /** How many connections were accepted. */
  readonly connections: () => number
  readonly sessions: ServerHttp2Session[]
}

interface Settings {
  /** Whether permessage-deflate is agreed to where it is offered. */
  readonly deflate?: boolean
}

/** A tunnel in the shape of a socket of HTTP/1.1: the response that ws writes goes out as a header of HTTP/2. */
class UpgradedStream extends Duplex {
  readonly stream: ServerHttp2Stream
  readonly #chop: number
  #response = ''

  /** @param chop bytes that go into one write; Infinity for all */
  constructor(stream: ServerHttp2Stream, chop: number) {
    super({ allowHalfOpen: false })
    this.stream = stream
    this.#chop = chop
    stream.on('data', (chunk) => {
      if (!this.push(chunk)) stream.pause()
    })
    stream.on('end', () => this.push(null))
    stream.on('close', () => this.destroy())
  }

  override _read(): void {
    this.stream.resume()
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, callback: (error?: Error | null) => void): void {
    if (this.stream.headersSent) {
      if (this.#chop >= chunk.length) this.stream.write(chunk, callback)
      else this.#writeChopped(chunk, callback)
      return
    }
    this.#response += chunk.toString('latin1')
    if (this.#response.includes('\r\n\r\n')) this.#respond()
    callback()
  }

  override _final(callback: () => void): void {
    this.stream.end(callback)
  }

  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    if (!this.stream.closed) this.stream.close(CANCEL)
    callback(error)
  }

  #writeChopped(chunk: Buffer, callback: () => void): void {
    const end = Math.ceil(chunk.length / this.#chop) - 1
    for (let i = 0; i <= end; i++) {
      this.stream.write(
        chunk.subarray(i * this.#chop, (i + 1) * this.#chop),
        i === end ? callback : undefined,
      )
    }
  }

  #respond(): void {
    const [first = '', ...fields] = (this.#response.split('\r\n\r\n')[0] ?? '').split('\r\n')
    const status = Number(first.split(' ')[1])
    const headers: Record<string, string> = {}
    for (const field of fields) {
      const colon = field.indexOf(':')
      headers[field.slice(0, colon).toLowerCase()] = field.slice(colon + 1).trim()
    }
    // RFC 8441 §5: extended CONNECT has taken their place.
    const { upgrade: _upgrade, connection: _connection, 'sec-websocket-accept': _accept, ...rest } = headers
    this.stream.respond({ ':status': status === 101 ? 200 : status, ...rest })
  }
}

function ignore(): void {}

function lose(socket: Duplex): void {
  if (socket instanceof UpgradedStream) socket.stream.close(INTERNAL_ERROR)
  else socket.destroy()
}

/** The responses of ws, and its behaviour then. */
class Host {
  readonly visits: Visit[] = []
  readonly #ws: WebSocketServer
  readonly #sockets: WebSocket[] = []

  constructor({ deflate = false }: Settings) {
    this.#ws = new WebSocketServer({
      noServer: true,
      perMessageDeflate: deflate ? { threshold: 0 } : false,
      handleProtocols: (offered) => (offered.has('second') ? 'second' : false),
      verifyClient: (
        { req }: { req: IncomingMessage },
        response: (isWelcome: boolean, code?: number) => void,
      ) => (req.url?.startsWith('/deny') ? response(false, 403) : response(true)),
    })
  }

  welcome(request: IncomingMessage, socket: Duplex, head: Buffer, way: Visit['way']): void {
    const visit: Visit = {
      way,
      headers: request.headers,
      pongs: [],
      close: null,
      gone: once(socket, 'close'),
    }
    this.visits.push(visit)
    socket.on('error', ignore)
    this.#ws.handleUpgrade(request, socket, head, (ws) => {
      this.#sockets.push(ws)
      ws.on('error', ignore)
      ws.on('pong', (data) => visit.pongs.push(data.toString('hex')))
      ws.on('close', (code, reason) => {
        visit.close = [code, reason.toString()]
      })
      const transport = { end: () => socket.end(), lose: () => lose(socket) }
      behave(ws, transport, new URL(request.url ?? '/', 'https://localhost'), this.#sockets)
    })
  }

  welcomeStream(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
    stream.on('error', ignore)
    if (headers[':protocol'] !== 'websocket') {
      stream.respond({ ':status': 404 }, { endStream: true })
      return
    }
    const path = String(headers[':path'])
    const chop = new URL(path, 'https://localhost').searchParams.get('chop')
    const socket = new UpgradedStream(stream, chop === null ? Number.POSITIVE_INFINITY : Number(chop))
    // ws asks for a key, of which RFC 8441 §5 says that there is none.
    const key = { upgrade: 'websocket', 'sec-websocket-key': randomBytes(16).toString('base64') }
    const request = Object.assign(new IncomingMessage(new Socket()), {
      method: 'GET',
      url: path,
      headers: { ...headers, ...key },
    })
    this.welcome(request, socket, Buffer.alloc(0), 'stream of HTTP/2')
    const visit = this.visits.at(-1)
    if (visit !== undefined) this.visits.splice(-1, 1, Object.assign(visit, { headers }))
  }

  end(): void {
    for (const socket of this.#sockets) socket.terminate()
  }
}

/** Starts one that ends with the test. */
export async function startEchoServer(kind: ServerKind, settings: Settings = {}): Promise<EchoServer> {
  const { private: key, cert } = await toCertificate()
  const host = new Host(settings)
  const sessions: ServerHttp2Session[] = []
  const sockets = new Set<Duplex>()
  const server = toServer(kind, { key, cert })
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) =>
    host.welcome(request, socket, head, 'socket of HTTP/1.1'),
  )
  server.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) =>
    host.welcomeStream(stream, headers),
  )
  server.on('session', (session: ServerHttp2Session) => {
    session.on('error', ignore)
    sessions.push(session)
  })
  server.on(kind === 'plain' ? 'connection' : 'secureConnection', (socket: Duplex) => {
    socket.on('error', ignore)
    sockets.add(socket)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(async () => {
    host.end()
    for (const session of sessions) session.destroy()
    for (const socket of sockets) socket.destroy()
    const closed = once(server, 'close')
    server.close()
    await closed
  })
  const { port } = server.address() as AddressInfo
  const url = kind === 'plain' ? `ws://127.0.0.1:${port}` : `wss://localhost:${port}`
  return { url, ca: cert, visits: host.visits, connections: () => sockets.size, sessions }
}

interface Identity {
  readonly key: string
  readonly cert: string
}

function toServer(kind: ServerKind, identity: Identity): ReturnType<typeof createServer> | Http2SecureServer {
  if (kind === 'plain') return createServer()
  if (kind === 'h1') return createTlsServer(identity)
  return kind === 'h2'
    ? createSecureServer({ ...identity, settings: { enableConnectProtocol: true } })
    : createSecureServer({ ...identity, allowHTTP1: true })
}

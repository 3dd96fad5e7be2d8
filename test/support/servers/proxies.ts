import { once } from 'node:events'
import type { IncomingHttpHeaders, IncomingMessage, Server, ServerResponse } from 'node:http'
import { createServer, request as sendPlain } from 'node:http'
import type {
  Http2SecureServer,
  IncomingHttpHeaders as IncomingHttp2Headers,
  ServerHttp2Stream,
} from 'node:http2'
import { createSecureServer } from 'node:http2'
import { createServer as createHttps } from 'node:https'
import type { Socket } from 'node:net'
import { connect, createServer as createTcp } from 'node:net'
import type { Duplex } from 'node:stream'
import { onTestFinished } from 'vitest'
import { listenOnFree } from './free-port.ts'
import { toCertificate } from './server.ts'

/** A proxy of the test's own. */
export interface TestProxy {
  readonly url: string
  /** The targets that were asked for, in order: an authority, or a whole URL. */
  readonly asked: string[]
  /** The header fields that it got with each. */
  readonly headers: IncomingHttpHeaders[]
  /** Connections to it, so far. */
  connections(): number
  /** Ends all tunnels and connections that are open now. */
  cut(): void
}

/** What a proxy of HTTP accepts, and how it refuses. */
export interface ProxyRules {
  readonly authorization?: string
  readonly status?: number
  readonly body?: string
}

const open = new Set<Duplex>()

async function listenOn(
  host: string,

  server: Parameters<typeof listenOnFree>[0],
) {
  const sockets = new Set<Socket>()
  let connections = 0
  server.on('connection', (socket: Socket) => {
    connections++
    sockets.add(socket)
    socket.on('error', () => {}).on('close', () => sockets.delete(socket))
  })
  const port = await listenOnFree(server, host)
  const cut = (): void => {
    for (const socket of sockets) socket.destroy()
  }
  onTestFinished(() => {
    cut()
    ;(server as Server).close()
  })
  return { port, cut, connections: () => connections }
}

function join(one: Duplex, other: Duplex): void {
  for (const side of [one, other]) {
    open.add(side)
    side.on('close', () => open.delete(side))
  }
  one.pipe(other).pipe(one)
  one.on('error', () => other.destroy()).on('close', () => other.destroy())
  other.on('error', () => one.destroy()).on('close', () => one.destroy())
}

async function toTarget(authority: string): Promise<Socket> {
  const { hostname, port } = new URL(`http://${authority}`)
  const socket = connect(Number(port || 80), hostname.endsWith('localhost') ? '127.0.0.1' : hostname)
  socket.on('error', () => {})
  await once(socket, 'connect')
  return socket
}

/** Serves requests in absolute form. */
function toForwarder(asked: string[], seen: IncomingHttpHeaders[], rules: ProxyRules) {
  return (request: IncomingMessage, response: ServerResponse): void => {
    if (request.url === '/count') {
      response.end(String(asked.length))
      return
    }
    asked.push(request.url ?? '')
    seen.push(request.headers)
    if (isRefused(rules, request.headers)) {
      response.writeHead(407, { 'proxy-authenticate': 'Basic' })
      response.end(rules.body ?? 'who are you?')
      return
    }
    const { 'proxy-authorization': _credentials, ...headers } = request.headers
    const inner = sendPlain(request.url ?? '', { method: request.method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
    })
    inner.on('error', () => response.destroy())
    request.pipe(inner)
  }
}

function isRefused({ authorization }: ProxyRules, headers: IncomingHttpHeaders): boolean {
  return authorization !== undefined && headers['proxy-authorization'] !== authorization
}

/** HTTP/1.1, plain or TLS: CONNECT, and requests in absolute form. */
export async function startHttp1Proxy(rules: ProxyRules = {}, tls = false): Promise<TestProxy> {
  const asked: string[] = []
  const seen: IncomingHttpHeaders[] = []
  const { private: key, cert } = await toCertificate()
  const server = tls ? createHttps({ key, cert }) : createServer()
  server.on('request', toForwarder(asked, seen, rules))
  server.on('connect', async (request, socket: Socket) => {
    asked.push(request.url ?? '')
    seen.push(request.headers)
    socket.on('error', () => {})
    if (rules.status !== undefined || isRefused(rules, request.headers)) {
      const body = rules.body ?? 'who are you?'
      const status = rules.status ?? 407
      socket.end(
        `HTTP/1.1 ${status} No\r\nproxy-authenticate: Basic\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
      )
      return
    }
    const target = await toTarget(request.url ?? '').catch(() => null)
    if (target === null) {
      socket.end('HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n')
      return
    }
    socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
    join(socket, target)
  })
  const { port, ...more } = await listenOn('127.0.0.1', server)
  return { url: `${tls ? 'https' : 'http'}://localhost:${port}`, asked, headers: seen, ...more }
}

/** HTTP/2 over TLS. */
export async function startHttp2Proxy(rules: ProxyRules = {}): Promise<TestProxy> {
  const asked: string[] = []
  const seen: IncomingHttpHeaders[] = []
  const { private: key, cert } = await toCertificate()
  const server: Http2SecureServer = createSecureServer({ key, cert, allowHTTP1: true })
  server.on('session', (session) => session.on('error', () => {}))
  const forward = toForwarder(asked, seen, rules)
  server.on('request', (request, response) => {
    // HTTP/2 requests are streams below.
    if (request.httpVersion === '1.1') forward(request as never, response as never)
  })
  // Otherwise Node's compatibility layer responds to CONNECT with 405 by itself.
  server.on('connect', () => {})
  server.on('stream', async (stream: ServerHttp2Stream, headers: IncomingHttp2Headers) => {
    stream.on('error', () => {})
    asked.push(headers[':authority'] ?? '')
    seen.push(headers)
    if (rules.status !== undefined || isRefused(rules, headers)) {
      stream.respond({ ':status': rules.status ?? 407, 'proxy-authenticate': 'Basic' })
      stream.end(rules.body ?? 'who are you?')
      return
    }
    const target = await toTarget(headers[':authority'] ?? '').catch(() => null)
    if (stream.destroyed) target?.destroy()
    else if (target === null) stream.respond({ ':status': 502 }, { endStream: true })
    else {
      stream.respond({ ':status': 200 })
      join(stream, target)
    }
  })
  const { port, ...more } = await listenOn('127.0.0.1', server)
  return { url: `https://localhost:${port}`, asked, headers: seen, ...more }
}

/** SOCKS5. @param credentials user name and password; null: none are asked for */
export async function startSocksProxy(
  credentials: readonly [string, string] | null = null,
  reply = 0,
): Promise<TestProxy> {
  const asked: string[] = []
  const server = createTcp((socket) => {
    let unread = Buffer.alloc(0)
    let step: 'greeting' | 'password' | 'request' = 'greeting'
    const onData = async (chunk: Buffer): Promise<void> => {
      unread = Buffer.concat([unread, chunk])
      if (step === 'greeting' && unread.length >= 2 + (unread[1] ?? 0)) {
        const methods = [...unread.subarray(2, 2 + (unread[1] ?? 0))]
        unread = Buffer.alloc(0)
        const wanted = credentials === null ? 0 : 2
        const method = methods.includes(wanted) ? wanted : 0xff
        socket.write(Buffer.of(5, method))
        step = wanted === 2 ? 'password' : 'request'
      } else if (step === 'password') {
        const user = unread.subarray(2, 2 + (unread[1] ?? 0)).toString()
        const password = unread.subarray(3 + user.length).toString()
        unread = Buffer.alloc(0)
        const isRight = user === credentials?.[0] && password === credentials[1]
        // In two writes: a reply may come in parts.
        socket.write(Buffer.of(1))
        socket.write(Buffer.of(isRight ? 0 : 1))
        step = 'request'
      } else if (step === 'request') {
        const type = unread[3]
        const length = type === 1 ? 4 : type === 4 ? 16 : 1 + (unread[4] ?? 0)
        const host =
          type === 3 ? unread.subarray(5, 4 + length).toString() : [...unread.subarray(4, 8)].join('.')
        const port = unread.readUInt16BE(4 + length)
        asked.push(`${host}:${port}`)
        socket.removeAllListeners('data')
        if (reply !== 0) {
          socket.end(Buffer.of(5, reply, 0, 1, 0, 0, 0, 0, 0, 0))
          return
        }
        const target = await toTarget(`${host}:${port}`).catch(() => null)
        if (target === null) {
          socket.end(Buffer.of(5, 5, 0, 1, 0, 0, 0, 0, 0, 0))
          return
        }
        socket.write(Buffer.of(5, 0, 0, 1, 0, 0, 0, 0))
        socket.write(Buffer.of(0, 0))
        join(socket, target)
      }
    }
    socket.on('data', (chunk: Buffer) => void onData(chunk))
  })
  const { port, ...more } = await listenOn('127.0.0.1', server)
  return { url: `socks5://localhost:${port}`, asked, headers: [], ...more }
}

/** Servers that tell what they got. */
export interface Origins {
  /** HTTP/2 by ALPN, HTTP/1.1 where that is asked for. */
  readonly http2: string
  /** HTTP/1.1 over TLS. */
  readonly http1: string
  readonly plain: string
  readonly ca: string
  /** The header fields of each request. */
  readonly seen: IncomingHttpHeaders[]
  /** Connections to all of them, so far. */
  connections(): number
  /** Starts one of HTTP/2 that doesn't respond. */
  hold(): Promise<HoldingOrigin>
}

/** An origin that takes requests, and keeps them. */
export interface HoldingOrigin {
  readonly origin: string
  /** Settles with the first request. */
  readonly arrived: Promise<unknown>
  /** Requests so far. */
  count(): number
}

export async function startOrigins(host = '127.0.0.1'): Promise<Origins> {
  const { private: key, cert } = await toCertificate()
  const seen: IncomingHttpHeaders[] = []
  const serve: Parameters<typeof createServer>[1] = (request, response) => {
    seen.push(request.headers)
    response.end(`${request.method} ${request.url} over ${request.httpVersion}`)
  }
  const upgrade = (server: NodeJS.EventEmitter): void => {
    server.on('upgrade', (_request, socket: Socket) => {
      socket.on('error', () => {})
      socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\n')
      socket.pipe(socket)
    })
  }
  const http2 = createSecureServer({ key, cert, allowHTTP1: true }, serve as never)
  http2.on('session', (session) => session.on('error', () => {}))
  const http1 = createHttps({ key, cert }, serve)
  const plain = createServer(serve)
  for (const server of [http1, plain]) upgrade(server)
  const listening = await Promise.all([http2, http1, plain].map((server) => listenOn(host, server)))
  const ports = listening.map(({ port }) => port)
  return {
    http2: `https://localhost:${ports[0]}`,
    http1: `https://localhost:${ports[1]}`,
    plain: `http://localhost:${ports[2]}`,
    ca: cert,
    seen,
    connections: () => listening.reduce((sum, { connections }) => sum + connections(), 0),
    hold: async () => {
      const server = createSecureServer({ key, cert })
      server.on('session', (session) => session.on('error', () => {}))
      let count = 0
      const arrived = new Promise<void>((resolve) =>
        server.on('stream', (stream) => {
          stream.on('error', () => {})
          count++
          resolve()
        }),
      )
      const { port } = await listenOn(host, server)
      return { origin: `https://localhost:${port}`, arrived, count: () => count }
    },
  }
}

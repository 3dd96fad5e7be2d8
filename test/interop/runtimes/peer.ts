/**
 * The server of the checks of runtimes, as a program of its own: node:http2 on Node, since Bun's and Deno's own servers
 * aren't what they check. Tells its parent the environment of `program.mjs`, and ends with it.
 */

import { once } from 'node:events'
import type { Http2Server, IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2'
import { createServer as createPlainServer, createSecureServer } from 'node:http2'
import { createServer } from 'node:https'
import type { AddressInfo, Server, Socket } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import { generate } from 'selfsigned'
import { INTERNAL_ERROR } from '../../support/peers/error-codes.ts'

/** The environment of `program.mjs`: origins, and the certificate that is to be trusted. */
export interface PeerEnvironment {
  readonly PLAIN: string
  readonly SECURE: string
  readonly HTTP1: string
  readonly CA: string
}

type Route = (stream: ServerHttp2Stream, path: string) => void

const LARGE = Buffer.alloc(3_000_000, 'x')
const TEXT = { 'content-type': 'text/plain' }

async function start(): Promise<PeerEnvironment> {
  const { ca, leaf } = await toChain()
  const { private: key, cert } = leaf
  const sockets = new Set<Socket>()
  const secure = createSecureServer({ key, cert }).on('secureConnection', (socket) => sockets.add(socket))
  const plain = createPlainServer()
  const onStream = toListener(sockets)
  for (const server of [secure, plain]) {
    // Clients that abort, and connections that end, are what it is about.
    server.on('session', (session) => session.on('error', ignore))
    server.on('sessionError', ignore)
    server.on('stream', onStream)
  }
  const http1 = createServer({ key, cert }, (_request, response) => {
    response.writeHead(200, TEXT).end('hello')
  })
  return {
    PLAIN: `http://127.0.0.1:${await listen(plain)}`,
    SECURE: `https://localhost:${await listen(secure)}`,
    HTTP1: `https://localhost:${await listen(http1)}`,
    CA: ca,
  }
}

/** Listens on a free port, which is returned. */
async function listen(server: Server | Http2Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return port
}

function ignore(): void {}

/** A certificate for `localhost` and 127.0.0.1, and that of its issuer: Deno trusts no certificate that is its own issuer. */
async function toChain(): Promise<{ ca: string; leaf: { private: string; cert: string } }> {
  const issuer = await generate([{ name: 'commonName', value: 'Dodici tests' }], {
    keyType: 'ec',
    algorithm: 'sha256',
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      { name: 'keyUsage', keyCertSign: true, critical: true },
    ],
  })
  const leaf = await generate([{ name: 'commonName', value: 'localhost' }], {
    keyType: 'ec',
    algorithm: 'sha256',
    ca: { key: issuer.private, cert: issuer.cert },
  })
  return { ca: issuer.cert, leaf }
}

/** The paths of one program, and what became of their streams. */
function toListener(
  sockets: ReadonlySet<Socket>,
): (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void {
  /** The code with which a stream was reset; null as long as it wasn't. By path. */
  const streams: Record<string, number | null> = {}
  const routes: Record<string, Route> = {
    ...ROUTES,
    // As '/lost', without a GOAWAY.
    '/torn': (stream) => {
      stream.respond()
      stream.write('a part', () => setImmediate(() => sockets.forEach((socket) => void socket.destroy())))
    },
    '/streams': (stream) => {
      stream.respond()
      stream.end(JSON.stringify(streams))
    },
  }
  return (stream, headers) => {
    stream.on('error', ignore)
    if (headers[':method'] === 'CONNECT') {
      stream.respond({ ':status': 200 })
      stream.pipe(stream)
      return
    }
    const path = headers[':path'] ?? '/'
    streams[path] = null
    stream.on('aborted', () => {
      streams[path] = stream.rstCode
    })
    const route = routes[path.split('?')[0] ?? '']
    if (route !== undefined) route(stream, path)
    else stream.respond({ ':status': 404 }, { endStream: true })
  }
}

const ROUTES: Record<string, Route> = {
  '/hello': (stream) => {
    stream.respond(TEXT)
    stream.end('hello')
  },
  '/large': (stream) => {
    stream.respond({ 'content-length': LARGE.length })
    stream.end(LARGE)
  },
  '/echo': (stream) => {
    stream.respond()
    stream.pipe(stream)
  },
  '/length': async (stream) => {
    let length = 0
    for await (const chunk of stream) length += chunk.length
    stream.respond()
    stream.end(String(length))
  },
  '/never': (stream) => stream.resume(),
  '/part': (stream) => {
    stream.respond()
    stream.write('a part')
  },
  '/cut': (stream) => {
    stream.respond()
    stream.write('a part', () => setImmediate(() => stream.destroy(new Error('cut'))))
  },
  '/lost': (stream) => {
    stream.respond()
    stream.write('a part', () => setImmediate(() => stream.session?.destroy()))
  },
  '/retire': (stream) => {
    stream.respond()
    stream.end('hello')
    stream.session?.close()
  },
  '/reset': (stream) => stream.close(INTERNAL_ERROR),
  '/empty': (stream) => stream.respond({ ':status': 204 }, { endStream: true }),
  '/hints': (stream) => {
    stream.additionalHeaders({ ':status': 103, link: '</a.css>' })
    stream.respond()
    stream.end('hinted')
  },
  '/trailers': (stream) => {
    stream.respond({}, { waitForTrailers: true })
    stream.on('wantTrailers', () => stream.sendTrailers({ 'x-trailer': 'after' }))
    stream.end('before')
  },
  '/request-trailers': async (stream) => {
    let trailer: unknown = null
    stream.on('trailers', (trailers) => {
      trailer = trailers['x-trailer']
    })
    const body = (await buffer(stream)).toString()
    stream.respond()
    stream.end(JSON.stringify({ body, trailer }))
  },
  '/json': (stream) => {
    stream.respond({ 'content-type': 'application/json', 'content-encoding': 'gzip' })
    stream.end(gzipSync('{"hello":"world"}'))
  },
  '/redirect': (stream) => stream.respond({ ':status': 302, location: '/json' }, { endStream: true }),
  // The window of the client's connection, which tells the engines apart.
  '/window': (stream) => {
    stream.respond()
    stream.end(String(stream.session?.state.remoteWindowSize))
  },
}

process.on('disconnect', () => process.exit())
process.send?.(await start())

/** The server of the checks of runtimes: node:http2 on Node. Bun's and Deno's own servers aren't what they check. */

import { once } from 'node:events'
import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2'
import { createServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import { generate } from 'selfsigned'
import { onTestFinished } from 'vitest'
import { read, startServer } from '../support/server.ts'

type Route = (stream: ServerHttp2Stream, path: string) => void

const LARGE = Buffer.alloc(3_000_000, 'x')
const TEXT = { 'content-type': 'text/plain' }

/** The environment of `program.mjs`: origins, and the certificate of them all. They end with the test. */
export async function startPeer(): Promise<Record<'PLAIN' | 'SECURE' | 'HTTP1' | 'CA', string>> {
  const { ca, leaf } = await toChain()
  const sockets = new Set<Socket>()
  const onStream = toListener(sockets)
  const secure = await startServer(onStream, { tls: leaf })
  secure.server.on('secureConnection', (socket: Socket) => sockets.add(socket))
  const plain = await startServer(onStream)
  const http1 = createServer({ key: leaf.private, cert: leaf.cert }, (_request, response) => {
    response.writeHead(200, TEXT).end('hello')
  })
  http1.listen(0, '127.0.0.1')
  await once(http1, 'listening')
  onTestFinished(() => {
    http1.closeAllConnections()
    http1.close()
  })
  const { port } = http1.address() as AddressInfo
  return { PLAIN: plain.origin, SECURE: secure.origin, HTTP1: `https://localhost:${port}`, CA: ca }
}

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

/** The paths of one program, whose streams that were reset are kept. */
function toListener(
  sockets: ReadonlySet<Socket>,
): (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void {
  const resets: Record<string, number> = {}
  const routes: Record<string, Route> = {
    ...ROUTES,
    // As '/lost', without a GOAWAY.
    '/torn': (stream) => {
      stream.respond()
      stream.write('a part', () => setImmediate(() => sockets.forEach((socket) => void socket.destroy())))
    },
    '/resets': (stream) => {
      stream.respond()
      stream.end(JSON.stringify(resets))
    },
  }
  return (stream, headers) => {
    if (headers[':method'] === 'CONNECT') {
      stream.respond({ ':status': 200 })
      stream.pipe(stream)
      return
    }
    const path = headers[':path'] ?? '/'
    stream.on('aborted', () => {
      resets[path] = stream.rstCode
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
  '/reset': (stream) => stream.close(2),
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
    const body = await read(stream)
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

import { once } from 'node:events'
import http2, { type Http2Server, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { generate } from 'selfsigned'
import { onTestFinished } from 'vitest'
import { listenOnFree } from './free-port.ts'

export type StreamListener = (stream: ServerHttp2Stream, headers: http2.IncomingHttpHeaders) => void

/** Responds `hello` to each request. */
export const serveHello: StreamListener = (stream) => {
  stream.respond({ ':status': 200 })
  stream.end('hello')
}

/** A real HTTP/2 server of Node's, with what a test wants to know of it. */
export interface TestServer {
  readonly origin: string
  readonly server: Http2Server
  /** Every session so far, closed ones too. */
  readonly sessions: ServerHttp2Session[]
  /** The certificate of a TLS server, to be trusted by `connect: { ca }`. */
  readonly ca: string
}

export interface ServerOptions {
  readonly tls?: boolean
  readonly settings?: http2.Settings
  /** Where to listen; a free port of the loopback interface by default. */
  readonly path?: string
}

let certificate: ReturnType<typeof generate> | null = null

/** One certificate for `localhost` for all tests of a file. */
export function toCertificate(): ReturnType<typeof generate> {
  certificate ??= generate([{ name: 'commonName', value: 'localhost' }], {
    keyType: 'ec',
    extensions: [
      {
        name: 'subjectAltName',
        altNames: [
          { type: 2, value: 'localhost' },
          { type: 7, ip: '127.0.0.1' },
        ],
      },
    ],
  })
  return certificate
}

/** Starts a server that ends with the test, whatever is still open on it. */
export async function startServer(
  onStream: StreamListener,
  options: ServerOptions = {},
): Promise<TestServer> {
  const { tls = false, settings = {}, path } = options
  const { private: key, cert } = tls ? await toCertificate() : { private: '', cert: '' }
  const server = tls
    ? (http2.createSecureServer({ key, cert, settings }) as unknown as Http2Server)
    : http2.createServer({ settings })
  const sessions: ServerHttp2Session[] = []
  server.on('session', (session) => {
    sessions.push(session)
    // A client that aborts is what many tests are about.
    session.on('error', ignore)
  })
  server.on('sessionError', ignore)
  server.on('stream', (stream: ServerHttp2Stream, headers: http2.IncomingHttpHeaders) => {
    stream.on('error', ignore)
    onStream(stream, headers)
  })
  if (path === undefined) await listenOnFree(server)
  else await once(server.listen(path), 'listening')
  onTestFinished(() => stopServer(server, sessions))
  const address = server.address() as AddressInfo | string
  const host =
    typeof address === 'string' ? 'localhost' : `${tls ? 'localhost' : '127.0.0.1'}:${address.port}`
  return { origin: `${tls ? 'https' : 'http'}://${host}`, server, sessions, ca: cert }
}

async function stopServer(server: Http2Server, sessions: ServerHttp2Session[]): Promise<void> {
  for (const session of sessions) session.destroy()
  if (!server.listening) return
  const closed = once(server, 'close')
  server.close()
  await closed
}

function ignore(): void {}

/** Reads all of a stream, as a string. */
export async function read(stream: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

/** Whether a user can act on a failure: each row has a scene, and the facts that the error's message names. */

import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import type { ServerHttp2Stream } from 'node:http2'
import { createServer as createHttp2Server, createSecureServer } from 'node:http2'
import { createServer as createHttpsServer } from 'node:https'
import type { Server, Socket } from 'node:net'
import { connect, createServer } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Client, errors, fetch, ProxyAgent } from '../../src/index.ts'
import type { ConnectionScript } from '../../src/testing/fault-connection.ts'
import { frames } from '../../src/testing/frames.ts'
import type { ClientOptions, RequestOptions } from '../../types/index.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import { ENGINES } from '../support/clients/engines.ts'
import { NO_ERROR } from '../support/peers/error-codes.ts'
import { SERVE, startPeer } from '../support/peers/peer-rig.ts'
import { findFreePort } from '../support/servers/free-port.ts'
import { listen } from '../support/servers/listen.ts'
import { startServer, toCertificate } from '../support/servers/server.ts'

/** What happens, to whom, and what the message has to say. */
interface Row {
  readonly what: string
  toOrigin(): string | Promise<string>
  readonly options?: ClientOptions | (() => Promise<ClientOptions>)
  readonly request?: Partial<RequestOptions>
  readonly says: readonly (string | RegExp)[]
  /** What it says on engine `wire` besides, which sees the peer's first bytes. */
  readonly saysOnWire?: string
  readonly error: object
}

async function toPort(server: Server): Promise<number> {
  return (await listen(server)).port
}

/** A server that responds to the first bytes with these, and closes. */
async function toAnswering(bytes: string | Buffer): Promise<string> {
  const server = createServer((socket) => socket.once('data', () => socket.end(bytes)))
  return `localhost:${await toPort(server)}`
}

async function toTls() {
  const { private: key, cert } = await toCertificate()
  return { key, cert }
}

const HTTP1 = 'HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n'
const TLS_ALERT = Buffer.from('15030100020228', 'hex')
const LOST = { name: 'SocketError', code: 'UND_ERR_SOCKET', processed: 'maybe' }

/** Peers that don't speak what the URL says. */
const PROTOCOLS: readonly Row[] = [
  {
    what: "h2c to Node's HTTP/1.1 server",
    toOrigin: async () =>
      `http://localhost:${await toPort(createHttpServer((_, response) => response.end()))}`,
    saysOnWire: 'speaks HTTP/1.1, not HTTP/2',
    says: ['HTTP/1.1', 'h2c: false', 'Agent', /http:\/\/localhost:\d+/],
    error: { ...LOST, http2ErrorCode: 1 },
  },
  {
    what: 'h2c to a proxy or a portal of HTTP/1.0, which answers with HTML',
    toOrigin: async () => `http://${await toAnswering('HTTP/1.0 302 Found\r\nLocation: /\r\n\r\n<html>')}`,
    says: ['HTTP/1.1', 'h2c: false', 'Agent'],
    error: { ...LOST, http2ErrorCode: 1 },
  },
  {
    what: 'h2c to a server of another protocol',
    toOrigin: async () => `http://${await toAnswering('SSH-2.0-OpenSSH_9.2\r\n')}`,
    says: ["doesn't speak HTTP/2", 'SETTINGS'],
    error: { ...LOST, http2ErrorCode: 1 },
  },
  {
    what: 'h2c to a server of HTTP/2 over TLS',
    toOrigin: async () => `http://localhost:${await toPort(createSecureServer(await toTls()))}`,
    says: ['before the server sent SETTINGS', 'TLS'],
    error: LOST,
  },
  {
    what: 'h2c to a server of TLS that sends an alert',
    toOrigin: async () => `http://${await toAnswering(TLS_ALERT)}`,
    says: [/SETTINGS|https:/, 'TLS'],
    saysOnWire: 'speaks TLS, not HTTP/2 (RFC 9113 §3.4): use an https: URL',
    error: LOST,
  },
  {
    what: 'h2c to a server that closes',
    toOrigin: async () => `http://${await toAnswering('')}`,
    says: ['before the server sent SETTINGS', 'HTTP/1.1', 'h2c: false'],
    error: LOST,
  },
  {
    what: 'TLS to a server of HTTP/1.1 without TLS',
    toOrigin: async () => `https://${await toAnswering(HTTP1)}`,
    says: ["didn't answer with TLS", 'http:', /^Could not connect to https:\/\/localhost:\d+: [\w ]+\. /],
    error: { name: 'ConnectError', code: expect.stringMatching(/^ERR_SSL_/), processed: 'no' },
  },
  {
    what: 'TLS to a server of HTTP/2 without TLS',
    toOrigin: async () => `https://localhost:${await toPort(createHttp2Server())}`,
    says: ["didn't answer with TLS", 'http:'],
    error: { name: 'ConnectError', code: expect.stringMatching(/^ERR_SSL_/), processed: 'no' },
  },
  {
    what: 'ALPN with a server of HTTP/1.1 alone, and no fallback',
    toOrigin: async () =>
      `https://localhost:${await toPort(createHttpsServer(await toTls(), (_, response) => response.end()))}`,
    options: async () => ({ fallback: null, connect: { ca: (await toTls()).cert } }),
    says: ["doesn't speak HTTP/2", 'fallback: null'],
    error: { name: 'AlpnError' },
  },
  {
    what: 'a server without ALPN, and no fallback',
    toOrigin: async () => `https://localhost:${await toPort(createTlsServer(await toTls()))}`,
    options: async () => ({ fallback: null, connect: { ca: (await toTls()).cert } }),
    says: ["doesn't speak HTTP/2", 'fallback: null'],
    error: { name: 'AlpnError' },
  },
]

/** A connection that stands before its client is made. */
let accepted: Socket

/** Connections that can't be made. */
const CONNECTIONS: readonly Row[] = [
  {
    what: 'a name whose addresses of both families refuse',
    toOrigin: async () => `http://localhost:${await findFreePort()}`,
    options: {
      connect: {
        lookup: (_name, _options, callback) =>
          callback(null, [
            { address: '::1', family: 6 },
            { address: '127.0.0.1', family: 4 },
          ] as never),
      },
    },
    says: [/127\.0\.0\.1:\d+/, /::1:\d+/],
    error: { name: 'ConnectError', processed: 'no' },
  },
  {
    what: 'a certificate of an unknown issuer',
    toOrigin: async () => `https://localhost:${await toPort(createSecureServer(await toTls()))}`,
    says: ['self-signed certificate', 'connect.ca'],
    error: { name: 'ConnectError', code: 'DEPTH_ZERO_SELF_SIGNED_CERT' },
  },
  {
    what: 'a certificate of another name',
    toOrigin: async () => `https://localhost:${await toPort(createSecureServer(await toTls()))}`,
    options: async () => ({ connect: { ca: (await toTls()).cert, servername: 'other.example' } }),
    says: ['other.example', 'connect.servername'],
    error: { name: 'ConnectError', code: 'ERR_TLS_CERT_ALTNAME_INVALID' },
  },
  {
    what: 'a server that wants a certificate of the client',
    toOrigin: async () => {
      const tls = {
        ...(await toTls()),
        requestCert: true,
        rejectUnauthorized: true,
        maxVersion: 'TLSv1.2',
      } as const
      return `https://localhost:${await toPort(createSecureServer({ ...tls, ca: tls.cert }))}`
    },
    options: async () => ({ connect: { ca: (await toTls()).cert } }),
    says: [/Could not connect|The connection was (lost|closed)/],
    error: {},
  },
  {
    what: 'a server that accepts, and says nothing',
    toOrigin: async () => {
      const port = await toPort(createServer())
      accepted = connect(port, '127.0.0.1')
      await once(accepted, 'connect')
      return `http://localhost:${port}`
    },
    // Connected before the time begins to run: on a busy machine 50 ms may pass before a connection stands.
    options: { connectTimeout: 50, connect: (_options, callback) => callback(null, accepted) },
    says: ['connectTimeout (50 ms)', 'SETTINGS'],
    error: LOST,
  },
]

async function toHttp2(onStream: (stream: ServerHttp2Stream) => void): Promise<string> {
  return (await startServer(onStream)).origin
}

/** Limits that a call reaches. */
const LIMITS: readonly Row[] = [
  {
    what: 'no response in time',
    toOrigin: () => toHttp2(() => {}),
    request: { headersTimeout: 50 },
    says: ['headersTimeout (50 ms)'],
    error: { name: 'HeadersTimeoutError' },
  },
  {
    what: 'no end in time',
    toOrigin: () => toHttp2((stream) => stream.respond()),
    request: { requestTimeout: 50 },
    says: ['requestTimeout (50 ms)'],
    error: { name: 'RequestTimeoutError' },
  },
  {
    what: 'a body that stands still',
    toOrigin: () => toHttp2((stream) => stream.respond()),
    request: { bodyTimeout: 50 },
    says: ['bodyTimeout (50 ms)'],
    error: { name: 'BodyTimeoutError' },
  },
  {
    what: 'a body that is too large',
    toOrigin: () => toHttp2((stream) => stream.end('twelve bytes')),
    request: { maxResponseSize: 5 },
    says: ['maxResponseSize (5)'],
    error: { name: 'ResponseExceededMaxSizeError' },
  },
  {
    what: 'a header section that is too large',
    toOrigin: () =>
      toHttp2((stream) => {
        stream.respond({ 'x-large': 'x'.repeat(500) })
        stream.end()
      }),
    request: { maxHeaderSize: 100 },
    says: ['maxHeaderSize (100)'],
    error: { name: 'HeadersOverflowError' },
  },
]

describe.each(ENGINES)('on engine %s the error of a call says what happened:', (engine) => {
  it.each([...PROTOCOLS, ...CONNECTIONS, ...LIMITS])('$what', async ({
    toOrigin,
    options,
    request,
    says,
    saysOnWire = '',
    error,
  }) => {
    const given = typeof options === 'function' ? await options() : options
    const client = destroyWithTest(new Client(await toOrigin(), { ...given, engine }))
    const call = client.request({ path: '/secret?token=hidden', method: 'POST', body: 'hidden', ...request })
    const failure: Error = await call.then(({ body }) => body.text()).catch((reason) => reason)
    expect(failure).toBeInstanceOf(errors.DodiciError)
    for (const fact of says) expect(failure.message).toMatch(fact)
    if (engine === 'wire') expect(failure.message).toContain(saysOnWire)
    expect(failure.message).not.toMatch(/hidden|\n/)
    expect(failure).toMatchObject(error)
  })

  it('a call that a graceful GOAWAY leaves out', async () => {
    const script: ConnectionScript = {
      ...SERVE,
      // Credit for the body would contradict the GOAWAY.
      grantsCredit: false,
      onData: ({ connection, id, path }) =>
        void (path === '/left-out' && connection.write(frames.goAway(id - 2, NO_ERROR))),
    }
    const peer = await startPeer([script, SERVE])
    const client = destroyWithTest(new Client(peer.origin, { engine }))
    await (await client.request({ path: '/warm', method: 'GET' })).body.dump()
    async function* toOneShot(): AsyncGenerator<string> {
      yield 'once'
    }
    const call = client.request({ path: '/left-out', method: 'POST', body: toOneShot() })
    const failure: Error = await call.then(() => new Error('a response came')).catch((reason) => reason)
    expect(failure).toMatchObject({ name: 'SocketError', processed: 'no', http2ErrorCode: 0, streamId: 3 })
    expect(failure.message).toMatch(/GOAWAY with NO_ERROR and last stream id 1, which excludes stream 3/)
  })

  it('calls that wait for a server which ends each connection', async () => {
    const server = createServer((socket) => socket.once('data', () => socket.end(HTTP1)))
    const client = destroyWithTest(new Client(`http://localhost:${await toPort(server)}`, { engine }))
    const calls = Array.from({ length: 12 }, () => client.request({ path: '/', method: 'GET' }))
    for (const outcome of await Promise.allSettled(calls)) {
      expect(outcome).toMatchObject({
        status: 'rejected',
        reason: { message: expect.stringContaining('HTTP/1.1') },
      })
    }
  })
})

describe('json() of a body that is no JSON', () => {
  /** Responds by what the path says. */
  async function start(): Promise<string> {
    return toHttp2((stream) => {
      stream.respond({ ':status': 502, 'content-type': 'text/html; charset=utf-8' })
      stream.end('hidden <html>')
    })
  }

  const FACTS = [/from "\/a\/b/, /status 502/, /content-type "text\/html"/, /isn't JSON/]

  it.each<[string, (origin: string) => Promise<unknown>]>([
    [
      'request()',
      async (origin) => {
        const client = destroyWithTest(new Client(origin))
        const { body } = await client.request({ path: '/a/b?token=hidden', method: 'GET' })
        return body.json()
      },
    ],
    [
      'request(), once all of it has come',
      async (origin) => {
        const client = destroyWithTest(new Client(origin))
        const { body } = await client.request({ path: '/a/b?token=hidden', method: 'GET' })
        await once(body, 'readable')
        return body.json()
      },
    ],
    [
      'fetch()',
      async (origin) => {
        const client = destroyWithTest(new Client(origin))
        return (await fetch(`${origin}/a/b?token=hidden`, { dispatcher: client })).json()
      },
    ],
    [
      'fetch(), of a clone',
      async (origin) => {
        const client = destroyWithTest(new Client(origin))
        return (await fetch(`${origin}/a/b?token=hidden`, { dispatcher: client })).clone().json()
      },
    ],
  ])('%s names the status, the path and the type, and shows nothing of the body or the query', async (_, read) => {
    const failure: unknown = await read(await start()).catch((reason) => reason)
    expect(failure).toBeInstanceOf(SyntaxError)
    const { message, cause }: Error = Object(failure)
    for (const fact of FACTS) expect(message).toMatch(fact)
    expect(message).not.toContain('hidden')
    // The parser's own, as undici throws it.
    expect(cause).toBeInstanceOf(SyntaxError)
  })

  it('says that an empty body is empty', async () => {
    const origin = await toHttp2((stream) => {
      stream.respond({ ':status': 204 }, { endStream: true })
    })
    const client = destroyWithTest(new Client(origin))
    const { body } = await client.request({ path: '/a', method: 'GET' })
    await expect(body.json()).rejects.toThrow(
      'The response body from "/a" is empty, not JSON (status 204, no content-type)',
    )
    const response = await fetch(`${origin}/a`, { dispatcher: client })
    await expect(response.json()).rejects.toThrow('"/a" is empty, not JSON (status 204, no content-type)')
  })
})

describe('the error of a proxy says what happened:', () => {
  it.each([
    { what: 'it answers with HTML', answer: '<html>login</html>\r\n\r\n', says: /doesn't speak HTTP\/1\.1/ },
    { what: 'it closes', answer: '', says: /closed the connection/ },
    { what: 'it refuses', answer: 'HTTP/1.1 407 No\r\ncontent-length: 0\r\n\r\n', says: /407/ },
  ])('$what', async ({ answer, says }) => {
    const agent = new ProxyAgent(`http://${await toAnswering(answer)}`)
    onTestFinished(() => agent.destroy())
    const call = agent.request({ origin: 'https://origin.example', path: '/?token=hidden', method: 'GET' })
    const failure: Error = await call.then(() => new Error('a response came')).catch((reason) => reason)
    expect(failure.message).toMatch(says)
    expect(failure.message).not.toContain('hidden')
  })
})

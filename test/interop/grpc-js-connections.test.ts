/** How the connections of dodici/grpc-js are made: targets, TLS by channel credentials, proxies; and how they end. */

import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { createServer } from 'node:http'
import type { ServerHttp2Stream } from 'node:http2'
import { createSecureServer } from 'node:http2'
import type { AddressInfo, Socket } from 'node:net'
import { connect, createServer as createNetServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import type { TLSSocket } from 'node:tls'
import * as grpc from '@grpc/grpc-js'
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { startPeer } from '../support/peers/peer-rig.ts'
import { startServer, toCertificate } from '../support/servers/server.ts'
import { OURS, TestClient, TRANSPORTS } from './grpc-js-rig.ts'

const { status } = grpc

/** A status, without messages. */
const CODE = { 'content-type': 'application/grpc', 'grpc-status': '9' }

function answer(stream: ServerHttp2Stream): void {
  stream.respond({ ':status': 200, ...CODE }, { endStream: true })
}

/** The code that a call ends with; 9 means that a server has had it. */
async function ask(client: TestClient): Promise<number | undefined> {
  return (await client.unary('/a.B/C', 'x', undefined, { deadline: Date.now() + 20_000 })).error?.code
}

afterEach(() => {
  TestClient.closeAll()
  vi.unstubAllEnvs()
})

interface TlsServer {
  readonly port: number
  readonly cert: Buffer
  readonly key: Buffer
  readonly sockets: TLSSocket[]
}

async function startTls(options: { requestCert?: boolean } = {}): Promise<TlsServer> {
  const { private: key, cert } = await toCertificate()
  const server = createSecureServer({ key, cert, ca: cert, rejectUnauthorized: false, ...options })
  const sockets: TLSSocket[] = []
  server.on('secureConnection', (socket: TLSSocket) => sockets.push(socket))
  server.on('stream', answer)
  server.on('sessionError', () => {})
  server.on('tlsClientError', () => {})
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return {
    port: (server.address() as AddressInfo).port,
    cert: Buffer.from(cert),
    key: Buffer.from(key),
    sockets,
  }
}

describe.each(TRANSPORTS)('a target › $name', (transport) => {
  it.each(['unix:', 'unix://'])('%s reaches a Unix socket', async (scheme) => {
    const path = join(tmpdir(), `dodici-grpc-${process.pid}-${Math.random().toString(36).slice(2)}`)
    let authority: string | undefined
    await startServer(
      (stream, headers) => {
        authority = headers[':authority']
        answer(stream)
      },
      { path },
    )
    const client = new TestClient(transport, `${scheme}${path}`)
    expect(await ask(client)).toBe(9)
    expect(authority).toBe('localhost')
  })

  it.each(['', 'dns:', 'dns:///', 'ipv4:'])('%s reaches an address', async (scheme) => {
    const { origin } = await startServer(answer)
    expect(await ask(new TestClient(transport, `${scheme}${new URL(origin).host}`))).toBe(9)
  })

  it('tries the addresses of a list in turn', async () => {
    const { origin } = await startServer(answer)
    expect(await ask(new TestClient(transport, `ipv4:127.0.0.1:1,${new URL(origin).host}`))).toBe(9)
  })

  it('speaks no HTTP/1.1', async () => {
    const server = createServer((_request, response) => response.end('HTTP/1.1'))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => void server.close())
    const client = new TestClient(transport, `127.0.0.1:${(server.address() as AddressInfo).port}`)
    expect([status.UNAVAILABLE, status.INTERNAL]).toContain(await ask(client))
  })
})

/** A server that accepts connections, and never answers. */
async function startSilent(): Promise<{ readonly port: number; readonly sockets: readonly Socket[] }> {
  const sockets: Socket[] = []
  const server = createNetServer((socket) => sockets.push(socket.resume()))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return { port: (server.address() as AddressInfo).port, sockets }
}

describe.each(TRANSPORTS)('an address that never answers › $name', (transport) => {
  it('doesn’t keep calls from the next one', async () => {
    const [silent, { port, cert }] = [await startSilent(), await startTls()]
    const target = `ipv4:127.0.0.1:${silent.port},127.0.0.1:${port}`
    const options = { 'grpc.ssl_target_name_override': 'localhost' }
    expect(await ask(new TestClient(transport, target, grpc.credentials.createSsl(cert), options))).toBe(9)
    if (transport.isOurs) await expect.poll(() => silent.sockets.map(({ closed }) => closed)).toEqual([true])
  })
})

describe.each(OURS)('an address that never answers › $name', (transport) => {
  it.each(['a server', 'a proxy'])('has no connection left once the channel is closed: %s', async (what) => {
    const silent = await startSilent()
    for (const name of ['no_proxy', 'no_grpc_proxy']) vi.stubEnv(name, '')
    if (what === 'a proxy') vi.stubEnv('grpc_proxy', `http://127.0.0.1:${silent.port}`)
    const target = what === 'a proxy' ? 'server.example:1' : `127.0.0.1:${silent.port}`
    const client = new TestClient(transport, target, grpc.credentials.createSsl())
    client.getChannel().getConnectivityState(true)
    await expect.poll(() => silent.sockets).toHaveLength(1)
    client.close()
    const areClosed = () => silent.sockets.map(({ closed }) => closed)
    await expect.poll(areClosed, { timeout: 10_000 }).toEqual([true])
  })
})

describe.each(TRANSPORTS)('channel credentials › $name', (transport) => {
  it('trust the given roots, and no others', async () => {
    const { port, cert } = await startTls()
    const trusting = new TestClient(transport, `localhost:${port}`, grpc.credentials.createSsl(cert))
    expect(await ask(trusting)).toBe(9)
    const doubting = new TestClient(transport, `localhost:${port}`, grpc.credentials.createSsl())
    expect(await ask(doubting)).toBe(status.UNAVAILABLE)
  })

  it('check the name, or the one that an option gives', async () => {
    const { port, cert } = await startTls()
    const credentials = grpc.credentials.createSsl(cert)
    const override = (name: string): grpc.ChannelOptions => ({ 'grpc.ssl_target_name_override': name })
    const target = `127.0.0.1:${port}`
    expect(await ask(new TestClient(transport, target, credentials, override('localhost')))).toBe(9)
    expect(await ask(new TestClient(transport, target, credentials, override('other.example')))).toBe(14)
  })

  it('ask checkServerIdentity', async () => {
    const { port, cert } = await startTls()
    const names: string[] = []
    const credentials = grpc.credentials.createSsl(cert, null, null, {
      checkServerIdentity: (name) => {
        names.push(name)
        return names.length > 1 ? new Error('refused') : undefined
      },
    })
    expect(await ask(new TestClient(transport, `localhost:${port}`, credentials))).toBe(9)
    expect(names).toEqual(['localhost'])
    TestClient.closeAll()
    expect(await ask(new TestClient(transport, `localhost:${port}`, credentials))).toBe(status.UNAVAILABLE)
  })

  it('show a certificate of the client', async () => {
    const { port, cert, key, sockets } = await startTls({ requestCert: true })
    const client = new TestClient(transport, `localhost:${port}`, grpc.credentials.createSsl(cert, key, cert))
    expect(await ask(client)).toBe(9)
    expect(sockets[0]?.getPeerCertificate().subject.CN).toBe('localhost')
  })

  it('are composed with credentials of calls, which go out with each call', async () => {
    const { port, cert } = await startTls()
    const ofCalls = grpc.credentials.createFromMetadataGenerator(({ service_url }, callback) => {
      const metadata = new grpc.Metadata()
      metadata.set('authorization', `Bearer ${service_url}`)
      callback(null, metadata)
    })
    const credentials = grpc.credentials.combineChannelCredentials(grpc.credentials.createSsl(cert), ofCalls)
    const client = new TestClient(transport, `localhost:${port}`, credentials)
    expect(await ask(client)).toBe(9)
    const twice = await client.unary('/a.B/C', 'x', undefined, { credentials: ofCalls })
    expect(twice.error).toMatchObject({
      code: status.INTERNAL,
      details: '"authorization" metadata cannot have multiple values',
    })
  })
})

describe.each(TRANSPORTS)('a proxy › $name', (transport) => {
  it.each([
    'grpc_proxy',
    'https_proxy',
    'http_proxy',
  ])('of %s opens a tunnel, unless no_grpc_proxy names the host', async (name) => {
    for (const one of ['grpc_proxy', 'https_proxy', 'http_proxy', 'no_proxy', 'no_grpc_proxy'])
      vi.stubEnv(one, '')
    const { origin } = await startServer(answer)
    const asked: string[] = []
    const open = new Set<Duplex>()
    const proxy = createServer()
    proxy.on('connect', (request: IncomingMessage, socket: Socket) => {
      asked.push(`${request.url} ${request.headers['proxy-authorization']}`)
      const [host, port] = String(request.url).split(':')
      const there = connect(Number(port), host)
      for (const end of [socket, there]) open.add(end.on('error', () => {}))
      socket.write('HTTP/1.1 200 OK\r\n\r\n')
      socket.pipe(there).pipe(socket)
    })
    proxy.listen(0, '127.0.0.1')
    await once(proxy, 'listening')
    onTestFinished(() => {
      for (const end of open) end.destroy()
      proxy.close()
    })
    vi.stubEnv(name, `http://user:pass@127.0.0.1:${(proxy.address() as AddressInfo).port}`)
    const target = new URL(origin).host
    expect(await ask(new TestClient(transport, target))).toBe(9)
    expect(asked).toEqual([`${target} Basic ${Buffer.from('user:pass').toString('base64')}`])
    vi.stubEnv('no_grpc_proxy', 'example.com,127.0.0.0/8')
    expect(
      await ask(new TestClient(transport, target, undefined, { 'grpc.use_local_subchannel_pool': 1 })),
    ).toBe(9)
    vi.stubEnv('no_grpc_proxy', '')
    expect(await ask(new TestClient(transport, target, undefined, { 'grpc.enable_http_proxy': 0 }))).toBe(9)
    expect(asked).toHaveLength(1)
  })
})

describe.each(OURS)('a connection that ends › $name', (transport) => {
  it('is replaced, and a call that the GOAWAY leaves out is sent again', async () => {
    const peer = await startPeer([
      { onComplete: (_stream, connection) => connection.goAway({ lastStreamId: 0 }) },
      { onComplete: (stream) => stream.respond({ headers: CODE, body: null }) },
    ])
    const client = new TestClient(transport, new URL(peer.origin).host)
    expect(await ask(client)).toBe(9)
    expect(peer.connections).toHaveLength(2)
  })

  it('gives its calls the code of the GOAWAY', async () => {
    const peer = await startPeer({
      onComplete: (_stream, connection) =>
        connection.goAway({ lastStreamId: 1, code: 'ENHANCE_YOUR_CALM', closes: 'at once' }),
    })
    const client = new TestClient(transport, new URL(peer.origin).host)
    expect(await ask(client)).toBe(status.RESOURCE_EXHAUSTED)
  })

  it('makes the channel IDLE', async () => {
    const peer = await startPeer({ onComplete: (stream) => stream.respond({ headers: CODE, body: null }) })
    const client = new TestClient(transport, new URL(peer.origin).host)
    await client.waitForReadyNow()
    peer.connections[0]?.break()
    await expect.poll(() => client.getChannel().getConnectivityState(false)).toBe(grpc.connectivityState.IDLE)
    expect(await ask(client)).toBe(9)
  })

  it('ends when no call has needed it for grpc.client_idle_timeout_ms', async () => {
    const { origin, sessions } = await startServer(answer)
    const client = new TestClient(transport, new URL(origin).host, undefined, {
      'grpc.client_idle_timeout_ms': 1,
    })
    expect(await ask(client)).toBe(9)
    await expect.poll(() => sessions[0]?.closed).toBe(true)
    expect(await ask(client)).toBe(9)
  })

  it('is watched by PINGs while it has calls, and its calls are UNAVAILABLE when they get no ACK', async () => {
    const peer = await startPeer({ acksPings: false })
    const client = new TestClient(transport, new URL(peer.origin).host, undefined, {
      'grpc.keepalive_time_ms': 100,
      'grpc.keepalive_timeout_ms': 100,
    })
    expect(await ask(client)).toBe(status.UNAVAILABLE)
    expect(peer.connections[0]?.of('PING').length).toBeGreaterThan(0)
  })
})

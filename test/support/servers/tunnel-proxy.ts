/** Proxies whose tunnels do what a test says, by each protocol. Any name leads to the loopback address. */

import type { IncomingHttpHeaders, IncomingMessage, Server } from 'node:http'
import { createServer } from 'node:http'
import type { ServerHttp2Session, ServerHttp2Stream } from 'node:http2'
import { createSecureServer } from 'node:http2'
import { createServer as createHttps } from 'node:https'
import type { Socket } from 'node:net'
import { connect, createServer as createTcp } from 'node:net'
import type { Duplex } from 'node:stream'
import { onTestFinished } from 'vitest'
import { listenOnFree } from './free-port.ts'
import { toCertificate } from './server.ts'

export const KINDS = ['HTTP/1.1', 'HTTP/1.1 over TLS', 'HTTP/2', 'SOCKS5'] as const
export type Kind = (typeof KINDS)[number]

/** A tunnel that was asked for. */
export interface AskedTunnel {
  readonly authority: string
  /** Empty for SOCKS5. */
  readonly headers: IncomingHttpHeaders
  /** What the tunnel is, from the proxy's side: a socket, or a stream of HTTP/2. */
  readonly link: Duplex
  /** Settles when the link is closed. */
  readonly closed: Promise<void>
  /** Opens it. @param first the first bytes of the server, in the same write */
  accept(first?: Buffer): void
  /** Opens it, and connects it with the port of the authority. @param waits for the first bytes of the server */
  relay(waits?: boolean): void
}

export interface TunnelProxy {
  readonly uri: string
  readonly ca: string
  /** In the order in which they were asked for. */
  readonly asked: AskedTunnel[]
  /** All of them, closed ones too. */
  readonly connections: Socket[]
  /** Those of HTTP/2. */
  readonly sessions: ServerHttp2Session[]
  /** Settles when so many tunnels were asked for. */
  until(count: number): Promise<void>
  /** Settles when all connections are closed. */
  allClosed(): Promise<unknown>
}

const SOCKS_REPLY = Buffer.of(5, 0, 0, 1, 0, 0, 0, 0, 0, 0)
const ESTABLISHED = Buffer.from('HTTP/1.1 200 Connection established\r\n\r\n')

function ignore(): void {}

function toClosed(stream: Duplex): Promise<void> {
  return stream.closed ? Promise.resolve() : new Promise((resolve) => stream.once('close', resolve))
}

function relayTo(port: number, link: Duplex, waits: boolean, accept: (first: Buffer) => void): void {
  const origin = connect(port, '127.0.0.1')
  origin.on('error', ignore).on('close', () => link.destroy())
  link.on('close', () => origin.destroy())
  const join = (first: Buffer): void => {
    accept(first)
    link.pipe(origin).pipe(link)
  }
  if (waits) origin.once('data', join)
  else origin.once('connect', () => join(Buffer.alloc(0)))
}

/** @param onTunnel called for each tunnel; without it, all are relayed */
export async function startTunnelProxy(
  kind: Kind,
  onTunnel: (tunnel: AskedTunnel) => void = (tunnel) => tunnel.relay(),
): Promise<TunnelProxy> {
  const { private: key, cert } = await toCertificate()
  const asked: AskedTunnel[] = []
  const connections: Socket[] = []
  const sessions: ServerHttp2Session[] = []
  let waiters: (() => void)[] = []

  const add = (
    authority: string,
    headers: IncomingHttpHeaders,
    link: Duplex,
    accept: (first: Buffer) => void,
  ): void => {
    // A server of HTTP leaves its side open after CONNECT.
    link.on('error', ignore).on('end', () => link.end())
    const port = Number(new URL(`http://${authority}`).port || 80)
    const tunnel: AskedTunnel = {
      ...{ authority, headers, link, closed: toClosed(link) },
      accept: (first = Buffer.alloc(0)) => accept(first),
      relay: (waits = false) => relayTo(port, link, waits, accept),
    }
    asked.push(tunnel)
    onTunnel(tunnel)
    const waiting = waiters
    waiters = []
    for (const waiter of waiting) waiter()
  }

  const onConnect = (request: IncomingMessage, socket: Socket): void => {
    add(request.url ?? '', request.headers, socket, (first) =>
      socket.write(Buffer.concat([ESTABLISHED, first])),
    )
  }
  const onStream = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void => {
    const authority = String(headers[':authority'])
    add(authority, headers, stream, (first) => {
      if (stream.destroyed) return
      stream.respond({ ':status': 200 })
      if (first.length > 0) stream.write(first)
    })
  }
  const onSocks = (socket: Socket): void => {
    socket.once('data', () => {
      socket.write(Buffer.of(5, 0))
      socket.once('data', (bytes: Buffer) => {
        const name = bytes.subarray(5, -2).toString()
        add(`${name}:${bytes.readUInt16BE(bytes.length - 2)}`, {}, socket, (first) =>
          socket.write(Buffer.concat([SOCKS_REPLY, first])),
        )
      })
    })
  }
  const makers: Record<Kind, () => NodeJS.EventEmitter> = {
    'HTTP/1.1': () => createServer().on('connect', onConnect),
    'HTTP/1.1 over TLS': () => createHttps({ key, cert }).on('connect', onConnect),
    'HTTP/2': () =>
      createSecureServer({ key, cert })
        // Otherwise Node's compatibility layer responds to CONNECT by itself.
        .on('connect', ignore)
        .on('sessionError', ignore)
        .on('session', (session) => sessions.push(session.on('error', ignore)))
        .on('stream', onStream as never),
    SOCKS5: () => createTcp(onSocks),
  }
  const server = makers[kind]() as Server
  server.on('tlsClientError', ignore)
  server.on('connection', (socket: Socket) => connections.push(socket.on('error', ignore)))
  const port = await listenOnFree(server)
  onTestFinished(() => {
    for (const socket of connections) socket.destroy()
    server.close()
  })
  const scheme = kind === 'SOCKS5' ? 'socks5' : kind === 'HTTP/1.1' ? 'http' : 'https'
  return {
    ...{ uri: `${scheme}://localhost:${port}`, ca: cert, asked, connections, sessions },
    until: async (count) => {
      while (asked.length < count) await new Promise<void>((resolve) => waiters.push(resolve))
    },
    allClosed: () => Promise.all(connections.map(toClosed)),
  }
}

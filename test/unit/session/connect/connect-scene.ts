/** Servers that record their sockets, and listeners that record the results of a dial. */

import { once } from 'node:events'
import type { Server, Socket } from 'node:net'
import { connect as connectSocket, createServer } from 'node:net'
import type { TlsOptions } from 'node:tls'
import { createServer as createTlsServer } from 'node:tls'
import { onTestFinished } from 'vitest'
import type { DialListener } from '../../../../src/session/connect/dial.ts'
import type { DialTarget } from '../../../../src/session/connect/dialer.ts'
import type { SocketServer } from '../../../support/servers/listen.ts'
import { listen } from '../../../support/servers/listen.ts'
import { toCertificate } from '../../../support/servers/server.ts'

export interface WatchedServer extends SocketServer {
  /** Settles when a connection has come: an earlier one, or the next. */
  readonly arrived: () => Promise<unknown>
}

async function watch(server: Server): Promise<WatchedServer> {
  const listening = await listen(server)
  return {
    ...listening,
    arrived: async () => listening.sockets[0] ?? once(server, 'connection'),
  }
}

/** A server that accepts connections and never sends a byte: a TLS handshake with it never ends. */
export function startSilent(): Promise<WatchedServer> {
  return watch(createServer((socket) => socket.resume()))
}

/** A TLS server that sends its name on each connection. */
export async function startTls(options: TlsOptions = {}): Promise<WatchedServer & { ca: string }> {
  const { private: key, cert } = await toCertificate()
  const server = createTlsServer({ key, cert, ...options }, (socket) => {
    socket.on('error', () => {}).resume()
    socket.write('hello')
  })
  return { ...(await watch(server)), ca: cert }
}

/** An open connection to a server, which its test closes. */
export async function openPlain(port: number): Promise<Socket> {
  const socket = connectSocket(port, '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  await once(socket, 'connect')
  return socket
}

/** Where a dial leads: the loopback address. */
export function toTarget(port: number, alpnProtocols: string[], protocol = 'https:'): DialTarget {
  const asked = { hostname: 'localhost', host: `localhost:${port}`, protocol, port: String(port) }
  return { name: `localhost:${port}`, asked, port, alpnProtocols, tls: {} }
}

/** Records each result of a dial: there may be one. */
export class NotedResults implements DialListener {
  readonly sockets: Socket[] = []
  readonly causes: unknown[] = []
  readonly settled: Promise<void>
  /** Of every open socket. */
  refusal: Error | null = null
  #settle: () => void = () => {}

  constructor() {
    this.settled = new Promise((resolve) => {
      this.#settle = resolve
    })
    onTestFinished(() => {
      for (const socket of this.sockets) socket.destroy()
    })
  }

  toRefusal(): Error | null {
    return this.refusal
  }

  onConnected(socket: Socket): void {
    this.sockets.push(socket)
    this.#settle()
  }

  onFailed(cause: unknown): void {
    this.causes.push(cause)
    this.#settle()
  }
}

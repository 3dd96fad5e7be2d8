/**
 * Where a fault server listens: sockets, TLS, and which protocol clients speak.
 *
 * @module
 */

import { once } from 'node:events'
import type { Server as Http1Server } from 'node:http'
import { createServer as createHttp1Server } from 'node:http'
import type { AddressInfo, Server, Socket } from 'node:net'
import { createServer } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { createSecureContext, createServer as createTlsServer } from 'node:tls'
import type { FaultServerOptions } from './fault-options.ts'
import { toTlsOptions } from './fault-options.ts'
import { FaultSocket } from './fault-socket.ts'
import { PREFACE } from './frames.ts'
import type { ConnectionLayers } from './tls-transport.ts'
import { TlsTransport } from './tls-transport.ts'

/** Is told about sockets. */
export interface ListenerOwner {
  /** A socket was accepted, and nothing was sent yet. Settles when the listener may continue. */
  onSocket(socket: FaultSocket): Promise<void> | null
  /** HTTP/2 begins. */
  onConnection(layers: ConnectionLayers): void
}

/** A listening socket, and everything that it has accepted. */
export class Listener {
  readonly origin: string
  readonly port: number
  readonly #server: Server
  readonly #options: FaultServerOptions
  readonly #owner: ListenerOwner
  readonly #http1: Http1Server | null
  readonly #sockets = new Set<Socket>()
  #count = 0

  private constructor(server: Server, options: FaultServerOptions, owner: ListenerOwner) {
    const { port } = server.address() as AddressInfo
    const { h2c = false, host = '127.0.0.1', http1 = null } = options
    this.port = port
    this.origin = h2c
      ? `http://${host.includes(':') ? `[${host}]` : host}:${port}`
      : `https://localhost:${port}`
    this.#server = server
    this.#options = options
    this.#owner = owner
    this.#http1 = http1 === null ? null : createHttp1Server(http1)
    server.on('connection', (socket) => this.#onSocket(socket))
  }

  static async listen(options: FaultServerOptions, owner: ListenerOwner): Promise<Listener> {
    // A problem with a key or a certificate is thrown here, not at the first connection.
    if (options.h2c !== true) createSecureContext(toTlsOptions(options))
    // A socket that only the client has closed is a case to test.
    const server = createServer({ allowHalfOpen: true })
    server.listen(options.port ?? 0, options.host ?? '127.0.0.1')
    await once(server, 'listening')
    return new Listener(server, options, owner)
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    this.#http1?.closeAllConnections()
    if (!this.#server.listening) return
    this.#server.close()
    await once(this.#server, 'close')
  }

  #onSocket(socket: Socket): void {
    this.#sockets.add(socket)
    socket.on('close', () => this.#sockets.delete(socket))
    // The socket's error closes it.
    socket.on('error', () => {})
    const accepted = new FaultSocket(this.#count++, socket)
    const decided = this.#owner.onSocket(accepted)
    if (decided === null) {
      this.#begin(socket)
      return
    }
    void decided.then(() => {
      if (!accepted.isTaken) this.#begin(socket)
    })
  }

  /** The protocol begins. */
  #begin(socket: Socket): void {
    const http1 = this.#http1
    if (this.#options.h2c !== true) this.#beginTls(socket, http1)
    else if (http1 === null) this.#owner.onConnection({ transport: socket, link: socket, alert: null })
    else this.#distinguish(socket, http1)
  }

  #beginTls(socket: Socket, http1: Http1Server | null): void {
    const transport = new TlsTransport(socket)
    const giveUp = (): void => void socket.end()
    socket.once('end', giveUp)
    // A separate server, so that its link is known to belong to this transport. It doesn't listen.
    const server = createTlsServer(toTlsOptions(this.#options), (link: TLSSocket) => {
      socket.off('end', giveUp)
      link.on('error', () => {})
      if (http1 !== null && link.alpnProtocol !== 'h2') http1.emit('connection', link)
      else this.#owner.onConnection({ transport: socket, link, alert: () => transport.alert() })
    })
    server.emit('connection', transport)
  }

  /** HTTP/1.1 begins with something other than HTTP/2's preface. */
  #distinguish(socket: Socket, http1: Http1Server): void {
    let seen = Buffer.alloc(0)
    const giveUp = (): void => void socket.end()
    const onData = (bytes: Buffer): void => {
      seen = Buffer.concat([seen, bytes])
      const isHttp2 = PREFACE.startsWith(seen.toString('latin1', 0, PREFACE.length))
      // `PROPFIND` begins like it, too.
      if (isHttp2 && seen.length < 'PRI'.length) return
      socket.off('data', onData)
      socket.off('end', giveUp)
      socket.pause()
      socket.unshift(seen)
      if (isHttp2) this.#owner.onConnection({ transport: socket, link: socket, alert: null })
      else http1.emit('connection', socket)
      socket.resume()
    }
    socket.on('data', onData)
    socket.on('end', giveUp)
  }
}

/**
 * The connection of a session: one attempt to get a socket that HTTP/2 can be spoken on.
 *
 * @module
 */

import type { Socket } from 'node:net'
import { isIP } from 'node:net'
import { TLSSocket } from 'node:tls'
import type { Connector, ConnectorOptions, ConnectTlsOptions } from '../../../types/client.ts'
import type { Alarm } from '../../core/clock.ts'
import { Hold } from '../../core/clock.ts'
import type { Origin } from '../../core/options.ts'
import { originalNextTick } from '../../core/original-timers.ts'
import { invalid } from '../../core/validate.ts'
import type { DodiciError } from '../../errors.ts'
import { AlpnError, ConnectTimeoutError, SocketError, toConnectError } from '../../errors.ts'
import type { OriginMemory } from '../origin-memory.ts'
import type { SessionContext } from '../session.ts'
import { askConnector } from './connector.ts'
import { ignoreLateError, isSocket, openSocket, setRef } from './socket.ts'

/** What a connection attempt ends with: a socket that HTTP/2 can be spoken on, or why there is none. */
export type ConnectionResult = { readonly socket: Socket } | { readonly error: DodiciError }

/** RFC 9113 §3.2: where nobody serves HTTP/1.1, a server without HTTP/2 says so during the handshake. */
const ONLY_HTTP2 = ['h2']
const EITHER_PROTOCOL = ['h2', 'http/1.1']

/**
 * One attempt to connect. It calls back exactly once, never from within the constructor, and not at all after
 * `cancel()`. A socket that comes too late is destroyed.
 */
export class ConnectionAttempt {
  readonly #origin: Origin
  readonly #memory: OriginMemory
  readonly #onResult: (result: ConnectionResult) => void
  readonly #alpnProtocols: string[]
  /** Null without a `connectTimeout`. */
  readonly #alarm: Alarm | null
  /** In its place then: a connector of the caller's may hold nothing that would keep the process alive. */
  readonly #hold: Hold | null
  /** Null until it is made: by us, or by the caller's connector. */
  #socket: Socket | null = null
  #isOver = false
  /** For a while nobody waited for it. */
  #wasUnreferenced = false

  constructor(
    { origin, options, clock, memory }: SessionContext,
    onResult: (result: ConnectionResult) => void,
  ) {
    this.#origin = origin
    this.#memory = memory
    this.#onResult = onResult
    const { connect, connectTimeout, socketPath, fallback } = options
    this.#hold = connectTimeout === 0 ? new Hold(clock) : null
    this.#alpnProtocols = fallback === null ? ONLY_HTTP2 : EITHER_PROTOCOL
    this.#alarm =
      connectTimeout === 0 ? null : clock.after(connectTimeout, () => this.#onTimeout(connectTimeout))
    if (typeof connect === 'function') this.#useConnector(connect, socketPath)
    else this.#connect(connect, socketPath)
  }

  /** Nobody waits for it any more. */
  cancel(): void {
    if (this.#isOver) return
    this.#end()
    this.#socket?.destroy()
  }

  /** Whether somebody waits for it, so that it keeps the process alive. */
  setRef(isNeeded: boolean): void {
    this.#alarm?.setRef(isNeeded)
    if (!this.#isOver) this.#hold?.set(isNeeded)
    if (this.#socket !== null) setRef(this.#socket, isNeeded)
    if (!isNeeded) this.#wasUnreferenced = true
  }

  #connect(connect: ConnectTlsOptions, socketPath: string | null): void {
    const { hostname, port, scheme } = this.#origin
    const isTls = scheme === 'https'
    const session = connect.session ?? this.#memory.tlsSession ?? undefined
    let socket: Socket
    try {
      socket = openSocket({ hostname, port, isTls }, { ...connect, session }, socketPath, this.#alpnProtocols)
      socket.once(isTls ? 'secureConnect' : 'connect', () => this.#onSocket(socket))
      // With TLS 1.3 tickets come after the handshake, at any time.
      if (isTls)
        socket.on('session', (ticket: Buffer) => {
          this.#memory.tlsSession = ticket
        })
      // By prior knowledge. undici says so in the same way: instrumentation reads it.
      else Object.assign(socket, { alpnProtocol: 'h2' })
    } catch (thrown) {
      // A `ca` that is no certificate, a `localPort` out of range: Node throws at once.
      originalNextTick(() => this.#fail(thrown))
      return
    }
    this.#socket = socket
    // It stays: whatever happens to the socket, its error must never be an unhandled one.
    socket.on('error', (error) => this.#fail(error))
  }

  #useConnector(connector: Connector, socketPath: string | null): void {
    const { hostname, scheme, authority, url } = this.#origin
    const options: ConnectorOptions = {
      hostname,
      host: authority,
      protocol: `${scheme}:`,
      port: url.port,
      ...(isIP(hostname) === 0 ? { servername: hostname } : {}),
      socketPath,
      ALPNProtocols: this.#alpnProtocols,
      allowH2: true,
    }
    askConnector(
      connector,
      options,
      (socket) => this.#onGivenSocket(socket),
      (error) => this.#fail(error),
    )
  }

  #onGivenSocket(socket: unknown): void {
    if (!isSocket(socket)) {
      this.#fail(invalid('connect', socket, 'a function that yields a socket'))
      return
    }
    // A connector that calls back twice with one socket must not lose it.
    if (socket === this.#socket) return
    if (this.#isOver) {
      socket.on('error', ignoreLateError).destroy()
      return
    }
    this.#socket = socket
    socket.on('error', (error) => this.#fail(error))
    if (socket.destroyed)
      this.#fail(invalid('connect', 'a destroyed socket', 'a function that yields an open socket'))
    else if (socket.connecting || ('secureConnecting' in socket && socket.secureConnecting === true)) {
      socket.once(socket instanceof TLSSocket ? 'secureConnect' : 'connect', () => this.#onSocket(socket))
      socket.once('close', () => this.#fail(new SocketError('The socket of the connector was closed')))
    } else {
      this.#onSocket(socket)
    }
  }

  #onSocket(socket: Socket): void {
    if (this.#isOver) {
      socket.on('error', ignoreLateError).destroy()
    } else if (socket.destroyed) {
      // By a listener before ours, such as one that pins a certificate.
      this.#fail(socket.errored ?? new SocketError('The socket was destroyed as soon as it was connected'))
    } else if (
      this.#origin.scheme === 'https' &&
      socket instanceof TLSSocket &&
      socket.alpnProtocol !== 'h2'
    ) {
      const choice = socket.alpnProtocol === false ? 'no protocol' : `'${socket.alpnProtocol}'`
      socket.on('error', ignoreLateError).destroy()
      const message = `${this.#origin.href} speaks no HTTP/2: it chose ${choice} by ALPN, not 'h2'`
      this.#fail(Object.assign(new AlpnError(message), { alpnProtocol: socket.alpnProtocol }))
    } else if (this.#wasUnreferenced) {
      // A socket without a handle carries unref() out by a listener that comes after this one.
      this.#wasUnreferenced = false
      originalNextTick(() => {
        setRef(socket, true)
        this.#onSocket(socket)
      })
    } else {
      this.#end()
      this.#onResult({ socket })
    }
  }

  #onTimeout(connectTimeout: number): void {
    const message = `Could not connect to ${this.#origin.href} within connectTimeout (${connectTimeout} ms)`
    this.#fail(new ConnectTimeoutError(message))
  }

  #fail(cause: unknown): void {
    if (this.#isOver) return
    this.#end()
    this.#socket?.destroy()
    // Should it have been the ticket's fault, then it isn't a second time.
    this.#memory.tlsSession = null
    this.#onResult({ error: toConnectError(cause, this.#origin.href) })
  }

  #end(): void {
    this.#isOver = true
    this.#alarm?.cancel()
    this.#hold?.set(false)
  }
}

/**
 * Sockets, TLS, ALPN, unix sockets: the only place that opens connections.
 *
 * @module
 */

import { constants } from 'node:crypto'
import type { Socket } from 'node:net'
import { connect as connectSocket, isIP } from 'node:net'
import { connect as connectTls, TLSSocket } from 'node:tls'
import type { Connector, ConnectorOptions, ConnectTlsOptions } from '../../../types/client.ts'
import type { Alarm } from '../../core/clock.ts'
import { Hold } from '../../core/clock.ts'
import type { Origin } from '../../core/options.ts'
import { originalNextTick } from '../../core/original-timers.ts'
import { isPromiseLike } from '../../core/realms.ts'
import { invalid } from '../../core/validate.ts'
import type { DodiciError } from '../../errors.ts'
import { AlpnError, ConnectTimeoutError, SocketError, toConnectError } from '../../errors.ts'
import type { OriginMemory } from '../origin-memory.ts'
import type { SessionContext } from '../session.ts'

/** What a connection attempt ends with: a socket that HTTP/2 can be spoken on, or why there is none. */
export type ConnectionResult = { readonly socket: Socket } | { readonly error: DodiciError }

/** RFC 9113 §3.2: where nobody serves HTTP/1.1, a server without HTTP/2 says so during the handshake. */
const ONLY_HTTP2 = ['h2']
const EITHER_PROTOCOL = ['h2', 'http/1.1']

/** `autoSelectFamily`: IPv6 and IPv4 are tried side by side (RFC 8305), also where a process has turned that off. */
const SOCKET_OPTIONS = Object.freeze({ noDelay: true, keepAlive: true, autoSelectFamily: true })

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

/** The host and the port of a connection. */
interface Where {
  readonly hostname: string
  readonly port: number
  readonly isTls: boolean
}

/**
 * A socket that is being connected, with the caller's options.
 *
 * @throws what Node throws at once: for a `ca` that is no certificate, a `localPort` out of range
 */
export function openSocket(
  { hostname, port, isTls }: Where,
  connect: ConnectTlsOptions,
  socketPath: string | null,
  alpnProtocols: string[],
): Socket {
  // With a path the host is what the certificate is held against, no more: without it Node would take 'localhost'.
  const where = socketPath === null ? { host: hostname, port } : { path: socketPath, host: hostname }
  if (!isTls) return connectSocket({ ...SOCKET_OPTIONS, ...connect, ...where })
  const name = connect.servername ?? hostname
  // RFC 6066 §3: an IP address is no server name.
  const servername = isIP(name) === 0 ? name : ''
  // RFC 9113 §9.2.1: over TLS 1.2 nothing is negotiated anew.
  const secureOptions = (connect.secureOptions ?? 0) | constants.SSL_OP_NO_RENEGOTIATION
  return connectTls({
    ...SOCKET_OPTIONS,
    ...connect,
    ...where,
    servername,
    secureOptions,
    ALPNProtocols: alpnProtocols,
  })
}

/**
 * Turns Nagle's algorithm off and keep-alive on, unless the caller's options say otherwise. With the algorithm, a small write waits until the
 * one before it was acknowledged: 40 ms and more.
 *
 * For any socket, once it is connected: Node 20 and 22 ignore both options of `tls.connect()`, a connector may have set neither, and
 * node:http2 turns the algorithm off whatever the caller has said.
 */
export function tuneSocket(socket: Socket, connect: Connector | ConnectTlsOptions): void {
  const {
    noDelay = true,
    keepAlive = true,
    keepAliveInitialDelay = 0,
  }: ConnectTlsOptions = typeof connect === 'function' ? {} : connect
  // What stands in for a socket may have no such methods.
  socket.setNoDelay?.(noDelay)
  if (keepAlive) socket.setKeepAlive?.(true, keepAliveInitialDelay)
}

/**
 * Asks a connector of the caller's for a socket. One of the two functions is called, never from within; `onSocket` for each
 * time that the connector yields something.
 */
export function askConnector(
  connector: Connector,
  options: ConnectorOptions,
  onSocket: (socket: unknown) => void,
  onError: (error: unknown) => void,
): void {
  try {
    const promise: unknown = connector(options, (error, socket) => {
      // It may have failed already: its error comes a tick later, too, and is no uncaught exception.
      if (isSocket(socket)) socket.on('error', ignoreLateError)
      // Node's own way of calling back may be synchronous; ours never is.
      if (error !== null && error !== undefined) originalNextTick(onError, error)
      else originalNextTick(onSocket, socket)
    })
    // undici's connectors call back and return the socket as well: only a promise is a response.
    if (!isPromiseLike(promise)) return
    Promise.resolve(promise).then((socket) => {
      // An async function that calls back fulfils with undefined, and may do so before (undici's ProxyAgent has one).
      if (socket !== undefined) onSocket(socket)
    }, onError)
  } catch (thrown) {
    originalNextTick(onError, thrown)
  }
}

/** The attempt has reported its one result already, and the socket is being thrown away. */
function ignoreLateError(): void {}

/** What stands in for a socket may have no such methods. */
function setRef(socket: Socket, isNeeded: boolean): void {
  if (isNeeded) socket.ref?.()
  else socket.unref?.()
}

/** By its methods: a Duplex that stands in for a socket is welcome, as node:http2 takes one too. */
export function isSocket(value: unknown): value is Socket {
  return (
    typeof value === 'object' && value !== null && 'destroy' in value && 'write' in value && 'on' in value
  )
}

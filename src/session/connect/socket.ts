/**
 * Opens and tunes the sockets of connections.
 *
 * @module
 */

import type { Socket } from 'node:net'
import { connect as connectSocket, Socket as NodeSocket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { SecureContext } from 'node:tls'
import type { Connector, ConnectTlsOptions } from '../../../types/client.ts'
import { loadCrypto, loadTls } from '../../core/builtin.ts'
import { toIpVersion } from '../../core/ip-address.ts'
import { noop } from '../../core/noop.ts'
import { RUNTIME } from '../../core/runtime.ts'
import type { Transport } from '../transport.ts'
import { toCheckedLookup, toFamily } from './addresses.ts'

/** `autoSelectFamily`: IPv6 and IPv4 are tried side by side (RFC 8305), also where a process has turned that off. */
const SOCKET_OPTIONS = Object.freeze({ noDelay: true, keepAlive: true, autoSelectFamily: true })

/** The target of a socket, and the way to it. */
export interface SocketTarget {
  /** An IPv6 address has no brackets. */
  readonly hostname: string
  readonly port: number
  readonly isTls: boolean
  /** The path of a Unix domain socket or Windows named pipe to connect to; null to connect to the host and port. */
  readonly socketPath: string | null
  /**
   * An open connection to the target, such as a tunnel through a proxy: TLS is put on it. Missing: a new one is made.
   */
  readonly over?: Duplex
}

/**
 * Makes a socket that is not connected yet, with the caller's options.
 *
 * @param alpnProtocols what TLS offers
 * @throws what Node throws at once: for a `ca` that is no certificate, a `localPort` out of range
 */
export function openSocket(
  { hostname, port, isTls, socketPath, over }: SocketTarget,
  connect: ConnectTlsOptions,
  alpnProtocols: string[],
): Socket {
  // With a path the host is only used to check the certificate: without it Node would check for 'localhost'.
  const where = socketPath === null ? { host: hostname, port } : { path: socketPath, host: hostname }
  const { family = toFamily(connect), lookup } = connect
  const options = {
    ...SOCKET_OPTIONS,
    ...connect,
    ...where,
    family,
    lookup: lookup && toCheckedLookup(lookup),
  }
  if (!isTls) return connectSocket(options)
  const name = connect.servername ?? hostname
  // RFC 6066 §3: an IP address is not sent as a server name. Deno connects to no server with an empty one.
  const servername = toIpVersion(name) === 0 ? name : undefined
  // RFC 9113 §9.2.1: no renegotiation with TLS 1.2.
  const secureOptions = (connect.secureOptions ?? 0) | loadCrypto().constants.SSL_OP_NO_RENEGOTIATION
  return loadTls().connect({
    ...options,
    secureContext: toSecureContext(connect.secureContext),
    ...(over === undefined ? {} : { socket: over }),
    servername,
    secureOptions,
    ALPNProtocols: alpnProtocols,
  })
}

/**
 * The caller's secure context for the next connection; undefined when none was given.
 *
 * @throws what the caller's function throws
 */
export function toSecureContext(given: ConnectTlsOptions['secureContext']): SecureContext | undefined {
  return typeof given === 'function' ? given() : given
}

/**
 * Turns Nagle's algorithm off and TCP keep-alive on, unless the caller's options say otherwise. With the algorithm, a
 * small write waits until the write before it was acknowledged: 40 ms and more.
 *
 * It is called for every socket once it is connected: Node 20 and 22 ignore both options of `tls.connect()`, a
 * connector may have set neither, and node:http2 turns the algorithm off whatever the caller has said.
 */
export function tuneSocket(socket: Transport, connect: Connector | ConnectTlsOptions): void {
  const {
    noDelay = true,
    keepAlive = true,
    keepAliveInitialDelay = 0,
  }: ConnectTlsOptions = typeof connect === 'function' ? {} : connect
  // A caller's stand-in for a socket may not have these methods.
  socket.setNoDelay?.(noDelay)
  if (keepAlive) socket.setKeepAlive?.(true, keepAliveInitialDelay)
}

/** Destroys a socket that is of no use. Its errors mean nothing any more. */
export function destroySocket(socket: Transport | Duplex): void {
  socket.on('error', noop).destroy()
}

/** What stands in for a socket may have no such methods. */
export function setRef(socket: Transport, isNeeded: boolean): void {
  if (isNeeded) socket.ref?.()
  else socket.unref?.()
}

/** A handle of node's sockets; the one of TLS asks the socket below. */
interface SocketHandle {
  /** @returns 0, or a number of libuv's for the error */
  getpeername?(name: object): unknown
  /** Whether node:http2 can read and write by it, without a wrapper in JavaScript. */
  readonly isStreamBase?: unknown
}

function toHandle(socket: object): SocketHandle | null {
  return (socket as { readonly _handle?: SocketHandle | null })._handle ?? null
}

/**
 * The mark of a Duplex over which node:http2 may run all the same. A registered symbol: in the package, the command
 * line has a copy of this file.
 */
const kPermitted = Symbol.for('dodici.permitNodeEngine')

/**
 * Lets engine 'node' run over a Duplex. For `dodici URL` alone, which has to stand between the engine and the socket:
 * it is a process of one request, and its user has asked for that engine.
 */
export function permitNodeEngine<TDuplex extends object>(duplex: TDuplex): TDuplex {
  return Object.assign(duplex, { [kPermitted]: true })
}

/**
 * Whether engine 'node' may run over a socket: a `net.Socket` or `TLSSocket` that node:http2 reads and writes by its
 * handle. Any other Duplex, and a stand-in for a socket without such a handle, is wrapped by node:http2, which isn't
 * safe.
 */
export function mayRunNodeEngine(socket: unknown): boolean {
  if (!(socket instanceof NodeSocket)) return kPermitted in Object(socket)
  return RUNTIME !== 'Node.js' || socket.destroyed || toHandle(socket)?.isStreamBase === true
}

/**
 * Whether the system has dropped a socket's connection: the peer has reset it, or the system has given it up. Node 20
 * to 24 emit no event when a write over TLS hears of it. If only the peer ends its side (FIN), nothing is dropped.
 *
 * It takes a call to the system. `remoteAddress` would be node's own copy.
 */
export function isDisconnected(socket: Transport): boolean {
  if (socket.destroyed || socket.connecting) return false
  const error = toHandle(socket)?.getpeername?.({})
  return typeof error === 'number' && error !== 0
}

/** Whether the value has the methods of a socket. A Duplex that stands in for one is accepted, as in node:http2. */
export function isSocket(value: unknown): value is Socket {
  return (
    typeof value === 'object' && value !== null && 'destroy' in value && 'write' in value && 'on' in value
  )
}

/** All that a socket has read; null for nothing. */
export function readFrom(socket: Socket): Buffer | null {
  const chunk: unknown = socket.read()
  return Buffer.isBuffer(chunk) ? chunk : null
}

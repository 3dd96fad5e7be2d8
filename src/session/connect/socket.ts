/**
 * Opens and configures the sockets of connections.
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

/** `autoSelectFamily`: IPv6 and IPv4 are tried side by side (RFC 8305), even if the process has turned that off. */
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
   * An open connection to the target, such as a tunnel through a proxy, to start TLS on. Missing: a new one is
   * opened.
   */
  readonly over?: Duplex
}

/**
 * Creates a socket that isn't connected yet, with the caller's options.
 *
 * @param alpnProtocols what TLS offers
 * @throws what Node throws at once: for a `ca` that isn't a certificate, or a `localPort` out of range
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
 * The caller's secure context for the next connection; undefined if none was given.
 *
 * @throws what the caller's function throws
 */
export function toSecureContext(given: ConnectTlsOptions['secureContext']): SecureContext | undefined {
  return typeof given === 'function' ? given() : given
}

/**
 * Turns Nagle's algorithm off and TCP keep-alive on, unless the caller's options say otherwise. With the algorithm, a
 * small write waits until the previous write was acknowledged: 40 ms and more.
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

/** Destroys a socket that isn't needed. Its errors no longer matter. */
export function destroySocket(socket: Transport | Duplex): void {
  socket.on('error', noop).destroy()
}

/** Sets whether a socket keeps the process alive. A substitute for a socket may have no such methods. */
export function setRef(socket: Transport, isNeeded: boolean): void {
  if (isNeeded) socket.ref?.()
  else socket.unref?.()
}

/** The handle of one of Node's sockets; TLS's handle asks the socket below. */
interface SocketHandle {
  /** @returns 0, or libuv's number for the error */
  getpeername?(name: object): unknown
  /** Whether node:http2 can read and write through it, without a wrapper in JavaScript. */
  readonly isStreamBase?: unknown
}

function toHandle(socket: object): SocketHandle | null {
  return (socket as { readonly _handle?: SocketHandle | null })._handle ?? null
}

/**
 * The mark on a Duplex over which node:http2 may run nevertheless. A registered symbol, because the command line has
 * its own copy of this file in the package.
 */
const kPermitted = Symbol.for('dodici.permitNodeEngine')

/**
 * Lets engine 'node' run over a Duplex. Only for `dodici URL`, which has to be between the engine and the socket: it
 * is a process with one request, and its user has asked for that engine.
 */
export function permitNodeEngine<TDuplex extends object>(duplex: TDuplex): TDuplex {
  return Object.assign(duplex, { [kPermitted]: true })
}

/**
 * Whether engine 'node' may run over a socket: a `net.Socket` or `TLSSocket` that node:http2 reads and writes through
 * its handle. node:http2 wraps any other Duplex, and a substitute for a socket without such a handle, which isn't
 * safe.
 */
export function mayRunNodeEngine(socket: unknown): boolean {
  if (!(socket instanceof NodeSocket)) return kPermitted in Object(socket)
  return RUNTIME !== 'Node.js' || socket.destroyed || toHandle(socket)?.isStreamBase === true
}

/**
 * Whether the system has dropped a socket's connection: the peer has reset it, or the system has given it up. Node 20
 * to 24 emit no event if a write over TLS finds that out. If the peer only ends its side (FIN), nothing is dropped.
 *
 * It needs a system call: `remoteAddress` would be Node's own copy.
 */
export function isDisconnected(socket: Transport): boolean {
  if (socket.destroyed || socket.connecting) return false
  const error = toHandle(socket)?.getpeername?.({})
  return typeof error === 'number' && error !== 0
}

/** Whether the value has the methods of a socket. A Duplex that replaces one is accepted, as in node:http2. */
export function isSocket(value: unknown): value is Socket {
  return (
    typeof value === 'object' && value !== null && 'destroy' in value && 'write' in value && 'on' in value
  )
}

/** Everything that a socket has read so far; null for nothing. */
export function readFrom(socket: Socket): Buffer | null {
  const chunk: unknown = socket.read()
  return Buffer.isBuffer(chunk) ? chunk : null
}

/**
 * Opens and tunes the sockets of connections.
 *
 * @module
 */

import { constants } from 'node:crypto'
import type { Socket } from 'node:net'
import { connect as connectSocket, isIP } from 'node:net'
import type { Duplex } from 'node:stream'
import { connect as connectTls } from 'node:tls'
import type { Connector, ConnectTlsOptions } from '../../../types/client.ts'
import { noop } from '../../core/noop.ts'

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
  if (!isTls) return connectSocket({ ...SOCKET_OPTIONS, ...connect, ...where })
  const name = connect.servername ?? hostname
  // RFC 6066 §3: an IP address is not sent as a server name. Deno connects to no server with an empty one.
  const servername = isIP(name) === 0 ? name : undefined
  // RFC 9113 §9.2.1: no renegotiation with TLS 1.2.
  const secureOptions = (connect.secureOptions ?? 0) | constants.SSL_OP_NO_RENEGOTIATION
  return connectTls({
    ...SOCKET_OPTIONS,
    ...connect,
    ...where,
    ...(over === undefined ? {} : { socket: over }),
    servername,
    secureOptions,
    ALPNProtocols: alpnProtocols,
  })
}

/**
 * Turns Nagle's algorithm off and TCP keep-alive on, unless the caller's options say otherwise. With the algorithm, a
 * small write waits until the write before it was acknowledged: 40 ms and more.
 *
 * It is called for every socket once it is connected: Node 20 and 22 ignore both options of `tls.connect()`, a
 * connector may have set neither, and node:http2 turns the algorithm off whatever the caller has said.
 */
export function tuneSocket(socket: Socket, connect: Connector | ConnectTlsOptions): void {
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
export function discardSocket(socket: Socket): void {
  socket.on('error', noop).destroy()
}

/** What stands in for a socket may have no such methods. */
export function setRef(socket: Socket, isNeeded: boolean): void {
  if (isNeeded) socket.ref?.()
  else socket.unref?.()
}

/** Whether the value has the methods of a socket. A Duplex that stands in for one is accepted, as in node:http2. */
export function isSocket(value: unknown): value is Socket {
  return (
    typeof value === 'object' && value !== null && 'destroy' in value && 'write' in value && 'on' in value
  )
}

/**
 * What calls learn about the session that carries them. It is a separate object: a call that has ended keeps it, and
 * must not keep the session.
 *
 * @module
 */

import type { Socket } from 'node:net'
import type { PeerCertificate, TLSSocket } from 'node:tls'
import type { HttpProtocol, TlsInfo, TransportInfo } from '../../types/connection.ts'
import type { Carrier } from '../call/attempt.ts'
import { isTlsSocket } from '../core/builtin.ts'
import type { Transport } from './transport.ts'

/** The session, as its calls see it. */
export class SessionCarrier implements Carrier {
  readonly protocol: HttpProtocol
  readonly id: number
  /** Null until the session has a socket. */
  transport: TransportInfo | null = null

  constructor(protocol: HttpProtocol, id: number) {
    this.protocol = protocol
    this.id = id
  }
}

/** The facts about a socket. They are read at once, because a closed socket no longer has addresses. */
export function toTransportInfo(socket: Transport): TransportInfo {
  // A Duplex in place of a socket has none of these.
  const { localAddress, localPort, remoteAddress, remotePort } = socket as Partial<Socket>
  return Object.freeze({
    localAddress: localAddress ?? null,
    localPort: localPort ?? null,
    remoteAddress: remoteAddress ?? null,
    remotePort: remotePort ?? null,
    tls: isTlsSocket(socket) ? new SocketTlsInfo(socket) : null,
  })
}

/** Its certificate is parsed when it is first read: most callers don't read it. */
class SocketTlsInfo implements TlsInfo {
  readonly protocol: string | null
  readonly cipher: string
  readonly alpnProtocol: string | null
  readonly authorized: boolean
  readonly isSessionReused: boolean
  readonly #socket: TLSSocket
  /** Undefined until it was read. */
  #certificate: PeerCertificate | null | undefined

  constructor(socket: TLSSocket) {
    this.#socket = socket
    this.protocol = socket.getProtocol()
    const { standardName, name } = socket.getCipher()
    this.cipher = standardName ?? name
    this.alpnProtocol = socket.alpnProtocol || null
    this.authorized = socket.authorized
    this.isSessionReused = socket.isSessionReused()
  }

  get peerCertificate(): PeerCertificate | null {
    this.#certificate ??= toCertificate(this.#socket)
    return this.#certificate
  }
}

/** Node returns an empty object for a peer without a certificate, and null or undefined once the socket has closed. */
function toCertificate(socket: TLSSocket): PeerCertificate | null {
  const certificate: PeerCertificate | null | undefined = socket.getPeerCertificate()
  return certificate?.raw === undefined ? null : certificate
}

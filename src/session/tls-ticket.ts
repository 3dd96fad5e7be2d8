/**
 * The TLS session ticket from a server.
 *
 * @module
 */

import type { PeerCertificate, SecureContext, TLSSocket } from 'node:tls'
import type { Clock } from '../core/clock.ts'
import { Learned } from './learned.ts'

/** RFC 8446 §4.6.1: how many milliseconds a ticket may be kept at most. */
export const MAX_TICKET_AGE = 7 * 24 * 3_600_000

/** A ticket, and what it belongs to. */
interface KnownTicket {
  readonly ticket: Buffer
  readonly secureContext: SecureContext | undefined
  /** The certificate that was verified when the ticket arrived; null if certificates aren't kept. */
  readonly certificate: PeerCertificate | null
}

/**
 * The last ticket from one server (RFC 8446 §2.2). In a resumed session, the server takes the client for the one
 * whose certificate got the ticket: a connection with another `secureContext` must not resume it.
 */
export class TlsTicket {
  readonly #last: Learned<KnownTicket>
  /** The certificates of sockets that resume a session: such a handshake contains none. */
  readonly #resumed = new WeakMap<TLSSocket, PeerCertificate | null>()
  #keepsCertificates = false

  constructor(clock: Pick<Clock, 'now'>) {
    this.#last = new Learned(clock, MAX_TICKET_AGE)
  }

  /** From now on {@link certificateOf} knows the certificates of resumed sessions. */
  keepCertificates(): void {
    this.#keepsCertificates = true
  }

  /** The ticket for a connection with this `secureContext`; undefined for none. */
  get(secureContext: SecureContext | undefined): Buffer | undefined {
    return this.#find(secureContext)?.ticket
  }

  #find(secureContext: SecureContext | undefined): KnownTicket | null {
    const last = this.#last.value
    return last?.secureContext === secureContext ? last : null
  }

  learn(
    ticket: Buffer,
    secureContext: SecureContext | undefined,
    certificate: PeerCertificate | null = null,
  ): void {
    this.#last.learn({ ticket, secureContext, certificate })
  }

  /**
   * Keeps the tickets that a socket receives. With TLS 1.3 they may arrive at any time after the handshake.
   *
   * @param secureContext the socket's; undefined if its other options created one
   * @param resumed the ticket that it offers; undefined for none
   */
  watch(socket: TLSSocket, secureContext: SecureContext | undefined, resumed?: Buffer): void {
    if (this.#keepsCertificates) {
      const known = this.#find(secureContext)
      this.#resumed.set(socket, known !== null && known.ticket === resumed ? known.certificate : null)
    }
    socket.on('session', (ticket: Buffer) => {
      // `rejectUnauthorized: false` lets others pass, and Node calls a socket authorized that resumes such a session.
      const isVerified = this.#keepsCertificates && socket.authorized
      this.learn(ticket, secureContext, isVerified ? this.certificateOf(socket) : null)
    })
  }

  /** The certificate that a socket's server has proved, now or when it issued the ticket; null if unknown. */
  certificateOf(socket: TLSSocket): PeerCertificate | null {
    if (socket.isSessionReused()) return this.#resumed.get(socket) ?? null
    const certificate: Partial<PeerCertificate> | null = socket.getPeerCertificate(true)
    // Node gives an empty object for none.
    return typeof certificate?.valid_to === 'string' ? (certificate as PeerCertificate) : null
  }

  /** A connection has failed before its handshake was finished: the ticket may be the cause. */
  clear(): void {
    this.#last.clear()
  }
}

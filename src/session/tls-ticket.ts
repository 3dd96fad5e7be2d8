/**
 * The TLS session ticket of a server.
 *
 * @module
 */

import type { SecureContext, TLSSocket } from 'node:tls'
import type { Clock } from '../core/clock.ts'
import { Learned } from './learned.ts'

/** RFC 8446 §4.6.1: the longest that a ticket may be kept. Milliseconds. */
export const MAX_TICKET_AGE = 7 * 24 * 3_600_000

/**
 * The last ticket of one server (RFC 8446 §2.2). A server takes a resumed session for the client whose certificate has
 * got the ticket: a connection with another `secureContext` must not resume it.
 */
export class TlsTicket {
  readonly #last: Learned<{ readonly ticket: Buffer; readonly secureContext: SecureContext | undefined }>

  constructor(clock: Pick<Clock, 'now'>) {
    this.#last = new Learned(clock, MAX_TICKET_AGE)
  }

  /** The ticket for a connection with this `secureContext`; undefined for none. */
  get(secureContext: SecureContext | undefined): Buffer | undefined {
    const last = this.#last.value
    return last?.secureContext === secureContext ? last?.ticket : undefined
  }

  learn(ticket: Buffer, secureContext: SecureContext | undefined): void {
    this.#last.learn({ ticket, secureContext })
  }

  /**
   * Keeps the tickets that a socket gets. With TLS 1.3 they may come at any time after the handshake.
   *
   * @param secureContext of the socket; undefined where its other options made one
   */
  watch(socket: TLSSocket, secureContext: SecureContext | undefined): void {
    socket.on('session', (ticket: Buffer) => this.learn(ticket, secureContext))
  }

  /** A connection has failed before its handshake was over: the ticket may be the cause. */
  clear(): void {
    this.#last.clear()
  }
}

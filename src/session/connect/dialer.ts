/**
 * Opens sockets: TCP, Unix sockets, TLS with ALPN, or by the caller's connect function. The only place that does.
 *
 * @module
 */

import type { ConnectorOptions, ConnectTlsOptions } from '../../../types/client.ts'
import type { Clock } from '../../core/clock.ts'
import type { ResolvedClientOptions } from '../../core/options.ts'
import { askConnector } from './connector.ts'
import type { DialListener } from './dial.ts'
import { Dial } from './dial.ts'
import { openSocket } from './socket.ts'

/** How a dispatcher connects, whatever the protocol. */
export type DialerOptions = Pick<ResolvedClientOptions, 'connect' | 'connectTimeout' | 'socketPath'>

/** Where one dial leads, and what is offered there. */
export interface DialTarget {
  /** As error texts say it, such as `https://example.com:8443`. */
  readonly name: string
  /** For a connect function, which also gets the path of the Unix socket, and what is offered. */
  readonly asked: ConnectorOptions
  readonly port: number
  /** What TLS offers (RFC 7301): the protocols by their names, the preferred one first. */
  readonly alpnProtocols: string[]
  /** For a socket of the dialer's own, ahead of the caller's options: the server's name, a ticket. */
  readonly tls: ConnectTlsOptions
}

/** Dials with the options of one dispatcher: HTTP/2 and HTTP/1.1 get their sockets in the same way. */
export class Dialer {
  readonly #options: DialerOptions
  readonly #clock: Clock

  constructor(options: DialerOptions, clock: Clock) {
    this.#options = options
    this.#clock = clock
  }

  /** Begins to connect. The caller's connect function is called at once, the listener never before this returns. */
  dial(target: DialTarget, listener: DialListener): Dial {
    const { connect, connectTimeout, socketPath } = this.#options
    const { asked, port, alpnProtocols, tls } = target
    const dial = new Dial(target.name, connectTimeout, this.#clock, listener)
    if (typeof connect === 'function') {
      askConnector(
        connect,
        { ...asked, socketPath, ALPNProtocols: alpnProtocols, allowH2: alpnProtocols.includes('h2') },
        (socket) => dial.accept(socket),
        (error) => dial.fail(error),
      )
    } else {
      const { hostname, protocol } = asked
      const where = { hostname, port, isTls: protocol === 'https:', socketPath }
      dial.connect(() => openSocket(where, { ...connect, ...tls }, alpnProtocols))
    }
    return dial
  }
}

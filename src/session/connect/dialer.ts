/**
 * Opens sockets: TCP, Unix sockets, TLS with ALPN, or through the caller's connect function. All sockets are opened
 * here.
 *
 * @module
 */

import type { ConnectorOptions, ConnectTlsOptions } from '../../../types/client.ts'
import type { Clock } from '../../core/clock.ts'
import type { ResolvedClientOptions } from '../../options/options.ts'
import { toFixedLookup } from './addresses.ts'
import { askConnector } from './connector.ts'
import type { DialListener } from './dial.ts'
import { Dial } from './dial.ts'
import { openSocket } from './socket.ts'

/** A dispatcher's options for connecting, the same for HTTP/2 and HTTP/1.1. */
export type DialerOptions = Pick<ResolvedClientOptions, 'connect' | 'connectTimeout' | 'socketPath'> &
  Partial<Pick<ResolvedClientOptions, 'localAddress'>>

/** The target of one dial, and the protocols to offer. */
export interface DialTarget {
  /** The target's name in error messages, such as `https://example.com:8443`. */
  readonly name: string
  /** The options for a connect function, which also gets the path of the Unix socket and the offered protocols. */
  readonly asked: ConnectorOptions
  readonly port: number
  /** The protocols that TLS offers (RFC 7301), the preferred one first. */
  readonly alpnProtocols: string[]
  /** TLS options for a socket that Dodici creates, which override the caller's: the server name, a ticket. */
  readonly tls: ConnectTlsOptions
}

/** Dials with one dispatcher's options. HTTP/2 and HTTP/1.1 get their sockets in the same way. */
export class Dialer {
  readonly #options: DialerOptions
  readonly #clock: Clock

  constructor(options: DialerOptions, clock: Clock) {
    this.#options = options
    this.#clock = clock
  }

  /**
   * Starts to connect. The caller's connect function is called at once, the listener never before this returns.
   *
   * @param startedAt when `connectTimeout` started to run, in the clock's time
   */
  dial(target: DialTarget, listener: DialListener, startedAt: number = this.#clock.now()): Dial {
    const { connect, connectTimeout, socketPath, localAddress } = this.#options
    const { port, alpnProtocols, tls } = target
    const asked = toAsked(target.asked, localAddress)
    const dial = new Dial(target.name, connectTimeout, this.#clock, listener, startedAt)
    if (typeof connect === 'function') {
      askConnector(
        connect,
        {
          ...{ ...asked, socketPath, ALPNProtocols: alpnProtocols, allowH2: alpnProtocols.includes('h2') },
          signal: dial.signal,
        },
        (socket) => dial.accept(socket),
        (error) => dial.fail(error),
      )
    } else {
      const { hostname, protocol } = asked
      const where = { hostname, port: connect.remotePort ?? port, isTls: protocol === 'https:', socketPath }
      dial.connect((others) => {
        const lookup = others === null ? {} : { lookup: toFixedLookup(others) }
        return openSocket(where, { ...connect, ...tls, ...lookup }, alpnProtocols)
      })
    }
    return dial
  }
}

/** undici's connectors get `localAddress` in this way, too. */
function toAsked(asked: ConnectorOptions, localAddress: string | null | undefined): ConnectorOptions {
  return localAddress === null || localAddress === undefined ? asked : { ...asked, localAddress }
}

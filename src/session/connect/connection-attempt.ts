/**
 * One attempt to get a socket for a session.
 *
 * @module
 */

import type { Socket } from 'node:net'
import type { SecureContext } from 'node:tls'
import type { ConnectTlsOptions } from '../../../types/client.ts'
import { isTlsSocket } from '../../core/builtin.ts'
import { toIpVersion } from '../../core/ip-address.ts'
import type { DodiciError } from '../../errors/errors.ts'
import { AlpnError, toConnectError } from '../../errors/errors.ts'
import type { Origin } from '../../options/options.ts'
import type { OriginMemory } from '../origin-memory.ts'
import type { SessionContext } from '../session.ts'
import type { Dial, DialListener } from './dial.ts'
import type { DialTarget } from './dialer.ts'
import { Dialer } from './dialer.ts'
import { toSecureContext } from './socket.ts'
import type { SocketExchange } from './socket-exchange.ts'

/** The result of a connection attempt: a socket that can carry HTTP/2, or the error. */
export type ConnectionResult = { readonly socket: Socket } | { readonly error: DodiciError }

/**
 * RFC 9113 §3.2. Without a fallback for HTTP/1.1, only h2 is offered: the handshake fails with a server that doesn't
 * support it.
 */
const ONLY_HTTP2 = ['h2']
const EITHER_PROTOCOL = ['h2', 'http/1.1']

/**
 * One attempt to connect. It calls back exactly once, never from within the constructor, and not at all after
 * `cancel()`. A socket that arrives later is destroyed.
 */
export class ConnectionAttempt implements DialListener {
  readonly #origin: Origin
  readonly #memory: OriginMemory
  readonly #exchange: SocketExchange | null
  readonly #onResult: (result: ConnectionResult) => void
  readonly #dial: Dial
  /** What the error for an origin without HTTP/2 says about the options. */
  readonly #alpnHint: string
  /** Undefined if none was given. */
  #secureContext: SecureContext | undefined
  /** The TLS session that it offers to resume; undefined for none. */
  #ticket: Buffer | undefined

  constructor(
    { origin, options, clock, memory, exchange, startedAt = clock.now() }: SessionContext,
    onResult: (result: ConnectionResult) => void,
  ) {
    this.#origin = origin
    this.#memory = memory
    this.#exchange = exchange
    this.#alpnHint = options.fallback === null ? ', and fallback: null rules out HTTP/1.1' : ''
    this.#onResult = onResult
    const alpnProtocols = options.fallback === null ? ONLY_HTTP2 : EITHER_PROTOCOL
    const tls = typeof options.connect === 'function' ? {} : this.#toIdentity(options.connect)
    this.#dial = new Dialer(options, clock).dial(toTarget(origin, alpnProtocols, tls), this, startedAt)
  }

  /** The certificate for this connection, and a ticket that was issued for the same certificate. */
  #toIdentity({ secureContext: given, session }: ConnectTlsOptions): ConnectTlsOptions {
    try {
      this.#secureContext = toSecureContext(given)
    } catch (thrown) {
      // The caller's function has failed. It is the dial that fails with it, later.
      return {
        secureContext: () => {
          throw thrown
        },
      }
    }
    const secureContext = this.#secureContext
    const ticket = session ?? this.#memory.tlsTicket.get(secureContext)
    this.#ticket = ticket
    return secureContext === undefined ? { session: ticket } : { session: ticket, secureContext }
  }

  /** Ends the attempt without a result. */
  cancel(): void {
    this.#dial.cancel()
  }

  /** Sets whether a call waits for it, so that it keeps the process alive. */
  setRef(isNeeded: boolean): void {
    this.#dial.setRef(isNeeded)
  }

  onConnecting(socket: Socket): void {
    if (isTlsSocket(socket)) this.#memory.tlsTicket.watch(socket, this.#secureContext, this.#ticket)
    // HTTP/2 by prior knowledge. undici marks the socket in the same way, and instrumentation reads the mark.
    else Object.assign(socket, { alpnProtocol: 'h2' })
  }

  toRefusal(socket: Socket): Error | null {
    if (this.#origin.scheme !== 'https' || !isTlsSocket(socket)) return null
    if (socket.alpnProtocol === 'h2') return null
    // Node says false for none. A TLSSocket whose handshake only seems to have taken place, as under nock, says null.
    const alpnProtocol = socket.alpnProtocol || false
    const choice = alpnProtocol === false ? 'no protocol' : `'${alpnProtocol}'`
    const message = `${this.#origin.href} doesn't speak HTTP/2: it chose ${choice} in ALPN, not 'h2'${this.#alpnHint}`
    return Object.assign(new AlpnError(message), { alpnProtocol })
  }

  keepRefused(socket: Socket): boolean {
    return this.#exchange?.keepHttp1(socket) === true
  }

  onConnected(socket: Socket): void {
    this.#onResult({ socket })
  }

  onFailed(cause: unknown): void {
    this.#memory.tlsTicket.clear()
    this.#onResult({ error: toConnectError(cause, this.#origin.href, this.#alpnHint) })
  }
}

function toTarget(
  { href, hostname, scheme, authority, port, url }: Origin,
  alpnProtocols: string[],
  tls: ConnectTlsOptions,
): DialTarget {
  const asked = {
    hostname,
    host: authority,
    protocol: `${scheme}:`,
    port: url.port,
    ...(toIpVersion(hostname) === 0 ? { servername: hostname } : {}),
  }
  return { name: href, asked, port, alpnProtocols, tls }
}

/**
 * The connection of a session: one attempt to get a socket that HTTP/2 can be spoken on.
 *
 * @module
 */

import type { Socket } from 'node:net'
import { isIP } from 'node:net'
import { TLSSocket } from 'node:tls'
import type { Origin } from '../../core/options.ts'
import type { DodiciError } from '../../errors.ts'
import { AlpnError, toConnectError } from '../../errors.ts'
import type { OriginMemory } from '../origin-memory.ts'
import type { SessionContext } from '../session.ts'
import type { Dial, DialListener } from './dial.ts'
import type { DialTarget } from './dialer.ts'
import { Dialer } from './dialer.ts'

/** What a connection attempt ends with: a socket that HTTP/2 can be spoken on, or why there is none. */
export type ConnectionResult = { readonly socket: Socket } | { readonly error: DodiciError }

/** RFC 9113 §3.2: without a fallback for HTTP/1.1, a server without HTTP/2 says so during the handshake. */
const ONLY_HTTP2 = ['h2']
const EITHER_PROTOCOL = ['h2', 'http/1.1']

/**
 * One attempt to connect. It calls back exactly once, never from within the constructor, and not at all after
 * `cancel()`. A socket that comes too late is destroyed.
 */
export class ConnectionAttempt implements DialListener {
  readonly #origin: Origin
  readonly #memory: OriginMemory
  readonly #onResult: (result: ConnectionResult) => void
  readonly #dial: Dial

  constructor(
    { origin, options, clock, memory }: SessionContext,
    onResult: (result: ConnectionResult) => void,
  ) {
    this.#origin = origin
    this.#memory = memory
    this.#onResult = onResult
    const alpnProtocols = options.fallback === null ? ONLY_HTTP2 : EITHER_PROTOCOL
    const given = typeof options.connect === 'function' ? undefined : options.connect.session
    const session = given ?? memory.tlsSession ?? undefined
    this.#dial = new Dialer(options, clock).dial(toTarget(origin, alpnProtocols, session), this)
  }

  /** No result is wanted any more. */
  cancel(): void {
    this.#dial.cancel()
  }

  /** Whether a call waits for it, so that it keeps the process alive. */
  setRef(isNeeded: boolean): void {
    this.#dial.setRef(isNeeded)
  }

  onConnecting(socket: Socket): void {
    // With TLS 1.3 tickets come after the handshake, at any time.
    if (socket instanceof TLSSocket)
      socket.on('session', (ticket: Buffer) => {
        this.#memory.tlsSession = ticket
      })
    // By prior knowledge. undici says so in the same way: instrumentation reads it.
    else Object.assign(socket, { alpnProtocol: 'h2' })
  }

  toRefusal(socket: Socket): Error | null {
    if (this.#origin.scheme !== 'https' || !(socket instanceof TLSSocket)) return null
    const { alpnProtocol } = socket
    if (alpnProtocol === 'h2') return null
    const choice = alpnProtocol === false ? 'no protocol' : `'${alpnProtocol}'`
    const message = `${this.#origin.href} speaks no HTTP/2: it chose ${choice} by ALPN, not 'h2'`
    return Object.assign(new AlpnError(message), { alpnProtocol })
  }

  onConnected(socket: Socket): void {
    this.#onResult({ socket })
  }

  onFailed(cause: unknown): void {
    // Should it have been the ticket's fault, then it isn't a second time.
    this.#memory.tlsSession = null
    this.#onResult({ error: toConnectError(cause, this.#origin.href) })
  }
}

function toTarget(
  { href, hostname, scheme, authority, port, url }: Origin,
  alpnProtocols: string[],
  session: Buffer | undefined,
): DialTarget {
  const asked = {
    hostname,
    host: authority,
    protocol: `${scheme}:`,
    port: url.port,
    ...(isIP(hostname) === 0 ? { servername: hostname } : {}),
  }
  return { name: href, asked, port, alpnProtocols, tls: { session } }
}

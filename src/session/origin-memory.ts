/**
 * Keeps what the sessions of one origin have learned, for the sessions that follow.
 *
 * @module
 */

import type { SecureContext } from 'node:tls'

/** The interval between PINGs grows to at most this many times the configured one. */
const MAX_PING_FACTOR = 64

const GRPC = 'application/grpc'

/**
 * Whether the type is `application/grpc`, `application/grpc+proto` or the like; `application/grpc-web` is not, as it
 * comes from a gateway.
 */
function isGrpc(contentType: unknown): boolean {
  if (typeof contentType !== 'string' || !contentType.startsWith(GRPC)) return false
  return contentType.length === GRPC.length || '+; '.includes(contentType.charAt(GRPC.length))
}

/**
 * - `unknown`: no connection was made yet
 * - `h2`: a session was ready
 * - `http/1.1`: the origin speaks no HTTP/2, by ALPN or by the caller's option
 */
export type OriginProtocol = 'unknown' | 'h2' | 'http/1.1'

/** A TLS session ticket (RFC 8446 §2.2), and the identity that it stands for at the server. */
export interface TlsTicket {
  readonly ticket: Buffer
  /** The `secureContext` of the connection that got the ticket; undefined where the other options made one. */
  readonly secureContext: SecureContext | undefined
}

/** Lives as long as the origin's dispatcher. Its size doesn't depend on the number of sessions. */
export class OriginMemory {
  /** The peer's last SETTINGS_MAX_CONCURRENT_STREAMS; null before any. */
  streamLimit: number | null = null
  /** The last TLS session ticket of the peer; null before any, and over cleartext. */
  tlsTicket: TlsTicket | null = null
  #protocol: OriginProtocol
  #pingFactor = 1
  /** Whether the peer has responded in gRPC; null before any response. */
  #isGrpc: boolean | null = null

  constructor(protocol: OriginProtocol = 'unknown') {
    this.#protocol = protocol
  }

  get protocol(): OriginProtocol {
    return this.#protocol
  }

  /**
   * The ticket for a connection with this `secureContext`; undefined for none. A server takes a resumed session for the
   * client whose certificate has got the ticket: another context must not resume it.
   */
  getTicket(secureContext: SecureContext | undefined): Buffer | undefined {
    return this.tlsTicket?.secureContext === secureContext ? this.tlsTicket?.ticket : undefined
  }

  /** A session is ready. This doesn't change `http/1.1`. */
  onHttp2(): void {
    if (this.#protocol === 'unknown') this.#protocol = 'h2'
  }

  /** The origin has chosen HTTP/1.1, or requires it. */
  onHttp1(): void {
    this.#protocol = 'http/1.1'
  }

  /**
   * The factor by which the interval between PINGs is larger than configured, since the peer has complained; 1 at
   * first.
   */
  get pingFactor(): number {
    return this.#pingFactor
  }

  /** Whether the peer has complained of our PINGs. */
  get isPingShy(): boolean {
    return this.#pingFactor > 1
  }

  /** Whether the peer has responded in gRPC, whose servers count PINGs; null before its first response of any kind. */
  get isGrpc(): boolean | null {
    return this.#isGrpc
  }

  /** The peer has responded to a call. @param contentType of that response; undefined for none */
  onResponse(contentType: unknown): void {
    if (this.#isGrpc !== true) this.#isGrpc = isGrpc(contentType)
  }

  /** The peer has complained of our PINGs. */
  onTooManyPings(): void {
    this.#pingFactor = Math.min(this.#pingFactor * 2, MAX_PING_FACTOR)
  }
}

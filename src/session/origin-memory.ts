/**
 * What the sessions of one origin have learned, for those that follow.
 *
 * @module
 */

/** No PING is sent more rarely than this many times the configured interval. */
const MAX_PING_FACTOR = 64

const GRPC = 'application/grpc'

/** `application/grpc`, `application/grpc+proto` and the like; not `application/grpc-web`, which is a gateway's. */
function isGrpc(contentType: unknown): boolean {
  if (typeof contentType !== 'string' || !contentType.startsWith(GRPC)) return false
  return contentType.length === GRPC.length || '+; '.includes(contentType.charAt(GRPC.length))
}

/**
 * - `unknown`: nobody has connected yet
 * - `h2`: a session stood
 * - `http/1.1`: it speaks no HTTP/2, by ALPN or by the caller's word
 */
export type OriginProtocol = 'unknown' | 'h2' | 'http/1.1'

/** It lives as long as the origin's dispatcher, and is as large for one session as for a million. */
export class OriginMemory {
  /** The peer's last SETTINGS_MAX_CONCURRENT_STREAMS; null before any. */
  streamLimit: number | null = null
  /** The last TLS session that the peer gave us a ticket for (RFC 8446 §2.2); null for none, and over cleartext. */
  tlsSession: Buffer | null = null
  #protocol: OriginProtocol
  #pingFactor = 1
  /** Whether it has answered in gRPC; null before any response. */
  #isGrpc: boolean | null = null

  constructor(protocol: OriginProtocol = 'unknown') {
    this.#protocol = protocol
  }

  get protocol(): OriginProtocol {
    return this.#protocol
  }

  /** A session stands. It doesn't unsay that the origin wants HTTP/1.1. */
  onHttp2(): void {
    if (this.#protocol === 'unknown') this.#protocol = 'h2'
  }

  /** The origin has chosen HTTP/1.1, or requires it. */
  onHttp1(): void {
    this.#protocol = 'http/1.1'
  }

  /** By how much more rarely than configured the peer wants to be asked whether it lives. */
  get pingFactor(): number {
    return this.#pingFactor
  }

  /** Whether the peer has complained of our PINGs. */
  get isPingShy(): boolean {
    return this.#pingFactor > 1
  }

  /**
   * Whether the peer has answered in gRPC, whose servers count PINGs; null before its first response, of whatever kind.
   */
  get isGrpc(): boolean | null {
    return this.#isGrpc
  }

  /** The peer has answered a call. @param contentType of that response; undefined for none */
  onResponse(contentType: unknown): void {
    if (this.#isGrpc !== true) this.#isGrpc = isGrpc(contentType)
  }

  /** The peer has complained of our PINGs. */
  onTooManyPings(): void {
    this.#pingFactor = Math.min(this.#pingFactor * 2, MAX_PING_FACTOR)
  }
}

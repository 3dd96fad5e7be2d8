import type { PeerCertificate } from 'node:tls'

/**
 * The protocol that carries a request:
 *
 * - `h2`: HTTP/2 over TLS (RFC 9113 §3.2)
 * - `h2c`: HTTP/2 without TLS (§3.3)
 * - `http/1.1`: HTTP/1.1, by the fallback
 */
export type HttpProtocol = 'h2' | 'h2c' | 'http/1.1'

/** What carries a request, and its attempts so far: a snapshot. */
export interface ConnectionInfo {
  /** The protocol of the present attempt, or of the last one. */
  readonly protocol: HttpProtocol

  /**
   * The number of the session that it runs on, among those of its origin's dispatcher: the `session.id` of the channels
   * `dodici:session:*`. `null` over HTTP/1.1.
   */
  readonly sessionId: number | null

  /** The id of its stream. `null` over HTTP/1.1, and until the stream has one. */
  readonly streamId: number | null

  /** How many attempts have begun, this one included: 1 unless the request was sent again. */
  readonly attempts: number
}

/** What TLS has agreed on for a connection, as `tls.TLSSocket` tells it. */
export interface TlsInfo {
  /** The version, such as `'TLSv1.3'`; `null` if Node tells none. */
  readonly protocol: string | null
  /** The name of the cipher suite, as IANA has it: `'TLS_AES_256_GCM_SHA384'`. */
  readonly cipher: string
  /** What ALPN has chosen; `null` for nothing. */
  readonly alpnProtocol: string | null
  /** Whether the peer's certificate was verified. It may not be with `rejectUnauthorized: false`. */
  readonly authorized: boolean
  /** Whether the handshake resumed an earlier session. */
  readonly isSessionReused: boolean
  /**
   * The peer's certificate, without its issuers. Node parses it on the first read. `null` if the connection was gone
   * by then.
   */
  readonly peerCertificate: PeerCertificate | null
}

/**
 * The ends of the connection that carries a request. An address is `null` where the connection has none: over a Unix
 * socket, or over a Duplex of a connect function. Through a proxy, `remoteAddress` is the proxy's.
 */
export interface TransportInfo {
  /** The IP address of this end. */
  readonly localAddress: string | null
  /** The port of this end. */
  readonly localPort: number | null
  /** The IP address of the other end. */
  readonly remoteAddress: string | null
  /** The port of the other end. */
  readonly remotePort: number | null
  /** `null` without TLS. */
  readonly tls: TlsInfo | null
}

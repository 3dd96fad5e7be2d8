import type { PeerCertificate } from 'node:tls'

/**
 * The protocol that carries a request:
 *
 * - `h2`: HTTP/2 over TLS (RFC 9113 §3.2)
 * - `h2c`: HTTP/2 without TLS (§3.3)
 * - `http/1.1`: HTTP/1.1, via the fallback
 */
export type HttpProtocol = 'h2' | 'h2c' | 'http/1.1'

/** What carries a request, and its attempts so far: a snapshot. */
export interface ConnectionInfo {
  /** The protocol of the current attempt, or of the last one. */
  readonly protocol: HttpProtocol

  /**
   * The number of its session within the origin's dispatcher: the `session.id` in the `dodici:session:*` channels.
   * `null` over HTTP/1.1.
   */
  readonly sessionId: number | null

  /** The id of its stream. `null` over HTTP/1.1, and until the stream has one. */
  readonly streamId: number | null

  /** How many attempts have begun, including this one: 1 unless the request was retried. */
  readonly attempts: number
}

/** What a connection has negotiated in TLS, according to `tls.TLSSocket`. */
export interface TlsInfo {
  /** The version, such as `'TLSv1.3'`; `null` if Node doesn't know it. */
  readonly protocol: string | null
  /** The IANA name of the cipher suite, such as `'TLS_AES_256_GCM_SHA384'`. */
  readonly cipher: string
  /** The protocol chosen in ALPN; `null` for none. */
  readonly alpnProtocol: string | null
  /** Whether the peer's certificate was verified. With `rejectUnauthorized: false`, it may not be. */
  readonly authorized: boolean
  /** Whether the handshake resumed an earlier session. */
  readonly isSessionReused: boolean
  /**
   * The peer's certificate, without its issuers. Node parses it on the first read. `null` if the connection has closed
   * by then.
   */
  readonly peerCertificate: PeerCertificate | null
}

/**
 * The two ends of the connection that carries a request. An address is `null` if the connection has none: on a Unix
 * socket, or on a Duplex from a connect function. Through a proxy, `remoteAddress` is the proxy's.
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

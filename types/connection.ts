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

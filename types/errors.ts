/**
 * Whether the server may have acted on a failed call.
 *
 * - `'no'`: certainly not. The request was never sent, the server refused the stream (REFUSED_STREAM), or the stream id
 *   is above the last stream id of a GOAWAY (RFC 9113 §8.7), and the server has sent nothing that contradicts it. You
 *   can safely retry such a call.
 * - `'maybe'`: all or part of the request was sent, and the client can't know.
 * - `'yes'`: it did. Part of the response arrived.
 */
export type Processed = 'no' | 'maybe' | 'yes'

/** The fields of every call error, in addition to undici's `name` and `code`. */
export interface CallErrorFields {
  /** Whether the server may have acted on the call. */
  readonly processed: Processed

  /** How many streams the call has had; `0` if it never got one. */
  readonly attempts: number

  /** The HTTP/2 id of the last attempt's stream; `null` if it had none. */
  readonly streamId: number | null

  /** The error code from the peer's RST_STREAM or GOAWAY (RFC 9113 §7); `null` if it sent none. */
  readonly http2ErrorCode: number | null

  /** The debug data from the peer's GOAWAY (RFC 9113 §6.8); `null` without a GOAWAY, or if it had none. */
  readonly goawayDebugData: Buffer | null

  /** The underlying error, such as the socket's; missing if there is none. */
  readonly cause?: unknown
}

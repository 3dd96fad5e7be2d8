/**
 * Whether the server may have acted on a call that failed.
 *
 * - `'no'`: the server certainly hasn't. The request was never sent, the stream was refused (REFUSED_STREAM), or its id
 *   is above the last stream id of a GOAWAY (RFC 9113 §8.7), and the server has sent nothing that contradicts that.
 *   Such a call may be sent again.
 * - `'maybe'`: the request, or a part of it, was sent, and the client can't know.
 * - `'yes'`: the server has. A part of the response came.
 */
export type Processed = 'no' | 'maybe' | 'yes'

/** The fields of every error of a call, besides undici's `name` and `code`. */
export interface CallErrorFields {
  /** Whether the server may have acted on the call. */
  readonly processed: Processed

  /** How many streams the call has had; `0` if it never got one. */
  readonly attempts: number

  /** The HTTP/2 id of the last attempt's stream; `null` if it had none. */
  readonly streamId: number | null

  /** The error code of the peer's RST_STREAM or GOAWAY (RFC 9113 §7); `null` if it sent none. */
  readonly http2ErrorCode: number | null

  /** The debug data of the peer's GOAWAY (RFC 9113 §6.8); `null` without a GOAWAY, or if it had none. */
  readonly goawayDebugData: Buffer | null

  /** The underlying error, such as the socket's; missing if there is none. */
  readonly cause?: unknown
}

/**
 * Whether the server may have acted on a call that failed.
 *
 * - `'no'`: it certainly didn't: the request was never sent, the stream was refused (REFUSED_STREAM), or its id is above the
 *   last one that a GOAWAY names (RFC 9113 §8.7). Such a call may be sent again.
 * - `'maybe'`: the request, or a part of it, was sent, and nothing tells.
 * - `'yes'`: it did: a part of the response came.
 */
export type Processed = 'no' | 'maybe' | 'yes'

/** What every error of a call says, besides undici's `name` and `code`. */
export interface CallErrorFields {
  /** Whether the server may have acted on the call. */
  readonly processed: Processed

  /** How many streams the call was tried on; `0` when it never got one. */
  readonly attempts: number

  /** The HTTP/2 id of the last attempt's stream; `null` when it had none. */
  readonly streamId: number | null

  /** The error code of the peer's RST_STREAM or GOAWAY (RFC 9113 §7); `null` when it sent none. */
  readonly http2ErrorCode: number | null

  /** The debug data of the peer's GOAWAY (RFC 9113 §6.8); `null` without one, or when it carried none. */
  readonly goawayDebugData: Buffer | null

  /** The error that lies beneath, such as the socket's; missing when there is none. */
  readonly cause?: unknown
}

/**
 * Why a stream was lost with its session.
 *
 * @module
 */

import type { Processed } from '../../types/errors.ts'
import { NO_ERROR, SocketError, toErrorCodeName } from '../errors.ts'

/** What a peer's GOAWAY said (RFC 9113 §6.8). */
export interface Goaway {
  readonly code: number
  /** Streams above it the peer has not processed, and will not. */
  readonly lastStreamId: number
  /** Null for none. */
  readonly debugData: Buffer | null
}

/** What gRPC's servers say with ENHANCE_YOUR_CALM to a client that sends more PINGs than they like. */
const TOO_MANY_PINGS = 'too_many_pings'
const ENHANCE_YOUR_CALM = 11

/** Whether the peer ends the session because of our PINGs. */
export function isOfPings({ code, debugData }: Goaway): boolean {
  return code === ENHANCE_YOUR_CALM && debugData?.toString('latin1') === TOO_MANY_PINGS
}

/**
 * @param streamId null for a stream that never got one
 * @param goaway null when there was none
 * @param cause null when nobody has said why
 */
export function toLossError(
  streamId: number | null,
  goaway: Goaway | null,
  cause: Error | null,
): SocketError {
  const isUnprocessed = streamId === null || (goaway !== null && streamId > goaway.lastStreamId)
  const processed: Processed = isUnprocessed ? 'no' : 'maybe'
  if (goaway !== null && goaway.code !== NO_ERROR) {
    const { code, debugData } = goaway
    const message = `The peer sent GOAWAY with ${toErrorCodeName(code)}`
    return new SocketError(message, { cause, processed, http2ErrorCode: code, goawayDebugData: debugData })
  }
  const message = cause === null ? 'The connection was closed' : `The connection was lost: ${cause.message}`
  return new SocketError(message, { cause, processed, goawayDebugData: goaway?.debugData ?? null })
}

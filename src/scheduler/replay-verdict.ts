/**
 * Whether a call whose attempt has failed is to be sent again, and what its owner notes of that.
 *
 * @module
 */

import { ErrorCode } from '../core/error-codes.ts'
import type { DodiciError } from '../errors.ts'
import { SocketError, StreamError } from '../errors.ts'
import type { Call } from '../handler/call.ts'
import type { ReplayReason } from './replay-reason.ts'
import { toReplayReason } from './replay-reason.ts'

/** `http/1.1`: the server wants it by HTTP/1.1 (RFC 9113 §7), and somebody serves that. */
export type ReplayVerdict = ReplayReason | 'http/1.1'

/** The peer has refused this very stream, as opposed to all that lie above a GOAWAY of the same code. */
export function isRefusal(error: DodiciError): boolean {
  return error instanceof StreamError && error.http2ErrorCode === ErrorCode.REFUSED_STREAM
}

/**
 * @param progress calls that the owner has got responses for
 * @param replaySafe the option of this name
 * @returns null: it must not be sent again
 */
export function toReplayVerdict(
  call: Call,
  error: DodiciError,
  progress: number,
  replaySafe: boolean,
  hasFallback: boolean,
): ReplayVerdict | null {
  const { request } = call
  const isSafe = replaySafe && request.idempotent && !request.isTunnel
  if (error.http2ErrorCode === ErrorCode.HTTP_1_1_REQUIRED && hasFallback) {
    // Of the request itself it says that it wasn't processed. Of a connection it may come when some have been.
    const isUnprocessed = error instanceof StreamError || error.processed === 'no'
    return !request.body.isSpent && (isUnprocessed || isSafe) ? 'http/1.1' : null
  }
  call.fruitless = call.progressMark === progress ? call.fruitless + 1 : 1
  call.progressMark = progress
  if (isRefusal(error)) call.refusals++
  const reason = toReplayReason({
    processed: error.processed,
    replayable: !request.body.isSpent,
    fruitless: call.fruitless,
    refusals: call.refusals,
    isSessionLost: error instanceof SocketError,
    isSafe,
    wasRepeated: call.wasRepeated,
    isResponded: call.rawHeaders !== null,
  })
  if (reason === 'safe') call.wasRepeated = true
  return reason
}

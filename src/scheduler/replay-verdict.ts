/**
 * Pure: whether a call whose attempt has failed is to be sent again.
 *
 * @module
 */

import type { FailureNotes, SchedulerNotes } from '../call/scheduler-notes.ts'
import { ErrorCode } from '../errors/error-codes.ts'
import type { DodiciError } from '../errors/errors.ts'
import { SocketError, StreamError } from '../errors/errors.ts'
import type { Request } from '../request/request.ts'
import type { ReplayReason } from './replay-reason.ts'
import { toReplayReason } from './replay-reason.ts'

/** `http/1.1`: the server wants the request by HTTP/1.1 (RFC 9113 §7), and there is a fallback for that. */
export type ReplayVerdict = ReplayReason | 'http/1.1'

/** The counts of a call's failed attempts, which are kept on the call. */
export type ReplayCounts = Pick<FailureNotes, 'fruitless' | 'refusals' | 'progressMark'>

/** The part of a call that the verdict depends on. */
export interface FailedCall extends Pick<SchedulerNotes, 'failures'> {
  readonly request: Pick<Request, 'body' | 'idempotent' | 'isTunnel'>
  /** Null when no part of a response has come. */
  readonly rawHeaders: readonly string[] | null
}

/** The part of the scheduler that the verdict depends on. */
export interface ReplayTerms {
  /** The option of this name. */
  readonly replaySafe: boolean
  readonly hasFallback: boolean
}

/** Whether the peer has refused this very stream, as opposed to all streams above a GOAWAY of the same code. */
export function isRefusal(error: DodiciError): boolean {
  return error instanceof StreamError && error.http2ErrorCode === ErrorCode.REFUSED_STREAM
}

/**
 * The counts with one more failed attempt.
 *
 * A server may retire each connection after a few requests, before it has responded to any. It makes progress all the
 * same. So an attempt that a GOAWAY left out isn't fruitless while the connection goes on with calls that it covers.
 * That is bounded too: a covered call isn't sent again, unless the server takes its acceptance back; then it counts.
 *
 * @param progress calls of which the scheduler has got a response so far
 * @param isLeftOut as of an {@link Attempt}
 */
export function toReplayCounts(
  before: ReplayCounts,
  error: DodiciError,
  progress: number,
  isLeftOut: boolean,
): ReplayCounts {
  const inRow = before.progressMark === progress ? before.fruitless : 0
  return {
    fruitless: isLeftOut ? inRow : inRow + 1,
    refusals: isRefusal(error) ? before.refusals + 1 : before.refusals,
    progressMark: progress,
  }
}

/**
 * @param counts those that include the failed attempt
 * @returns null: the call must not be sent again
 */
export function toReplayVerdict(
  { request, failures, rawHeaders }: FailedCall,
  error: DodiciError,
  { fruitless, refusals }: ReplayCounts,
  { replaySafe, hasFallback }: ReplayTerms,
): ReplayVerdict | null {
  const isSafe = replaySafe && request.idempotent && !request.isTunnel
  if (error.http2ErrorCode === ErrorCode.HTTP_1_1_REQUIRED && hasFallback) {
    // A stream error says that the request wasn't processed. A connection error may come when some requests have been.
    const isUnprocessed = error instanceof StreamError || error.processed === 'no'
    return !request.body.isSpent && (isUnprocessed || isSafe) ? 'http/1.1' : null
  }
  return toReplayReason({
    processed: error.processed,
    replayable: !request.body.isSpent,
    fruitless,
    refusals,
    isSessionLost: error instanceof SocketError,
    isSafe,
    wasRepeated: failures.wasRepeated,
    isResponded: rawHeaders !== null,
  })
}

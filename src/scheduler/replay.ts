/**
 * Pure: may a call be sent again, why, and when?
 *
 * @module
 */

import type { RetryReason } from '../../types/channels.ts'
import type { Attempt } from '../call/attempt.ts'
import type { FailureNotes } from '../call/call-owner.ts'
import { ErrorCode } from '../errors/error-codes.ts'
import type { DodiciError } from '../errors/errors.ts'
import { SocketError, StreamError } from '../errors/errors.ts'
import type { Request } from '../request/request.ts'

/** How many consecutive attempts may end unprocessed while no other call of the client completes. */
export const MAX_FRUITLESS_ATTEMPTS = 4

/** How often one call may be refused in total, whatever happens to other calls. */
export const MAX_REFUSALS = 8

/**
 * The decision about a call whose attempt has failed. It is sent again
 *
 * - `unprocessed`: never sent, REFUSED_STREAM, or above a GOAWAY's last stream id (RFC 9113 §8.7). Unlimited while the
 *   client makes progress, bounded otherwise; refusals are always bounded
 * - `safe` (RFC 9110 §9.2.2): once
 * - `http/1.1` (RFC 9113 §7): if there is a fallback for it
 * - `misdirected` (RFC 9110 §15.5.20): once
 */
export interface Replay {
  /** Null: the call must not be sent again. */
  readonly reason: RetryReason | null
  /** The call's new notes, which also say when it may be sent again. */
  readonly failures: FailureNotes
}

/** The part of a call that matters for the decision. */
export interface FailedCall {
  readonly request: Pick<Request, 'body' | 'idempotent' | 'isTunnel'>
  readonly failures: FailureNotes
  /** Null if no part of a response has arrived. */
  readonly rawHeaders: readonly string[] | null
}

/** The part of the scheduler that matters for the decision. */
export interface ReplayTerms {
  /** The option with this name. */
  readonly replaySafe: boolean
  readonly hasFallback: boolean
}

/**
 * @param error null: the response was 421
 * @param attempt null if it is over already
 * @param progress how many calls have got a response from the scheduler so far
 */
export function toReplay(
  call: FailedCall,
  error: DodiciError | null,
  attempt: Pick<Attempt, 'isAccepted' | 'isLeftOut'> | null,
  progress: number,
  terms: ReplayTerms,
): Replay {
  const { failures } = call
  if (error === null) {
    const { body, idempotent } = call.request
    const mayRepeat = idempotent || attempt?.isAccepted === false
    if (failures.wasMisdirected || body.isSpent || !mayRepeat) return { reason: null, failures }
    return { reason: 'misdirected', failures: { ...failures, wasMisdirected: true, setbacks: 0 } }
  }
  const counted = count(failures, error, progress, attempt?.isLeftOut === true)
  const reason = toReason(call, error, counted, terms)
  // A failure that leads to the fallback isn't counted, because it can't happen repeatedly.
  if (reason === 'http/1.1') return { reason, failures: { ...failures, http1Required: error, setbacks: 0 } }
  return { reason, failures: reason === 'safe' ? { ...counted, wasRepeated: true } : counted }
}

/**
 * Counts one more failed attempt.
 *
 * A server may retire each connection after a few requests, before it has responded to any of them, and still make
 * progress. So an attempt that a GOAWAY left out isn't fruitless while the connection continues with calls that the
 * GOAWAY covers. That is bounded, too: a covered call isn't sent again unless the server takes its acceptance back;
 * then it counts.
 */
function count(before: FailureNotes, error: DodiciError, progress: number, isLeftOut: boolean): FailureNotes {
  const inRow = before.progressMark === progress ? before.fruitless : 0
  // The peer refused this very stream, as opposed to all streams above the last id of a GOAWAY with the same code.
  const isRefusal = error instanceof StreamError && error.http2ErrorCode === ErrorCode.REFUSED_STREAM
  const refusals = isRefusal ? before.refusals + 1 : before.refusals
  const fruitless = isLeftOut ? inRow : inRow + 1
  return { ...before, fruitless, refusals, progressMark: progress, setbacks: isRefusal ? refusals : 0 }
}

/** @param counted the notes, with the failed attempt counted */
function toReason(
  { request, rawHeaders }: FailedCall,
  error: DodiciError,
  { fruitless, refusals, wasRepeated }: FailureNotes,
  { replaySafe, hasFallback }: ReplayTerms,
): RetryReason | null {
  if (request.body.isSpent) return null
  const isSafe = replaySafe && request.idempotent && !request.isTunnel
  if (error.http2ErrorCode === ErrorCode.HTTP_1_1_REQUIRED) {
    // A stream error says that the request wasn't processed. A connection error may arrive after some were processed.
    const isUnprocessed = error instanceof StreamError || error.processed === 'no'
    return hasFallback && (isUnprocessed || isSafe) ? 'http/1.1' : null
  }
  if (error.processed === 'no')
    return fruitless < MAX_FRUITLESS_ATTEMPTS && refusals < MAX_REFUSALS ? 'unprocessed' : null
  // The whole session was lost, as opposed to this stream alone, before any part of a response arrived.
  const isLost = error instanceof SocketError && rawHeaders === null
  return isLost && isSafe && !wasRepeated ? 'safe' : null
}

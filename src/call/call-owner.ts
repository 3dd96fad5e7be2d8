/**
 * The owner of a call, and what it notes on the call.
 *
 * @module
 */

import type { Deadlines } from '../core/clock.ts'
import type { DodiciError } from '../errors/errors.ts'
import type { Attempt } from './attempt.ts'
import type { CallState } from './call-state.ts'

/** What is known of a call's attempts that have failed, or were answered with 421. Replaced as a whole. */
export interface FailureNotes {
  /**
   * The number of attempts in a row that ended unprocessed, while no other call of the scheduler made progress.
   * Attempts that a GOAWAY left out aren't counted: see {@link Attempt.isLeftOut}.
   */
  readonly fruitless: number
  /** The number of attempts that the peer refused (REFUSED_STREAM), in all. */
  readonly refusals: number
  /** The refusals for which the next attempt waits, longer for more of them; 0 when the last failure was none. */
  readonly setbacks: number
  /** The scheduler's count of progress when an attempt last failed. */
  readonly progressMark: number
  /** The call was sent again although the server may have acted on it. The call reads this for its error. */
  readonly wasRepeated: boolean
  /** The error by which a server asked for this request over HTTP/1.1 (RFC 9113 §7); null for none. */
  readonly http1Required: DodiciError | null
  /** The call is an upgrade, and its origin's sessions offer no extended CONNECT (RFC 8441): it waits for HTTP/1.1. */
  readonly isHttp1Upgrade: boolean
  /** The response was 421 (RFC 9110 §15.5.20). The call reads this: it is replayed so only once. */
  readonly wasMisdirected: boolean
}

/** The notes of all calls without such an attempt. */
export const NO_FAILURES: FailureNotes = Object.freeze({
  fruitless: 0,
  refusals: 0,
  setbacks: 0,
  progressMark: 0,
  wasRepeated: false,
  http1Required: null,
  isHttp1Upgrade: false,
  wasMisdirected: false,
})

/**
 * The owner has queued the call, and hears of its end.
 *
 * @typeParam TCall the owner's type of a call
 */
export interface CallOwner<TCall> {
  readonly deadlines: Deadlines
  /**
   * An attempt has failed without a response, or its response was a 421. The owner notes it on the call.
   *
   * @param error null for a 421
   * @param attempt null for one that is over already
   * @returns whether another one may follow
   */
  mayReplay(call: TCall, error: DodiciError | null, attempt: Attempt | null): boolean
  /** The call is `queued` again, after {@link mayReplay} has returned true. */
  onReplay(call: TCall): void
  /**
   * Whether a `queued` call waits for a connection or its first SETTINGS, as opposed to room on one, or the end of a
   * delay.
   */
  isConnecting(call: TCall): boolean
  /**
   * Whether only `queueTimeout` bounds a call that waits: it waits for a connection, which has its own limit, or
   * for other requests over HTTP/1.1, where each connection has one at a time.
   */
  mayWaitOn(call: TCall): boolean
  /**
   * The call's reader holds the response back, or takes it again. Called before held data is passed on, which may end
   * the call.
   */
  onFlow(): void
  /** The call has settled, with success or an error. @param from the state that it was in */
  onSettled(call: TCall, from: CallState): void
}

/**
 * A call's owner, and the notes that it keeps on the call.
 *
 * @module
 */

import type { Deadlines } from '../core/clock.ts'
import type { DodiciError } from '../errors/errors.ts'
import type { Attempt } from './attempt.ts'
import type { CallState } from './call-state.ts'

/** What is known about a call's attempts that have failed, or were answered with 421. Replaced as a whole. */
export interface FailureNotes {
  /**
   * How many consecutive attempts ended unprocessed while no other call in the scheduler made progress. Attempts
   * excluded by a GOAWAY don't count: see {@link Attempt.isLeftOut}.
   */
  readonly fruitless: number
  /** How many attempts the peer has refused in total (REFUSED_STREAM). */
  readonly refusals: number
  /** How many refusals delay the next attempt: the more, the longer. 0 if the last failure wasn't a refusal. */
  readonly setbacks: number
  /** The scheduler's progress count when an attempt last failed. */
  readonly progressMark: number
  /** Whether the call was sent again although the server may have acted on it. The call reads this for its error. */
  readonly wasRepeated: boolean
  /** The error that came with a server's demand for HTTP/1.1 (RFC 9113 §7); null for none. */
  readonly http1Required: DodiciError | null
  /**
   * Whether the call is an upgrade, and its origin's sessions offer no extended CONNECT (RFC 8441): it waits for
   * HTTP/1.1.
   */
  readonly isHttp1Upgrade: boolean
  /**
   * Whether the response was 421 (RFC 9110 §15.5.20). The call reads this, so that it is replayed for that only once.
   */
  readonly wasMisdirected: boolean
}

/** The notes of all calls without such attempts. */
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
 * Queues the call, and is told when it ends.
 *
 * @typeParam TCall the owner's type of a call
 */
export interface CallOwner<TCall> {
  readonly deadlines: Deadlines
  /**
   * An attempt has failed without a response, or its response was a 421. The owner notes it on the call.
   *
   * @param error null for a 421
   * @param attempt null if it is over already
   * @returns whether another attempt may follow
   */
  mayReplay(call: TCall, error: DodiciError | null, attempt: Attempt | null): boolean
  /** The call is `queued` again, after {@link mayReplay} has returned true. */
  onReplay(call: TCall): void
  /**
   * Whether a `queued` call waits for a connection or its first SETTINGS, rather than for room on a session or the
   * end of a delay.
   */
  isConnecting(call: TCall): boolean
  /**
   * Whether only `queueTimeout` limits a waiting call: it waits for a connection, which has its own timeout, or for
   * other requests over HTTP/1.1, where each connection serves one at a time.
   */
  mayWaitOn(call: TCall): boolean
  /**
   * The call's reader holds the response back, or reads again. Called before held data is passed on, which may end
   * the call.
   */
  onFlow(): void
  /** The call has settled, with success or an error. @param from its previous state */
  onSettled(call: TCall, from: CallState): void
}

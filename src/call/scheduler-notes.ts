/**
 * The scheduler's notes on a call.
 *
 * @module
 */

import type { DodiciError } from '../errors/errors.ts'

/** What is known of a call's attempts that have failed, or were answered with 421. Replaced as a whole. */
export interface FailureNotes {
  /**
   * The number of attempts in a row that ended unprocessed, while no other call of the scheduler made progress.
   * Attempts that a GOAWAY left out aren't counted: see {@link Attempt.isLeftOut}.
   */
  readonly fruitless: number
  /** The number of attempts that the peer refused (REFUSED_STREAM), in all. */
  readonly refusals: number
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
  /** The stream of the last of them, which the call itself notes; null for none. */
  readonly streamId: number | null
}

/** The notes of all calls without such an attempt. */
export const NO_FAILURES: FailureNotes = Object.freeze({
  fruitless: 0,
  refusals: 0,
  progressMark: 0,
  wasRepeated: false,
  http1Required: null,
  isHttp1Upgrade: false,
  wasMisdirected: false,
  streamId: null,
})

/** These fields are fields of the call, which so needs no second object. */
export interface SchedulerNotes {
  /** The call's place in the order of dispatch. */
  readonly sequence: number
  failures: FailureNotes
}

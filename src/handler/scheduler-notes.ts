/**
 * The scheduler's notes on a call.
 *
 * @module
 */

import type { DodiciError } from '../errors.ts'

/**
 * Only the scheduler writes these fields; the call reads two of them. They are fields of the call, which so needs no
 * second object.
 */
export interface SchedulerNotes {
  /** The call's place in the order of dispatch. */
  readonly sequence: number
  /**
   * The number of attempts in a row that ended unprocessed, while no other call of the scheduler made progress.
   * Attempts that a GOAWAY left out aren't counted: see {@link Attempt.isLeftOut}.
   */
  fruitless: number
  /** The number of attempts that the peer refused (REFUSED_STREAM), in all. */
  refusals: number
  /** The scheduler's count of progress when an attempt last failed. */
  progressMark: number
  /** The call was sent again although the server may have acted on it. The call reads this for its error. */
  wasRepeated: boolean
  /** The error by which a server asked for this request over HTTP/1.1 (RFC 9113 §7); null for none. */
  http1Required: DodiciError | null
  /**
   * The response was 421 (RFC 9110 §15.5.20): the call goes to a session that is newer than that attempt's. The call
   * reads this: it is replayed so only once.
   */
  wasMisdirected: boolean
  /**
   * The number of sessions that the scheduler had opened when the attempt before the 421 began; 0 before any attempt on
   * a session.
   */
  sessionMark: number
}

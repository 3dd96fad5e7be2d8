/**
 * What the scheduler notes on a call.
 *
 * @module
 */

import type { DodiciError } from '../errors.ts'

/**
 * The scheduler alone writes these fields; the call reads two of them. They lie in the call, not in an object beside
 * it: a call is one object.
 */
export interface SchedulerNotes {
  /** The call's place in the order of dispatch. */
  readonly sequence: number
  /** Attempts in a row that ended unprocessed, while no other call of the scheduler made progress. */
  fruitless: number
  /** Attempts that the peer refused (REFUSED_STREAM), in all. */
  refusals: number
  /** The scheduler's progress when an attempt last failed. */
  progressMark: number
  /** The call was sent again although the server may have acted on it. The call reads it: its error says so. */
  wasRepeated: boolean
  /** The error by which a server said that it wants this request by HTTP/1.1 (RFC 9113 §7); null when none did. */
  http1Required: DodiciError | null
  /**
   * The response was 421 (RFC 9110 §15.5.20): the call goes to a session that is newer than the one of that attempt.
   * The call reads it: that happens once.
   */
  wasMisdirected: boolean
  /**
   * How many sessions the scheduler had opened when the attempt before the 421 began; 0 before any attempt on a
   * session.
   */
  sessionMark: number
}

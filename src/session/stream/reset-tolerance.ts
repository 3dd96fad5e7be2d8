/**
 * How many resets an origin's servers tolerate, learned from a GOAWAY.
 *
 * @module
 */

import { ErrorCode } from '../../errors/error-codes.ts'

/** A session with fewer resets wasn't ended because of them. */
const MIN_RESETS = 20

/** The smallest burst that is learned: a session that may send none at once would never reset a stream. */
const LEAST_BURST = MIN_RESETS / 2

/** For too many resets, nghttp2 ends a connection with INTERNAL_ERROR, Go's net/http with ENHANCE_YOUR_CALM. */
const CODES: readonly number[] = [ErrorCode.INTERNAL_ERROR, ErrorCode.ENHANCE_YOUR_CALM]

/**
 * How many resets the next sessions should send in one burst after a server has ended one: half as many as it had
 * sent, if they may have been the reason, but not fewer than 10.
 *
 * @param code the code in the GOAWAY
 * @param resets how many the session has sent
 * @param burst what was known before; Infinity if nothing
 * @returns null if nothing was learned
 */
export function toToleratedBurst(code: number, resets: number, burst: number): number | null {
  if (resets < MIN_RESETS || !CODES.includes(code)) return null
  return Math.max(LEAST_BURST, Math.floor(Math.min(burst, resets) / 2))
}

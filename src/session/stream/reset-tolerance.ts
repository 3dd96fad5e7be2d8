/**
 * How many resets an origin's servers tolerate, learned from a GOAWAY.
 *
 * @module
 */

import { ErrorCode } from '../../errors/error-codes.ts'

/** A session with fewer resets wasn't ended because of them. */
const MIN_RESETS = 20

/** For too many resets, nghttp2 ends a connection with INTERNAL_ERROR, Go's net/http with ENHANCE_YOUR_CALM. */
const CODES: readonly number[] = [ErrorCode.INTERNAL_ERROR, ErrorCode.ENHANCE_YOUR_CALM]

/**
 * How many resets the next sessions should send in one burst after a server has ended one: half as many as it had
 * sent, if they may have been the reason.
 *
 * @param code the code in the GOAWAY
 * @param resets how many the session has sent
 * @param burst what was known before; Infinity if nothing
 * @returns null if nothing was learned
 */
export function toToleratedBurst(code: number, resets: number, burst: number): number | null {
  if (resets < MIN_RESETS || !CODES.includes(code)) return null
  return Math.floor(Math.min(burst, resets) / 2)
}

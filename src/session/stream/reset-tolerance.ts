/**
 * How many resets an origin's servers tolerate, as a GOAWAY of one of them tells.
 *
 * @module
 */

import { ErrorCode } from '../../errors/error-codes.ts'

/** A session that has sent fewer resets was not ended because of them. */
const MIN_RESETS = 20

/** nghttp2 ends a connection with INTERNAL_ERROR for too many resets, Go's net/http with ENHANCE_YOUR_CALM. */
const CODES: readonly number[] = [ErrorCode.INTERNAL_ERROR, ErrorCode.ENHANCE_YOUR_CALM]

/**
 * How many resets the next sessions should send at once, after a server has ended one: half as many as it had sent, if
 * it may have been because of them.
 *
 * @param code of the GOAWAY
 * @param resets that the session has sent
 * @param burst what was known before; Infinity for nothing
 * @returns null where nothing is learned
 */
export function toToleratedBurst(code: number, resets: number, burst: number): number | null {
  if (resets < MIN_RESETS || !CODES.includes(code)) return null
  return Math.floor(Math.min(burst, resets) / 2)
}

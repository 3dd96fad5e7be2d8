/**
 * Pure: may this call be sent again after this failure?
 *
 * @module
 */

import type { Processed } from '../../types/errors.ts'

/** How many attempts in a row may end unprocessed while no other call of the client completes. */
export const MAX_FRUITLESS_ATTEMPTS = 4

/** All that the answer depends on. */
export interface ReplayCase {
  /** Whether the server may have acted on the attempt that failed. */
  readonly processed: Processed
  /** Whether the request's body can be had once more. */
  readonly replayable: boolean
  /** Attempts that ended unprocessed since the client last completed a call, this one included. */
  readonly fruitless: number
}

/**
 * Only what is provably unprocessed is sent again (RFC 9113 §8.7): never sent, REFUSED_STREAM, or above the last stream
 * id of a GOAWAY. It is free while the client makes progress, and bounded while it doesn't.
 */
export function mayReplay({ processed, replayable, fruitless }: ReplayCase): boolean {
  return processed === 'no' && replayable && fruitless < MAX_FRUITLESS_ATTEMPTS
}

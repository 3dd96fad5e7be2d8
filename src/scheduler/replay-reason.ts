/**
 * Pure: may this call be sent again after this failure?
 *
 * @module
 */

import type { Processed } from '../../types/errors.ts'

/** How many attempts in a row may end unprocessed while no other call of the client completes. */
export const MAX_FRUITLESS_ATTEMPTS = 4

/** How often one call may be refused in all, whatever happens to other calls. */
export const MAX_REFUSALS = 8

/** The facts that decide about a replay. */
export interface ReplayCase {
  /** Whether the server may have acted on the attempt that failed. */
  readonly processed: Processed
  /** Whether the request's body can be sent once more. */
  readonly replayable: boolean
  /** Attempts that ended unprocessed since the client last completed a call, this one included if it counts. */
  readonly fruitless: number
  /** How often it was refused (REFUSED_STREAM), this time included. */
  readonly refusals: number
  /** The whole session died, as opposed to this stream alone. */
  readonly isSessionLost: boolean
  /** The server may get the request twice without harm, and the caller agrees. */
  readonly isSafe: boolean
  /** The call was repeated for the reason `safe` before. */
  readonly wasRepeated: boolean
  /** Some of a response has come, an informational one included. */
  readonly isResponded: boolean
}

/**
 * - `unprocessed`: the server has provably not acted on it (RFC 9113 §8.7): never sent, REFUSED_STREAM, or above the
 *   last stream id of a GOAWAY. Replays are unlimited while the client makes progress, and bounded otherwise; refusals
 *   are always bounded.
 * - `safe`: the server may have acted on it, and may do so again (RFC 9110 §9.2.2). Once.
 */
export type ReplayReason = 'unprocessed' | 'safe'

/** @returns null when the call must not be sent again */
export function toReplayReason(it: ReplayCase): ReplayReason | null {
  if (!it.replayable) return null
  if (it.processed === 'no') {
    return it.fruitless < MAX_FRUITLESS_ATTEMPTS && it.refusals < MAX_REFUSALS ? 'unprocessed' : null
  }
  return it.isSessionLost && it.isSafe && !it.wasRepeated && !it.isResponded ? 'safe' : null
}

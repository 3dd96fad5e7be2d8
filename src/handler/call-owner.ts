/**
 * Who a call belongs to.
 *
 * @module
 */

import type { Deadlines } from '../core/clock.ts'
import type { DodiciError } from '../errors.ts'
import type { CallState } from './call-state.ts'

/**
 * It has queued the call, and hears of its end.
 *
 * @typeParam TCall what a call is to it
 */
export interface CallOwner<TCall> {
  readonly deadlines: Deadlines
  /** An attempt failed without a response: may there be another one? */
  mayReplay(call: TCall, error: DodiciError): boolean
  /**
   * The call is `queued` again. `error` is null after a response of 421: the owner notes that on the call
   * (`wasMisdirected`).
   */
  onReplay(call: TCall, error: DodiciError | null): void
  /** Whether one that is `queued` waits for a connection, as opposed to room on one, or its time. */
  isConnecting(call: TCall): boolean
  /**
   * The call's reader holds the response back, or lets it flow again: before what was held is handed on, which may end
   * the call.
   */
  onFlow(): void
  /** The call has settled, for good or ill; `from` is the state that it was in. */
  onSettled(call: TCall, from: CallState): void
}

/**
 * The owner of a call.
 *
 * @module
 */

import type { Deadlines } from '../core/clock.ts'
import type { DodiciError } from '../errors/errors.ts'
import type { CallState } from './call-state.ts'

/**
 * The owner has queued the call, and hears of its end.
 *
 * @typeParam TCall the owner's type of a call
 */
export interface CallOwner<TCall> {
  readonly deadlines: Deadlines
  /**
   * An attempt has failed without a response.
   *
   * @param isLeftOut as of an {@link Attempt}
   * @returns whether another one may follow
   */
  mayReplay(call: TCall, error: DodiciError, isLeftOut: boolean): boolean
  /**
   * The call is `queued` again. @param error null after a response of 421, which the owner notes on the call
   * (`failures.wasMisdirected`)
   */
  onReplay(call: TCall, error: DodiciError | null): void
  /**
   * Whether a `queued` call waits for a connection or its first SETTINGS, as opposed to room on one, or the end of a
   * delay.
   */
  isConnecting(call: TCall): boolean
  /**
   * Whether `queueTimeout` alone bounds the wait of a call: it waits for a connection, which has a limit of its own, or
   * for other requests over HTTP/1.1, where each connection has one at a time.
   */
  mayWaitOn(call: TCall): boolean
  /**
   * The call's reader holds the response back, or takes it again. Called before held data is passed on, which may end
   * the call.
   */
  onFlow(): void
  /** The call has settled, with success or an error. @param from the state that it was in */
  onSettled(call: TCall, from: CallState): void
}

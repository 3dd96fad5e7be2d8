/**
 * The calls of one origin that have no stream.
 *
 * @module
 */

import type { Call } from '../call/call.ts'
import type { Clock } from '../core/clock.ts'
import { PendingQueue } from '../core/pending-queue.ts'
import { DelayedCalls } from './delayed-calls.ts'
import { isForHttp1 } from './session-need.ts'

/** What one call waits for is no reason to hold up calls that need another session, or none. */
export class WaitingCalls {
  /** Calls that need no session, whatever the origin speaks. */
  readonly fallback = new PendingQueue<Call>()
  /** All other calls: among them the order of dispatch is kept. */
  readonly ordinary = new PendingQueue<Call>()
  /** Calls that were refused, and wait before they enter their queue again. */
  readonly #delayed: DelayedCalls

  /** @param onOver called when a delayed call's time has come; the call has left then */
  constructor(clock: Clock, onOver: (call: Call) => void) {
    this.#delayed = new DelayedCalls(clock, onOver)
  }

  /** The number of calls that would take a session now. */
  get size(): number {
    return this.fallback.size + this.ordinary.size
  }

  /** The number of all calls here. */
  get total(): number {
    return this.size + this.#delayed.size
  }

  add(call: Call): void {
    this.#queueOf(call).add(call)
  }

  /**
   * Delays a refused call. @param refusals how often it was refused @returns false when the delay is 0: then the call
   * isn't kept
   */
  delay(call: Call, refusals: number): boolean {
    return this.#delayed.add(call, refusals)
  }

  isDelayed(call: Call): boolean {
    return this.#delayed.has(call)
  }

  /** A waiting call has settled. */
  delete(call: Call): void {
    if (!this.#delayed.delete(call)) this.#queueOf(call).remove(call)
  }

  /** A list of all calls here, which go on waiting. */
  toArray(): Call[] {
    const calls: Call[] = []
    for (const queue of [this.fallback, this.ordinary])
      for (let call = queue.first; call !== null; call = call.queueNext) calls.push(call)
    return [...calls, ...this.#delayed.toArray()]
  }

  #queueOf(call: Call): PendingQueue<Call> {
    return isForHttp1(call) ? this.fallback : this.ordinary
  }
}

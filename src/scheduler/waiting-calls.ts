/**
 * The calls of one origin that have no stream.
 *
 * @module
 */

import type { Clock } from '../core/clock.ts'
import { PendingQueue } from '../core/pending-queue.ts'
import type { Call } from '../handler/call.ts'
import { DelayedCalls } from './delayed-calls.ts'

/** Each is in one of four places: what makes one of them wait is no reason to hold up the others. */
export class WaitingCalls {
  /** Those that are for HTTP/1.1, and wait for no session. */
  readonly http1 = new PendingQueue<Call>()
  /** Those that any session will do for. */
  readonly queue = new PendingQueue<Call>()
  /** Those that were answered with 421, and want a session that is newer than their last. */
  readonly misdirected = new PendingQueue<Call>()
  /** Those that were refused, and wait before they enter the queue again. */
  readonly #delayed: DelayedCalls

  /** @param onOver called when a delayed call's time has come; it has left then */
  constructor(clock: Clock, onOver: (call: Call) => void) {
    this.#delayed = new DelayedCalls(clock, onOver)
  }

  /** Those that would take a session now. */
  get size(): number {
    return this.http1.size + this.queue.size + this.misdirected.size
  }

  /** All of them. */
  get total(): number {
    return this.size + this.#delayed.size
  }

  add(call: Call): void {
    this.#laneOf(call).add(call)
  }

  /** Keeps one that was refused so often for a while. False for no time at all. */
  delay(call: Call, refusals: number): boolean {
    return this.#delayed.add(call, refusals)
  }

  isDelayed(call: Call): boolean {
    return this.#delayed.has(call)
  }

  /** One that waits has settled. */
  delete(call: Call): void {
    if (!this.#delayed.delete(call)) this.#laneOf(call).remove(call)
  }

  /** All of them, which go on waiting. */
  toArray(): Call[] {
    const calls: Call[] = []
    for (const lane of [this.http1, this.misdirected, this.queue])
      for (let call = lane.first; call !== null; call = call.queueNext) calls.push(call)
    return [...calls, ...this.#delayed.toArray()]
  }

  #laneOf(call: Call): PendingQueue<Call> {
    if (call.request.isHttp1 || call.http1Required !== null) return this.http1
    return call.wasMisdirected ? this.misdirected : this.queue
  }
}

/**
 * One origin's calls without a stream.
 *
 * @module
 */

import type { Call } from '../call/call.ts'
import type { Clock, Timed } from '../core/clock.ts'
import { Deadlines } from '../core/clock.ts'
import { PendingQueue } from '../core/pending-queue.ts'
import { toBackoffDelay } from './backoff.ts'
import { isForHttp1 } from './session-need.ts'

/** Keeps calls apart by what they wait for: none holds up calls that need another session, or none. */
export class WaitingCalls {
  /** Calls that need no session, whatever the origin speaks. */
  readonly fallback = new PendingQueue<Call>()
  /** All other calls, in the order of dispatch. */
  readonly ordinary = new PendingQueue<Call>()
  /** Ordinary calls with bodies while no session can send any: the calls behind them don't need what they wait for. */
  readonly #uploads = new Set<Call>()
  /**
   * Refused calls that wait before they enter their queue again. Each waits separately: one refusal is no reason to
   * delay other calls.
   */
  readonly #delays = new Map<Call, Delay>()
  readonly #deadlines: Deadlines
  readonly #onOver: (call: Call) => void

  /** @param onOver called when a call's delay is over; the call has been removed by then */
  constructor(clock: Clock, onOver: (call: Call) => void) {
    // The delays keep the process alive: there may be no socket while the calls wait.
    this.#deadlines = new Deadlines(clock, true)
    this.#onOver = onOver
  }

  /** The number of calls that would take a session now. */
  get size(): number {
    return this.fallback.size + this.ordinary.size + this.#uploads.size
  }

  /** The number of all calls in here. */
  get total(): number {
    return this.size + this.#delays.size
  }

  add(call: Call): void {
    this.#queueOf(call).add(call)
  }

  /** Whether calls wait to send their bodies. */
  get hasUploads(): boolean {
    return this.#uploads.size > 0
  }

  /** No session can send the first ordinary call's body: the call steps aside. */
  setAside(): void {
    const call = this.ordinary.shift()
    if (call !== null) this.#uploads.add(call)
  }

  /** Returns the calls that stepped aside to their places. */
  bringBack(): void {
    const calls = [...this.#uploads]
    this.#uploads.clear()
    for (const call of calls) this.ordinary.add(call)
  }

  /**
   * Delays a call, as its notes say.
   *
   * @returns false if the delay is 0: then the call isn't kept
   */
  delay(call: Call): boolean {
    const delay = toBackoffDelay(call.failures.setbacks)
    if (delay === 0) return false
    const entry = new Delay(call, this)
    this.#delays.set(call, entry)
    const now = this.#deadlines.now()
    this.#deadlines.set(entry, now + delay, now)
    return true
  }

  isDelayed(call: Call): boolean {
    return this.#delays.has(call)
  }

  /** A waiting call has settled. */
  delete(call: Call): void {
    if (!this.#clearDelay(call) && !this.#uploads.delete(call)) this.#queueOf(call).remove(call)
  }

  /** All calls in here as a list. They continue to wait. */
  toArray(): Call[] {
    const calls: Call[] = []
    for (const queue of [this.fallback, this.ordinary])
      for (let call = queue.first; call !== null; call = call.queueNext) calls.push(call)
    return [...calls, ...this.#uploads, ...this.#delays.keys()]
  }

  /** A call's delay is over. */
  onDelayOver(call: Call): void {
    this.#clearDelay(call)
    this.#onOver(call)
  }

  /** @returns false if the call isn't delayed */
  #clearDelay(call: Call): boolean {
    const entry = this.#delays.get(call)
    if (entry === undefined) return false
    this.#deadlines.delete(entry)
    this.#delays.delete(call)
    if (this.#delays.size === 0) this.#deadlines.stop()
    return true
  }

  #queueOf(call: Call): PendingQueue<Call> {
    return isForHttp1(call) ? this.fallback : this.ordinary
  }
}

/** One call's delay. */
class Delay implements Timed {
  deadline = Number.POSITIVE_INFINITY
  listIndex = -1
  readonly #call: Call
  readonly #owner: WaitingCalls

  constructor(call: Call, owner: WaitingCalls) {
    this.#call = call
    this.#owner = owner
  }

  onDeadline(): void {
    this.#owner.onDelayOver(this.#call)
  }
}

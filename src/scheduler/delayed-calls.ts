/**
 * The calls that a peer has refused, and that wait before they are sent again.
 *
 * @module
 */

import type { Call } from '../call/call.ts'
import type { Clock, Timed } from '../core/clock.ts'
import { Deadlines } from '../core/clock.ts'
import { toBackoffDelay } from './backoff.ts'

/** Each call has a delay of its own: that one was refused is no reason to delay the others. */
export class DelayedCalls {
  readonly #deadlines: Deadlines
  readonly #onOver: (call: Call) => void
  readonly #delays = new Map<Call, Delay>()

  /** @param onOver called when a call's delay is over; the call has left already */
  constructor(clock: Clock, onOver: (call: Call) => void) {
    // The delays keep the process alive: there may be no socket while the calls wait.
    this.#deadlines = new Deadlines(clock, true)
    this.#onOver = onOver
  }

  get size(): number {
    return this.#delays.size
  }

  has(call: Call): boolean {
    return this.#delays.has(call)
  }

  /**
   * Delays a call. @param setbacks the number of its refusals in a row @returns false when the delay is 0: then the
   * call isn't kept
   */
  add(call: Call, setbacks: number): boolean {
    const delay = toBackoffDelay(setbacks)
    if (delay === 0) return false
    const entry = new Delay(call, this)
    this.#delays.set(call, entry)
    const now = this.#deadlines.now()
    this.#deadlines.set(entry, now + delay, now)
    return true
  }

  /** Removes a call. @returns false when it wasn't here */
  delete(call: Call): boolean {
    const entry = this.#delays.get(call)
    if (entry === undefined) return false
    this.#deadlines.delete(entry)
    this.#delays.delete(call)
    if (this.#delays.size === 0) this.#deadlines.stop()
    return true
  }

  /** A list of the waiting calls, which go on waiting. */
  toArray(): Call[] {
    return [...this.#delays.keys()]
  }

  /** The delay of a call is over. */
  release(call: Call): void {
    if (this.delete(call)) this.#onOver(call)
  }
}

/** The delay of one call. */
class Delay implements Timed {
  deadline = Number.POSITIVE_INFINITY
  listIndex = -1
  readonly #call: Call
  readonly #owner: DelayedCalls

  constructor(call: Call, owner: DelayedCalls) {
    this.#call = call
    this.#owner = owner
  }

  onDeadline(): void {
    this.#owner.release(this.#call)
  }
}

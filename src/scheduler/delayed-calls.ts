/**
 * Calls that a peer has refused, and that aren't sent again at once.
 *
 * @module
 */

import type { Clock, Timed } from '../core/clock.ts'
import { Deadlines } from '../core/clock.ts'
import type { Call } from '../handler/call.ts'
import { toBackoffDelay } from './backoff.ts'

/** Each waits for itself: that one call is refused is no reason to hold the others back. */
export class DelayedCalls {
  readonly #deadlines: Deadlines
  readonly #onOver: (call: Call) => void
  readonly #delays = new Map<Call, Delay>()

  /** @param onOver called when a call's time has come; it has left then */
  constructor(clock: Clock, onOver: (call: Call) => void) {
    // There may be no socket at all while they wait.
    this.#deadlines = new Deadlines(clock, true)
    this.#onOver = onOver
  }

  get size(): number {
    return this.#delays.size
  }

  has(call: Call): boolean {
    return this.#delays.has(call)
  }

  /** Keeps a call for as long as so many setbacks in a row are worth. False for no time at all. */
  add(call: Call, setbacks: number): boolean {
    const delay = toBackoffDelay(setbacks)
    if (delay === 0) return false
    const entry = new Delay(call, this)
    this.#delays.set(call, entry)
    const now = this.#deadlines.now()
    this.#deadlines.set(entry, now + delay, now)
    return true
  }

  /** A call has settled. False when it wasn't here. */
  delete(call: Call): boolean {
    const entry = this.#delays.get(call)
    if (entry === undefined) return false
    this.#deadlines.delete(entry)
    this.#delays.delete(call)
    if (this.#delays.size === 0) this.#deadlines.stop()
    return true
  }

  /** All that wait, which they go on with. */
  toArray(): Call[] {
    return [...this.#delays.keys()]
  }

  /** Its time has come. */
  release(call: Call): void {
    if (this.delete(call)) this.#onOver(call)
  }
}

/** One call's wait. */
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

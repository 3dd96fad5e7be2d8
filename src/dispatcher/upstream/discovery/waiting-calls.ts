/**
 * Calls that arrive before any upstream is known.
 *
 * @module
 */

import { CallerContext } from '../../../core/caller-context.ts'
import type { Clock, Timed } from '../../../core/clock.ts'
import { Deadlines } from '../../../core/clock.ts'
import type { DodiciError } from '../../../errors/errors.ts'

/** The shortest of a call's limits that apply to waiting. */
export interface WaitLimit {
  readonly name: 'queueTimeout' | 'connectTimeout' | 'requestTimeout'
  /** In milliseconds; 0: none. */
  readonly value: number
}

/** A call, while it waits. */
export interface WaitingCall {
  /** There are upstreams. */
  begin(): void
  /** There won't be any in time. */
  abandon(error: Error): void
}

/** One call, with its deadline and its caller's async context. */
class Wait extends CallerContext implements Timed {
  deadline = Number.POSITIVE_INFINITY
  listIndex = -1
  readonly call: WaitingCall
  readonly limit: WaitLimit
  readonly #onLate: (wait: Wait) => void

  constructor(call: WaitingCall, limit: WaitLimit, onLate: (wait: Wait) => void) {
    super()
    this.call = call
    this.limit = limit
    this.#onLate = onLate
  }

  onDeadline(): void {
    this.#onLate(this)
  }
}

/** Keeps the process alive while a call waits. */
export class WaitingCalls {
  readonly #deadlines: Deadlines
  readonly #waits = new Map<WaitingCall, Wait>()
  readonly #onLate: (wait: Wait) => void

  /** @param toLateError creates the error for a call that has reached its limit */
  constructor(clock: Clock, toLateError: (limit: WaitLimit) => DodiciError) {
    this.#deadlines = new Deadlines(clock, true)
    this.#onLate = (wait) => {
      const { call, limit } = wait
      this.#waits.delete(call)
      this.#stopIfIdle()
      wait.runInAsyncScope(call.abandon, call, toLateError(limit))
    }
  }

  get size(): number {
    return this.#waits.size
  }

  add(call: WaitingCall, limit: WaitLimit): void {
    const wait = new Wait(call, limit, this.#onLate)
    this.#waits.set(call, wait)
    const now = this.#deadlines.now()
    // Even without a limit, it keeps the process alive.
    const at = limit.value === 0 ? Number.MAX_VALUE : now + limit.value
    this.#deadlines.listFor(limit.value).set(wait, at, now)
  }

  delete(call: WaitingCall): void {
    const wait = this.#waits.get(call)
    if (wait === undefined) return
    this.#waits.delete(call)
    this.#deadlines.listFor(wait.limit.value).delete(wait)
    this.#stopIfIdle()
  }

  /** In the order in which they arrived. */
  beginAll(): void {
    for (const wait of this.#takeAll()) wait.runInAsyncScope(wait.call.begin, wait.call)
  }

  /** @param toOwn creates one error for each call */
  failAll(toOwn: () => Error): void {
    for (const wait of this.#takeAll()) wait.runInAsyncScope(wait.call.abandon, wait.call, toOwn())
  }

  /** The alarm of a call that has ended may still be set, and would keep the process alive. */
  #stopIfIdle(): void {
    if (this.#waits.size === 0) this.#deadlines.stop()
  }

  /** A call may dispatch another one, which then waits, too. */
  #takeAll(): Wait[] {
    const waits = [...this.#waits.values()]
    for (const { call } of waits) this.delete(call)
    return waits
  }
}

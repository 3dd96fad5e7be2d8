/**
 * When another connection to an origin may be opened after others have failed, and when there is no point in one.
 *
 * @module
 */

import type { Clock } from '../core/clock.ts'
import { Backoff } from './backoff.ts'
import { MAX_FRUITLESS_ATTEMPTS } from './replay.ts'

/** What the policy needs to know of the calls for which connections are made. */
export interface ReconnectDemand {
  /** Calls of which a response has come, so far. While that number grows, setbacks aren't in a row. */
  readonly progress: number
  /** Calls that wait for a stream: while there are any, the end of a back-off keeps the process alive. */
  waiting(): number
}

/** A session that takes no calls any more. */
export interface EndedSession {
  /** Calls of which it has brought a final response's header. */
  readonly responded: number
}

/**
 * A setback is a connection that couldn't be made, or a session that ended without a response. The first one costs
 * nothing. From the second in a row on, the policy backs off: no session is opened meanwhile. After some sessions in a
 * row without a response it gives up on the calls that wait. A session with a response ends the row, and so does a
 * response by any other session.
 */
export class ReconnectPolicy {
  readonly #demand: ReconnectDemand
  readonly #backoff: Backoff
  /** Sessions that were counted already, or don't count. */
  readonly #judged = new WeakSet<EndedSession>()
  /** Setbacks in a row. */
  #setbacks = 0
  /** `progress` at the last setback. */
  #progressAtSetback = 0
  /** Sessions among the setbacks, since the last session with a response, or since the policy gave up. */
  #fruitless = 0

  /** @param onOver called when a back-off is over: calls that wait may need a session */
  constructor(clock: Clock, demand: ReconnectDemand, onOver: () => void) {
    this.#demand = demand
    this.#backoff = new Backoff(clock, onOver)
  }

  /** Whether a session may be opened now: no back-off is under way. */
  get mayConnect(): boolean {
    return !this.#backoff.isWaiting
  }

  /** A connection could not be made. */
  recordFailedConnection(): void {
    this.#recordSetback()
  }

  /** A session ends because the client wants it to: that is neither a setback nor a success. */
  exempt(session: EndedSession): void {
    this.#judged.add(session)
  }

  /**
   * A session has ended, or takes no calls any more. It counts once, however often it is told of: a server that accepts
   * connections and drops them without a response must not be dialled for ever.
   *
   * @param isServed whether another session takes calls: then the waiting calls need not fail
   * @returns whether to give up: the calls that wait have to fail. The row begins anew then.
   */
  recordEnd(session: EndedSession, isServed: boolean): boolean {
    if (this.#judged.has(session)) return false
    this.#judged.add(session)
    if (session.responded > 0) {
      this.#fruitless = 0
      this.#setbacks = 0
      return false
    }
    if (this.#demand.progress !== this.#progressAtSetback) this.#fruitless = 0
    this.#recordSetback()
    this.#fruitless++
    if (this.#fruitless < MAX_FRUITLESS_ATTEMPTS || isServed) return false
    this.#fruitless = 0
    return true
  }

  /** Whether calls wait may have changed. */
  updateRef(): void {
    this.#backoff.setRef(this.#demand.waiting() > 0)
  }

  /** No further session is wanted. */
  stop(): void {
    this.#backoff.stop()
  }

  #recordSetback(): void {
    const { progress } = this.#demand
    this.#setbacks = progress === this.#progressAtSetback ? this.#setbacks + 1 : 1
    this.#progressAtSetback = progress
    this.#backoff.start(this.#setbacks, this.#demand.waiting() > 0)
  }
}

/**
 * When another connection to an origin may be opened after others have failed, and when to give up.
 *
 * @module
 */

import type { Clock } from '../core/clock.ts'
import { Backoff } from './backoff.ts'
import { MAX_FRUITLESS_ATTEMPTS } from './replay.ts'

/**
 * How many milliseconds a setback counts after it happened: what follows an idle time is another incident, for which
 * the waiting calls get all attempts. While calls wait, setbacks are far closer: a back-off takes a second at most.
 */
const MAX_AGE = 10 * 60_000

/** What the policy needs to know about the calls that need connections. */
export interface ReconnectDemand {
  /** How many calls have got a response so far. While that number grows, setbacks don't count as consecutive. */
  readonly progress: number
  /** How many calls wait for a stream. If any do, the end of a back-off keeps the process alive. */
  waiting(): number
}

/** A session that takes no more calls. */
export interface EndedSession {
  /** How many of its calls have got the header section of a final response. */
  readonly responded: number
}

/**
 * A setback is a connection attempt that failed, or a session that ended without a response. The first one costs
 * nothing. From the second consecutive one on, the policy backs off: meanwhile no session is opened. After several
 * consecutive sessions without a response, it gives up on the waiting calls. A session with a response resets the
 * count, and so do a response on any other session, and time.
 */
export class ReconnectPolicy {
  readonly #clock: Clock
  readonly #demand: ReconnectDemand
  readonly #backoff: Backoff
  /** Sessions that have been counted already, or don't count. */
  readonly #judged = new WeakSet<EndedSession>()
  /** Consecutive setbacks. */
  #setbacks = 0
  /** `progress` at the last setback. */
  #progressAtSetback = 0
  /** When the last setback happened, in the clock's time. */
  #setbackAt = Number.NEGATIVE_INFINITY
  /** Sessions among the setbacks since the last session with a response, or since the policy gave up. */
  #fruitless = 0

  /** @param onOver called when a back-off is over: waiting calls may need a session */
  constructor(clock: Clock, demand: ReconnectDemand, onOver: () => void) {
    this.#clock = clock
    this.#demand = demand
    this.#backoff = new Backoff(clock, onOver)
  }

  /** Whether a session may be opened now, because no back-off is running. */
  get mayConnect(): boolean {
    return !this.#backoff.isWaiting
  }

  /** A connection attempt has failed. */
  recordFailedConnection(): void {
    this.#recordSetback()
  }

  /** A session ends because the client wants it to: neither a setback nor a success. */
  exempt(session: EndedSession): void {
    this.#judged.add(session)
  }

  /**
   * A session has ended, or takes no more calls. It counts once, however often it is reported: a server that accepts
   * connections and drops them without a response must not be dialled for ever.
   *
   * @param isServed whether another session takes calls: then the waiting calls need not fail
   * @returns whether to give up: the waiting calls have to fail. The count restarts then.
   */
  recordEnd(session: EndedSession, isServed: boolean): boolean {
    if (this.#judged.has(session)) return false
    this.#judged.add(session)
    if (session.responded > 0) {
      this.#fruitless = 0
      this.#setbacks = 0
      return false
    }
    if (!this.#isConsecutive) this.#fruitless = 0
    this.#recordSetback()
    this.#fruitless++
    if (this.#fruitless < MAX_FRUITLESS_ATTEMPTS || isServed) return false
    this.#fruitless = 0
    return true
  }

  /** The number of waiting calls may have become, or stopped being, zero. */
  updateRef(): void {
    this.#backoff.setRef(this.#demand.waiting() > 0)
  }

  /** No more sessions are needed. */
  stop(): void {
    this.#backoff.stop()
  }

  /** Whether a setback now would follow the last one without a response in between, and soon enough. */
  get #isConsecutive(): boolean {
    if (this.#demand.progress !== this.#progressAtSetback) return false
    return this.#clock.now() - this.#setbackAt < MAX_AGE
  }

  #recordSetback(): void {
    this.#setbacks = this.#isConsecutive ? this.#setbacks + 1 : 1
    this.#progressAtSetback = this.#demand.progress
    this.#setbackAt = this.#clock.now()
    this.#backoff.start(this.#setbacks, this.#demand.waiting() > 0)
  }
}

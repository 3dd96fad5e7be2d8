/**
 * What moves calls from their queues to where they are sent.
 *
 * @module
 */

import type { Origin } from '../core/options.ts'
import type { PendingQueue } from '../core/pending-queue.ts'
import { NotSupportedError } from '../errors.ts'
import type { Call } from '../handler/call.ts'
import type { OriginMemory } from '../session/origin-memory.ts'
import type { Session } from '../session/session.ts'
import type { Fallback } from './fallback/fallback.ts'
import { toLane, toSessionNeed } from './lane.ts'
import type { SessionSet } from './session-set.ts'
import type { WaitingCalls } from './waiting-calls.ts'

/** How deep loops that open streams may lie one within another. */
const MAX_DEPTH = 4

/**
 * Gives calls that wait to sessions that have room for them, or to the fallback, and asks for a session when none has
 * room.
 */
export class CallPump {
  readonly #origin: Origin
  readonly #memory: OriginMemory
  readonly #waiting: WaitingCalls
  readonly #sessions: SessionSet
  readonly #fallback: Fallback
  /** How many loops that open streams are under way, one within another. */
  #depth = 0
  #isStopped = false

  constructor(
    origin: Origin,
    memory: OriginMemory,
    waiting: WaitingCalls,
    sessions: SessionSet,
    fallback: Fallback,
  ) {
    this.#origin = origin
    this.#memory = memory
    this.#waiting = waiting
    this.#sessions = sessions
    this.#fallback = fallback
  }

  /** Whether streams are being opened. Room that comes about meanwhile is found by the loop that is under way. */
  get isRunning(): boolean {
    return this.#depth > 0
  }

  /**
   * Opens streams while there are calls and room for them. It may be called again by a handler that dispatches.
   *
   * @returns false when too many loops are under way already: these go on with what is left, and a handler that
   * dispatches doesn't use up the stack
   */
  run(): boolean {
    if (this.#depth >= MAX_DEPTH) return false
    this.#depth++
    try {
      const { fallback, misdirected, ordinary } = this.#waiting
      if (fallback.size > 0) this.#openWaiting(fallback)
      if (misdirected.size > 0) this.#openWaiting(misdirected)
      this.#openWaiting(ordinary)
    } finally {
      this.#depth--
    }
    return true
  }

  /** Opens nothing any more. */
  stop(): void {
    this.#isStopped = true
  }

  #openWaiting(queue: PendingQueue<Call>): void {
    for (let call = queue.first; call !== null && !this.#isStopped; call = queue.first) {
      const need = toSessionNeed(toLane(call), this.#memory.protocol)
      const session = this.#sessions.pick(need, call.sessionMark)
      if (session === null && need !== 'none') {
        this.#sessions.grow(need, call.sessionMark)
        return
      }
      queue.shift()
      this.#open(call, session)
    }
  }

  /** @param session null for a call that HTTP/2 isn't for */
  #open(call: Call, session: Session | null): void {
    const { protocol } = call.request
    if (session !== null && (protocol === null || session.settings.offersExtendedConnect)) {
      if (!call.wasMisdirected) call.sessionMark = this.#sessions.opened
      session.open(call)
    } else if (this.#fallback.isThere) {
      this.#fallback.open(call, call.http1Required)
    } else {
      // Where it was: it leaves the queue as it settles.
      this.#waiting.add(call)
      const reason = session === null ? 'is to be asked by HTTP/1.1' : 'offers no extended CONNECT (RFC 8441)'
      const message = `${this.#origin.href} ${reason}, and fallback is null: there is no upgrade to ${protocol}`
      call.fail(new NotSupportedError(message))
    }
  }
}

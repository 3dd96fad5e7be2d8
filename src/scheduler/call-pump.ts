/**
 * Moves calls from their queues to sessions or to the fallback.
 *
 * @module
 */

import type { Call } from '../call/call.ts'
import type { PendingQueue } from '../core/pending-queue.ts'
import { NotSupportedError } from '../errors/errors.ts'
import type { Origin } from '../options/options.ts'
import type { OriginMemory } from '../session/origin-memory.ts'
import type { Session } from '../session/session.ts'
import type { Fallback } from './fallback/fallback.ts'
import { isForHttp1, toSessionNeed } from './session-need.ts'
import type { SessionSet } from './session-set.ts'
import type { WaitingCalls } from './waiting-calls.ts'

/** How many loops that open streams may be nested. */
const MAX_DEPTH = 4

/**
 * Gives waiting calls to sessions with room for them, or to the fallback, and asks for a session when none has room.
 */
export class CallPump {
  readonly #origin: Origin
  readonly #memory: OriginMemory
  readonly #waiting: WaitingCalls
  readonly #sessions: SessionSet
  readonly #fallback: Fallback
  /** How many loops that open streams are running, nested. */
  #depth = 0
  /** Whether a loop didn't begin because too many are running: one of these looks at both queues once more. */
  #isRefused = false
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

  /** Whether a loop is opening streams. It also uses the room that appears meanwhile. */
  get isRunning(): boolean {
    return this.#depth > 0
  }

  /**
   * Opens streams while there are calls and room for them. A handler that dispatches may call it again, from inside.
   *
   * @returns false when too many loops are running already, to keep a handler that dispatches from exhausting the
   *   stack: the running loops continue with the remaining calls
   */
  run(): boolean {
    if (this.#depth >= MAX_DEPTH) {
      this.#isRefused = true
      return false
    }
    this.#depth++
    try {
      const { fallback, ordinary } = this.#waiting
      do {
        this.#isRefused = false
        if (this.#waiting.hasUploads && !this.#sessions.isShut) this.#waiting.bringBack()
        if (fallback.size > 0) this.#openWaiting(fallback)
        this.#openWaiting(ordinary)
      } while (this.#isRefused)
    } finally {
      this.#depth--
    }
    return true
  }

  /**
   * Opens a stream for a call that isn't queued. Call it only when no other call waits: this one would overtake them.
   *
   * @returns false when the call has to be queued: no session has room for it, or {@link run} wouldn't open it either
   */
  openAtOnce(call: Call): boolean {
    if (this.#depth >= MAX_DEPTH || this.#isStopped) return false
    const need = toSessionNeed(call, this.#memory.protocol)
    const session = this.#sessions.pick(need)
    if (session === null && need !== 'none') return false
    if (!this.#canTake(call, session)) return false
    this.#depth++
    try {
      this.#open(call, session)
    } finally {
      this.#depth--
    }
    return true
  }

  /** Opens no more streams. */
  stop(): void {
    this.#isStopped = true
  }

  #openWaiting(queue: PendingQueue<Call>): void {
    for (let call = queue.first; call !== null && !this.#isStopped; call = queue.first) {
      const need = toSessionNeed(call, this.#memory.protocol)
      const session = this.#sessions.pick(need)
      if (session === null && need !== 'none') {
        this.#sessions.grow(need)
        if (need === 'any' || !this.#sessions.isShut) return
        this.#waiting.setAside()
        continue
      }
      if (!this.#canTake(call, session)) {
        if (session === null) return
        // The calls behind an upgrade don't need what it waits for.
        queue.shift()
        call.failures = { ...call.failures, isHttp1Upgrade: true }
        this.#waiting.add(call)
        continue
      }
      queue.shift()
      // In the context of the call's own caller: the end of another call may have led here, by making room.
      call.runInAsyncScope(this.#open, this, call, session)
    }
  }

  /** Whether the call can be opened now: on the session that was picked for it, or through the fallback. */
  #canTake(call: Call, session: Session | null): boolean {
    return this.#fallback.canTake || !this.#isForFallback(call, session)
  }

  /** Whether the fallback has to serve a call that could use this session; null: no session suits it. */
  #isForFallback({ request }: Call, session: Session | null): boolean {
    if (session === null) return true
    return request.protocol !== null && !session.offersExtendedConnect
  }

  /** @param session null for a call that the fallback serves */
  #open(call: Call, session: Session | null): void {
    if (session !== null && !this.#isForFallback(call, session)) {
      session.open(call)
    } else if (this.#fallback.isThere) {
      const isHint = session === null && !isForHttp1(call)
      this.#fallback.open(call, call.failures.http1Required, isHint)
    } else {
      // Returns to its place in the queue, because a call leaves the queue when it settles.
      this.#waiting.add(call)
      const reason = session === null ? 'is used over HTTP/1.1' : "doesn't offer extended CONNECT (RFC 8441)"
      const { protocol } = call.request
      const message = `${this.#origin.href} ${reason}, and fallback is null: it can't upgrade to ${protocol}`
      call.fail(new NotSupportedError(message))
    }
  }
}

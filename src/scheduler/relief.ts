/**
 * Replaces a session that is full of streams that their callers have cancelled.
 *
 * @module
 */

import type { Clock } from '../core/clock.ts'
import { originalNextTick } from '../core/original-timers.ts'
import type { Session } from '../session/session.ts'

/**
 * The least time between the starts of two reliefs, in milliseconds: if the server is at fault, new sessions don't
 * help.
 */
const INTERVAL = 2_000

/** How many replaced sessions may be open at once: each lives as long as its longest stream. */
const MAX_RETIRED = 8

/**
 * Relieves an origin's sessions, one after the other: `crowded → retired → closed`. The crowded session continues to
 * serve until its successor's SETTINGS have arrived. So nothing gets worse if the successor can't connect, or never
 * hears from the server.
 */
export class Relief {
  readonly #clock: Clock
  readonly #onDue: () => void
  /** The session to replace; null unless its successor is connecting. */
  #crowded: Session | null = null
  /** The session that will take its calls; null together with `#crowded`. */
  #successor: Session | null = null
  /** The replaced sessions that aren't closed yet. */
  readonly #retired = new Set<Session>()
  /** When the last relief began, in the clock's milliseconds; -Infinity before the first. */
  #begunAt = Number.NEGATIVE_INFINITY

  /** @param onDue called in a later tick when a session that needs a successor was given a call */
  constructor(clock: Clock, onDue: () => void) {
    this.#clock = clock
    this.#onDue = onDue
  }

  /** Whether a successor is connecting. */
  get isRelieving(): boolean {
    return this.#successor !== null
  }

  /** Whether a session is the successor of a crowded one, and hasn't taken over its calls yet. */
  isPending(session: Session): boolean {
    return session === this.#successor
  }

  /** The first of these sessions that needs a successor and may get one now; null for none. */
  find(sessions: Iterable<Session>): Session | null {
    for (const session of sessions) if (this.#isDue(session)) return session
    return null
  }

  /** A call is being given to a session. */
  onLoad(session: Session): void {
    // In a later tick: a subscriber that is told about a new session may end this very call.
    if (this.#isDue(session)) originalNextTick(this.#onDue)
  }

  begin(crowded: Session, successor: Session): void {
    this.#crowded = crowded
    this.#successor = successor
    this.#begunAt = this.#clock.now()
  }

  /**
   * A session may have room.
   *
   * @returns the session to retire now; null for none
   */
  onRoom(session: Session): Session | null {
    if (session !== this.#successor || !session.isSettled) return null
    const crowded = this.#crowded
    if (crowded !== null) this.#retired.add(crowded)
    this.#clear()
    return crowded
  }

  /** A session takes no more calls. If it is the crowded one or the successor, the relief ends. */
  onExcluded(session: Session): void {
    if (session === this.#crowded || session === this.#successor) this.#clear()
  }

  onClosed(session: Session): void {
    this.#retired.delete(session)
  }

  #isDue(session: Session): boolean {
    if (!session.isCrowded || this.#crowded !== null || this.#retired.size >= MAX_RETIRED) return false
    return this.#clock.now() - this.#begunAt >= INTERVAL
  }

  #clear(): void {
    this.#crowded = null
    this.#successor = null
  }
}

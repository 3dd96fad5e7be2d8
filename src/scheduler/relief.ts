/**
 * When another session takes the calls of one that is full of cancelled streams that wait for their reset.
 *
 * @module
 */

import type { Clock } from '../core/clock.ts'
import type { Session } from '../session/session.ts'

/**
 * After one session was to be relieved, how long no other one is: a server may be at fault, and new sessions no help.
 * Milliseconds.
 */
const INTERVAL = 5_000

/**
 * Whether most of a session's places are held by streams that wait for their reset: calls will soon wait for that, too.
 */
function isCrowded({ resets, settings }: Session): boolean {
  return resets.holdMost(settings.limit)
}

/**
 * One session of an origin's at a time: `crowded → retired → closed`. It goes on serving until its successor's SETTINGS
 * have come, so that nothing is worse than before when that one can't connect, or is never heard of.
 */
export class Relief {
  readonly #clock: Clock
  readonly #onDue: () => void
  /** Null unless a successor is on its way. */
  #crowded: Session | null = null
  /** Who will take its calls; null along with that. */
  #successor: Session | null = null
  /** What takes no calls any more, and isn't closed; null for none. */
  #retired: Session | null = null
  /** When the last one began. */
  #begunAt = Number.NEGATIVE_INFINITY

  /** @param onDue called, never from within, when a call was given to a session that needs a successor */
  constructor(clock: Clock, onDue: () => void) {
    this.#clock = clock
    this.#onDue = onDue
  }

  /** The first of these sessions that needs a successor, and may have one now; null for none. */
  find(sessions: Iterable<Session>): Session | null {
    for (const session of sessions) if (this.#isDue(session)) return session
    return null
  }

  /** A call is being given to a session. */
  onLoad(session: Session): void {
    // Not at once: the caller's code that is told of a new session may end that very call.
    if (this.#isDue(session)) process.nextTick(this.#onDue)
  }

  begin(crowded: Session, successor: Session): void {
    this.#crowded = crowded
    this.#successor = successor
    this.#begunAt = this.#clock.now()
  }

  /** A session may have room. Returns the one that has to be retired now; null for none. */
  onRoom(session: Session): Session | null {
    if (session !== this.#successor || !session.settings.areSettled) return null
    this.#retired = this.#crowded
    this.#drop()
    return this.#retired
  }

  /** A session takes no calls any more: one of the two is left to itself. */
  onLeft(session: Session): void {
    if (session === this.#crowded || session === this.#successor) this.#drop()
  }

  onClosed(session: Session): void {
    if (session === this.#retired) this.#retired = null
  }

  #isDue(session: Session): boolean {
    if (!isCrowded(session) || this.#crowded !== null || this.#retired !== null) return false
    return this.#clock.now() - this.#begunAt >= INTERVAL
  }

  #drop(): void {
    this.#crowded = null
    this.#successor = null
  }
}

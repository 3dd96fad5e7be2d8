/**
 * Replaces sessions that have reached their maximum age, or are close to their maximum number of requests.
 *
 * @module
 */

import type { Alarm, Clock, Deadlines, Timed } from '../core/clock.ts'
import { originalNextTick } from '../core/original-timers.ts'
import { SocketError } from '../errors/errors.ts'
import type { SessionOptions } from '../options/session-options.ts'
import type { Session } from '../session/session.ts'
import { toJitteredDelay } from './backoff.ts'

/** Why a session is replaced: its successor's `OpenReason`, and its own `EndReason`. */
export type RotationReason = 'age' | 'requests'

/** The set of sessions. */
export interface RotationOwner {
  /**
   * Opens a session that is to replace another one, and reports it with {@link Rotation.begin}.
   *
   * @returns false when none may be opened now
   */
  openSuccessor(replaced: Session, reason: RotationReason): boolean
  /** The session gets no more calls, and finishes its streams. */
  closeSession(session: Session, reason: RotationReason): void
  /** A successor takes calls from now on. */
  onAdmitted(successor: Session): void
}

/** The largest part of an age that is cut off at random, so that sessions opened together aren't replaced together. */
const JITTER = 0.1

/** A session without a call for so long needs no successor. In milliseconds. */
const LONGEST_PAUSE = 5_000

/** The longest wait for the next try after a successor couldn't be opened, at first and later, in milliseconds. */
const FIRST_DELAY = 1_000
const LONGEST_DELAY = 60_000

/**
 * The least time between the end of a replaced session and the start of the next one's successor, in milliseconds. By
 * then, the server has usually noticed the end.
 */
const GAP = 100

/**
 * - `serving`: it is young, and has requests left
 * - `due`: it has to be replaced, and continues to serve until its successor is ready
 * - `retired`: it gets no more calls, and may finish its streams until its grace period is over
 */
type Stage = 'serving' | 'due' | 'retired'

/** One session's age: one deadline serves both its age and its grace period. */
class AgingSession implements Timed {
  deadline = Number.POSITIVE_INFINITY
  listIndex = -1
  stage: Stage = 'serving'
  reason: RotationReason = 'age'
  readonly session: Session
  readonly #onDeadline: (aging: AgingSession) => void

  constructor(session: Session, onDeadline: (aging: AgingSession) => void) {
    this.session = session
    this.#onDeadline = onDeadline
  }

  onDeadline(): void {
    this.#onDeadline(this)
  }
}

/**
 * Replaces one session at a time: `serving → due → retired → closed`. The old session serves until its successor's
 * SETTINGS have arrived. So nothing gets worse if the successor can't connect, or never hears from the server.
 *
 * While a replaced session still has streams, no other session is replaced because of its age, so there is at most one
 * session beyond those that are allowed. A session that has used up its requests can't serve anything, so it doesn't
 * wait for that.
 */
export class Rotation {
  readonly #owner: RotationOwner
  readonly #clock: Clock
  readonly #deadlines: Deadlines
  /** In milliseconds; 0: any age. */
  readonly #maxAge: number
  /** 0: any number. */
  readonly #maxRequests: number
  /** After so many requests, a session is due. */
  readonly #dueRequests: number
  /** In milliseconds; 0: for ever. */
  readonly #gracePeriod: number
  readonly #longestPause: number
  readonly #aging = new Map<Session, AgingSession>()
  /** The sessions that are due, in the order in which they became due. */
  readonly #due = new Set<AgingSession>()
  /** The retired sessions that aren't closed yet. */
  readonly #retired = new Set<AgingSession>()
  /** The due session that has a successor; null unless that successor is being opened. */
  #replaced: AgingSession | null = null
  /** Null together with `#replaced`. */
  #successor: Session | null = null
  /** The connected sessions whose SETTINGS haven't arrived yet. */
  readonly #unsettled = new Set<Session>()
  /** How many consecutive successors couldn't be opened, with no session settled since. */
  #failures = 0
  /** When a replaced session closed last, in the clock's milliseconds; -Infinity before the first. */
  #closedAt = Number.NEGATIVE_INFINITY
  /** Fires when the next successor may be tried; null if that is possible at once. */
  #rest: Alarm | null = null
  #isStopped = false
  readonly #onDeadline = (aging: AgingSession): void => this.#onTime(aging)

  /** Null when sessions with these options are never replaced. */
  static of(
    owner: RotationOwner,
    options: SessionOptions,
    clock: Clock,
    deadlines: Deadlines,
  ): Rotation | null {
    const { maxSessionAge, maxSessionRequests } = options
    return maxSessionAge === 0 && maxSessionRequests === 0
      ? null
      : new Rotation(owner, options, clock, deadlines)
  }

  private constructor(owner: RotationOwner, options: SessionOptions, clock: Clock, deadlines: Deadlines) {
    const { maxSessionAge, maxSessionRequests, sessionGracePeriod } = options
    this.#owner = owner
    this.#clock = clock
    this.#deadlines = deadlines.listFor(maxSessionAge)
    this.#maxAge = maxSessionAge
    this.#maxRequests = maxSessionRequests
    this.#dueRequests = maxSessionRequests - Math.ceil(maxSessionRequests / 4)
    this.#gracePeriod = sessionGracePeriod
    this.#longestPause = maxSessionAge === 0 ? LONGEST_PAUSE : Math.min(LONGEST_PAUSE, maxSessionAge / 2)
  }

  /** Whether a successor is being opened. */
  get isReplacing(): boolean {
    return this.#successor !== null
  }

  /** Whether a session gets no calls yet, because it is a successor whose SETTINGS haven't arrived. */
  isPending(session: Session): boolean {
    return session === this.#successor
  }

  /** A session is connected: its age begins to count. One that several origins share may be older. */
  onReady(session: Session): void {
    const aging = new AgingSession(session, this.#onDeadline)
    this.#aging.set(session, aging)
    this.#unsettled.add(session)
    if (this.#maxAge === 0) return
    const now = this.#deadlines.now()
    const age = this.#maxAge * (1 - JITTER * Math.random())
    this.#deadlines.set(aging, session.readyAt + age, now)
  }

  /** A call is being given to a session. */
  onLoad(session: Session): void {
    const { requests } = session
    if (requests !== this.#dueRequests && requests !== this.#maxRequests) return
    // In a later tick: the stream for this very call isn't open yet, and a subscriber may end it.
    if (requests > 0) originalNextTick(countLater, this, session)
  }

  /** A session's successor is about to connect. */
  begin(replaced: Session, successor: Session): void {
    this.#replaced = this.#aging.get(replaced) ?? null
    this.#successor = successor
  }

  /** A session may have room. If it is a successor that can take over, it does. */
  onRoom(session: Session): void {
    const isSuccessor = session === this.#successor
    const capacity = isSuccessor ? session.canTake('settled') : null
    // It was opened for another origin, and has been idle for long.
    if (capacity === 'stale') session.verify()
    // A server that allows no streams for now isn't asked for any: the old session continues.
    if (isSuccessor && capacity !== 'yes') return
    if (this.#unsettled.size > 0 && session.isSettled && this.#unsettled.delete(session)) this.#endRest()
    if (!isSuccessor) return
    const replaced = this.#replaced
    this.#admit()
    if (replaced !== null) this.#close(replaced, replaced.reason)
    this.#advance()
  }

  /** A session takes no more calls. */
  onExcluded(session: Session): void {
    this.#unsettled.delete(session)
    if (session === this.#successor) {
      this.#successor = null
      this.#replaced = null
      this.#retryLater()
    }
    const aging = this.#aging.get(session)
    if (aging === undefined) return
    if (aging.stage !== 'retired') this.#remove(aging)
    if (aging !== this.#replaced) return
    // Its successor is now a session like any other.
    this.#admit()
    // In a later tick: the owner doesn't know yet whether it has to back off.
    originalNextTick(advanceLater, this)
  }

  onClosed(session: Session): void {
    const aging = this.#aging.get(session)
    if (aging === undefined) return
    if (aging.stage === 'retired') this.#closedAt = this.#clock.now()
    this.#remove(aging)
    this.#advance()
  }

  /**
   * No more sessions are replaced. May be called a second time, with `isGraceful` false.
   *
   * @param isGraceful the sessions may finish their streams, replaced ones within their grace periods
   */
  stop(isGraceful: boolean): void {
    this.#isStopped = true
    this.#rest?.cancel()
    for (const aging of this.#aging.values())
      if (!isGraceful || aging.stage !== 'retired') this.#deadlines.delete(aging)
  }

  static advance(it: Rotation): void {
    it.#advance()
  }

  static count(it: Rotation, session: Session): void {
    const aging = it.#aging.get(session)
    if (it.#isStopped || aging === undefined || aging.stage === 'retired') return
    if (session.requests >= it.#maxRequests) it.#close(aging, 'requests')
    else it.#setDue(aging, 'requests')
  }

  #onTime(aging: AgingSession): void {
    if (aging.stage === 'serving') this.#setDue(aging, 'age')
    else aging.session.fail(new SocketError(`sessionGracePeriod (${this.#gracePeriod} ms) has passed`))
  }

  #setDue(aging: AgingSession, reason: RotationReason): void {
    aging.stage = 'due'
    aging.reason = reason
    this.#deadlines.delete(aging)
    this.#due.add(aging)
    this.#advance()
  }

  /** Replaces the next session that is due, if that is allowed now. */
  #advance(): void {
    const isBackingOff = this.#rest !== null && this.#failures > 0
    if (this.#isStopped || this.#successor !== null || isBackingOff) return
    const now = this.#clock.now()
    for (const aging of this.#due) if (this.#isIdle(aging.session, now)) this.#close(aging, aging.reason)
    const next = this.#findUrgent() ?? this.#findOld(now)
    if (next !== null && !this.#owner.openSuccessor(next.session, next.reason)) this.#retryLater()
  }

  /** A session whose last requests are being used up: the calls behind them would have to wait. */
  #findUrgent(): AgingSession | null {
    for (const aging of this.#due) if (aging.reason === 'requests') return aging
    return null
  }

  #findOld(now: number): AgingSession | null {
    const [next = null] = this.#due
    if (next === null || this.#retired.size > 0 || this.#rest !== null) return null
    const gap = this.#closedAt + GAP - now
    if (gap <= 0) return next
    this.#pause(gap)
    return null
  }

  /** While no connection can be opened, an idle session is worth keeping. */
  #isIdle({ idleAt }: Session, now: number): boolean {
    return this.#failures === 0 && now - idleAt >= this.#longestPause
  }

  #close(aging: AgingSession, reason: RotationReason): void {
    const { session } = aging
    this.#remove(aging)
    aging.stage = 'retired'
    this.#aging.set(session, aging)
    this.#retired.add(aging)
    this.#owner.closeSession(session, reason)
    if (this.#gracePeriod === 0 || session.streams === 0) return
    const now = this.#deadlines.now()
    this.#deadlines.set(aging, now + this.#gracePeriod, now)
  }

  #admit(): void {
    const successor = this.#successor
    this.#successor = null
    this.#replaced = null
    if (successor !== null) this.#owner.onAdmitted(successor)
  }

  #retryLater(): void {
    if (this.#isStopped) return
    this.#rest?.cancel()
    this.#pause(toJitteredDelay(this.#failures, FIRST_DELAY, LONGEST_DELAY))
    this.#failures++
  }

  /** A session has settled: connections work again. */
  #endRest(): void {
    if (this.#failures === 0) return
    this.#failures = 0
    this.#rest?.cancel()
    this.#rest = null
    this.#advance()
  }

  #pause(delay: number): void {
    this.#rest = this.#clock.after(delay, () => {
      this.#rest = null
      this.#advance()
    })
  }

  #remove(aging: AgingSession): void {
    this.#deadlines.delete(aging)
    this.#due.delete(aging)
    this.#retired.delete(aging)
    this.#aging.delete(aging.session)
  }
}

function advanceLater(rotation: Rotation): void {
  Rotation.advance(rotation)
}

function countLater(rotation: Rotation, session: Session): void {
  Rotation.count(rotation, session)
}

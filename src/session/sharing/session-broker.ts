/**
 * Knows an Agent's open sessions, and which origins may use them.
 *
 * @module
 */

import type { OpenReason } from '../../../types/stats.ts'
import type { Clock } from '../../core/clock.ts'
import { sessionLog } from '../../core/debug-log.ts'
import { sessionChannels } from '../../core/diagnostics.ts'
import type { CoalesceRules } from '../../options/coalesce.ts'
import type { Origin } from '../../options/options.ts'
import type { SessionContext, SessionFactory, SessionOwner } from '../session.ts'
import type { Applicant } from './may-share.ts'
import { toRefusal } from './may-share.ts'
import { MisdirectedOrigins } from './misdirected-origins.ts'
import type { SearchBroker } from './session-search.ts'
import { SessionSearch } from './session-search.ts'
import type { Broker, Search, SearchResult } from './session-share.ts'
import { SessionShare } from './session-share.ts'
import type { ConnectionTerms, Share, SharedSessionListener } from './shared-session.ts'
import { SharedSession } from './shared-session.ts'

/** An Agent's sessions whose origins may share them, and the searches that wait for one that is being opened. */
export class SessionBroker implements Broker, SearchBroker, SharedSessionListener {
  readonly #rules: CoalesceRules
  readonly #clock: Clock
  readonly #wallClock: () => number
  /** The sessions that are connecting or take calls, the oldest first. */
  readonly #sessions = new Set<SharedSession>()
  /** Searches that wait for one of them. */
  readonly #waiting = new Map<SharedSession, Set<SessionSearch>>()
  /** Origins that have their own connections for now. */
  readonly #misdirected: MisdirectedOrigins

  /** @param wallClock milliseconds since the epoch, as certificates count */
  constructor(rules: CoalesceRules, clock: Clock, wallClock: () => number = Date.now) {
    this.#rules = rules
    this.#clock = clock
    this.#wallClock = wallClock
    this.#misdirected = new MisdirectedOrigins(clock)
  }

  /** Creates the sessions for an origin's set. */
  readonly toSession: SessionFactory = (context, id, openedFor) =>
    new SessionShare(context, id, openedFor, this)

  get skipsDns(): boolean {
    return this.#rules.skipDns
  }

  seek(context: SessionContext, onResult: (result: SearchResult) => void): Search {
    return new SessionSearch(this, context, onResult)
  }

  openFor(context: SessionContext, id: number, openedFor: OpenReason, terms: ConnectionTerms): SharedSession {
    const shared = new SharedSession(context, id, openedFor, terms, this)
    this.#sessions.add(shared)
    return shared
  }

  onJoined(shared: SharedSession, origin: Origin, id: number): void {
    const { session } = shared
    sessionLog?.(`session ${session.id} ${shared.origin.href}: serves ${origin.href}, too`)
    if (!sessionChannels.coalesced.hasSubscribers) return
    sessionChannels.coalesced.publish({ session: session.facts, origin: origin.href, sessionId: id })
  }

  onMisdirected({ href }: Origin): readonly Share[] {
    this.#misdirected.add(href)
    return [...this.#sessions].flatMap((shared) => {
      if (shared.origin.href === href) return []
      shared.onMisdirected(href)
      return shared.sharesOf(href)
    })
  }

  isMisdirected(origin: string): boolean {
    return this.#misdirected.has(origin)
  }

  find(applicant: Applicant, owner: SessionOwner): SharedSession | null {
    for (const shared of this.#sessions) {
      if (!shared.isOffered || shared.serves(owner) || shared.hasDismissed(applicant.origin.href)) continue
      const capacity = shared.session.canTake('any')
      // A full session is no help, just as if it were the origin's own: `connections` allows another one.
      if (capacity === 'full' || capacity === 'lost' || capacity === 'never') continue
      const refusal = toRefusal(applicant, shared.offer, this.#rules, this.#wallClock())
      // The caller's `checkServerIdentity` may have ended the session.
      if (refusal === null && shared.isOffered) return shared
    }
    return null
  }

  findPending(applicant: Applicant, owner: SessionOwner, patience: number): SharedSession | null {
    const { origin, addresses, isPlain, secureContext, isMisdirected } = applicant
    if (!isPlain || isMisdirected) return null
    const now = this.#clock.now()
    for (const shared of this.#sessions) {
      const { terms } = shared
      if (shared.session.isSettled || shared.serves(owner) || shared.hasDismissed(origin.href)) continue
      if (now - shared.openedAt >= patience) continue
      if (!terms.isPlain || terms.secureContext !== secureContext || shared.origin.port !== origin.port)
        continue
      // Without a lookup, only a session whose server has already listed the origin.
      const isNear =
        addresses === null
          ? shared.lists(origin.href)
          : terms.addresses.some((address) => addresses.includes(address))
      if (isNear) return shared
    }
    return null
  }

  await(shared: SharedSession, search: SessionSearch): void {
    const searches = this.#waiting.get(shared) ?? new Set()
    this.#waiting.set(shared, searches.add(search))
  }

  stopAwaiting(shared: SharedSession, search: SessionSearch): void {
    this.#waiting.get(shared)?.delete(search)
  }

  onSettled(shared: SharedSession): void {
    this.#wake(shared, true)
  }

  onGone(shared: SharedSession): void {
    this.#sessions.delete(shared)
    this.#wake(shared, false)
  }

  #wake(shared: SharedSession, isOffered: boolean): void {
    const searches = this.#waiting.get(shared)
    if (searches === undefined) return
    this.#waiting.delete(shared)
    for (const search of searches) search.onNews(isOffered)
  }
}

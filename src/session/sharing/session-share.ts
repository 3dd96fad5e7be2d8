/**
 * One origin's share in a session, which represents the session.
 *
 * @module
 */

import type { EndReason, OpenReason, SessionStats } from '../../../types/stats.ts'
import type { Carrier } from '../../call/attempt.ts'
import type { Call } from '../../call/call.ts'
import { originalNextTick } from '../../core/original-timers.ts'
import { ClientDestroyedError, DodiciError } from '../../errors/errors.ts'
import type { Origin } from '../../options/options.ts'
import type { Request } from '../../request/request.ts'
import type { EngineStream } from '../engine.ts'
import type { Goaway } from '../loss.ts'
import type {
  Capacity,
  Session,
  SessionContext,
  SessionNeed,
  SessionOwner,
  SessionState,
} from '../session.ts'
import { SessionCarrier } from '../session-carrier.ts'
import type { Transport } from '../transport.ts'
import { ShareStreams } from './share-streams.ts'
import type { ConnectionTerms, Share, SharedSession } from './shared-session.ts'

/** The result of a search for a session: an open one, how to connect, or an error. */
export type SearchResult =
  | { readonly shared: SharedSession }
  | { readonly terms: ConnectionTerms; readonly context: SessionContext }
  | { readonly error: DodiciError }

/** A search in progress. */
export interface Search {
  cancel(): void
  /** Sets whether calls wait for it, so that it keeps the process alive. */
  setRef(isNeeded: boolean): void
}

/** Knows the open sessions. */
export interface Broker {
  /** @param onResult called once, never during this call, and not after `cancel()` */
  seek(context: SessionContext, onResult: (result: SearchResult) => void): Search
  /** Opens a session for an origin that has found none. It isn't connected yet. */
  openFor(context: SessionContext, id: number, openedFor: OpenReason, terms: ConnectionTerms): SharedSession
  /**
   * An origin uses an open session.
   *
   * @param id its number among the origin's own sessions
   */
  onJoined(shared: SharedSession, origin: Origin, id: number): void
  /**
   * A server has responded with 421 to a request for the origin, which then has its own connections for some time.
   *
   * @returns the origin's shares in sessions that were opened for other origins and take calls
   */
  onMisdirected(origin: Origin): readonly Share[]
}

/**
 * - `idle`: before `start()`
 * - `seeking`: the name is being looked up, or another origin's connection may do
 * - `joined`: as the session is
 * - `leaving`: gets no more calls, while the session continues for other origins
 */
type Stage =
  | { readonly name: 'idle' }
  | { readonly name: 'seeking'; readonly search: Search }
  | { readonly name: 'joined' | 'leaving'; readonly shared: SharedSession }
  | { readonly name: 'closed'; readonly cause: Error | null }

const CONNECTING: SessionState = { name: 'connecting' }
const DRAINING: SessionState = { name: 'draining' }

/** The terms for a socket that was first opened for another protocol: its certificate isn't known. */
const UNKNOWN_TERMS: ConnectionTerms = { isPlain: false, secureContext: undefined, addresses: [] }

/**
 * Represents a session in one origin's set: it looks for an open one, and opens one if none is suitable. The origin's
 * calls and streams belong to the share; the connection belongs to the session, and so do its limits and its end.
 */
export class SessionShare implements Session, Share {
  heapIndex = -1
  left = Number.POSITIVE_INFINITY
  responded = 0
  isDestroyed = false
  readonly id: number
  readonly streamOwner: ShareStreams
  readonly #context: SessionContext
  readonly #openedFor: OpenReason
  readonly #broker: Broker
  readonly #streams = new Set<EngineStream>()
  /** Its calls know the session by its number within their origin. */
  readonly #carrier: SessionCarrier
  #stage: Stage = { name: 'idle' }
  /** The session, even after the end, because its streams may end later. Null before there is one. */
  #lastShared: SharedSession | null = null
  /** Null until it was closed for its own origin, or before there was a session. */
  #endedFor: EndReason | null = null
  /** How many of its origin's calls it was given. */
  #requests = 0
  /** Whether its set was told that it takes calls. */
  #wasReady = false

  constructor(context: SessionContext, id: number, openedFor: OpenReason, broker: Broker) {
    this.id = id
    this.#context = context
    this.#openedFor = openedFor
    this.#broker = broker
    this.#carrier = new SessionCarrier(context.origin.scheme === 'https' ? 'h2' : 'h2c', id)
    this.streamOwner = new ShareStreams(this)
  }

  get origin(): Origin {
    return this.#context.origin
  }

  get owner(): SessionOwner {
    return this.#context.owner
  }

  get carrier(): Carrier {
    return this.#carrier
  }

  get isLeaving(): boolean {
    return this.#stage.name === 'leaving'
  }

  /** Null before there is one, and after the end. */
  get #shared(): SharedSession | null {
    return 'shared' in this.#stage ? this.#stage.shared : null
  }

  /** The session that its streams are on. They may end after the share. */
  get shared(): SharedSession {
    if (this.#lastShared === null) throw new DodiciError('The share has no session')
    return this.#lastShared
  }

  get state(): SessionState {
    const stage = this.#stage
    if (stage.name === 'joined') return stage.shared.session.state
    if (stage.name === 'leaving') return DRAINING
    return stage.name === 'closed' ? stage : CONNECTING
  }

  get streams(): number {
    return this.#streams.size
  }

  // What a session was like stays known after its end, because the set asks for it then.

  /** Counts the requests of all origins, as a session's limits do. */
  get requests(): number {
    return this.#lastShared?.session.requests ?? 0
  }

  get readyAt(): number {
    return this.#lastShared?.session.readyAt ?? Number.POSITIVE_INFINITY
  }

  get idleAt(): number {
    return this.#lastShared?.session.idleAt ?? Number.POSITIVE_INFINITY
  }

  get endedFor(): EndReason | null {
    return this.#endedFor ?? this.#lastShared?.session.endedFor ?? null
  }

  get isSettled(): boolean {
    return this.#lastShared?.session.isSettled === true
  }

  get offersExtendedConnect(): boolean {
    return this.#lastShared?.session.offersExtendedConnect === true
  }

  get goaway(): Goaway | null {
    return this.#lastShared?.session.goaway ?? null
  }

  get isCrowded(): boolean {
    return this.#shared?.session.isCrowded === true
  }

  isShut(): boolean {
    return this.#shared?.session.isShut() === true
  }

  canTake(need: SessionNeed): Capacity {
    if (this.#stage.name === 'joined') return this.#stage.shared.canTake(this, need)
    return this.#stage.name === 'idle' || this.#stage.name === 'seeking' ? 'soon' : 'never'
  }

  destroyIfLost(): boolean {
    return this.#shared?.session.destroyIfLost() === true
  }

  verify(): void {
    this.#shared?.session.verify()
  }

  requireVerification(): void {
    this.#shared?.session.requireVerification()
  }

  open(call: Call): void {
    this.#requests++
    this.shared.open(this, call)
  }

  updateRef(): void {
    if (this.#stage.name === 'seeking') this.#stage.search.setRef(this.owner.waiting() > 0)
    else this.#shared?.session.updateRef()
  }

  toStats(): SessionStats {
    const own = {
      ...{ openedFor: this.#openedFor, endedFor: this.endedFor },
      ...{ requests: this.#requests, streams: this.#streams.size },
    }
    if (this.#lastShared !== null) {
      const { session, origins } = this.#lastShared
      const stats = session.toStats()
      return { ...stats, ...own, state: this.isLeaving ? 'draining' : stats.state, origins }
    }
    return {
      ...own,
      ...{ engine: this.#context.options.engine, state: 'connecting', origins: [this.origin.href] },
      ...{ peerLimit: null, limit: 0, streamWindow: 0, rtt: null, bytesRead: 0, bytesWritten: 0 },
    }
  }

  start(socket: Transport | null = null): void {
    if (this.#stage.name !== 'idle') {
      socket?.destroy()
      return
    }
    if (socket !== null) {
      this.#open(this.#context, UNKNOWN_TERMS, socket)
      return
    }
    const search = this.#broker.seek(this.#context, (result) => {
      if ('error' in result) this.#end(result.error)
      else if ('shared' in result) this.#join(result.shared)
      else this.#open(result.context, result.terms, null)
    })
    this.#stage = { name: 'seeking', search }
    this.updateRef()
  }

  #open(context: SessionContext, terms: ConnectionTerms, socket: Transport | null): void {
    const shared = this.#broker.openFor(context, this.id, this.#openedFor, terms)
    this.#stage = { name: 'joined', shared }
    this.#lastShared = shared
    shared.add(this)
    shared.session.start(socket)
  }

  #join(shared: SharedSession): void {
    this.#stage = { name: 'joined', shared }
    this.#lastShared = shared
    shared.add(this)
    this.#broker.onJoined(shared, this.origin, this.id)
    // A subscriber that was told may have ended it.
    if (this.#stage.name !== 'joined' || this.isDestroyed) return
    this.onReady()
    // Its SETTINGS arrived long ago: a successor takes over now, because nothing more may happen on the session.
    this.onRoom()
    shared.session.updateRef()
  }

  close(reason: EndReason, isAwaited = false): void {
    this.#endedFor ??= reason
    switch (this.#stage.name) {
      case 'idle':
      case 'seeking':
        this.#end(null)
        break
      case 'joined':
        if (reason === 'closed' && this.#stage.shared.hasOthers(this)) this.leave(reason)
        else this.#stage.shared.close(this, reason, isAwaited)
    }
  }

  /**
   * A 421 to a request that names the origin concerns the origin, which leaves all sessions opened for others. The call
   * must not be sent again on one of these, so all shares stop before any set is told.
   *
   * A request with another authority, for example because of its `host`, says nothing about its dispatcher's origin:
   * only this session isn't used any longer, as without `coalesce`.
   */
  onMisdirected({ targetOrigin }: Request): void {
    const { shared, origin } = this
    const isOwn = targetOrigin === origin.href
    const others = isOwn ? this.#broker.onMisdirected(origin).filter((other) => other !== this) : []
    const left = others.filter((other) => other.stop('misdirected'))
    shared.onMisdirected(targetOrigin)
    if (!isOwn) shared.dismiss(origin.href)
    if (this.#stage.name === 'joined') {
      if (shared.hasOthers(this)) this.leave('misdirected')
      else shared.close(this, 'misdirected')
    }
    for (const other of left) other.onStopped()
  }

  leave(reason: EndReason): void {
    if (this.stop(reason)) this.onStopped()
  }

  stop(reason: EndReason): boolean {
    if (this.#stage.name !== 'joined') return false
    this.#endedFor ??= reason
    this.#stage = { name: 'leaving', shared: this.#stage.shared }
    return true
  }

  onStopped(): void {
    if (!this.isLeaving) return
    this.owner.onSessionDraining(this)
    this.#endIfOver()
  }

  destroy(cause: Error | null): void {
    if (this.#stage.name === 'closed' || this.isDestroyed) return
    this.isDestroyed = true
    this.#endedFor ??= 'closed'
    const shared = this.#shared
    if (shared === null) {
      this.#end(cause)
    } else if (shared.isAlone(this)) {
      shared.session.destroy(cause)
    } else {
      for (const stream of [...this.#streams]) stream.fail(cause ?? new ClientDestroyedError())
      // In a later tick, as a session's end is reported: the owner is in a loop over its sessions.
      originalNextTick(() => this.#depart(cause))
    }
  }

  /** The connection is lost, for all its origins. */
  fail(cause: Error): void {
    this.#shared?.session.fail(cause)
  }

  onReady(): void {
    this.#carrier.transport = this.shared.session.carrier.transport
    this.#wasReady = true
    this.owner.onSessionReady(this)
  }

  onRoom(): void {
    if (this.#stage.name === 'joined') this.owner.onSessionRoom(this)
  }

  onLoad(stream: EngineStream): void {
    this.#streams.add(stream)
    this.owner.onSessionLoad(this, stream)
  }

  onDraining(): void {
    if (this.#stage.name === 'joined') this.owner.onSessionDraining(this)
  }

  onRetired(reason: EndReason): void {
    if (this.#stage.name === 'joined') this.owner.onSessionRetired?.(this, reason)
  }

  onClosed(cause: Error | null): void {
    this.#end(cause)
  }

  /** One of its streams is gone. Called before the session is told. */
  onStreamGone(stream: EngineStream): void {
    this.#streams.delete(stream)
  }

  /** Called after the session was told. */
  onFewer(): void {
    this.#endIfOver()
  }

  #endIfOver(): void {
    if (this.isLeaving && this.#streams.size === 0) originalNextTick(() => this.#depart(null))
  }

  /** Leaves the session, which continues for other origins. */
  #depart(cause: Error | null): void {
    const shared = this.#shared
    if (shared === null) return
    this.#stage = { name: 'closed', cause }
    shared.remove(this)
    this.owner.onSessionClosed(this, cause, this.#wasReady)
  }

  #end(cause: Error | null): void {
    if (this.#stage.name === 'closed') return
    if (this.#stage.name === 'seeking') this.#stage.search.cancel()
    if (this.#lastShared === null) this.#endedFor ??= 'unconnected'
    this.#stage = { name: 'closed', cause }
    this.owner.onSessionClosed(this, cause, this.#wasReady)
  }
}

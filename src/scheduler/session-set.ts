/**
 * One origin's sessions: which of them takes the next call, and when another one is opened.
 *
 * @module
 */

import type { Socket } from 'node:net'
import type { EndReason, OpenReason, SessionEnds, SessionStats } from '../../types/stats.ts'
import type { Clock } from '../core/clock.ts'
import { Deadlines } from '../core/clock.ts'
import { AlpnError, ClientDestroyedError } from '../errors/errors.ts'
import type { Origin, ResolvedClientOptions } from '../options/options.ts'
import { destroySocket } from '../session/connect/socket.ts'
import type { Http2Taker, SocketExchange } from '../session/connect/socket-exchange.ts'
import { toEngineSource } from '../session/engines.ts'
import { toDisconnectError } from '../session/loss.ts'
import type { OriginMemory } from '../session/origin-memory.ts'
import type {
  Session,
  SessionContext,
  SessionFactory,
  SessionNeed,
  SessionOwner,
} from '../session/session.ts'
import type { ConnectionEvents } from './connection-events.ts'
import type { ReconnectDemand } from './reconnect-policy.ts'
import { ReconnectPolicy } from './reconnect-policy.ts'
import { Relief } from './relief.ts'
import { MAX_FRUITLESS_ATTEMPTS } from './replay.ts'
import type { RotationOwner, RotationReason } from './rotation.ts'
import { Rotation } from './rotation.ts'
import { SessionHeap } from './session-heap.ts'

/** The owner of the calls that run on the sessions. */
export interface SessionSetOwner extends ReconnectDemand {
  /** Whether the fallback has connections, or may have: a caller's dispatcher doesn't tell. */
  readonly mayHaveHttp1: boolean
  /** A session may have room, or a session may have to be opened. */
  onRoom(): void
  /** No connection could be opened: calls that no other session will serve must fail. */
  failWaiting(cause: Error): void
  /**
   * A session ended before its peer's SETTINGS arrived, and no other session takes calls.
   *
   * @param cause null: none was reported
   */
  failConnecting(cause: Error | null): void
  /** `sessions` consecutive sessions ended without a response: no more are opened for the waiting calls. */
  failFruitless(sessions: number, cause: Error | null): void
}

/** Opens sessions while calls wait and all others are full, and replaces lost ones. */
export class SessionSet implements SessionOwner, Http2Taker, RotationOwner {
  readonly #context: SessionContext
  readonly #toSession: SessionFactory
  readonly #owner: SessionSetOwner
  readonly #events: ConnectionEvents
  readonly #connections: number
  /** The sessions with room, according to their last report. */
  readonly #heap = new SessionHeap<Session>()
  /** Every session that isn't closed, the oldest first. */
  readonly #all = new Set<Session>()
  /** The sessions that are connecting or take calls. */
  readonly #usable = new Set<Session>()
  readonly #reconnects: ReconnectPolicy
  readonly #relief: Relief
  /** Null if sessions may reach any age and any number of requests. */
  readonly #rotation: Rotation | null
  readonly #ended: SessionEnds = {
    ...{ age: 0, requests: 0, idle: 0, crowded: 0, goaway: 0, shut: 0, misdirected: 0 },
    ...{ lost: 0, unconnected: 0, closed: 0 },
  }
  /** The session that was opened last; null before the first, and once it has closed. */
  #newest: Session | null = null
  /** How many sessions have been opened so far. */
  #opened = 0
  /** A session was lost while calls remained, and none has been opened since. */
  #isReplacing = false
  #isDestroyed = false
  /** The argument of `destroy()`; null for none. */
  #endError: Error | null = null
  /** Resolves `destroy()`; null until it is called. */
  #onGone: (() => void) | null = null
  /** The promise of `destroy()`; null before. */
  #gone: Promise<void> | null = null

  constructor(
    origin: Origin,
    options: ResolvedClientOptions,
    connections: number,
    clock: Clock,
    memory: OriginMemory,
    owner: SessionSetOwner,
    events: ConnectionEvents,
    exchange: SocketExchange | null,
    toSession: SessionFactory,
  ) {
    const deadlines = new Deadlines(clock)
    const engine = toEngineSource(options)
    this.#context = { origin, options, engine, clock, deadlines, memory, exchange, owner: this }
    this.#toSession = toSession
    exchange?.open(this)
    this.#connections = connections
    this.#owner = owner
    this.#events = events
    this.#reconnects = new ReconnectPolicy(clock, owner, () => owner.onRoom())
    this.#relief = new Relief(clock, () => this.#relieve())
    this.#rotation = Rotation.of(this, options.session, clock, deadlines)
  }

  /** How many sessions take calls. */
  get ready(): number {
    let ready = 0
    for (const session of this.#usable) if (session.state.name === 'ready') ready++
    return ready
  }

  /** Whether a session takes calls. */
  get isServing(): boolean {
    for (const session of this.#usable) if (session.state.name === 'ready') return true
    return false
  }

  /** Whether there is a session whose peer has sent SETTINGS, and which needs no PING first. It may be full. */
  get isConnected(): boolean {
    for (const session of this.#usable) if (session.isSettled && isUp(session)) return true
    return false
  }

  /** Whether a call with this need waits for a connection's first SETTINGS. */
  awaitsSettings(need: SessionNeed | 'none'): boolean {
    if (need !== 'settled' && need !== 'settled-or-idle') return false
    for (const session of this.#usable) if (session.isSettled) return false
    return this.isServing
  }

  /** Snapshots, the oldest session first. */
  toStats(): SessionStats[] {
    return [...this.#all].map((session) => session.toStats())
  }

  /** How many sessions have closed, by reason. */
  toEnds(): SessionEnds {
    return { ...this.#ended }
  }

  /** A session with room for a call with this need, or null. The least loaded one, if any session will do. */
  pick(need: SessionNeed | 'none'): Session | null {
    if (need === 'none') return null
    const first = this.#pickLeastLoaded()
    if (first === null || need === 'any') return first
    if (need === 'upload') return first.isShut() ? this.#pickForUpload() : first
    if (first.canTake(need) === 'yes') return first
    for (const session of this.#usable) if (session.canTake('settled') === 'yes') return session
    return null
  }

  /** The least loaded session with room that can send a body; null for none. */
  #pickForUpload(): Session | null {
    let least: Session | null = null
    for (const session of this.#usable) {
      // A successor that takes no calls yet isn't in the heap.
      if (session.heapIndex === -1 || session.canTake('upload') !== 'yes') continue
      if (least === null || session.streams < least.streams) least = session
    }
    return least
  }

  /** Whether there are sessions that take calls, but no session with room can send a body. */
  get isShut(): boolean {
    let isShut = false
    for (const session of this.#usable) if (session.isShut()) isShut = true
    return isShut && this.#pickForUpload() === null
  }

  /** A session's load has changed. */
  update(session: Session): void {
    // The heap's only session keeps its place, whatever its load. `pick()` asks it for room anyway.
    if (this.#heap.size === 1 && this.#heap.first === session) return
    if (session.canTake('any') === 'yes' && this.#rotation?.isPending(session) !== true)
      this.#heap.set(session)
    else this.#heap.delete(session)
  }

  /**
   * A session was lost under a call that is replayed only once: other sessions must be verified with a PING before they
   * take it.
   */
  requireVerification(): void {
    for (const session of this.#usable) {
      session.requireVerification()
      this.update(session)
    }
  }

  /**
   * Calls wait, and no session has room for them.
   *
   * @param need the first call's need
   */
  grow(need: SessionNeed = 'any'): void {
    if (this.#usable.size > 0 && this.#mustWait(need)) return
    if (this.#hasPlace) this.#open(this.#toReason(), null)
    else this.#relieve()
  }

  /**
   * Whether `connections` allows another session. A successor counts together with the session that it will replace.
   */
  get #hasPlace(): boolean {
    const isReplacing = this.#rotation?.isReplacing === true || this.#relief.isRelieving
    const successors = isReplacing ? 1 : 0
    return this.#usable.size - successors < this.#connections
  }

  /**
   * While new calls arrive, a session may be full of cancelled streams that wait for their reset: then another session
   * takes its calls.
   */
  #relieve(): void {
    if (this.#rotation?.isReplacing === true) return
    const crowded = this.#newest?.state.name === 'connecting' ? null : this.#relief.find(this.#usable)
    if (crowded !== null) this.#open('crowded', (session) => this.#relief.begin(crowded, session))
  }

  openSuccessor(replaced: Session, reason: RotationReason): boolean {
    if (this.#relief.isRelieving) return false
    return this.#open(reason, (session) => this.#rotation?.begin(replaced, session))
  }

  closeSession(session: Session, reason: EndReason): void {
    // The client has ended the session, not the peer.
    this.#reconnects.exempt(session)
    session.close(reason)
  }

  onAdmitted(successor: Session): void {
    this.update(successor)
  }

  get mayChooseHttp2(): boolean {
    return this.#context.memory.mayChooseHttp2
  }

  onHttp1Chosen(): void {
    this.#context.memory.onHttp1('alpn')
  }

  takeHttp2(socket: Socket): void {
    this.#context.memory.onHttp2()
    if (this.#isDestroyed || !this.#hasPlace) destroySocket(socket)
    else this.#add(this.#toReason(), null, socket)
    this.#owner.onRoom()
  }

  /**
   * @param onMade called with a session that will take another one's calls, before it connects; null for other sessions
   * @returns whether a session may be opened now
   */
  #open(reason: OpenReason, onMade: ((session: Session) => void) | null): boolean {
    const mayConnect = this.#reconnects.mayConnect && !this.#isDestroyed
    if (mayConnect) this.#add(reason, onMade, null)
    return mayConnect
  }

  /** @param socket a socket that has negotiated HTTP/2; null: the session connects */
  #add(reason: OpenReason, onMade: ((session: Session) => void) | null, socket: Socket | null): void {
    const session = this.#toSession(this.#context, ++this.#opened, reason)
    this.#newest = session
    this.#isReplacing = false
    this.#all.add(session)
    this.#usable.add(session)
    onMade?.(session)
    session.start(socket)
  }

  /** The number of waiting calls has become, or stopped being, zero: waiting calls keep the process alive. */
  updateRefs(): void {
    for (const session of this.#all) session.updateRef()
    this.#reconnects.updateRef()
  }

  /**
   * Ends all sessions, and settles when they are gone. May be called a second time, with `isGraceful` false, to end the
   * sessions that remain after a graceful end.
   *
   * @param isGraceful no call is left: the peers get time to close their sides
   */
  destroy(error: Error | null, isGraceful: boolean): Promise<void> {
    this.#isDestroyed = true
    this.#endError = error ?? this.#endError
    this.#reconnects.stop()
    this.#rotation?.stop(isGraceful)
    for (const session of [...this.#all]) {
      if (isGraceful) session.close('closed', true)
      else session.destroy(error)
    }
    this.#gone ??= new Promise((resolve) => {
      this.#onGone = resolve
      if (this.#all.size === 0) this.#onAllClosed()
    })
    return this.#gone
  }

  waiting(): number {
    return this.#owner.waiting()
  }

  onSessionReady(session: Session): void {
    this.#context.memory.onHttp2()
    this.#rotation?.onReady(session)
    this.update(session)
    this.#owner.onRoom()
    if (this.#all.has(session)) this.#events.onConnect()
  }

  onSessionRoom(session: Session): void {
    this.update(session)
    const retired = this.#relief.onRoom(session)
    if (retired !== null) this.closeSession(retired, 'crowded')
    this.#rotation?.onRoom(session)
    this.#owner.onRoom()
  }

  onSessionLoad(session: Session): void {
    this.update(session)
    this.#relief.onLoad(session)
    this.#rotation?.onLoad(session)
  }

  onSessionIdle(session: Session): void {
    this.closeSession(session, 'idle')
  }

  onSessionShut(session: Session): void {
    this.closeSession(session, 'shut')
  }

  onSessionRetired(session: Session, reason: EndReason): void {
    this.closeSession(session, reason)
  }

  onSessionDraining(session: Session): void {
    if (this.#exclude(session))
      this.#isReplacing = this.#usable.size === 0 && (session.streams > 0 || this.waiting() > 0)
    // A session with streams may still get a response.
    if (session.streams === 0) this.#judge(session, null)
    this.#owner.onRoom()
    if (session.goaway !== null) this.#events.onGoaway?.()
  }

  onSessionClosed(session: Session, cause: Error | null, wasReady: boolean): void {
    if (this.#exclude(session) && wasReady) this.#isReplacing = this.waiting() > 0
    if (wasReady) this.#judge(session, cause)
    this.#all.delete(session)
    this.#ended[session.endedFor ?? 'lost']++
    // A closed session keeps what had arrived from its peer: up to a header block of 1 MiB.
    if (session === this.#newest) this.#newest = null
    this.#relief.onClosed(session)
    this.#rotation?.onClosed(session)
    // Before events are emitted: a listener that throws must not keep a destroy() from settling.
    if (this.#all.size === 0) this.#onAllClosed()
    if (wasReady) {
      if (!session.isSettled && !this.isServing) this.#owner.failConnecting(cause)
      this.#owner.onRoom()
      this.#events.onDisconnect(this.#toDisconnectError(session, cause))
    } else if (!this.#isDestroyed && cause !== null) {
      if (this.#isForFallback(cause)) {
        this.#context.memory.onHttp1('alpn')
        this.#owner.onRoom()
        return
      }
      this.#context.exchange?.destroyHttp1()
      this.#reconnects.recordFailedConnection()
      // Connections that speak HTTP/1.1 go on serving an origin whose protocol couldn't be asked for again.
      const isServed = this.#owner.mayHaveHttp1 && this.#context.memory.onProbeFailed()
      if (!isServed) this.#owner.failWaiting(cause)
      this.#reconnects.updateRef()
      this.#owner.onRoom()
      this.#events.onConnectionError(cause)
    }
  }

  /** If the dispatcher has ended the session: the caller's own error, or a ClientDestroyedError, as in undici. */
  #toDisconnectError({ endedFor, goaway }: Session, cause: Error | null): Error {
    if (endedFor === 'closed') return this.#endError ?? new ClientDestroyedError()
    return toDisconnectError(goaway, cause)
  }

  #pickLeastLoaded(): Session | null {
    for (let session = this.#heap.first; session !== null; session = this.#heap.first) {
      if (session.canTake('any') === 'yes') return session
      this.#heap.delete(session)
    }
    return null
  }

  /** Whether the peer has chosen HTTP/1.1, there is a fallback, and no session speaks HTTP/2 with the origin. */
  #isForFallback(cause: Error): boolean {
    if (!(cause instanceof AlpnError) || cause.alpnProtocol === null) return false
    return this.#context.options.fallback !== null && this.ready === 0
  }

  /**
   * Whether there will be room without another session: one is connecting or being verified, or its peer hasn't sent
   * its limit. A peer whose limit is 0 wants no streams at all: no other connection is opened to get around that. No
   * call waits for the SETTINGS of a session that will replace another one: without the replacement, a session would be
   * opened.
   */
  #mustWait(need: SessionNeed): boolean {
    // The usual case, whatever the number of sessions.
    if (this.#newest?.state.name === 'connecting' && !this.#isUnsure(this.#newest)) return true
    let mustWait = false
    for (const session of this.#usable) {
      switch (session.canTake(need)) {
        case 'full':
          break
        case 'lost':
          this.#replaceLost(session)
          break
        case 'stale':
          session.verify()
          // A session with streams may wait long for its PING, too long for calls that another session could serve.
          if (session.streams === 0 && !this.#isUnsure(session)) mustWait = true
          break
        default:
          // Also a session that has room, but not for this call, and one that is about to report that it is draining.
          if (!this.#isUnsure(session)) mustWait = true
      }
    }
    return mustWait
  }

  /** Whether a session is to replace another one, and its SETTINGS haven't arrived: perhaps they never will. */
  #isUnsure(session: Session): boolean {
    const isSuccessor = this.#rotation?.isPending(session) === true || this.#relief.isPending(session)
    return isSuccessor && !session.isSettled
  }

  #onAllClosed(): void {
    if (this.#onGone === null) return
    this.#context.deadlines.stop()
    this.#onGone()
  }

  #toReason(): OpenReason {
    if (this.#usable.size > 0) return 'full'
    return this.#isReplacing ? 'replacement' : 'cold'
  }

  /** A session's connection is gone without notice: another session may take its place. */
  #replaceLost(session: Session): void {
    session.destroyIfLost()
    if (this.#exclude(session)) this.#isReplacing = this.waiting() > 0
  }

  /**
   * The session takes no more calls.
   *
   * @returns false if it took none before
   */
  #exclude(session: Session): boolean {
    this.#heap.delete(session)
    this.#relief.onExcluded(session)
    const wasUsable = this.#usable.delete(session)
    this.#rotation?.onExcluded(session)
    return wasUsable
  }

  #judge(session: Session, cause: Error | null): void {
    if (this.#isDestroyed || !this.#reconnects.recordEnd(session, this.isServing)) return
    this.#owner.failFruitless(MAX_FRUITLESS_ATTEMPTS, cause)
    this.#reconnects.updateRef()
  }
}

function isUp(session: Session): boolean {
  const capacity = session.canTake('any')
  return capacity === 'yes' || capacity === 'soon' || capacity === 'full'
}

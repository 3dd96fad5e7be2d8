/**
 * The calls of one origin, and the sessions that they run on.
 *
 * @module
 */

import type { DispatchHandler } from '../../types/handler.ts'
import type { DispatchOptions } from '../../types/request.ts'
import type { Clock } from '../core/clock.ts'
import { Deadlines } from '../core/clock.ts'
import type { Origin, ResolvedClientOptions } from '../core/options.ts'
import { PendingQueue } from '../core/pending-queue.ts'
import { MAX_FRUITLESS_ATTEMPTS, mayReplay } from '../core/replay.ts'
import { Request } from '../core/request.ts'
import type { DodiciError } from '../errors.ts'
import {
  ClientDestroyedError,
  ConnectTimeoutError,
  NotSupportedError,
  SocketError,
  toConnectError,
  toOwnError,
} from '../errors.ts'
import type { CallOwner } from '../handler/call.ts'
import { Call } from '../handler/call.ts'
import type { CallState } from '../handler/call-state.ts'
import { NodeSession } from '../session/node-session.ts'
import type { Session, SessionOwner } from '../session/session.ts'

/** Who hears of connections that come and go. Called when the scheduler's own state is settled. */
export interface SchedulerOwner {
  onConnect(): void
  onDisconnect(error: Error): void
  onConnectionError(error: Error): void
  /** There is room again, after `add` had returned false. */
  onDrain(): void
}

/** In place of a session's progress: it was counted as fruitful or fruitless already. */
const COUNTED = -1

/** Holds what waits in its queue, gives the current session what it has room for, and replaces the session. */
export class CallScheduler implements CallOwner, SessionOwner {
  readonly deadlines: Deadlines
  readonly #origin: Origin
  readonly #options: ResolvedClientOptions
  readonly #clock: Clock
  readonly #owner: SchedulerOwner
  readonly #queue = new PendingQueue<Call>()
  /** Takes new calls; null until there are any, and after it has gone. */
  #current: Session | null = null
  /** Every session that isn't closed, the current one among them: `#progress` when it became ready, or `COUNTED`. */
  readonly #sessions = new Map<Session, number>()
  /** Calls that have not settled, queued ones among them. */
  #unsettled = 0
  /** Calls dispatched so far. */
  #sequence = 0
  /** Calls answered so far: replays and reconnects are free while it grows. */
  #progress = 0
  /** Sessions in a row that came and went without an answer. */
  #fruitlessSessions = 0
  /** How many loops that open streams are under way, one within another. */
  #pumps = 0
  #needsDrain = false
  #isDestroyed = false
  /** What `tearDown()` was given; null for one ClientDestroyedError each. */
  #destroyError: Error | null = null
  /** Resolves `finish()`; null while nobody waits. */
  #onIdle: (() => void) | null = null
  /** That of `tearDown()`; null before. */
  #gone: Promise<void> | null = null
  /** Resolves it; null while nobody waits. */
  #onGone: (() => void) | null = null

  constructor(origin: Origin, options: ResolvedClientOptions, clock: Clock, owner: SchedulerOwner) {
    this.#origin = origin
    this.#options = options
    this.#clock = clock
    this.#owner = owner
    this.deadlines = new Deadlines(clock)
  }

  /** Calls that wait for a stream. */
  get pending(): number {
    return this.#queue.size
  }

  /** Calls that have a stream. */
  get running(): number {
    return this.#unsettled - this.#queue.size
  }

  get isConnected(): boolean {
    return this.#current !== null && this.#current.state.name === 'ready'
  }

  /** Makes a call of a request. False when it has to wait. */
  add(options: DispatchOptions, handler: DispatchHandler): boolean {
    const request = new Request(options, this.#origin, this.#options)
    const call = new Call(request, handler, this, this.#sequence++)
    this.#unsettled++
    if (!call.start()) return this.#queue.size === 0
    this.#queue.add(call)
    // By the handler itself, a moment ago.
    if (this.#isDestroyed) call.fail(this.#toDestroyError())
    this.#pump()
    if (this.#queue.size === 0) return true
    call.wait()
    this.#needsDrain = true
    return false
  }

  /** Settles when no call is left. */
  finish(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#unsettled === 0) resolve()
      else this.#onIdle = resolve
    })
  }

  /**
   * Fails what is left and ends the sessions; settles when they are gone.
   *
   * @param isGraceful no call is left: the peer gets time to close its side
   */
  tearDown(error: Error | null, isGraceful = false): Promise<void> {
    this.#isDestroyed = true
    this.#destroyError ??= error
    this.#failQueued(() => this.#toDestroyError())
    for (const session of [...this.#sessions.keys()]) {
      if (isGraceful) session.close()
      else session.destroy(error)
    }
    this.deadlines.stop()
    // A second time, for what a graceful one has left: there is one promise for both.
    this.#gone ??= new Promise((resolve) => {
      if (this.#sessions.size === 0) resolve()
      else this.#onGone = resolve
    })
    return this.#gone
  }

  mayReplay(call: Call, error: DodiciError): boolean {
    if (this.#isDestroyed) return false
    call.fruitless = call.progressMark === this.#progress ? call.fruitless + 1 : 1
    call.progressMark = this.#progress
    const { processed } = error
    return mayReplay({ processed, replayable: call.request.body.replayable, fruitless: call.fruitless })
  }

  onReplay(call: Call): void {
    this.#queue.add(call)
    // Not at once: the session that has just let go of it may be about to say that it is draining.
    process.nextTick(pumpLater, this)
  }

  onSettled(call: Call, from: CallState): void {
    if (from === 'queued') {
      this.#queue.remove(call)
      if (this.#queue.size === 0) {
        this.#current?.updateRef()
        this.#announceDrain()
      }
    }
    if (from === 'receiving') this.#progress++
    this.#unsettled--
    if (this.#unsettled === 0 && this.#onIdle !== null) {
      this.#onIdle()
      this.#onIdle = null
    }
  }

  isConnecting(): boolean {
    return this.#current === null || this.#current.state.name === 'connecting'
  }

  hasWaiting(): boolean {
    return this.#queue.size > 0
  }

  onSessionReady(session: Session): void {
    this.#sessions.set(session, this.#progress)
    this.#pump()
    if (this.#sessions.has(session)) this.#owner.onConnect()
  }

  onSessionRoom(): void {
    // A call that ends while it is being opened makes room at once: no deeper, the loop that opens it goes on.
    if (this.#pumps === 0) this.#pump()
  }

  onSessionDraining(session: Session): void {
    if (session === this.#current) this.#current = null
    // One with streams may still answer.
    if (session.streams === 0) this.#countFruitless(session, null)
    this.#pump()
  }

  onSessionClosed(session: Session, cause: Error | null, wasReady: boolean): void {
    if (wasReady && !this.#isDestroyed) this.#countFruitless(session, cause)
    this.#sessions.delete(session)
    // Before anything is announced: a listener that throws must not keep a destroy() from settling.
    if (this.#sessions.size === 0 && this.#onGone !== null) {
      this.#onGone()
      this.#onGone = null
    }
    if (session === this.#current) this.#current = null
    if (wasReady) {
      this.#pump()
      this.#owner.onDisconnect(cause ?? new SocketError('The connection was closed'))
    } else if (!this.#isDestroyed && cause !== null) {
      this.#failWaiting(cause)
      this.#owner.onConnectionError(cause)
    }
  }

  /** Opens streams while there are calls and room for them. It may be entered again from a handler that dispatches. */
  #pump(): void {
    this.#pumps++
    this.#openQueued()
    this.#pumps--
    this.#announceDrain()
  }

  #openQueued(): void {
    while (this.#queue.size > 0 && !this.#isDestroyed) {
      const session = this.#toSession()
      if (!session.hasRoom()) {
        session.updateRef()
        return
      }
      if (this.#mustWaitForSettings(session)) return
      const call = this.#queue.shift()
      if (call !== null) this.#open(call, session)
    }
  }

  #open(call: Call, session: Session): void {
    if (call.request.protocol === null || session.offersExtendedConnect) {
      session.open(call)
      return
    }
    // Where it was: it leaves the queue as it settles.
    this.#queue.add(call)
    const message = `${this.#origin.href} offers no extended CONNECT (RFC 8441): there is no upgrade to`
    call.fail(new NotSupportedError(`${message} ${call.request.protocol}`))
  }

  /** Nothing waits any more, however that came about: whoever was held back may go on. */
  #announceDrain(): void {
    if (!this.#needsDrain || this.#queue.size > 0 || this.#isDestroyed) return
    this.#needsDrain = false
    process.nextTick(drainLater, this.#owner)
  }

  /**
   * Before the peer has told its limit, what it refuses is sent again; a body that can't be had again would be lost. So
   * such a call goes first, or it waits. Whether there is extended CONNECT only SETTINGS tell.
   */
  #mustWaitForSettings(session: Session): boolean {
    const request = this.#queue.first?.request
    if (session.peerLimit !== null || request === undefined) return false
    return request.protocol !== null || (session.streams > 0 && !request.body.replayable)
  }

  #toDestroyError(): Error {
    return this.#destroyError ?? new ClientDestroyedError()
  }

  /** The current session, or the first step to one: a burst of calls opens one connection. */
  #toSession(): Session {
    if (this.#current === null) {
      this.#current = new NodeSession(this.#origin, this.#options, this.#clock, this)
      this.#sessions.set(this.#current, this.#progress)
    }
    return this.#current
  }

  /** A peer that takes connections and drops them unanswered must not be dialled for ever. */
  #countFruitless(session: Session, cause: Error | null): void {
    const progressAtReady = this.#sessions.get(session)
    // Each once.
    this.#sessions.set(session, COUNTED)
    if (progressAtReady === COUNTED) return
    this.#fruitlessSessions = this.#progress === progressAtReady ? this.#fruitlessSessions + 1 : 0
    if (this.#fruitlessSessions < MAX_FRUITLESS_ATTEMPTS) return
    this.#fruitlessSessions = 0
    const message = `${MAX_FRUITLESS_ATTEMPTS} connections to ${this.#origin.href} in a row ended without an answer`
    this.#failQueued(() => new SocketError(message, { cause }))
  }

  /** A connection attempt has failed. A call with a `connectTimeout` of its own has more patience, or less, than ours. */
  #failWaiting(cause: Error): void {
    const isLate = cause instanceof ConnectTimeoutError
    this.#failQueued(
      () => toOwnError(toConnectError(cause, this.#origin.href)),
      (call) => !isLate || call.request.limits.connectTimeout === null,
    )
    this.#pump()
  }

  /** Fails what waits now; what handlers dispatch meanwhile waits for the next session. */
  #failQueued(toError: () => Error, isConcerned: (call: Call) => boolean = () => true): void {
    const calls: Call[] = []
    for (let call = this.#queue.shift(); call !== null; call = this.#queue.shift()) calls.push(call)
    for (const call of calls) this.#queue.add(call)
    for (const call of calls) if (isConcerned(call)) call.fail(toError())
  }

  static pump(scheduler: CallScheduler): void {
    scheduler.#pump()
  }
}

function pumpLater(scheduler: CallScheduler): void {
  CallScheduler.pump(scheduler)
}

function drainLater(owner: SchedulerOwner): void {
  owner.onDrain()
}

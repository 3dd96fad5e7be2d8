/**
 * The calls of one origin, and the sessions that they run on.
 *
 * @module
 */

import type { HttpProtocol } from '../../types/connection.ts'
import type { DispatchHandler } from '../../types/handler.ts'
import type { DispatchOptions } from '../../types/request.ts'
import type { Http1Stats, SessionEnds, SessionStats } from '../../types/stats.ts'
import type { Attempt } from '../call/attempt.ts'
import { Call } from '../call/call.ts'
import type { CallOwner } from '../call/call-owner.ts'
import type { CallState } from '../call/call-state.ts'
import type { Clock } from '../core/clock.ts'
import { Deadlines } from '../core/clock.ts'
import { noop } from '../core/noop.ts'
import { originalNextTick } from '../core/original-timers.ts'
import type { DodiciError } from '../errors/errors.ts'
import {
  ClientClosedError,
  ClientDestroyedError,
  ConnectTimeoutError,
  SocketError,
  toConnectError,
  toOwnError,
} from '../errors/errors.ts'
import { TwoShapedHandler } from '../handler/legacy-handler.ts'
import { hasOwnSubscribers, hasSubscribers, trace } from '../handler/traced-handler.ts'
import type { Connections, Origin, ResolvedClientOptions } from '../options/options.ts'
import { Request } from '../request/request.ts'
import { toHttp2Session } from '../session/http2-session.ts'
import type { OriginMemory } from '../session/origin-memory.ts'
import type { SessionFactory, SessionNeed } from '../session/session.ts'
import { CallPump } from './call-pump.ts'
import { ConnectWaiters } from './connect-waiters.ts'
import type { ConnectionEvents } from './connection-events.ts'
import { Fallback } from './fallback/fallback.ts'
import type { RepeatPermit } from './repeat-permit.ts'
import type { ReplayTerms } from './replay.ts'
import { toReplay } from './replay.ts'
import { toSessionNeed } from './session-need.ts'
import type { SessionSetOwner } from './session-set.ts'
import { SessionSet } from './session-set.ts'
import { WaitingCalls } from './waiting-calls.ts'

/** Queues calls, and gives them to sessions with room. */
export class CallScheduler implements CallOwner<Call>, SessionSetOwner {
  readonly deadlines: Deadlines
  readonly onFlow = (): void => this.#sessions.updateRefs()
  readonly #origin: Origin
  readonly #options: ResolvedClientOptions
  readonly #events: ConnectionEvents
  readonly #waiting: WaitingCalls
  readonly #connecting = new ConnectWaiters()
  readonly #sessions: SessionSet
  readonly #memory: OriginMemory
  readonly #fallback: Fallback
  readonly #replayTerms: ReplayTerms
  readonly #pump: CallPump
  /** Null: no dispatcher in front limits how many calls are sent again. */
  #permit: RepeatPermit | null = null
  /** The calls that haven't settled, queued or running. */
  #unsettled = 0
  /** How many calls have got a response so far: replays and reconnects are free while that number grows. */
  #progress = 0
  /** How many calls were dispatched so far. */
  #sequence = 0
  #needsDrain = false
  /** Whether the sessions were told that calls wait. */
  #isWaiting = false
  #isDestroyed = false
  /** The argument of `destroy()`; null: each call gets its own ClientDestroyedError. */
  #destroyError: Error | null = null
  /** Resolves `whenIdle()`; null until it is called. */
  #onIdle: (() => void) | null = null

  constructor(
    origin: Origin,
    options: ResolvedClientOptions,
    connections: Connections,
    clock: Clock,
    memory: OriginMemory,
    events: ConnectionEvents,
    toSession: SessionFactory = toHttp2Session,
  ) {
    this.#origin = origin
    this.#options = options
    this.#events = events
    this.deadlines = new Deadlines(clock)
    this.#memory = memory
    this.#fallback = new Fallback(options, connections.http1, clock, memory, events, () => {
      if (this.#waiting.size > 0) this.#serveWaiting()
    })
    this.#replayTerms = { replaySafe: options.replaySafe, hasFallback: this.#fallback.isThere }
    const { exchange } = this.#fallback
    const { sessions } = connections
    this.#sessions = new SessionSet(
      origin,
      options,
      sessions,
      clock,
      memory,
      this,
      events,
      exchange,
      toSession,
    )
    this.#waiting = new WaitingCalls(clock, (call) => this.#requeue(call))
    this.#pump = new CallPump(origin, memory, this.#waiting, this.#sessions, this.#fallback)
  }

  /** Calls that wait for a stream. */
  get pending(): number {
    return this.#waiting.total
  }

  /** Calls that have a stream. */
  get running(): number {
    return this.#unsettled - this.pending
  }

  /** Whether it has no call, and `connectAhead()` has no waiting caller. */
  get isIdle(): boolean {
    return this.#unsettled === 0 && this.#connecting.size === 0
  }

  /** How many sessions take calls, and how many HTTP/1.1 connections there are. */
  get connected(): number {
    return this.#sessions.ready + this.#fallback.connected
  }

  get mayHaveHttp1(): boolean {
    return this.#fallback.mayHaveConnections
  }

  /** Whether a session whose peer has sent SETTINGS can take calls, now or soon. */
  get isConnected(): boolean {
    return this.#sessions.isConnected
  }

  get progress(): number {
    return this.#progress
  }

  limitRepeats(permit: RepeatPermit): void {
    this.#permit = permit
  }

  /** What the fallback is doing now. */
  toHttp1Stats(): Http1Stats {
    const { connected, running } = this.#fallback
    return { connections: connected, running }
  }

  /** Snapshots of the sessions that aren't closed. */
  toSessionStats(): SessionStats[] {
    return this.#sessions.toStats()
  }

  /** How many sessions have closed, by reason. */
  toSessionEnds(): SessionEnds {
    return this.#sessions.toEnds()
  }

  /**
   * Connects without a call. Settles when a peer's SETTINGS have arrived, or the origin turns out to speak HTTP/1.1.
   *
   * @returns the protocol that the origin speaks
   */
  connectAhead(): Promise<HttpProtocol> {
    if (this.#isDestroyed) return Promise.reject(this.#toDestroyError())
    const connected = this.#connecting.add()
    this.#serveConnecting()
    return connected
  }

  #serveConnecting(): void {
    if (this.#memory.protocol === 'http/1.1' && this.#fallback.isThere) this.#connecting.resolve('http/1.1')
    else if (this.#sessions.isConnected)
      this.#connecting.resolve(this.#origin.scheme === 'https' ? 'h2' : 'h2c')
    else this.#sessions.grow()
    this.#tellWaiting()
  }

  /** Creates a call for a request. Returns false when the call has to wait. */
  add(options: DispatchOptions, handler: DispatchHandler): boolean {
    const request = new Request(options, this.#origin, this.#options)
    const call = new Call(request, this.#trace(request, handler), this, this.#sequence++)
    if (handler instanceof TwoShapedHandler) call.outer = handler.target
    this.#unsettled++
    if (call.start()) {
      this.#admit(call)
      call.wait()
    }
    // The waiting calls may all be replays: `false` promises a `drain` after them, too.
    this.#needsDrain ||= this.#waiting.size > 0
    return this.#waiting.size === 0
  }

  /** Opens a stream for a new call, or queues it. */
  #admit(call: Call): void {
    // The call can't overtake another one, because none waits. Calls queued while it is opened are served afterwards.
    if (this.#waiting.size === 0 && !this.#isDestroyed && this.#pump.openAtOnce(call)) {
      if (this.#waiting.size > 0 || this.#needsDrain || this.#isWaiting) this.#serveWaiting()
      return
    }
    this.#waiting.add(call)
    // The handler itself has just destroyed the dispatcher.
    if (this.#isDestroyed) call.fail(this.#toDestroyError())
    this.#serveWaiting()
  }

  /** Resolves when no call is left. */
  whenIdle(): Promise<void> {
    this.#connecting.reject(() => new ClientClosedError())
    return new Promise((resolve) => {
      if (this.#unsettled === 0) resolve()
      else this.#onIdle = resolve
    })
  }

  /**
   * Fails the remaining calls, and ends the sessions. Settles when the sessions are gone.
   *
   * @param isGraceful no call is left: the peers get time to close their sides
   */
  destroy(error: Error | null, isGraceful = false): Promise<void> {
    this.#isDestroyed = true
    this.#pump.stop()
    this.#destroyError ??= error
    this.#failQueued(() => this.#toDestroyError())
    this.#connecting.reject(() => this.#toDestroyError())
    const gone = Promise.all([this.#sessions.destroy(error, isGraceful), this.#fallback.destroy(error)])
    this.deadlines.stop()
    return gone.then(noop)
  }

  /** The fallback itself publishes its requests on undici's channels. */
  #trace(request: Request, handler: DispatchHandler): DispatchHandler {
    if (!hasSubscribers()) return handler
    // A request that has to wait is sent later, in another request's async context: its trace keeps the caller's.
    const isHttp1 = this.#memory.isHttp1Chosen && this.#fallback.canTake && this.#waiting.size === 0
    if (isHttp1 && !hasOwnSubscribers()) return handler
    const mayBeHttp2 = this.#memory.protocol !== 'http/1.1'
    const isHttp2 = mayBeHttp2 && (this.#origin.scheme === 'http' || this.#sessions.ready > 0)
    return trace(request, handler, !this.#fallback.isThere || (isHttp2 && request.protocol === null))
  }

  mayReplay(call: Call, error: DodiciError | null, attempt: Attempt | null): boolean {
    if (this.#isDestroyed) return false
    const { reason, failures } = toReplay(call, error, attempt, this.#progress, this.#replayTerms)
    if (reason === 'safe') {
      if (this.#permit?.mayRepeat() === false) return false
      this.#sessions.requireVerification()
    }
    call.failures = failures
    if (reason !== null) call.request.trace?.noteRetry(reason, error)
    return reason !== null
  }

  onReplay(call: Call): void {
    if (!this.#waiting.delay(call)) {
      this.#waiting.add(call)
      // One tick later: the session that has just released the call may be about to report that it is draining.
      originalNextTick(serveLater, this)
    }
    const { trace } = call.request
    // Last: its subscribers may end the call.
    if (trace !== null) call.runInAsyncScope(trace.retried, trace, call.connection)
  }

  #requeue(call: Call): void {
    this.#waiting.add(call)
    this.#serveWaiting()
    // Only now does the call begin to wait for a connection. In its caller's context, because subscribers may be
    // called.
    call.runInAsyncScope(call.wait, call)
  }

  onSettled(call: Call, from: CallState): void {
    if (from === 'queued') {
      this.#waiting.delete(call)
      if (this.#waiting.size === 0) {
        this.#tellWaiting()
        this.#announceDrain()
      }
    }
    if (from === 'receiving') this.#progress++
    this.#unsettled--
    if (this.#unsettled === 0) this.#onIdle?.()
  }

  isConnecting(call: Call): boolean {
    if (this.#waiting.isDelayed(call)) return false
    if (this.#isForFallback(call)) return !this.#fallback.isConnected
    return !this.#sessions.isServing || this.#sessions.awaitsSettings(this.#toNeed(call))
  }

  mayWaitOn(call: Call): boolean {
    return this.#isForFallback(call) || this.isConnecting(call)
  }

  /** Whether the fallback will take the call, because no session is allowed to. */
  #isForFallback(call: Call): boolean {
    return this.#fallback.isThere && this.#toNeed(call) === 'none'
  }

  #toNeed(call: Call): SessionNeed | 'none' {
    return toSessionNeed(call, this.#memory.protocol)
  }

  waiting(): number {
    return this.#waiting.size + this.#connecting.size
  }

  onRoom(): void {
    if (this.#connecting.size > 0) this.#serveConnecting()
    // A call that ends while it is being opened makes room at once. The loop that opens it uses this room.
    const isWanted = this.#waiting.size > 0 || this.#needsDrain
    if (!this.#pump.isRunning && isWanted) this.#serveWaiting()
  }

  /**
   * A connection attempt has failed. The dispatcher's `connectTimeout` doesn't fail calls with their own
   * `connectTimeout`.
   */
  failWaiting(cause: Error): void {
    const isLate = cause instanceof ConnectTimeoutError
    if (!this.#sessions.isServing) this.#connecting.reject(() => this.#toConnectError(cause))
    this.#failQueued(
      () => this.#toConnectError(cause),
      (call) =>
        !this.#isForFallback(call) &&
        !this.#sessions.isServing &&
        (!isLate || call.request.limits.connectTimeout === null),
    )
  }

  failConnecting(cause: Error | null): void {
    const message = `${this.#origin.href} closed the connection before it sent SETTINGS`
    this.#connecting.reject(() => (cause === null ? new SocketError(message) : this.#toConnectError(cause)))
  }

  #toConnectError(cause: Error): Error {
    return toOwnError(toConnectError(cause, this.#origin.href))
  }

  failFruitless(sessions: number, cause: Error | null): void {
    const reason = cause === null ? '' : `: ${cause.message}`
    const message = `${sessions} connections to ${this.#origin.href} in a row ended without a response${reason}`
    this.#connecting.reject(() => new SocketError(message, { cause }))
    this.#failQueued(
      () => new SocketError(message, { cause }),
      (call) => !this.#isForFallback(call),
    )
  }

  /** Opens streams for waiting calls. Once no call waits, reports that to the sessions and to the dispatcher. */
  #serveWaiting(): void {
    if (!this.#pump.run()) return
    this.#tellWaiting()
    this.#announceDrain()
  }

  /** Once no call waits, for whatever reason, a caller for whom `add` returned false may continue. */
  #announceDrain(): void {
    if (!this.#needsDrain || this.#waiting.size > 0 || this.#isDestroyed) return
    this.#needsDrain = false
    originalNextTick(drainLater, this.#events)
  }

  /** Waiting calls keep the process alive. */
  #tellWaiting(): void {
    const isWaiting = this.waiting() > 0
    if (isWaiting === this.#isWaiting) return
    this.#isWaiting = isWaiting
    this.#sessions.updateRefs()
  }

  #toDestroyError(): Error {
    return this.#destroyError ?? new ClientDestroyedError()
  }

  /** Fails the calls that wait now. Calls that handlers dispatch meanwhile wait for the next session. */
  #failQueued(toError: () => Error, isConcerned: (call: Call) => boolean = () => true): void {
    for (const call of this.#waiting.toArray()) if (isConcerned(call)) call.fail(toError())
  }

  static serveWaiting(scheduler: CallScheduler): void {
    scheduler.#serveWaiting()
  }
}

function serveLater(scheduler: CallScheduler): void {
  CallScheduler.serveWaiting(scheduler)
}

function drainLater(events: ConnectionEvents): void {
  events.onDrain()
}

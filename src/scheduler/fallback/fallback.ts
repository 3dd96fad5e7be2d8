/**
 * One origin's fallback, which serves the requests that HTTP/2 can't.
 *
 * @module
 */

import type { FallbackDispatcher } from '../../../types/client.ts'
import type { Call } from '../../call/call.ts'
import type { Clock } from '../../core/clock.ts'
import { Hold } from '../../core/clock.ts'
import { sessionLog } from '../../core/debug-log.ts'
import { fallbackChannel } from '../../core/diagnostics.ts'
import { originalNextTick, originalSetImmediate } from '../../core/original-timers.ts'
import { UnorderedList } from '../../core/unordered-list.ts'
import type { DodiciError } from '../../errors/errors.ts'
import { ClientDestroyedError, isNoProtocol, NotSupportedError } from '../../errors/errors.ts'
import type { ResolvedClientOptions } from '../../options/options.ts'
import { SocketExchange } from '../../session/connect/socket-exchange.ts'
import type { OriginMemory } from '../../session/origin-memory.ts'
import type { ConnectionEvents } from '../connection-events.ts'
import { BuiltinFallback } from './builtin-fallback.ts'
import type { FallbackOwner } from './fallback-attempt.ts'
import { FallbackAttempt } from './fallback-attempt.ts'
import type { FallbackListener } from './fallback-events.ts'
import type { FallbackRoute } from './own-fallback.ts'
import { OwnFallback } from './own-fallback.ts'

/** The caller's dispatcher, or one of the kind that is built into Node, which Dodici creates and ends itself. */
export class Fallback implements FallbackOwner, FallbackListener {
  /** Where HTTP/1.1 and HTTP/2 hand connections to each other; null with a caller's dispatcher, or none. */
  readonly exchange: SocketExchange | null
  /** Null if there is none. */
  readonly #dispatcher: FallbackDispatcher | null
  readonly #own: OwnFallback | null
  /** This origin's route through it; null if the dispatcher is the caller's. */
  readonly #route: FallbackRoute | null
  /** How many attempts are allowed; Infinity for any number. */
  readonly #places: number
  readonly #connect: ResolvedClientOptions['connect']
  readonly #memory: OriginMemory
  readonly #events: ConnectionEvents
  /** How many of the connections that Dodici's own fallback has opened serve the origin. */
  #connected = 0
  /** The error that ended the remaining attempts. Null: there were none, or the end hasn't come. */
  #endError: Error | null = null
  readonly #onRoom: () => void
  readonly #attempts = new UnorderedList<FallbackAttempt>()
  /** Keeps the process alive while attempts wait for a connection: the connecting code may have no socket meanwhile. */
  readonly #hold: Hold
  /** How many attempts wait for a connection. */
  #waiting = 0
  /** How many attempts are done whose connections aren't free yet. */
  #freeing = 0

  /**
   * @param connections how many HTTP/1.1 connections are allowed; Infinity for any number
   * @param onRoom called when an attempt's place is free
   */
  constructor(
    options: ResolvedClientOptions,
    connections: number,
    clock: Clock,
    memory: OriginMemory,
    events: ConnectionEvents,
    onRoom: () => void,
  ) {
    const { connect, fallback, http1 } = options
    this.#memory = memory
    this.#events = events
    this.#onRoom = onRoom
    this.#hold = new Hold(clock)
    this.#connect = connect
    this.#own = fallback === undefined ? new BuiltinFallback(options, clock) : toOwn(fallback)
    this.exchange = this.#own === null ? null : new SocketExchange(clock)
    this.#route = this.#own?.open({ connections, exchange: this.exchange, events: this }) ?? null
    this.#dispatcher = this.#route ?? fallback ?? null
    // A caller's dispatcher has its own limits, and a queue behind them.
    this.#places = this.#own === null ? Number.POSITIVE_INFINITY : connections * Math.max(http1.pipelining, 1)
  }

  /** How many HTTP/1.1 connections to the origin are open. A caller's fallback doesn't tell. */
  get connected(): number {
    return this.#connected
  }

  /** Whether it may serve calls without a new connection. A caller's fallback doesn't tell, so it may. */
  get mayHaveConnections(): boolean {
    return this.isThere && (this.#route === null || this.#connected > 0)
  }

  onConnect(): void {
    this.#connected++
    this.#events.onConnect()
  }

  onDisconnect(error: Error): void {
    this.#connected--
    this.#events.onDisconnect(this.#endError ?? error)
  }

  onConnectionError(error: Error): void {
    this.#events.onConnectionError(error)
  }

  /** How many requests it serves now. */
  get running(): number {
    return this.#attempts.size
  }

  /** Whether there is a fallback: the caller may have turned it off. */
  get isThere(): boolean {
    return this.#dispatcher !== null
  }

  /** Whether there is a place for another call, provided that there is a fallback. */
  get canTake(): boolean {
    return this.#attempts.size + this.#freeing < this.#places
  }

  /** Whether an attempt has a connection. */
  get isConnected(): boolean {
    return this.#attempts.size > this.#waiting
  }

  /**
   * Sends a call's request. The call is told everything that follows, including a failure.
   *
   * @param error the last attempt's failure; null if there was none
   * @param isHint whether HTTP/2 could serve the call, too, if the origin spoke it
   */
  open(call: Call, error: DodiciError | null, isHint: boolean): void {
    if (this.#dispatcher === null) return
    if (call.outer instanceof FallbackAttempt && call.outer.isWithin(this)) {
      call.fail(new NotSupportedError('The fallback leads back to the dispatcher that uses it'))
      return
    }
    this.#tell(call, error)
    call.request.trace?.withdraw(error)
    const attempt = new FallbackAttempt(this, this.#dispatcher, call, this.#toServername(call), isHint)
    this.#attempts.add(attempt)
    this.#waiting++
    this.#hold.set(true)
    attempt.open()
  }

  /** Tells subscribers and the log that requests are served over HTTP/1.1, and why, once for each reason. */
  #tell({ request }: Call, required: DodiciError | null): void {
    const memory = this.#memory
    const { http1Reason } = memory
    const learned = http1Reason ?? (required === null ? 'upgrade' : 'required')
    const reason = memory.isHttp1Chosen ? 'option' : learned
    if (reason === memory.toldFallback) return
    memory.toldFallback = reason
    const origin = request.origin.href
    if (fallbackChannel.hasSubscribers) fallbackChannel.publish({ origin, reason })
    sessionLog?.(`fallback ${origin}: HTTP/1.1, ${reason}`)
  }

  /** Null: the fallback chooses the name. A Client or Pool uses its connections' name, whatever the request names. */
  #toServername({ request }: Call): string | null {
    return typeof this.#connect === 'function' ? request.servername : (this.#connect.servername ?? null)
  }

  onAttemptBegun(): void {
    if (--this.#waiting === 0) this.#hold.set(false)
  }

  isOfHttp2(error: Error, isHint: boolean): boolean {
    if (this.exchange?.wasTaken(error) === true) return true
    if (!isHint || this.#memory.isHttp1Chosen || !isNoProtocol(error)) return false
    this.#memory.onNoHttp1()
    return true
  }

  onAttemptDone(attempt: FallbackAttempt): void {
    this.#attempts.delete(attempt)
    if (this.#places === Number.POSITIVE_INFINITY) return
    this.#freeing++
    originalNextTick(waitForTurn, this)
  }

  /** undici has had one turn of the event loop since the response ended: only then does it reuse a connection. */
  static freePlace(fallback: Fallback): void {
    fallback.#freeing--
    fallback.#onRoom()
  }

  /** Fails the remaining calls, and settles when Dodici's own connections are gone. */
  async destroy(error: Error | null): Promise<void> {
    this.exchange?.close()
    const attempts = this.#attempts.items.toSorted((a, b) => a.sequence - b.sequence)
    // Their connections report that they were reset.
    if (attempts.length > 0) this.#endError = error ?? new ClientDestroyedError()
    for (const attempt of attempts) attempt.fail(error ?? new ClientDestroyedError())
    if (this.#route !== null) await this.#own?.close(this.#route, error)
  }
}

/** One tick later: undici begins to wait for its turn after the callback that the attempt has received. */
function waitForTurn(fallback: Fallback): void {
  originalSetImmediate(Fallback.freePlace, fallback)
}

function toOwn(fallback: FallbackDispatcher | null): OwnFallback | null {
  return fallback instanceof OwnFallback ? fallback : null
}

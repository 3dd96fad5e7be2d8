/**
 * The fallback of one origin: it serves the requests that HTTP/2 can't.
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

/** The caller's dispatcher, or one of the kind that is built into Node, which Dodici makes and ends itself. */
export class Fallback implements FallbackOwner, FallbackListener {
  /** Where connections of either protocol change hands; null with a dispatcher of the caller's, or none. */
  readonly exchange: SocketExchange | null
  /** Null where there is none. */
  readonly #dispatcher: FallbackDispatcher | null
  readonly #own: OwnFallback | null
  /** What this origin has of it; null when the dispatcher is the caller's. */
  readonly #route: FallbackRoute | null
  /** How many attempts there may be; Infinity for any number. */
  readonly #places: number
  readonly #connect: ResolvedClientOptions['connect']
  readonly #memory: OriginMemory
  readonly #events: ConnectionEvents
  /** How many connections of Dodici's own fallback serve the origin. */
  #connected = 0
  /** What has ended the attempts that were left at the end. Null: there was none, or the end hasn't come. */
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
   * @param connections how many connections of HTTP/1.1 there may be; Infinity for any number
   * @param onRoom called when the place of an attempt is free
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
    // A dispatcher of the caller's has limits of its own, and a queue behind them.
    this.#places = this.#own === null ? Number.POSITIVE_INFINITY : connections * Math.max(http1.pipelining, 1)
  }

  /** How many HTTP/1.1 connections there are to the origin: those of a fallback of the caller's aren't known. */
  get connected(): number {
    return this.#connected
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

  /** Whether a further call has a place, where there is a fallback. */
  get canTake(): boolean {
    return this.#attempts.size + this.#freeing < this.#places
  }

  /** Whether an attempt has a connection. */
  get isConnected(): boolean {
    return this.#attempts.size > this.#waiting
  }

  /**
   * Sends the request of a call. The call hears of everything that follows, also of a failure.
   *
   * @param error the failure of the last attempt; null when there was none
   * @param isHint whether HTTP/2 would serve the call as well, if the origin spoke it
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

  /** Tells subscribers and the log that requests are served over HTTP/1.1, and why: once for each reason. */
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

  /**
   * Null: the fallback chooses the name. For a Client or a Pool it is the name of its connections, whatever the request
   * names.
   */
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

  /** undici has had a turn of the event loop since the response has ended: only then does it use a connection again. */
  static freePlace(fallback: Fallback): void {
    fallback.#freeing--
    fallback.#onRoom()
  }

  /** Fails the calls that are left, and settles when Dodici's own connections are gone. */
  async destroy(error: Error | null): Promise<void> {
    this.exchange?.close()
    const attempts = this.#attempts.items.toSorted((a, b) => a.sequence - b.sequence)
    // Their connections report that they were reset.
    if (attempts.length > 0) this.#endError = error ?? new ClientDestroyedError()
    for (const attempt of attempts) attempt.fail(error ?? new ClientDestroyedError())
    if (this.#route !== null) await this.#own?.close(this.#route, error)
  }
}

/** A tick later: undici begins to wait for its turn behind the callback that the attempt has heard. */
function waitForTurn(fallback: Fallback): void {
  originalSetImmediate(Fallback.freePlace, fallback)
}

function toOwn(fallback: FallbackDispatcher | null): OwnFallback | null {
  return fallback instanceof OwnFallback ? fallback : null
}

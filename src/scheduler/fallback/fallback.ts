/**
 * The fallback of one origin: it serves the requests that HTTP/2 can't.
 *
 * @module
 */

import type { FallbackDispatcher } from '../../../types/client.ts'
import type { Clock } from '../../core/clock.ts'
import { Hold } from '../../core/clock.ts'
import type { Origin, ResolvedClientOptions } from '../../core/options.ts'
import { UnorderedList } from '../../core/unordered-list.ts'
import type { DodiciError } from '../../errors.ts'
import { ClientDestroyedError, isNoProtocol, NotSupportedError } from '../../errors.ts'
import type { Call } from '../../handler/call.ts'
import type { Http2Taker } from '../../session/connect/http2-takers.ts'
import type { OriginMemory } from '../../session/origin-memory.ts'
import type { ConnectionEvents } from '../connection-events.ts'
import { BuiltinFallback, toConnectName } from './builtin-fallback.ts'
import type { FallbackOwner } from './fallback-attempt.ts'
import { FallbackAttempt } from './fallback-attempt.ts'
import type { FallbackListener } from './fallback-events.ts'
import { OwnFallback } from './own-fallback.ts'

/** The caller's dispatcher, or one of the kind that is built into Node, which Dodici makes and ends itself. */
export class Fallback implements FallbackOwner, FallbackListener {
  readonly #dispatcher: FallbackDispatcher | null
  /** Null when the dispatcher is the caller's. */
  readonly #own: BuiltinFallback | null
  readonly #connect: ResolvedClientOptions['connect']
  readonly #origin: Origin
  readonly #memory: OriginMemory
  readonly #events: ConnectionEvents
  /** How many connections of Dodici's own fallback serve the origin. */
  #connected = 0
  /** What has ended the attempts that were left at the end. Null: there was none, or the end hasn't come. */
  #endError: Error | null = null
  /** Takes connections that choose HTTP/2. Null before it is known, and for a fallback of the caller's. */
  #taker: Http2Taker | null = null
  readonly #attempts = new UnorderedList<FallbackAttempt>()
  /** Keeps the process alive while attempts wait for a connection: the connecting code may have no socket meanwhile. */
  readonly #hold: Hold
  /** How many attempts wait for a connection. */
  #waiting = 0

  constructor(
    origin: Origin,
    options: ResolvedClientOptions,
    clock: Clock,
    memory: OriginMemory,
    events: ConnectionEvents,
  ) {
    this.#origin = origin
    this.#memory = memory
    this.#events = events
    this.#hold = new Hold(clock)
    this.#connect = options.connect
    this.#own = options.fallback === undefined ? new BuiltinFallback(options, clock) : null
    this.#dispatcher = options.fallback ?? this.#own
    if (this.#dispatcher instanceof OwnFallback) this.#dispatcher.events.add(origin.href, this)
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

  /** Whether there is a fallback: the caller may have turned it off. */
  get isThere(): boolean {
    return this.#dispatcher !== null
  }

  /** Its connections may choose HTTP/2: `taker` takes those. */
  offer(taker: Http2Taker): void {
    if (!(this.#dispatcher instanceof OwnFallback)) return
    this.#taker = taker
    this.#dispatcher.takers.add(this.#origin, this.#connectName, taker)
  }

  get #connectName(): string {
    return toConnectName({ connect: this.#connect }, this.#origin.hostname)
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
      call.fail(new NotSupportedError('The fallback leads back to the dispatcher that it is to serve'))
      return
    }
    const { trace } = call.request
    trace?.withdraw(error)
    const attempt = new FallbackAttempt(this, this.#dispatcher, call, this.#toServername(call), isHint)
    this.#attempts.add(attempt)
    this.#waiting++
    this.#hold.set(true)
    // The dispatcher makes a trace of its own, which must see the caller's async context. The current context may
    // belong to the call that has opened the connection.
    if (trace === null) attempt.open()
    else trace.asCaller(() => attempt.open())
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
    if (this.#dispatcher instanceof OwnFallback && this.#dispatcher.takers.wasTaken(error)) return true
    if (!isHint || this.#memory.isHttp1Chosen || !isNoProtocol(error)) return false
    this.#memory.onNoHttp1()
    return true
  }

  onAttemptDone(attempt: FallbackAttempt): void {
    this.#attempts.delete(attempt)
  }

  /** Fails the calls that are left, and settles when Dodici's own dispatcher is gone. */
  async end(error: Error | null): Promise<void> {
    if (this.#dispatcher instanceof OwnFallback) {
      this.#dispatcher.events.delete(this.#origin.href, this)
      if (this.#taker !== null) this.#dispatcher.takers.delete(this.#origin, this.#connectName, this.#taker)
    }
    const attempts = this.#attempts.items.toSorted((a, b) => a.sequence - b.sequence)
    // Their connections report that they were reset.
    if (attempts.length > 0) this.#endError = error ?? new ClientDestroyedError()
    for (const attempt of attempts) attempt.fail(error ?? new ClientDestroyedError())
    await this.#own?.destroy(error)
  }
}

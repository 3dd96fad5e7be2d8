/**
 * Origin → Pool.
 *
 * @module
 */

import type { AgentOptions, PoolOptions } from '../../types/client.ts'
import type { HttpProtocol } from '../../types/connection.ts'
import type { Dispatcher as DispatcherType } from '../../types/dispatcher.ts'
import type { DispatchHandler } from '../../types/handler.ts'
import type { DispatchOptions } from '../../types/request.ts'
import type { AgentStats, ClientStats, PoolStats } from '../../types/stats.ts'
import { markClass } from '../core/class-mark.ts'
import { systemClock } from '../core/clock.ts'
import {
  ClientClosedError,
  ClientDestroyedError,
  InvalidReturnValueError,
  NotSupportedError,
} from '../errors/errors.ts'
import { toLimitError } from '../options/limits.ts'
import type { Origin, ResolvedAgentOptions } from '../options/options.ts'
import {
  toAgentOptions,
  toClientOptions,
  toConnections,
  toConnectOptions,
  toOrigin,
} from '../options/options.ts'
import { toServername, withServername } from '../request/servername.ts'
import { BuiltinFallback } from '../scheduler/fallback/builtin-fallback.ts'
import { SessionBroker } from '../session/sharing/session-broker.ts'
import { isDispatcher } from './dispatcher.ts'
import { Http1Origin } from './http1-origin.ts'
import { LivingDispatcher } from './life-cycle.ts'
import { OriginDispatcher } from './origin-dispatcher.ts'
import { Pool } from './pool.ts'
import { closeOrAwait, forwardEvents, settleAll } from './together.ts'
import { toObstacle, warnOfNoCoalescing, warnOfUnusedOptions } from './unused-options.ts'

/** One origin's dispatcher. */
interface Entry {
  readonly dispatcher: DispatcherType
  /**
   * The same dispatcher if the agent has created it. Null if the caller's `factory` has: its class may override
   * `dispatch()`.
   */
  readonly own: LivingDispatcher | null
  /** Whether it has received a request since the agent last looked for idle origins to close. */
  wasUsed: boolean
}

/** How many origins are checked at a time for idle ones if `maxOrigins` is Infinity. */
const MAX_LOOKS = 64

/**
 * A dispatcher for any origin: each request names its origin, and each origin has a {@link Pool}.
 *
 * All Pools use the agent's `connect` options. Use one Agent per TLS identity: agents share nothing. One `fallback`
 * serves all origins that speak HTTP/1.1, and all `http:` origins unless `h2c` is true for them.
 *
 * @example
 * ```ts
 * const agent = new Agent()
 * const { body } = await agent.request({ origin: 'https://localhost:12443', path: '/', method: 'GET' })
 * console.log(await body.text())
 * await agent.close()
 * ```
 */
export class Agent extends LivingDispatcher {
  readonly #poolOptions: PoolOptions
  /** Null if it is the caller's, or if there is none. */
  readonly #ownFallback: BuiltinFallback | null
  readonly #options: ResolvedAgentOptions
  readonly #maxResponseSize: number
  /** Null if no origin uses another one's sessions. */
  readonly #broker: SessionBroker | null
  /**
   * Keyed by the origin, as `URL.origin` writes it, and the server name if that differs. The order has no meaning:
   * {@link Agent.#dropIdleOrigins} rotates it.
   */
  readonly #entries = new Map<string, Entry>()
  /** Dispatchers that the agent has closed, but whose last tunnels are still open. */
  readonly #leaving = new Set<DispatcherType>()

  /**
   * Creates a dispatcher for any origin, with a {@link Pool} for each.
   *
   * @param options see {@link AgentOptions}
   * @throws InvalidArgumentError that names the option, its value, and what would be accepted
   * @example
   * ```ts
   * const agent = new Agent()
   * const { body } = await agent.request({ origin: 'https://localhost:12443', path: '/', method: 'GET' })
   * ```
   */
  constructor(options?: AgentOptions) {
    // Bad options throw here, not at the first request.
    const resolved = toClientOptions(options)
    super(systemClock, resolved)
    warnOfUnusedOptions(options, resolved.fallback)
    const { h2c: _h2c, useH2c: _useH2c, tls: _tls, ...more } = options ?? {}
    const { maxOrigins: _maxOrigins, factory: _factory, coalesce: _coalesce, ...poolOptions } = more
    toConnections(poolOptions)
    this.#ownFallback = resolved.fallback === undefined ? new BuiltinFallback(resolved, systemClock) : null
    // A copy: a later change by the caller must not make origins connect in different ways.
    const fallback = resolved.fallback ?? this.#ownFallback
    this.#poolOptions = { ...poolOptions, ...toConnectOptions(options ?? {}, resolved), fallback }
    this.#options = toAgentOptions(options ?? {})
    this.#maxResponseSize = resolved.limits.maxResponseSize
    const { coalesce, factory } = this.#options
    const obstacle = coalesce === null ? null : toObstacle(resolved, factory)
    if (obstacle !== null) warnOfNoCoalescing(obstacle)
    this.#broker = coalesce === null || obstacle !== null ? null : new SessionBroker(coalesce, systemClock)
  }

  override get maxResponseSize(): number {
    return this.#maxResponseSize
  }

  /**
   * How busy each origin is now: snapshots, keyed by `URL.origin`, followed by a space and the `servername` if
   * requests set one.
   */
  get stats(): AgentStats {
    const all: AgentStats = {}
    for (const [origin, { dispatcher }] of this.#entries) {
      const stats = toStats(dispatcher)
      if (stats !== null) all[origin] = stats
    }
    return all
  }

  /**
   * Connects to an origin before its first request, as {@link Pool.connectAhead} does.
   *
   * @param origin an `http:` or `https:` URL without path, query, fragment or credentials
   * @throws the same as {@link Pool.connectAhead}; InvalidArgumentError for another `origin`; NotSupportedError if
   *   the agent's `factory` has created a dispatcher that is neither a Client nor a Pool
   */
  async connectAhead(origin: string | URL): Promise<HttpProtocol> {
    if (this.destroyed) throw new ClientDestroyedError()
    if (this.closed) throw new ClientClosedError()
    const entry = this.#toEntry({ origin, path: '/', method: 'GET' })
    entry.wasUsed = true
    if (entry.dispatcher instanceof OriginDispatcher) return entry.dispatcher.connectAhead()
    throw new NotSupportedError(
      `connectAhead() needs a Client or a Pool, not the factory's dispatcher for ${origin}`,
    )
  }

  protected override toShown(): object {
    const origins: Record<string, object> = {}
    for (const [origin, { dispatcher }] of this.#entries) {
      const stats = toStats(dispatcher)
      if (stats === null) continue
      const { pending, running } = stats
      const streams = stats.sessions?.map((session) => session.streams) ?? []
      origins[origin] = {
        pending,
        running,
        sessions: streams.length,
        streams: streams.reduce((a, b) => a + b, 0),
      }
    }
    return { ...super.toShown(), origins }
  }

  protected override dispatchChecked(options: DispatchOptions, handler: DispatchHandler): boolean {
    const entry = this.#toEntry(options)
    entry.wasUsed = true
    if (entry.own !== null) return LivingDispatcher.dispatchBy(entry.own, options, handler)
    return entry.dispatcher.dispatch(options, handler)
  }

  protected override async finish(): Promise<void> {
    await settleAll(this.#all().map(async (dispatcher) => closeOrAwait(dispatcher)))
  }

  protected override async tearDown(error: Error | null): Promise<void> {
    const gone = this.#all().map(async (dispatcher) => dispatcher.destroy(error))
    // The calls of the fallback have heard their end then.
    await settleAll([...gone, this.#ownFallback?.destroy(error) ?? Promise.resolve()])
  }

  #all(): DispatcherType[] {
    return [...Array.from(this.#entries.values(), ({ dispatcher }) => dispatcher), ...this.#leaving]
  }

  #toEntry({ origin: given, servername: givenName }: DispatchOptions): Entry {
    if (givenName === undefined || givenName === null) {
      // Most callers give the origin as `URL.origin` writes it: then it needn't be parsed.
      const known = typeof given === 'string' ? this.#entries.get(given) : undefined
      if (known !== undefined) return known
    }
    const origin = toOrigin(given)
    const servername = toServername(givenName, origin, this.#poolOptions.connect)
    const key = servername === null ? origin.href : `${origin.href} ${servername}`
    return this.#entries.get(key) ?? this.#open(key, origin, servername)
  }

  #open(key: string, origin: Origin, servername: string | null): Entry {
    const { maxOrigins, keptOrigins, factory } = this.#options
    const isHttp1 = !this.#options.mayBeHttp2(origin)
    if (isHttp1 && factory === null && this.#poolOptions.fallback === null) {
      const cure = origin.scheme === 'http' ? '; for HTTP/2 with prior knowledge, set h2c: true' : ''
      throw new NotSupportedError(`${origin.href} needs HTTP/1.1, but fallback is null${cure}`)
    }
    if (this.#entries.size >= keptOrigins) this.#dropIdleOrigins()
    if (this.#entries.size >= maxOrigins) {
      const found = `${origin.href} would exceed`
      throw toLimitError('maxOrigins', maxOrigins, found, ', and every other origin has requests')
    }
    const options = withServername(this.#poolOptions, servername)
    const entry = this.#make(origin, options, isHttp1, servername === null)
    LivingDispatcher.putBehind(entry.dispatcher)
    this.#forward(entry.dispatcher)
    this.#entries.set(key, entry)
    return entry
  }

  /**
   * @param isHttp1 whether the origin has to use HTTP/1.1
   * @param isPlain whether its requests name no other server
   */
  #make(origin: Origin, options: PoolOptions, isHttp1: boolean, isPlain: boolean): Entry {
    const { factory } = this.#options
    if (factory === null || factory === undefined) {
      if (isHttp1) return toOwnEntry(new Http1Origin(origin.href, options))
      const mayShare = isPlain && origin.scheme === 'https'
      return toOwnEntry(new Pool(origin.href, options, mayShare ? this.#broker?.toSession : undefined))
    }
    // A Client or Pool would speak HTTP/2 by prior knowledge.
    const told = isHttp1 && origin.scheme === 'http' ? { ...options, h2c: false } : options
    const made: unknown = factory(new URL(origin.href), told)
    if (isDispatcher(made) && typeof made.close === 'function' && typeof made.destroy === 'function')
      return { dispatcher: made, own: null, wasUsed: true }
    throw new InvalidReturnValueError(
      'The factory option returned something other than a dispatcher with dispatch(), close() and destroy()',
    )
  }

  /** Emits a dispatcher's events as the agent's own: the agent is the first of the targets. */
  #forward(dispatcher: DispatcherType): void {
    // A dispatcher of the caller's `factory` may have no events.
    if (typeof dispatcher.on !== 'function') return
    forwardEvents(dispatcher, this)
  }

  /**
   * Closes idle dispatchers, so that origins don't accumulate. First moves each dispatcher that was used since the
   * last time to the end of the map. So a request costs one assignment; an order by last use would cost two changes
   * of the map.
   */
  #dropIdleOrigins(): void {
    const { maxOrigins, keptOrigins } = this.#options
    let left = maxOrigins === Number.POSITIVE_INFINITY ? MAX_LOOKS : 2 * this.#entries.size
    for (const [origin, entry] of this.#entries) {
      if (left-- === 0 || this.#entries.size < keptOrigins) return
      this.#entries.delete(origin)
      if (!entry.wasUsed && isIdle(entry.dispatcher)) {
        this.#close(entry.dispatcher)
      } else {
        entry.wasUsed = false
        this.#entries.set(origin, entry)
      }
    }
  }

  #close(dispatcher: DispatcherType): void {
    this.#leaving.add(dispatcher)
    // The caller may have destroyed a dispatcher of its `factory`: closing that one fails, and it is gone, too.
    const onGone = (): boolean => this.#leaving.delete(dispatcher)
    new Promise<void>((resolve) => resolve(dispatcher.close())).then(onGone, onGone)
  }
}

function toOwnEntry(dispatcher: OriginDispatcher): Entry {
  return { dispatcher, own: dispatcher, wasUsed: true }
}

/** Null if a dispatcher from the caller's `factory` has no stats. */
function toStats(dispatcher: object): ClientStats | PoolStats | null {
  const stats: unknown = 'stats' in dispatcher ? dispatcher.stats : null
  return typeof stats === 'object' && stats !== null ? (stats as ClientStats | PoolStats) : null
}

/** A dispatcher without stats counts as busy. */
function isIdle(dispatcher: object): boolean {
  return dispatcher instanceof OriginDispatcher ? dispatcher.isIdle : toStats(dispatcher)?.size === 0
}

markClass(Agent, 'Agent')

export declare namespace Agent {
  /** The name that undici uses for {@link AgentOptions}. */
  export type Options = AgentOptions
}

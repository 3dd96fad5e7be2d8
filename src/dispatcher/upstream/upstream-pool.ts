/**
 * One service, by several upstreams.
 *
 * @module
 */

import type { PoolOptions } from '../../../types/client.ts'
import type { Dispatcher as DispatcherType } from '../../../types/dispatcher.ts'
import type { DispatchHandler } from '../../../types/handler.ts'
import type { DispatchOptions } from '../../../types/request.ts'
import type { UpstreamInit, UpstreamPoolOptions, UpstreamPoolStats } from '../../../types/upstream.ts'
import { markClass } from '../../core/class-mark.ts'
import { systemClock } from '../../core/clock.ts'
import { ClientClosedError, ClientDestroyedError, InvalidReturnValueError } from '../../errors/errors.ts'
import { toTwoShapedHandler } from '../../handler/legacy-handler.ts'
import type { Origin } from '../../options/options.ts'
import { toOrigin } from '../../options/options.ts'
import type { RepeatPermit } from '../../scheduler/repeat-permit.ts'
import { isDispatcher } from '../dispatcher.ts'
import { LivingDispatcher } from '../life-cycle.ts'
import { OriginDispatcher } from '../origin-dispatcher.ts'
import { Pool } from '../pool.ts'
import { closeOrAwait, forwardEvents, settleAll } from '../together.ts'
import { HealthChecks } from './health-check.ts'
import { RetryBudget } from './retry-budget.ts'
import type { UpstreamDispatch } from './upstream.ts'
import { Upstream } from './upstream.ts'
import type { UpstreamCallOwner } from './upstream-call.ts'
import { toUpstreamCall } from './upstream-call.ts'
import type { ResolvedUpstreamPoolOptions } from './upstream-options.ts'
import { toUpstream, toUpstreamPoolOptions } from './upstream-options.ts'
import { UpstreamSet } from './upstream-set.ts'

/**
 * A dispatcher for one service that several upstreams serve. Each request goes to one of them, whatever origin the
 * request names.
 *
 * Of two upstreams, the one gets the request that is less busy, responds sooner and fails less. An upstream that fails
 * several times in a row is ejected for a while, and then probed by one request. If an upstream fails before any part
 * of the response has come, another one gets the request, where that does no harm and the budget allows it.
 *
 * @example
 * ```ts
 * const service = new UpstreamPool(['https://a.internal:8443', { origin: 'https://b.internal:8443', weight: 2 }])
 * const { statusCode } = await service.request({ path: '/', method: 'GET' })
 * await service.close()
 * ```
 */
export class UpstreamPool extends LivingDispatcher {
  readonly #options: ResolvedUpstreamPoolOptions
  readonly #upstreams: UpstreamSet
  readonly #budget: RetryBudget
  /** Null: calls show how the upstreams are. */
  readonly #checks: HealthChecks | null
  /** Dispatchers of upstreams that were removed, while their last calls run. */
  readonly #leaving = new Set<DispatcherType>()
  readonly #callOwner: UpstreamCallOwner
  readonly #permit: RepeatPermit = { mayRepeat: () => this.#mayRepeat() }
  /** Calls that haven't ended. */
  #unsettled = 0
  /** Resolves when no call is left; null until `close()` waits for that. */
  #onIdle: (() => void) | null = null

  /**
   * @param upstreams one, or a list: origins, or objects with an origin, a weight, and options of their own
   * @param options see {@link UpstreamPoolOptions}
   * @throws InvalidArgumentError that names the option, its value, and what would be accepted
   */
  constructor(
    upstreams: string | URL | UpstreamInit | readonly (string | URL | UpstreamInit)[] = [],
    options?: UpstreamPoolOptions,
  ) {
    const resolved = toUpstreamPoolOptions(options)
    super(systemClock, resolved)
    this.#options = resolved
    this.#upstreams = new UpstreamSet(systemClock, Math.random, resolved.rules)
    this.#budget = new RetryBudget(resolved.retryBudget)
    const { healthCheck } = resolved
    this.#checks = healthCheck === null ? null : new HealthChecks(healthCheck, systemClock, Math.random)
    const { failureStatuses, maxRetries, maxReplayBuffer, replaySafe, requestTimeout } = resolved
    const isDestroyed = (): boolean => this.destroyed
    this.#callOwner = {
      ...{ failureStatuses, maxRetries, maxReplayBuffer, replaySafe, requestTimeout },
      maxOverload: resolved.rules.maxEjectionTime,
      upstreams: this.#upstreams,
      budget: this.#budget,
      repeats: resolved.factory === null || resolved.factory === undefined ? 0 : null,
      get mayRetry() {
        return !isDestroyed()
      },
      onCallSettled: () => this.#onCallSettled(),
    }
    const list: readonly unknown[] = Array.isArray(upstreams) ? upstreams : [upstreams]
    // All are checked before the first is made.
    const checked = list.map((upstream) => toUpstream(upstream, resolved.pool))
    for (const { origin, weight, pool } of checked) this.#add(origin, weight, pool)
  }

  protected override get isOriginless(): boolean {
    return true
  }

  override get maxResponseSize(): number {
    return this.#options.maxResponseSize
  }

  /** The origins of the upstreams that take requests. */
  get upstreams(): string[] {
    return this.#upstreams.all.map(({ origin }) => origin)
  }

  /** How busy and how healthy each upstream is now, by its `URL.origin`: snapshots. */
  get stats(): UpstreamPoolStats {
    const now = this.#upstreams.now()
    return Object.fromEntries(this.#upstreams.all.map((upstream) => [upstream.origin, upstream.toStats(now)]))
  }

  /** The dispatcher of an upstream; `undefined` if there is no such upstream. @throws InvalidArgumentError */
  getUpstream(upstream: string | URL): DispatcherType | undefined {
    return this.#upstreams.find(toOrigin(upstream).href)?.dispatcher
  }

  /**
   * Adds an upstream. No effect if there is one with this origin: remove that one first, to give it another weight.
   *
   * @throws InvalidArgumentError, and ClientClosedError or ClientDestroyedError after `close()` or `destroy()`
   */
  addUpstream(upstream: string | URL | UpstreamInit): this {
    if (this.destroyed) throw new ClientDestroyedError()
    if (this.closed) throw new ClientClosedError()
    const { origin, weight, pool } = toUpstream(upstream, this.#options.pool)
    this.#add(origin, weight, pool)
    return this
  }

  /**
   * Removes an upstream: it gets no further requests, those that it has end, and then its connections are closed. No
   * effect if there is no such upstream.
   *
   * @throws InvalidArgumentError
   */
  removeUpstream(upstream: string | URL): this {
    const found = this.#upstreams.find(toOrigin(upstream).href)
    if (found === null) return this
    this.#upstreams.delete(found)
    this.#checks?.delete(found)
    const { dispatcher } = found
    this.#leaving.add(dispatcher)
    // The caller may have destroyed a dispatcher of its `factory`: closing that one fails, and it is gone, too.
    const onGone = (): boolean => this.#leaving.delete(dispatcher)
    new Promise<void>((resolve) => resolve(dispatcher.close())).then(onGone, onGone)
    return this
  }

  protected override toShown(): object {
    const now = this.#upstreams.now()
    const upstreams: Record<string, object> = {}
    for (const upstream of this.#upstreams.all) {
      const { state, weight, inFlight, latency } = upstream.toStats(now)
      upstreams[upstream.origin] = { state, weight, inFlight, latency }
    }
    return { ...super.toShown(), upstreams }
  }

  protected override dispatchChecked(options: DispatchOptions, handler: DispatchHandler): boolean {
    const call = toUpstreamCall(this.#callOwner, toRepeatable(options), handler)
    this.#unsettled++
    return call.start()
  }

  /** The dispatchers stay open until the last call has ended: it may still be sent to another one. */
  protected override async finish(): Promise<void> {
    this.#checks?.stop()
    if (this.#unsettled > 0) {
      await new Promise<void>((resolve) => {
        this.#onIdle = resolve
      })
    }
    await settleAll(this.#all().map(async (dispatcher) => closeOrAwait(dispatcher)))
  }

  protected override async tearDown(error: Error | null): Promise<void> {
    this.#checks?.stop()
    await settleAll(this.#all().map(async (dispatcher) => dispatcher.destroy(error)))
  }

  #all(): DispatcherType[] {
    return [...this.#upstreams.all.map(({ dispatcher }) => dispatcher), ...this.#leaving]
  }

  /** Either a Pool sends a call again or another upstream gets it, and never both. */
  #mayRepeat(): boolean {
    if (this.#upstreams.all.length > 1 && this.#options.maxRetries > 0) return false
    if (!this.#budget.spend(this.#upstreams.now())) return false
    this.#callOwner.repeats = (this.#callOwner.repeats ?? 0) + 1
    return true
  }

  #onCallSettled(): void {
    this.#unsettled--
    if (this.#unsettled === 0) this.#onIdle?.()
  }

  #add(origin: Origin, weight: number, options: PoolOptions): void {
    const { href } = origin
    if (this.#upstreams.find(href) !== null) return
    const { dispatcher, dispatch } = this.#make(origin, options)
    LivingDispatcher.putBehind(dispatcher)
    // A dispatcher of the caller's `factory` may have no events.
    if (typeof dispatcher.on === 'function') forwardEvents(dispatcher, this)
    const now = this.#upstreams.now()
    const upstream = new Upstream(href, weight, dispatcher, dispatch, this.#options.rules, now)
    this.#upstreams.add(upstream)
    this.#checks?.add(upstream)
  }

  #make(origin: Origin, options: PoolOptions): { dispatcher: DispatcherType; dispatch: UpstreamDispatch } {
    const { factory } = this.#options
    const { href } = origin
    if (factory === null || factory === undefined) {
      const pool = new Pool(href, options)
      OriginDispatcher.limitRepeats(pool, this.#permit)
      return {
        dispatcher: pool,
        dispatch: (request, handler) =>
          LivingDispatcher.dispatchBy(
            pool,
            isElsewhere(request, href) ? { ...request, origin: href } : request,
            handler,
          ),
      }
    }
    const made: unknown = factory(new URL(href), options)
    if (isDispatcher(made) && typeof made.close === 'function' && typeof made.destroy === 'function') {
      return {
        dispatcher: made,
        dispatch: (request, handler) =>
          made.dispatch({ ...request, origin: href }, toTwoShapedHandler(request, handler)),
      }
    }
    throw new InvalidReturnValueError(
      'The factory option returned something else than a dispatcher, with dispatch(), close() and destroy()',
    )
  }
}

/** Whether a request names another origin: its copy names the upstream's. */
function isElsewhere({ origin }: DispatchOptions, href: string): boolean {
  return origin !== undefined && origin !== null && origin !== href
}

/** An iterator of header fields can be read once, and a further upstream needs them, too. */
function toRepeatable(options: DispatchOptions): DispatchOptions {
  const { headers } = options
  if (
    typeof headers !== 'object' ||
    headers === null ||
    !('next' in headers) ||
    !(Symbol.iterator in headers)
  )
    return options
  return { ...options, headers: [...(headers as Iterable<readonly [string, string]>)] }
}

markClass(UpstreamPool, 'UpstreamPool')

export declare namespace UpstreamPool {
  /** The name in undici's manner of {@link UpstreamPoolOptions}. */
  export type Options = UpstreamPoolOptions
  /** The name in undici's manner of {@link UpstreamPoolStats}. */
  export type Stats = UpstreamPoolStats
}

/**
 * One service with several upstreams.
 *
 * @module
 */

import { isDeepStrictEqual } from 'node:util'
import type { Dispatcher as DispatcherType } from '../../../types/dispatcher.ts'
import type { DispatchHandler } from '../../../types/handler.ts'
import type { DispatchOptions } from '../../../types/request.ts'
import type {
  UpstreamInit,
  UpstreamInput,
  UpstreamPoolOptions,
  UpstreamPoolStats,
  UpstreamSource,
} from '../../../types/upstream.ts'
import { markClass } from '../../core/class-mark.ts'
import { Deadlines, systemClock } from '../../core/clock.ts'
import { noop } from '../../core/noop.ts'
import { throwUncaught } from '../../core/original-timers.ts'
import {
  ClientClosedError,
  ClientDestroyedError,
  InvalidReturnValueError,
  toCodedError,
  toError,
} from '../../errors/errors.ts'
import { toTwoShapedHandler } from '../../handler/legacy-handler.ts'
import { toLimits, toQueueLimit } from '../../options/limits.ts'
import type { RepeatPermit } from '../../scheduler/repeat-permit.ts'
import { Agent } from '../agent.ts'
import { isDispatcher } from '../dispatcher.ts'
import { LivingDispatcher } from '../life-cycle.ts'
import { OriginDispatcher } from '../origin-dispatcher.ts'
import { Pool } from '../pool.ts'
import { closeOrAwait, forwardEvents, settleAll } from '../together.ts'
import { Discoveries } from './discovery/discoveries.ts'
import type { WaitLimit } from './discovery/waiting-calls.ts'
import { HealthChecks } from './health-check.ts'
import { HedgedCall, mayHedge } from './hedged-call.ts'
import type { FollowedRedirect } from './redirects.ts'
import { Redirects } from './redirects.ts'
import type { ResolvedUpstream } from './resolved-upstream.ts'
import { RetryBudget } from './retry-budget.ts'
import type { UpstreamDispatch } from './upstream.ts'
import { Upstream } from './upstream.ts'
import type { UpstreamCall, UpstreamCallOwner } from './upstream-call.ts'
import { toUpstreamCall } from './upstream-call.ts'
import type { ResolvedUpstreamPoolOptions } from './upstream-options.ts'
import {
  toAnswer,
  toForeignOptions,
  toUpstream,
  toUpstreamName,
  toUpstreamPoolOptions,
  toUpstreamsAndSources,
} from './upstream-options.ts'
import { UpstreamSet } from './upstream-set.ts'

/**
 * A dispatcher for one service with several upstreams. Each request goes to one of them, whatever origin it names.
 *
 * The pool compares two upstreams and picks the one that is less busy, responds faster and fails less. It ejects an
 * upstream after several failures in a row, and later probes it with one request. If an upstream fails before any part
 * of the response has arrived, the pool sends the request to another one, if that is safe and the budget allows it.
 *
 * You name the upstreams, or pass sources that report them and their changes, such as `dns()`.
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
  readonly #discoveries: Discoveries
  readonly #budget: RetryBudget
  /** Null: only calls show how healthy the upstreams are. */
  readonly #checks: HealthChecks | null
  /** Null: redirects go to upstreams, too. */
  readonly #redirects: Redirects | null
  /** For the targets of redirects; null until there was one. */
  #agent: Agent | null = null
  /** What each upstream was created from. */
  readonly #made = new Map<Upstream, ResolvedUpstream>()
  /** Dispatchers of removed upstreams, while their last calls run. */
  readonly #leaving = new Set<DispatcherType>()
  readonly #callOwner: UpstreamCallOwner
  /** The times at which calls are late: most are short, and few times are reached. */
  readonly #hedges = new Deadlines(systemClock).listFor(1)
  readonly #permit: RepeatPermit = { mayRepeat: () => this.#mayRepeat() }
  /** Whether upstreams get calls only while they are connected, as long as one is. */
  #prefersConnected = false
  /** Calls that haven't ended. */
  #unsettled = 0
  /** Resolves when no calls are left; null until `close()` waits for that. */
  #onIdle: (() => void) | null = null

  /**
   * Creates a dispatcher for one service with several upstreams.
   *
   * @param upstreams one, or a list: origins; objects with an origin and, for example, a weight; sources of upstreams,
   *   such as `dns()`, a function, or an async iterable
   * @param options see {@link UpstreamPoolOptions}
   * @throws InvalidArgumentError that names the option, its value, and what would be accepted
   */
  constructor(
    upstreams: UpstreamInput | UpstreamSource | readonly (UpstreamInput | UpstreamSource)[] = [],
    options?: UpstreamPoolOptions,
  ) {
    const resolved = toUpstreamPoolOptions(options)
    super(systemClock, resolved)
    this.#options = resolved
    this.#upstreams = new UpstreamSet(systemClock, Math.random, resolved.rules)
    this.#budget = new RetryBudget(resolved.retryBudget)
    const { healthCheck } = resolved
    this.#checks = healthCheck === null ? null : new HealthChecks(healthCheck, systemClock, Math.random)
    this.#redirects = resolved.leavesByRedirect ? new Redirects((origin) => this.#isUpstream(origin)) : null
    // All are checked before the first one is created.
    const given = toUpstreamsAndSources(upstreams, resolved.pool)
    this.#discoveries = new Discoveries(given.sources, resolved.discovery, systemClock, Math.random, {
      check: (answer) => toAnswer(answer, resolved.pool),
      onAnswer: () => this.#reconcile(),
      onError: (error) => this.#tellError(error),
    })
    const { failureStatuses, maxRetries, maxReplayBuffer, replaySafe, requestTimeout } = resolved
    const isDestroyed = (): boolean => this.destroyed
    this.#callOwner = {
      ...{ failureStatuses, maxRetries, maxReplayBuffer, replaySafe, requestTimeout },
      maxOverload: resolved.rules.maxEjectionTime,
      upstreams: this.#upstreams,
      budget: this.#budget,
      redirects: this.#redirects,
      discoveries: given.sources.length === 0 ? null : this.#toWaitingRoom(),
      repeats: resolved.factory === null || resolved.factory === undefined ? 0 : null,
      get mayRetry() {
        return !isDestroyed()
      },
      onCallSettled: () => this.#onCallSettled(),
    }
    this.#addFirst(given.upstreams)
    this.#discoveries.start()
  }

  /**
   * Gives calls only to upstreams that are connected, as long as one is. The caller has to connect the others.
   *
   * @internal
   */
  static preferConnected(it: UpstreamPool): void {
    it.#prefersConnected = true
    for (const upstream of it.#upstreams.all) it.#requireConnection(upstream)
  }

  protected override get isOriginless(): boolean {
    return true
  }

  override get maxResponseSize(): number {
    return this.#options.maxResponseSize
  }

  /** The upstreams that get requests: the `URL.origin` of each, followed by `#` and its address if it has one. */
  get upstreams(): string[] {
    return this.#upstreams.all.map(({ name }) => name)
  }

  /** How busy and how healthy each upstream is now: snapshots, by the names in {@link upstreams}. */
  get stats(): UpstreamPoolStats {
    const now = this.#upstreams.now()
    return Object.fromEntries(this.#upstreams.all.map((upstream) => [upstream.name, upstream.toStats(now)]))
  }

  /**
   * Returns an upstream's dispatcher; `undefined` if there is no such upstream.
   *
   * @param upstream an origin, a name from {@link upstreams}, or an object with an origin and an address
   * @throws InvalidArgumentError
   */
  getUpstream(upstream: string | URL | UpstreamInit): DispatcherType | undefined {
    return this.#upstreams.find(toUpstreamName(upstream, this.#options.pool))?.dispatcher
  }

  /**
   * Adds an upstream. If there is one with this origin and address, it stays as it is, even if a source that has
   * reported it no longer does. To change its weight, remove it first.
   *
   * @throws InvalidArgumentError, and ClientClosedError or ClientDestroyedError after `close()` or `destroy()`
   */
  addUpstream(upstream: string | URL | UpstreamInit): this {
    if (this.destroyed) throw new ClientDestroyedError()
    if (this.closed) throw new ClientClosedError()
    const resolved = toUpstream(upstream, this.#options.pool)
    if (this.#upstreams.find(resolved.name) !== null) {
      // It stays as it is: a source that drops it no longer removes it.
      this.#discoveries.keep(resolved.name)
      return this
    }
    if (!this.#add(resolved)) throw new ClientDestroyedError()
    this.#discoveries.add(resolved)
    this.#discoveries.beginWaiting()
    return this
  }

  /**
   * Removes an upstream: it gets no more requests, finishes those it has, and then its connections close. No effect
   * if there is no such upstream. If a source reports it again, it returns.
   *
   * @param upstream an origin, a name from {@link upstreams}, or an object with an origin and an address
   * @throws InvalidArgumentError
   */
  removeUpstream(upstream: string | URL | UpstreamInit): this {
    const found = this.#upstreams.find(toUpstreamName(upstream, this.#options.pool))
    if (found === null) return this
    this.#discoveries.delete(found.name)
    this.#drain(found)
    return this
  }

  protected override toShown(): object {
    const now = this.#upstreams.now()
    const upstreams: Record<string, object> = {}
    for (const upstream of this.#upstreams.all) {
      const { state, weight, inFlight, latency } = upstream.toStats(now)
      upstreams[upstream.name] = { state, weight, inFlight, latency }
    }
    return { ...super.toShown(), upstreams }
  }

  protected override dispatchChecked(options: DispatchOptions, handler: DispatchHandler): boolean {
    const redirect = this.#redirects?.find(options, handler) ?? null
    if (redirect !== null) return this.#leave(redirect, options, handler)
    const call = this.#toCall(toRepeatable(options), handler)
    this.#unsettled++
    return call.start()
  }

  #toCall(options: DispatchOptions, handler: DispatchHandler): UpstreamCall | HedgedCall {
    const { hedge } = this.#options
    const owner = this.#callOwner
    if (hedge !== null && mayHedge(options)) {
      const delay = this.#upstreams.toLateness(hedge.after, this.#upstreams.now())
      if (delay !== null) return new HedgedCall(owner, this.#hedges, options, handler, delay)
    }
    return toUpstreamCall(owner, options, handler)
  }

  /** The dispatchers stay open until the last call has ended, because that may still be sent to another one. */
  protected override async finish(): Promise<void> {
    this.#checks?.stop()
    if (this.#unsettled > 0) {
      await new Promise<void>((resolve) => {
        this.#onIdle = resolve
      })
    }
    this.#discoveries.stop()
    await settleAll(this.#all().map(async (dispatcher) => closeOrAwait(dispatcher)))
  }

  protected override async tearDown(error: Error | null): Promise<void> {
    this.#checks?.stop()
    this.#hedges.stop()
    this.#discoveries.stop()
    this.#discoveries.failWaiting(() => error ?? new ClientDestroyedError())
    await settleAll(this.#all().map(async (dispatcher) => dispatcher.destroy(error)))
  }

  #all(): DispatcherType[] {
    const agents = this.#agent === null ? [] : [this.#agent]
    return [...this.#upstreams.all.map(({ dispatcher }) => dispatcher), ...this.#leaving, ...agents]
  }

  /** Adds and removes upstreams as needed. Those that stay keep their connections, health and load. */
  #reconcile(): void {
    const { wanted } = this.#discoveries
    const before = new Set(this.upstreams)
    const added: string[] = []
    for (const upstream of [...this.#upstreams.all]) {
      const next = wanted.get(upstream.name)
      if (next === undefined || !this.#update(upstream, next)) this.#drain(upstream)
    }
    this.#upstreams.onPriorityChange()
    for (const upstream of wanted.values()) {
      // A listener may have destroyed the pool: then no more are created.
      if (this.destroyed) return
      if (this.#upstreams.find(upstream.name) === null && this.#tryToAdd(upstream)) added.push(upstream.name)
    }
    if (this.destroyed) return
    const { upstreams } = this
    const removed = [...before].filter((name) => !upstreams.includes(name) || added.includes(name))
    if (upstreams.length > 0) this.#discoveries.beginWaiting()
    if (added.length + removed.length > 0) this.emit('upstreams', { upstreams, added, removed })
  }

  /** @returns false if its other options have changed, so that another one has to replace it */
  #update(upstream: Upstream, { weight, priority, own }: ResolvedUpstream): boolean {
    if (!isDeepStrictEqual(this.#made.get(upstream)?.own, own)) return false
    upstream.weight = weight
    upstream.priority = priority
    return true
  }

  /** If the caller's `factory` throws, the other upstreams are added all the same. */
  #tryToAdd(upstream: ResolvedUpstream): boolean {
    try {
      return this.#add(upstream)
    } catch (thrown) {
      this.#tellError(toCodedError(toError(thrown)))
      return false
    }
  }

  /** Emits an error. If a listener throws, the pool continues. */
  #tellError(error: Error & { readonly code: string }): void {
    try {
      this.emit('discoveryError', error)
    } catch (thrown) {
      throwUncaught(thrown)
    }
  }

  #drain(upstream: Upstream): void {
    this.#upstreams.delete(upstream)
    this.#made.delete(upstream)
    this.#checks?.delete(upstream)
    const { dispatcher } = upstream
    this.#leaving.add(dispatcher)
    // The caller may have destroyed a dispatcher from its `factory`: closing that one fails, and it is gone, too.
    const onGone = (): boolean => this.#leaving.delete(dispatcher)
    new Promise<void>((resolve) => resolve(dispatcher.close())).then(onGone, onGone)
  }

  #toWaitingRoom(): NonNullable<UpstreamCallOwner['discoveries']> {
    const discoveries = this.#discoveries
    return {
      wait: (call, options) => discoveries.wait(call, this.#toWaitLimit(options)),
      unwait: (call) => discoveries.unwait(call),
    }
  }

  /** A call waits for an upstream no longer than for a connection, or in a queue. */
  #toWaitLimit(options: DispatchOptions): WaitLimit {
    const limits = toLimits(options, this.#options.limits)
    const candidates: WaitLimit[] = [
      { name: 'connectTimeout', value: limits.connectTimeout ?? this.#options.connectTimeout },
      { name: 'queueTimeout', value: toQueueLimit(limits) },
      { name: 'requestTimeout', value: limits.requestTimeout },
    ]
    const [shortest] = candidates.filter(({ value }) => value > 0).sort((a, b) => a.value - b.value)
    return shortest ?? { name: 'connectTimeout', value: 0 }
  }

  #isUpstream(origin: string): boolean {
    for (const upstream of this.#made.values()) if (upstream.origin.href === origin) return true
    return false
  }

  /** Sends a request to the target of a redirect. */
  #leave(redirect: FollowedRedirect, options: DispatchOptions, handler: DispatchHandler): boolean {
    if (this.#agent === null) {
      this.#agent = new Agent(toForeignOptions(this.#options))
      LivingDispatcher.putBehind(this.#agent)
      forwardEvents(this.#agent, this)
    }
    return LivingDispatcher.dispatchBy(
      this.#agent,
      options,
      this.#redirects?.watch(handler, redirect) ?? handler,
    )
  }

  /** Either a Pool sends a call again, or another upstream gets it, but never both. */
  #mayRepeat(): boolean {
    const { hedge, maxRetries } = this.#options
    if (this.#upstreams.all.length > 1 && (maxRetries > 0 || hedge !== null)) return false
    if (!this.#budget.spend(this.#upstreams.now())) return false
    this.#callOwner.repeats = (this.#callOwner.repeats ?? 0) + 1
    return true
  }

  #onCallSettled(): void {
    this.#unsettled--
    if (this.#unsettled === 0) this.#onIdle?.()
  }

  /** Adds the caller's upstreams. If one can't be created, there is no UpstreamPool that could end the others. */
  #addFirst(upstreams: readonly ResolvedUpstream[]): void {
    try {
      for (const upstream of upstreams) {
        this.#add(upstream)
        this.#discoveries.add(upstream)
      }
    } catch (thrown) {
      settleAll(this.#all().map(async (dispatcher) => dispatcher.destroy())).catch(noop)
      throw thrown
    }
  }

  /** @returns false if the caller's `factory` has destroyed the pool */
  #add(resolved: ResolvedUpstream): boolean {
    const { name, weight, priority } = resolved
    if (this.#upstreams.find(name) !== null) return true
    const { dispatcher, dispatch } = this.#make(resolved)
    // The factory may have added it by itself, too.
    if (this.destroyed || this.#upstreams.find(name) !== null) {
      settleAll([(async () => dispatcher.destroy())()]).catch(noop)
      return !this.destroyed
    }
    LivingDispatcher.putBehind(dispatcher)
    const now = this.#upstreams.now()
    const upstream = new Upstream(name, weight, dispatcher, dispatch, this.#options.rules, now, priority)
    // A dispatcher of the caller's `factory` may have no events.
    if (typeof dispatcher.on === 'function') {
      forwardEvents(dispatcher, this)
      if (!this.#discoveries.areNone) this.#watch(upstream)
    }
    if (this.#prefersConnected) this.#requireConnection(upstream)
    this.#made.set(upstream, resolved)
    this.#upstreams.add(upstream)
    // While it is closing, calls may still wait for an upstream; checks have ended.
    if (!this.closed) this.#checks?.add(upstream)
    return true
  }

  #requireConnection(upstream: Upstream): void {
    if (upstream.dispatcher instanceof OriginDispatcher) upstream.connects = upstream.dispatcher
  }

  /** Notices when addresses may have changed: one of the upstream's servers is gone, or about to go. */
  #watch(upstream: Upstream): void {
    const { dispatcher } = upstream
    const onSign = (): void => {
      if (this.#made.has(upstream)) this.#discoveries.refresh()
    }
    dispatcher.on('connectionError', onSign)
    dispatcher.on('disconnect', (_origin, _targets, { code }) => {
      // An idle HTTP/1.1 connection, or one that was not to be kept: its server is there.
      if (code !== 'UND_ERR_INFO') onSign()
    })
    if (dispatcher instanceof OriginDispatcher) OriginDispatcher.watchGoaways(dispatcher, onSign)
  }

  #make({ origin, pool: options }: ResolvedUpstream): {
    dispatcher: DispatcherType
    dispatch: UpstreamDispatch
  } {
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
      'The factory option returned something other than a dispatcher with dispatch(), close() and destroy()',
    )
  }
}

/** Whether a request names another origin: its copy gets the upstream's. */
function isElsewhere({ origin }: DispatchOptions, href: string): boolean {
  return origin !== undefined && origin !== null && origin !== href
}

/** An iterator of header fields can be read only once, but another upstream needs them, too. */
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
  /** The name, in undici's manner, of {@link UpstreamPoolOptions}. */
  export type Options = UpstreamPoolOptions
  /** The name, in undici's manner, of {@link UpstreamPoolStats}. */
  export type Stats = UpstreamPoolStats
}

/**
 * The upstreams that take calls, and which of them takes the next one.
 *
 * @module
 */

import type { DispatchOptions } from '../../../types/request.ts'
import type { Clock } from '../../core/clock.ts'
import { choose } from './choice.ts'
import { isReplayableBody, isSafeToRepeat } from './failure.ts'
import { LatencyQuantiles } from './latency-quantiles.ts'
import { GENERATION } from './open-responses.ts'
import { isOutlier, toOutlierThreshold } from './outliers.ts'
import type { Upstream, UpstreamRules } from './upstream.ts'

/** How the upstreams are judged together. */
export interface UpstreamSetRules extends UpstreamRules {
  /** If more of them are ejected or overloaded, calls go to all. Percent. */
  readonly maxEjectionPercent: number
  /** Whether calls probe ejected upstreams: health checks do otherwise. */
  readonly mayProbe: boolean
}

/** How often success rates are compared. Milliseconds. */
const INTERVAL = 10_000
/** The least limit of a probe. Milliseconds. */
const MIN_PATIENCE = 1_000
/** When a call is late: milliseconds, or when it has taken longer than 95 % of the others. */
export type HedgeDelay = 'p95' | number

/** With fewer latencies it isn't known what is usual: one in twenty may take longer. */
const MIN_SAMPLES = 20
/** Latencies up to this quantile are usual. */
const USUAL = 0.95

/** The upstreams of a service, without those that were removed. */
export class UpstreamSet {
  readonly #clock: Clock
  readonly #random: () => number
  readonly #rules: UpstreamSetRules
  readonly #upstreams: Upstream[] = []
  /** The same by priority, the first to be used first; null while all have the same priority. */
  #levels: readonly (readonly Upstream[])[] | null = null
  /** The levels are to be made anew: by the next choice, since an answer may have thousands of upstreams. */
  #areLevelsStale = false
  readonly #latencies: LatencyQuantiles
  /** When success rates are compared next. */
  #comparesAt: number
  /** When streams are counted next. */
  #countsAt: number
  /** Calls since they were counted. */
  #calls = 0

  /** @param random gives a number from 0 to below 1 */
  constructor(clock: Clock, random: () => number, rules: UpstreamSetRules) {
    this.#clock = clock
    this.#random = random
    this.#rules = rules
    const now = clock.now()
    this.#latencies = new LatencyQuantiles(rules.latencyWindow, now)
    this.#comparesAt = now + INTERVAL
    this.#countsAt = now + GENERATION
  }

  get all(): readonly Upstream[] {
    return this.#upstreams
  }

  /** Milliseconds of the clock. */
  now(): number {
    return this.#clock.now()
  }

  find(name: string): Upstream | null {
    return this.#upstreams.find((upstream) => upstream.name === name) ?? null
  }

  add(upstream: Upstream): void {
    upstream.countsStreams = this.#upstreams[0]?.countsStreams ?? false
    this.#upstreams.push(upstream)
    this.#areLevelsStale = true
  }

  delete(upstream: Upstream): void {
    const index = this.#upstreams.indexOf(upstream)
    if (index !== -1) this.#upstreams.splice(index, 1)
    this.#areLevelsStale = true
  }

  /** An upstream has another priority than before. */
  onPriorityChange(): void {
    this.#areLevelsStale = true
  }

  #updateLevels(): void {
    this.#areLevelsStale = false
    const priorities = [...new Set(this.#upstreams.map(({ priority }) => priority))].sort((a, b) => a - b)
    this.#levels =
      priorities.length < 2
        ? null
        : priorities.map((priority) => this.#upstreams.filter((upstream) => upstream.priority === priority))
  }

  /**
   * Whether calls may eject an upstream. Not while so many others are unwell, too, that with all of them out calls
   * would go to all: then the upstreams aren't at fault, and those that chance leaves would have to bear it.
   */
  mayEject(upstream: Upstream, now: number): boolean {
    let failing = 1
    for (const other of this.#upstreams) if (other !== upstream && other.isUnwell(now)) failing++
    return failing === 1 || failing * 100 <= this.#rules.maxEjectionPercent * this.#upstreams.length
  }

  /** A good response has come. */
  recordLatency(latency: number, now: number): void {
    this.#latencies.record(latency, now)
  }

  /** What few latencies exceed; 0 when there are none. Milliseconds. */
  toUsualLatency(now: number): number {
    return this.#latencies.at(USUAL, now)
  }

  /**
   * After how long a call is late, in milliseconds; null when it isn't known, or no other upstream could get the call.
   *
   * @param after as of `hedge`
   */
  toLateness(after: HedgeDelay, now: number): number | null {
    if (this.#upstreams.length < 2) return null
    if (after !== 'p95') return after
    return this.#latencies.count(now) < MIN_SAMPLES ? null : this.toUsualLatency(now)
  }

  /** How long the first probe of an upstream may take until its response's header. Milliseconds. */
  toPatience(now: number): number {
    return Math.max(MIN_PATIENCE, 2 * this.toUsualLatency(now))
  }

  /**
   * The upstream for a request: one whose ejection is over, if the request may probe it; else one of those that are
   * neither ejected nor overloaded; else, as a last resort, any.
   *
   * @param tried upstreams that have got the request already; null: none
   * @returns null when there is no other upstream
   */
  choose(options: DispatchOptions, tried: readonly Upstream[] | null, now: number): Upstream | null {
    const upstreams = this.#upstreams
    const [only] = upstreams
    if (only !== undefined && upstreams.length === 1) return tried?.includes(only) === true ? null : only
    if (now >= this.#comparesAt) this.#compare(now)
    if (now >= this.#countsAt) this.#countStreams(now)
    this.#calls++
    if (this.#areLevelsStale) this.#updateLevels()
    if (this.#levels !== null) return this.#chooseByPriority(this.#levels, options, tried, now)
    let leftOut = 0
    let due: Upstream | null = null
    for (const upstream of upstreams) {
      if (!upstream.isLeftOut(now)) continue
      leftOut++
      if (due === null && tried === null && this.#mayProbe(upstream, options, now)) due = upstream
    }
    const isPanic = leftOut * 100 > this.#rules.maxEjectionPercent * upstreams.length
    if (due !== null && !isPanic) return due
    return (
      choose(upstreams, tried, isPanic, now, this.#random) ??
      choose(upstreams, tried, true, now, this.#random)
    )
  }

  /**
   * The first level of which one upstream isn't left out, and wasn't tried. An upstream of a level before it is probed
   * when its time is over: so the requests go back there. If all levels are out, the first one gets the request.
   */
  #chooseByPriority(
    levels: readonly (readonly Upstream[])[],
    options: DispatchOptions,
    tried: readonly Upstream[] | null,
    now: number,
  ): Upstream | null {
    for (const level of levels) {
      const out = level.filter((upstream) => upstream.isLeftOut(now))
      const isOut = out.length === level.length
      const isPanic = out.length * 100 > this.#rules.maxEjectionPercent * level.length
      if (tried === null && (isOut || !isPanic)) {
        const due = out.find((upstream) => this.#mayProbe(upstream, options, now))
        if (due !== undefined) return due
      }
      if (isOut) continue
      const chosen = choose(level, tried, isPanic, now, this.#random)
      if (chosen !== null) return chosen
    }
    for (const level of levels) {
      const chosen = choose(level, tried, true, now, this.#random)
      if (chosen !== null) return chosen
    }
    return null
  }

  /** A request that may be lost, or has failed once already, is a probe only if no other request is. */
  #mayProbe(upstream: Upstream, options: DispatchOptions, now: number): boolean {
    const { ejection } = upstream
    if (!this.#rules.mayProbe || upstream.isOverloaded(now) || !ejection.isDue(now)) return false
    return ejection.isOverdue(now) || (isSafeToRepeat(options) && isReplayableBody(options.body))
  }

  /**
   * Whether streams count as load. Beside many short calls they don't: an upstream that is new has none of them, and
   * would get too many of the short calls. Where more of them are open than calls come, they are the service's load.
   */
  #countStreams(now: number): void {
    const streams = this.#upstreams.reduce((sum, upstream) => sum + upstream.streams(now), 0)
    const calls = (this.#calls * GENERATION) / (now - this.#countsAt + GENERATION)
    for (const upstream of this.#upstreams) upstream.countsStreams = streams > calls
    this.#calls = 0
    this.#countsAt = now + GENERATION
  }

  /** Ejects the upstreams that succeed far less often than the others. */
  #compare(now: number): void {
    this.#comparesAt = now + INTERVAL
    const threshold = toOutlierThreshold(this.#upstreams.map(({ recent }) => recent))
    for (const upstream of this.#upstreams) {
      const { recent, ejection } = upstream
      if (isOutlier(recent, threshold) && this.mayEject(upstream, now)) ejection.eject(now)
      recent.successes = 0
      recent.failures = 0
    }
  }
}

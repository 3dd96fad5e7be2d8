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
  /** If a larger percentage of them is ejected or overloaded, calls go to all. */
  readonly maxEjectionPercent: number
  /** Whether calls probe ejected upstreams; with health checks, they don't. */
  readonly mayProbe: boolean
}

/** How often success rates are compared, in milliseconds. */
const INTERVAL = 10_000
/** The least limit for a probe, in milliseconds. */
const MIN_PATIENCE = 1_000
/** When a call is late: after so many milliseconds, or when it has taken longer than 95 % of the others. */
export type HedgeDelay = 'p95' | number

/** With fewer latencies, it isn't known which are usual: one in twenty may take longer. */
const MIN_SAMPLES = 20
/** Latencies up to this quantile are usual. */
const USUAL = 0.95

/** A service's upstreams, except those that were removed. */
export class UpstreamSet {
  readonly #clock: Clock
  readonly #random: () => number
  readonly #rules: UpstreamSetRules
  readonly #upstreams: Upstream[] = []
  /** The same by priority, the first to be used first; null while all have the same priority. */
  #levels: readonly (readonly Upstream[])[] | null = null
  /**
   * Whether the levels have to be rebuilt. The next choice does that, because an answer may have thousands of
   * upstreams.
   */
  #areLevelsStale = false
  readonly #latencies: LatencyQuantiles
  /** When success rates are next compared. */
  #comparesAt: number
  /** When streams are next counted. */
  #countsAt: number
  /** How many calls there have been since then. */
  #calls = 0

  /** @param random returns a number from 0 to below 1 */
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

  /** The clock's time, in milliseconds. */
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

  /** An upstream's priority has changed. */
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
   * Whether calls may eject an upstream. They may not if so many others are unwell, too, that calls would go to all if
   * all of them were out: then the upstreams aren't at fault, and the few that remain by chance would have to bear it.
   */
  mayEject(upstream: Upstream, now: number): boolean {
    let failing = 1
    for (const other of this.#upstreams) if (other !== upstream && other.isUnwell(now)) failing++
    return failing === 1 || failing * 100 <= this.#rules.maxEjectionPercent * this.#upstreams.length
  }

  /** A good response has arrived. */
  recordLatency(latency: number, now: number): void {
    this.#latencies.record(latency, now)
  }

  /** A latency that few exceed, in milliseconds; 0 if there are none. */
  toUsualLatency(now: number): number {
    return this.#latencies.at(USUAL, now)
  }

  /**
   * After how long a call is late, in milliseconds; null if that isn't known, or no other upstream could get the call.
   *
   * @param after the option `hedge`
   */
  toLateness(after: HedgeDelay, now: number): number | null {
    if (this.#upstreams.length < 2) return null
    if (after !== 'p95') return after
    return this.#latencies.count(now) < MIN_SAMPLES ? null : this.toUsualLatency(now)
  }

  /** How long an upstream's first probe may take, in milliseconds, until its response's header section. */
  toPatience(now: number): number {
    return Math.max(MIN_PATIENCE, 2 * this.toUsualLatency(now))
  }

  /**
   * The upstream for a request: one whose ejection is over, if the request may probe it; otherwise one that is neither
   * ejected nor overloaded, and connected if it has to be; otherwise, as a last resort, any.
   *
   * @param tried upstreams that have already got the request; null: none
   * @returns null if there is no other upstream
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
   * Chooses from the first level that has an upstream which isn't left out and wasn't tried. An upstream on an earlier
   * level is probed when its time is over, so requests return there. If all levels are out, the first one gets the
   * request.
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

  /** A request that may be lost, or has already failed once, is a probe only if no other request is. */
  #mayProbe(upstream: Upstream, options: DispatchOptions, now: number): boolean {
    const { ejection } = upstream
    if (!this.#rules.mayProbe || upstream.isOverloaded(now) || !ejection.isDue(now)) return false
    if (upstream.isUnconnected) return false
    return ejection.isOverdue(now) || (isSafeToRepeat(options) && isReplayableBody(options.body))
  }

  /**
   * Decides whether streams count as load. Next to many short calls they don't: a new upstream has no streams, and
   * would get too many of the short calls. If more of them are open than calls arrive, they are the service's load.
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

/**
 * One of a service's servers: its dispatcher, its load, its health.
 *
 * @module
 */

import type { Dispatcher } from '../../../types/dispatcher.ts'
import type { DispatchHandler } from '../../../types/handler.ts'
import type { DispatchOptions } from '../../../types/request.ts'
import type { ClientStats, PoolStats } from '../../../types/stats.ts'
import type { UpstreamStats } from '../../../types/upstream.ts'
import { OriginDispatcher } from '../origin-dispatcher.ts'
import type { Candidate } from './choice.ts'
import type { CallResult, EjectionRules } from './ejection.ts'
import { Ejection } from './ejection.ts'
import { LatencyAverage } from './latency-average.ts'
import { OpenResponses } from './open-responses.ts'
import { SuccessRate } from './success-rate.ts'

/**
 * Passes a request to a dispatcher.
 *
 * @throws what the dispatcher throws: the handler wasn't told about it
 */
export type UpstreamDispatch = (options: DispatchOptions, handler: DispatchHandler) => boolean

/** How an upstream is judged. Durations are in milliseconds. */
export interface UpstreamRules extends EjectionRules {
  /** The window for its latency, and for its success rate. */
  readonly latencyWindow: number
  /** How long a new upstream, or one that has returned, gets less than its share; 0: not at all. */
  readonly slowStart: number
}

/** At or below this success rate, most of an upstream's calls fail. A single failed call is enough. */
const MOST_FAIL = 0.5

/** With a lower success rate, it is unwell. */
const WELL = 0.9

/** The smallest fraction of its share that an upstream gets while it starts. */
const MIN_WARMTH = 0.1

/** An upstream that fails half of its calls costs eight times as much: callers have to repeat them, and some can't. */
const FAILURE_EXPONENT = 3

/** A candidate, with everything that the choice depends on. */
export class Upstream implements Candidate {
  /** Unique among the upstreams: its origin, followed by its address if it has one. */
  readonly name: string
  /** Its source may change it. */
  weight: number
  /** Its source may change it, too. Lower ones come first. */
  priority: number
  readonly dispatcher: Dispatcher
  readonly dispatch: UpstreamDispatch
  readonly ejection: Ejection
  readonly #slowStart: number
  readonly #latency: LatencyAverage
  readonly #successRate: SuccessRate
  turn = 0
  /** Its dispatcher, if it gets calls only while that is connected; null: it connects when it gets one. */
  connects: OriginDispatcher | null = null
  /** Whether old open responses count as load, because they are what the service is for. */
  countsStreams = false
  /** How many calls it was given so far. */
  requests = 0
  /** How many of these calls failed, or got a status that counts as a failure. */
  failures = 0
  /** How many second attempts it was given so far, among `requests`. */
  hedges = 0
  /** How many of these responded first. */
  hedgeWins = 0
  /** The calls that ended since the success rates were last compared. */
  readonly recent = { successes: 0, failures: 0 }
  /** How many calls have no response so far. */
  #waiting = 0
  /** The open responses of calls, and tunnels. */
  readonly #responses = new OpenResponses()
  /**
   * When the last response arrived while calls waited, or the first of them was sent: one of them is at least as old.
   */
  #quietSince = 0
  /** When its slow start began. */
  #startedAt: number
  /** Until when it has asked for no calls. */
  #overloadedUntil = 0

  constructor(
    name: string,
    weight: number,
    dispatcher: Dispatcher,
    dispatch: UpstreamDispatch,
    rules: UpstreamRules,
    now: number,
    priority = 0,
  ) {
    this.name = name
    this.weight = weight
    this.priority = priority
    this.dispatcher = dispatcher
    this.dispatch = dispatch
    this.ejection = new Ejection(rules)
    this.#slowStart = rules.slowStart
    this.#latency = new LatencyAverage(rules.latencyWindow)
    this.#successRate = new SuccessRate(rules.latencyWindow)
    this.#startedAt = now
  }

  /** The calls that it has now, and open tunnels. */
  get inFlight(): number {
    return this.#waiting + this.#responses.all
  }

  /** Responses and tunnels that have been open for so long that they count as streams. */
  streams(now: number): number {
    return this.#responses.all - this.#responses.recent(now)
  }

  /** It is given a call. */
  send(now: number): void {
    this.requests++
    if (this.#waiting === 0) this.#quietSince = now
    this.#waiting++
  }

  /** A call has ended without a response. */
  hearNothing(now: number): void {
    this.#waiting--
    this.#quietSince = now
  }

  /**
   * A call has got its response.
   *
   * @returns the argument for {@link endResponse}
   */
  hear(now: number): number {
    this.#waiting--
    this.#quietSince = now
    return this.#responses.begin(now)
  }

  /**
   * A call's response, or the tunnel, has ended.
   *
   * @param response the return value of {@link hear} or `openTunnel`
   */
  endResponse(response: number): void {
    this.#responses.end(response)
  }

  /**
   * A tunnel outlives its call, and is still load.
   *
   * @returns the argument for {@link endResponse}
   */
  openTunnel(now: number): number {
    return this.#responses.begin(now)
  }

  /**
   * Calls that wait for it are work. So are responses that it has just begun to send; later on, a stream usually
   * trickles.
   */
  load(now: number): number {
    return this.#waiting + (this.countsStreams ? this.#responses.all : this.#responses.recent(now))
  }

  /** A response has arrived after this time, and doesn't count as a failure. */
  recordResponse(elapsed: number, now: number): void {
    this.#latency.record(elapsed, now)
    this.#successRate.record(true, now)
    this.recent.successes++
  }

  /**
   * A call failed after this time. A fast failure must not look good.
   *
   * @param usual a high quantile of all upstreams' latencies
   */
  recordFailure(elapsed: number, usual: number, now: number): void {
    this.#latency.recordAtLeast(Math.max(elapsed, usual), now)
    this.#successRate.record(false, now)
  }

  /** A call took this long until its caller cancelled it. */
  recordWait(elapsed: number, now: number): void {
    this.#latency.recordAtLeast(elapsed, now)
  }

  /** Reports to its health how a call has ended. Parameters as in {@link Ejection.record}. */
  judge(result: CallResult, probe: number, ejections: number, now: number, mayEject = true): void {
    const wasHealthy = this.ejection.isHealthy
    if (result === 'failure') {
      this.failures++
      this.recent.failures++
    }
    this.ejection.record(result, probe, ejections, now, mayEject)
    if (!wasHealthy && this.ejection.isHealthy) this.#restart(now)
  }

  /** Reports to its health how a check that probed it has ended. Parameters as in {@link Ejection.record}. */
  judgeProbe(isWell: boolean, probe: number, ejections: number, now: number): void {
    this.ejection.record(isWell ? 'success' : 'failure', probe, ejections, now)
    if (this.ejection.isHealthy) this.#restart(now)
  }

  /** It has asked for no calls for a while. */
  recordOverload(duration: number, now: number): void {
    this.#overloadedUntil = Math.max(this.#overloadedUntil, now + duration)
    this.#startedAt = this.#overloadedUntil
  }

  isOverloaded(now: number): boolean {
    return now < this.#overloadedUntil
  }

  isLeftOut(now: number): boolean {
    return now < this.#overloadedUntil || !this.ejection.isHealthy || this.isUnconnected
  }

  /** Whether it has to be connected before it gets calls, and isn't. */
  get isUnconnected(): boolean {
    return this.connects !== null && !OriginDispatcher.isConnected(this.connects)
  }

  latency(now: number): number | null {
    if (!this.#latency.isMeasured) return null
    // A silent upstream provides no samples, so its average would fall.
    const silence = this.#waiting === 0 ? 0 : now - this.#quietSince
    return Math.max(silence, this.#latency.at(now)) / this.#successRate.at(now) ** FAILURE_EXPONENT
  }

  isFailing(now: number): boolean {
    return this.#successRate.at(now) <= MOST_FAIL
  }

  /** Whether its last call failed, or many of its recent calls did, or it is ejected. */
  isUnwell(now: number): boolean {
    return !this.ejection.isFlawless || this.#successRate.at(now) < WELL
  }

  warmth(now: number): number {
    const share = this.#slowStart === 0 ? 1 : (now - this.#startedAt) / this.#slowStart
    return Math.min(1, Math.max(MIN_WARMTH, share))
  }

  toStats(now: number): UpstreamStats {
    const { weight, priority, inFlight, requests, failures, hedges, hedgeWins, ejection } = this
    const { kind } = ejection.health
    return {
      state: kind === 'healthy' && this.isOverloaded(now) ? 'overloaded' : kind,
      weight,
      priority,
      inFlight,
      latency: this.#latency.isMeasured ? this.#latency.at(now) : null,
      successRate: this.#successRate.at(now),
      requests,
      failures,
      hedges,
      hedgeWins,
      ejections: ejection.ejections,
      pool: toPoolStats(this.dispatcher),
    }
  }

  /** It has returned: what it was like before no longer matters. */
  #restart(now: number): void {
    this.#latency.reset()
    this.#successRate.reset()
    this.#startedAt = now
  }
}

/** Null for a dispatcher from the caller's `factory` that has no stats. */
function toPoolStats(dispatcher: object): ClientStats | PoolStats | null {
  const stats: unknown = 'stats' in dispatcher ? dispatcher.stats : null
  return typeof stats === 'object' && stats !== null ? (stats as ClientStats | PoolStats) : null
}

/**
 * One server of a service: its dispatcher, its load, its health.
 *
 * @module
 */

import type { Dispatcher } from '../../../types/dispatcher.ts'
import type { DispatchHandler } from '../../../types/handler.ts'
import type { DispatchOptions } from '../../../types/request.ts'
import type { ClientStats, PoolStats } from '../../../types/stats.ts'
import type { UpstreamStats } from '../../../types/upstream.ts'
import type { Candidate } from './choice.ts'
import { toCost } from './choice.ts'
import type { EjectionRules } from './ejection.ts'
import { Ejection } from './ejection.ts'
import { PeakEwma } from './peak-ewma.ts'

/** Hands a request over to a dispatcher. @throws what the dispatcher throws: the handler wasn't told of it */
export type UpstreamDispatch = (options: DispatchOptions, handler: DispatchHandler) => boolean

/** How an upstream is judged. */
export interface UpstreamRules extends EjectionRules {
  /** Of its latency. Milliseconds. */
  readonly latencyWindow: number
}

/** A candidate of the choice, with what the choice depends on. */
export class Upstream implements Candidate {
  /** As `URL.origin` writes it. */
  readonly origin: string
  readonly weight: number
  readonly dispatcher: Dispatcher
  readonly dispatch: UpstreamDispatch
  readonly latency: PeakEwma
  readonly ejection: Ejection
  /** Calls that it has now, and tunnels that are open. */
  inFlight = 0
  /** Calls that it was given so far. */
  requests = 0
  /** Calls of these that failed, or got a status that counts as a failure. */
  failures = 0

  constructor(
    origin: string,
    weight: number,
    dispatcher: Dispatcher,
    dispatch: UpstreamDispatch,
    rules: UpstreamRules,
  ) {
    this.origin = origin
    this.weight = weight
    this.dispatcher = dispatcher
    this.dispatch = dispatch
    this.latency = new PeakEwma(rules.latencyWindow)
    this.ejection = new Ejection(rules)
  }

  /** Calls without a response so far. */
  #waiting = 0
  /** When the last response came while calls waited, or the first of them was sent: one of them is at least as old. */
  #quietSince = 0

  /** A call is given to it. */
  send(now: number): void {
    this.inFlight++
    this.requests++
    if (this.#waiting === 0) this.#quietSince = now
    this.#waiting++
  }

  /** A call has got its response, or has ended without one. */
  hear(now: number): void {
    this.#waiting--
    this.#quietSince = now
  }

  cost(now: number): number {
    const { latency, inFlight, weight } = this
    if (!latency.isMeasured) return toCost(null, inFlight, weight)
    // An upstream that is silent gives no samples, and its average would fall.
    const silence = this.#waiting === 0 ? 0 : now - this.#quietSince
    return toCost(Math.max(silence, latency.at(now)), inFlight, weight)
  }

  toStats(now: number): UpstreamStats {
    const { weight, inFlight, requests, failures, latency, ejection } = this
    return {
      state: ejection.health.kind,
      weight,
      inFlight,
      latency: latency.isMeasured ? latency.at(now) : null,
      requests,
      failures,
      ejections: ejection.ejections,
      pool: toPoolStats(this.dispatcher),
    }
  }
}

/** Null for a dispatcher of the caller's `factory` without stats. */
function toPoolStats(dispatcher: object): ClientStats | PoolStats | null {
  const stats: unknown = 'stats' in dispatcher ? dispatcher.stats : null
  return typeof stats === 'object' && stats !== null ? (stats as ClientStats | PoolStats) : null
}

import type { PoolOptions } from './client.ts'
import type { Dispatcher } from './dispatcher.ts'
import type { ClientStats, PoolStats } from './stats.ts'

/** One upstream of an `UpstreamPool`, with options of its own: they win over those of the `UpstreamPool`. */
export interface UpstreamInit extends PoolOptions {
  /** An `http:` or `https:` URL without path, query, fragment or credentials. */
  origin: string | URL

  /**
   * Its share of the load, in proportion to the weights of the others: above 0, up to 1_000_000.
   *
   * @default 1
   */
  weight?: number | null | undefined
}

/** The options of an `UpstreamPool`: those of each of its Pools, and its own. Durations are in milliseconds. */
export interface UpstreamPoolOptions extends PoolOptions {
  /**
   * Makes the dispatcher for one upstream. The function gets the options of the Pool: the common ones, and those of the
   * upstream.
   *
   * @default (origin, options) => new Pool(origin, options)
   */
  factory?: ((origin: URL, options: PoolOptions) => Dispatcher) | null | undefined

  /**
   * How fast a latency is forgotten: after so many milliseconds an old sample counts for 37 %. A latency above the
   * average counts at once, in full.
   *
   * @default 10_000
   */
  latencyWindow?: number | null | undefined

  /**
   * Statuses of responses that count as failures of their upstream. The caller gets the response all the same.
   *
   * @default [502, 503, 504]
   */
  failureStatuses?: readonly number[] | null | undefined

  /**
   * After so many failures in a row an upstream is ejected.
   *
   * @default 3
   */
  maxFailures?: number | null | undefined

  /**
   * How long an upstream is ejected the first time. Each failed probe doubles it.
   *
   * @default 1_000
   */
  ejectionTime?: number | null | undefined

  /**
   * The longest ejection. If it is below `ejectionTime`, each ejection takes this long.
   *
   * @default 60_000
   */
  maxEjectionTime?: number | null | undefined

  /**
   * How many further upstreams a failed request may be sent to; `0`: none. Each upstream gets it once at most.
   * `null`: all of them.
   *
   * @default null
   */
  maxRetries?: number | null | undefined
}

/** A snapshot of one upstream. */
export interface UpstreamStats {
  /**
   * - `healthy`: it takes requests
   * - `ejected`: it takes none, until its time is over
   * - `probing`: its time is over, and one request tries it
   */
  state: 'healthy' | 'ejected' | 'probing'

  /** Its option of this name. */
  weight: number

  /** How many requests, and tunnels, it has now. */
  inFlight: number

  /** The moving average of the time to a response's header section, in milliseconds. `null`: none has come. */
  latency: number | null

  /** How many requests it was given so far. One that was sent to several upstreams counts for each. */
  requests: number

  /** How many of these failed, or got a status of `failureStatuses`. */
  failures: number

  /** How often it was ejected. */
  ejections: number

  /** The stats of its Pool; `null` if its dispatcher, made by `factory`, has none. */
  pool: ClientStats | PoolStats | null
}

/** A snapshot of an `UpstreamPool`: the stats of each upstream, by origin. */
export type UpstreamPoolStats = Record<string, UpstreamStats>

import type { LookupFunction } from 'node:net'
import type { PoolOptions } from './client.ts'
import type { Dispatcher } from './dispatcher.ts'
import type { IncomingHttpHeaders } from './headers.ts'
import type { ClientStats, PoolStats } from './stats.ts'

/** One upstream of an `UpstreamPool`. Its options override the pool's. */
export interface UpstreamInit extends PoolOptions {
  /** An `http:` or `https:` URL without path, query, fragment or credentials. */
  origin: string | URL

  /**
   * Its share of the load, relative to the other weights: above 0, up to 1_000_000.
   *
   * @default 1
   */
  weight?: number | null | undefined

  /**
   * The IP address of this upstream, instead of the addresses of the origin's name: `10.0.0.7`, `10.0.0.7:8443`, `::1`,
   * or `[::1]:8443`. Without a port, the origin's port applies. TLS and `:authority` follow the origin. Not with
   * `socketPath`.
   *
   * Upstreams of one origin differ by their addresses. `null`: Dodici looks the origin's name up for each connection.
   *
   * @default null
   */
  address?: string | null | undefined

  /**
   * Upstreams with a higher number get requests only while all upstreams with lower numbers are ejected or overloaded,
   * or have failed the same request: a whole number from 0 to 65_535, as in an SRV record (RFC 2782).
   *
   * @default 0
   */
  priority?: number | null | undefined
}

/** One upstream: an origin, or an object with an origin. */
export type UpstreamInput = string | URL | UpstreamInit

/** All current upstreams, and how long this answer is valid. */
export interface UpstreamAnswer {
  /** All current upstreams. */
  upstreams: readonly UpstreamInput[]

  /**
   * How many milliseconds the answer is valid before Dodici asks the resolver again, at least 5_000. No effect for an
   * async iterable. `null`: 30_000.
   *
   * @default null
   */
  ttl?: number | null | undefined
}

/** The argument of an {@link UpstreamResolver}. */
export interface UpstreamResolverContext {
  /** Aborts when the answer is no longer wanted: the UpstreamPool was closed, or 30 seconds have passed. */
  signal: AbortSignal
  /** The `lookup` of the UpstreamPool's `connect` option; `null` if it has none. */
  lookup: LookupFunction | null
  /** The only address family that connections can use, due to `connect.family` or `localAddress`. 0: both. */
  family: 0 | 4 | 6
  /** Emits `discoveryError` for a failure that isn't final, such as one of several queries. */
  report: (error: Error) => void
}

/**
 * Returns all current upstreams, or a promise for them. Dodici asks again when the answer expires, when a connection
 * fails, and after a GOAWAY, but at most once every 5 seconds. A source that reports changes by itself can return an
 * async iterable of complete sets, or a promise for one; Dodici asks again when it ends.
 *
 * If the resolver fails or returns no upstreams, the previous ones stay. `dns()` creates a resolver that queries DNS.
 */
export type UpstreamResolver = (
  context: UpstreamResolverContext,
) =>
  | readonly UpstreamInput[]
  | UpstreamAnswer
  | AsyncIterable<readonly UpstreamInput[] | UpstreamAnswer>
  | PromiseLike<
      readonly UpstreamInput[] | UpstreamAnswer | AsyncIterable<readonly UpstreamInput[] | UpstreamAnswer>
    >

/** Where the upstreams of an `UpstreamPool` come from: a function, or an async iterable of complete sets. */
export type UpstreamSource = UpstreamResolver | AsyncIterable<readonly UpstreamInput[] | UpstreamAnswer>

/** The options of `dns()`. */
export interface DnsOptions {
  /**
   * After how many milliseconds Dodici resolves a name again, from 5_000. A shorter TTL overrides it.
   *
   * @default 30_000
   */
  interval?: number | null | undefined

  /**
   * How Dodici resolves a name:
   *
   * - `lookup`: asks the operating system, with its hosts file and search domains. It provides no TTL.
   * - `resolve`: asks name servers directly, and obeys the TTL.
   *
   * @default 'lookup'; 'resolve' with `srv` or `servers`
   */
  using?: 'lookup' | 'resolve' | null | undefined

  /**
   * An SRV record name, such as `_https._tcp.api.internal`: the records provide hosts, ports, weights and priorities
   * (RFC 2782). TLS and `:authority` still follow the origin. `null`: Dodici resolves the origin's own name.
   *
   * @default null
   */
  srv?: string | null | undefined

  /**
   * The address family: 4, 6, or 0 for both.
   *
   * @default 0
   */
  family?: 0 | 4 | 6 | null | undefined

  /**
   * The addresses of name servers, with or without a port. `null`: the system's.
   *
   * @default null
   */
  servers?: readonly string[] | null | undefined

  /**
   * How many milliseconds a name server may take to answer. Dodici asks each one twice. No effect with `lookup`:
   * the system has its own limits.
   *
   * @default 2_000
   */
  timeout?: number | null | undefined
}

/** `UpstreamPool` options: the options for each of its Pools, and its own. Durations are in milliseconds. */
export interface UpstreamPoolOptions extends PoolOptions {
  /**
   * Creates the dispatcher for one upstream. The function receives the Pool options: the common ones and the
   * upstream's.
   *
   * @default (origin, options) => new Pool(origin, options)
   */
  factory?: ((origin: URL, options: PoolOptions) => Dispatcher) | null | undefined

  /**
   * How fast an upstream's past fades: after this many milliseconds, a latency or a failure counts for only 37 %. With
   * many requests, latencies fade faster.
   *
   * @default 10_000
   */
  latencyWindow?: number | null | undefined

  /**
   * Response statuses that count as a failure of the upstream. The caller still gets the response. For gRPC, the
   * `grpc-status` counts: 2, 13 and 15 as 500, 12 as 501, 14 as 503, 4 as 504.
   *
   * A 429, or a 503 with `retry-after`, counts as overload, even if it isn't in the list.
   *
   * @default all from 500 to 599
   */
  failureStatuses?: readonly number[] | null | undefined

  /**
   * How many consecutive failures eject an upstream.
   *
   * @default 5
   */
  maxFailures?: number | null | undefined

  /**
   * How many milliseconds the first ejection of an upstream lasts. Each failed probe doubles it, and so does each
   * further ejection soon after.
   *
   * @default 1_000
   */
  ejectionTime?: number | null | undefined

  /**
   * The longest ejection, and the longest `retry-after` that Dodici obeys, in milliseconds. If it is below
   * `ejectionTime`, each ejection takes this long.
   *
   * @default 60_000
   */
  maxEjectionTime?: number | null | undefined

  /**
   * The largest share of upstreams that failed requests may eject, in percent. If health checks or `retry-after`
   * exclude more anyway, requests go to all upstreams.
   *
   * @default 50
   */
  maxEjectionPercent?: number | null | undefined

  /**
   * For how many milliseconds a new or recovered upstream gets less than its share: a tenth at first, then more and
   * more. `0`: it gets its full share at once.
   *
   * @default 10_000
   */
  slowStart?: number | null | undefined

  /**
   * How many further upstreams Dodici may send a failed request to; `0`: none. Each upstream gets it at most once.
   * Upstreams that refuse the connection don't count, unless this is `0`.
   *
   * @default 1
   */
  maxRetries?: number | null | undefined

  /**
   * Sends a late request to a second upstream, and uses the response that begins first. See {@link UpstreamHedge}.
   * `null`: never.
   *
   * @default null
   */
  hedge?: UpstreamHedge | null | undefined

  /**
   * How many extra requests all calls together may send. See {@link UpstreamRetryBudget}.
   *
   * @default { percent: 20, minPerSecond: 10 }
   */
  retryBudget?: UpstreamRetryBudget | null | undefined

  /**
   * Where to send a request when Dodici's `fetch` or undici's redirect interceptor follows an upstream's redirect to
   * another origin. With Node's built-in `fetch`, Dodici can't tell, and sends it to an upstream.
   *
   * - `url`: where the redirect leads, unless that is the origin of an upstream or of the first request. Dodici then
   *   omits the client's identity (`cert`, `key`), `rejectUnauthorized` and `checkServerIdentity`.
   * - `upstreams`: to an upstream, like all other requests.
   *
   * @default 'url'
   */
  redirects?: 'url' | 'upstreams' | null | undefined

  /**
   * Checks each upstream's health at intervals. `null`: only your requests show it.
   *
   * @default null
   */
  healthCheck?: UpstreamHealthCheck | null | undefined
}

/**
 * How to check the health of upstreams. The checks run in addition to your requests, don't appear in the UpstreamPool's
 * stats, and don't keep the process alive between checks.
 *
 * Two failed checks in a row eject an upstream, whatever its calls did. Only checks probe an ejected upstream: when its
 * time is over, a successful check makes it healthy.
 */
export interface UpstreamHealthCheck {
  /** The path to GET. Required unless you set `grpc`. */
  path?: string | null | undefined

  /**
   * Asks gRPC's health service (`grpc.health.v1.Health/Check`) instead of a path: for the whole server, or for the
   * service with this full name. A server without a health service counts as healthy.
   *
   * @default false
   */
  grpc?: boolean | string | null | undefined

  /**
   * How many milliseconds to wait between two checks of an upstream, give or take a tenth. Dodici checks an ejected
   * upstream as soon as its time is over.
   *
   * @default 10_000
   */
  interval?: number | null | undefined

  /**
   * How many milliseconds a check may take until its response is complete.
   *
   * @default 2_000
   */
  timeout?: number | null | undefined

  /**
   * Which responses are healthy: statuses, or a function that returns `true` for them. If it throws, the check has
   * failed, and the error is an uncaught exception. Not with `grpc`.
   *
   * @default all from 200 to 299
   */
  expect?:
    | readonly number[]
    | ((response: { statusCode: number; headers: IncomingHttpHeaders }) => boolean)
    | null
    | undefined
}

/**
 * The budget for retries of all kinds. Each request that is resent, to the same upstream or another one, costs one,
 * unless no connection could be made. When the budget is used up, the call fails with the error of its last attempt.
 */
export interface UpstreamRetryBudget {
  /**
   * How many retries are allowed per hundred calls in the last ten seconds: 0 to 1_000.
   *
   * @default 20
   */
  percent?: number | null | undefined

  /**
   * How many retries per second are always allowed, averaged over ten seconds.
   *
   * @default 10
   */
  minPerSecond?: number | null | undefined
}

/**
 * When to send a request to a second upstream. The request must be safe to repeat (see
 * {@link DispatchOptions.idempotent}), and its body readable again: none, bytes, a string, a Blob, a form, or a
 * function that returns it.
 *
 * The caller gets the response that begins first, whatever its status. Dodici resets the other stream (RST_STREAM with
 * CANCEL). A second attempt costs one of the `retryBudget`, and is the request's only repetition: neither attempt goes
 * to a further upstream. Not with `replaySafe: false`.
 */
export interface UpstreamHedge {
  /**
   * How long the first upstream may take until its response begins, in milliseconds: 1 or more. `'p95'`: as long as
   * 95 % of all upstreams' recent responses took, rounded up by up to 19 %; until 20 have arrived, Dodici sends no
   * request twice.
   */
  after: 'p95' | number
}

/** A snapshot of one upstream. */
export interface UpstreamStats {
  /**
   * Whether it gets requests:
   *
   * - `healthy`: it does.
   * - `ejected`: not until its time is over.
   * - `probing`: its time is over, and one request tries it.
   * - `overloaded`: not until its `retry-after` has passed.
   */
  state: 'healthy' | 'ejected' | 'probing' | 'overloaded'

  /** Its option of the same name. */
  weight: number

  /** Its option of the same name. */
  priority: number

  /** How many requests and tunnels it has now. */
  inFlight: number

  /** The moving average of the time to a response's header section, in milliseconds. `null`: none has arrived. */
  latency: number | null

  /** The recent share of responses that didn't count as failures: above 0, up to 1. 1: no failures. */
  successRate: number

  /** How many requests it has had so far. A request sent to several upstreams counts for each. */
  requests: number

  /** How many of these failed, or got a status of `failureStatuses`. */
  failures: number

  /** How many of its requests were second attempts: see {@link UpstreamHedge}. */
  hedges: number

  /** How many of these responded first. */
  hedgeWins: number

  /** How often it was ejected. */
  ejections: number

  /** The stats of its Pool; `null` if its dispatcher comes from `factory` and has none. */
  pool: ClientStats | PoolStats | null
}

/** A snapshot of an `UpstreamPool`: the stats of each upstream, by its name in `upstreams`. */
export type UpstreamPoolStats = Record<string, UpstreamStats>

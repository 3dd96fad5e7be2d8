import type { LookupFunction } from 'node:net'
import type { PoolOptions } from './client.ts'
import type { Dispatcher } from './dispatcher.ts'
import type { IncomingHttpHeaders } from './headers.ts'
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

  /**
   * The IP address of this upstream, in place of those that the origin's name has: `10.0.0.7`, `10.0.0.7:8443`, `::1`,
   * or `[::1]:8443`. Without a port the origin's counts. TLS and `:authority` are by the origin. Not with `socketPath`.
   *
   * Upstreams of one origin are told apart by their addresses. `null`: the origin's name is looked up for each
   * connection.
   *
   * @default null
   */
  address?: string | null | undefined

  /**
   * Upstreams with a higher number get requests only while all of the lower ones are ejected or overloaded, or have
   * failed the same request: a whole number from 0 to 65_535, as in an SRV record (RFC 2782).
   *
   * @default 0
   */
  priority?: number | null | undefined
}

/** One upstream: an origin, or an object with an origin. */
export type UpstreamInput = string | URL | UpstreamInit

/** The upstreams that there are now, all of them; and for how long that is true. */
export interface UpstreamAnswer {
  /** The upstreams there are now: all of them. */
  upstreams: readonly UpstreamInput[]

  /**
   * How many milliseconds the answer holds: then the resolver is asked again. The least is 5_000. No effect for an
   * async iterable. `null`: 30_000.
   *
   * @default null
   */
  ttl?: number | null | undefined
}

/** What an {@link UpstreamResolver} gets. */
export interface UpstreamResolverContext {
  /** Aborted when no answer is wanted any more: the UpstreamPool is closed, or 30 seconds have passed. */
  signal: AbortSignal
  /** The `lookup` of the UpstreamPool's `connect` option; `null` if it has none. */
  lookup: LookupFunction | null
  /** The only family of addresses that connections can use, by `connect.family` or `localAddress`. 0: both. */
  family: 0 | 4 | 6
  /** Emits `discoveryError`, for a failure that isn't the end: of one of several questions, for example. */
  report: (error: Error) => void
}

/**
 * Says which upstreams there are: all of them, each time. It returns them, or a promise of them, and is asked again
 * when their time is over, when a connection has failed, and after a GOAWAY; never more often than once in 5 seconds.
 * Or it returns an async iterable of them, or a promise of one, for a source that reports changes by itself, and is
 * asked again when that ends.
 *
 * If it fails, or says that there are none, the former upstreams stay. `dns()` makes one that asks the DNS.
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
   * After how many milliseconds a name is resolved again, at the latest: from 5_000. A shorter TTL wins.
   *
   * @default 30_000
   */
  interval?: number | null | undefined

  /**
   * - `lookup`: as the system does it, with its hosts file and its search domains. It says no TTL.
   * - `resolve`: asks name servers itself, and obeys the TTL.
   *
   * @default 'lookup', or 'resolve' with `srv` or `servers`
   */
  using?: 'lookup' | 'resolve' | null | undefined

  /**
   * The name of SRV records, such as `_https._tcp.api.internal`: they say the hosts, ports, weights and priorities (RFC
   * 2782). TLS and `:authority` are by the origin all the same. `null`: the origin's own name is resolved.
   *
   * @default null
   */
  srv?: string | null | undefined

  /**
   * The family of addresses: 4, 6, or 0 for both.
   *
   * @default 0
   */
  family?: 0 | 4 | 6 | null | undefined

  /**
   * The addresses of name servers, with or without a port. `null`: those of the system.
   *
   * @default null
   */
  servers?: readonly string[] | null | undefined

  /**
   * How long a name server may take for an answer, in milliseconds. Each is asked twice. No effect with `lookup`: the
   * system has its own limits.
   *
   * @default 2_000
   */
  timeout?: number | null | undefined
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
   * How fast the past of an upstream is forgotten: after so many milliseconds a latency, and a failure, count for 37 %.
   * A latency is forgotten sooner when there are many.
   *
   * @default 10_000
   */
  latencyWindow?: number | null | undefined

  /**
   * Statuses of responses that count as failures of their upstream. The caller gets the response all the same. For gRPC
   * the `grpc-status` counts: 2, 13 and 15 as 500, 12 as 501, 14 as 503, 4 as 504.
   *
   * A 429, and whatever comes with status 503 and `retry-after`, counts as overload, also when it isn't in the list.
   *
   * @default all from 500 to 599
   */
  failureStatuses?: readonly number[] | null | undefined

  /**
   * After so many failures in a row an upstream is ejected.
   *
   * @default 5
   */
  maxFailures?: number | null | undefined

  /**
   * How long an upstream is ejected the first time. Each failed probe doubles it, and so does each further ejection
   * soon after.
   *
   * @default 1_000
   */
  ejectionTime?: number | null | undefined

  /**
   * The longest ejection, and the longest time for which a `retry-after` is obeyed. If it is below `ejectionTime`, each
   * ejection takes this long.
   *
   * @default 60_000
   */
  maxEjectionTime?: number | null | undefined

  /**
   * Failures of requests eject no more upstreams than this, in percent of all. If more are left out all the same, by
   * health checks or `retry-after`, requests go to all of them.
   *
   * @default 50
   */
  maxEjectionPercent?: number | null | undefined

  /**
   * For so many milliseconds an upstream that is new, or back, gets less than its share: a tenth at first, then more
   * and more. `0`: it gets its share at once.
   *
   * @default 10_000
   */
  slowStart?: number | null | undefined

  /**
   * How many further upstreams a failed request may be sent to; `0`: none. Each upstream gets it once at most. An
   * upstream that refuses the connection doesn't count, unless this is `0`.
   *
   * @default 1
   */
  maxRetries?: number | null | undefined

  /**
   * Sends a request that is late to a second upstream, and takes the response that begins first. See
   * {@link UpstreamHedge}. `null`: never.
   *
   * @default null
   */
  hedge?: UpstreamHedge | null | undefined

  /**
   * How many requests may be sent beyond one a call, over all calls. See {@link UpstreamRetryBudget}.
   *
   * @default { percent: 20, minPerSecond: 10 }
   */
  retryBudget?: UpstreamRetryBudget | null | undefined

  /**
   * Where a request goes that follows a redirect of an upstream to another origin: by Dodici's `fetch`, or by undici's
   * redirect interceptor. Of a request by the built-in `fetch` of Node it isn't known: it goes to an upstream.
   *
   * - `url`: where the redirect leads, unless that is an upstream's origin, or the one that the first request named.
   *   Without the client's identity (`cert`, `key`), `rejectUnauthorized` and `checkServerIdentity`
   * - `upstreams`: to an upstream, as all other requests
   *
   * @default 'url'
   */
  redirects?: 'url' | 'upstreams' | null | undefined

  /**
   * Asks each upstream at intervals how it is. `null`: the requests of callers show that alone.
   *
   * @default null
   */
  healthCheck?: UpstreamHealthCheck | null | undefined
}

/**
 * How upstreams are asked how they are. The requests go to each upstream beside those of callers, count in no stats of
 * the UpstreamPool, and don't keep the process alive while none runs.
 *
 * Two checks in a row that fail eject an upstream, whatever its calls did. An ejected upstream is probed by checks
 * alone: when its time is over, a check that succeeds makes it healthy.
 */
export interface UpstreamHealthCheck {
  /** What a GET asks for: required, unless there is `grpc`. */
  path?: string | null | undefined

  /**
   * Asks gRPC's health service (`grpc.health.v1.Health/Check`) in place of a path: for the whole server, or for the
   * service with this full name. A server without a health service counts as one that serves.
   *
   * @default false
   */
  grpc?: boolean | string | null | undefined

  /**
   * How many milliseconds lie between two checks of an upstream, give or take a tenth. An ejected upstream is checked
   * as soon as its time is over.
   *
   * @default 10_000
   */
  interval?: number | null | undefined

  /**
   * A check whose response isn't complete after so many milliseconds has failed.
   *
   * @default 2_000
   */
  timeout?: number | null | undefined

  /**
   * Which responses are good: statuses, or a function that returns `true` for them. Not with `grpc`.
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
 * The budget for retries of all kinds. One is spent for each request that is sent again to the same upstream or to
 * another one, unless no connection could be made. When nothing is left, the call fails with the error of its last
 * attempt.
 */
export interface UpstreamRetryBudget {
  /**
   * So many retries are allowed for a hundred calls of the last ten seconds: 0 to 1_000.
   *
   * @default 20
   */
  percent?: number | null | undefined

  /**
   * So many retries a second are allowed in any case, as a mean of ten seconds.
   *
   * @default 10
   */
  minPerSecond?: number | null | undefined
}

/**
 * When a second upstream gets a request. It must be one that may be repeated (see {@link DispatchOptions.idempotent})
 * with a body that can be read again: none, bytes, a string, a Blob, a form, or a function that makes it.
 *
 * The attempt whose response begins first is the caller's, whatever its status. The other one's stream is reset
 * (RST_STREAM with CANCEL). A second attempt costs one of the `retryBudget`, and is the request's only repetition:
 * neither attempt goes to a further upstream. Not with `replaySafe: false`.
 */
export interface UpstreamHedge {
  /**
   * How long the first upstream may take until its response begins, in milliseconds: 1 or more. `'p95'`: as long as
   * 95 % of the responses of all upstreams took lately, rounded up by up to 19 %; before 20 have come, no request is
   * sent twice.
   */
  after: 'p95' | number
}

/** A snapshot of one upstream. */
export interface UpstreamStats {
  /**
   * - `healthy`: it takes requests
   * - `ejected`: it takes none, until its time is over
   * - `probing`: its time is over, and one request tries it
   * - `overloaded`: it takes none, until the time is over that it has asked for by `retry-after`
   */
  state: 'healthy' | 'ejected' | 'probing' | 'overloaded'

  /** Its option of this name. */
  weight: number

  /** Its option of this name. */
  priority: number

  /** How many requests, and tunnels, it has now. */
  inFlight: number

  /** The moving average of the time to a response's header section, in milliseconds. `null`: none has come. */
  latency: number | null

  /** Which part of its responses didn't count as failures lately: above 0, up to 1. 1: there were none. */
  successRate: number

  /** How many requests it was given so far. One that was sent to several upstreams counts for each. */
  requests: number

  /** How many of these failed, or got a status of `failureStatuses`. */
  failures: number

  /** How many of its requests were second attempts: see {@link UpstreamHedge}. */
  hedges: number

  /** How many of these responded first. */
  hedgeWins: number

  /** How often it was ejected. */
  ejections: number

  /** The stats of its Pool; `null` if its dispatcher, made by `factory`, has none. */
  pool: ClientStats | PoolStats | null
}

/** A snapshot of an `UpstreamPool`: the stats of each upstream, by its name in `upstreams`. */
export type UpstreamPoolStats = Record<string, UpstreamStats>

/**
 * Unknown input → an UpstreamPool's options, checked and complete.
 *
 * @module
 */

import type { AgentOptions, PoolOptions } from '../../../types/client.ts'
import type {
  UpstreamHealthCheck,
  UpstreamInit,
  UpstreamPoolOptions,
  UpstreamSource,
} from '../../../types/upstream.ts'
import { MAX_DELAY } from '../../core/clock.ts'
import { toIpVersion } from '../../core/ip-address.ts'
import { isUrl } from '../../core/realms.ts'
import { invalid, invalidKind, toInteger } from '../../core/validate.ts'
import { InvalidArgumentError, toError } from '../../errors/errors.ts'
import type { Limits } from '../../options/limits.ts'
import type { Origin, ResolvedClientOptions } from '../../options/options.ts'
import {
  toAgentOptions,
  toClientOptions,
  toConnections,
  toConnectOptions,
  toOrigin,
} from '../../options/options.ts'
import type { ReceiveLimits } from '../../options/receive-limits.ts'
import { toFixedLookup } from '../../session/connect/addresses.ts'
import { isSource, toAnswerParts } from './discovery/answer.ts'
import type { IpEndpoint } from './discovery/ip-endpoint.ts'
import { showIpEndpoint, toIpEndpoint } from './discovery/ip-endpoint.ts'
import { isServing, MAX_SERVICE_LENGTH, toGrpcCheck } from './grpc-health.ts'
import type { HealthCheckRules } from './health-check.ts'
import type { DiscoveryContext, ResolvedAnswer, ResolvedUpstream } from './resolved-upstream.ts'
import type { RetryBudgetRules } from './retry-budget.ts'
import type { HedgeDelay, UpstreamSetRules } from './upstream-set.ts'

/** {@link UpstreamPoolOptions}, with every option present. Durations are in milliseconds. */
export interface ResolvedUpstreamPoolOptions {
  /** Each Pool's options. */
  readonly pool: PoolOptions
  /** Null: Dodici's Pools. */
  readonly factory: UpstreamPoolOptions['factory'] | null
  readonly rules: UpstreamSetRules
  readonly retryBudget: RetryBudgetRules
  /** Null: calls probe ejected upstreams. */
  readonly healthCheck: HealthCheckRules | null
  /** What sources of upstreams get. */
  readonly discovery: DiscoveryContext
  /** Whether a redirect to another origin leads there instead of to an upstream. */
  readonly leavesByRedirect: boolean
  readonly failureStatuses: ReadonlySet<number>
  readonly maxRetries: number
  /** Null: no call is hedged. */
  readonly hedge: { readonly after: HedgeDelay } | null
  readonly replaySafe: boolean
  readonly requestTimeout: number
  readonly connectTimeout: number
  /** The limits for a request that sets none itself. */
  readonly limits: Limits
  readonly maxReplayBuffer: number
  readonly maxResponseSize: number
  readonly captureStack: boolean
  readonly receiveLimits: ReceiveLimits
}

/** `tls.connect()` options that are meant for the upstreams: the client's identity, and how theirs is checked. */
const OF_UPSTREAMS: ReadonlySet<string> = new Set([
  ...['cert', 'key', 'pfx', 'passphrase', 'secureContext', 'session', 'pskCallback'],
  ...['clientCertEngine', 'privateKeyEngine', 'privateKeyIdentifier'],
  ...['rejectUnauthorized', 'checkServerIdentity'],
])

const MAX_COUNT = 2 ** 32 - 1
const MAX_WEIGHT = 1_000_000
/** RFC 2782. */
const MAX_PRIORITY = 65_535
const MAX_PERCENT = 1_000
/** All 5xx. */
const FAILURE_STATUSES: readonly number[] = Array.from({ length: 100 }, (_, index) => 500 + index)

/** @throws InvalidArgumentError that names the option, its value, and what would be accepted */
export function toUpstreamPoolOptions(input: UpstreamPoolOptions | undefined): ResolvedUpstreamPoolOptions {
  const resolved = toClientOptions(input)
  const { factory: _factory, latencyWindow, failureStatuses, ...others } = input ?? {}
  const { maxFailures, ejectionTime, maxEjectionTime, maxEjectionPercent, ...rest } = others
  const {
    slowStart,
    maxRetries,
    retryBudget,
    healthCheck,
    hedge,
    redirects,
    tls: _tls,
    ...poolOptions
  } = rest
  toConnections(poolOptions)
  const checks = toHealthCheck(healthCheck)
  return {
    // A copy, so that a later change by the caller doesn't make upstreams connect in different ways.
    pool: { ...poolOptions, ...toConnectOptions(input ?? {}, resolved) },
    factory: toAgentOptions({ factory: input?.factory }).factory,
    rules: {
      latencyWindow: toDuration('latencyWindow', latencyWindow, 10_000),
      maxFailures: toInteger('maxFailures', maxFailures, 5, 1, MAX_COUNT, 'failures'),
      ejectionTime: toDuration('ejectionTime', ejectionTime, 1_000),
      maxEjectionTime: toDuration('maxEjectionTime', maxEjectionTime, 60_000),
      maxEjectionPercent: toInteger('maxEjectionPercent', maxEjectionPercent, 50, 0, 100, 'percent'),
      mayProbe: checks === null,
      slowStart: toInteger('slowStart', slowStart, 10_000, 0, MAX_DELAY, 'milliseconds'),
    },
    retryBudget: toRetryBudget(retryBudget),
    healthCheck: checks,
    discovery: toDiscoveryContext(resolved.connect),
    leavesByRedirect: toRedirects(redirects),
    failureStatuses: toStatuses(failureStatuses),
    hedge: toHedge(hedge, resolved.replaySafe),
    maxRetries: toInteger('maxRetries', maxRetries, 1, 0, MAX_COUNT, 'upstreams'),
    replaySafe: resolved.replaySafe,
    requestTimeout: resolved.limits.requestTimeout,
    connectTimeout: resolved.connectTimeout,
    limits: resolved.limits,
    maxReplayBuffer: resolved.limits.maxReplayBuffer,
    maxResponseSize: resolved.limits.maxResponseSize,
    captureStack: resolved.captureStack,
    receiveLimits: resolved.receiveLimits,
  }
}

/** @throws InvalidArgumentError that names the option, its value, and what would be accepted */
export function toUpstream(input: unknown, common: PoolOptions): ResolvedUpstream {
  if (typeof input === 'string' || isUrl(input)) return toOne(toOrigin(input), {}, common)
  if (typeof input !== 'object' || input === null || Array.isArray(input))
    throw invalidKind('upstream', input, 'an origin, or an object with an origin')
  const { origin, ...rest }: Partial<UpstreamInit> = input
  return toOne(toOrigin(origin), rest, common)
}

function toOne(origin: Origin, init: Partial<UpstreamInit>, common: PoolOptions): ResolvedUpstream {
  const { weight, priority, address, ...own } = init
  const pool = { ...common, ...own }
  if (Object.keys(own).length > 0) {
    toClientOptions(pool)
    toConnections(pool)
  }
  const endpoint = toEndpoint(address, origin, pool)
  return {
    name: endpoint === null ? origin.href : `${origin.href}#${showIpEndpoint(endpoint)}`,
    origin,
    weight: toWeight(weight),
    priority: toInteger('priority', priority, 0, 0, MAX_PRIORITY, 'a priority'),
    own,
    pool: endpoint === null ? pool : toAddressed(pool, origin, endpoint),
  }
}

/** The arguments of UpstreamPool's constructor: upstreams, and sources of them. All are checked. */
export function toUpstreamsAndSources(
  input: unknown,
  common: PoolOptions,
): { readonly upstreams: readonly ResolvedUpstream[]; readonly sources: readonly UpstreamSource[] } {
  const list: readonly unknown[] = Array.isArray(input) ? input : [input]
  return {
    upstreams: list.filter((one) => !isSource(one)).map((one) => toUpstream(one, common)),
    sources: list.filter(isSource),
  }
}

/**
 * One bad entry must not leave a service with its former upstreams, which may be gone: it is omitted and reported.
 *
 * @throws InvalidArgumentError that names what is wrong with a source's answer as a whole
 */
export function toAnswer(value: unknown, common: PoolOptions): ResolvedAnswer {
  const { list, ttl } = toAnswerParts(value)
  const upstreams: ResolvedUpstream[] = []
  const unusable: Error[] = []
  for (const [index, one] of list.entries()) {
    try {
      upstreams.push(toUpstream(one, common))
    } catch (thrown) {
      const cause = toError(thrown)
      unusable.push(new InvalidArgumentError(`upstreams[${index}]: ${cause.message}`, { cause }))
    }
  }
  return {
    upstreams,
    unusable,
    ttl: ttl === undefined || ttl === null ? null : toInteger('ttl', ttl, 0, 0, MAX_DELAY, 'milliseconds'),
  }
}

/** An upstream's name, in any form that `removeUpstream()` and `getUpstream()` accept. */
export function toUpstreamName(input: unknown, common: PoolOptions): string {
  if (typeof input !== 'string') return toUpstream(input, common).name
  const hash = input.indexOf('#')
  if (hash === -1) return toOrigin(input).href
  return toUpstream({ origin: input.slice(0, hash), address: input.slice(hash + 1) }, common).name
}

/** Null without an address. The port is null if it is the origin's. */
function toEndpoint(address: unknown, { hostname, port }: Origin, pool: PoolOptions): IpEndpoint | null {
  if (address === undefined || address === null) return null
  const endpoint = typeof address === 'string' ? toIpEndpoint(address) : null
  if (endpoint === null) throw invalid('address', address, 'an IP address, with or without a port, or null')
  if (hasSocketPath(pool)) throw invalid('address', address, 'none when socketPath is set')
  // No name is looked up for such an origin.
  if (toIpVersion(hostname) !== 0 && toIpEndpoint(hostname)?.host !== endpoint.host)
    throw invalid('address', address, `the address ${hostname}, which is the origin's host, or none`)
  return endpoint.port === port ? { ...endpoint, port: null } : endpoint
}

function hasSocketPath({ socketPath, connect }: PoolOptions): boolean {
  const own = typeof connect === 'object' && connect !== null ? connect.socketPath : null
  return (socketPath ?? null) !== null || (own ?? null) !== null
}

/** The options for a Pool whose connections go to one address. */
function toAddressed(
  pool: PoolOptions,
  { hostname, url }: Origin,
  { host, family, port }: IpEndpoint,
): PoolOptions {
  const { connect } = pool
  if (typeof connect === 'function') {
    const servername = toIpVersion(hostname) === 0 ? { servername: hostname } : {}
    return {
      ...pool,
      connect: (asked, callback) =>
        connect(
          { ...servername, ...asked, hostname: host, port: port === null ? url.port : `${port}` },
          callback,
        ),
    }
  }
  const lookup = toFixedLookup([{ address: host, family }])
  return { ...pool, connect: { ...connect, lookup, ...(port === null ? {} : { remotePort: port }) } }
}

/**
 * The options for an Agent for any origin: without those that only connect to the upstreams, reveal the client's
 * identity, or extend its trust in other ways than `ca`.
 */
export function toForeignOptions({ pool, factory }: ResolvedUpstreamPoolOptions): AgentOptions {
  const { socketPath: _socketPath, connect, ...rest } = pool
  const options = { ...rest, factory }
  if (typeof connect !== 'object' || connect === null) return { ...options, connect }
  const { socketPath: _ownPath, servername: _servername, remotePort: _remotePort, ...own } = connect
  return {
    ...options,
    connect: Object.fromEntries(Object.entries(own).filter(([name]) => !OF_UPSTREAMS.has(name))),
  }
}

function toDiscoveryContext(connect: ResolvedClientOptions['connect']): DiscoveryContext {
  if (typeof connect === 'function') return { lookup: null, family: 0 }
  const { lookup = null, family, localAddress = '' } = connect
  return { lookup, family: family === 4 || family === 6 ? family : toIpVersion(localAddress) }
}

function toRedirects(value: unknown): boolean {
  if (value === undefined || value === null || value === 'url') return true
  if (value === 'upstreams') return false
  throw invalid('redirects', value, "'url' or 'upstreams'")
}

function toDuration(name: string, value: unknown, fallback: number): number {
  return toInteger(name, value, fallback, 1, MAX_DELAY, 'milliseconds')
}

function toRetryBudget(value: unknown): RetryBudgetRules {
  if (value !== undefined && (typeof value !== 'object' || Array.isArray(value)))
    throw invalidKind('retryBudget', value, 'an object with percent and minPerSecond, or null')
  const { percent, minPerSecond }: { percent?: unknown; minPerSecond?: unknown } = value ?? {}
  return {
    percent: toInteger('retryBudget.percent', percent, 20, 0, MAX_PERCENT, 'percent'),
    minPerSecond: toInteger('retryBudget.minPerSecond', minPerSecond, 10, 0, MAX_COUNT, 'retries'),
  }
}

function toHedge(value: unknown, replaySafe: boolean): { readonly after: HedgeDelay } | null {
  if (value === undefined || value === null) return null
  if (typeof value !== 'object' || Array.isArray(value))
    throw invalidKind('hedge', value, 'an object with after, or null')
  if (!replaySafe) throw invalid('hedge', value, 'null when replaySafe is false')
  const { after }: { after?: unknown } = value
  if (after === 'p95') return { after }
  if (typeof after !== 'number') throw invalid('hedge.after', after, "'p95', or milliseconds")
  return { after: toDuration('hedge.after', after, 1) }
}

function toHealthCheck(value: unknown): HealthCheckRules | null {
  if (value === undefined || value === null) return null
  if (typeof value !== 'object' || Array.isArray(value))
    throw invalidKind('healthCheck', value, 'an object with path or grpc, or null')
  const { path, grpc, interval, timeout, expect }: Partial<UpstreamHealthCheck> = value
  const times = {
    interval: toDuration('healthCheck.interval', interval, 10_000),
    timeout: toDuration('healthCheck.timeout', timeout, 2_000),
  }
  if (grpc !== undefined && grpc !== null && grpc !== false) {
    if (path !== undefined && path !== null)
      throw invalid('healthCheck.path', path, 'none when healthCheck.grpc is set')
    if (expect !== undefined && expect !== null)
      throw invalid('healthCheck.expect', expect, 'none when healthCheck.grpc is set')
    return { ...times, request: toGrpcCheck(toServiceName(grpc)), isGood: isServing }
  }
  if (typeof path !== 'string' || !path.startsWith('/'))
    throw invalid('healthCheck.path', path, 'a path that begins with /')
  return { ...times, request: { path, method: 'GET' }, isGood: toExpectation(expect) }
}

function toServiceName(value: unknown): string {
  if (value === true) return ''
  if (typeof value === 'string' && Buffer.byteLength(value) <= MAX_SERVICE_LENGTH) return value
  throw invalid('healthCheck.grpc', value, `true, or a service name of at most ${MAX_SERVICE_LENGTH} bytes`)
}

function toExpectation(expect: UpstreamHealthCheck['expect']): HealthCheckRules['isGood'] {
  if (expect === undefined || expect === null)
    return ({ statusCode }) => statusCode >= 200 && statusCode <= 299
  if (typeof expect === 'function')
    return ({ statusCode, headers }) => expect({ statusCode, headers }) === true
  if (!Array.isArray(expect))
    throw invalidKind('healthCheck.expect', expect, 'a list of statuses, a function, or null')
  const statuses = new Set(expect.map((status) => toStatus(status, 'healthCheck.expect')))
  return ({ statusCode }) => statuses.has(statusCode)
}

function toWeight(value: unknown): number {
  if (value === undefined || value === null) return 1
  if (typeof value !== 'number' || !(value > 0 && value <= MAX_WEIGHT))
    throw invalid('weight', value, `a number above 0, up to ${MAX_WEIGHT}`)
  return value
}

function toStatuses(value: unknown): ReadonlySet<number> {
  if (value === undefined || value === null) return new Set(FAILURE_STATUSES)
  if (!Array.isArray(value)) throw invalidKind('failureStatuses', value, 'a list of statuses, or null')
  return new Set(value.map((status) => toStatus(status, 'failureStatuses')))
}

function toStatus(value: unknown, name: string): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 200 && value <= 599) return value
  throw invalid(name, value, 'statuses from 200 to 599')
}

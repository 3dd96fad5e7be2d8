/**
 * Unknown input → the options of an UpstreamPool, checked and complete.
 *
 * @module
 */

import type { PoolOptions } from '../../../types/client.ts'
import type { UpstreamHealthCheck, UpstreamInit, UpstreamPoolOptions } from '../../../types/upstream.ts'
import { MAX_DELAY } from '../../core/clock.ts'
import { isUrl } from '../../core/realms.ts'
import { invalid, invalidKind, toInteger } from '../../core/validate.ts'
import type { Origin } from '../../options/options.ts'
import {
  toAgentOptions,
  toClientOptions,
  toConnections,
  toConnectOptions,
  toOrigin,
} from '../../options/options.ts'
import type { ReceiveLimits } from '../../options/receive-limits.ts'
import { isServing, MAX_SERVICE_LENGTH, toGrpcCheck } from './grpc-health.ts'
import type { HealthCheckRules } from './health-check.ts'
import type { RetryBudgetRules } from './retry-budget.ts'
import type { UpstreamSetRules } from './upstream-set.ts'

/** {@link UpstreamPoolOptions}, with every option present. Durations are in milliseconds. */
export interface ResolvedUpstreamPoolOptions {
  /** Those of each Pool. */
  readonly pool: PoolOptions
  /** Null: a Pool of Dodici. */
  readonly factory: UpstreamPoolOptions['factory'] | null
  readonly rules: UpstreamSetRules
  readonly retryBudget: RetryBudgetRules
  /** Null: calls probe ejected upstreams. */
  readonly healthCheck: HealthCheckRules | null
  readonly failureStatuses: ReadonlySet<number>
  readonly maxRetries: number
  readonly replaySafe: boolean
  readonly requestTimeout: number
  readonly maxReplayBuffer: number
  readonly maxResponseSize: number
  readonly captureStack: boolean
  readonly receiveLimits: ReceiveLimits
}

/** One upstream, checked. */
export interface ResolvedUpstream {
  readonly origin: Origin
  readonly weight: number
  /** The common ones, and those of the upstream. */
  readonly pool: PoolOptions
}

const MAX_COUNT = 2 ** 32 - 1
const MAX_WEIGHT = 1_000_000
const MAX_PERCENT = 1_000
/** All 5xx. */
const FAILURE_STATUSES: readonly number[] = Array.from({ length: 100 }, (_, index) => 500 + index)

/** @throws InvalidArgumentError that names the option, its value, and what would be accepted */
export function toUpstreamPoolOptions(input: UpstreamPoolOptions | undefined): ResolvedUpstreamPoolOptions {
  const resolved = toClientOptions(input)
  const { factory: _factory, latencyWindow, failureStatuses, ...others } = input ?? {}
  const { maxFailures, ejectionTime, maxEjectionTime, maxEjectionPercent, ...rest } = others
  const { slowStart, maxRetries, retryBudget, healthCheck, tls: _tls, ...poolOptions } = rest
  toConnections(poolOptions)
  const checks = toHealthCheck(healthCheck)
  return {
    // A copy: a later change by the caller must not make upstreams connect in different ways.
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
    failureStatuses: toStatuses(failureStatuses),
    maxRetries: toInteger('maxRetries', maxRetries, 1, 0, MAX_COUNT, 'upstreams'),
    replaySafe: resolved.replaySafe,
    requestTimeout: resolved.limits.requestTimeout,
    maxReplayBuffer: resolved.limits.maxReplayBuffer,
    maxResponseSize: resolved.limits.maxResponseSize,
    captureStack: resolved.captureStack,
    receiveLimits: resolved.receiveLimits,
  }
}

/** @throws InvalidArgumentError that names the option, its value, and what would be accepted */
export function toUpstream(input: unknown, common: PoolOptions): ResolvedUpstream {
  if (typeof input === 'string' || isUrl(input)) return { origin: toOrigin(input), weight: 1, pool: common }
  if (typeof input !== 'object' || input === null || Array.isArray(input))
    throw invalidKind('upstream', input, 'an origin, or an object with an origin')
  const { origin, weight, ...own }: Partial<UpstreamInit> = input
  const pool = { ...common, ...own }
  toClientOptions(pool)
  toConnections(pool)
  return { origin: toOrigin(origin), weight: toWeight(weight), pool }
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
    if (path !== undefined && path !== null) throw invalid('healthCheck.path', path, 'none, beside grpc')
    if (expect !== undefined && expect !== null)
      throw invalid('healthCheck.expect', expect, 'none, beside grpc')
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

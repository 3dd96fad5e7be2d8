/**
 * Unknown input → the options of an UpstreamPool, checked and complete.
 *
 * @module
 */

import type { PoolOptions } from '../../../types/client.ts'
import type { UpstreamInit, UpstreamPoolOptions } from '../../../types/upstream.ts'
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
  const { slowStart, maxRetries, retryBudget, tls: _tls, ...poolOptions } = rest
  toConnections(poolOptions)
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
      slowStart: toInteger('slowStart', slowStart, 10_000, 0, MAX_DELAY, 'milliseconds'),
    },
    retryBudget: toRetryBudget(retryBudget),
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

function toWeight(value: unknown): number {
  if (value === undefined || value === null) return 1
  if (typeof value !== 'number' || !(value > 0 && value <= MAX_WEIGHT))
    throw invalid('weight', value, `a number above 0, up to ${MAX_WEIGHT}`)
  return value
}

function toStatuses(value: unknown): ReadonlySet<number> {
  if (value === undefined || value === null) return new Set(FAILURE_STATUSES)
  if (!Array.isArray(value)) throw invalidKind('failureStatuses', value, 'a list of statuses, or null')
  return new Set(value.map(toStatus))
}

function toStatus(value: unknown): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 200 && value <= 599) return value
  throw invalid('failureStatuses', value, 'statuses from 200 to 599')
}

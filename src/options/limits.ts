/**
 * Every limit that a caller can set: the table, and the functions that check options against it.
 *
 * A new limit needs a field of an interface in `types/`, a row in this table, and a line in {@link toLimits} or
 * {@link toSessionLimits}. The compiler and `test/unit/options/limits-table.test.ts` say what is missing.
 *
 * @module
 */

import type { AgentOptions, ClientOptions, PoolOptions } from '../../types/client.ts'
import type { Http1Options } from '../../types/http1.ts'
import type { CallLimits } from '../../types/limits.ts'
import { MAX_DELAY } from '../core/clock.ts'
import { toDelay, toInteger } from '../core/validate.ts'
import type { DodiciError, ErrorDetails } from '../errors/errors.ts'
import {
  BodyTimeoutError,
  ConnectTimeoutError,
  HeadersCountError,
  HeadersOverflowError,
  HeadersTimeoutError,
  MaxOriginsReachedError,
  QueueTimeoutError,
  RequestTimeoutError,
  ResponseExceededMaxSizeError,
  SocketError,
  UploadTimeoutError,
} from '../errors/errors.ts'
import { LARGEST_WINDOW, MAX_WINDOW_SIZE } from './window-size.ts'

/** The options of `TOptions` whose values are numbers. */
type NumberOption<TOptions> = {
  [TName in keyof TOptions]-?: NonNullable<TOptions[TName]> extends number ? TName : never
}[keyof TOptions]

type CallLimitName = NumberOption<CallLimits>
/** Node itself has the default of `autoSelectFamilyAttemptTimeout`. */
type SessionLimitName = Exclude<
  NumberOption<ClientOptions>,
  CallLimitName | Http1LimitName | 'autoSelectFamilyAttemptTimeout'
>
type Http1LimitName = NumberOption<Http1Options>
type PoolLimitName = Exclude<NumberOption<PoolOptions>, NumberOption<ClientOptions>>
type AgentLimitName = Exclude<NumberOption<AgentOptions>, NumberOption<PoolOptions>>

/** A row of the table. All its numbers are in its unit. */
export interface LimitRow {
  /** The value without the option. If it isn't below `max`, there is no limit by default, and the docs say `null`. */
  readonly default: number
  readonly min: number
  readonly max: number
  /** Milliseconds may have a fraction. All others are whole numbers. */
  readonly unit:
    | 'milliseconds'
    | 'bytes'
    | 'fields'
    | 'streams'
    | 'resets'
    | 'resets a second'
    | 'requests'
    | 'sessions'
    | 'origins'
  /** The value that means no limit; undefined if there always is one. */
  readonly off: 0 | -1 | null | undefined
  /** The error for a call that reaches the limit; null if no call fails. */
  readonly error: (new (message: string, details?: ErrorDetails) => DodiciError) | null
}

/**
 * The largest response header section that a caller can allow, in bytes. The engine accepts up to this, so that the
 * call itself reports what is too large.
 */
export const MAX_RESPONSE_HEADER_SIZE = 1_048_576
/**
 * The number of fields that fit into {@link MAX_RESPONSE_HEADER_SIZE}: each counts at least 32 bytes (RFC 9113
 * §6.5.2).
 */
export const MAX_RESPONSE_HEADERS_COUNT = MAX_RESPONSE_HEADER_SIZE / 32
/** RFC 9113 §6.5.2: the largest value of a setting. */
export const MAX_SETTING = 2 ** 32 - 1
/** RFC 9113 §6.9.2: a connection window can't be set below this, in bytes. */
const MIN_CONNECTION_WINDOW = 65_535
/** The most memory for the copy of a request body, in bytes. */
const MAX_REPLAY_BUFFER = 2 ** 30
/** Far more than a process can have. */
const MAX_COUNT = 2 ** 32 - 1

const TIME = { unit: 'milliseconds', min: 0, max: MAX_DELAY, off: 0 } as const
const ANY_SIZE = { unit: 'bytes', min: -1, max: Number.MAX_SAFE_INTEGER, off: -1 } as const
const ANY_COUNT = { min: 1, max: MAX_COUNT, off: null } as const
const SERVED = { unit: 'requests', min: 0, max: MAX_COUNT, off: 0 } as const

/** A limit that can't be turned off. */
function range<TUnit extends LimitRow['unit']>(min: number, max: number, unit: TUnit) {
  return { unit, min, max, off: undefined } as const
}

/** The limits of each call. A dispatcher sets them for all its calls, and a request can override them. */
export const CALL_LIMITS = {
  queueTimeout: { default: 300_000, ...TIME, error: QueueTimeoutError },
  /** The default is for a connection attempt: a request without the option has no such limit. */
  connectTimeout: { default: 10_000, ...TIME, error: ConnectTimeoutError },
  headersTimeout: { default: 300_000, ...TIME, error: HeadersTimeoutError },
  bodyTimeout: { default: 300_000, ...TIME, error: BodyTimeoutError },
  uploadTimeout: { default: 300_000, ...TIME, error: UploadTimeoutError },
  requestTimeout: { default: 0, ...TIME, error: RequestTimeoutError },
  maxResponseSize: { default: -1, ...ANY_SIZE, error: ResponseExceededMaxSizeError },
  maxHeaderSize: {
    default: 65_536,
    ...range(1, MAX_RESPONSE_HEADER_SIZE, 'bytes'),
    error: HeadersOverflowError,
  },
  maxHeadersCount: {
    default: 2_000,
    ...range(1, MAX_RESPONSE_HEADERS_COUNT, 'fields'),
    error: HeadersCountError,
  },
  maxReplayBuffer: { default: 262_144, ...range(0, MAX_REPLAY_BUFFER, 'bytes'), error: null },
} as const satisfies Record<CallLimitName, LimitRow>

/** The limits of each session in a Client, a Pool or an Agent. */
export const SESSION_LIMITS = {
  initialWindowSize: { default: LARGEST_WINDOW, ...range(1, MAX_WINDOW_SIZE, 'bytes'), error: null },
  connectionWindowSize: {
    default: LARGEST_WINDOW,
    ...range(MIN_CONNECTION_WINDOW, MAX_WINDOW_SIZE, 'bytes'),
    error: null,
  },
  maxSessionBuffer: {
    default: 268_435_456,
    ...range(MIN_CONNECTION_WINDOW, Number.MAX_SAFE_INTEGER, 'bytes'),
    error: null,
  },
  maxConcurrentStreams: { default: MAX_SETTING, ...range(1, MAX_SETTING, 'streams'), error: null },
  keepAliveTimeout: { default: 300_000, ...TIME, error: null },
  pingInterval: { default: 60_000, ...TIME, error: null },
  pingTimeout: { default: 15_000, ...TIME, error: SocketError },
  resetBurst: { default: 800, ...ANY_COUNT, unit: 'resets', error: null },
  resetRate: { default: 30, ...range(1, 1_000_000, 'resets a second'), error: null },
  maxSessionAge: { default: 0, ...TIME, error: null },
  maxSessionRequests: { default: 0, ...SERVED, error: null },
  sessionGracePeriod: { default: 300_000, ...TIME, error: SocketError },
} as const satisfies Record<SessionLimitName, LimitRow>

/** The limits of each HTTP/1.1 connection. undici has the same defaults. */
export const HTTP1_LIMITS = {
  keepAliveMaxTimeout: { default: 600_000, ...TIME, error: null },
  keepAliveTimeoutThreshold: { default: 2_000, ...TIME, error: null },
  clientTtl: { default: 0, ...TIME, error: null },
  maxRequestsPerClient: { default: 0, ...SERVED, error: null },
  pipelining: { default: 1, ...range(0, MAX_COUNT, 'requests'), error: null },
} as const satisfies Record<Http1LimitName, LimitRow>

/** How many milliseconds an HTTP/1.1 connection stays open without requests by default, as in undici. */
export const HTTP1_KEEP_ALIVE = 4_000

/** The limits for each origin of a Pool or an Agent. */
export const POOL_LIMITS = {
  connections: { default: 4, ...ANY_COUNT, unit: 'sessions', error: null },
} as const satisfies Record<PoolLimitName, LimitRow>

/** The limits of an Agent. */
export const AGENT_LIMITS = {
  maxOrigins: {
    default: Number.POSITIVE_INFINITY,
    ...ANY_COUNT,
    unit: 'origins',
    error: MaxOriginsReachedError,
  },
} as const satisfies Record<AgentLimitName, LimitRow>

/** The table. `docs/` and the TSDoc in `types/` say the same: tests compare them. */
export const LIMITS = { ...CALL_LIMITS, ...SESSION_LIMITS, ...HTTP1_LIMITS, ...POOL_LIMITS, ...AGENT_LIMITS }

type LimitName = keyof typeof LIMITS

/** The limits that can make a call fail. */
type FailingLimitName = {
  [TName in LimitName]: (typeof LIMITS)[TName]['error'] extends null ? never : TName
}[LimitName]

/**
 * The value of one option.
 *
 * @param fallback the value for null and undefined. Undefined: the default in the table, or Infinity for null where
 *   null means no limit
 * @param shownName the option's name in an error message
 * @throws InvalidArgumentError that names the option, its value, and what would be accepted
 */
export function toLimit(
  name: LimitName,
  value: unknown,
  fallback?: number,
  shownName: string = name,
): number {
  // Before the table is read: a request that sets one limit gets here for all other limits, too.
  if (fallback !== undefined && (value === undefined || value === null)) return fallback
  const row: LimitRow = LIMITS[name]
  if (value === null && row.off === null) return Number.POSITIVE_INFINITY
  if (value === undefined || value === null) return row.default
  if (row.unit === 'milliseconds') return toDelay(shownName, value, row.default)
  return toInteger(shownName, value, row.default, row.min, row.max, toAcceptedUnit(row))
}

function toAcceptedUnit({ unit, off }: LimitRow): string {
  if (off === undefined) return unit
  return `${unit} (${off === null ? 'or null' : off} for no limit)`
}

/**
 * The error for a call that has reached a limit. It names the limit and its value.
 *
 * @param found the start of the message
 * @param rest the message after the limit
 */
export function toLimitError(name: FailingLimitName, value: number, found: string, rest = ''): DodiciError {
  const { error: LimitError, unit } = LIMITS[name]
  const shownValue = unit === 'milliseconds' ? `${value} ms` : value
  return new LimitError(`${found} ${name} (${shownValue})${rest}`)
}

/**
 * {@link CallLimits}, with every limit present. Durations in milliseconds, 0 for no limit; sizes in bytes, -1 for no
 * limit.
 */
export type Limits = {
  /** `connectTimeout` is null for a request that doesn't set it: the connection attempt's limit applies then. */
  readonly [TName in keyof CallLimits]-?: TName extends 'connectTimeout' ? number | null : number
} & {
  /**
   * Whether the caller has set `queueTimeout`. If not, a shorter `headersTimeout` also limits the time in the queue.
   */
  readonly isQueueTimeoutGiven: boolean
}

/**
 * Checks and completes the limits of a request or a client.
 *
 * Written out by name, with a single object literal: it runs for each request, and most set no limits.
 *
 * @param defaults the values for what `options` doesn't set; null: the defaults in the table
 * @returns `defaults` itself if `options` sets nothing
 * @throws InvalidArgumentError that names the option, its value, and what would be accepted
 */
export function toLimits(options: CallLimits, defaults: Limits | null): Limits {
  const { queueTimeout, connectTimeout, headersTimeout, bodyTimeout, uploadTimeout, requestTimeout } = options
  const { maxResponseSize, maxHeaderSize, maxHeadersCount, maxReplayBuffer } = options
  const anyTime = queueTimeout ?? connectTimeout ?? headersTimeout ?? bodyTimeout ?? uploadTimeout
  const any =
    anyTime ?? requestTimeout ?? maxResponseSize ?? maxHeaderSize ?? maxHeadersCount ?? maxReplayBuffer
  if (any === undefined && defaults !== null) return defaults
  const hasConnectTimeout = connectTimeout !== undefined && connectTimeout !== null
  const hasQueueTimeout = queueTimeout !== undefined && queueTimeout !== null
  return Object.freeze({
    queueTimeout: toLimit('queueTimeout', queueTimeout, defaults?.queueTimeout),
    isQueueTimeoutGiven: hasQueueTimeout || defaults?.isQueueTimeoutGiven === true,
    connectTimeout: hasConnectTimeout
      ? toLimit('connectTimeout', connectTimeout)
      : (defaults?.connectTimeout ?? null),
    headersTimeout: toLimit('headersTimeout', headersTimeout, defaults?.headersTimeout),
    bodyTimeout: toLimit('bodyTimeout', bodyTimeout, defaults?.bodyTimeout),
    uploadTimeout: toLimit('uploadTimeout', uploadTimeout, defaults?.uploadTimeout),
    requestTimeout: toLimit('requestTimeout', requestTimeout, defaults?.requestTimeout),
    maxResponseSize: toLimit('maxResponseSize', maxResponseSize, defaults?.maxResponseSize),
    maxHeaderSize: toLimit('maxHeaderSize', maxHeaderSize, defaults?.maxHeaderSize),
    maxHeadersCount: toLimit('maxHeadersCount', maxHeadersCount, defaults?.maxHeadersCount),
    maxReplayBuffer: toLimit('maxReplayBuffer', maxReplayBuffer, defaults?.maxReplayBuffer),
  })
}

/**
 * How many milliseconds a call may wait for a stream; 0: no limit. If you want a response soon, you don't want to
 * wait longer than that for a stream, unless `queueTimeout` says so.
 */
export function toQueueLimit({ headersTimeout, isQueueTimeoutGiven, queueTimeout }: Limits): number {
  if (isQueueTimeoutGiven || headersTimeout === 0) return queueTimeout
  return Math.min(queueTimeout, headersTimeout)
}

/** The limits of a session, with every one present. Durations in milliseconds, 0 for no limit; sizes in bytes. */
export type SessionLimits = { readonly [TName in SessionLimitName]: number }

/**
 * Checks and completes the limits of a session.
 *
 * @param toGiven returns the name that the caller has used for a limit, and its value
 * @throws InvalidArgumentError that names the option, its value, and what would be accepted
 */
export function toSessionLimits(
  toGiven: (name: SessionLimitName) => readonly [shownName: string, value: unknown],
): SessionLimits {
  const toOne = (name: SessionLimitName): number => {
    const [shownName, value] = toGiven(name)
    return toLimit(name, value, undefined, shownName)
  }
  return {
    initialWindowSize: toOne('initialWindowSize'),
    connectionWindowSize: toOne('connectionWindowSize'),
    maxSessionBuffer: toOne('maxSessionBuffer'),
    maxConcurrentStreams: toOne('maxConcurrentStreams'),
    keepAliveTimeout: toOne('keepAliveTimeout'),
    pingInterval: toOne('pingInterval'),
    pingTimeout: toOne('pingTimeout'),
    resetBurst: toOne('resetBurst'),
    resetRate: toOne('resetRate'),
    maxSessionAge: toOne('maxSessionAge'),
    maxSessionRequests: toOne('maxSessionRequests'),
    sessionGracePeriod: toOne('sessionGracePeriod'),
  }
}

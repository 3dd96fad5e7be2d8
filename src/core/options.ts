/**
 * Unknown input → one frozen, fully resolved options object. The only place with defaults.
 *
 * @module
 */

import type { ClientOptions, Connector, ConnectTlsOptions } from '../../types/client.ts'
import type { CallLimits } from '../../types/limits.ts'
import { InvalidArgumentError } from '../errors.ts'

/** Where a client connects to, taken apart once. */
export interface Origin {
  /** `https://example.com:8443`, as `URL.origin` writes it. */
  readonly href: string
  readonly url: URL
  readonly scheme: 'http' | 'https'
  /** Without the brackets of an IPv6 address. */
  readonly hostname: string
  readonly port: number
  /** What `:authority` says: the host, and the port where it isn't the scheme's own. */
  readonly authority: string
}

/** {@link CallLimits}, with every limit present. Durations in milliseconds, 0 for never; sizes in bytes. */
export interface Limits {
  readonly queueTimeout: number
  /** Null where the request has none of its own: then the connection attempt's limit is the call's. */
  readonly connectTimeout: number | null
  readonly headersTimeout: number
  readonly bodyTimeout: number
  readonly uploadTimeout: number
  readonly requestTimeout: number
  /** -1 for none. */
  readonly maxResponseSize: number
  readonly maxHeaderSize: number
  readonly maxHeadersCount: number
}

/** {@link ClientOptions}, with every option present. */
export interface ResolvedClientOptions {
  readonly engine: 'node'
  readonly connect: ConnectTlsOptions | Connector
  readonly socketPath: string | null
  readonly connectTimeout: number
  /** What holds for a request that says nothing else. */
  readonly limits: Limits
  readonly initialWindowSize: number
  readonly connectionWindowSize: number
  readonly maxConcurrentStreams: number
  readonly strictContentLength: boolean
}

/** RFC 9113 §6.9.1: no window may be larger. */
const MAX_WINDOW_SIZE = 2 ** 31 - 1
/** RFC 9113 §6.9.2: a connection's window can't be set below this. */
const MIN_CONNECTION_WINDOW_SIZE = 65_535
/** RFC 9113 §6.5.2: the largest value of a setting. */
const MAX_SETTING = 2 ** 32 - 1
/** An engine must let the largest `maxHeaderSize` pass, so that it is the call that says what is too large. Bytes. */
export const MAX_HEADER_SIZE = 1_048_576
/** As many fields as fit into {@link MAX_HEADER_SIZE}: each counts at least 32 bytes (RFC 9113 §6.5.2). */
export const MAX_HEADERS_COUNT = MAX_HEADER_SIZE / 32
/** The longest delay that Node's timers take. */
const MAX_DELAY = 2 ** 31 - 1

const DEFAULT_LIMITS: Limits = Object.freeze({
  queueTimeout: 300_000,
  connectTimeout: null,
  headersTimeout: 300_000,
  bodyTimeout: 300_000,
  uploadTimeout: 300_000,
  requestTimeout: 0,
  maxResponseSize: -1,
  maxHeaderSize: 65_536,
  maxHeadersCount: 2_000,
})

const ENGINES: readonly unknown[] = ['node']

/** How a value looks in an error message: short, and never throwing. */
export function show(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.length > 80 ? `${value.slice(0, 80)}…` : value)
  if (typeof value === 'function') return 'a function'
  if (Array.isArray(value)) return 'an array'
  if (typeof value === 'object' && value !== null) return toObjectName(value)
  return String(value)
}

function toObjectName(value: object): string {
  try {
    const name: unknown = value.constructor === undefined ? 'no prototype' : value.constructor.name
    if (typeof name === 'string' && name !== '') return `an object (${name})`
  } catch {
    // Asking an object runs its code, and what that throws would hide the message that is being made.
  }
  return 'an object'
}

/** The error for an argument: what it is called, what came, what would be accepted. */
export function invalid(name: string, value: unknown, accepted: string): InvalidArgumentError {
  return new InvalidArgumentError(`Invalid ${name}: got ${show(value)}, expected ${accepted}`)
}

/** A whole number from `min` to `max`; null and undefined mean the default. */
export function toInteger(
  name: string,
  value: unknown,
  fallback: number,
  min: number,
  max: number,
  unit: string,
) {
  if (value === undefined || value === null) return fallback
  if (typeof value !== 'number' || !Number.isInteger(value) || value < min || value > max) {
    throw invalid(name, value, `a whole number of ${unit} from ${min} to ${max}`)
  }
  return value
}

/** A duration in milliseconds, 0 for none; null and undefined mean the default. */
export function toDelay(name: string, value: unknown, fallback: number): number {
  if (value === undefined || value === null) return fallback
  if (typeof value !== 'number' || !(value >= 0 && value <= MAX_DELAY)) {
    throw invalid(name, value, `milliseconds from 0 (never) to ${MAX_DELAY}`)
  }
  return value
}

/** `true` or `false`; null and undefined mean the default. */
export function toBoolean(name: string, value: unknown, fallback: boolean): boolean {
  if (value === undefined || value === null) return fallback
  if (typeof value !== 'boolean') throw invalid(name, value, 'true or false')
  return value
}

/** What stands before an `@` is nobody's business in a log. */
function withoutCredentials(value: unknown): unknown {
  return typeof value === 'string' ? value.replace(/^.*@/s, '…@') : value
}

/** An origin: an http or https URL without path, query, fragment or credentials. */
export function toOrigin(value: unknown): Origin {
  const accepted = 'an http: or https: URL without path, query, fragment or credentials'
  let url: URL
  try {
    url = new URL(value instanceof URL ? value.href : typeof value === 'string' ? value : '')
  } catch {
    throw invalid('origin', withoutCredentials(value), accepted)
  }
  if (
    (url.protocol !== 'http:' && url.protocol !== 'https:') ||
    url.pathname !== '/' ||
    url.search !== '' ||
    url.hash !== '' ||
    url.username !== '' ||
    url.password !== ''
  ) {
    throw invalid('origin', withoutCredentials(url.href), accepted)
  }
  const scheme = url.protocol === 'https:' ? 'https' : 'http'
  return Object.freeze({
    href: url.origin,
    url,
    scheme,
    hostname: url.hostname.startsWith('[') ? url.hostname.slice(1, -1) : url.hostname,
    port: url.port === '' ? (scheme === 'https' ? 443 : 80) : Number(url.port),
    authority: url.host,
  })
}

function toConnect(value: unknown): ConnectTlsOptions | Connector {
  if (value === undefined || value === null) return {}
  if (typeof value === 'function') return value as Connector
  if (typeof value !== 'object' || Array.isArray(value)) {
    throw invalid('connect', value, 'TLS and socket options, or a function that yields a socket')
  }
  return Object.freeze({ ...value })
}

function toSocketPath(value: unknown): string | null {
  if (value === undefined || value === null) return null
  if (typeof value !== 'string' || value === '')
    throw invalid('socketPath', value, 'the path of a unix socket, or null')
  return value
}

/**
 * Checks and completes the limits of a request, or of a client.
 *
 * @param defaults what holds where `options` says nothing
 * @returns `defaults` itself where `options` says nothing at all, as most requests do
 * @throws InvalidArgumentError that names the option, its value, and what would be accepted
 */
export function toLimits(options: CallLimits, defaults: Limits): Limits {
  const { queueTimeout, connectTimeout, headersTimeout, bodyTimeout, uploadTimeout, requestTimeout } = options
  const { maxResponseSize, maxHeaderSize, maxHeadersCount } = options
  const anyTime = queueTimeout ?? connectTimeout ?? headersTimeout ?? bodyTimeout ?? uploadTimeout
  if ((anyTime ?? requestTimeout ?? maxResponseSize ?? maxHeaderSize ?? maxHeadersCount) === undefined) {
    return defaults
  }
  const { maxResponseSize: maxBody, maxHeaderSize: maxSize, maxHeadersCount: maxCount } = defaults
  const hasConnectTimeout = connectTimeout !== undefined && connectTimeout !== null
  return Object.freeze({
    queueTimeout: toDelay('queueTimeout', queueTimeout, defaults.queueTimeout),
    connectTimeout: hasConnectTimeout
      ? toDelay('connectTimeout', connectTimeout, 0)
      : defaults.connectTimeout,
    headersTimeout: toDelay('headersTimeout', headersTimeout, defaults.headersTimeout),
    bodyTimeout: toDelay('bodyTimeout', bodyTimeout, defaults.bodyTimeout),
    uploadTimeout: toDelay('uploadTimeout', uploadTimeout, defaults.uploadTimeout),
    requestTimeout: toDelay('requestTimeout', requestTimeout, defaults.requestTimeout),
    maxResponseSize: toInteger(
      'maxResponseSize',
      maxResponseSize,
      maxBody,
      -1,
      Number.MAX_SAFE_INTEGER,
      'bytes (-1: any number)',
    ),
    maxHeaderSize: toInteger('maxHeaderSize', maxHeaderSize, maxSize, 1, MAX_HEADER_SIZE, 'bytes'),
    maxHeadersCount: toInteger('maxHeadersCount', maxHeadersCount, maxCount, 1, MAX_HEADERS_COUNT, 'fields'),
  })
}

/**
 * Checks and completes the options of a Client.
 *
 * @throws InvalidArgumentError that names the option, its value, and what would be accepted.
 */
export function toClientOptions(input: ClientOptions | undefined): ResolvedClientOptions {
  const given: unknown = input ?? {}
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw invalid('options', input, 'an object')
  }
  const options: ClientOptions = given
  const engine = options.engine ?? 'node'
  if (!ENGINES.includes(engine)) throw invalid('engine', engine, `one of ${ENGINES.map(show).join(', ')}`)
  return Object.freeze({
    engine,
    connect: toConnect(options.connect),
    socketPath: toSocketPath(options.socketPath),
    connectTimeout: toDelay('connectTimeout', options.connectTimeout, 10_000),
    // A client's own connectTimeout is that of its connection attempts.
    limits: toLimits({ ...options, connectTimeout: undefined }, DEFAULT_LIMITS),
    initialWindowSize: toInteger(
      'initialWindowSize',
      options.initialWindowSize,
      4_194_304,
      1,
      MAX_WINDOW_SIZE,
      'bytes',
    ),
    connectionWindowSize: toInteger(
      'connectionWindowSize',
      options.connectionWindowSize,
      16_777_216,
      MIN_CONNECTION_WINDOW_SIZE,
      MAX_WINDOW_SIZE,
      'bytes',
    ),
    maxConcurrentStreams: toInteger(
      'maxConcurrentStreams',
      options.maxConcurrentStreams,
      MAX_SETTING,
      1,
      MAX_SETTING,
      'streams',
    ),
    strictContentLength: toBoolean('strictContentLength', options.strictContentLength, true),
  })
}

/**
 * Unknown input → one frozen, fully resolved options object. The only place with defaults.
 *
 * @module
 */

import type {
  AgentOptions,
  ClientOptions,
  ConnectOptionsWithTarget,
  Connector,
  ConnectTlsOptions,
  FallbackDispatcher,
  PoolOptions,
} from '../../types/client.ts'
import type { EngineName } from '../../types/engine.ts'
import { isHost } from '../core/authority.ts'
import { MAX_DELAY } from '../core/clock.ts'
import { toIpVersion } from '../core/ip-address.ts'
import { RUNTIME } from '../core/runtime.ts'
import { invalid, invalidKind, show, showTarget, toBoolean, toInteger, toInvalid } from '../core/validate.ts'
import { InvalidReturnValueError } from '../errors/errors.ts'
import type { CoalesceRules } from './coalesce.ts'
import { toCoalesceRules } from './coalesce.ts'
import { CONNECT_OPTIONS, DISPATCHER_OPTIONS } from './known-options.ts'
import type { Limits } from './limits.ts'
import { HTTP1_KEEP_ALIVE, toLimit, toLimits } from './limits.ts'
import type { ReceiveLimits } from './receive-limits.ts'
import { toReceiveLimits } from './receive-limits.ts'
import type { SessionOptions } from './session-options.ts'
import { toSessionOptions } from './session-options.ts'
import { warnOfUnknownOptions } from './unknown-options.ts'
import { toUrl } from './url-object.ts'

/** Where a client connects to, parsed once. */
export interface Origin {
  /** `https://example.com:8443`, as `URL.origin` writes it. */
  readonly href: string
  readonly url: URL
  readonly scheme: 'http' | 'https'
  /** Without the brackets of an IPv6 address. */
  readonly hostname: string
  readonly port: number
  /** The value of `:authority`: the host, and the port unless it is the scheme's default. */
  readonly authority: string
}

/** The options for HTTP/1.1 connections, as undici accepts them. Durations in milliseconds. */
export interface ResolvedHttp1Options {
  readonly keepAliveTimeout: number
  readonly keepAliveMaxTimeout: number
  readonly keepAliveTimeoutThreshold: number
  /** 0: no limit. */
  readonly clientTtl: number
  /** 0: no limit. */
  readonly maxRequestsPerClient: number
  /** 0: each request gets its own connection. */
  readonly pipelining: number
}

/** How many connections a dispatcher may have to its origin; Infinity: no limit. */
export interface Connections {
  /** HTTP/2 connections. */
  readonly sessions: number
  readonly http1: number
}

/** {@link ClientOptions}, with every option present. */
export interface ResolvedClientOptions {
  readonly engine: EngineName
  /** Whether the `engine` option was set. */
  readonly isEngineGiven: boolean
  readonly connect: ConnectTlsOptions | Connector
  readonly socketPath: string | null
  /** For a connect function; socket options already contain it. */
  readonly localAddress: string | null
  readonly connectTimeout: number
  /** Undefined: the dispatcher that is built into Node. Null: no fallback. */
  readonly fallback: FallbackDispatcher | null | undefined
  /** The limits for a request that sets none. */
  readonly limits: Limits
  readonly session: SessionOptions
  readonly strictContentLength: boolean
  readonly replaySafe: boolean
  /** Whether a field section larger than the server's SETTINGS_MAX_HEADER_LIST_SIZE isn't sent. */
  readonly enforceMaxHeaderListSize: boolean
  readonly captureStack: boolean
  readonly receiveLimits: ReceiveLimits
  readonly http1: ResolvedHttp1Options
  /** The option that limits the age of HTTP/1.1 connections. */
  readonly ageOption: 'clientTtl' | 'maxSessionAge'
}

/** The default engine, except on Bun, if neither the option nor the environment names one. */
export const DEFAULT_ENGINE: EngineName = 'node'

/** The environment variable for the default engine. */
const ENGINE_VARIABLE = 'DODICI_ENGINE'

/** Null until a dispatcher is created without the `engine` option. */
let defaultEngine: EngineName | null = null

/** @throws InvalidArgumentError if the environment names an unknown engine */
function toDefaultEngine(): EngineName {
  defaultEngine ??= toEngine(ENGINE_VARIABLE, process.env[ENGINE_VARIABLE] || toBuiltinDefault())
  return defaultEngine
}

/** Bun's node:http2 lacks too much (docs/runtimes.md). */
function toBuiltinDefault(): EngineName {
  return RUNTIME === 'Bun' ? 'wire' : DEFAULT_ENGINE
}

/** An object, so that the compiler requires each of the type's names. */
const ENGINES: Readonly<Record<EngineName, true>> = { node: true, wire: true }

function toEngine(name: string, value: unknown): EngineName {
  if (isEngine(value)) return value
  throw invalid(name, value, `one of ${Object.keys(ENGINES).map(show).join(', ')}`)
}

function isEngine(value: unknown): value is EngineName {
  return typeof value === 'string' && Object.hasOwn(ENGINES, value)
}

/** Parses an origin: an http or https URL without path, query, fragment or credentials. */
export function toOrigin(value: unknown): Origin {
  const accepted = 'an http: or https: URL without path, query, fragment or credentials'
  let url: URL
  try {
    url = toUrl(value)
  } catch {
    throw toInvalid('origin', showTarget(value), accepted)
  }
  if (
    (url.protocol !== 'http:' && url.protocol !== 'https:') ||
    url.pathname !== '/' ||
    url.search !== '' ||
    url.hash !== '' ||
    url.username !== '' ||
    url.password !== '' ||
    // The URL parser accepts some characters that RFC 3986 forbids: they would be part of `:authority`.
    !isHost(url.hostname)
  ) {
    throw toInvalid('origin', showTarget(url.href), accepted)
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

/** How a Client connects: the options for the socket and TLS, and undici's options that are in the same object. */
interface ConnectParts {
  readonly connect: ConnectTlsOptions | Connector
  readonly connectTimeout: unknown
  readonly socketPath: unknown
}

/** `connect` overrides the top-level options, as in undici, and these override `tls`. */
function toConnectParts(options: ClientOptions): ConnectParts {
  const { connect, connectTimeout, socketPath } = options
  const common = toCommonConnect(options)
  if (typeof connect === 'function') return { connect, connectTimeout, socketPath }
  const { timeout, socketPath: ownPath, ...rest } = toConnectObject('connect', connect)
  checkRemotePort(rest)
  return {
    connect: Object.freeze({ ...toConnectObject('tls', options.tls), ...common, ...rest }),
    connectTimeout: timeout ?? connectTimeout,
    socketPath: ownPath ?? socketPath,
  }
}

function checkRemotePort({ remotePort = 1 }: ConnectTlsOptions): void {
  if (!(Number.isInteger(remotePort) && remotePort >= 1 && remotePort <= 65_535))
    throw invalid('connect.remotePort', remotePort, 'a port from 1 to 65535')
}

function toConnectObject(name: string, value: unknown): ConnectOptionsWithTarget {
  if (value === undefined || value === null) return {}
  if (typeof value !== 'object' || Array.isArray(value)) {
    throw invalidKind(name, value, 'TLS and socket options, or a function that provides a socket')
  }
  warnOfUnknownOptions(value, CONNECT_OPTIONS, false)
  return value
}

/** The socket options that undici has at the top level. */
function toCommonConnect({
  localAddress,
  autoSelectFamily,
  autoSelectFamilyAttemptTimeout,
}: ClientOptions): ConnectTlsOptions {
  const common: ConnectTlsOptions = {}
  const address = toLocalAddress(localAddress)
  if (address !== null) common.localAddress = address
  if (autoSelectFamily !== undefined && autoSelectFamily !== null)
    common.autoSelectFamily = toBoolean('autoSelectFamily', autoSelectFamily, true)
  if (autoSelectFamilyAttemptTimeout !== undefined && autoSelectFamilyAttemptTimeout !== null)
    common.autoSelectFamilyAttemptTimeout = toAttemptTimeout(autoSelectFamilyAttemptTimeout)
  return common
}

function toAttemptTimeout(value: unknown): number {
  return toInteger('autoSelectFamilyAttemptTimeout', value, 0, 1, MAX_DELAY, 'milliseconds')
}

function toLocalAddress(value: unknown): string | null {
  if (value === undefined || value === null) return null
  if (typeof value !== 'string' || toIpVersion(value) === 0)
    throw invalid('localAddress', value, 'an IP address, or null')
  return value
}

function toFallback(value: unknown): FallbackDispatcher | null | undefined {
  if (value === undefined || value === null) return value
  if (typeof value === 'object' && 'dispatch' in value && typeof value.dispatch === 'function')
    return value as FallbackDispatcher
  throw invalid('fallback', value, 'an object with a dispatch() method, or null for none')
}

function toSocketPath(value: unknown): string | null {
  if (value === undefined || value === null) return null
  if (typeof value !== 'string' || value === '')
    throw invalid('socketPath', value, 'a Unix socket path, or null')
  if (isMalformedPath(value)) throw invalid('socketPath', value, 'a path without NUL bytes')
  // Node 20 and 22 would cut it off, and connect to whatever is there.
  const length = Buffer.byteLength(value)
  if (length > MAX_SOCKET_PATH)
    throw invalid(
      'socketPath',
      value,
      `a Unix socket path of at most ${MAX_SOCKET_PATH} bytes: this one has ${length}`,
    )
  return value
}

/**
 * The size of `sun_path`: 108 bytes on Linux, 104 on BSD and macOS. A named pipe on Windows has up to 256 characters.
 */
const MAX_SOCKET_PATH = { linux: 108, android: 108, win32: 1_024 }[process.platform as string] ?? 104

/** The name of an abstract Linux socket begins with NUL, and may contain more. */
function isMalformedPath(path: string): boolean {
  return path.includes('\0') && !path.startsWith('\0')
}

/**
 * Checks and completes the options of a Client.
 *
 * @throws InvalidArgumentError that names the option, its value, and what would be accepted.
 */
export function toClientOptions(input: ClientOptions | undefined): ResolvedClientOptions {
  const given: unknown = input ?? {}
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw invalidKind('options', input, 'an object')
  }
  const options: ClientOptions = given
  warnOfUnknownOptions(options, DISPATCHER_OPTIONS, false)
  const { connect, connectTimeout, socketPath } = toConnectParts(options)
  return Object.freeze({
    engine: toEngine('engine', options.engine ?? toDefaultEngine()),
    isEngineGiven: (options.engine ?? null) !== null,
    connect,
    socketPath: toSocketPath(socketPath),
    localAddress: toLocalAddress(options.localAddress),
    connectTimeout: toLimit('connectTimeout', connectTimeout),
    fallback: toFallback(options.fallback),
    // A client's own connectTimeout is that of its connection attempts.
    limits: toLimits({ ...options, connectTimeout: undefined }, null),
    session: toSessionOptions(options),
    strictContentLength: toBoolean('strictContentLength', options.strictContentLength, true),
    replaySafe: toBoolean('replaySafe', options.replaySafe, true),
    enforceMaxHeaderListSize: toBoolean('enforceMaxHeaderListSize', options.enforceMaxHeaderListSize, true),
    captureStack: toBoolean('captureStack', options.captureStack, false),
    receiveLimits: toReceiveLimits(options),
    http1: toHttp1Options(options),
    ageOption: (options.clientTtl ?? null) === null ? 'maxSessionAge' : 'clientTtl',
  })
}

/** undici doesn't accept 0 for a time without end. */
function toHttp1Options(options: ClientOptions): ResolvedHttp1Options {
  const { keepAliveTimeout } = options
  const idle =
    keepAliveTimeout === undefined || keepAliveTimeout === null
      ? HTTP1_KEEP_ALIVE
      : toLimit('keepAliveTimeout', keepAliveTimeout)
  const longest = toLimit('keepAliveMaxTimeout', options.keepAliveMaxTimeout)
  return Object.freeze({
    keepAliveTimeout: idle === 0 ? MAX_DELAY : idle,
    keepAliveMaxTimeout: longest === 0 ? MAX_DELAY : longest,
    keepAliveTimeoutThreshold: toLimit('keepAliveTimeoutThreshold', options.keepAliveTimeoutThreshold),
    clientTtl: toLimit('clientTtl', options.clientTtl ?? options.maxSessionAge),
    maxRequestsPerClient: toLimit(
      'maxRequestsPerClient',
      options.maxRequestsPerClient ?? options.maxSessionRequests,
    ),
    pipelining: toLimit('pipelining', options.pipelining),
  })
}

/** A dispatcher's `connect` and `tls`, resolved, for the dispatchers that it creates. */
export function toConnectOptions(
  { connect: given }: ClientOptions,
  { connect, connectTimeout, socketPath }: ResolvedClientOptions,
): Pick<ClientOptions, 'connect' | 'connectTimeout' | 'socketPath'> {
  const { timeout = null, socketPath: ownPath = null } =
    typeof given === 'object' && given !== null ? given : {}
  return {
    connect,
    ...(timeout === null ? {} : { connectTimeout }),
    ...(ownPath === null ? {} : { socketPath }),
  }
}

/**
 * Checks the `connections` option of a Pool. A session carries many requests, an HTTP/1.1 connection only one at a
 * time, so the default limits sessions only.
 *
 * @throws InvalidArgumentError that names the option, its value, and what would be accepted.
 */
export function toConnections({ connections }: PoolOptions): Connections {
  const sessions = toLimit('connections', connections)
  return { sessions, http1: connections === undefined ? Number.POSITIVE_INFINITY : sessions }
}

/** How many origins without requests an agent keeps if `maxOrigins` isn't set. */
const IDLE_ORIGINS = 1_000

/**
 * Whether a Client or a Pool has to use HTTP/1.1 for its origin.
 *
 * @param options checked by {@link toClientOptions}
 * @throws InvalidArgumentError if the origin needs a fallback and there is none
 */
export function isHttp1Origin(origin: Origin, options: ClientOptions | null | undefined): boolean {
  const { allowH2, fallback, h2c, useH2c } = options ?? {}
  const mayBeHttp2 = toBoolean('allowH2', allowH2, true)
  const speaksHttp2 = toPredicate(h2c ?? toBoolean('useH2c', useH2c, true))
  if (mayBeHttp2 && (origin.scheme === 'https' || speaksHttp2(new URL(origin.href)))) return false
  if (fallback !== null) return true
  const name = mayBeHttp2 ? 'h2c' : 'allowH2'
  throw invalid(name, false, 'true: HTTP/1.1 needs a fallback, but the fallback option is null')
}

/** The options that only an Agent has. */
export interface ResolvedAgentOptions {
  /** Whether HTTP/2 may be used for an origin. @throws what the caller's function throws */
  readonly mayBeHttp2: (origin: Origin) => boolean
  /** How many origins it may hold; Infinity: no limit. */
  readonly maxOrigins: number
  /** Above this number of origins, it closes idle ones. */
  readonly keptOrigins: number
  /** Null: Dodici's Pool. */
  readonly factory: AgentOptions['factory'] | null
  /** Null: no origin uses another one's sessions. */
  readonly coalesce: CoalesceRules | null
}

function toPredicate(h2c: AgentOptions['h2c']): (origin: URL) => boolean {
  if (typeof h2c !== 'function') {
    if (h2c !== undefined && h2c !== null && typeof h2c !== 'boolean')
      throw invalid('h2c', h2c, 'true, false, or a function of the origin')
    return () => h2c === true
  }
  return (origin) => {
    const isH2c: unknown = h2c(origin)
    if (typeof isH2c === 'boolean') return isH2c
    throw new InvalidReturnValueError(`The h2c function returned ${show(isH2c)}, expected true or false`)
  }
}

/**
 * Checks and completes the options of an Agent.
 *
 * @throws InvalidArgumentError that names the option, its value, and what would be accepted.
 */
export function toAgentOptions(options: AgentOptions): ResolvedAgentOptions {
  const { allowH2, h2c, useH2c, maxOrigins, factory } = options
  if (factory !== undefined && factory !== null && typeof factory !== 'function') {
    throw invalid('factory', factory, 'a function that returns a dispatcher')
  }
  // undici's own default is Infinity.
  const most = maxOrigins === Number.POSITIVE_INFINITY ? maxOrigins : toLimit('maxOrigins', maxOrigins)
  const isAllowed = toBoolean('allowH2', allowH2, true)
  const speaksH2c = toPredicate(h2c ?? toBoolean('useH2c', useH2c, false))
  return Object.freeze({
    mayBeHttp2: ({ scheme, href }: Origin) => isAllowed && (scheme === 'https' || speaksH2c(new URL(href))),
    maxOrigins: most,
    keptOrigins: most === Number.POSITIVE_INFINITY ? IDLE_ORIGINS : most,
    factory: factory ?? null,
    coalesce: toCoalesceRules(options),
  })
}

/**
 * The names of all options: Dodici's, and those from undici 6, 7 and 8 that have no effect here.
 *
 * The tables of Dodici's options are objects, so that the compiler requires every name in the types.
 *
 * @module
 */

import type { AgentOptions, ConnectTlsOptions, H2Options } from '../../types/client.ts'
import type { FetchInit } from '../../types/fetch.ts'
import type { EnvHttpProxyAgentOptions, ProxyAgentOptions } from '../../types/proxy.ts'
import type { ConnectOptions, PipelineOptions, UpgradeOptions } from '../../types/request.ts'
import type { UpstreamPoolOptions } from '../../types/upstream.ts'
import type { ForeignOptions } from './foreign-options.ts'
import { FOREIGN_DISPATCHER_OPTIONS, FOREIGN_REQUEST_OPTIONS } from './foreign-options.ts'

/** The names of one kind of option. */
export interface KnownOptions {
  /** Whose options they are, for the text of a warning. */
  readonly owner: string
  /** Names that have an effect: a warning may suggest them. */
  readonly names: readonly string[]
  /** These, and names from undici, node:http2 or interceptors that are accepted without effect. */
  readonly accepted: ReadonlySet<string>
  /** Names from other libraries, and how Dodici treats them. */
  readonly foreign: ForeignOptions
  /** Other kinds that receive the same options: a name that was judged here isn't judged there again. */
  readonly covers: readonly KnownOptions[]
}

type Names<TOptions> = Readonly<Record<keyof TOptions, true>>

const NONE: ForeignOptions = new Map()

function toKnown(
  owner: string,
  own: object,
  others: readonly string[],
  foreign: ForeignOptions = NONE,
  covers: readonly KnownOptions[] = [],
): KnownOptions {
  // The types of requests have some that are foreign.
  const names = Object.keys(own).filter((name) => !foreign.has(name))
  return { owner, names, accepted: new Set([...names, ...others]), foreign, covers }
}

/**
 * One table for Client, Pool, Agent and UpstreamPool: an option of another class isn't a typo, and undici accepts it,
 * too.
 */
const DISPATCHER: Names<AgentOptions & UpstreamPoolOptions> = {
  ...{ autoSelectFamily: true, autoSelectFamilyAttemptTimeout: true, localAddress: true },
  ...{ bodyTimeout: true, captureStack: true, coalesce: true, connect: true, connections: true },
  connectTimeout: true,
  ...{ connectionWindowSize: true, engine: true, factory: true, fallback: true, h2Options: true, h2c: true },
  ...{ headersTimeout: true, initialWindowSize: true, keepAliveTimeout: true, maxConcurrentStreams: true },
  ...{ maxHeaderSize: true, maxHeadersCount: true, maxOrigins: true, maxResponseSize: true },
  maxReplayBuffer: true,
  ...{ maxSessionBuffer: true, pingInterval: true, pingTimeout: true, queueTimeout: true, replaySafe: true },
  ...{ requestTimeout: true, resetBurst: true, resetRate: true, socketPath: true, strictContentLength: true },
  ...{ uploadTimeout: true, waitForSettings: true },
  ...{ allowH2: true, eventSource: true, tls: true, useH2c: true, webSocket: true },
  ...{ ejectionTime: true, failureStatuses: true, latencyWindow: true, maxEjectionTime: true },
  ...{ enforceMaxHeaderListSize: true, maxEjectionPercent: true, maxFailures: true, maxRetries: true },
  ...{ healthCheck: true, hedge: true, redirects: true, retryBudget: true, slowStart: true },
  ...{ clientTtl: true, keepAliveMaxTimeout: true, keepAliveTimeoutThreshold: true },
  ...{ maxRequestsPerClient: true, pipelining: true },
  ...{ maxSessionAge: true, maxSessionRequests: true, sessionGracePeriod: true },
}

/** Options of undici's Client, Pool, Agent and ProxyAgent, which passes all its options on to a `factory`. */
const DISPATCHER_OF_UNDICI = [
  ...['auth', 'clientFactory', 'headers', 'httpProxy', 'httpsProxy', 'noProxy', 'origin'],
  ...['protocol', 'proxyTls', 'proxyTunnel', 'requestTls', 'token', 'uri', 'agent', 'username'],
  ...['password', 'maxWeightPerServer', 'errorPenalty'],
]

/** One table for all agents that go through proxies. */
const PROXY: Names<ProxyAgentOptions & EnvHttpProxyAgentOptions> = {
  ...DISPATCHER,
  ...{ auth: true, clientFactory: true, headers: true, httpProxy: true, httpsProxy: true, noProxy: true },
  ...{ password: true, proxyTls: true, proxyTunnel: true, requestTls: true, token: true, uri: true },
  ...{ username: true },
}

const H2: Names<H2Options> = {
  connectionWindowSize: true,
  maxConcurrentStreams: true,
  pingInterval: true,
  settings: true,
}

/** undici passes on the options of node:http2's `connect()`. */
const H2_OF_NODE = [
  ...['createConnection', 'maxDeflateDynamicTableSize', 'maxHeaderListPairs', 'maxOutstandingPings'],
  ...['maxReservedRemoteStreams', 'maxSendHeaderBlockLength', 'maxSessionMemory', 'maxSettings'],
  ...['paddingStrategy', 'peerMaxConcurrentStreams', 'protocol', 'remoteCustomSettings', 'useH2c'],
  ...['selectPadding', 'strictFieldWhitespaceValidation', 'strictSingleValueFields'],
  ...['unknownProtocolTimeout', 'streamResetBurst', 'streamResetRate'],
]

/** All APIs pass their options on to `dispatch()`: one table for a request. */
const REQUEST: Names<PipelineOptions & ConnectOptions & UpgradeOptions> = {
  ...{ allowH2: true, blocking: true, body: true, bodyTimeout: true, captureStack: true },
  ...{ connectTimeout: true, expectContinue: true, headers: true, headersTimeout: true, highWaterMark: true },
  ...{ idempotent: true, maxHeaderSize: true, maxHeadersCount: true, maxRedirections: true },
  maxReplayBuffer: true,
  ...{ maxResponseSize: true, method: true, objectMode: true, onInfo: true, opaque: true, origin: true },
  ...{ path: true, priority: true, protocol: true, query: true, queueTimeout: true, requestTimeout: true },
  ...{ reset: true, responseHeaders: true, sensitiveHeaders: true, servername: true, signal: true },
  ...{ throwOnError: true, trailers: true, typeOfService: true, upgrade: true, uploadTimeout: true },
}

/** What undici's interceptors, handlers and agents read from a request's options, or add to them. */
const REQUEST_OF_UNDICI = [
  ...[
    'context',
    'dispatcher',
    'redirectionLimitReached',
    'dumpMaxSize',
    'history',
    'host',
    'hostname',
    'port',
    'responseHeader',
  ],
  ...['retryOptions', 'throwOnMaxRedirect', 'webSocket', 'maxRequestsPerClient', 'timestamp'],
  ...['__mockAgentBodyForDispatch'],
]

const FETCH: Names<FetchInit> & { readonly cache: true } = {
  ...{ body: true, cache: true, credentials: true, dispatcher: true, duplex: true, headers: true },
  ...{ integrity: true, keepalive: true, method: true, mode: true, priority: true, redirect: true },
  ...{ referrer: true, referrerPolicy: true, signal: true, window: true },
}

/** The options of `net.connect()`, `tls.connect()` and `tls.createSecureContext()`. */
const CONNECT: Names<ConnectTlsOptions> = {
  ...{ ALPNCallback: true, SNICallback: true, allowPartialTrustChain: true, autoSelectFamily: true },
  ...{ autoSelectFamilyAttemptTimeout: true, ca: true, cert: true, certificateCompression: true },
  ...{ checkServerIdentity: true, ciphers: true, clientCertEngine: true, crl: true, dhparam: true },
  ...{ ecdhCurve: true, enableTrace: true, family: true, hints: true, honorCipherOrder: true },
  ...{ keepAlive: true, keepAliveInitialDelay: true, key: true, localAddress: true, localPort: true },
  ...{ lookup: true, maxVersion: true, minDHSize: true, minVersion: true, noDelay: true },
  ...{ passphrase: true, pfx: true, privateKeyEngine: true, privateKeyIdentifier: true },
  ...{ pskCallback: true, rejectUnauthorized: true, remotePort: true, requestCert: true },
  ...{ requestOCSP: true },
  ...{ secureContext: true, secureOptions: true, secureProtocol: true, servername: true, session: true },
  ...{ sessionIdContext: true, sessionTimeout: true, sigalgs: true, ticketKeys: true },
}

/** Options of Node that its types lack, options that Dodici sets itself, and options of undici's connector. */
const CONNECT_OF_NODE = [
  ...['ALPNProtocols', 'allowH2', 'blockList', 'fd', 'host', 'hostname', 'maxCachedSessions', 'onread'],
  ...['path', 'port', 'preferH2', 'singleUse', 'socket', 'socketPath', 'timeout', 'typeOfService'],
  ...['allowHalfOpen', 'httpSocket', 'signal', 'readable', 'writable', 'isServer', 'server', 'protocol'],
  ...['highWaterMark', 'objectMode', 'NPNProtocols', 'origin'],
]

export const DISPATCHER_OPTIONS = toKnown(
  'dispatcher',
  DISPATCHER,
  DISPATCHER_OF_UNDICI,
  FOREIGN_DISPATCHER_OPTIONS,
)
export const PROXY_OPTIONS = toKnown('proxy agent', PROXY, DISPATCHER_OF_UNDICI, FOREIGN_DISPATCHER_OPTIONS, [
  DISPATCHER_OPTIONS,
])
export const H2_OPTIONS = toKnown('h2Options', H2, H2_OF_NODE)
export const CONNECT_OPTIONS = toKnown('connect', CONNECT, CONNECT_OF_NODE)
export const REQUEST_OPTIONS = toKnown('request', REQUEST, REQUEST_OF_UNDICI, FOREIGN_REQUEST_OPTIONS)
export const FETCH_OPTIONS = toKnown('fetch()', FETCH, [])

/**
 * The options of connections through a proxy, resolved once.
 *
 * @module
 */

import type { AgentOptions, ConnectTlsOptions } from '../../types/client.ts'
import type { RequestHeaders } from '../../types/headers.ts'
import type { ProxyAgentOptions } from '../../types/proxy.ts'
import { isPromiseLike, isUrl } from '../core/realms.ts'
import { invalid, invalidKind, showTarget, toBoolean, toInvalid } from '../core/validate.ts'
import { InvalidArgumentError, InvalidReturnValueError } from '../errors/errors.ts'
import { CONNECT_OPTIONS, PROXY_OPTIONS } from '../options/known-options.ts'
import { warnOfUnknownOptions } from '../options/unknown-options.ts'
import type { HeaderTarget } from '../request/headers.ts'
import { addHeaders } from '../request/headers.ts'

/** A proxy, without its credentials. */
export interface ProxyTarget {
  readonly protocol: 'http:' | 'https:' | 'socks5:'
  /** Without the brackets of an IPv6 address. */
  readonly hostname: string
  readonly port: number
  /** `https://proxy.example:3129`: for errors and logs, and the origin of an HTTP proxy. */
  readonly href: string
}

/** User name and password in clear text. */
export interface Credentials {
  readonly username: string
  readonly password: string
}

/** {@link ProxyAgentOptions}, resolved. They contain secrets: nothing may show them. */
export interface ResolvedProxyOptions {
  readonly target: ProxyTarget
  /** The value of `proxy-authorization`; null for none. */
  readonly authorization: string | null
  /** For SOCKS5; null for none. */
  readonly credentials: Credentials | null
  /** Flat, names and values in turn, unless a function creates them. */
  readonly headers: readonly string[] | (() => RequestHeaders)
  readonly proxyTls: ConnectTlsOptions
  readonly requestTls: ConnectTlsOptions
  readonly proxyTunnel: boolean
  readonly clientFactory: NonNullable<ProxyAgentOptions['clientFactory']> | null
  /** The options of the Agent behind the proxy. */
  readonly agent: AgentOptions
}

const ACCEPTED = "a URL of a proxy, such as 'http://proxy.example:3128', https:, socks5: or socks:"
const PORTS = { 'http:': 80, 'https:': 443, 'socks5:': 1080 } as const

function toProtocol(protocol: string): ProxyTarget['protocol'] | null {
  if (protocol === 'http:' || protocol === 'https:' || protocol === 'socks5:') return protocol
  return protocol === 'socks:' || protocol === 'socks5h:' ? 'socks5:' : null
}

function toUrl(name: string, value: unknown): URL {
  const text = isUrl(value) ? value.href : value
  if (typeof text !== 'string' || text === '') throw toInvalid(name, showTarget(text), ACCEPTED)
  try {
    // The environment's variables often have no scheme.
    return new URL(text.includes('://') ? text : `http://${text}`)
  } catch {
    throw toInvalid(name, showTarget(text), ACCEPTED)
  }
}

/** The parts of a proxy's URL. @throws InvalidArgumentError that shows no credentials */
export function toProxyTarget(
  name: string,
  value: unknown,
): { target: ProxyTarget; credentials: Credentials | null } {
  const url = toUrl(name, value)
  const protocol = toProtocol(url.protocol)
  if (protocol === null || url.hostname === '') throw toInvalid(name, showTarget(url.href), ACCEPTED)
  const port = url.port === '' ? PORTS[protocol] : Number(url.port)
  const hostname = url.hostname.replace(/^\[(.+)\]$/, '$1')
  const href = protocol === 'socks5:' ? `socks5://${url.hostname}:${port}` : url.origin
  return { target: Object.freeze({ protocol, hostname, port, href }), credentials: toCredentials(name, url) }
}

function toCredentials(name: string, { username, password }: URL): Credentials | null {
  if (username === '' && password === '') return null
  try {
    return { username: decodeURIComponent(username), password: decodeURIComponent(password) }
  } catch {
    throw toInvalid(name, 'a URL (not shown)', 'credentials in valid percent-encoding')
  }
}

function toText(name: string, value: unknown): string | null {
  if (value === undefined || value === null || value === '') return null
  if (typeof value !== 'string') throw invalidKind(name, value, 'a string')
  return value
}

/** RFC 9110 §5.5, as far as Node sends it: no line ends, such as the one at the end of a file. */
const FIELD_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/

/** A secret that is sent in a header field: no error shows it. */
function toSecret(name: string, value: unknown): string | null {
  const text = toText(name, value)
  if (text !== null && !FIELD_VALUE.test(text))
    throw toInvalid(name, 'a string (not shown)', 'a value without line breaks or other control characters')
  return text
}

/** RFC 1929 §2: the length is one byte. The name has at least one byte. */
function checkLengths({ username, password }: Credentials): void {
  for (const [name, text, least] of [
    ['username', username, 1],
    ['password', password, 0],
  ] as const) {
    const length = Buffer.byteLength(text)
    if (length < least || length > 255)
      throw toInvalid(name, `${length} bytes (not shown)`, `${least} to 255 bytes, as SOCKS5 can send them`)
  }
}

function toSocksCredentials(
  { username, password }: ProxyAgentOptions,
  found: Credentials | null,
): Credentials | null {
  const user = toText('username', username) ?? found?.username ?? null
  const secret = toText('password', password) ?? found?.password ?? null
  return user === null && secret === null ? null : { username: user ?? '', password: secret ?? '' }
}

function toAuthorization({ token, auth }: ProxyAgentOptions, credentials: Credentials | null): string | null {
  const whole = toSecret('token', token)
  const basic = toSecret('auth', auth)
  if (whole !== null && basic !== null) {
    throw new InvalidArgumentError('Invalid auth: expected auth or token, not both')
  }
  if (whole !== null) return whole
  if (basic !== null) return `Basic ${basic}`
  if (credentials === null) return null
  const { username, password } = credentials
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
}

function toTls(name: string, value: unknown): ConnectTlsOptions {
  if (value === undefined || value === null) return {}
  if (typeof value !== 'object' || Array.isArray(value)) {
    throw invalidKind(name, value, 'TLS and socket options: Dodici itself connects through the proxy')
  }
  warnOfUnknownOptions(value, CONNECT_OPTIONS, false)
  return Object.freeze({ ...value })
}

/** Options for the socket itself, which is connected to the proxy. */
const OF_SOCKETS = [
  ...(['localAddress', 'localPort', 'family', 'hints', 'lookup', 'noDelay', 'keepAlive'] as const),
  ...(['keepAliveInitialDelay', 'autoSelectFamily', 'autoSelectFamilyAttemptTimeout'] as const),
]

function toSocketOptions(connect: ConnectTlsOptions): ConnectTlsOptions {
  return Object.fromEntries(OF_SOCKETS.filter((name) => name in connect).map((name) => [name, connect[name]]))
}

/** The socket options that undici has at the top level. */
function toCommonSocketOptions(agent: AgentOptions): ConnectTlsOptions {
  const names = ['localAddress', 'autoSelectFamily', 'autoSelectFamilyAttemptTimeout'] as const
  return Object.fromEntries(names.flatMap((name) => (agent[name] == null ? [] : [[name, agent[name]]])))
}

function toHeaders(headers: unknown): ResolvedProxyOptions['headers'] {
  if (headers === undefined || headers === null) return []
  if (typeof headers === 'function') return headers as () => RequestHeaders
  if (typeof headers !== 'object')
    throw invalidKind('headers', headers, 'header fields, or a function that returns them')
  // Read once: an iterator has nothing for a second tunnel.
  return toFields(headers as RequestHeaders)
}

/** The fields, checked, and without `host`, which is the target's. @throws InvalidArgumentError */
function toFields(headers: RequestHeaders): string[] {
  const none = {
    ...{ host: null, contentLength: null, headerSize: 0, spellings: null, sensitiveHeaders: null },
    reset: null,
  }
  const target: HeaderTarget = { wire: [], ...none }
  addHeaders(target, headers)
  return target.wire
}

/**
 * Checks and completes the options.
 *
 * @throws InvalidArgumentError that names the option and what would be accepted, and shows no credentials
 */
export function toProxyOptions(options: ProxyAgentOptions, name = 'uri'): ResolvedProxyOptions {
  warnOfUnknownOptions(options, PROXY_OPTIONS, false)
  const { uri, token, auth, headers, proxyTls, requestTls, proxyTunnel, clientFactory, ...rest } = options
  const { username, password, connect: given, ...agent } = rest
  const { target, credentials: found } = toProxyTarget(name, uri)
  if (clientFactory !== undefined && clientFactory !== null && typeof clientFactory !== 'function')
    throw invalid('clientFactory', clientFactory, 'a function that returns a dispatcher')
  if (agent.socketPath !== undefined && agent.socketPath !== null)
    throw invalid('socketPath', agent.socketPath, 'none: all connections go to the proxy')
  const connect = toTls('connect', given)
  const credentials = toSocksCredentials(options, found)
  if (credentials !== null && target.protocol === 'socks5:') checkLengths(credentials)
  const ofSockets = { ...toCommonSocketOptions(agent), ...toSocketOptions(connect) }
  return {
    target,
    authorization: toAuthorization(options, found),
    credentials,
    headers: toHeaders(headers),
    proxyTls: Object.freeze({ ...ofSockets, ...toTls('proxyTls', proxyTls) }),
    requestTls: requestTls === undefined || requestTls === null ? connect : toTls('requestTls', requestTls),
    proxyTunnel: toBoolean('proxyTunnel', proxyTunnel, false),
    clientFactory: clientFactory ?? null,
    agent,
  }
}

function toMadeFields(made: unknown): string[] {
  if (isPromiseLike(made))
    throw new InvalidReturnValueError('The headers function returned a promise, expected header fields')
  return toFields(made as RequestHeaders)
}

/** The header fields for the proxy, with its credentials: flat, names and values in turn. */
export function toProxyHeaders({ headers, authorization }: ResolvedProxyOptions): string[] {
  const raw = typeof headers === 'function' ? toMadeFields(headers()) : [...headers]
  if (authorization === null) return raw
  const others = raw.filter((_, index) => raw[index - (index % 2)] !== CREDENTIALS)
  return [...others, CREDENTIALS, authorization]
}

const CREDENTIALS = 'proxy-authorization'

function refuseName(name: unknown): void {
  if (typeof name !== 'string' || name.length !== CREDENTIALS.length || name.toLowerCase() !== CREDENTIALS)
    return
  throw new InvalidArgumentError(
    "Invalid header 'proxy-authorization': it would be sent to the origin; pass it to the proxy agent as token",
  )
}

/**
 * The same header fields, if none of them contains credentials for a proxy: inside a tunnel, the origin would get
 * them.
 *
 * @returns an iterator that can be read only once is returned as a list
 * @throws InvalidArgumentError
 */
export function withoutCredentials(
  headers: RequestHeaders | null | undefined,
): RequestHeaders | null | undefined {
  if (typeof headers !== 'object' || headers === null) return headers
  if (Array.isArray(headers) && !Array.isArray(headers[0])) {
    for (let i = 0; i < headers.length; i += 2) refuseName(headers[i])
    return headers
  }
  if (Symbol.iterator in headers) {
    const pairs = [...(headers as Iterable<readonly [string, string]>)]
    for (const pair of pairs) refuseName(Array.isArray(pair) ? pair[0] : null)
    return pairs
  }
  for (const name of Object.keys(headers)) refuseName(name)
  return headers
}

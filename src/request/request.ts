/**
 * Converts DispatchOptions to a validated, immutable request.
 *
 * @module
 */

import type { ParsedUrlQueryInput } from 'node:querystring'
import { stringify } from 'node:querystring'
import type { RequestHeaders } from '../../types/headers.ts'
import type { DispatchOptions, RequestPriority, RequestTrailers } from '../../types/request.ts'
import { isAuthority } from '../core/authority.ts'
import { isPromiseLike } from '../core/realms.ts'
import {
  invalid,
  invalidKind,
  showName,
  showTarget,
  toBoolean,
  toInvalid,
  toOptionalBoolean,
} from '../core/validate.ts'
import { InvalidReturnValueError, RequestContentLengthMismatchError } from '../errors/errors.ts'
import type { Limits } from '../options/limits.ts'
import { toLimits } from '../options/limits.ts'
import type { Origin, ResolvedClientOptions } from '../options/options.ts'
import { toOrigin } from '../options/options.ts'
import { toBodySource } from './body.ts'
import type { BodySource, SendableBody } from './body-source.ts'
import { isToken } from './field-names.ts'
import type { HeaderTarget } from './headers.ts'
import { addDefaultHeader, addHeaders, MAX_REQUEST_FIELD_SIZE, toTrailers } from './headers.ts'
import { isRepeatedMethod } from './idempotent-methods.ts'
import { toPriorityField } from './priority.ts'
import type { RequestTrace } from './request-trace.ts'
import { toOwnServername } from './servername.ts'
import type { WireHeaders } from './wire-headers.ts'
import { deleteField, getField, setField, takeField } from './wire-headers.ts'

/** Names of fields, in lower case; null for none. @throws InvalidArgumentError */
function toSensitiveHeaders(names: unknown): ReadonlySet<string> | null {
  if (names === undefined || names === null) return null
  if (!Array.isArray(names))
    throw toInvalid('sensitiveHeaders', showName(names), 'a list of header field names, or null')
  return new Set(
    names.map((name: unknown) => {
      if (typeof name === 'string' && isToken(name)) return name.toLowerCase()
      throw toInvalid('sensitiveHeaders', showName(name), 'header field names')
    }),
  )
}

/** Adds a `priority` field unless the caller has given one. @throws InvalidArgumentError */
function addPriority(target: HeaderTarget, priority: RequestPriority): void {
  const value = toPriorityField(priority)
  if (value !== '') addDefaultHeader(target, 'priority', value)
}

/** White space, control characters (CR, LF, NUL, DEL) and everything outside ISO-8859-1. */
const BAD_PATH = /[^\u0021-\u007e\u0080-\u00ff]/

/** Up to this length, a loop costs less than the regular expression. */
const SHORT_PATH = 64
const HASH = 0x23
const DELETE = 0x7f

/** RFC 6455 §11.3.1. */
export const WEBSOCKET_KEY = 'sec-websocket-key'

/** Far longer than any known method, and far shorter than what a field block can contain. */
const MAX_METHOD_LENGTH = 256

/** What only an upgrade has. */
interface Upgrade {
  readonly protocol: string
  readonly isHttp1: boolean
  webSocketKey: string | null
}

/**
 * A request in the form in which it is sent, as often as needed: nothing in it changes after the constructor.
 *
 * Its fields are `readonly`, not frozen: `Object.freeze` costs a third of a microsecond, a third of the whole
 * constructor.
 */
export class Request implements HeaderTarget {
  readonly origin: Origin
  readonly method: string
  /** Path and query; the URL for a proxy; the authority of a CONNECT. */
  readonly path: string
  /** Pseudo-header fields first, as RFC 9113 §8.3 requires. */
  readonly wire: WireHeaders
  readonly body: BodySource
  /** Null for none. */
  readonly trailers: RequestTrailers | null
  /** Whether the server may get it twice without harm (RFC 9110 §9.2.2). */
  readonly idempotent: boolean
  /** The name that the request sets, which has to be its dispatcher's; null: the origin's own. */
  readonly servername: string | null
  /** Whether the body waits for the server's 100 (Continue) (RFC 9110 §10.1.1). */
  readonly expectContinue: boolean
  /**
   * Names of fields that no sender and no intermediary may put into a dynamic table (RFC 7541 §7.1.3), in addition to
   * those that are always secret.
   */
  readonly sensitiveHeaders: ReadonlySet<string> | null
  readonly limits: Limits
  /** Names in the caller's spelling, for HTTP/1.1: some servers expect capitals. */
  spellings: string[] | null = null
  readonly host: string | null = null
  readonly headerSize: number
  /** How many bytes the body must have; null if the caller gave no `content-length`. */
  readonly contentLength: number | null = null
  /** Over HTTP/1.1: whether the connection is closed after the response. Null: as the connection decides. */
  reset: boolean | null
  /** Over HTTP/1.1: whether no request is sent after it before its response has begun. Null: undici's default. */
  readonly blocking: boolean | null
  readonly #upgrade: Upgrade | null
  /** How subscribers of undici's channels identify it; null if there are none. */
  trace: RequestTrace | null = null

  /**
   * Checks and converts the options.
   *
   * @throws InvalidArgumentError that names the option, its value, and what would be accepted.
   */
  constructor(options: DispatchOptions, origin: Origin, defaults: ResolvedClientOptions) {
    this.origin = origin
    this.#upgrade = toUpgrade(options)
    this.method = toMethod(options, this.protocol)
    this.path = this.isConnect ? toAuthority(options.path, origin) : toPath(options, this.method)
    checkOrigin(options, origin)
    this.servername = toOwnServername(options.servername, origin, defaults.connect)
    this.idempotent = toBoolean('idempotent', options.idempotent, isRepeatedMethod(this.method))
    this.limits = toLimits(options, defaults.limits)
    this.reset = toOptionalBoolean('reset', options.reset)
    this.blocking = toOptionalBoolean('blocking', options.blocking)
    this.wire = toPseudoHeaders(this)
    this.headerSize = this.path.length + origin.authority.length
    // First: no error of a header may show what one of these says.
    this.sensitiveHeaders = toSensitiveHeaders(options.sensitiveHeaders)
    addHeaders(this, options.headers)
    if (options.priority !== undefined && options.priority !== null) addPriority(this, options.priority)
    if (this.#upgrade?.protocol === 'websocket')
      this.#upgrade.webSocketKey = takeField(this.wire, WEBSOCKET_KEY)
    if (this.host !== null && !this.isConnect) setField(this.wire, ':authority', this.host)
    this.trailers = toTrailersOption(options.trailers, this)
    const expectContinue = toBoolean('expectContinue', options.expectContinue, false)
    // Last: when the request is refused, its body must be untouched.
    this.body = toBody(options, this.isTunnel)
    this.contentLength = checkContentLength(this, defaults.strictContentLength)
    this.body = toKeptBody(this.body, this.contentLength, this.limits)
    const { kind, contentType } = this.body
    if (contentType !== null) addDefaultHeader(this, 'content-type', contentType)
    this.expectContinue = expectContinue && kind !== 'none'
    if (this.expectContinue) setField(this.wire, 'expect', '100-continue')
  }

  /** The `:protocol` of an extended CONNECT (RFC 8441); null for any other request. */
  get protocol(): string | null {
    return this.#upgrade === null ? null : this.#upgrade.protocol
  }

  /** The key, which is sent over HTTP/1.1 only (RFC 8441 §5); null for none. */
  get webSocketKey(): string | null {
    return this.#upgrade === null ? null : this.#upgrade.webSocketKey
  }

  /** Whether it is an upgrade that the caller wants over HTTP/1.1. */
  get isHttp1(): boolean {
    return this.#upgrade !== null && this.#upgrade.isHttp1
  }

  /** Whether it asks for a tunnel: CONNECT (RFC 9113 §8.5), or extended CONNECT (RFC 8441). */
  get isTunnel(): boolean {
    return this.protocol !== null || this.isConnect
  }

  /**
   * The origin that the request targets (RFC 9110 §7.1), as `URL.origin` writes it. It differs from the dispatcher's
   * because of a `host`, a URL as the path, or a CONNECT.
   */
  get targetOrigin(): string {
    const scheme = getField(this.wire, ':scheme') ?? this.origin.scheme
    const target = `${scheme}://${getField(this.wire, ':authority')}`
    // URL doesn't take each authority that may be sent: not 1.2.3.4.5, for example.
    return URL.canParse(target) ? new URL(target).origin : target
  }

  /** Whether it is a plain CONNECT. */
  get isConnect(): boolean {
    return this.protocol === null && this.method === 'CONNECT'
  }

  /**
   * The fields for an attempt whose body comes from a factory: its length and type are known only now.
   *
   * @throws RequestContentLengthMismatchError if the caller's own `content-length` differs
   */
  toWireFor(body: SendableBody): WireHeaders {
    const { length, contentType } = body
    const wire = [...this.wire]
    if (contentType !== null) {
      const { headerSize, sensitiveHeaders } = this
      const none = { host: null, contentLength: null, spellings: null, reset: null }
      const target = { ...none, wire, headerSize, sensitiveHeaders }
      addDefaultHeader(target, 'content-type', contentType)
    }
    if (body.kind === 'none') deleteField(wire, 'expect')
    if (length === null) return wire
    if (this.contentLength !== null && this.contentLength !== length) {
      throw toLengthError(this.contentLength, length)
    }
    const mustSay =
      body.kind !== 'none' || expectsBody(this.method) || getField(wire, 'content-length') !== undefined
    if (mustSay) setField(wire, 'content-length', String(length))
    return wire
  }

  /** What an attempt does with its body first: nothing, send it, or wait for the server's permission. */
  toUpload(body: SendableBody): 'none' | 'sending' | 'waiting' {
    if (body.kind === 'none') return 'none'
    return this.expectContinue ? 'waiting' : 'sending'
  }

  /** The trailers, created for each attempt. @throws what the caller's function throws, and InvalidArgumentError */
  toTrailers(): WireHeaders {
    const { sensitiveHeaders, trailers } = this
    if (typeof trailers !== 'function') return toTrailers(trailers, sensitiveHeaders)
    const made: unknown = trailers()
    if (isPromiseLike(made)) {
      throw new InvalidReturnValueError(
        'The trailers function returned a promise, expected the fields themselves',
      )
    }
    return toTrailers(made as RequestHeaders | null | undefined, sensitiveHeaders)
  }
}

function toPseudoHeaders({ origin, protocol, path, method, isConnect }: Request): WireHeaders {
  // RFC 9113 §8.5: nothing else.
  if (isConnect) return [':method', method, ':authority', path]
  // Pushed, not written as a list: V8 makes room for eight fields at once then, and needn't move
  // them for those that follow.
  const wire: WireHeaders = []
  wire.push(':method', method)
  if (protocol !== null) wire.push(':protocol', protocol)
  const target = path[0] === 'h' ? toAbsoluteTarget(path, method) : null
  wire.push(':scheme', target === null ? origin.scheme : target.scheme)
  wire.push(':authority', target === null ? origin.authority : target.authority)
  wire.push(':path', target === null ? path : target.path)
  return wire
}

const ABSOLUTE = /^(https?):\/\/([^/?]*)(.*)$/

/** The target of a request to a proxy, in HTTP/1.1's absolute form (RFC 9112 §3.2.2). */
interface AbsoluteTarget {
  readonly scheme: string
  readonly authority: string
  readonly path: string
}

/**
 * HTTP/2 has no absolute form: its parts become pseudo-header fields (RFC 9113 §8.3.1).
 *
 * @returns null for a path that isn't absolute, or whose authority is invalid
 */
function toAbsoluteTarget(target: string, method: string): AbsoluteTarget | null {
  const [, scheme, authority, rest] = ABSOLUTE.exec(target) ?? []
  if (scheme === undefined || authority === undefined || rest === undefined) return null
  if (!isAuthority(authority, false)) return null
  const path = rest.startsWith('/') ? rest : rest === '' && method === 'OPTIONS' ? '*' : `/${rest}`
  return { scheme, authority, path }
}

function toUpgrade({ upgrade, allowH2 }: DispatchOptions): Upgrade | null {
  const protocol = toProtocol(upgrade)
  return protocol === null ? null : { protocol, isHttp1: allowH2 === false, webSocketKey: null }
}

/** The default in undici is 'Websocket', HTTP/1.1's token; RFC 8441 §5 registers it in lower case. */
function toProtocol(upgrade: unknown): string | null {
  if (upgrade === undefined || upgrade === null || upgrade === false) return null
  if (upgrade === true) return 'websocket'
  if (typeof upgrade !== 'string' || !isProtocol(upgrade)) {
    throw invalid('upgrade', upgrade, "a protocol name, such as 'websocket', or null")
  }
  return upgrade.toLowerCase() === 'websocket' ? 'websocket' : upgrade
}

/** RFC 9110 §7.8: a name, optionally with a version after a slash. */
function isProtocol(upgrade: string): boolean {
  const [name, version, ...more] = upgrade.split('/')
  return isToken(name ?? '') && (version === undefined || isToken(version)) && more.length === 0
}

function toTrailersOption(
  trailers: unknown,
  { isTunnel, sensitiveHeaders }: Request,
): RequestTrailers | null {
  if (trailers === undefined || trailers === null) return null
  if (isTunnel) throw invalidKind('trailers', trailers, 'none: a tunnel sends no trailers')
  if (typeof trailers === 'function') return trailers as RequestTrailers
  // Checked now, since they are at hand: bad input fails before a stream is opened.
  toTrailers(trailers as RequestHeaders, sensitiveHeaders)
  return trailers as RequestHeaders
}

function toBody({ body }: DispatchOptions, isTunnel: boolean): BodySource {
  if (!isTunnel || body === undefined || body === null) return toBodySource(body)
  throw invalidKind('body', body, 'none: write to the tunnel after the response')
}

/** The body in a form that can be sent again, if its announced length allows that. */
function toKeptBody(body: BodySource, contentLength: number | null, { maxReplayBuffer }: Limits): BodySource {
  if (body.kind !== 'stream' || contentLength === null || contentLength > maxReplayBuffer) return body
  return body.toKept(contentLength)
}

/** Compares with the usual methods first: that costs less than the regular expression for a token. */
function isMethod(method: unknown): method is string {
  switch (method) {
    case 'GET':
    case 'POST':
    case 'PUT':
    case 'HEAD':
    case 'DELETE':
    case 'PATCH':
    case 'OPTIONS':
      return true
    default:
      return typeof method === 'string' && method.length <= MAX_METHOD_LENGTH && isToken(method)
  }
}

function toMethod({ method }: DispatchOptions, protocol: string | null): string {
  if (!isMethod(method)) {
    throw invalid('method', method, `a token such as GET or POST, of at most ${MAX_METHOD_LENGTH} characters`)
  }
  // RFC 8441 §4: whatever the upgrade's method was.
  return protocol === null ? method : 'CONNECT'
}

/** RFC 9113 §8.5: host and port. A URL's path means the origin itself, for the top-level `connect(url)`. */
function toAuthority(path: unknown, { hostname, port }: Origin): string {
  if (typeof path === 'string' && path.length <= MAX_REQUEST_FIELD_SIZE) {
    if (path.startsWith('/')) return `${hostname.includes(':') ? `[${hostname}]` : hostname}:${port}`
    if (isAuthority(path, true)) return path
  }
  const accepted = "the authority to connect to, such as 'example.com:443'"
  throw toInvalid('path', showTarget(path), accepted)
}

/** Whether a path has no forbidden characters. */
function isTarget(path: string): boolean {
  if (path.length > SHORT_PATH) return !BAD_PATH.test(path) && !path.includes('#')
  for (let i = 0; i < path.length; i++) {
    const code = path.charCodeAt(i)
    if (code < 0x21 || code === HASH || code === DELETE || code > 0xff) return false
  }
  return true
}

const PLAIN_TARGET = 'without white space, control characters or a fragment'

function toPath({ path, query }: DispatchOptions, method: string): string {
  const accepted = `a path that starts with '/', or an http: or https: URL, ${PLAIN_TARGET}`
  if (typeof path !== 'string') throw invalid('path', path, accepted)
  const isKnown =
    path[0] === '/' || (path === '*' && method === 'OPTIONS') || toAbsoluteTarget(path, method) !== null
  if (!isKnown || !isTarget(path)) throw toInvalid('path', showTarget(path), accepted)
  const target = query === undefined || query === null ? path : withQuery(path, query)
  if (target.length > MAX_REQUEST_FIELD_SIZE)
    throw toInvalid('path', showTarget(target), `at most ${MAX_REQUEST_FIELD_SIZE} bytes, query included`)
  return target
}

function withQuery(path: string, query: unknown): string {
  if (typeof query !== 'object' || query === null)
    throw invalidKind('query', query, 'an object of names and values')
  if (path.includes('?') || path === '*') {
    throw toInvalid('path', showTarget(path), "a path without '?' when query is set")
  }
  const search = stringify(query as ParsedUrlQueryInput)
  return search === '' ? path : `${path}?${search}`
}

/** A client serves one origin. undici also accepts `origin` in the options, so it has to be this one. */
function checkOrigin({ origin }: DispatchOptions, own: Origin): void {
  if (origin === undefined || origin === null || origin === own.href) return
  if (toOrigin(origin).href !== own.href) throw invalid('origin', origin, `${own.href}, this client's origin`)
}

/**
 * RFC 9110 §8.6: these methods are expected to have content, so an empty one is announced. undici has the same list.
 */
const EXPECTS_BODY: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH', 'QUERY', 'PROPFIND', 'PROPPATCH'])

function expectsBody(method: string): boolean {
  return EXPECTS_BODY.has(method)
}

function toLengthError(announced: number, length: number): RequestContentLengthMismatchError {
  return new RequestContentLengthMismatchError(
    `Invalid header 'content-length': got ${announced}, expected ${length}, the length of the body in bytes`,
  )
}

/**
 * Compares the body's length, if it is known, with the caller's `content-length`, and sends the body's length if the
 * caller gave none. A method that expects no body sends no `content-length: 0`.
 */
function checkContentLength(request: Request, strict: boolean): number | null {
  const { body, contentLength, wire } = request
  // Not strict, and no length known: what comes is sent, and the server has to judge it.
  if (body.length === null) return strict ? contentLength : null
  if (contentLength === null) {
    if (body.kind !== 'none') wire.push('content-length', String(body.length))
    else if (expectsBody(request.method)) wire.push('content-length', '0')
    return body.length
  }
  if (contentLength === body.length) return contentLength
  if (strict) throw toLengthError(contentLength, body.length)
  // Not strict: the body decides. A false length would make the request malformed (RFC 9113 §8.1.1).
  setField(wire, 'content-length', String(body.length))
  return body.length
}

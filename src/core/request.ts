/**
 * DispatchOptions → a validated, immutable request.
 *
 * @module
 */

import type { ParsedUrlQueryInput } from 'node:querystring'
import { stringify } from 'node:querystring'
import type { DispatchOptions } from '../../types/request.ts'
import { NotSupportedError, RequestContentLengthMismatchError } from '../errors.ts'
import type { BodySource } from './body.ts'
import { toBodySource } from './body.ts'
import type { HeaderTarget, WireHeaders } from './headers.ts'
import { addHeaders, isToken, MAX_FIELD_SIZE } from './headers.ts'
import type { Origin, ResolvedClientOptions } from './options.ts'
import { invalid, toBoolean, toDelay, toOrigin } from './options.ts'

/** White space, control characters (CR, LF, NUL, DEL) and what is outside ISO-8859-1. */
const BAD_PATH = /[^\u0021-\u007e\u0080-\u00ff]/

/** Far above any method that there is, and far below what a header block can carry. */
const MAX_METHOD_LENGTH = 256

/** RFC 9110 §9.2.1. */
const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE'])

/**
 * One request as it will be sent, as often as it has to be: nothing in it changes after the constructor.
 *
 * Its fields are `readonly`, not frozen: `Object.freeze` costs a third of a microsecond, a third of the whole constructor.
 */
export class Request implements HeaderTarget {
  readonly origin: Origin
  readonly method: string
  /** Path and query. */
  readonly path: string
  /** Pseudo-headers first, as RFC 9113 §8.3 wants them. */
  readonly wire: WireHeaders
  readonly body: BodySource
  /** May the server get it twice without harm (RFC 9110 §9.2.2)? */
  readonly idempotent: boolean
  /** Milliseconds, 0 for never. */
  readonly headersTimeout: number
  /** Milliseconds, 0 for never. */
  readonly bodyTimeout: number
  readonly host: string | null = null
  readonly headerSize: number
  /** Bytes that the body must have; null where nobody said. */
  readonly contentLength: number | null = null

  /** @throws InvalidArgumentError that names the option, its value, and what would be accepted. */
  constructor(options: DispatchOptions, origin: Origin, defaults: ResolvedClientOptions) {
    this.origin = origin
    this.method = toMethod(options)
    this.path = toPath(options, this.method)
    checkOrigin(options, origin)
    checkUnsupported(options)
    this.idempotent = toBoolean('idempotent', options.idempotent, SAFE_METHODS.has(this.method))
    this.headersTimeout = toDelay('headersTimeout', options.headersTimeout, defaults.headersTimeout)
    this.bodyTimeout = toDelay('bodyTimeout', options.bodyTimeout, defaults.bodyTimeout)
    this.wire = {
      // @ts-expect-error: `__proto__` in a literal sets the prototype; TypeScript takes it for a property.
      __proto__: null,
      ':method': this.method,
      ':scheme': origin.scheme,
      ':authority': origin.authority,
      ':path': this.path,
    }
    this.headerSize = this.path.length + origin.authority.length
    addHeaders(this, options.headers)
    if (this.host !== null) this.wire[':authority'] = this.host
    // Last: a body that is refused with its request must not have been touched.
    this.body = toBodySource(options.body)
    this.contentLength = checkContentLength(this, defaults.strictContentLength)
  }
}

function toMethod({ method }: DispatchOptions): string {
  if (typeof method !== 'string' || method.length > MAX_METHOD_LENGTH || !isToken(method)) {
    throw invalid('method', method, `a token such as GET or POST, of at most ${MAX_METHOD_LENGTH} characters`)
  }
  if (method === 'CONNECT') throw new NotSupportedError('Method CONNECT is not supported yet')
  return method
}

function toPath({ path, query }: DispatchOptions, method: string): string {
  const accepted = "a path that starts with '/', without white space, control characters or a fragment"
  if (typeof path !== 'string') throw invalid('path', path, accepted)
  if (
    (path[0] !== '/' && !(path === '*' && method === 'OPTIONS')) ||
    BAD_PATH.test(path) ||
    path.includes('#')
  ) {
    throw invalid('path', path, accepted)
  }
  const target = query === undefined || query === null ? path : withQuery(path, query)
  if (target.length > MAX_FIELD_SIZE)
    throw invalid('path', target, `at most ${MAX_FIELD_SIZE} bytes, query included`)
  return target
}

function withQuery(path: string, query: unknown): string {
  if (typeof query !== 'object' || query === null)
    throw invalid('query', query, 'an object of names and values')
  if (path.includes('?') || path === '*') {
    throw invalid('path', path, "a path without '?' when query is given")
  }
  const search = stringify(query as ParsedUrlQueryInput)
  return search === '' ? path : `${path}?${search}`
}

/** A client serves one origin. undici lets `origin` stand in the options all the same, so it has to be this one. */
function checkOrigin({ origin }: DispatchOptions, own: Origin): void {
  if (origin === undefined || origin === null || origin === own.href) return
  if (toOrigin(origin).href !== own.href)
    throw invalid('origin', origin, `${own.href}, the origin of this client`)
}

/** Options that change what a request means: taking them without acting on them would be a lie. */
function checkUnsupported({ upgrade, expectContinue }: DispatchOptions): void {
  if (upgrade !== undefined && upgrade !== null && upgrade !== false) {
    throw new NotSupportedError('Option upgrade is not supported yet')
  }
  if (toBoolean('expectContinue', expectContinue, false)) {
    throw new NotSupportedError('Option expectContinue is not supported yet')
  }
}

/**
 * Compares the body's length, where it is known, with the `content-length` that the caller gave, and sends the former
 * where the caller gave none. A method that expects no body sends no `content-length: 0`.
 */
function checkContentLength(request: Request, strict: boolean): number | null {
  const { body, contentLength, wire } = request
  // Not strict, and no length known: what comes is sent, and the server has to judge it.
  if (body.length === null) return strict ? contentLength : null
  if (contentLength === null) {
    if (body.kind !== 'none') wire['content-length'] = String(body.length)
    else if (request.method === 'POST' || request.method === 'PUT' || request.method === 'PATCH') {
      wire['content-length'] = '0'
    }
    return body.length
  }
  if (contentLength === body.length) return contentLength
  if (strict) {
    throw new RequestContentLengthMismatchError(
      `Invalid header 'content-length': got ${contentLength}, expected ${body.length}, the length of the body in bytes`,
    )
  }
  // Not strict: the body decides. A false length would make the request malformed (RFC 9113 §8.1.1).
  wire['content-length'] = String(body.length)
  return body.length
}

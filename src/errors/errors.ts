/**
 * Every error class of Dodici, and the translation of Node's and the peer's errors into them.
 *
 * Names and codes are undici's if the meaning is. Each class carries undici's mark (`Symbol.for('undici.error.…')`),
 * so that `error instanceof undici.errors.SocketError` is true, too, and Dodici's own mark, so that the ESM and
 * CommonJS copies of this package in one process recognise each other's errors.
 *
 * @module
 */

import type { CallErrorFields, Processed } from '../../types/errors.ts'

/** The details of an error about the call that it ended. Every field of the error has a value from the start. */
export interface ErrorDetails {
  /** The underlying error, if there is one. */
  cause?: unknown
  /** The error code (RFC 9113 §7), or null if neither the peer nor node:http2 has given one. @default null */
  http2ErrorCode?: number | null
  /** The additional debug data in the peer's GOAWAY, or null. @default null */
  goawayDebugData?: Buffer | null
  /** @default 'no' */
  processed?: Processed
}

type OwnClass = new (...args: never[]) => DodiciError

/** Every class in this file whose constructor takes `(message, details)`. */
const ownClasses = new Set<unknown>()

/** How to copy errors whose constructor takes other arguments. */
const copies = new Map<unknown, (error: DodiciError) => DodiciError>()

/** The classes that undici also has, by their code. */
const undiciClasses = new Map<unknown, OwnClass>()

/** undici's messages, by code, for errors created without a message: mocks and tests create such errors. */
const defaultMessages: ReadonlyMap<string, string> = new Map([
  ['UND_ERR_CONNECT_TIMEOUT', 'Connect Timeout Error'],
  ['UND_ERR_HEADERS_TIMEOUT', 'Headers Timeout Error'],
  ['UND_ERR_HEADERS_OVERFLOW', 'Headers Overflow Error'],
  ['UND_ERR_BODY_TIMEOUT', 'Body Timeout Error'],
  ['UND_ERR_INVALID_ARG', 'Invalid Argument Error'],
  ['UND_ERR_INVALID_RETURN_VALUE', 'Invalid Return Value Error'],
  ['UND_ERR_ABORTED', 'Request aborted'],
  ['UND_ERR_REQ_CONTENT_LENGTH_MISMATCH', 'Request body length does not match content-length header'],
  ['UND_ERR_RES_CONTENT_LENGTH_MISMATCH', 'Response body length does not match content-length header'],
  ['UND_ERR_DESTROYED', 'The client is destroyed'],
  ['UND_ERR_CLOSED', 'The client is closed'],
  ['UND_ERR_SOCKET', 'Socket error'],
  ['UND_ERR_NOT_SUPPORTED', 'Not supported error'],
  ['UND_ERR_RES_EXCEEDED_MAX_SIZE', 'Response content exceeded max size'],
  ['UND_ERR_MAX_ORIGINS_REACHED', 'Maximum allowed origins reached'],
])

const ownMark = (code: string): symbol => Symbol.for(`dodici.error.${code}`)

/** undici's mark on errors with this code. */
export const undiciMark = (code: string): symbol => Symbol.for(`undici.error.${code}`)

/** Any class, including abstract ones. */
export type AnyClass = abstract new (...args: never[]) => object

/**
 * Makes `instanceof` true for each value with one of the marks, whichever copy of Dodici or undici has created it. A
 * user's own subclass has no mark: for it, the prototype chain is checked.
 */
export function recognise(markedClass: AnyClass, marks: readonly symbol[]): void {
  Object.defineProperty(markedClass, Symbol.hasInstance, {
    value(this: unknown, value: unknown): boolean {
      if (this !== markedClass) return Function.prototype[Symbol.hasInstance].call(this, value)
      return (
        typeof value === 'object' && value !== null && marks.some((mark) => Reflect.get(value, mark) === true)
      )
    },
    configurable: true,
  })
}

/** A property of a prototype that logs don't show. */
export const hidden = (value: unknown): PropertyDescriptor => ({
  value,
  enumerable: false,
  configurable: true,
  writable: true,
})

/**
 * Gives a class its name, its code, undici's mark and Dodici's. Subclasses inherit their parents' marks.
 *
 * @param toCopy for a class whose constructor doesn't take `(message, details)`
 */
export function brand(
  errorClass: OwnClass,
  name: string,
  code: string,
  undiciCode: string | null = code,
  toCopy: ((error: DodiciError) => DodiciError) | null = null,
): void {
  if (toCopy === null) ownClasses.add(errorClass)
  else copies.set(errorClass, toCopy)
  const { prototype } = errorClass
  const marks = [ownMark(code)]
  if (undiciCode !== null) {
    undiciClasses.set(undiciCode, errorClass)
    marks.push(undiciMark(undiciCode))
  }
  Object.defineProperty(prototype, 'name', hidden(name))
  Object.defineProperty(prototype, 'code', hidden(code))
  for (const mark of marks) Object.defineProperty(prototype, mark, hidden(true))
  // An error of undici's has none of the fields of a DodiciError, and isn't one. `UndiciError` is for both.
  recognise(errorClass, errorClass === DodiciError ? marks.slice(0, 1) : marks)
}

/**
 * The base class of every error from this package.
 *
 * Its `code` is a string such as `UND_ERR_SOCKET` (undici's, if undici has the same error) or `DODICI_ERR_STREAM`.
 */
export class DodiciError extends Error implements CallErrorFields {
  /** The error's code; undici's if the meaning is. An own property, so that logs and `JSON.stringify()` show it. */
  readonly code: string
  /** Whether the server may have acted on the call. @default 'no' */
  processed: Processed
  /** On how many streams the call was tried. @default 0 */
  attempts = 0
  /** The id of the last of these streams; null if none was opened. @default null */
  streamId: number | null = null
  /** The error code (RFC 9113 §7), or null. @default null */
  http2ErrorCode: number | null
  /** The additional debug data in the peer's GOAWAY, or null. @default null */
  goawayDebugData: Buffer | null

  constructor(message?: string, given: ErrorDetails = {}) {
    // undici's classes take something else there, or nothing: a test's mock may make an error of ours with it.
    const details = typeof given === 'object' && given !== null ? given : {}
    const code = String(Reflect.get(new.target.prototype, 'code'))
    const text = message || (defaultMessages.get(code) ?? '')
    super(text, 'cause' in details ? { cause: details.cause } : undefined)
    this.code = code
    this.processed = details.processed ?? 'no'
    this.http2ErrorCode = details.http2ErrorCode ?? null
    this.goawayDebugData = details.goawayDebugData ?? null
  }
}
brand(DodiciError, 'DodiciError', 'UND_ERR')

/** An argument or an option is invalid: the message names it, its value, and what would be accepted. */
export class InvalidArgumentError extends DodiciError {
  declare readonly code: 'UND_ERR_INVALID_ARG'
}
brand(InvalidArgumentError, 'InvalidArgumentError', 'UND_ERR_INVALID_ARG')

/** The request makes no sense over HTTP/2, or the peer or Dodici doesn't support it. */
export class NotSupportedError extends DodiciError {
  declare readonly code: 'UND_ERR_NOT_SUPPORTED'
}
brand(NotSupportedError, 'NotSupportedError', 'UND_ERR_NOT_SUPPORTED')

/** No connection could be made: refused, not resolved, or not trusted. `code` and `cause` come from Node's error. */
export class ConnectError extends DodiciError {
  declare code: string
}
brand(ConnectError, 'ConnectError', 'DODICI_ERR_CONNECT', null)

/** The connection was made, but the peer didn't choose `h2` in ALPN (RFC 9113 §3.2). */
export class AlpnError extends DodiciError {
  declare readonly code: 'DODICI_ERR_ALPN'

  /** The protocol that the peer chose; `false`: none; `null`: it refused all that were offered. @default null */
  alpnProtocol: string | false | null = null
}
brand(AlpnError, 'AlpnError', 'DODICI_ERR_ALPN', null)

/** There was no connection, or no SETTINGS from the peer, within `connectTimeout`. */
export class ConnectTimeoutError extends DodiciError {
  declare readonly code: 'UND_ERR_CONNECT_TIMEOUT'
}
brand(ConnectTimeoutError, 'ConnectTimeoutError', 'UND_ERR_CONNECT_TIMEOUT')

/** There was no stream for the call within `queueTimeout`: the peer's limit was reached, or there was no connection. */
export class QueueTimeoutError extends DodiciError {
  declare readonly code: 'DODICI_ERR_QUEUE_TIMEOUT'
}
brand(QueueTimeoutError, 'QueueTimeoutError', 'DODICI_ERR_QUEUE_TIMEOUT', null)

/**
 * The request body made no progress within `uploadTimeout`: its source delivered nothing, or the peer accepted
 * nothing.
 */
export class UploadTimeoutError extends DodiciError {
  declare readonly code: 'DODICI_ERR_UPLOAD_TIMEOUT'
}
brand(UploadTimeoutError, 'UploadTimeoutError', 'DODICI_ERR_UPLOAD_TIMEOUT', null)

/** The whole call took longer than `requestTimeout`. */
export class RequestTimeoutError extends DodiciError {
  declare readonly code: 'DODICI_ERR_REQUEST_TIMEOUT'
}
brand(RequestTimeoutError, 'RequestTimeoutError', 'DODICI_ERR_REQUEST_TIMEOUT', null)

/** There was no response within `headersTimeout` after the request was sent. */
export class HeadersTimeoutError extends DodiciError {
  declare readonly code: 'UND_ERR_HEADERS_TIMEOUT'
}
brand(HeadersTimeoutError, 'HeadersTimeoutError', 'UND_ERR_HEADERS_TIMEOUT')

/** The response body made no progress within `bodyTimeout`. */
export class BodyTimeoutError extends DodiciError {
  declare readonly code: 'UND_ERR_BODY_TIMEOUT'
}
brand(BodyTimeoutError, 'BodyTimeoutError', 'UND_ERR_BODY_TIMEOUT')

/** The call was aborted without a reason from the caller. */
export class RequestAbortedError extends DodiciError {
  declare readonly code: 'UND_ERR_ABORTED'
}
brand(RequestAbortedError, 'AbortError', 'UND_ERR_ABORTED')
// undici's RequestAbortedError is an AbortError too, and users test for either.
Object.defineProperty(RequestAbortedError.prototype, undiciMark('UND_ERR_ABORT'), hidden(true))

/** The request body is shorter or longer than its `content-length`. */
export class RequestContentLengthMismatchError extends DodiciError {
  declare readonly code: 'UND_ERR_REQ_CONTENT_LENGTH_MISMATCH'
}
brand(
  RequestContentLengthMismatchError,
  'RequestContentLengthMismatchError',
  'UND_ERR_REQ_CONTENT_LENGTH_MISMATCH',
)

/** The response body is shorter or longer than its `content-length`. */
export class ResponseContentLengthMismatchError extends DodiciError {
  declare readonly code: 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH'
}
brand(
  ResponseContentLengthMismatchError,
  'ResponseContentLengthMismatchError',
  'UND_ERR_RES_CONTENT_LENGTH_MISMATCH',
)

/** The response body is larger than `maxResponseSize`. */
export class ResponseExceededMaxSizeError extends DodiciError {
  declare readonly code: 'UND_ERR_RES_EXCEEDED_MAX_SIZE'
}
brand(ResponseExceededMaxSizeError, 'ResponseExceededMaxSizeError', 'UND_ERR_RES_EXCEEDED_MAX_SIZE')

/** A response's header or trailer section, or its informational responses together, are larger than `maxHeaderSize`. */
export class HeadersOverflowError extends DodiciError {
  declare readonly code: 'UND_ERR_HEADERS_OVERFLOW'
}
brand(HeadersOverflowError, 'HeadersOverflowError', 'UND_ERR_HEADERS_OVERFLOW')

/**
 * A response's header or trailer section has more fields than `maxHeadersCount`, or too many informational responses
 * arrived.
 */
export class HeadersCountError extends DodiciError {
  declare readonly code: 'DODICI_ERR_HEADERS_COUNT'
}
brand(HeadersCountError, 'HeadersCountError', 'DODICI_ERR_HEADERS_COUNT', null)

/**
 * A request's header or trailer section is larger than the server's SETTINGS_MAX_HEADER_LIST_SIZE allows (RFC 9113
 * §6.5.2).
 */
export class RequestHeadersOverflowError extends DodiciError {
  declare readonly code: 'DODICI_ERR_REQUEST_HEADERS_OVERFLOW'
}
brand(RequestHeadersOverflowError, 'RequestHeadersOverflowError', 'DODICI_ERR_REQUEST_HEADERS_OVERFLOW', null)

/** A caller's function has returned an unexpected value: the message says what was expected. */
export class InvalidReturnValueError extends DodiciError {
  declare readonly code: 'UND_ERR_INVALID_RETURN_VALUE'
}
brand(InvalidReturnValueError, 'InvalidReturnValueError', 'UND_ERR_INVALID_RETURN_VALUE')

/** An agent has as many origins as `maxOrigins` allows, and each of them has requests. */
export class MaxOriginsReachedError extends DodiciError {
  declare readonly code: 'UND_ERR_MAX_ORIGINS_REACHED'
}
brand(MaxOriginsReachedError, 'MaxOriginsReachedError', 'UND_ERR_MAX_ORIGINS_REACHED')

/** The dispatcher was destroyed, before or during the call. */
export class ClientDestroyedError extends DodiciError {
  declare readonly code: 'UND_ERR_DESTROYED'
}
brand(ClientDestroyedError, 'ClientDestroyedError', 'UND_ERR_DESTROYED')

/** The dispatcher was closed before the call. */
export class ClientClosedError extends DodiciError {
  declare readonly code: 'UND_ERR_CLOSED'
}
brand(ClientClosedError, 'ClientClosedError', 'UND_ERR_CLOSED')

/** The session was lost during the call: its socket broke, or the peer sent GOAWAY with an error. */
export class SocketError extends DodiciError {
  declare readonly code: 'UND_ERR_SOCKET' | 'DODICI_ERR_TUNNEL_REFUSED'
}
brand(SocketError, 'SocketError', 'UND_ERR_SOCKET')

/**
 * The response isn't HTTP/1.1: the fallback's parser has refused it. `instanceof` is also true for undici's class
 * with this name.
 */
class HttpParserError extends SocketError {}
brand(HttpParserError, 'HTTPParserError', 'UND_ERR_SOCKET', null)
Object.defineProperty(HttpParserError.prototype, undiciMark('UND_ERR_HTTP_PARSER'), hidden(true))

/** The response to a CONNECT, or an extended CONNECT, has a status other than 2xx: there is no tunnel. */
export class TunnelRefusedError extends SocketError {
  declare readonly code: 'DODICI_ERR_TUNNEL_REFUSED'

  /** The response's status. */
  readonly statusCode: number

  constructor(message: string, statusCode: number) {
    super(message, { processed: 'yes' })
    this.statusCode = statusCode
  }
}
brand(TunnelRefusedError, 'TunnelRefusedError', 'DODICI_ERR_TUNNEL_REFUSED', null)
// Its constructor doesn't take `(message, details)`.
ownClasses.delete(TunnelRefusedError)

/** The peer has reset the call's stream, or closed it without a complete response. `http2ErrorCode` says why. */
export class StreamError extends DodiciError {
  declare readonly code: 'DODICI_ERR_STREAM'
}
brand(StreamError, 'StreamError', 'DODICI_ERR_STREAM', null)

/** Whether a value is an Error from any realm: also a signal's `TimeoutError` in jest's environment, a DOMException. */
export function isError(value: unknown): value is Error {
  return value instanceof Error || toTag(value) === '[object Error]' || isDomException(value)
}

/** Whether a value is a DOMException, including jsdom's. */
export function isDomException(value: unknown): value is DOMException {
  return toTag(value) === '[object DOMException]'
}

function toTag(value: unknown): string {
  return Object.prototype.toString.call(value)
}

/** Any thrown value as an Error: an Error is returned unchanged. */
export function toError(thrown: unknown): Error {
  if (isError(thrown)) return thrown
  let text: string = typeof thrown
  try {
    text = String(thrown)
  } catch {
    // The object can't be converted to a string: the message names its type, and the cause is the object itself.
  }
  return new DodiciError(`A value that is not an Error was thrown: ${text}`, { cause: thrown })
}

/** Node tries several addresses, and then throws an AggregateError without a message. */
function toReason(cause: unknown): string {
  const errors: unknown = isError(cause) && cause.message === '' ? Reflect.get(cause, 'errors') : null
  if (Array.isArray(errors)) return errors.map(toReason).join(', ')
  // OpenSSL's message is that reason among ids and lines of its source.
  const reason: unknown = isOpenSsl(cause) ? Reflect.get(Object(cause), 'reason') : null
  if (typeof reason === 'string' && reason !== '') return reason
  return toError(cause).message.trim() || 'no reason given'
}

function isOpenSsl(cause: unknown): boolean {
  const code = toCode(cause)
  return typeof code === 'string' && code.startsWith('ERR_SSL_')
}

function toCode(cause: unknown): unknown {
  return typeof cause === 'object' && cause !== null ? Reflect.get(cause, 'code') : undefined
}

/**
 * An error of a failed connection attempt, from Node or the user, as a DodiciError. A DodiciError is returned
 * unchanged.
 *
 * @param alpnHint what the message says about the options if the peer refused all protocols
 */
export function toConnectError(cause: unknown, origin: string, alpnHint = ''): DodiciError {
  if (cause instanceof DodiciError) return cause
  if (isOfAlert(cause)) {
    return new AlpnError(`${origin} doesn't speak HTTP/2: it refused 'h2' in ALPN${alpnHint}`, { cause })
  }
  return toPlainConnectError(cause, origin)
}

/**
 * RFC 7301 §3.2: a server that knows none of the offered protocols sends an alert. The code of OpenSSL's error
 * contains this name, whether the peer or this side has sent the alert.
 */
function isOfAlert(cause: unknown): boolean {
  const code = toCode(cause)
  return typeof code === 'string' && code.includes('NO_APPLICATION_PROTOCOL')
}

/** Whether a connection has failed because the peer speaks none of the offered protocols. */
export function isNoProtocol(error: Error): boolean {
  if (error instanceof AlpnError) return error.alpnProtocol === null || error.alpnProtocol === 'h2'
  return isOfAlert(error) || isOfAlert(error.cause)
}

/** The certificate's issuer is unknown. */
const UNKNOWN_ISSUER: ReadonlySet<string> = new Set([
  ...['DEPTH_ZERO_SELF_SIGNED_CERT', 'SELF_SIGNED_CERT_IN_CHAIN', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'],
  ...['UNABLE_TO_GET_ISSUER_CERT', 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY'],
])
/** OpenSSL's codes for bytes that aren't a TLS record. */
const NO_TLS = /^ERR_SSL_(WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|HTTP_REQUEST|UNKNOWN_PROTOCOL)$/
/** The alerts from a server that wants a client certificate, or a different one. */
const NO_CLIENT_CERTIFICATE = /^ERR_SSL_\w*ALERT_(CERTIFICATE_REQUIRED|BAD_CERTIFICATE|UNKNOWN_CA)$/

/** The options that may solve the failure of a connection, because Node doesn't name any. Empty for none. */
function toHint(cause: unknown): string {
  const code = toCode(cause)
  if (Reflect.get(Object(cause), 'syscall') === 'bind') return ' (check localAddress and localPort)'
  if (typeof code !== 'string') return ''
  if (UNKNOWN_ISSUER.has(code)) return " (to trust it, set connect.ca to the issuer's certificate)"
  if (NO_TLS.test(code)) return ". The server didn't answer with TLS: it may expect http:"
  if (NO_CLIENT_CERTIFICATE.test(code))
    return ' (set the client certificate with connect.cert and connect.key)'
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') return ' (set the name to check with connect.servername)'
  return ''
}

function toPlainConnectError(cause: unknown, origin: string): ConnectError {
  const code = toCode(cause)
  // One without a code comes from a connect function or `lookup` of the caller's: as in undici, its message stays.
  if (typeof code !== 'string' && isError(cause) && cause.message.trim() !== '')
    return new ConnectError(cause.message, { cause })
  const message = `Could not connect to ${origin}: ${toReason(cause)}${toHint(cause)}`
  const error = new ConnectError(message, { cause })
  if (typeof code === 'string') error.code = code
  return error
}

/**
 * A fallback dispatcher's error as a DodiciError, of the class with the same undici code if there is one. A
 * DodiciError is returned unchanged.
 */
export function toFallbackError(cause: Error, origin: string, processed: Processed): DodiciError {
  if (cause instanceof DodiciError) return cause
  const details = { cause, processed }
  const undiciClass = 'code' in cause ? undiciClasses.get(cause.code) : undefined
  if (undiciClass !== undefined) return Reflect.construct(undiciClass, [cause.message, details])
  if (processed === 'no') return toPlainConnectError(cause, origin)
  const isParsers = Reflect.get(cause, undiciMark('UND_ERR_HTTP_PARSER')) === true
  return new (isParsers ? HttpParserError : SocketError)(cause.message, details)
}

/**
 * An error with a code, as a dispatcher's events promise: errors from Node and Dodici have one, any other is wrapped,
 * and so is anything else that a caller has passed to `destroy()`.
 */
export function toCodedError(thrown: unknown): Error & { code: string } {
  const error = toError(thrown)
  if ('code' in error && typeof error.code === 'string') return error as Error & { code: string }
  return new DodiciError(error.message, { cause: error })
}

/** A separate error for each call that one event has ended, with that call's details. */
export function toOwnError(error: DodiciError): DodiciError {
  // A user's own class may have a constructor with other parameters: it isn't called.
  if (!ownClasses.has(error.constructor)) return copies.get(error.constructor)?.(error) ?? error
  const { message, cause, http2ErrorCode, goawayDebugData, processed, code } = error
  const details: ErrorDetails = { cause, http2ErrorCode, goawayDebugData, processed }
  const copy: DodiciError = Reflect.construct(error.constructor, [message, details])
  if (error instanceof AlpnError && copy instanceof AlpnError) copy.alpnProtocol = error.alpnProtocol
  if (copy instanceof ConnectError) copy.code = code
  return copy
}

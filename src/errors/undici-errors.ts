/**
 * undici's error classes that Dodici's own errors don't need. undici's tools throw such errors over Dodici's
 * dispatchers: `instanceof` is true for those from undici 6, 7 and 8, because of undici's marks.
 *
 * Names, codes and constructors are undici's.
 *
 * @module
 */

import { hidden, recognise, undiciMark } from './errors.ts'

type Fields = Record<string, unknown> | string[] | null

/** The base class of undici's errors. Dodici's errors are instances of it, too. */
export class UndiciError extends Error {
  /** The error's code. */
  readonly code: string

  constructor(message?: string, options?: ErrorOptions) {
    super(message, options)
    this.code = String(Reflect.get(new.target.prototype, 'code'))
  }
}
brand(UndiciError, 'UndiciError', 'UND_ERR')

/** A call was aborted. Dodici's RequestAbortedError is an instance of it, too. */
export class AbortError extends UndiciError {
  declare readonly code: 'UND_ERR_ABORT'

  constructor(message = 'The operation was aborted') {
    super(message)
  }
}
brand(AbortError, 'AbortError', 'UND_ERR_ABORT')

/** Information that isn't a failure by itself. */
export class InformationalError extends UndiciError {
  declare readonly code: 'UND_ERR_INFO'

  constructor(message = 'Request information', options?: ErrorOptions) {
    super(message, options)
  }
}
brand(InformationalError, 'InformationalError', 'UND_ERR_INFO')

/** A BalancedPool has no upstreams. */
export class BalancedPoolMissingUpstreamError extends UndiciError {
  declare readonly code: 'UND_ERR_BPL_MISSING_UPSTREAM'

  constructor(message = 'No upstream has been added to the BalancedPool') {
    super(message)
  }
}
brand(BalancedPoolMissingUpstreamError, 'MissingUpstreamError', 'UND_ERR_BPL_MISSING_UPSTREAM')

/** A RetryHandler can't continue with a response. */
export class RequestRetryError extends UndiciError {
  declare readonly code: 'UND_ERR_REQ_RETRY'

  /** The response's status. */
  readonly statusCode: number
  /** What the interceptor says about the attempt. */
  readonly data: unknown
  /** The response's header fields. `null`: unknown. */
  readonly headers: Fields

  constructor(
    message = 'Request retry error',
    statusCode = 0,
    details: { headers?: Fields; data?: unknown } = {},
  ) {
    super(message)
    this.statusCode = statusCode
    this.data = details.data
    this.headers = details.headers ?? null
  }
}
brand(RequestRetryError, 'RequestRetryError', 'UND_ERR_REQ_RETRY')

/** The interceptor `responseError` has turned a status of 400 or more into an error. */
export class ResponseError extends UndiciError {
  declare readonly code: 'UND_ERR_RESPONSE'

  /** The response's status. */
  readonly statusCode: number
  /** The response's body: parsed if it is JSON. `null`: unknown. */
  readonly body: Record<string, unknown> | string | null
  /** Whether `body` is only the beginning. */
  readonly bodyTruncated: boolean
  /** The response's header fields. `null`: unknown. */
  readonly headers: Fields

  constructor(
    message = 'Response error',
    statusCode = 0,
    details: {
      headers?: Fields
      body?: Record<string, unknown> | string | null
      bodyTruncated?: boolean
    } = {},
  ) {
    super(message)
    this.statusCode = statusCode
    this.body = details.body ?? null
    this.bodyTruncated = details.bodyTruncated ?? false
    this.headers = details.headers ?? null
  }
}
brand(ResponseError, 'ResponseError', 'UND_ERR_RESPONSE')

/** With undici 6, `throwOnError` has turned a status of 400 or more into an error. */
export class ResponseStatusCodeError extends UndiciError {
  declare readonly code: 'UND_ERR_RESPONSE_STATUS_CODE'

  /** The response's status. */
  readonly status: number
  /** The response's status. */
  readonly statusCode: number
  /** The response's header fields. `null`: unknown. */
  readonly headers: Fields
  /** The response's body: parsed if it is JSON. `null`: unknown. */
  readonly body: unknown

  constructor(
    message = 'Response Status Code Error',
    statusCode = 0,
    headers: Fields = null,
    body: unknown = null,
  ) {
    super(message)
    this.status = statusCode
    this.statusCode = statusCode
    this.headers = headers
    this.body = body
  }
}
brand(ResponseStatusCodeError, 'ResponseStatusCodeError', 'UND_ERR_RESPONSE_STATUS_CODE')

/** A response redirects once more than allowed. */
export class MaxRedirectsError extends UndiciError {
  declare readonly code: 'UND_ERR_REDIRECT_MAX'

  constructor(message = 'max redirects') {
    super(message)
  }
}
brand(MaxRedirectsError, 'MaxRedirectsError', 'UND_ERR_REDIRECT_MAX')

/** A WebSocket message is too large after decompression. */
export class MessageSizeExceededError extends UndiciError {
  declare readonly code: 'UND_ERR_WS_MESSAGE_SIZE_EXCEEDED'

  constructor(message = 'Max decompressed message size exceeded') {
    super(message)
  }
}
brand(MessageSizeExceededError, 'MessageSizeExceededError', 'UND_ERR_WS_MESSAGE_SIZE_EXCEEDED')

/** The HTTP/1.1 parser in undici has refused a message. */
export class HTTPParserError extends Error {
  /** `HPE_` and the parser's code; undefined if there is none. */
  readonly code: string | undefined
  /** What the parser was reading; undefined if unknown. */
  readonly data: string | undefined

  constructor(message?: string, code?: string, data?: { toString(): string }) {
    super(message)
    this.code = code === undefined ? undefined : `HPE_${code}`
    this.data = data?.toString()
  }
}
name(HTTPParserError, 'HTTPParserError', undefined)
markBy(HTTPParserError, 'UND_ERR_HTTP_PARSER')

/** The HTTP/1.1 parser in undici needs WebAssembly. */
export class WebAssemblyNotSupportedError extends Error {
  /** The error's code. */
  readonly code = 'ERR_WEBASSEMBLY_NOT_SUPPORTED'

  constructor(
    message = 'WebAssembly is not supported in this environment, but is required for HTTP/1 parsing',
  ) {
    super(message)
  }
}
markBy(WebAssemblyNotSupportedError, 'ERR_WEBASSEMBLY_NOT_SUPPORTED')

type ErrorClass = new (...args: never[]) => Error

function name({ prototype }: ErrorClass, text: string, code: string | undefined): void {
  Object.defineProperty(prototype, 'name', hidden(text))
  Object.defineProperty(prototype, 'code', hidden(code))
}

function markBy(errorClass: ErrorClass, code: string): void {
  const mark = undiciMark(code)
  Object.defineProperty(errorClass.prototype, mark, hidden(true))
  recognise(errorClass, [mark])
}

function brand(errorClass: ErrorClass, text: string, code: string): void {
  name(errorClass, text, code)
  markBy(errorClass, code)
}

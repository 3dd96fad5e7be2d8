/**
 * The cause of a call's end, as a connect-es error.
 *
 * @module
 */

import { Code, ConnectError } from '@connectrpc/connect'
import { parseTimeout as parseConnectTimeout } from '@connectrpc/connect/protocol-connect'
import { parseTimeout as parseGrpcTimeout } from '@connectrpc/connect/protocol-grpc'
import { errors } from '../index.ts'

/**
 * The error codes of RST_STREAM and GOAWAY. All others mean INTERNAL.
 *
 * @see https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md#errors
 */
const BY_HTTP2_ERROR: Readonly<Record<number, Code>> = {
  7: Code.Unavailable,
  8: Code.Canceled,
  11: Code.ResourceExhausted,
  12: Code.PermissionDenied,
  13: Code.PermissionDenied,
}

/** The codes of errors that would end any call at that time: there is no connection, or no longer one. */
const UNAVAILABLE: ReadonlySet<unknown> = new Set([
  'UND_ERR_SOCKET',
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_CLOSED',
  'UND_ERR_DESTROYED',
  'DODICI_ERR_QUEUE_TIMEOUT',
  ...[
    'ECONNREFUSED',
    'ECONNRESET',
    'EPIPE',
    'ETIMEDOUT',
    'ENOTFOUND',
    'EAI_AGAIN',
    'EHOSTUNREACH',
    'ENETUNREACH',
  ],
])

/** The codes of the dispatcher's own limits and timeouts. */
const BY_CODE: Readonly<Record<string, Code>> = {
  DODICI_ERR_REQUEST_TIMEOUT: Code.DeadlineExceeded,
  UND_ERR_ABORTED: Code.Canceled,
  UND_ERR_RES_EXCEEDED_MAX_SIZE: Code.ResourceExhausted,
  UND_ERR_HEADERS_OVERFLOW: Code.ResourceExhausted,
}

/**
 * @param thrown - an error from the dispatcher, or anything else
 * @param header - the request's header, which contains the deadline
 * @param begun - when the call began, as `performance.now()` counts
 */
export function toConnectError(thrown: unknown, header: Headers, begun: number): ConnectError {
  if (thrown instanceof ConnectError) return thrown
  const { code, name, message, http2ErrorCode, processed } = Object(thrown)
  let status: Code = Code.Internal
  if (name === 'TimeoutError') status = Code.DeadlineExceeded
  else if (Object.hasOwn(BY_CODE, code)) status = BY_CODE[code] ?? status
  // A graceful GOAWAY has no error code of its own, and leaves out what it hasn't accepted.
  else if (http2ErrorCode === 0 && processed === 'no') status = Code.Unavailable
  else if (typeof http2ErrorCode === 'number') status = BY_HTTP2_ERROR[http2ErrorCode] ?? status
  else if (UNAVAILABLE.has(code) || thrown instanceof errors.ConnectError) status = Code.Unavailable
  // A server that reaches the deadline first may reset the stream with CANCEL.
  if (http2ErrorCode === 8 && performance.now() - begun >= toTimeout(header)) status = Code.DeadlineExceeded
  return new ConnectError(String(message ?? thrown), status, undefined, undefined, thrown)
}

/** What the server was told, in milliseconds; Infinity if nothing. */
function toTimeout(header: Headers): number {
  const grpc = parseGrpcTimeout(header.get('grpc-timeout'), Number.MAX_SAFE_INTEGER)
  const connect = parseConnectTimeout(header.get('connect-timeout-ms'), Number.MAX_SAFE_INTEGER)
  return grpc.timeoutMs ?? connect.timeoutMs ?? Infinity
}

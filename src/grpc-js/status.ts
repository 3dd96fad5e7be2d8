/**
 * A call's status: from its trailers, its header, or what happened to its stream.
 *
 * @module
 */

import type { IncomingHttpHeaders } from '../index.ts'
import { Status } from './grpc.ts'

/** A status without metadata. */
export interface Outcome {
  readonly code: number
  readonly details: string
}

/** @see https://github.com/grpc/grpc/blob/master/doc/http-grpc-status-mapping.md */
const BY_HTTP_STATUS: Readonly<Record<number, number>> = {
  400: Status.INTERNAL,
  401: Status.UNAUTHENTICATED,
  403: Status.PERMISSION_DENIED,
  404: Status.UNIMPLEMENTED,
  429: Status.UNAVAILABLE,
  502: Status.UNAVAILABLE,
  503: Status.UNAVAILABLE,
  504: Status.UNAVAILABLE,
}

export function toHttpOutcome(statusCode: number): Outcome {
  const code = BY_HTTP_STATUS[statusCode] ?? Status.UNKNOWN
  return { code, details: `Received HTTP status code ${statusCode}` }
}

/** The status in a section of fields; null if it has no `grpc-status`. */
export function toFieldsOutcome(fields: IncomingHttpHeaders): Outcome | null {
  const value = first(fields['grpc-status'])
  if (value === undefined) return null
  const code = Number(value)
  const details = decode(first(fields['grpc-message']) ?? '')
  if (Number.isInteger(code) && value !== '') return { code, details }
  return { code: Status.UNKNOWN, details: `Received the malformed grpc-status ${JSON.stringify(value)}` }
}

function first(value: string | readonly string[] | undefined): string | undefined {
  return typeof value === 'string' ? value : value?.[0]
}

/** UTF-8 octets, some of them as `%XX`. Malformed text is kept as it arrived. */
function decode(text: string): string {
  if (!text.includes('%')) return text
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

const RESETS: Readonly<Record<number, Outcome>> = {
  2: { code: Status.INTERNAL, details: 'Received RST_STREAM with code 2 (Internal server error)' },
  7: { code: Status.UNAVAILABLE, details: 'Stream refused by server' },
  8: { code: Status.CANCELLED, details: 'Call cancelled' },
  11: { code: Status.RESOURCE_EXHAUSTED, details: 'Bandwidth exhausted or memory limit exceeded' },
  12: { code: Status.PERMISSION_DENIED, details: 'Protocol not secure enough' },
}

/** The status of a stream that ended without one, although nothing went wrong below gRPC. */
export const NO_STATUS: Outcome = {
  code: Status.INTERNAL,
  details: 'Received RST_STREAM with code 0 (Call ended without gRPC status)',
}

/** The fields of Dodici's errors that say what happened. An error from a caller's code may lack all of them. */
interface CallFailure extends Error {
  readonly http2ErrorCode?: unknown
}

/** Names of Dodici's errors for a missing connection. A ConnectError has its cause's code. */
const UNCONNECTED: ReadonlySet<string> = new Set(['AlpnError', 'ConnectError', 'ConnectTimeoutError'])
/** The connection, or the channel's Pool, is gone. */
const LOST: ReadonlySet<string> = new Set(['ClientClosedError', 'ClientDestroyedError', 'SocketError'])
/** What Dodici refuses before it sends anything. */
const REFUSED: ReadonlySet<string> = new Set([
  'InvalidArgumentError',
  'NotSupportedError',
  'RequestHeadersOverflowError',
])

/** Why a call failed that got no status. */
export function toFailureOutcome(error: CallFailure): Outcome {
  const { http2ErrorCode, message, name } = error
  if (REFUSED.has(name))
    return { code: Status.INTERNAL, details: `Failed to start HTTP/2 stream with error ${message}` }
  if (UNCONNECTED.has(name))
    return { code: Status.UNAVAILABLE, details: `No connection established. Last error: ${message}` }
  // Before the name is checked: a GOAWAY with an error, and the connection's end after it, are one failure.
  if (typeof http2ErrorCode === 'number' && (http2ErrorCode !== 0 || name === 'StreamError')) {
    if (http2ErrorCode === 0) return NO_STATUS
    const details = `Received RST_STREAM with code ${http2ErrorCode}: ${message}`
    return RESETS[http2ErrorCode] ?? { code: Status.INTERNAL, details }
  }
  if (LOST.has(name)) return { code: Status.UNAVAILABLE, details: `Connection dropped: ${message}` }
  return { code: Status.INTERNAL, details: message }
}

/** Codes with which a credentials plugin must not end a call (gRFC A54). */
const INAPPROPRIATE: ReadonlySet<number> = new Set([0, 3, 5, 6, 9, 10, 11, 15])
const NAMES: Readonly<Record<number, string>> = {
  0: 'OK',
  3: 'INVALID_ARGUMENT',
  5: 'NOT_FOUND',
  6: 'ALREADY_EXISTS',
  9: 'FAILED_PRECONDITION',
  10: 'ABORTED',
  11: 'OUT_OF_RANGE',
  15: 'DATA_LOSS',
}

/** The outcome of a call whose credentials could not be generated. */
export function toCredentialsOutcome(thrown: unknown): Outcome {
  const { code, message }: { code?: unknown; message?: unknown } = Object(thrown)
  const given = typeof code === 'number' ? code : Status.UNKNOWN
  const details = `Getting metadata from plugin failed with error: ${message}`
  if (!INAPPROPRIATE.has(given)) return { code: given, details }
  return {
    code: Status.INTERNAL,
    details: `Invalid status from control plane: ${given} ${NAMES[given]} ${details}`,
  }
}

/**
 * Makes the errors of attempts that failed on a stream.
 *
 * @module
 */

import type { ClientHttp2Stream } from 'node:http2'
import type { Call } from '../../call/call.ts'
import { ErrorCode, toErrorCodeName } from '../../errors/error-codes.ts'
import { DodiciError, StreamError } from '../../errors/errors.ts'
import type { Goaway } from '../loss.ts'

/** What the session knows about a failure. */
export interface FailureContext {
  /** The session can't open further streams: it finishes the open ones, and closes. */
  close(): void
  /** Whether the connection is gone. */
  isLost(): boolean
  /** The peer's GOAWAY; null before any. */
  readonly goaway: Goaway | null
  /**
   * The error of a stream that is lost with its session: the session's own reason or, when it has none yet, `error`.
   *
   * @param streamId null for a stream that never got one
   */
  toLossError(streamId: number | null, error: Error | null): DodiciError
  /** Whether the peer's GOAWAY leaves this stream out, while streams with calls that it covers go on. */
  isLeftOut(streamId: number | null): boolean
}

/** The error of a stream that could not be opened: nothing was sent. */
export function toOpenError(cause: unknown): DodiciError {
  return new StreamError('The stream could not be opened', { cause, processed: 'no' })
}

/**
 * The failure of a stream that was closed without a complete response.
 *
 * @param isAccepted as for {@link toResetError}
 * @param stream null when Node has made none
 * @param error the error that Node has given for it; null for none
 */
export function toStreamFailure(
  context: FailureContext,
  isAccepted: boolean,
  stream: ClientHttp2Stream | null,
  error: Error | null,
): DodiciError {
  const streamId = stream?.id ?? null
  const code = stream?.rstCode ?? ErrorCode.NO_ERROR
  const { goaway } = context
  // Node also closes streams with the code of a GOAWAY: then the code says nothing about this stream.
  const isRefused = code === ErrorCode.REFUSED_STREAM && goaway?.code !== ErrorCode.REFUSED_STREAM
  // RFC 9113 §6.8: the peer doesn't process the streams above the last one. nghttp2 closes them with REFUSED_STREAM.
  const isAbove = streamId !== null && goaway !== null && streamId > goaway.lastStreamId
  // A stream that was refused before the connection was lost is unprocessed all the same.
  if (isAbove || (context.isLost() && !isRefused)) return context.toLossError(streamId, error)
  if (streamId === null) {
    // No id: Node 24 and later tell so by an event of the stream. All versions do when the ids are used up (RFC 9113
    // §5.1.1).
    context.close()
    return toOpenError(error)
  }
  return toResetError(code, isAccepted || !isRefused, error)
}

/**
 * The failure of a stream that the peer has reset. REFUSED_STREAM says that none of it was processed (RFC 9113 §8.7).
 *
 * @param isAccepted whether that isn't so, since the peer has sent a part of a response, or credit for the body
 * @param cause the error that the engine has given for it; null for none
 */
export function toResetError(code: number, isAccepted: boolean, cause: Error | null = null): StreamError {
  const processed = code === ErrorCode.REFUSED_STREAM && !isAccepted ? 'no' : 'maybe'
  const message =
    code === ErrorCode.NO_ERROR
      ? 'The stream was closed without a complete response'
      : `The stream was reset with ${toErrorCodeName(code)}`
  return new StreamError(message, { cause, processed, http2ErrorCode: code })
}

/** These codes say what is to be done with the request, whatever becomes of the connection. */
const CODES_OF_REQUESTS: ReadonlySet<number> = new Set([
  ErrorCode.REFUSED_STREAM,
  ErrorCode.HTTP_1_1_REQUIRED,
])

/**
 * Whether the reset of a stream may belong to the end of its connection: a server that stops may reset its streams, and
 * then send GOAWAY with an error. It is known a turn of the event loop later, once the read was handled as a whole. It
 * matters for requests that are repeated after the loss of a connection.
 */
export function mayBeLoss({ request }: Call, { http2ErrorCode, processed }: StreamError): boolean {
  if (!request.idempotent || request.isTunnel || processed === 'no') return false
  return !CODES_OF_REQUESTS.has(http2ErrorCode ?? ErrorCode.NO_ERROR)
}

/** The failure of a stream for which {@link mayBeLoss} is true, a turn later. */
export function toResetOrLoss(
  context: FailureContext,
  streamId: number | null,
  reset: StreamError,
): DodiciError {
  const { goaway } = context
  const isOfLoss = goaway !== null && goaway.code !== ErrorCode.NO_ERROR
  return isOfLoss ? context.toLossError(streamId, reset) : reset
}

/** The peer has sent a header section on the stream of a tunnel: a stream error. */
export function toTunnelProtocolError(): StreamError {
  return new StreamError('HEADERS came within a tunnel (RFC 9113 §8.5)', {
    http2ErrorCode: ErrorCode.PROTOCOL_ERROR,
  })
}

/**
 * The error of a tunnel, whose call has settled with a response: marks it as processed. Errors that aren't ours come
 * back unchanged.
 */
export function toTunnelError(call: Call, streamId: number | null, error: Error): Error {
  if (!(error instanceof DodiciError)) return error
  error.processed = 'yes'
  call.mark(error, streamId)
  return error
}

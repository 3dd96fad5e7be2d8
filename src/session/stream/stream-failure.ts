/**
 * Makes the errors of attempts that failed on a stream.
 *
 * @module
 */

import type { EndReason } from '../../../types/stats.ts'
import type { Call } from '../../call/call.ts'
import { ErrorCode, toErrorCodeName } from '../../errors/error-codes.ts'
import { DodiciError, StreamError } from '../../errors/errors.ts'
import type { Goaway } from '../loss.ts'

/** What the session knows about a failure. */
export interface FailureContext {
  /** The session is to open no further streams: it finishes the open ones, and closes. */
  close(reason: EndReason): void
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
  return new StreamError('HEADERS arrived inside a tunnel (RFC 9113 §8.5)', {
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

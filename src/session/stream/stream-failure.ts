/**
 * Creates the errors for attempts that failed on a stream.
 *
 * @module
 */

import type { EndReason } from '../../../types/stats.ts'
import type { Call } from '../../call/call.ts'
import { ErrorCode, toErrorCodeName } from '../../errors/error-codes.ts'
import { DodiciError, InvalidArgumentError, StreamError } from '../../errors/errors.ts'
import type { Goaway } from '../loss.ts'

/** What the session knows about a failure. */
export interface FailureContext {
  /** Makes the session open no more streams: it finishes the open ones, and closes. */
  close(reason: EndReason): void
  /** Whether the connection is gone. */
  isLost(): boolean
  /** The peer's GOAWAY; null if none has arrived. */
  readonly goaway: Goaway | null
  /**
   * The error for a stream that is lost with its session: the session's own reason or, if it has none yet, `error`.
   *
   * @param streamId null for a stream that never got an id
   */
  toLossError(streamId: number | null, error: Error | null): DodiciError
  /** Whether the peer's GOAWAY excludes this stream while streams with calls that it covers continue. */
  isLeftOut(streamId: number | null): boolean
}

/**
 * The failure of a stream that the peer has reset. REFUSED_STREAM says that none of it was processed (RFC 9113 §8.7).
 *
 * @param isAccepted whether that is untrue, because the peer has sent a part of a response, or credit for the body
 * @param cause the engine's error for it; null for none
 */
export function toResetError(code: number, isAccepted: boolean, cause: Error | null = null): StreamError {
  const processed = code === ErrorCode.REFUSED_STREAM && !isAccepted ? 'no' : 'maybe'
  const message =
    code === ErrorCode.NO_ERROR
      ? 'The stream was closed without a complete response'
      : `The stream was reset with ${toErrorCodeName(code)}`
  return new StreamError(message, { cause, processed, http2ErrorCode: code })
}

/** These codes say what to do with the request, whatever happens to the connection. */
const CODES_OF_REQUESTS: ReadonlySet<number> = new Set([
  ErrorCode.REFUSED_STREAM,
  ErrorCode.HTTP_1_1_REQUIRED,
])

/**
 * Whether the reset of a stream may be part of the end of its connection: a server that stops may reset its streams,
 * and then send GOAWAY with an error. That is known a turn of the event loop later, once the whole read was handled.
 * It matters for requests that are repeated after a connection is lost.
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

/** The failure of a call whose body's memory was transferred or resized before it was sent. */
export function toLostMemoryError(): InvalidArgumentError {
  const what = 'its memory was transferred or resized before it was sent'
  return new InvalidArgumentError(`Invalid body: ${what}, expected bytes that stay as they are`)
}

/** The peer has sent a header section on a tunnel's stream: a stream error. */
export function toTunnelProtocolError(): StreamError {
  return new StreamError('HEADERS arrived inside a tunnel (RFC 9113 §8.5)', {
    http2ErrorCode: ErrorCode.PROTOCOL_ERROR,
  })
}

/**
 * The error for a tunnel whose call has settled with a response: marks it as processed. Errors that aren't Dodici's
 * are returned unchanged.
 */
export function toTunnelError(call: Call, streamId: number | null, error: Error): Error {
  if (!(error instanceof DodiciError)) return error
  error.processed = 'yes'
  call.mark(error, streamId)
  return error
}

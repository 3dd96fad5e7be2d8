/**
 * Why an attempt on a stream has failed.
 *
 * @module
 */

import type { ClientHttp2Stream } from 'node:http2'
import { ErrorCode, toErrorCodeName } from '../../core/error-codes.ts'
import { DodiciError, StreamError } from '../../errors.ts'
import type { Call } from '../../handler/call.ts'
import type { Goaway } from '../loss.ts'

/** What the session knows of it. */
export interface FailureContext {
  /** The session can open no further stream: it finishes those that it has, and closes. */
  close(): void
  /** Whether the connection is gone. */
  isLost(): boolean
  /** What the peer has said with its GOAWAY; null without one. */
  readonly goaway: Goaway | null
  /**
   * Why a stream is lost with its session: for the session's own reason or, where it has none yet, for `error`.
   *
   * @param streamId null for a stream that never got one
   */
  toLossError(streamId: number | null, error: Error | null): DodiciError
}

/** Nothing was sent. */
export function toOpenError(cause: unknown): DodiciError {
  return new StreamError('The stream could not be opened', { cause, processed: 'no' })
}

/**
 * The failure of a stream that was closed without a complete response.
 *
 * @param stream null where node has made none
 * @param error what node has said of it; null for nothing
 */
export function toStreamFailure(
  context: FailureContext,
  stream: ClientHttp2Stream | null,
  error: Error | null,
): DodiciError {
  const streamId = stream?.id ?? null
  const code = stream?.rstCode ?? ErrorCode.NO_ERROR
  const { goaway } = context
  // Node closes streams with the code of a GOAWAY, too: then it is no response to this stream, whatever the code.
  const isRefused = code === ErrorCode.REFUSED_STREAM && goaway?.code !== ErrorCode.REFUSED_STREAM
  // RFC 9113 §6.8: the peer has promised not to process what lies above. nghttp2 calls that REFUSED_STREAM.
  const isAbove = streamId !== null && goaway !== null && streamId > goaway.lastStreamId
  // What was refused before the connection went is unprocessed all the same.
  if (isAbove || (context.isLost() && !isRefused)) return context.toLossError(streamId, error)
  if (streamId === null) {
    // Node 24 and later say so on the stream; all of them do when the ids are used up (RFC 9113 §5.1.1).
    context.close()
    return toOpenError(error)
  }
  return toResetError(code, isRefused, error)
}

/**
 * The failure of a stream that the peer has reset.
 *
 * @param isRefused whether the code means that none of it was processed (RFC 9113 §8.7)
 * @param cause what the engine has said of it; null for nothing
 */
export function toResetError(
  code: number,
  isRefused = code === ErrorCode.REFUSED_STREAM,
  cause: Error | null = null,
): StreamError {
  const processed = isRefused ? 'no' : 'maybe'
  const message =
    code === ErrorCode.NO_ERROR
      ? 'The stream was closed without a complete response'
      : `The stream was reset with ${toErrorCodeName(code)}`
  return new StreamError(message, { cause, processed, http2ErrorCode: code })
}

/** The peer has sent a header section on a connected stream: a stream error. */
export function toTunnelProtocolError(): StreamError {
  return new StreamError('HEADERS came within a tunnel (RFC 9113 §8.5)', {
    http2ErrorCode: ErrorCode.PROTOCOL_ERROR,
  })
}

/**
 * Why a tunnel ends: its call has settled, and the server has answered it. Errors that aren't ours come back untouched.
 */
export function toTunnelError(call: Call, streamId: number | null, error: Error): Error {
  if (!(error instanceof DodiciError)) return error
  error.processed = 'yes'
  call.mark(error, streamId)
  return error
}

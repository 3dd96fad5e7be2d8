/**
 * Creates the errors for streams that node:http2 has closed, or not opened.
 *
 * @module
 */

import type { ClientHttp2Stream } from 'node:http2'
import { ErrorCode } from '../../errors/error-codes.ts'
import type { DodiciError } from '../../errors/errors.ts'
import { StreamError } from '../../errors/errors.ts'
import { isAbove } from '../loss.ts'
import type { FailureContext } from '../stream/stream-failure.ts'
import { toResetError } from '../stream/stream-failure.ts'

/** The error for a stream that could not be opened: nothing was sent. */
export function toOpenError(cause: unknown): DodiciError {
  return new StreamError('The stream could not be opened', { cause, processed: 'no' })
}

/**
 * The failure of a stream that was closed without a complete response.
 *
 * @param isAccepted as for {@link toResetError}
 * @param stream null if Node has created none
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
  // Node also closes streams with a GOAWAY's code: then the code says nothing about this stream.
  const isRefused = code === ErrorCode.REFUSED_STREAM && goaway?.code !== ErrorCode.REFUSED_STREAM
  // nghttp2 closes the streams that a GOAWAY leaves out with REFUSED_STREAM. A stream that was refused before the
  // connection was lost is still unprocessed.
  if (isAbove(streamId, goaway) || (context.isLost() && !isRefused))
    return context.toLossError(streamId, error)
  if (streamId === null) {
    // It has no id: Node 24 and later report that with an event on the stream, all versions if the ids are used up (RFC
    // 9113 §5.1.1).
    context.close('requests')
    return toOpenError(error)
  }
  return toResetError(code, isAccepted || !isRefused, error)
}

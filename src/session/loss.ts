/**
 * Why a stream was lost with its session.
 *
 * @module
 */

import type { Processed } from '../../types/errors.ts'
import { ErrorCode, toErrorCodeName } from '../core/error-codes.ts'
import { originalSetImmediate } from '../core/original-timers.ts'
import { DodiciError, SocketError } from '../errors.ts'

/** What a peer's GOAWAY said (RFC 9113 §6.8). */
export interface Goaway {
  readonly code: number
  /** Streams above it the peer has not processed, and will not. */
  readonly lastStreamId: number
  /** Null for none. */
  readonly debugData: Buffer | null
}

/**
 * What is known after another GOAWAY: up to where streams were processed, the last one says; why the peer leaves, the
 * first one that gives a reason. (Node's server, for one, ends each connection with a GOAWAY that gives none.)
 */
export function toLatest(before: Goaway | null, { code, lastStreamId, debugData }: Goaway): Goaway {
  if (before === null) return { code, lastStreamId, debugData }
  if (before.code !== ErrorCode.NO_ERROR && code === ErrorCode.NO_ERROR) return { ...before, lastStreamId }
  return { code, lastStreamId, debugData: debugData ?? before.debugData }
}

/** What gRPC's servers say with ENHANCE_YOUR_CALM to a client that sends more PINGs than they like. */
const TOO_MANY_PINGS = 'too_many_pings'

/** Whether the peer ends the session because of our PINGs. */
export function isOfPings({ code, debugData }: Goaway): boolean {
  return code === ErrorCode.ENHANCE_YOUR_CALM && debugData?.toString('latin1') === TOO_MANY_PINGS
}

/** Whether a GOAWAY of this code asks for HTTP/1.1. */
export function isOfHttp1(code: number): boolean {
  return code === ErrorCode.HTTP_1_1_REQUIRED
}

/**
 * @param streamId null for a stream that never got one
 * @param goaway null when there was none
 * @param cause null when nobody has said why
 */
export function toLossError(
  streamId: number | null,
  goaway: Goaway | null,
  cause: Error | null,
): SocketError {
  const isUnprocessed = streamId === null || (goaway !== null && streamId > goaway.lastStreamId)
  const processed: Processed = isUnprocessed ? 'no' : 'maybe'
  if (goaway !== null && goaway.code !== ErrorCode.NO_ERROR) {
    const { code, debugData } = goaway
    const message = `The peer sent GOAWAY with ${toErrorCodeName(code)}`
    return new SocketError(message, { cause, processed, http2ErrorCode: code, goawayDebugData: debugData })
  }
  const message = cause === null ? 'The connection was closed' : `The connection was lost: ${cause.message}`
  // What we have told the peer, where it was us who found it at fault.
  const http2ErrorCode = cause instanceof DodiciError ? cause.http2ErrorCode : null
  return new SocketError(message, {
    cause,
    processed,
    http2ErrorCode,
    goawayDebugData: goaway?.debugData ?? null,
  })
}

/**
 * Why a connection has ended, for the `disconnect` event. What the peer has said with its GOAWAY is in the error's
 * fields; the debug data is no part of the message, which ends up in logs (RFC 9113 §6.8: it may be sensitive). A frame
 * bounds how much of it there is.
 *
 * @param goaway null when there was none
 * @param cause null for a graceful end, or one of our own
 */
export function toDisconnectError(goaway: Goaway | null, cause: Error | null): Error {
  if (goaway === null) return cause ?? new SocketError('The connection was closed')
  const { code, debugData } = goaway
  const message = `The connection was closed after GOAWAY with ${toErrorCodeName(code)}`
  const details = { http2ErrorCode: code, goawayDebugData: debugData }
  if (cause === null) return new SocketError(message, details)
  return new SocketError(`${message}: ${cause.message}`, { ...details, cause })
}

/**
 * Closes a session whose connection is gone without a word of its engine's: in a later turn of the event loop. A caller
 * may be dispatching when that is found out, and the listeners that are told are the caller's. And node may be about to
 * tell: it leaks its part of a session whose socket is destroyed before.
 */
export function endLost(session: LostSession): void {
  originalSetImmediate(tellLoss, session)
}

interface LostSession {
  onError(error: Error): void
}

function tellLoss(session: LostSession): void {
  const message = 'The connection was closed, and its engine has not told why'
  session.onError(new SocketError(message, { processed: 'maybe' }))
}

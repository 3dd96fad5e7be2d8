/**
 * Why a stream was lost with its session.
 *
 * @module
 */

import type { Processed } from '../../types/errors.ts'
import { originalSetImmediate } from '../core/original-timers.ts'
import { ErrorCode, toErrorCodeName } from '../errors/error-codes.ts'
import { DodiciError, SocketError } from '../errors/errors.ts'

/** The content of a peer's GOAWAY (RFC 9113 §6.8). */
export interface Goaway {
  readonly code: number
  /** The peer has not processed the streams above this one, and will not: see {@link mayHaveProcessed}. */
  readonly lastStreamId: number
  /** Null for none. */
  readonly debugData: Buffer | null
}

/**
 * Joins an earlier GOAWAY with a later one. The last stream id is always the later one's. A later GOAWAY with
 * NO_ERROR doesn't replace the reason in an earlier one: Node's server, for example, ends each connection with such a
 * GOAWAY.
 */
export function toLatest(before: Goaway | null, { code, lastStreamId, debugData }: Goaway): Goaway {
  if (before === null) return { code, lastStreamId, debugData }
  if (before.code !== ErrorCode.NO_ERROR && code === ErrorCode.NO_ERROR) return { ...before, lastStreamId }
  return { code, lastStreamId, debugData: debugData ?? before.debugData }
}

/** Whether a GOAWAY excludes a stream (RFC 9113 §6.8). @param streamId null for one that never got an id */
export function isAbove(streamId: number | null, goaway: Goaway | null): boolean {
  return streamId !== null && goaway !== null && streamId > goaway.lastStreamId
}

/** The debug data in a gRPC server's GOAWAY with ENHANCE_YOUR_CALM if the client has sent too many PINGs. */
const TOO_MANY_PINGS = 'too_many_pings'

/** Whether the peer has ended the session because of Dodici's PINGs. */
export function isOfPings({ code, debugData }: Goaway): boolean {
  return code === ErrorCode.ENHANCE_YOUR_CALM && debugData?.toString('latin1') === TOO_MANY_PINGS
}

/** Whether a GOAWAY with this code asks for HTTP/1.1. */
export function isOfHttp1(code: number): boolean {
  return code === ErrorCode.HTTP_1_1_REQUIRED
}

/**
 * nghttp2's own errors are negative numbers. A server that sends one as the code in a GOAWAY has an internal failure.
 */
const FIRST_NEGATIVE_CODE = 0x8000_0000

/**
 * Whether the peer has accepted streams above the last one in its GOAWAY. Helidon 4.5 always sends 0, whatever it has
 * answered.
 *
 * @param lastAcceptedId from an {@link EngineConnection}
 */
function isContradicted({ lastStreamId }: Goaway, lastAcceptedId: number): boolean {
  return lastStreamId < lastAcceptedId
}

/**
 * Whether the peer may have processed this stream in spite of its GOAWAY. Two last stream ids aren't trusted: one
 * that the peer's own frames contradict, and one from a server with an internal failure. Apache 2.4 passes streams
 * above such an id to its backends (docs/chaos.md).
 */
function mayHaveProcessed(streamId: number, goaway: Goaway, lastAcceptedId: number): boolean {
  return (
    !isAbove(streamId, goaway) || goaway.code >= FIRST_NEGATIVE_CODE || isContradicted(goaway, lastAcceptedId)
  )
}

/**
 * The error for a stream that was lost with its session.
 *
 * @param streamId null for a stream that never got an id
 * @param goaway null if there was none
 * @param lastAcceptedId from an {@link EngineConnection}
 * @param cause why the session has ended; null if unknown
 * @param silence an addition to the message; empty once the peer has sent SETTINGS
 */
export function toLossError(
  streamId: number | null,
  goaway: Goaway | null,
  lastAcceptedId: number,
  cause: Error | null,
  silence = '',
): SocketError {
  const isUnprocessed =
    streamId === null || (goaway !== null && !mayHaveProcessed(streamId, goaway, lastAcceptedId))
  const processed: Processed = isUnprocessed ? 'no' : 'maybe'
  if (goaway !== null && goaway.code !== ErrorCode.NO_ERROR) {
    const { code, debugData } = goaway
    const message = `The peer sent GOAWAY with ${toErrorCodeName(code)}`
    return new SocketError(message, { cause, processed, http2ErrorCode: code, goawayDebugData: debugData })
  }
  if (goaway !== null && streamId !== null && isUnprocessed) {
    const { code, debugData, lastStreamId } = goaway
    const what = `GOAWAY with ${toErrorCodeName(code)} and last stream id ${lastStreamId}`
    const message = `The peer sent ${what}, which excludes stream ${streamId}`
    return new SocketError(message, { cause, processed, http2ErrorCode: code, goawayDebugData: debugData })
  }
  const isLie = goaway !== null && streamId !== null && isContradicted(goaway, lastAcceptedId)
  const reason =
    isLie && isAbove(streamId, goaway)
      ? `The peer sent GOAWAY with last stream id ${goaway.lastStreamId}, but has accepted stream ${lastAcceptedId}`
      : 'The connection was closed'
  const lost = cause === null ? reason : `The connection was lost: ${cause.message}`
  // An error of our own says what it knows of the peer.
  const message = cause instanceof DodiciError ? lost : `${lost}${silence}`
  // The code that we have sent to the peer, if the connection error was ours.
  const http2ErrorCode = cause instanceof DodiciError ? cause.http2ErrorCode : null
  return new SocketError(message, {
    cause,
    processed,
    http2ErrorCode,
    goawayDebugData: goaway?.debugData ?? null,
  })
}

/**
 * Why a connection has ended, for the `disconnect` event. The error's fields contain the peer's GOAWAY. The message,
 * which ends up in logs, doesn't contain the debug data, because it may be sensitive (RFC 9113 §6.8). The frame size
 * limits it.
 *
 * @param goaway null if there was none
 * @param cause null for a graceful end, or for Dodici's own end
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
 * Closes a session whose connection is gone although its engine hasn't reported that. It does so in a later turn of
 * the event loop, for two reasons. A caller may be dispatching now, and the listeners for the end are the caller's.
 * And node:http2 may be about to report it: it leaks its part of a session whose socket is destroyed before that.
 */
export function destroyLost(session: LostSession): void {
  originalSetImmediate(tellLoss, session)
}

interface LostSession {
  onError(error: Error): void
}

function tellLoss(session: LostSession): void {
  const message = 'The connection was closed, and its engine gave no reason'
  session.onError(new SocketError(message, { processed: 'maybe' }))
}

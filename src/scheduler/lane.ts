/**
 * Pure: which session a call waits for.
 *
 * @module
 */

import type { SchedulerNotes } from '../call/scheduler-notes.ts'
import type { Request } from '../request/request.ts'
import type { OriginProtocol } from '../session/origin-memory.ts'

/**
 * Which session may take a call:
 *
 * - `none`: no session, the fallback serves the call
 * - `any`: any session with room
 * - `settled`: a session whose peer's SETTINGS have come
 * - `settled-or-idle`: such a session, or one without streams
 * - `newer`: a session that was opened after the attempt whose response was a 421
 */
export type SessionNeed = 'none' | 'any' | 'settled' | 'settled-or-idle' | 'newer'

/** The kind of a waiting call, and which session it waits for. */
export interface Lane {
  readonly name: 'fallback' | 'misdirected' | 'tunnel' | 'one-shot' | 'ordinary'
  readonly need: SessionNeed
}

/** The server, or the caller, wants the request to be sent by HTTP/1.1. */
const FALLBACK: Lane = Object.freeze({ name: 'fallback', need: 'none' })
/** RFC 9110 §15.5.20: after a 421 the request may be sent on another connection. */
const MISDIRECTED: Lane = Object.freeze({ name: 'misdirected', need: 'newer' })
/** RFC 8441 §3: only SETTINGS tell whether the peer supports extended CONNECT. */
const TUNNEL: Lane = Object.freeze({ name: 'tunnel', need: 'settled' })
/**
 * A call with a body that can be read only once. A stream above a limit that the peer hasn't sent yet is refused, and
 * the body would be lost with it. So the call is the first of a session, or waits for SETTINGS.
 */
const ONE_SHOT: Lane = Object.freeze({ name: 'one-shot', need: 'settled-or-idle' })
const ORDINARY: Lane = Object.freeze({ name: 'ordinary', need: 'any' })

/** The facts that decide the lane of a call. */
export interface LaneFacts extends Pick<SchedulerNotes, 'failures'> {
  readonly request: Pick<Request, 'isHttp1' | 'protocol'> & {
    readonly body: Pick<Request['body'], 'replayable'>
  }
}

/**
 * The lane of a call. It changes only while the call has a stream. (A call that was refused may have to wait for its
 * time before it enters its lane: see DelayedCalls.)
 */
export function toLane({ request, failures }: LaneFacts): Lane {
  if (request.isHttp1 || failures.http1Required !== null || failures.isHttp1Upgrade) return FALLBACK
  if (failures.wasMisdirected) return MISDIRECTED
  if (request.protocol !== null) return TUNNEL
  return request.body.replayable ? ORDINARY : ONE_SHOT
}

/** Which session may take the calls of a lane. @param protocol what is known of the origin's protocol */
export function toSessionNeed(lane: Lane, protocol: OriginProtocol): SessionNeed {
  return protocol === 'http/1.1' ? 'none' : lane.need
}

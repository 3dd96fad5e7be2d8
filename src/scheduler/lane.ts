/**
 * Pure: for which session a call waits.
 *
 * @module
 */

import type { Request } from '../core/request.ts'
import type { SchedulerNotes } from '../handler/scheduler-notes.ts'
import type { OriginProtocol } from '../session/origin-memory.ts'

/**
 * Which session may take a call:
 *
 * - `none`: HTTP/2 isn't for the call, the fallback serves it
 * - `any`: any that has room
 * - `settled`: one whose peer's SETTINGS have come
 * - `settled-or-idle`: the same, or one without streams
 * - `newer`: one that was opened after the attempt that a 421 was the response to
 */
export type SessionNeed = 'none' | 'any' | 'settled' | 'settled-or-idle' | 'newer'

/** What kind of call waits, and for which session. */
export interface Lane {
  readonly name: 'fallback' | 'misdirected' | 'tunnel' | 'one-shot' | 'ordinary'
  readonly need: SessionNeed
}

/** The server, or the caller, wants the request by HTTP/1.1. */
const FALLBACK: Lane = Object.freeze({ name: 'fallback', need: 'none' })
/** RFC 9110 §15.5.20: by another connection the server may be the right one. */
const MISDIRECTED: Lane = Object.freeze({ name: 'misdirected', need: 'newer' })
/** RFC 8441 §3: whether there is extended CONNECT, SETTINGS alone tell. */
const TUNNEL: Lane = Object.freeze({ name: 'tunnel', need: 'settled' })
/**
 * With a body that can't be had again. A stream above a limit that the peer hasn't told yet is refused, and the body
 * would be lost with it: so the call is the first of a session, or waits for SETTINGS.
 */
const ONE_SHOT: Lane = Object.freeze({ name: 'one-shot', need: 'settled-or-idle' })
const ORDINARY: Lane = Object.freeze({ name: 'ordinary', need: 'any' })

/** What a call's lane depends on. */
export interface LaneFacts extends Pick<SchedulerNotes, 'http1Required' | 'wasMisdirected'> {
  readonly request: Pick<Request, 'isHttp1' | 'protocol'> & {
    readonly body: Pick<Request['body'], 'replayable'>
  }
}

/**
 * The lane of a call. It changes only while the call has a stream. (A call that was refused may have to wait for its
 * time before it enters its lane: see DelayedCalls.)
 */
export function toLane({ request, http1Required, wasMisdirected }: LaneFacts): Lane {
  if (request.isHttp1 || http1Required !== null) return FALLBACK
  if (wasMisdirected) return MISDIRECTED
  if (request.protocol !== null) return TUNNEL
  return request.body.replayable ? ORDINARY : ONE_SHOT
}

/** Which session may take the calls of a lane, at an origin of which so much is known. */
export function toSessionNeed(lane: Lane, protocol: OriginProtocol): SessionNeed {
  return protocol === 'http/1.1' ? 'none' : lane.need
}

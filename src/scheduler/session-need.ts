/**
 * Pure: which session a call waits for.
 *
 * @module
 */

import type { FailureNotes } from '../call/call-owner.ts'
import type { Request } from '../request/request.ts'
import type { OriginProtocol } from '../session/origin-memory.ts'
import type { SessionNeed } from '../session/session.ts'

/** The facts that decide which session a call needs. */
export interface NeedFacts {
  readonly request: Pick<Request, 'isHttp1' | 'isTunnel' | 'protocol'> & {
    readonly body: Pick<Request['body'], 'kind' | 'replayable'>
  }
  readonly failures: Pick<FailureNotes, 'http1Required' | 'isHttp1Upgrade'>
}

/**
 * Whether the server or the caller wants the request to be sent over HTTP/1.1, whatever else the origin speaks. It
 * changes only while the call has a stream, or right before the call is queued again.
 */
export function isForHttp1({ request, failures }: NeedFacts): boolean {
  return request.isHttp1 || failures.http1Required !== null || failures.isHttp1Upgrade
}

/**
 * Which session may take a call.
 *
 * @param protocol what is known about the origin's protocol
 * @returns `none` for a call that the fallback serves
 */
export function toSessionNeed(call: NeedFacts, protocol: OriginProtocol): SessionNeed | 'none' {
  if (protocol === 'http/1.1' || isForHttp1(call)) return 'none'
  // RFC 8441 §3: only SETTINGS says whether the peer supports extended CONNECT.
  if (call.request.protocol !== null) return 'settled'
  // A stream above a limit that the peer hasn't sent yet is refused, and a body that can be read only once would be
  // lost with it. So the call is a session's first one, or waits for SETTINGS.
  const { body, isTunnel } = call.request
  if (!body.replayable) return 'settled-or-idle'
  return body.kind === 'none' && !isTunnel ? 'any' : 'upload'
}

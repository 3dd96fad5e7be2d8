/**
 * Lets the accepted streams of a session go on after a GOAWAY with an error code.
 *
 * @module
 */

import type { ClientHttp2Session } from 'node:http2'
import { ErrorCode } from '../../errors/error-codes.ts'

/** What node:http2 gives as the reason when it destroys a session for a GOAWAY of the peer. */
const GOAWAY_REASON = 'ERR_HTTP2_SESSION_ERROR'

/**
 * At a GOAWAY with an error code node destroys the session, and with it the streams that the peer has accepted and
 * still answers. RFC 9113 §6.8 has no such rule: a server that retires a connection for some other fault finishes what
 * it has begun. So the session is closed gracefully instead, as at a GOAWAY without an error; nghttp2 has closed the
 * streams above the last one by then. A second GOAWAY doesn't change that.
 *
 * Only this one use of `destroy()` is told by an error of that code beside NO_ERROR as the code to send.
 */
export function spareAcceptedStreams(http2: ClientHttp2Session): void {
  const { destroy } = http2
  http2.destroy = function (this: ClientHttp2Session, error?: Error, code?: number): void {
    const isForGoaway = code === ErrorCode.NO_ERROR && Object(error).code === GOAWAY_REASON
    if (!isForGoaway) Reflect.apply(destroy, this, [error, code])
    else if (!this.closed) this.close()
  }
}

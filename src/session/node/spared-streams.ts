/**
 * Lets a session's accepted streams continue after a GOAWAY with an error code.
 *
 * @module
 */

import type { ClientHttp2Session } from 'node:http2'
import { ErrorCode } from '../../errors/error-codes.ts'

/** The reason that node:http2 gives when it destroys a session because of a GOAWAY from the peer. */
const GOAWAY_REASON = 'ERR_HTTP2_SESSION_ERROR'

/**
 * At a GOAWAY with an error code, node destroys the session, and with it the streams that the peer has accepted and is
 * still responding to. RFC 9113 §6.8 has no such rule: a server that retires a connection because of another fault
 * finishes what it has begun. So the session is closed gracefully instead, as at a GOAWAY without an error; by then,
 * nghttp2 has closed the streams above the last one. A second GOAWAY doesn't change that.
 *
 * Only in this case does node call `destroy()` with an error that has this code, and NO_ERROR as the code to send.
 */
export function spareAcceptedStreams(http2: ClientHttp2Session): void {
  const { destroy } = http2
  http2.destroy = function (this: ClientHttp2Session, error?: Error, code?: number): void {
    const isForGoaway = code === ErrorCode.NO_ERROR && Object(error).code === GOAWAY_REASON
    if (!isForGoaway) Reflect.apply(destroy, this, [error, code])
    else if (!this.closed) this.close()
  }
}

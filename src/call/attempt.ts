/**
 * One attempt of a call, as the call sees it.
 *
 * @module
 */

import type { HttpProtocol, TransportInfo } from '../../types/connection.ts'
import type { ResponseMeter } from './response-limits.ts'

/** What carries attempts: a session, or the connections of the fallback. */
export interface Carrier {
  readonly protocol: HttpProtocol
  /** The session's number; null over HTTP/1.1. */
  readonly id: number | null
  /** The ends of the connection; null over HTTP/1.1. */
  readonly transport: TransportInfo | null
}

/** One attempt of a call: on one stream, or by the fallback for requests that HTTP/2 can't serve. */
export interface Attempt {
  /** Stops reading. The stream window bounds what the peer may still send. */
  pause(): void
  resume(): void
  /** The body needn't wait any longer: the server has sent 100, or nothing for a second. */
  proceed(): void
  /**
   * Resets the stream with CANCEL and releases it, at once. The call hears nothing more of this attempt.
   *
   * @param isMalformed whether the response is malformed (RFC 9113 §8.1.1): then the code is PROTOCOL_ERROR, if the
   *   engine supports that
   */
  cancel(isMalformed?: boolean): void
  /**
   * Sends another priority (RFC 9218 §7.1). Where there is no frame for that, a further attempt has it all the same.
   *
   * @param value of the `priority` field
   */
  reprioritize(value: string): void
  /** Its connection takes no further calls from now on. */
  closeConnection(): void
  readonly carrier: Carrier
  /** Whether it has a connection, whose peer has sent SETTINGS if it speaks HTTP/2. */
  readonly isConnected: boolean
  /** Whether some of the request may have been sent. */
  readonly hasBegun: boolean
  /**
   * Whether the server has sent an informational response, or credit for the request's body: it has accepted the
   * request, whatever it says later.
   */
  readonly isAccepted: boolean
  /**
   * Whether the peer's GOAWAY leaves it out, while its connection goes on with calls that the GOAWAY covers: the peer
   * serves, but not this call on this connection.
   */
  readonly isLeftOut: boolean
  /** The largest section of fields that may be sent, in bytes as RFC 9113 §6.5.2 counts them; Infinity for any. */
  readonly maxHeaderListSize: number
  /** Null until the stream has an id, and for an attempt without a stream. */
  readonly streamId: number | null
  /** What its response is judged by. */
  readonly meter: ResponseMeter
}

/**
 * One attempt at a call, as the call sees it.
 *
 * @module
 */

import type { HttpProtocol, TransportInfo } from '../../types/connection.ts'
import type { ResponseMeter } from './response-limits.ts'

/** What carries attempts: a session, or the fallback's connections. */
export interface Carrier {
  readonly protocol: HttpProtocol
  /** The session's number; null over HTTP/1.1. */
  readonly id: number | null
  /** The two ends of the connection; null over HTTP/1.1. */
  readonly transport: TransportInfo | null
}

/** One attempt at a call: on one stream, or through the fallback for requests that HTTP/2 can't serve. */
export interface Attempt {
  /** Stops reading. The stream window limits what the peer may still send. */
  pause(): void
  resume(): void
  /** The body no longer has to wait: the server has sent 100, or nothing for a second. */
  proceed(): void
  /**
   * Resets the stream with CANCEL and releases it, at once. This attempt reports nothing more to the call.
   *
   * @param isMalformed whether the response is malformed (RFC 9113 §8.1.1): then the code is PROTOCOL_ERROR, if the
   *   engine supports that
   */
  cancel(isMalformed?: boolean): void
  /**
   * Sends a different priority (RFC 9218 §7.1). If there is no frame for that, later attempts still use it.
   *
   * @param value the `priority` field's value
   */
  reprioritize(value: string): void
  /** The connection accepts no more calls from now on. */
  closeConnection(): void
  readonly carrier: Carrier
  /** Whether it has a connection and, if the peer speaks HTTP/2, its SETTINGS. */
  readonly isConnected: boolean
  /** Whether a part of the request may have been sent. */
  readonly hasBegun: boolean
  /**
   * Whether the server has sent an informational response, or credit for the request body: it has accepted the
   * request, whatever it says later.
   */
  readonly isAccepted: boolean
  /**
   * Whether the peer's GOAWAY excludes it while the connection continues with calls that the GOAWAY covers: the peer
   * is serving, but not this call on this connection.
   */
  readonly isLeftOut: boolean
  /** The largest field section that may be sent, in bytes counted as in RFC 9113 §6.5.2; Infinity: no limit. */
  readonly maxHeaderListSize: number
  /** Null until the stream has an id, and for an attempt without a stream. */
  readonly streamId: number | null
  /** The counters and limits for its response. */
  readonly meter: ResponseMeter
}

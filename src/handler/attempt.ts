/**
 * One try of a call, as the call sees it.
 *
 * @module
 */

import type { ResponseMeter } from './response-limits.ts'

/** One try of a call: on one stream, or by whoever serves what HTTP/2 can't. */
export interface Attempt {
  /** Stops reading: what the peer may still send is bounded by the stream's window. */
  pause(): void
  resume(): void
  /** The body needn't wait any longer: the server has said 100, or nothing for a second. */
  proceed(): void
  /**
   * Resets the stream with CANCEL and lets go of it, at once. Nothing is reported to the call any more.
   *
   * @param isMalformed its response is (RFC 9113 §8.1.1): then with PROTOCOL_ERROR, where the engine can say so
   */
  cancel(isMalformed?: boolean): void
  /** Another priority (RFC 9218 §7.1), where the engine can say so. @param value of the `priority` field */
  reprioritize?(value: string): void
  /** Lets its connection take no further calls. */
  retire(): void
  /** It has a connection. */
  readonly isConnected: boolean
  /** Some of the request may have been sent. */
  readonly hasBegun: boolean
  /** Null while the stream has no id, and where there is none. */
  readonly streamId: number | null
  /** What its response is judged by. */
  readonly meter: ResponseMeter
}

/**
 * Where a request's body comes from.
 *
 * @module
 */

import type { Readable } from 'node:stream'

/** No body, or one that is known to be empty: HEADERS carries END_STREAM. */
export interface NoBody {
  readonly kind: 'none'
  readonly length: 0
  readonly replayable: true
  readonly isSpent: false
  /** The `content-type` of a request that names none itself: an empty form has one, too. Null for none. */
  readonly contentType: string | null
}

/** The whole body is in memory: it can be sent any number of times. */
export interface BytesBody {
  readonly kind: 'bytes'
  /** Bytes. */
  readonly length: number
  readonly replayable: true
  readonly isSpent: false
  /** What `content-type` is where the request says nothing; null for nothing. */
  readonly contentType: string | null
  /** The caller's own bytes, not a copy. */
  readonly bytes: Uint8Array
}

/** A body that comes in pieces, of a length that may not be known before. */
export interface StreamBody {
  readonly kind: 'stream'
  /** Bytes; null when the length is known only at the end. */
  readonly length: number | null
  /** Whether `open()` may be called again after a first attempt failed. */
  readonly replayable: boolean
  /** Whether no further attempt can send it: it isn't replayable, and was opened. */
  readonly isSpent: boolean
  /** Whether it can be read once, and nothing is lost before it is read. */
  readonly canWait: boolean
  /** What `content-type` is where the request says nothing; null for nothing. */
  readonly contentType: string | null
  /** The caller gave an iterable. `fetch` always gives one, whatever its own caller gave. */
  readonly fromIterable: boolean
  /** The stream of one attempt: of strings and bytes, as its maker gave them. */
  open(): Readable
  /** Calls back when the source breaks or is destroyed before its end; also before it is read. */
  watch(onBroken: (error: Error) => void): void
  /**
   * The body for a request that has announced this length, in bytes: one that can be sent again, where that is
   * possible. It takes the place of this one.
   */
  toKept(length: number): StreamBody
  /** A response has come, so that no further attempt follows. */
  release(): void
  /**
   * The response is complete before all of the body was sent: the rest isn't sent. A no-op once the source has ended,
   * or was destroyed. Nothing has failed, so that what the source belongs to must go on.
   */
  stop(): void
  /**
   * Ends a source that no attempt will read, or read on. A no-op after {@link stop}. Idempotent.
   *
   * @param error the failure of the call; null when another attempt opens the body anew
   */
  destroy(error: Error | null): void
}

/** A body that can be sent as it is. */
export type SendableBody = NoBody | BytesBody | StreamBody

/** Makes the body of one attempt. */
export interface FactoryBody {
  readonly kind: 'factory'
  readonly length: null
  readonly replayable: true
  readonly isSpent: false
  readonly contentType: null
  /** @throws what the caller's function throws; InvalidReturnValueError when it returns no body. */
  make(): SendableBody
  /** Calls back when what was made last breaks before its end. */
  watch(onBroken: (error: Error) => void): void
  /** Ends what was made last. Idempotent. */
  destroy(error: Error | null): void
}

/** Where a request's body comes from: one of four kinds, whatever the caller gave. */
export type BodySource = SendableBody | FactoryBody

/** The one body of all requests that have none. */
export const NO_BODY: NoBody = Object.freeze({
  kind: 'none',
  length: 0,
  replayable: true,
  isSpent: false,
  contentType: null,
})

/**
 * Where a request body comes from.
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
  /** The `content-type` for a request that names none itself: an empty form has one, too. Null for none. */
  readonly contentType: string | null
}

/** The whole body is in memory: it can be sent any number of times. */
export interface BytesBody {
  readonly kind: 'bytes'
  /** In bytes. */
  readonly length: number
  readonly replayable: true
  readonly isSpent: false
  /** The `content-type` if the request names none; null for none. */
  readonly contentType: string | null
  /** The caller's own bytes, not a copy. */
  readonly bytes: Uint8Array
}

/** A body that arrives in pieces. Its length may not be known in advance. */
export interface StreamBody {
  readonly kind: 'stream'
  /** In bytes; null if the length is known only at the end. */
  readonly length: number | null
  /** Whether `open()` may be called again after a first attempt failed. */
  readonly replayable: boolean
  /** Whether no other attempt can send it, because it isn't replayable and was opened. */
  readonly isSpent: boolean
  /** Whether it can be read once, and nothing is lost before it is read. */
  readonly canWait: boolean
  /** The `content-type` if the request names none; null for none. */
  readonly contentType: string | null
  /** Whether the caller passed an iterable. `fetch` always does, whatever its own caller passed. */
  readonly fromIterable: boolean
  /** Opens the stream for one attempt: of strings and bytes, as its source delivers them. */
  open(): Readable
  /** Calls back if the source breaks or is destroyed before its end, even before it is read. */
  watch(onBroken: (error: Error) => void): void
  /**
   * The body for a request that has announced this length, in bytes: one that can be sent again, if that is possible.
   * It replaces this one.
   */
  toKept(length: number): StreamBody
  /** A response has arrived, so that no more attempts follow. */
  release(): void
  /**
   * The response is complete before the whole body was sent: the rest isn't sent. Does nothing once the source has
   * ended, or was destroyed. Nothing has failed, so what the source belongs to must continue.
   */
  stop(): void
  /**
   * Ends a source that no attempt will read, or continue to read. Does nothing after {@link stop}. Idempotent.
   *
   * @param error the call's failure; null if another attempt opens the body again
   */
  destroy(error: Error | null): void
}

/** A body that can be sent directly. */
export type SendableBody = NoBody | BytesBody | StreamBody

/** Creates a separate body for each attempt. */
export interface FactoryBody {
  readonly kind: 'factory'
  readonly length: null
  readonly replayable: true
  readonly isSpent: false
  readonly contentType: null
  /** @throws what the caller's function throws; InvalidReturnValueError if it returns no body. */
  make(): SendableBody
  /** Calls back if the last created body breaks before its end. */
  watch(onBroken: (error: Error) => void): void
  /** Ends the last created body. Idempotent. */
  destroy(error: Error | null): void
}

/** Where a request body comes from: one of four kinds, whatever the caller passed. */
export type BodySource = SendableBody | FactoryBody

/** The single body of all requests without one. */
export const NO_BODY: NoBody = Object.freeze({
  kind: 'none',
  length: 0,
  replayable: true,
  isSpent: false,
  contentType: null,
})

/**
 * What is kept of a client's frames.
 *
 * @module
 */

import type { Frame } from './frames.ts'
import { toTypeName } from './frames.ts'

/** A frame of the client's, as it is kept. */
export interface RecordedFrame extends Frame {
  /** The type's name, such as `HEADERS`; its number where it has none. */
  readonly name: string
  /** The connection's index. */
  readonly connection: number
  /** Milliseconds, as `performance.now()` counts. */
  readonly at: number
}

/** A GOAWAY of the client's. */
export interface RecordedGoAway {
  /** The connection's index. */
  readonly connection: number
  /** The last pushed stream that the client may have acted on; 0 for none. */
  readonly lastStreamId: number
  /** The error code (RFC 9113 §7). */
  readonly code: number
  /** The additional debug data, as UTF-8. */
  readonly debugData: string
  /** Milliseconds, as `performance.now()` counts. */
  readonly at: number
}

/** A frame that has just come. */
export function toRecord({ type, flags, streamId, payload }: Frame, connection: number): RecordedFrame {
  return { type, name: toTypeName(type), flags, streamId, payload, connection, at: performance.now() }
}

/** What a GOAWAY frame says. */
export function toGoAway({ connection, payload, at }: RecordedFrame): RecordedGoAway {
  return {
    connection,
    lastStreamId: payload.readUInt32BE(0),
    code: payload.readUInt32BE(4),
    debugData: payload.toString('utf8', 8),
    at,
  }
}

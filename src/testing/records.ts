/**
 * The records of a client's frames.
 *
 * @module
 */

import type { Frame } from './frames.ts'
import { toTypeName } from './frames.ts'

/** A recorded frame from the client. */
export interface RecordedFrame extends Frame {
  /** The type's name, such as `HEADERS`, or its number if it has no name. */
  readonly name: string
  /** The index of its connection. */
  readonly connection: number
  /** When it arrived, in milliseconds of `performance.now()`. */
  readonly at: number
}

/** A recorded GOAWAY from the client. */
export interface RecordedGoAway {
  /** The index of its connection. */
  readonly connection: number
  /** The last pushed stream that the client may have processed; 0 for none. */
  readonly lastStreamId: number
  /** The error code (RFC 9113 §7). */
  readonly code: number
  /** The additional debug data, as UTF-8. */
  readonly debugData: string
  /** When it arrived, in milliseconds of `performance.now()`. */
  readonly at: number
}

/** Records a frame that has just arrived. */
export function toRecord({ type, flags, streamId, payload }: Frame, connection: number): RecordedFrame {
  return { type, name: toTypeName(type), flags, streamId, payload, connection, at: performance.now() }
}

/** The contents of a GOAWAY frame. */
export function toGoAway({ connection, payload, at }: RecordedFrame): RecordedGoAway {
  return {
    connection,
    lastStreamId: payload.readUInt32BE(0),
    code: payload.readUInt32BE(4),
    debugData: payload.toString('utf8', 8),
    at,
  }
}

/**
 * A connection's bytes in both directions → the frames that have passed, with their fields.
 *
 * @module
 */

import { PREFACE } from '../frames.ts'
import type { BlockDecoder, Field } from './field-blocks.ts'
import { FieldBlocks } from './field-blocks.ts'
import type { Frame } from './frame-scanner.ts'
import { FrameScanner } from './frame-scanner.ts'

/** From the client's point of view. */
export type Direction = 'sent' | 'received'

/** A frame that has passed. */
export interface ObservedFrame extends Frame {
  readonly direction: Direction
  /** When its last bytes were sent or arrived, as `performance.now()` reports it. */
  readonly at: number
  /** The fields, for the frame that completes a field block; null for any other frame, and if they can't be decoded. */
  readonly fields: readonly Field[] | null
}

/** Observes what a client sends and receives. It never throws, whatever the peer sends. */
export class FrameObserver {
  readonly #sent: FrameScanner
  readonly #received: FrameScanner
  /** How many octets of the client's preface are missing (RFC 9113 §3.4). */
  #preface = PREFACE.length
  /** When the observed bytes arrived: read before they are examined, because that takes time. */
  #at = 0

  /**
   * @param decoders each as large as the reading side allows
   * @param judges whether the headers of the server's frames are checked
   * @param onFrame called for each frame
   */
  constructor(
    decoders: Readonly<Record<Direction, BlockDecoder>>,
    judges: boolean,
    onFrame: (frame: ObservedFrame) => void,
  ) {
    const toScanner = (direction: Direction, isJudged: boolean): FrameScanner => {
      const blocks = new FieldBlocks(decoders[direction])
      return new FrameScanner(isJudged, (frame) => {
        const { fields, fault } = blocks.take(frame)
        onFrame({ ...frame, direction, at: this.#at, fields, fault: frame.fault ?? fault })
      })
    }
    this.#sent = toScanner('sent', false)
    this.#received = toScanner('received', judges)
  }

  /** The client's next bytes, from its preface on. */
  sent(chunk: Buffer): void {
    this.#at = performance.now()
    const skipped = Math.min(this.#preface, chunk.length)
    this.#preface -= skipped
    this.#sent.scan(chunk.subarray(skipped))
  }

  /** The server's next bytes. */
  received(chunk: Buffer): void {
    this.#at = performance.now()
    this.#received.scan(chunk)
  }
}

/**
 * The bytes of both directions of a connection → the frames that have passed, with their fields.
 *
 * @module
 */

import { PREFACE } from '../frames.ts'
import type { BlockDecoder, Field } from './field-blocks.ts'
import { FieldBlocks } from './field-blocks.ts'
import type { Frame } from './frame-scanner.ts'
import { FrameScanner } from './frame-scanner.ts'

/** As the client sees it. */
export type Direction = 'sent' | 'received'

/** A frame that has passed. */
export interface ObservedFrame extends Frame {
  readonly direction: Direction
  /** When its last bytes were sent, or came. By `performance.now()`. */
  readonly at: number
  /** Of the frame that completes a field block; null for any other, and when it can't be decoded. */
  readonly fields: readonly Field[] | null
}

/** Looks at what a client sends and receives. It never throws for what the peer sends. */
export class FrameObserver {
  readonly #sent: FrameScanner
  readonly #received: FrameScanner
  /** What is missing of the client's preface (RFC 9113 §3.4). Octets. */
  #preface = PREFACE.length
  /** When the bytes came that are looked at: before they are, which takes time. */
  #at = 0

  /**
   * @param decoders each as large as the side that reads allows
   * @param judges whether the server's frames are checked by their headers
   * @param onFrame hears of each frame
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

/**
 * A field block in several frames: HEADERS, and the CONTINUATION frames that follow it (RFC 9113 §4.3).
 *
 * @module
 */

import { flood } from './protocol-error.ts'

/** The largest field block that is accepted, in bytes: the largest `maxHeaderSize` that a caller can set. */
export const MAX_BLOCK_SIZE = 1_048_576

/**
 * The most CONTINUATION frames in one field block: enough for the largest block in frames of a sensible size. More are
 * a flood (CVE-2024-27316 and similar).
 */
const MAX_CONTINUATIONS = 128

/** The least room for a field block of several fragments, in bytes. */
const MIN_ROOM = 1_024

/** Up to this size, a fragment is copied faster without a native call. */
const SMALL_FRAGMENT = 32

const NOTHING = Buffer.alloc(0)

/** Gathers the fragments of one field block at a time. They are copied, because a view would keep the whole chunk. */
export class FieldBlock {
  /** The stream whose field block isn't complete; 0 for none. */
  streamId = 0
  /** Whether HEADERS had END_STREAM. */
  isEnd = false
  /** It has room for more than the block. */
  #bytes: Buffer = NOTHING
  /** How many octets `#bytes` contains. */
  #size = 0
  /** The size of the payloads so far, in octets, with HEADERS' padding and priority. */
  #payload = 0
  #continuations = 0

  /**
   * The frame header of HEADERS or CONTINUATION has arrived.
   *
   * @param length its payload's size
   * @throws ConnectionFault
   */
  count(length: number, isContinuation: boolean): void {
    this.#payload = isContinuation ? this.#payload + length : length
    this.#continuations = isContinuation ? this.#continuations + 1 : 0
    if (this.#payload <= MAX_BLOCK_SIZE && this.#continuations <= MAX_CONTINUATIONS) return
    flood(`A field block has more than ${MAX_BLOCK_SIZE} bytes or ${MAX_CONTINUATIONS} CONTINUATION frames`)
  }

  /** HEADERS without END_HEADERS has arrived. */
  begin(streamId: number, isEnd: boolean): void {
    this.streamId = streamId
    this.isEnd = isEnd
  }

  /** Adds a fragment. The room at least doubles, so each octet is copied a bounded number of times. */
  add(bytes: Buffer, start: number, end: number): void {
    const size = this.#size + end - start
    if (size > this.#bytes.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(2 * size, MIN_ROOM))
      this.#bytes.copy(larger, 0, 0, this.#size)
      this.#bytes = larger
    }
    if (end - start > SMALL_FRAGMENT) bytes.copy(this.#bytes, this.#size, start, end)
    else for (let at = start, to = this.#size; at < end; at++) this.#bytes[to++] = bytes[at] as number
    this.#size = size
  }

  /**
   * END_HEADERS has arrived.
   *
   * @returns the whole block, which isn't kept here
   */
  take(): Buffer {
    const block = this.#bytes.subarray(0, this.#size)
    this.#bytes = NOTHING
    this.#size = 0
    this.streamId = 0
    return block
  }
}

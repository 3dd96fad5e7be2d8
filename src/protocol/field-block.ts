/**
 * A field block in several frames: HEADERS and the CONTINUATION frames behind it (RFC 9113 §4.3).
 *
 * @module
 */

import { flood } from './protocol-error.ts'

/** The largest field block that is accepted: the largest `maxHeaderSize` of a caller. Bytes. */
export const MAX_BLOCK_SIZE = 1_048_576

/**
 * The CONTINUATION frames of one field block: enough for the largest block in frames of a sensible size. More of them
 * are a flood (CVE-2024-27316 and its like).
 */
const MAX_CONTINUATIONS = 128

/** The least room for a field block of several fragments. Bytes. */
const MIN_ROOM = 1_024

/** A fragment of so many bytes is copied faster without a native call. */
const SMALL_FRAGMENT = 32

const NOTHING = Buffer.alloc(0)

/** Gathers the fragments of one field block at a time. They are copied: a view of a chunk would keep all of it. */
export class FieldBlock {
  /** The stream whose field block isn't complete; 0 for none. */
  streamId = 0
  /** END_STREAM came with HEADERS. */
  isEnd = false
  /** It has room for more. */
  #bytes: Buffer = NOTHING
  /** Octets in `#bytes`. */
  #size = 0
  /** Octets of the payloads so far, with the padding and the priority of HEADERS. */
  #payload = 0
  #continuations = 0

  /** The header of HEADERS or CONTINUATION has come. @param length of its payload @throws ConnectionFault */
  count(length: number, isContinuation: boolean): void {
    this.#payload = isContinuation ? this.#payload + length : length
    this.#continuations = isContinuation ? this.#continuations + 1 : 0
    if (this.#payload <= MAX_BLOCK_SIZE && this.#continuations <= MAX_CONTINUATIONS) return
    flood(`A field block has more than ${MAX_BLOCK_SIZE} bytes or ${MAX_CONTINUATIONS} CONTINUATION frames`)
  }

  /** HEADERS without END_HEADERS has come. */
  begin(streamId: number, isEnd: boolean): void {
    this.streamId = streamId
    this.isEnd = isEnd
  }

  /** Adds a fragment. The room at least doubles, so that each octet is copied a bounded number of times. */
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

  /** END_HEADERS has come. @returns the whole block, of which nothing is kept here */
  take(): Buffer {
    const block = this.#bytes.subarray(0, this.#size)
    this.#bytes = NOTHING
    this.#size = 0
    this.streamId = 0
    return block
  }
}

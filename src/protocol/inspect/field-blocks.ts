/**
 * The field blocks of one direction → field lists.
 *
 * @module
 */

import { Flag, FrameType, PRIORITY_SIZE } from '../frames.ts'
import type { Frame } from './frame-scanner.ts'

/** More fragments of one block aren't kept. Bytes. */
const MAX_BLOCK = 1_048_576

/** The largest list that is shown, as RFC 9113 §6.5.2 counts it. Bytes. */
const MAX_LIST = 1_048_576

/** RFC 9113 §6.5.2. Bytes. */
const FIELD_OVERHEAD = 32

/** A field: `[name, value]`. The name has the sender's spelling. */
export type Field = readonly [name: string, value: string]

/** Decodes the field blocks of one direction, in their order. */
export interface BlockDecoder {
  /** @throws Error for a block that breaks RFC 7541 */
  decode(block: Buffer): readonly Field[]
}

/** What a frame said about fields. */
export interface BlockResult {
  /** Of a block that is complete; null for none. */
  readonly fields: readonly Field[] | null
  /** Why it can't be decoded; null for nothing. */
  readonly fault: string | null
}

const NO_BLOCK: BlockResult = { fields: null, fault: null }

/**
 * Puts the fragments of HEADERS and CONTINUATION together, and decodes them (RFC 9113 §4.3).
 */
export class FieldBlocks {
  readonly #decoder: BlockDecoder
  #fragments: Buffer[] = []
  #size = 0
  /** The stream whose block isn't complete; 0 for none. */
  #streamId = 0
  /** After a block that couldn't be decoded, the table is unknown: no further one can be. */
  #isLost = false

  constructor(decoder: BlockDecoder) {
    this.#decoder = decoder
  }

  /** Takes the next frame, of any type. */
  take(frame: Frame): BlockResult {
    const isContinuation = frame.type === FrameType.CONTINUATION
    const continues = this.#streamId !== 0 && isContinuation && frame.streamId === this.#streamId
    if (this.#streamId !== 0 ? !continues : isContinuation) {
      this.#reset()
      this.#isLost = true
      return {
        fields: null,
        fault: 'A field block was interrupted, or continued when none had started (RFC 9113 §6.10)',
      }
    }
    if (frame.type !== FrameType.HEADERS && !isContinuation) return NO_BLOCK
    const fragment = isContinuation ? frame.payload : toFragment(frame)
    this.#streamId = frame.streamId
    this.#size += fragment.length
    if (this.#size <= MAX_BLOCK) this.#fragments.push(fragment)
    if (fragment.length < frame.length - MAX_PREFIX || this.#size > MAX_BLOCK) this.#isLost = true
    if ((frame.flags & Flag.END_HEADERS) === 0) return NO_BLOCK
    const block = Buffer.concat(this.#fragments)
    this.#reset()
    return this.#decode(block)
  }

  #reset(): void {
    this.#fragments = []
    this.#size = 0
    this.#streamId = 0
  }

  #decode(block: Buffer): BlockResult {
    if (this.#isLost) return { fields: null, fault: null }
    try {
      return { fields: cut(this.#decoder.decode(block)), fault: null }
    } catch (error) {
      this.#isLost = true
      // A RangeError of a Buffer says nothing of HPACK.
      const isOwn = error instanceof Error && error.message.startsWith('HPACK')
      return { fields: null, fault: isOwn ? error.message : 'HPACK: a block that is cut off' }
    }
  }
}

/** A small block can stand for a list of any size: a field of the table counts one octet each time. */
function cut(fields: readonly Field[]): readonly Field[] {
  let size = 0
  const end = fields.findIndex(([name, value]) => {
    size += name.length + value.length + FIELD_OVERHEAD
    return size > MAX_LIST
  })
  return end === -1 ? fields : fields.slice(0, end)
}

/** Pad Length, 255 octets of padding, and the priority fields. */
const MAX_PREFIX = 1 + 255 + PRIORITY_SIZE

/** HEADERS without padding and priority fields (RFC 9113 §6.2); empty when they don't fit. */
function toFragment({ flags, payload }: Frame): Buffer {
  const isPadded = (flags & Flag.PADDED) !== 0
  const start = (isPadded ? 1 : 0) + ((flags & Flag.PRIORITY) !== 0 ? PRIORITY_SIZE : 0)
  const end = payload.length - (isPadded ? (payload[0] ?? 0) : 0)
  return payload.subarray(start, Math.max(start, end))
}

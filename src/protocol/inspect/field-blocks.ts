/**
 * The field blocks in one direction → field lists.
 *
 * @module
 */

import { Flag, FrameType, PRIORITY_SIZE } from '../frames.ts'
import type { Frame } from './frame-scanner.ts'

/** The most bytes of one block's fragments that are kept. */
const MAX_BLOCK = 1_048_576

/** The largest list that is shown, in bytes as RFC 9113 §6.5.2 counts them. */
const MAX_LIST = 1_048_576

/** RFC 9113 §6.5.2, in bytes. */
const FIELD_OVERHEAD = 32

/** A field: `[name, value]`. The name is spelled as the sender spelled it. */
export type Field = readonly [name: string, value: string]

/** Decodes the field blocks in one direction, in their order. */
export interface BlockDecoder {
  /** @throws Error for a block that violates RFC 7541 */
  decode(block: Buffer): readonly Field[]
}

/** A frame's information about fields. */
export interface BlockResult {
  /** The fields of a complete block; null for none. */
  readonly fields: readonly Field[] | null
  /** Why the block can't be decoded; null if it can, or there is none. */
  readonly fault: string | null
}

const NO_BLOCK: BlockResult = { fields: null, fault: null }

/** Joins the fragments in HEADERS and CONTINUATION, and decodes them (RFC 9113 §4.3). */
export class FieldBlocks {
  readonly #decoder: BlockDecoder
  #fragments: Buffer[] = []
  #size = 0
  /** The stream whose block isn't complete; 0 for none. */
  #streamId = 0
  /** Whether a block couldn't be decoded: from then on the table is unknown, and no other block can be decoded. */
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
      // A Buffer's RangeError says nothing about HPACK.
      const isOwn = error instanceof Error && error.message.startsWith('HPACK')
      return { fields: null, fault: isOwn ? error.message : 'HPACK: a block that is cut off' }
    }
  }
}

/** A small block can stand for a list of any size: a field in the table costs one octet each time. */
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

/** HEADERS without padding and priority fields (RFC 9113 §6.2); empty if they don't fit. */
function toFragment({ flags, payload }: Frame): Buffer {
  const isPadded = (flags & Flag.PADDED) !== 0
  const start = (isPadded ? 1 : 0) + ((flags & Flag.PRIORITY) !== 0 ? PRIORITY_SIZE : 0)
  const end = payload.length - (isPadded ? (payload[0] ?? 0) : 0)
  return payload.subarray(start, Math.max(start, end))
}

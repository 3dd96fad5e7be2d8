/**
 * The primitives of a field block (RFC 7541 §5): integers and string literals.
 *
 * @module
 */

import { judgeName, judgeValue } from './field-verdict.ts'
import { HpackError } from './hpack-error.ts'
import { HAS_EOS, readHuffman, toHuffmanClasses, toHuffmanLength } from './huffman.ts'
import { LiteralCache } from './literal-cache.ts'
import { toClasses } from './octet-class.ts'
import { STATIC_INDEXES, STATIC_NAMES } from './static-table.ts'
import { toText } from './text.ts'

/** The most octets after an integer's prefix: more could only be zeros, or make it too large. */
const MAX_CONTINUATIONS = 5
/** The largest integer that is accepted. */
const MAX_INTEGER = 2 ** 31 - 1

/** Set in a string literal's first octet when the string is Huffman-encoded (RFC 7541 §5.2). */
const HUFFMAN_FLAG = 0x80
const LENGTH_PREFIX = 0x7f

const NO_BYTES: Buffer = Buffer.alloc(0)
/**
 * The scratch's size for decoded Huffman strings, in bytes: at first, and the largest that is kept for the next block.
 */
const INITIAL_SCRATCH = 512
const MAX_KEPT_SCRATCH = 16_384

/** How many names are kept: more than the static table has, because its indexes are also slots of values. */
const NAME_SLOTS = 64
/** The slot for a value that isn't kept. */
export const NO_SLOT = -1

/** Reads field blocks, one after another. `at` is the offset of the next octet. */
export class BlockReader {
  #bytes = NO_BYTES
  #end = 0
  /** Holds a decoded Huffman string until it becomes a string. */
  #scratch = NO_BYTES
  readonly #names = new LiteralCache(NAME_SLOTS)
  /** Values by the name's index in the static table; after these, by the name's slot among the kept names. */
  readonly #values = new LiteralCache(2 * NAME_SLOTS)
  /** Whether the next string literal is Huffman-encoded. */
  #isHuffman = false
  /** The classes of the octets in the last string. */
  #classes = 0

  /** The offset of the next octet. */
  at = 0
  /** The verdict on the last name or value. */
  verdict = 0
  /** The slot of the last name, for `readValue()`; `NO_SLOT` when it has none. */
  nameSlot = NO_SLOT

  /** Starts to read a block. */
  open(bytes: Buffer, start: number, end: number): void {
    this.#bytes = bytes
    this.#end = end
    this.at = start
  }

  /** Releases the block, and a scratch that has grown large. */
  close(): void {
    this.#bytes = NO_BYTES
    if (this.#scratch.length > MAX_KEPT_SCRATCH) this.#scratch = NO_BYTES
  }

  /**
   * Reads an integer (RFC 7541 §5.1) that begins at `at`.
   *
   * @param prefix the mask of the prefix, such as 0x7f for seven bits. A prefix with all bits set means that more
   *   octets follow
   */
  readInteger(prefix: number): number {
    const first = (this.#bytes[this.at++] ?? 0) & prefix
    return first < prefix ? first : this.#readContinuations(prefix)
  }

  #readContinuations(first: number): number {
    let value = first
    // A multiplication, because JavaScript's shifts work on 32 bits, and there may be 35.
    let scale = 1
    for (let count = 0; count < MAX_CONTINUATIONS; count++) {
      if (this.at >= this.#end) throw new HpackError('The block ends inside an integer (RFC 7541 §5.1)')
      const octet = this.#bytes[this.at++] ?? 0
      value += (octet & 0x7f) * scale
      if (octet < 0x80) {
        if (value <= MAX_INTEGER) return value
        throw new HpackError(`An integer is larger than ${MAX_INTEGER} (RFC 7541 §5.1)`)
      }
      scale *= 128
    }
    throw new HpackError(
      `An integer has more than ${MAX_CONTINUATIONS} octets after its prefix (RFC 7541 §5.1)`,
    )
  }

  /** Reads a string literal (RFC 7541 §5.2) that is a name. Sets `verdict` and `nameSlot`. */
  readName(): string {
    const start = this.#skipLiteral()
    const end = this.at
    if (!LiteralCache.takes(end - start)) {
      this.nameSlot = NO_SLOT
      return this.#decodeName(start, end)
    }
    const slot = toSlot(this.#bytes, start, end)
    this.nameSlot = NAME_SLOTS + slot
    if (this.#names.has(slot, this.#bytes, start, end, this.#isHuffman)) {
      this.verdict = this.#names.verdictAt(slot)
      return this.#names.textAt(slot)
    }
    const name = this.#decodeName(start, end)
    this.#names.put(slot, this.#bytes, start, end, this.#isHuffman)
    this.#names.set(slot, name, this.verdict)
    return name
  }

  /**
   * Reads a string literal (RFC 7541 §5.2) that is a value. Sets `verdict`.
   *
   * @param slot where this name's last value was kept: the name's index in the static table, or `nameSlot`. `NO_SLOT`
   *   for a value that goes into the dynamic table: the peer won't send the same literal again
   */
  readValue(slot: number): string {
    const start = this.#skipLiteral()
    const end = this.at
    if (slot === NO_SLOT || !LiteralCache.takes(end - start)) return this.#decodeValue(start, end)
    if (this.#values.has(slot, this.#bytes, start, end, this.#isHuffman)) {
      this.verdict = this.#values.verdictAt(slot)
      return this.#values.textAt(slot)
    }
    const value = this.#decodeValue(start, end)
    this.#values.put(slot, this.#bytes, start, end, this.#isHuffman)
    this.#values.set(slot, value, this.verdict)
    return value
  }

  #decodeName(start: number, end: number): string {
    const name = toKnownName(this.#toString(start, end))
    this.verdict = judgeName(name, this.#classes)
    return name
  }

  #decodeValue(start: number, end: number): string {
    const value = this.#toString(start, end)
    this.verdict = judgeValue(value, this.#classes)
    return value
  }

  /**
   * Moves past a string literal.
   *
   * @returns the offset of its first octet; `at` is its end
   */
  #skipLiteral(): number {
    if (this.at >= this.#end) throw new HpackError('The block ends inside a field (RFC 7541 §5.2)')
    this.#isHuffman = ((this.#bytes[this.at] ?? 0) & HUFFMAN_FLAG) !== 0
    const length = this.readInteger(LENGTH_PREFIX)
    const start = this.at
    if (length > this.#end - start) {
      throw new HpackError(
        `A string literal has ${length} octets, but the block ends after ${this.#end - start} (RFC 7541 §5.2)`,
      )
    }
    this.at = start + length
    return start
  }

  /** Decodes a literal's octets, and sets `#classes`. */
  #toString(start: number, end: number): string {
    if (!this.#isHuffman) {
      this.#classes = toClasses(this.#bytes, start, end)
      return toText(this.#bytes, start, end)
    }
    this.#makeScratch(end - start)
    const result = readHuffman(this.#bytes, start, end, this.#scratch)
    if (result < 0) throw toHuffmanError(result)
    this.#classes = toHuffmanClasses(result)
    return toText(this.#scratch, 0, toHuffmanLength(result))
  }

  /** Makes room for a literal that has this many octets when decoded: no Huffman code is shorter than five bits. */
  #makeScratch(length: number): void {
    const needed = Math.ceil((length * 8) / 5) + 2
    if (this.#scratch.length >= needed) return
    this.#scratch = Buffer.allocUnsafe(Math.max(needed, INITIAL_SCRATCH, 2 * this.#scratch.length))
  }
}

/** A name's slot. Names may share a slot: it keeps the last one of them. */
function toSlot(bytes: Uint8Array, start: number, end: number): number {
  let hash = 0
  for (let at = start; at < end; at++) hash = (31 * hash + (bytes[at] ?? 0)) & 0xff_ffff
  return (hash ^ (hash >> 6)) & (NAME_SLOTS - 1)
}

/** The static table's string for a name that it has: V8 already knows that string as an object key. */
function toKnownName(name: string): string {
  const index = STATIC_INDEXES.get(name)
  return index === undefined ? name : (STATIC_NAMES[index] ?? name)
}

function toHuffmanError(failure: number): HpackError {
  return new HpackError(
    failure === HAS_EOS
      ? 'A string literal contains the EOS symbol (RFC 7541 §5.2)'
      : 'The padding of a string literal is not the start of EOS, at most 7 bits long (RFC 7541 §5.2)',
  )
}

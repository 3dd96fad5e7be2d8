/**
 * Encodes and decodes strings in the Huffman code of RFC 7541.
 *
 * @module
 */

import { EOS, HUFFMAN_CODES, HUFFMAN_LENGTHS } from './huffman-code.ts'
import { toClass } from './octet-class.ts'

/**
 * How many octets a latin1 string takes in the Huffman code (RFC 7541 §5.2), padding included. Characters beyond latin1
 * aren't noticed.
 */
export function huffmanSize(text: string): number {
  let bits = 0
  for (let at = 0; at < text.length; at++) bits += HUFFMAN_LENGTHS[text.charCodeAt(at) & 0xff] ?? 0
  return (bits + 7) >>> 3
}

/** By octet: its code, with the code's length in the five lowest bits; 0 for a code of more than 24 bits. */
const PACKED_CODES = Int32Array.from({ length: 256 }, (_none, octet) => {
  const length = HUFFMAN_LENGTHS[octet] ?? 0
  return length > 24 ? 0 : ((HUFFMAN_CODES[octet] ?? 0) << 5) | length
})

/**
 * Writes a latin1 string in the Huffman code (RFC 7541 §5.2), padded with the first bits of EOS.
 *
 * @param limit the result has to end before this offset; up to four octets after it may be overwritten
 * @returns the offset after the string; `TOO_LONG` if it reaches the limit; `TOO_WIDE` if a character isn't latin1,
 *   unless the limit was reached before
 */
export function writeHuffman(text: string, out: Uint8Array, offset: number, limit: number): number {
  let pending = 0
  // At most 7 bits are pending between two symbols: together with up to 24 of the next code, they fit into 32.
  let bits = 0
  let to = offset
  let all = 0
  for (let at = 0; at < text.length && to < limit; at++) {
    const unit = text.charCodeAt(at)
    const octet = unit & 0xff
    all |= unit
    let packed = PACKED_CODES[octet] ?? 0
    if (packed === 0) {
      // A long code is written in two parts: the last eight bits are handled as a short code.
      const code = HUFFMAN_CODES[octet] ?? 0
      const length = (HUFFMAN_LENGTHS[octet] ?? 0) - 8
      pending = (pending << length) | (code >>> 8)
      for (bits += length; bits >= 8; to++) {
        bits -= 8
        out[to] = pending >> bits
      }
      packed = ((code & 0xff) << 5) | 8
    }
    const length = packed & 0x1f
    pending = (pending << length) | (packed >> 5)
    for (bits += length; bits >= 8; to++) {
      bits -= 8
      out[to] = pending >> bits
    }
  }
  if (all > 0xff) return TOO_WIDE
  if (bits > 0) out[to++] = (pending << (8 - bits)) | (0xff >> bits)
  return to < limit ? to : TOO_LONG
}

/** Returned by `writeHuffman()` for a string that reaches its limit. */
export const TOO_LONG = -1
/** Returned by `writeHuffman()` for a string with a character that isn't an octet. */
export const TOO_WIDE = -2

/** Returned by `readHuffman()` for a string that contains EOS. */
export const HAS_EOS = -1
/** Returned by `readHuffman()` for padding of more than 7 bits, or with other bits than EOS begins with. */
export const BAD_PADDING = -2

/**
 * An entry in the table describes the effect of eight more bits: up to two symbols, as no code is shorter than five
 * bits, with the first in the lowest octet; the number of symbols; the decoder's next state; and the classes of the
 * symbols. 0 is an entry that hasn't been created yet.
 */
const SECOND_SYMBOL_SHIFT = 8
const COUNT_SHIFT = 16
const STATE_SHIFT = 18
/** The string may end here: fewer than 8 bits have followed the last symbol, and all of them are ones. */
const MAY_END = 1 << 26
/** EOS was found. */
const FAILS = 1 << 27
const CLASSES_SHIFT = 28

/** The decoder's tables. A state is an inner node of the code's tree; there are 256, and the root is 0. */
interface Decoding {
  /** By node and bit: the next node, or `~symbol` for a leaf. */
  readonly tree: Int32Array
  /** The nodes at which a string may end: the root, and the seven nodes below it on the path of ones. */
  readonly ends: ReadonlySet<number>
  /**
   * 256 entries for each state, each of them created when it is first needed: most never are, and creating all of them
   * would add 40 ms to a process's start.
   */
  readonly table: Int32Array
}

/** Shared by all decoders. Null until the first string is decoded. */
let decoding: Decoding | null = null

function toDecoding(): Decoding {
  const tree = new Int32Array(2 * 256)
  let nodes = 1
  for (let symbol = 0; symbol <= EOS; symbol++) {
    const code = HUFFMAN_CODES[symbol] ?? 0
    let node = 0
    for (let bit = (HUFFMAN_LENGTHS[symbol] ?? 0) - 1; bit > 0; bit--) {
      const edge = 2 * node + ((code >>> bit) & 1)
      if (tree[edge] === 0) tree[edge] = nodes++
      node = tree[edge] ?? 0
    }
    tree[2 * node + (code & 1)] = ~symbol
  }
  const ends = new Set([0])
  for (let node = 0; ends.size < 8; ends.add(node)) node = tree[2 * node + 1] ?? 0
  return { tree, ends, table: new Int32Array(256 * 256) }
}

/** Creates a state's entry for the next eight bits. */
function makeEntry({ tree, ends, table }: Decoding, state: number, octet: number): number {
  let node = state
  let symbols = 0
  let count = 0
  let classes = 0
  for (let bit = 7; bit >= 0; bit--) {
    node = tree[2 * node + ((octet >>> bit) & 1)] ?? 0
    if (node >= 0) continue
    const symbol = ~node
    node = 0
    if (symbol === EOS) {
      symbols |= FAILS
      continue
    }
    symbols |= symbol << (SECOND_SYMBOL_SHIFT * count++)
    classes |= toClass(symbol)
  }
  const end = ends.has(node) ? MAY_END : 0
  const entry = symbols | (count << COUNT_SHIFT) | (node << STATE_SHIFT) | end | (classes << CLASSES_SHIFT)
  table[256 * state + octet] = entry
  return entry
}

/**
 * Decodes a string (RFC 7541 §5.2) of less than 2^27 octets. `out` is filled from its start, and has room for 8/5 of
 * the string's octets and two more.
 *
 * @returns a number for `toHuffmanLength()` and `toHuffmanClasses()`, or `HAS_EOS` or `BAD_PADDING`
 */
export function readHuffman(bytes: Uint8Array, start: number, end: number, out: Uint8Array): number {
  decoding ??= toDecoding()
  const { table } = decoding
  let entry = MAY_END
  let all = 0
  let to = 0
  for (let at = start; at < end; at++) {
    const octet = bytes[at] ?? 0
    const state = (entry >> STATE_SHIFT) & 0xff
    entry = table[256 * state + octet] ?? 0
    if (entry === 0) entry = makeEntry(decoding, state, octet)
    // Written even if there are no such symbols: branches that can't be predicted cost more.
    out[to] = entry
    out[to + 1] = entry >> SECOND_SYMBOL_SHIFT
    to += (entry >> COUNT_SHIFT) & 3
    all |= entry
  }
  if ((all & FAILS) !== 0) return HAS_EOS
  return (entry & MAY_END) === 0 ? BAD_PADDING : (all & (7 << CLASSES_SHIFT)) | to
}

/** How many octets `readHuffman()` has written. */
export function toHuffmanLength(result: number): number {
  return result & ((1 << CLASSES_SHIFT) - 1)
}

/** The classes of these octets (see `toClass()`), or'ed together. */
export function toHuffmanClasses(result: number): number {
  return result >> CLASSES_SHIFT
}

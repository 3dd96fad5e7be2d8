/**
 * Strings in the Huffman code of RFC 7541, there and back.
 *
 * @module
 */

import { EOS, HUFFMAN_CODES, HUFFMAN_LENGTHS } from './huffman-code.ts'
import { toClass } from './octet-class.ts'

/**
 * Octets that a string of latin1 takes in the Huffman code (RFC 7541 §5.2), padding included. What is beyond latin1
 * isn't noticed.
 */
export function huffmanSize(text: string): number {
  let bits = 0
  for (let at = 0; at < text.length; at++) bits += HUFFMAN_LENGTHS[text.charCodeAt(at) & 0xff] ?? 0
  return (bits + 7) >>> 3
}

/** An octet's code, and its length in the five bits below; 0 for a code of more than 24 bits. */
const PACKED_CODES = Int32Array.from({ length: 256 }, (_none, octet) => {
  const length = HUFFMAN_LENGTHS[octet] ?? 0
  return length > 24 ? 0 : ((HUFFMAN_CODES[octet] ?? 0) << 5) | length
})

/**
 * Writes a string of latin1 in the Huffman code (RFC 7541 §5.2), padded with the first bits of EOS.
 *
 * @param limit the offset that it has to stay below; up to four octets behind it may be written to
 * @returns the offset behind it, or `TOO_LONG`; `TOO_WIDE` for a string that is none of latin1, if it hasn't become too
 *   long before
 */
export function writeHuffman(text: string, out: Uint8Array, offset: number, limit: number): number {
  let pending = 0
  // At most 7 between two symbols: with the 24 of a code, or the part of one, they fit into 32.
  let bits = 0
  let to = offset
  let all = 0
  for (let at = 0; at < text.length && to < limit; at++) {
    const unit = text.charCodeAt(at)
    const octet = unit & 0xff
    all |= unit
    let packed = PACKED_CODES[octet] ?? 0
    if (packed === 0) {
      // In two parts: the last eight bits go the way of a short code.
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

/** What `writeHuffman()` returns for a string that doesn't stay below its limit. */
export const TOO_LONG = -1
/** What it returns for a string with a character that is no octet. */
export const TOO_WIDE = -2

/** What `readHuffman()` returns for a string with EOS in it. */
export const HAS_EOS = -1
/** What `readHuffman()` returns for padding of more than 7 bits, or of others than EOS begins with. */
export const BAD_PADDING = -2

/**
 * An entry of the table, what eight more bits lead to: up to two symbols, as no code is shorter than five bits, the
 * first in the lowest octet; how many there are; the state in which that leaves the decoder; and the symbols' classes.
 * 0 is an entry that isn't there yet.
 */
const SECOND_SYMBOL_SHIFT = 8
const COUNT_SHIFT = 16
const STATE_SHIFT = 18
/** The string may end here: fewer than 8 bits since the last symbol, all of them ones. */
const MAY_END = 1 << 26
/** EOS is complete. */
const FAILS = 1 << 27
const CLASSES_SHIFT = 28

/** A state is an inner node of the code's tree, of which there are 256: the root is 0. */
interface Decoding {
  /** For a node and a bit the next node, or `~symbol` for a leaf. */
  readonly tree: Int32Array
  /** The nodes at which a string may end: the root, and the seven that follow it by ones alone. */
  readonly ends: ReadonlySet<number>
  /**
   * 256 entries for each state: made when the state is first come to, since most never are, and all of them would take
   * 40 ms of a process's start.
   */
  readonly table: Int32Array
}

/** Made when the first string is decoded, and the same for everybody. */
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

/** Makes the entries of a state. @returns the one for `octet` */
function makeState({ tree, ends, table }: Decoding, state: number, octet: number): number {
  for (let next = 0; next < 256; next++) {
    let node = state
    let symbols = 0
    let count = 0
    let classes = 0
    for (let bit = 7; bit >= 0; bit--) {
      node = tree[2 * node + ((next >>> bit) & 1)] ?? 0
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
    table[256 * state + next] =
      symbols |
      (count << COUNT_SHIFT) |
      (node << STATE_SHIFT) |
      (ends.has(node) ? MAY_END : 0) |
      (classes << CLASSES_SHIFT)
  }
  return table[256 * state + octet] ?? 0
}

/**
 * Decodes a string (RFC 7541 §5.2) of less than 2^27 octets into `out`, from its beginning on, which has room for 8/5
 * of the string's octets and two more.
 *
 * @returns `toHuffmanLength()` and `toHuffmanClasses()` tell the two halves of it; or it is `HAS_EOS` or `BAD_PADDING`
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
    if (entry === 0) entry = makeState(decoding, state, octet)
    // Written whether or not they are there: branches that can't be foreseen cost more.
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

/** Of which classes they are, or'ed together: those of `toClass()`. */
export function toHuffmanClasses(result: number): number {
  return result >> CLASSES_SHIFT
}

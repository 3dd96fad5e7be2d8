/**
 * Header lists → header blocks (RFC 7541).
 *
 * @module
 */

import { showName } from '../../core/validate.ts'
import { InvalidArgumentError } from '../../errors.ts'
import { ENTRY_OVERHEAD } from './dynamic-table.ts'
import type { KnownName } from './encoder-table.ts'
import { EncoderTable } from './encoder-table.ts'
import { huffmanSize, TOO_LONG, TOO_WIDE, writeHuffman } from './huffman.ts'

/** The most that we use of the peer's table, and what it has until the peer says otherwise (RFC 9113 §6.5.2). Bytes. */
const MAX_TABLE_SIZE = 4_096

/** The first octet of each representation (RFC 7541 §6), and the prefix of its integer. */
const INDEXED = 0x80
const INDEXED_PREFIX = 0x7f
const WITH_INDEXING = 0x40
const WITH_INDEXING_PREFIX = 0x3f
const SIZE_UPDATE = 0x20
const SIZE_UPDATE_PREFIX = 0x1f
const NEVER_INDEXED = 0x10
const WITHOUT_INDEXING = 0x00
const LITERAL_PREFIX = 0x0f

/** RFC 7541 §5.2. */
const HUFFMAN = 0x80
const RAW = 0x00
const LENGTH_PREFIX = 0x7f

/** The most octets that an integer of 32 bits takes (RFC 7541 §5.1). */
const MAX_INTEGER_SIZE = 6
/** A longer string is written by Node, a shorter one is written here: leaving JavaScript costs more. Octets. */
const MAX_SHORT = 24
/**
 * The longest string whose length, once it has become shorter, is one octet: it is below the prefix of seven bits.
 * Octets.
 */
const MAX_TRIED = 127
/** The longest value of which the literal is kept, in octets. */
const MAX_REPEATED = 2_048

/**
 * A character that is no octet. In a string that V8 stores as latin1 there is none, and V8 knows that without a look.
 */
const WIDE = /[\u0100-\uffff]/

/**
 * How many octets a header block takes at most: neither the Huffman code nor an index makes a field longer. Has room
 * for the table's size updates as well.
 *
 * @param fields `[name, value, …]` of strings of latin1
 */
export function maxEncodedSize(fields: readonly string[]): number {
  let size = 2 * MAX_INTEGER_SIZE
  // A field that isn't indexed is one octet, and two literals.
  for (let at = 0; at < fields.length; at++) size += 1 + MAX_INTEGER_SIZE + (fields[at] ?? '').length
  return size
}

/**
 * The encoding half of a connection's compression context. It uses at most 4,096 bytes of the peer's table, and the
 * Huffman code where that is shorter.
 */
export class HpackEncoder {
  readonly #table = new EncoderTable(MAX_TABLE_SIZE)
  /** The table's size as the peer knows it, in bytes. */
  #announcedSize = MAX_TABLE_SIZE
  /** The smallest size that the table has had since the last block, in bytes. */
  #smallestSize = MAX_TABLE_SIZE
  #hasSizeUpdate = false

  /**
   * The peer's SETTINGS_HEADER_TABLE_SIZE, in bytes. What it makes of the table is announced at the beginning of the
   * next block, and the smallest of several as well (RFC 7541 §4.2).
   */
  setMaxTableSize(size: number): void {
    const used = Math.min(size, MAX_TABLE_SIZE)
    this.#table.setMaxSize(used)
    this.#smallestSize = Math.min(this.#smallestSize, used)
    this.#hasSizeUpdate = this.#smallestSize !== this.#announcedSize || used !== this.#announcedSize
  }

  /** Names that the encoder remembers: bounded by the tables. */
  get nameCount(): number {
    return this.#table.nameCount
  }

  /**
   * Writes a header block.
   *
   * `authorization`, `proxy-authorization`, `cookie` and `set-cookie` are never indexed (RFC 7541 §7.1.3), and fields
   * that hardly come twice, such as `:path`, are not either.
   *
   * @param fields `[name, value, …]` of strings of latin1, names in lower case
   * @param out has room for `maxEncodedSize(fields)` octets from `offset` on
   * @param sensitive names of more fields that are never indexed; null for none. @default null
   * @returns the offset behind the block
   * @throws InvalidArgumentError for a string with a character above U+00FF, which would go out as another one. Nothing
   *   has changed then: a block that the peer never gets must have no part in what both know.
   */
  encode(
    fields: readonly string[],
    out: Buffer,
    offset: number,
    sensitive: ReadonlySet<string> | null = null,
  ): number {
    // What the peer has to follow comes after all of the block was checked; until then each literal is, as it is
    // written.
    let isChecked = this.#hasSizeUpdate
    if (isChecked) requireOctets(fields, 0)
    let to = isChecked ? this.#writeSizeUpdates(out, offset) : offset
    for (let at = 0; at < fields.length; at += 2) {
      const name = fields[at] ?? ''
      const value = fields[at + 1] ?? ''
      const known = this.#table.find(name)
      if ((known !== undefined && known.policy === 'never') || sensitive?.has(name) === true) {
        to = this.#writeLiteral(out, to, NEVER_INDEXED, LITERAL_PREFIX, known, name, value)
        continue
      }
      const index = known === undefined ? 0 : this.#table.indexOf(known, value)
      if (index > 0) {
        to = writeInteger(out, to, INDEXED, INDEXED_PREFIX, index)
      } else if (!this.#isIndexable(known, name, value)) {
        to = this.#writeLiteral(out, to, WITHOUT_INDEXING, LITERAL_PREFIX, known, name, value)
      } else {
        if (!isChecked) requireOctets(fields, at)
        isChecked = true
        // Written first: the index of the name is of the table before the field is in it (RFC 7541 §4.4).
        to = this.#writeLiteral(out, to, WITH_INDEXING, WITH_INDEXING_PREFIX, known, name, value)
        this.#table.add(name, value)
      }
    }
    return to
  }

  /** RFC 7541 §4.2: the smallest size in between, and the one in force. */
  #writeSizeUpdates(out: Buffer, offset: number): number {
    const size = this.#table.maxSize
    let to = offset
    if (this.#smallestSize < size && this.#smallestSize < this.#announcedSize) {
      to = writeInteger(out, to, SIZE_UPDATE, SIZE_UPDATE_PREFIX, this.#smallestSize)
    }
    this.#announcedSize = size
    this.#smallestSize = size
    this.#hasSizeUpdate = false
    return writeInteger(out, to, SIZE_UPDATE, SIZE_UPDATE_PREFIX, size)
  }

  /** Whether a field that is in neither table is to come into the dynamic one. */
  #isIndexable(known: KnownName | undefined, name: string, value: string): boolean {
    if (known !== undefined && known.policy === 'plain') return false
    // A field that takes most of the table would push out all that is of use in it.
    return 4 * (name.length + value.length + ENTRY_OVERHEAD) <= 3 * this.#table.maxSize
  }

  /** RFC 7541 §6.2. */
  #writeLiteral(
    out: Buffer,
    offset: number,
    pattern: number,
    prefix: number,
    known: KnownName | undefined,
    name: string,
    value: string,
  ): number {
    if (known === undefined) {
      out[offset] = pattern
      return writeString(out, writeString(out, offset + 1, name, name), value, name)
    }
    const to = writeInteger(out, offset, pattern, prefix, this.#table.indexOfName(known))
    return pattern === WITH_INDEXING
      ? writeString(out, to, value, name)
      : writeRepeated(out, to, known, value)
  }
}

/**
 * Writes a value that no table keeps. Credentials are the same in every request, and often the path is: the second time
 * the literal is kept, and then it is copied for as long as the value stays the same.
 */
function writeRepeated(out: Buffer, offset: number, known: KnownName, value: string): number {
  if (value === known.lastValue) {
    if (known.lastLiteral !== null) return copy(known.lastLiteral, out, offset)
    const to = writeString(out, offset, value, known.name)
    known.lastLiteral = Uint8Array.prototype.slice.call(out, offset, to)
    return to
  }
  const to = writeString(out, offset, value, known.name)
  known.lastValue = value.length <= MAX_REPEATED ? value : null
  known.lastLiteral = null
  return to
}

function copy(octets: Uint8Array, out: Buffer, offset: number): number {
  const { length } = octets
  if (length > MAX_SHORT) out.set(octets, offset)
  else for (let at = 0; at < length; at++) out[offset + at] = octets[at] ?? 0
  return offset + length
}

/** RFC 7541 §5.1. */
function writeInteger(out: Buffer, offset: number, pattern: number, prefix: number, value: number): number {
  let to = offset
  if (value < prefix) {
    out[to++] = pattern | value
    return to
  }
  out[to++] = pattern | prefix
  let rest = value - prefix
  while (rest >= 0x80) {
    out[to++] = 0x80 | (rest & 0x7f)
    rest >>>= 7
  }
  out[to++] = rest
  return to
}

/** RFC 7541 §5.2. @param name that of the field, for an error @throws InvalidArgumentError for what isn't latin1 */
function writeString(out: Buffer, offset: number, text: string, name: string): number {
  const end = text.length > MAX_TRIED ? writeLongHuffman(out, offset, text) : tryHuffman(out, offset, text)
  if (end >= 0) return end
  if (end === TOO_WIDE || WIDE.test(text)) throw toWideError(name)
  const to = writeInteger(out, offset, RAW, LENGTH_PREFIX, text.length)
  if (text.length > MAX_SHORT) return to + out.write(text, to, 'latin1')
  for (let at = 0; at < text.length; at++) out[to + at] = text.charCodeAt(at)
  return to + text.length
}

/** @throws InvalidArgumentError where a field from this index of the list on isn't latin1 */
function requireOctets(fields: readonly string[], from: number): void {
  for (let at = from; at < fields.length; at++) {
    if (WIDE.test(fields[at] ?? '')) throw toWideError(fields[at & ~1] ?? '')
  }
}

/** Without the value: it may be a secret. */
function toWideError(name: string): InvalidArgumentError {
  return new InvalidArgumentError(
    `Invalid header ${showName(name)}: got a character above U+00FF, expected ISO-8859-1`,
  )
}

/**
 * Its length is one octet, which is known when the string has been written: to count first would take half as long
 * again.
 */
function tryHuffman(out: Buffer, offset: number, text: string): number {
  const end = writeHuffman(text, out, offset + 1, offset + 1 + text.length)
  if (end >= 0) out[offset] = HUFFMAN | (end - offset - 1)
  return end
}

function writeLongHuffman(out: Buffer, offset: number, text: string): number {
  const size = huffmanSize(text)
  if (size >= text.length) return TOO_LONG
  const to = writeInteger(out, offset, HUFFMAN, LENGTH_PREFIX, size)
  return writeHuffman(text, out, to, to + text.length)
}

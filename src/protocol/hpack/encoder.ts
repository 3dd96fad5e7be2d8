/**
 * Field lists → field blocks (RFC 7541).
 *
 * @module
 */

import { showName } from '../../core/validate.ts'
import { InvalidArgumentError } from '../../errors/errors.ts'
import { ENTRY_OVERHEAD } from './dynamic-table.ts'
import type { KnownName } from './encoder-table.ts'
import { EncoderTable } from './encoder-table.ts'
import { huffmanSize, TOO_LONG, TOO_WIDE, writeHuffman } from './huffman.ts'

/** How much of the peer's table we use at most, in bytes, and the table's initial size (RFC 9113 §6.5.2). */
const MAX_TABLE_SIZE = 4_096

/** The bit pattern of each representation's first octet (RFC 7541 §6), and the mask of its integer's prefix. */
const INDEXED = 0x80
const INDEXED_PREFIX = 0x7f
const WITH_INDEXING = 0x40
const WITH_INDEXING_PREFIX = 0x3f
const SIZE_UPDATE = 0x20
const SIZE_UPDATE_PREFIX = 0x1f
const NEVER_INDEXED = 0x10
const WITHOUT_INDEXING = 0x00
const LITERAL_PREFIX = 0x0f

/** The flag of a Huffman-encoded string, and the mask of its length's prefix (RFC 7541 §5.2). */
const HUFFMAN = 0x80
const RAW = 0x00
const LENGTH_PREFIX = 0x7f

/** The most octets that an integer of 32 bits takes (RFC 7541 §5.1). */
const MAX_INTEGER_SIZE = 6
/**
 * Node writes a string longer than this, in octets; a shorter one is written in JavaScript, because a native call costs
 * more.
 */
const MAX_SHORT = 24
/**
 * The longest string, in octets, that is encoded without a count first: its encoded length, if shorter, fits into the
 * seven-bit prefix.
 */
const MAX_TRIED = 127
/** The longest value whose literal is kept, in octets. */
const MAX_REPEATED = 2_048

/** Matches a character that isn't an octet. V8 knows without a search that a string stored as latin1 has none. */
const WIDE = /[\u0100-\uffff]/

/**
 * How many octets a field block takes at most: neither the Huffman code nor an index makes a field longer. This
 * includes the room for table size updates.
 *
 * @param fields `[name, value, …]` in latin1 strings
 */
export function maxEncodedSize(fields: readonly string[]): number {
  let size = 2 * MAX_INTEGER_SIZE
  // A field without indexing is one octet and two literals.
  for (let at = 0; at < fields.length; at++) size += 1 + MAX_INTEGER_SIZE + (fields[at] ?? '').length
  return size
}

/**
 * The encoding half of a connection's compression context. It uses at most 4,096 bytes of the peer's table, and the
 * Huffman code for strings that it makes shorter.
 */
export class HpackEncoder {
  readonly #table = new EncoderTable(MAX_TABLE_SIZE)
  /** The table size that the peer knows, in bytes. */
  #announcedSize = MAX_TABLE_SIZE
  /** The table's smallest size since the last block, in bytes. */
  #smallestSize = MAX_TABLE_SIZE
  #hasSizeUpdate = false

  /**
   * Applies the peer's SETTINGS_HEADER_TABLE_SIZE, in bytes. The next block begins with the table size update, and with
   * the smallest size in between, if there were several (RFC 7541 §4.2).
   */
  setMaxTableSize(size: number): void {
    const used = Math.min(size, MAX_TABLE_SIZE)
    this.#table.setMaxSize(used)
    this.#smallestSize = Math.min(this.#smallestSize, used)
    this.#hasSizeUpdate = this.#smallestSize !== this.#announcedSize || used !== this.#announcedSize
  }

  /** How many names the encoder remembers: bounded by the tables. */
  get nameCount(): number {
    return this.#table.nameCount
  }

  /**
   * Writes a field block.
   *
   * `authorization`, `proxy-authorization`, `cookie` and `set-cookie` are sent never-indexed (RFC 7541 §7.1.3). Fields
   * whose values are rarely repeated, such as `:path`, aren't indexed either.
   *
   * @param fields `[name, value, …]` in latin1 strings, names in lower case
   * @param out has room for `maxEncodedSize(fields)` octets from `offset` on
   * @param sensitive names of additional fields that are sent never-indexed; null for none. @default null
   * @returns the offset after the block
   * @throws InvalidArgumentError for a string with a character above U+00FF, which would be sent as another character.
   *   Then nothing has changed: a block that the peer never gets must not change the compression context.
   */
  encode(
    fields: readonly string[],
    out: Buffer,
    offset: number,
    sensitive: ReadonlySet<string> | null = null,
  ): number {
    // A table change is written only after the whole block was checked. Before the first one, each literal is checked
    // when it is written.
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
        // The literal is written first: its name's index is valid before the field is in the table (RFC 7541 §4.4).
        to = this.#writeLiteral(out, to, WITH_INDEXING, WITH_INDEXING_PREFIX, known, name, value)
        this.#table.add(name, value)
      }
    }
    return to
  }

  /** Writes the size updates (RFC 7541 §4.2): the smallest size in between, and the current one. */
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

  /** Whether a field that is in neither table goes into the dynamic one. */
  #isIndexable(known: KnownName | undefined, name: string, value: string): boolean {
    if (known !== undefined && known.policy === 'plain') return false
    // A field that takes most of the table would evict all the useful ones.
    return 4 * (name.length + value.length + ENTRY_OVERHEAD) <= 3 * this.#table.maxSize
  }

  /** Literal field (RFC 7541 §6.2). */
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
 * Writes a value that isn't indexed. Credentials are the same in every request, and often the path is. The second time,
 * the literal is kept. From then on it is copied as long as the value stays the same.
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

/** Writes an integer (RFC 7541 §5.1). */
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

/**
 * Writes a string literal (RFC 7541 §5.2).
 *
 * @param name the field's name, for the error
 * @throws InvalidArgumentError if it isn't latin1
 */
function writeString(out: Buffer, offset: number, text: string, name: string): number {
  const end = text.length > MAX_TRIED ? writeLongHuffman(out, offset, text) : tryHuffman(out, offset, text)
  if (end >= 0) return end
  if (end === TOO_WIDE || WIDE.test(text)) throw toWideError(name)
  const to = writeInteger(out, offset, RAW, LENGTH_PREFIX, text.length)
  if (text.length > MAX_SHORT) return to + out.write(text, to, 'latin1')
  for (let at = 0; at < text.length; at++) out[to + at] = text.charCodeAt(at)
  return to + text.length
}

/** @throws InvalidArgumentError if a string from this index of the list on isn't latin1 */
function requireOctets(fields: readonly string[], from: number): void {
  for (let at = from; at < fields.length; at++) {
    if (WIDE.test(fields[at] ?? '')) throw toWideError(fields[at & ~1] ?? '')
  }
}

/** The message does not contain the value, which may be a secret. */
function toWideError(name: string): InvalidArgumentError {
  return new InvalidArgumentError(
    `Invalid header ${showName(name)}: got a character above U+00FF, expected ISO-8859-1`,
  )
}

/**
 * Writes a string whose encoded length takes one octet. The length is filled in afterwards: counting first would take
 * half as long again.
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

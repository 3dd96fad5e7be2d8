/**
 * Field blocks → field lists (RFC 7541).
 *
 * @module
 */

import { BlockReader, NO_SLOT } from './block-reader.ts'
import { DynamicTable, ENTRY_OVERHEAD } from './dynamic-table.ts'
import { isFault, judgeField, judgeStaticName, toFault } from './field-verdict.ts'
import { HpackError } from './hpack-error.ts'
import { STATIC_LENGTH, STATIC_NAMES, STATIC_VALUES } from './static-table.ts'

/** SETTINGS_HEADER_TABLE_SIZE until a peer has acknowledged another one (RFC 9113 §6.5.2), in bytes. */
const DEFAULT_TABLE_SIZE = 4_096

/** The verdicts on the static table's fields, by index. */
const STATIC_VERDICTS: readonly number[] = STATIC_NAMES.map(judgeStaticName)

/** The bit pattern of each representation's first octet (RFC 7541 §6), and the mask of its integer's prefix. */
const INDEXED = 0x80
const INDEXED_PREFIX = 0x7f
const WITH_INDEXING = 0x40
const WITH_INDEXING_PREFIX = 0x3f
const SIZE_UPDATE = 0x20
const SIZE_UPDATE_PREFIX = 0x1f
/** Never indexed, or without indexing: no difference for a client, which doesn't forward the field. */
const LITERAL_PREFIX = 0x0f

/** The decoding half of a connection's compression context. It can't be used after it has thrown an HpackError. */
export class HpackDecoder {
  readonly #reader = new BlockReader()
  readonly #table: DynamicTable
  readonly #maxListSize: number
  /** The largest size that a size update may set: our own SETTINGS_HEADER_TABLE_SIZE, in bytes. */
  #maxTableSize: number
  /**
   * The largest size that the required size update at the start of the next block may set, in bytes; -1 if none is
   * required.
   */
  #requiredTableSize = -1

  /**
   * The last list's size, in bytes as RFC 9113 §6.5.2 counts them: name, value and 32 for each field. Fields that were
   * not kept count, too.
   */
  listSize = 0
  /** Whether the last list was larger than the limit: then `decode()` has returned only its beginning. */
  isTruncated = false
  /**
   * Why the last list makes its message malformed (RFC 9113 §8.2.1, §8.2.2), according to its first bad field; null if
   * it doesn't. It names the field, never its value. Pseudo-header fields are not judged here.
   */
  fault: string | null = null

  /**
   * @param tableSize the SETTINGS_HEADER_TABLE_SIZE that we have announced, in bytes. Above the default of 4,096, it is
   *   the limit to which the peer may raise its table. Below, the table has this size from the start. As long as the
   *   peer may not know a smaller size, pass 4,096, and call `setTableSize()` when the peer has acknowledged the
   *   smaller one.
   * @param maxListSize the largest list that is kept, in bytes as `listSize` counts them. A larger one is decoded to
   *   the end, because the table needs that, but its remaining fields aren't kept
   */
  constructor(tableSize: number, maxListSize: number) {
    this.#table = new DynamicTable(Math.min(tableSize, DEFAULT_TABLE_SIZE))
    this.#maxTableSize = tableSize
    this.#maxListSize = maxListSize
  }

  /**
   * The peer has acknowledged another SETTINGS_HEADER_TABLE_SIZE of ours, in bytes. If the peer's table is larger, its
   * next block that isn't empty has to begin with an update to this size or a smaller one (RFC 7541 §4.2). If several
   * sizes were acknowledged before that block, the smallest counts.
   */
  setTableSize(size: number): void {
    this.#maxTableSize = size
    if (size >= this.#table.maxSize) return
    this.#requiredTableSize = this.#requiredTableSize < 0 ? size : Math.min(this.#requiredTableSize, size)
  }

  /**
   * Decodes one complete field block.
   *
   * @returns a new list `[name, value, …]` in wire order, of latin1 strings; its beginning when `isTruncated`
   * @throws HpackError for a block that breaks RFC 7541: a connection error (RFC 9113 §4.3)
   */
  decode(bytes: Buffer, start: number, end: number): string[] {
    const reader = this.#reader
    const list: string[] = []
    this.listSize = 0
    this.isTruncated = false
    this.fault = null
    reader.open(bytes, start, end)
    while (reader.at < end && ((bytes[reader.at] ?? 0) & 0xe0) === SIZE_UPDATE) this.#updateTableSize()
    if (this.#requiredTableSize >= 0 && start < end) throw toMissingUpdate(this.#requiredTableSize)
    while (reader.at < end) {
      const octet = bytes[reader.at] ?? 0
      if (octet >= INDEXED) this.#takeIndexed(list)
      else if (octet >= WITH_INDEXING) this.#takeLiteral(list, true)
      else if (octet < SIZE_UPDATE) this.#takeLiteral(list, false)
      else throw new HpackError('A dynamic table size update follows a field (RFC 7541 §4.2)')
    }
    reader.close()
    return list
  }

  /** Dynamic table size update (RFC 7541 §6.3). */
  #updateTableSize(): void {
    const size = this.#reader.readInteger(SIZE_UPDATE_PREFIX)
    const max = this.#requiredTableSize < 0 ? this.#maxTableSize : this.#requiredTableSize
    if (size > max) {
      throw new HpackError(
        `A size update sets the dynamic table to ${size} bytes, but at most ${max} are allowed (RFC 7541 §6.3)`,
      )
    }
    this.#requiredTableSize = -1
    this.#table.setMaxSize(size)
  }

  /** Indexed field (RFC 7541 §6.1). */
  #takeIndexed(list: string[]): void {
    const index = this.#reader.readInteger(INDEXED_PREFIX)
    if (index > STATIC_LENGTH) {
      const age = this.#toAge(index)
      const table = this.#table
      this.#keep(list, table.nameAt(age), table.valueAt(age), table.verdictAt(age))
      return
    }
    if (index === 0) throw new HpackError('An indexed field has index 0 (RFC 7541 §6.1)')
    this.#keep(list, STATIC_NAMES[index] ?? '', STATIC_VALUES[index] ?? '', STATIC_VERDICTS[index] ?? 0)
  }

  /** Literal field (RFC 7541 §6.2). */
  #takeLiteral(list: string[], withIndexing: boolean): void {
    const reader = this.#reader
    const index = reader.readInteger(withIndexing ? WITH_INDEXING_PREFIX : LITERAL_PREFIX)
    let name: string
    let nameVerdict: number
    let slot = NO_SLOT
    if (index > STATIC_LENGTH) {
      const age = this.#toAge(index)
      name = this.#table.nameAt(age)
      nameVerdict = this.#table.verdictAt(age)
    } else if (index > 0) {
      name = STATIC_NAMES[index] ?? ''
      nameVerdict = STATIC_VERDICTS[index] ?? 0
      slot = index
    } else {
      name = reader.readName()
      nameVerdict = reader.verdict
      slot = reader.nameSlot
    }
    const value = reader.readValue(withIndexing ? NO_SLOT : slot)
    const verdict = judgeField(nameVerdict, reader.verdict, value)
    if (withIndexing) this.#table.add(name, value, verdict)
    this.#keep(list, name, value, verdict)
  }

  /**
   * The age of the entry with this index, which comes after the static table: the number of newer entries (RFC 7541
   * §2.3.3).
   */
  #toAge(index: number): number {
    const age = index - STATIC_LENGTH - 1
    if (age < this.#table.length) return age
    throw new HpackError(
      `Index ${index} is beyond the tables, which end at ${STATIC_LENGTH + this.#table.length} (RFC 7541 §2.3.3)`,
    )
  }

  #keep(list: string[], name: string, value: string, verdict: number): void {
    this.listSize += name.length + value.length + ENTRY_OVERHEAD
    if (this.listSize <= this.#maxListSize) list.push(name, value)
    else this.isTruncated = true
    if (verdict !== 0 && this.fault === null && isFault(verdict)) this.fault = toFault(verdict, name)
  }
}

function toMissingUpdate(size: number): HpackError {
  return new HpackError(
    `The block doesn't begin with a dynamic table size update to at most ${size} bytes (RFC 7541 §4.2)`,
  )
}

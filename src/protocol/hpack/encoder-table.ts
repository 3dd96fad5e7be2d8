/**
 * An encoder's tables: the static one, and its own dynamic one (RFC 7541 §2.3).
 *
 * @module
 */

import { ENTRY_OVERHEAD } from './dynamic-table.ts'
import { STATIC_INDEXES, STATIC_LENGTH, STATIC_NAMES, STATIC_VALUES } from './static-table.ts'

/**
 * How a field with this name is sent when it is in neither table (RFC 7541 §6.2):
 *
 * - `index`: it goes into the dynamic table
 * - `plain`: it does not
 * - `never`: it does not, and intermediaries must not index it either
 */
export type NamePolicy = 'index' | 'plain' | 'never'

/** Fields with credentials, whose values must not be guessed from a block's size (RFC 7541 §7.1.3). */
const SECRET: ReadonlySet<string> = new Set(['authorization', 'proxy-authorization', 'cookie', 'set-cookie'])
/** Fields whose values are rarely repeated on one connection: each would evict a field that is. */
const VARYING: ReadonlySet<string> = new Set([
  ...[':path', 'content-length', 'etag', 'if-modified-since', 'if-none-match', 'age', 'location', 'range'],
])

/** A field in the dynamic table. */
interface Entry {
  readonly name: KnownName
  readonly value: string
  /** How many fields were added to the table before this one. */
  readonly number: number
  /** The next newer entry in the table, and the next newer one with the same name. Null for the newest. */
  newer: Entry | null
  newerOfName: Entry | null
}

/** A name that is in a table. */
export class KnownName {
  readonly name: string
  readonly policy: NamePolicy
  /** The lowest index in the static table; 0 for a name that isn't there. */
  readonly staticIndex: number
  /** The static table's index after the last one of this name. */
  readonly staticEnd: number
  /** This name's oldest and newest entry in the dynamic table; null for none. */
  oldest: Entry | null = null
  newest: Entry | null = null
  /**
   * The last value that was sent as a literal without indexing, and its literal once it was sent twice. Null before
   * that.
   */
  lastValue: string | null = null
  lastLiteral: Uint8Array | null = null

  constructor(name: string, staticIndex: number) {
    this.name = name
    this.policy = SECRET.has(name) ? 'never' : VARYING.has(name) ? 'plain' : 'index'
    this.staticIndex = staticIndex
    let end = staticIndex
    while (staticIndex > 0 && STATIC_NAMES[end] === name) end++
    this.staticEnd = end
  }
}

/** Finds names and fields in both tables. Strings are latin1: a character is an octet. */
export class EncoderTable {
  /**
   * Every name in the dynamic table, and the static table's names that Dodici has looked up: bounded by the two tables.
   */
  readonly #names = new Map<string, KnownName>()
  #oldest: Entry | null = null
  #newest: Entry | null = null
  /** How many fields have ever been added to the dynamic table. */
  #added = 0
  /** The size of all entries, and its maximum, in bytes (RFC 7541 §4.1). */
  #size = 0
  #maxSize: number

  /** @param maxSize the largest size of all entries, in bytes; 0 for no entries */
  constructor(maxSize: number) {
    this.#maxSize = maxSize
  }

  /** How many names are remembered. */
  get nameCount(): number {
    return this.#names.size
  }

  /** The largest size of all entries, in bytes. */
  get maxSize(): number {
    return this.#maxSize
  }

  /** Changes the maximum, and evicts the oldest entries until the rest fit (RFC 7541 §4.3). */
  setMaxSize(maxSize: number): void {
    this.#maxSize = maxSize
    this.#makeRoom(0)
  }

  /** The entry for a name that is in a table; undefined for any other name. */
  find(name: string): KnownName | undefined {
    const known = this.#names.get(name)
    if (known !== undefined) return known
    const staticIndex = STATIC_INDEXES.get(name)
    if (staticIndex === undefined) return undefined
    const added = new KnownName(name, staticIndex)
    this.#names.set(name, added)
    return added
  }

  /** The index of a field with this name and value; 0 if neither table has it. */
  indexOf(known: KnownName, value: string): number {
    for (let index = known.staticIndex; index < known.staticEnd; index++) {
      if (STATIC_VALUES[index] === value) return index
    }
    for (let entry = known.oldest; entry !== null; entry = entry.newerOfName) {
      if (entry.value === value) return STATIC_LENGTH + this.#added - entry.number
    }
    return 0
  }

  /** An index with this name; 0 if neither table has it. */
  indexOfName(known: KnownName): number {
    if (known.staticIndex > 0) return known.staticIndex
    return known.newest === null ? 0 : STATIC_LENGTH + this.#added - known.newest.number
  }

  /**
   * Adds a field to the dynamic table. The caller makes sure that it fits: a larger field would empty the table in
   * vain.
   */
  add(name: string, value: string): void {
    const size = name.length + value.length + ENTRY_OVERHEAD
    this.#makeRoom(size)
    let known = this.find(name)
    if (known === undefined) {
      known = new KnownName(name, 0)
      this.#names.set(name, known)
    }
    const entry: Entry = { name: known, value, number: this.#added++, newer: null, newerOfName: null }
    if (this.#newest === null) this.#oldest = entry
    else this.#newest.newer = entry
    this.#newest = entry
    if (known.newest === null) known.oldest = entry
    else known.newest.newerOfName = entry
    known.newest = entry
    this.#size += size
  }

  /** Evicts the oldest entries until an entry of this size fits, or the table is empty (RFC 7541 §4.4). */
  #makeRoom(size: number): void {
    while (this.#oldest !== null && this.#size + size > this.#maxSize) this.#evict(this.#oldest)
  }

  /** Evicts the oldest entry, which is also the oldest of its name. */
  #evict(entry: Entry): void {
    const { name } = entry
    this.#size -= name.name.length + entry.value.length + ENTRY_OVERHEAD
    this.#oldest = entry.newer
    if (this.#oldest === null) this.#newest = null
    name.oldest = entry.newerOfName
    if (name.oldest !== null) return
    name.newest = null
    if (name.staticIndex === 0) this.#names.delete(name.name)
  }
}

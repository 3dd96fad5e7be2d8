/**
 * What an encoder finds its fields in: the static table, and its own dynamic one (RFC 7541 §2.3).
 *
 * @module
 */

import { ENTRY_OVERHEAD } from './dynamic-table.ts'
import { STATIC_INDEXES, STATIC_LENGTH, STATIC_NAMES, STATIC_VALUES } from './static-table.ts'

/**
 * How a field of a name goes out that is in neither table (RFC 7541 §6.2): `'index'` puts it into the dynamic one,
 * `'plain'` does not, and `'never'` forbids it to everybody on the way as well.
 */
export type NamePolicy = 'index' | 'plain' | 'never'

/** Values that say who somebody is, and that must not be guessed by the length of a block (RFC 7541 §7.1.3). */
const SECRET: ReadonlySet<string> = new Set(['authorization', 'proxy-authorization', 'cookie', 'set-cookie'])
/** Values that hardly come twice on one connection: each would push out one that does. */
const VARYING: ReadonlySet<string> = new Set([
  ...[':path', 'content-length', 'etag', 'if-modified-since', 'if-none-match', 'age', 'location', 'range'],
])

/** A field of the dynamic table. */
interface Entry {
  readonly name: KnownName
  readonly value: string
  /** How many fields had been put into the table before this one. */
  readonly number: number
  /** The next newer one in the table, and the next newer one of the same name. Null for the newest. */
  newer: Entry | null
  newerOfName: Entry | null
}

/** A name that is in a table. */
export class KnownName {
  readonly name: string
  readonly policy: NamePolicy
  /** The lowest index in the static table; 0 when it isn't there. */
  readonly staticIndex: number
  /** The static table's index behind those of this name. */
  readonly staticEnd: number
  /** Its entries in the dynamic table, or null. */
  oldest: Entry | null = null
  newest: Entry | null = null
  /**
   * The value that was written last as a literal which isn't indexed; null before. Its literal, once it has come twice.
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

/** Its strings are latin1: a character is an octet. */
export class EncoderTable {
  /** Names of the dynamic table, and those of the static one that have been asked for: bounded by the two tables. */
  readonly #names = new Map<string, KnownName>()
  #oldest: Entry | null = null
  #newest: Entry | null = null
  /** Fields that were ever put into the dynamic table. */
  #added = 0
  /** What entries take, and may take in all, in bytes (RFC 7541 §4.1). */
  #size = 0
  #maxSize: number

  /** @param maxSize what entries may take in all, in bytes; 0 for none */
  constructor(maxSize: number) {
    this.#maxSize = maxSize
  }

  /** Names that are remembered. */
  get nameCount(): number {
    return this.#names.size
  }

  /** What entries may take in all, in bytes. */
  get maxSize(): number {
    return this.#maxSize
  }

  /** Another maximum: entries that are too many for it go (RFC 7541 §4.3). */
  setMaxSize(maxSize: number): void {
    this.#maxSize = maxSize
    this.#makeRoom(0)
  }

  /** A name that is in a table; undefined for any other. */
  find(name: string): KnownName | undefined {
    const known = this.#names.get(name)
    if (known !== undefined) return known
    const staticIndex = STATIC_INDEXES.get(name)
    if (staticIndex === undefined) return undefined
    const added = new KnownName(name, staticIndex)
    this.#names.set(name, added)
    return added
  }

  /** The index of a field, name and value; 0 for one that is in neither table. */
  indexOf(known: KnownName, value: string): number {
    for (let index = known.staticIndex; index < known.staticEnd; index++) {
      if (STATIC_VALUES[index] === value) return index
    }
    for (let entry = known.oldest; entry !== null; entry = entry.newerOfName) {
      if (entry.value === value) return STATIC_LENGTH + this.#added - entry.number
    }
    return 0
  }

  /** An index that has this name. */
  indexOfName(known: KnownName): number {
    if (known.staticIndex > 0) return known.staticIndex
    return known.newest === null ? 0 : STATIC_LENGTH + this.#added - known.newest.number
  }

  /** Puts a field into the dynamic table. It has to fit in: a larger one would empty the table for nothing. */
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

  /** Drops the oldest entries until another one of so many bytes has room, or none is left (RFC 7541 §4.4). */
  #makeRoom(size: number): void {
    while (this.#oldest !== null && this.#size + size > this.#maxSize) this.#drop(this.#oldest)
  }

  /** The oldest entry of all is the oldest of its name. */
  #drop(entry: Entry): void {
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

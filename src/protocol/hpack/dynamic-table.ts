/**
 * The dynamic table of a decoder (RFC 7541 §2.3.2).
 *
 * @module
 */

/** RFC 7541 §4.1: what an entry counts for beside its name and value. Bytes. */
export const ENTRY_OVERHEAD = 32

const INITIAL_SLOTS = 32

/**
 * A first-in, first-out list of fields in a ring, counted from the newest on. Strings are latin1: a character is an
 * octet.
 */
export class DynamicTable {
  /** One ring in three arrays, so that an entry is no object. A power of two of slots; free ones hold empty strings. */
  #names: string[] = new Array<string>(INITIAL_SLOTS).fill('')
  #values: string[] = new Array<string>(INITIAL_SLOTS).fill('')
  #verdicts: number[] = new Array<number>(INITIAL_SLOTS).fill(0)
  #mask = INITIAL_SLOTS - 1
  /** Of the slot for the next entry. */
  #next = 0
  #maxSize: number

  /** Entries in the table. */
  length = 0
  /** What they take (RFC 7541 §4.1), in bytes. */
  size = 0

  /** @param maxSize what entries may take in all, in bytes; 0 for none */
  constructor(maxSize: number) {
    this.#maxSize = maxSize
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

  /** The entry's name; `age` is 0 for the newest, and below `length`. */
  nameAt(age: number): string {
    return this.#names[(this.#next - 1 - age) & this.#mask] ?? ''
  }

  /** The entry's value; `age` is 0 for the newest, and below `length`. */
  valueAt(age: number): string {
    return this.#values[(this.#next - 1 - age) & this.#mask] ?? ''
  }

  /** The verdict on the entry; `age` is 0 for the newest, and below `length`. */
  verdictAt(age: number): number {
    return this.#verdicts[(this.#next - 1 - age) & this.#mask] ?? 0
  }

  /** Adds a field; one that is larger than the whole table empties it, and that is no error (RFC 7541 §4.4). */
  add(name: string, value: string, verdict: number): void {
    const size = name.length + value.length + ENTRY_OVERHEAD
    this.#makeRoom(size)
    if (size > this.#maxSize) return
    if (this.length > this.#mask) this.#grow()
    const slot = this.#next & this.#mask
    this.#names[slot] = name
    this.#values[slot] = value
    this.#verdicts[slot] = verdict
    this.#next = (slot + 1) & this.#mask
    this.length++
    this.size += size
  }

  /** Drops the oldest entries until another one of so many bytes has room, or none is left. */
  #makeRoom(size: number): void {
    while (this.length > 0 && this.size + size > this.#maxSize) {
      const slot = (this.#next - this.length) & this.#mask
      this.size -= (this.#names[slot] ?? '').length + (this.#values[slot] ?? '').length + ENTRY_OVERHEAD
      // Let go of, so that a table that was emptied holds nothing of its connection's past.
      this.#names[slot] = ''
      this.#values[slot] = ''
      this.length--
    }
  }

  /** Twice the slots, with the oldest entry in the first one. */
  #grow(): void {
    const oldest = this.#next
    const slots = this.#mask + 1
    this.#names = [...rotate(this.#names, oldest), ...new Array<string>(slots).fill('')]
    this.#values = [...rotate(this.#values, oldest), ...new Array<string>(slots).fill('')]
    this.#verdicts = [...rotate(this.#verdicts, oldest), ...new Array<number>(slots).fill(0)]
    this.#mask = 2 * slots - 1
    this.#next = slots
  }
}

function rotate<T>(items: readonly T[], first: number): T[] {
  return [...items.slice(first), ...items.slice(0, first)]
}

/**
 * A decoder's dynamic table (RFC 7541 §2.3.2).
 *
 * @module
 */

/** RFC 7541 §4.1: how many bytes an entry counts in addition to its name and value. */
export const ENTRY_OVERHEAD = 32

const INITIAL_SLOTS = 32

/**
 * A first-in, first-out list of fields in a ring. Ages count from the newest one. Strings are latin1: a character is an
 * octet.
 */
export class DynamicTable {
  /**
   * One ring in three arrays, so that an entry needs no object. The number of slots is a power of two. Free slots hold
   * empty strings.
   */
  #names: string[] = new Array<string>(INITIAL_SLOTS).fill('')
  #values: string[] = new Array<string>(INITIAL_SLOTS).fill('')
  #verdicts: number[] = new Array<number>(INITIAL_SLOTS).fill(0)
  #mask = INITIAL_SLOTS - 1
  /** The slot of the next entry. */
  #next = 0
  #maxSize: number

  /** The number of entries. */
  length = 0
  /** The size of all entries (RFC 7541 §4.1), in bytes. */
  size = 0

  /** @param maxSize the largest size of all entries, in bytes; 0 for no entries */
  constructor(maxSize: number) {
    this.#maxSize = maxSize
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

  /** Adds a field. One that is larger than the whole table empties the table, which is no error (RFC 7541 §4.4). */
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

  /** Evicts the oldest entries until an entry of this size fits, or the table is empty. */
  #makeRoom(size: number): void {
    while (this.length > 0 && this.size + size > this.#maxSize) {
      const slot = (this.#next - this.length) & this.#mask
      this.size -= (this.#names[slot] ?? '').length + (this.#values[slot] ?? '').length + ENTRY_OVERHEAD
      // Cleared, so that an emptied table holds no strings of earlier fields.
      this.#names[slot] = ''
      this.#values[slot] = ''
      this.length--
    }
  }

  /** Doubles the slots, and moves the oldest entry to the first one. */
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

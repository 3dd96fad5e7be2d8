/**
 * A list for items that are added and deleted all the time, in no order.
 *
 * @module
 */

/** What a list needs of what is in it. The field is the list's own: an item is in one list at most. */
export interface UnorderedItem {
  /** Its place, -1 outside. */
  listIndex: number
}

/**
 * An array whose items know their places: entering and leaving cost O(1), and nothing is allocated for it.
 *
 * A Set would do, but not for what lives as short as a request: V8 makes it a new table whenever deletions have
 * used up the old one, and a table that has grown old keeps alive all that it held, and the table after it, until
 * the next full collection.
 */
export class UnorderedList<T extends UnorderedItem> {
  readonly #items: T[] = []

  get size(): number {
    return this.#items.length
  }

  /** The items. Not a copy: read it only while nothing is added or deleted. */
  get items(): readonly T[] {
    return this.#items
  }

  /** A no-op for an item that is in the list already. */
  add(item: T): void {
    if (item.listIndex === -1) item.listIndex = this.#items.push(item) - 1
  }

  /** The last item takes its place. @returns false for an item that wasn't in the list */
  delete(item: T): boolean {
    const index = item.listIndex
    if (index === -1) return false
    const last = this.#items.pop()
    if (last !== undefined && last !== item) {
      this.#items[index] = last
      last.listIndex = index
    }
    item.listIndex = -1
    return true
  }
}

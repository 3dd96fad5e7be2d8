/**
 * A list for items that are added and deleted all the time, in no particular order.
 *
 * @module
 */

/** What a list needs of its items. The field belongs to the list: an item is in one list at most. */
export interface UnorderedItem {
  /** Its place in the list, -1 outside. */
  listIndex: number
}

/**
 * An array whose items know their places: adding and deleting cost O(1), and allocate nothing.
 *
 * A Set would work, but not for items that live as briefly as a request: V8 creates a new table for it whenever
 * deletions have used up the old one, and a table that has grown old keeps alive everything that it held, and the table
 * after it, until the next full collection.
 */
export class UnorderedList<T extends UnorderedItem> {
  readonly #items: T[] = []

  get size(): number {
    return this.#items.length
  }

  /** The items, not a copy: read it only while nothing is added or deleted. */
  get items(): readonly T[] {
    return this.#items
  }

  /** Does nothing for an item that is already in the list. */
  add(item: T): void {
    if (item.listIndex === -1) item.listIndex = this.#items.push(item) - 1
  }

  /**
   * The last item takes the deleted item's place.
   *
   * @returns false if the item wasn't in the list
   */
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

/**
 * The sessions with room, ordered by load.
 *
 * @module
 */

/** What the heap needs to know about a session. */
export interface Loaded {
  /** Its place in the heap, -1 outside. Only the heap writes it. */
  heapIndex: number
  /** The older session has the lower id. */
  readonly id: number
  readonly streams: number
}

/**
 * Whether `a` comes first: the less loaded session or, with equal load, the older one. So sessions that were opened for
 * a peak become idle after it.
 */
function isBefore(a: Loaded, b: Loaded): boolean {
  return a.streams < b.streams || (a.streams === b.streams && a.id < b.id)
}

/** A binary heap: reading the first item costs O(1); adding, removing and updating one cost O(log n). */
export class SessionHeap<T extends Loaded> {
  readonly #items: T[] = []

  get size(): number {
    return this.#items.length
  }

  /** The least loaded session; null for none. */
  get first(): T | null {
    return this.#items[0] ?? null
  }

  /** Adds a session, or moves it after its load has changed. */
  set(item: T): void {
    if (item.heapIndex === -1) item.heapIndex = this.#items.push(item) - 1
    this.#up(item)
    this.#down(item)
  }

  /** Removes a session; does nothing if it isn't in the heap. */
  delete(item: T): void {
    const index = item.heapIndex
    if (index === -1) return
    item.heapIndex = -1
    const last = this.#items.pop()
    if (last === undefined || last === item) return
    this.#place(last, index)
    this.#up(last)
    this.#down(last)
  }

  #up(item: T): void {
    while (item.heapIndex > 0) {
      const index = item.heapIndex
      const parentIndex = (index - 1) >> 1
      const parent = this.#items[parentIndex] as T
      if (!isBefore(item, parent)) return
      this.#place(parent, index)
      this.#place(item, parentIndex)
    }
  }

  #down(item: T): void {
    for (;;) {
      const index = item.heapIndex
      const child = this.#toLesser(2 * index + 1)
      if (child === null || !isBefore(child, item)) return
      const childIndex = child.heapIndex
      this.#place(child, index)
      this.#place(item, childIndex)
    }
  }

  /** The smaller of the items at `index` and `index + 1`; null beyond the end. */
  #toLesser(index: number): T | null {
    const left = this.#items[index]
    const right = this.#items[index + 1]
    if (left === undefined) return null
    return right !== undefined && isBefore(right, left) ? right : left
  }

  #place(item: T, index: number): void {
    this.#items[index] = item
    item.heapIndex = index
  }
}

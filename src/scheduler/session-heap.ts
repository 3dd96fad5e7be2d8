/**
 * The sessions that have room, the least loaded first.
 *
 * @module
 */

/** What the heap needs of a session. */
export interface Loaded {
  /** Its place in the heap, -1 outside. The heap's own. */
  heapIndex: number
  /** Lower for the older one. */
  readonly id: number
  readonly streams: number
}

/** Among equals the oldest, so that those that were opened for a peak become idle after it. */
function isBefore(a: Loaded, b: Loaded): boolean {
  return a.streams < b.streams || (a.streams === b.streams && a.id < b.id)
}

/** A binary heap: taking the first costs O(1); entering, leaving and a change of load cost O(log n). */
export class SessionHeap<T extends Loaded> {
  readonly #items: T[] = []

  get size(): number {
    return this.#items.length
  }

  /** The least loaded; null when there is none. */
  get first(): T | null {
    return this.#items[0] ?? null
  }

  /** Puts a session in, or where it belongs now that its load has changed. */
  set(item: T): void {
    if (item.heapIndex === -1) item.heapIndex = this.#items.push(item) - 1
    this.#up(item)
    this.#down(item)
  }

  /** Takes a session out; a no-op for one that isn't in. */
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

  /** Of two neighbours, or null behind the end. */
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

/**
 * A FIFO queue of calls that have no stream yet.
 *
 * @module
 */

/** What a queue needs of its entries. The links belong to the queue: an entry is in one queue at most. */
export interface Queued<T> {
  /** Its place in the order of dispatch. */
  readonly sequence: number
  /** Null at the end, and outside a queue. */
  queueNext: T | null
  /** Null at the head, and outside a queue. */
  queuePrevious: T | null
}

/**
 * A linked list through its entries: adding, removing from anywhere (an abort) and taking the first cost O(1), and no
 * object is created for an entry.
 */
export class PendingQueue<T extends Queued<T>> {
  #first: T | null = null
  #last: T | null = null
  #size = 0
  /** The entry that was last put ahead of a newer one or, once that entry has left, its predecessor; null for none. */
  #insertedLast: T | null = null

  /** How many entries wait. */
  get size(): number {
    return this.#size
  }

  /** The entry at the head, or null when nothing waits. */
  get first(): T | null {
    return this.#first
  }

  /**
   * Puts an entry behind everything that was dispatched before it. A new call goes straight to the end; a replayed one
   * goes ahead of newer ones, at the cost of one step for each older one that waits. When a connection's calls are
   * replayed together, in order, each finds its place from its predecessor's.
   */
  add(entry: T): void {
    let next: T | null = null
    if (this.#last !== null && this.#last.sequence > entry.sequence) {
      const near = this.#insertedLast
      next = near !== null && near.sequence < entry.sequence ? near.queueNext : this.#first
      while (next !== null && next.sequence < entry.sequence) next = next.queueNext
      this.#insertedLast = entry
    }
    const previous = next === null ? this.#last : next.queuePrevious
    entry.queueNext = next
    entry.queuePrevious = previous
    if (previous === null) this.#first = entry
    else previous.queueNext = entry
    if (next === null) this.#last = entry
    else next.queuePrevious = entry
    this.#size++
  }

  /** Removes and returns the first entry, or null if nothing waits. */
  shift(): T | null {
    const first = this.#first
    if (first !== null) this.remove(first)
    return first
  }

  /** Removes an entry; does nothing if it is in no queue. */
  remove(entry: T): void {
    const { queueNext: next, queuePrevious: previous } = entry
    if (previous === null && this.#first !== entry) return
    if (this.#insertedLast === entry) this.#insertedLast = previous
    if (previous === null) this.#first = next
    else previous.queueNext = next
    if (next === null) this.#last = previous
    else next.queuePrevious = previous
    entry.queueNext = null
    entry.queuePrevious = null
    this.#size--
  }
}

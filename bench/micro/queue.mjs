/** The queue of calls that have no stream yet. */
import { loadSource } from './harness.mjs'

/** @type {typeof import('../../src/core/pending-queue.ts')} */
const { PendingQueue } = await loadSource('core/pending-queue.ts')

class Entry {
  /** @type {Entry | null} */
  queueNext = null
  /** @type {Entry | null} */
  queuePrevious = null

  /** @param {number} sequence */
  constructor(sequence) {
    this.sequence = sequence
  }
}

/**
 * What the ways have in common.
 *
 * @typedef {{ add(entry: Entry): void, shift(): Entry | null, remove(entry: Entry): void }} Queue
 */

/** @implements {Queue} */
class ArrayQueue {
  /** @type {Entry[]} */
  #entries = []

  /** @param {Entry} entry */
  add(entry) {
    this.#entries.push(entry)
  }

  shift() {
    return this.#entries.shift() ?? null
  }

  /** @param {Entry} entry */
  remove(entry) {
    this.#entries.splice(this.#entries.indexOf(entry), 1)
  }
}

/** A linked list with an object for each place; the map finds the place of an entry that leaves. @implements {Queue} */
class ListQueue {
  /** @typedef {{ entry: Entry, next: Place | null, previous: Place | null }} Place */

  /** @type {Place | null} */
  #first = null
  /** @type {Place | null} */
  #last = null
  /** @type {Map<Entry, Place>} */
  #places = new Map()

  /** @param {Entry} entry */
  add(entry) {
    const place = { entry, next: null, previous: this.#last }
    this.#places.set(entry, place)
    if (this.#last === null) this.#first = place
    else this.#last.next = place
    this.#last = place
  }

  shift() {
    const entry = this.#first?.entry ?? null
    if (entry !== null) this.remove(entry)
    return entry
  }

  /** @param {Entry} entry */
  remove(entry) {
    const place = this.#places.get(entry)
    if (place === undefined) return
    this.#places.delete(entry)
    const { next, previous } = place
    if (previous === null) this.#first = next
    else previous.next = next
    if (next === null) this.#last = previous
    else next.previous = previous
  }
}

/** @type {readonly [string, new () => Queue][]} */
const QUEUES = [
  ['PendingQueue: links in the entries', PendingQueue],
  ['an array', ArrayQueue],
  ['a linked list with objects of its own', ListQueue],
]

/** @param {new () => Queue} Queue @param {number} size */
function fill(Queue, size) {
  const queue = new Queue()
  const entries = Array.from({ length: size }, (_, sequence) => new Entry(sequence))
  for (const entry of entries) queue.add(entry)
  let sequence = size

  /** Whose turn it is leaves, and enters again as a new one would. */
  const turn = () => {
    const entry = queue.shift()
    if (entry === null) throw new Error('The queue is empty')
    const left = entry.sequence
    entry.sequence = sequence++
    queue.add(entry)
    return left
  }

  /** One in the middle is aborted, and another one comes. */
  const abort = () => {
    const entry = entries[(sequence * 7 + size / 2) % size]
    if (entry === undefined) throw new Error('There is no such entry')
    queue.remove(entry)
    const left = entry.sequence
    entry.sequence = sequence++
    queue.add(entry)
    // And whose turn it is, so that the order shows.
    return [left, turn()]
  }
  return { turn, abort }
}

/** @param {string} what @param {number} size @param {'turn' | 'abort'} operation */
function compare(what, size, operation) {
  return {
    title: `${what}, ${size} waiting`,
    ways: Object.fromEntries(QUEUES.map(([name, Queue]) => [name, fill(Queue, size)[operation]])),
  }
}

export const comparisons = [
  compare('one call enters, the first leaves', 10, 'turn'),
  compare('one call enters, the first leaves', 1_000, 'turn'),
  compare('one call enters, the first leaves', 100_000, 'turn'),
  compare('one call is aborted, the first leaves, two enter', 1_000, 'abort'),
]

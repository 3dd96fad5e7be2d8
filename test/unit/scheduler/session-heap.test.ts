import { describe, expect, it } from 'vitest'
import type { Loaded } from '../../../src/scheduler/session-heap.ts'
import { SessionHeap } from '../../../src/scheduler/session-heap.ts'
import { Random } from '../../support/clocks/seeded-random.ts'

class Item implements Loaded {
  heapIndex = -1
  readonly id: number
  streams: number

  constructor(id: number, streams = 0) {
    this.id = id
    this.streams = streams
  }
}

/** The session that the heap has to give first: the least loaded, and among these the oldest. */
function toFirst(items: Iterable<Item>): Item | null {
  const [first] = [...items].sort((a, b) => a.streams - b.streams || a.id - b.id)
  return first ?? null
}

/** Takes all sessions out, from the first on. */
function drain(heap: SessionHeap<Item>): number[] {
  const ids: number[] = []
  for (let item = heap.first; item !== null; item = heap.first) {
    ids.push(item.id)
    heap.delete(item)
  }
  return ids
}

function fill(...streams: number[]) {
  const heap = new SessionHeap<Item>()
  const items = streams.map((count, id) => new Item(id, count))
  for (const item of items) heap.set(item)
  return { heap, items }
}

describe('SessionHeap', () => {
  it('has no first session when it is empty, before and after', () => {
    const { heap } = fill()
    expect([heap.first, heap.size]).toEqual([null, 0])
    const item = new Item(1)
    heap.set(item)
    heap.delete(item)
    expect([heap.first, heap.size, item.heapIndex]).toEqual([null, 0, -1])
  })

  it('gives the least loaded session first, and among equals the oldest', () => {
    expect(drain(fill(5, 3, 8, 3, 0, 5, 0).heap)).toEqual([4, 6, 1, 3, 0, 5, 2])
  })

  it('reorders a session whose load grows or falls', () => {
    const { heap, items } = fill(1, 2, 3, 4)
    const [lightest, , , heaviest] = items
    if (lightest === undefined || heaviest === undefined) throw new Error('There are four')
    lightest.streams = 9
    heap.set(lightest)
    heaviest.streams = 0
    heap.set(heaviest)
    expect(heap.size).toBe(4)
    expect(drain(heap)).toEqual([3, 1, 2, 0])
  })

  it('ignores the removal of a session that it doesn’t have', () => {
    const { heap, items } = fill(1, 2)
    heap.delete(new Item(9))
    const [first] = items
    if (first !== undefined) heap.delete(first)
    if (first !== undefined) heap.delete(first)
    expect(drain(heap)).toEqual([1])
  })

  it('spreads calls evenly over all its sessions', () => {
    const { heap, items } = fill(0, 0, 0, 0, 0, 0, 0)
    for (let call = 0; call < 700; call++) {
      const { first } = heap
      if (first === null) throw new Error('There are seven')
      first.streams++
      heap.set(first)
    }
    expect(items.map(({ streams }) => streams)).toEqual(Array(7).fill(100))
  })

  it.each([
    1, 2,
  ])('gives the same session as a linear search, after any additions, removals and changes: %i', (seed) => {
    const random = new Random(seed)
    const heap = new SessionHeap<Item>()
    const all = Array.from({ length: 40 }, (_, id) => new Item(id))
    const inside = new Set<Item>()
    for (let step = 0; step < 5_000; step++) {
      const item = all[random.between(0, all.length - 1)] as Item
      const what = random.next()
      if (what < 0.25) {
        heap.delete(item)
        inside.delete(item)
      } else {
        // Outside of the heap, changes of the load aren't reported to it.
        item.streams = random.between(0, 11)
        if (what < 0.85 || inside.has(item)) {
          heap.set(item)
          inside.add(item)
        }
      }
      expect(heap.first).toBe(toFirst(inside))
      expect(heap.size).toBe(inside.size)
      expect(item.heapIndex === -1).toBe(!inside.has(item))
    }
    const indexes = [...inside].map(({ heapIndex }) => heapIndex)
    expect(indexes.sort((a, b) => a - b)).toEqual(Array.from({ length: inside.size }, (_, index) => index))
    const order = [...inside].sort((a, b) => a.streams - b.streams || a.id - b.id)
    expect(drain(heap)).toEqual(order.map(({ id }) => id))
  })
})

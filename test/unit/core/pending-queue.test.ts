import { beforeEach, describe, expect, it } from 'vitest'
import type { Queued } from '../../../src/core/pending-queue.ts'
import { PendingQueue } from '../../../src/core/pending-queue.ts'

class Entry implements Queued<Entry> {
  readonly sequence: number
  queueNext: Entry | null = null
  queuePrevious: Entry | null = null

  constructor(sequence: number) {
    this.sequence = sequence
  }
}

let queue: PendingQueue<Entry>

beforeEach(() => {
  queue = new PendingQueue()
})

function add(...sequences: number[]): Entry[] {
  return sequences.map((sequence) => {
    const entry = new Entry(sequence)
    queue.add(entry)
    return entry
  })
}

/** Empties the queue. */
function drain(): number[] {
  const sequences: number[] = []
  for (let entry = queue.shift(); entry !== null; entry = queue.shift()) sequences.push(entry.sequence)
  return sequences
}

describe('PendingQueue', () => {
  describe('when it is empty', () => {
    it('has nothing to give', () => {
      expect(queue.size).toBe(0)
      expect(queue.shift()).toBeNull()
      expect(queue.size).toBe(0)
    })

    it('takes entries again after it was emptied', () => {
      add(0, 1)
      drain()
      add(2, 3)
      expect(queue.size).toBe(2)
      expect(drain()).toEqual([2, 3])
    })
  })

  describe('when an entry is shifted', () => {
    it('unlinks it', () => {
      const [first, second] = add(0, 1)
      expect(queue.shift()).toBe(first)
      expect(first).toMatchObject({ queueNext: null, queuePrevious: null })
      expect(second).toMatchObject({ queueNext: null, queuePrevious: null })
    })
  })

  describe('when an entry is removed', () => {
    it.each([
      ['the head', 0, [1, 2, 3]],
      ['one in the middle', 1, [0, 2, 3]],
      ['the one beside the tail', 2, [0, 1, 3]],
      ['the tail', 3, [0, 1, 2]],
    ])('leaves the others in order: %s', (_where, index, left) => {
      const removed = add(0, 1, 2, 3)[index]
      if (removed === undefined) throw new Error('The table names an entry that is not there')
      queue.remove(removed)
      expect(queue.size).toBe(3)
      expect(removed).toMatchObject({ queueNext: null, queuePrevious: null })
      expect(drain()).toEqual(left)
    })

    it.each([
      ['the head', 0, [1, 2, 4]],
      ['the tail', 2, [0, 1, 4]],
    ])('takes a new one at the end: without %s', (_where, index, all) => {
      const removed = add(0, 1, 2)[index]
      if (removed === undefined) throw new Error('The table names an entry that is not there')
      queue.remove(removed)
      add(4)
      expect(drain()).toEqual(all)
    })

    it('is empty without its only one', () => {
      for (const entry of add(0)) queue.remove(entry)
      expect(queue.size).toBe(0)
      expect(queue.shift()).toBeNull()
      add(1)
      expect(drain()).toEqual([1])
    })
  })

  describe('when an entry comes back', () => {
    it.each([
      ['ahead of all newer ones', 0, [0, 1, 2, 4, 6]],
      ['between an older and a newer one', 3, [1, 2, 3, 4, 6]],
      ['ahead of the newest', 5, [1, 2, 4, 5, 6]],
      ['behind all older ones', 7, [1, 2, 4, 6, 7]],
    ])('goes in by its sequence: %s', (_where, sequence, all) => {
      add(1, 2, 4, 6)
      add(sequence)
      expect(queue.size).toBe(5)
      expect(drain()).toEqual(all)
    })

    it('can be the very object that was taken out', () => {
      const [first] = add(0, 1)
      if (first === undefined) throw new Error('Nothing was added')
      expect(queue.shift()).toBe(first)
      queue.add(first)
      expect(queue.shift()).toBe(first)
      expect(drain()).toEqual([1])
    })
  })

  describe('when 4,000 entries are added again, ahead of one that waits', () => {
    const COUNT = 4_000

    let looks = 0

    /** Counts how often its sequence is looked at. */
    function toCounted(sequence: number): Entry {
      const get = (): number => {
        looks++
        return sequence
      }
      return Object.defineProperty(new Entry(sequence), 'sequence', { get })
    }

    it.each([
      ['in their order', (at: number) => at],
      ['in their order, from the middle on', (at: number) => (at + COUNT / 2) % COUNT],
    ])('%s › looks at a few entries for each', (_what, toSequence) => {
      add(COUNT)
      looks = 0
      for (let at = 0; at < COUNT; at++) queue.add(toCounted(toSequence(at)))
      expect(looks).toBeLessThan(10 * COUNT)
      expect(drain()).toEqual(Array.from({ length: COUNT + 1 }, (_none, at) => at))
    })
  })

  describe('when entries are added and removed in any order', () => {
    it('stays in the order of dispatch', () => {
      let seed = 7
      const below = (limit: number): number => {
        seed = (seed * 48_271) % 2_147_483_647
        return seed % limit
      }
      const inside = new Map<number, Entry>()
      for (let step = 0; step < 5_000; step++) {
        const sequence = below(200)
        const entry = inside.get(sequence)
        if (entry === undefined) inside.set(sequence, ...(add(sequence) as [Entry]))
        else {
          queue.remove(entry)
          inside.delete(sequence)
        }
        expect(queue.size).toBe(inside.size)
      }
      expect(drain()).toEqual([...inside.keys()].sort((a, b) => a - b))
    })
  })
})

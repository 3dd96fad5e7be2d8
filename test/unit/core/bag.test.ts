import { describe, expect, test } from 'vitest'
import type { Bagged } from '../../../src/core/bag.ts'
import { Bag } from '../../../src/core/bag.ts'

interface Item extends Bagged {
  readonly name: string
}

const make = (name: string): Item => ({ name, bagIndex: -1 })

describe('Bag', () => {
  test('has what was added, once', () => {
    const bag = new Bag<Item>()
    const item = make('a')
    bag.add(item)
    bag.add(item)
    expect([bag.size, bag.items]).toEqual([1, [item]])
  })

  test('says whether it had what is taken out', () => {
    const bag = new Bag<Item>()
    const item = make('a')
    bag.add(item)
    expect([bag.delete(make('b')), bag.delete(item), bag.delete(item)]).toEqual([false, true, false])
    expect([bag.size, item.bagIndex]).toEqual([0, -1])
  })

  test('holds what a Set holds, whatever comes and goes in whatever order', () => {
    const bag = new Bag<Item>()
    const set = new Set<Item>()
    const items = Array.from({ length: 20 }, (_, index) => make(`${index}`))
    for (let step = 0; step < 2000; step++) {
      // A fixed walk over all items that puts each in and takes it out at changing distances.
      const item = items[(step * step * 7 + step) % items.length] as Item
      if (set.has(item)) expect(bag.delete(item)).toBe(set.delete(item))
      else {
        bag.add(item)
        set.add(item)
      }
      expect(new Set(bag.items)).toEqual(set)
      expect(bag.size).toBe(set.size)
    }
  })
})

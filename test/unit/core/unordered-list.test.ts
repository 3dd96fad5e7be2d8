import { describe, expect, it } from 'vitest'
import type { UnorderedItem } from '../../../src/core/unordered-list.ts'
import { UnorderedList } from '../../../src/core/unordered-list.ts'

interface Item extends UnorderedItem {
  readonly name: string
}

const make = (name: string): Item => ({ name, listIndex: -1 })

describe('UnorderedList', () => {
  it('has what was added, once', () => {
    const list = new UnorderedList<Item>()
    const item = make('a')
    list.add(item)
    list.add(item)
    expect([list.size, list.items]).toEqual([1, [item]])
  })

  it('says whether it had what is taken out', () => {
    const list = new UnorderedList<Item>()
    const item = make('a')
    list.add(item)
    expect([list.delete(make('b')), list.delete(item), list.delete(item)]).toEqual([false, true, false])
    expect([list.size, item.listIndex]).toEqual([0, -1])
  })

  it('holds what a Set holds, whatever comes and goes in whatever order', () => {
    const list = new UnorderedList<Item>()
    const set = new Set<Item>()
    const items = Array.from({ length: 20 }, (_, index) => make(`${index}`))
    for (let step = 0; step < 2000; step++) {
      // A fixed walk over all items that puts each in and takes it out at changing distances.
      const item = items[(step * step * 7 + step) % items.length] as Item
      if (set.has(item)) expect(list.delete(item)).toBe(set.delete(item))
      else {
        list.add(item)
        set.add(item)
      }
      expect(new Set(list.items)).toEqual(set)
      expect(list.size).toBe(set.size)
    }
  })
})

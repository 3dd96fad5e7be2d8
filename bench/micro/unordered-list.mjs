/** What is under way: things that come, live for a while and go, all the time. */
import { loadModules } from '../../scripts/support.mjs'

/** @type {typeof import('../../src/core/unordered-list.ts')} */
const { UnorderedList } = await loadModules(`export * from '../src/core/unordered-list.ts'`)

class Item {
  listIndex = -1
  /** What a call holds on to. It is garbage once the item has gone, if nothing keeps it. */
  payload = new Array(64).fill(null)
}

/** @typedef {{ readonly size: number, add(item: Item): unknown, delete(item: Item): unknown }} Items */

/**
 * Each step one comes, and the oldest goes.
 *
 * @param {Items} items @param {number} count how many there are at any time
 */
function churn(items, count) {
  /** @type {Item[]} */
  const all = Array.from({ length: count }, () => new Item())
  for (const item of all) items.add(item)
  let turn = 0
  return () => {
    const oldest = all[turn]
    const item = new Item()
    items.add(item)
    all[turn] = item
    turn = turn + 1 === count ? 0 : turn + 1
    if (oldest !== undefined) items.delete(oldest)
    return items.size
  }
}

export const comparisons = [100, 10_000].map((count) => ({
  title: `one of ${count} under way goes, another one comes`,
  ways: {
    UnorderedList: churn(new UnorderedList(), count),
    'a Set': churn(new Set(), count),
  },
}))

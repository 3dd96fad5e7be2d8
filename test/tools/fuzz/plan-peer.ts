/** The frames of a peer on a connection: plausible responses to a round's calls, which then go wrong at random. */

import { frames, Setting } from '../../../src/testing/frames.ts'
import type { Random } from '../../protocol/hpack/support.ts'
import { mutate } from './mutate.ts'
import type { CallPlan } from './plan-calls.ts'
import { toFlood, toNoise } from './plan-noise.ts'
import { toResponse } from './plan-response.ts'

/** Frames that are delivered one after the other, and in which segments. */
export interface GroupPlan {
  readonly pieces: readonly Buffer[]
  /** How many requests have to be there first. */
  readonly after: number
  /** Milliseconds before it; 0 for at once. */
  readonly delay: number
  readonly cut: 'whole' | 'pieces' | 'bytes'
}

/** One connection of the peer's. */
export interface ConnectionPlan {
  /** How the connector fares. */
  readonly connects: 'well' | 'late' | 'fails' | 'never' | 'closed'
  readonly acksSettings: boolean
  readonly acksPings: boolean
  readonly grantsCredit: boolean
  /** How a Duplex takes what the client writes. */
  readonly takes: 'at once' | 'in a tick' | 'in a turn' | 'slowly' | 'a little'
  readonly groups: readonly GroupPlan[]
  /** How the connection ends after all groups. */
  readonly end: 'stays' | 'fin' | 'reset'
}

/** How many frames a group has at most. */
const GROUP = 6

/** A connection's plan. The streams of its calls are taken to have the ids 1, 3, 5, and so on. */
export function toConnectionPlan(random: Random, calls: readonly CallPlan[]): ConnectionPlan {
  const connects =
    random.below(12) > 0 ? 'well' : random.pick(['late', 'late', 'fails', 'never', 'closed'] as const)
  return {
    connects,
    acksSettings: random.below(20) > 0,
    acksPings: random.below(10) > 0,
    grantsCredit: random.below(4) > 0,
    takes: random.pick(['at once', 'in a tick', 'in a turn', 'slowly', 'a little']),
    groups: toGroups(random, calls),
    end: random.pick(['stays', 'stays', 'fin', 'reset']),
  }
}

/** A frame, and how many requests must have come before it makes sense. */
interface Item {
  readonly bytes: Buffer
  readonly after: number
}

function toGroups(random: Random, calls: readonly CallPlan[]): GroupPlan[] {
  const queues = calls.map((call, index) =>
    toResponse(random, call, 2 * index + 1).map((bytes) => ({ bytes, after: index + 1 })),
  )
  const items = interleave(random, queues)
  for (let count = random.pick([0, 0, 1, 2, 5]); count > 0; count--) {
    const after = random.pick([0, 1, calls.length])
    for (const bytes of toNoise(random)) items.splice(random.below(items.length + 1), 0, { bytes, after })
  }
  if (random.below(40) === 0) {
    const flood = toFlood(random).map((bytes) => ({ bytes, after: 1 }))
    items.splice(random.below(items.length + 1), 0, ...flood)
  }
  const greeting = toGreeting(random)
  // What else a peer says comes behind its SETTINGS; at times there are none, or they go wrong, too.
  if (random.below(10) === 0) return cutIntoGroups(random, change(random, [...greeting, ...items]))
  return [...cutIntoGroups(random, greeting), ...cutIntoGroups(random, change(random, items))]
}

/** Frames go wrong; when they come stays. */
function change(random: Random, items: readonly Item[]): Item[] {
  const changes = random.pick([0, 0, 0, 1, 1, 2, 3, 5])
  if (changes === 0 || items.length === 0) return [...items]
  const bytes = items.map((item) => item.bytes)
  return mutate(bytes, random, changes).map((piece, at) => ({
    bytes: piece,
    after: items[Math.min(at, items.length - 1)]?.after ?? 0,
  }))
}

function cutIntoGroups(random: Random, items: readonly Item[]): GroupPlan[] {
  const groups: GroupPlan[] = []
  for (let at = 0; at < items.length; ) {
    const isFlood = items.length > 200
    const size = isFlood ? 100 : 1 + random.below(GROUP)
    const some = items.slice(at, at + size)
    groups.push({
      pieces: some.map(({ bytes }) => bytes),
      // At times a peer responds what it hasn't been asked yet.
      after: random.below(20) === 0 ? 0 : Math.max(...some.map(({ after }) => after)),
      delay: random.pick([0, 0, 0, 0, 1, random.below(40), random.below(12) === 0 ? 200 : 0]),
      cut: random.pick(['whole', 'whole', 'pieces', 'bytes']),
    })
    at += size
  }
  return groups
}

function toGreeting(random: Random): Item[] {
  const kind = random.below(30)
  if (kind === 0) return []
  if (kind === 1)
    return [{ bytes: Buffer.from('HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n'), after: 0 }]
  const entries: [number, number][] = []
  const add = (odds: number, id: number, values: [number, ...number[]]): void => {
    if (random.below(odds) === 0) entries.push([id, random.pick(values)])
  }
  add(3, Setting.MAX_CONCURRENT_STREAMS, [100, 100, 1, 2, 0])
  add(4, Setting.INITIAL_WINDOW_SIZE, [0, 1, 100, 65_535, 1_000_000, 2 ** 31 - 1])
  add(6, Setting.MAX_FRAME_SIZE, [16_384, 20_000, 2 ** 24 - 1])
  add(6, Setting.HEADER_TABLE_SIZE, [0, 64, 4_096, 100_000])
  add(8, Setting.MAX_HEADER_LIST_SIZE, [100, 10_000])
  add(2, Setting.ENABLE_CONNECT_PROTOCOL, [1])
  return [{ bytes: frames.settings(...entries), after: 0 }]
}

/** The order of each stays. */
function interleave(random: Random, queues: readonly Item[][]): Item[] {
  const left = queues.map((queue) => [...queue])
  const items: Item[] = []
  let open = left.filter((queue) => queue.length > 0)
  const isOrderly = random.below(3) === 0
  while (open.length > 0) {
    const queue = open[isOrderly ? 0 : random.below(open.length)]
    const item = queue?.shift()
    if (item !== undefined) items.push(item)
    open = open.filter(({ length }) => length > 0)
  }
  return items
}

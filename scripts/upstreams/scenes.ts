/**
 * What happens to the servers while calls come.
 *
 * @module
 */

import type { Condition, ServiceTime } from './world.ts'
import { heavyTailed, lognormal, WELL } from './world.ts'

/** All times are in milliseconds. */
export interface Scene {
  readonly title: string
  /** How many servers there are at the beginning. */
  readonly servers: number
  /** How many join, and when. */
  readonly joining: { readonly servers: number; readonly at: number } | null
  readonly duration: number
  /** How many long streams are opened in the first second. */
  readonly streams: number
  /** From when on the imbalance counts requests. */
  readonly countedFrom: number
  /** The part of the capacity of all servers at the beginning that the calls need. */
  readonly load: number
  readonly serviceTime: ServiceTime
  readonly toCondition: (server: number, now: number) => Condition
  /** When a server dies, with all its connections. */
  readonly deaths: readonly { readonly server: number; readonly at: number }[]
  /** Whether the imbalance counts a server: it is as good as the others, all the time. */
  readonly isAlike: (server: number) => boolean
}

const BASE: Scene = {
  title: '',
  servers: 8,
  joining: null,
  duration: 30_000,
  streams: 0,
  countedFrom: 0,
  load: 0.5,
  serviceTime: lognormal(20),
  toCondition: () => WELL,
  deaths: [],
  isAlike: () => true,
}

const isFirst = (server: number): boolean => server === 0
const isNotFirst = (server: number): boolean => server !== 0

/** The first server, and no other, is in this condition. */
function first(condition: Partial<Condition>, from = 0, to = Number.POSITIVE_INFINITY): Partial<Scene> {
  const changed = { ...WELL, ...condition }
  return {
    toCondition: (server, now) => (isFirst(server) && now >= from && now < to ? changed : WELL),
    isAlike: isNotFirst,
  }
}

/** From then on one server restarts after the other: it is gone for 2 s, then slow for 3 s. */
const DEPLOY_AT = 5_000
const DEPLOY_STEP = 6_000

function toDeployed(server: number, now: number): Condition {
  const since = now - DEPLOY_AT - server * DEPLOY_STEP
  if (since < 0 || since >= 5_000) return WELL
  return since < 2_000 ? { ...WELL, state: 'down' } : { ...WELL, slowness: 2 }
}

function toScene(title: string, scene: Partial<Scene>): Scene {
  return { ...BASE, ...scene, title }
}

export const SCENES: readonly Scene[] = [
  toScene('4 alike', { servers: 4 }),
  toScene('16 alike', { servers: 16, duration: 20_000 }),
  toScene('128 alike', { servers: 128, duration: 10_000 }),
  toScene('8, a long tail', { duration: 60_000, serviceTime: heavyTailed(20) }),
  toScene('8, busy (80 %)', { load: 0.8 }),
  toScene('8, one 10 times slower', first({ slowness: 10 })),
  toScene('8, one 10 times slower, another one restarted every 3 s', {
    toCondition: (server, now) => {
      if (server === 0) return { ...WELL, slowness: 10 }
      return server === 1 && now % 3_000 < 500 && now >= 3_000 ? { ...WELL, state: 'down' } : WELL
    },
    deaths: Array.from({ length: 9 }, (_, index) => ({ server: 1, at: 3_000 * (index + 1) })),
    isAlike: (server) => server > 1,
  }),
  toScene('8, half of them twice as slow', {
    toCondition: (server) => (server < 4 ? { ...WELL, slowness: 2 } : WELL),
    isAlike: (server) => server >= 4,
    load: 0.4,
  }),
  toScene('2, one fails at once', { ...first({ errors: 1 }), servers: 2, load: 0.2 }),
  toScene('8, one fails at once', first({ errors: 1 })),
  toScene('8, one fails half of its calls', first({ errors: 0.5 })),
  toScene('4, one fails half of its calls', { ...first({ errors: 0.5 }), servers: 4 }),
  toScene('8, all fail 5 % of their calls', { toCondition: () => ({ ...WELL, errors: 0.05 }) }),
  toScene('8, one silent for 10 s', first({ state: 'silent' }, 10_000, 20_000)),
  toScene('8, one with a short queue, and 6 times slower', first({ slowness: 6, queue: 4 })),
  toScene('8, restarted one after the other', {
    duration: 60_000,
    toCondition: toDeployed,
    deaths: Array.from({ length: 8 }, (_, server) => ({ server, at: DEPLOY_AT + server * DEPLOY_STEP })),
  }),
  toScene('8, all 6 times slower for 10 s', {
    duration: 60_000,
    toCondition: (_server, now) => (now >= 20_000 && now < 30_000 ? { ...WELL, slowness: 6 } : WELL),
  }),
  toScene('8, five fail at once for 20 s', {
    duration: 60_000,
    toCondition: (server, now) =>
      server < 5 && now >= 20_000 && now < 40_000 ? { ...WELL, errors: 1 } : WELL,
    isAlike: (server) => server >= 5,
    load: 0.2,
  }),
  toScene('from 4 to 16, new ones slow for 3 s', {
    duration: 60_000,
    servers: 4,
    joining: { servers: 12, at: 20_000 },
    toCondition: (server, now) => (server >= 4 && now < 23_000 ? { ...WELL, slowness: 2 } : WELL),
    isAlike: (server) => server < 4,
    load: 0.7,
  }),
  toScene('from 4 to 16, while 50 long streams are open; 10 s later', {
    duration: 60_000,
    servers: 4,
    joining: { servers: 12, at: 20_000 },
    streams: 50,
    countedFrom: 30_000,
    load: 0.7,
  }),
]

/** Some responses take longer than others like them, which hedging is for. */
export const HEDGING_SCENES: readonly Scene[] = [
  toScene('8 alike', {}),
  toScene('8, a long tail', { duration: 60_000, serviceTime: heavyTailed(20) }),
  toScene('8, a long tail, busy (80 %)', { duration: 60_000, serviceTime: heavyTailed(20), load: 0.8 }),
  toScene('8, one of which pauses 200 ms each second', {
    toCondition: (server, now) => (isFirst(server) && now % 1_000 < 200 ? { ...WELL, slowness: 10 } : WELL),
    isAlike: isNotFirst,
  }),
  toScene('8, one 10 times slower', first({ slowness: 10 })),
  toScene('8, one silent for 10 s', first({ state: 'silent' }, 10_000, 20_000)),
  toScene('8, all 6 times slower for 10 s', {
    duration: 60_000,
    toCondition: (_server, now) => (now >= 20_000 && now < 30_000 ? { ...WELL, slowness: 6 } : WELL),
  }),
]

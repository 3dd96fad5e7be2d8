/**
 * Plays scenes with policies, and writes the table of docs/upstreams.md.
 *
 * @module
 */

import { toTable as toMarkdown } from '../page.mjs'
import type { PolicyMaker } from './policies.ts'
import { HEDGING, POLICIES } from './policies.ts'
import type { Scene } from './scenes.ts'
import { HEDGING_SCENES, SCENES } from './scenes.ts'
import { Server, toRandom, VirtualTime, WORKERS } from './world.ts'

const END = '\n<!-- the end of the table -->'

/** Between which marks docs/upstreams.md has each table. */
export const MARKS: Readonly<Record<'policies' | 'hedging', readonly [begin: string, end: string]>> = {
  policies: ['<!-- npm run upstreams -->\n', END],
  hedging: ['<!-- npm run upstreams: hedging -->\n', END],
}

/** What one policy made of one scene. */
export interface Outcome {
  readonly calls: number
  /** The share of calls whose caller got a 2xx. */
  readonly success: number
  /** Of the calls that got a 2xx: 99 of 100 took no longer. Milliseconds. */
  readonly p99: number
  /** How many requests the busiest of the servers that are alike got, as a multiple of their mean. */
  readonly imbalance: number
  /** Requests that reached a server beyond one a call, as a share of the calls. */
  readonly extra: number
}

/** Each server and the policy have chance of their own, so that all policies meet the same servers and calls. */
export function play(scene: Scene, toPolicy: PolicyMaker, seed: number): Outcome {
  const time = new VirtualTime()
  const policy = toPolicy(time, toRandom(seed + 1))
  const servers: Server[] = []
  const join = (count: number): void => {
    for (let i = 0; i < count; i++) {
      const index = servers.length
      const server = new Server(
        `http://${index}.example`,
        time,
        toRandom(seed + 100 + index),
        scene.serviceTime,
        (now) => scene.toCondition(index, now),
      )
      servers.push(server)
      policy.add(server)
    }
  }
  join(scene.servers)
  const { joining, deaths, duration } = scene
  if (joining !== null) time.after(joining.at, () => join(joining.servers))
  for (const { server, at } of deaths) time.after(at, () => servers[server]?.die())
  for (let i = 0; i < scene.streams; i++) time.after((1_000 / scene.streams) * i, () => policy.openStream())
  let uncounted: readonly number[] = []
  time.after(scene.countedFrom, () => {
    uncounted = servers.map(({ requests }) => requests)
  })
  const latencies: number[] = []
  let calls = 0
  const arrivals = toRandom(seed)
  const gap = MEAN / (scene.servers * WORKERS * scene.load)
  const arrive = (): void => {
    if (time.now() >= duration) return
    calls++
    const beganAt = time.now()
    policy.call((isGood) => {
      if (isGood) latencies.push(time.now() - beganAt)
    })
    time.after(-Math.log(1 - arrivals()) * gap, arrive)
  }
  arrive()
  time.runUntil(duration + 60_000)
  const alike = servers
    .map(({ requests }, index) => requests - (uncounted[index] ?? 0))
    .filter((_, index) => scene.isAlike(index))
  const requests = servers.reduce((sum, server) => sum + server.requests, 0)
  latencies.sort((a, b) => a - b)
  return {
    calls,
    success: latencies.length / calls,
    p99: latencies[Math.floor(latencies.length * 0.99)] ?? Number.POSITIVE_INFINITY,
    imbalance: Math.max(...alike) / (alike.reduce((sum, count) => sum + count, 0) / alike.length),
    extra: Math.max(0, requests / calls - 1),
  }
}

/** The mean service time of all scenes. Milliseconds. */
const MEAN = 20

/** The scene, and what each policy made of it, by its name. */
export interface Comparison {
  readonly scene: Scene
  readonly outcomes: ReadonlyMap<string, Outcome>
}

/** An UpstreamPool, and other policies, in one scene. */
export function compare(scene: Scene, seed: number): Comparison {
  return playAll(scene, POLICIES, seed)
}

/** An UpstreamPool with hedging, and without, in one scene. */
export function compareHedging(scene: Scene, seed: number): Comparison {
  return playAll(scene, HEDGING, seed)
}

/** Both comparisons, in all of their scenes. */
export function compareAll(seed: number): Record<'policies' | 'hedging', Comparison[]> {
  return {
    policies: SCENES.map((scene) => compare(scene, seed)),
    hedging: HEDGING_SCENES.map((scene) => compareHedging(scene, seed)),
  }
}

function playAll(scene: Scene, policies: Readonly<Record<string, PolicyMaker>>, seed: number): Comparison {
  const outcomes = Object.entries(policies).map(
    ([name, toPolicy]) => [name, play(scene, toPolicy, seed)] as const,
  )
  return { scene, outcomes: new Map(outcomes) }
}

/** A column of the comparison. */
interface Column {
  readonly toText: (outcome: Outcome) => string
  /** Whether an outcome is more than 5 % worse than the best one. */
  readonly isWorse: (outcome: Outcome, all: readonly Outcome[]) => boolean
}

const COLUMNS: readonly Column[] = [
  {
    toText: ({ success }) => toPercent(success),
    isWorse: ({ success }, all) => success < 0.95 * Math.max(...all.map((other) => other.success)),
  },
  {
    toText: ({ p99 }) => p99.toFixed(0),
    isWorse: ({ p99 }, all) => p99 > 1.05 * Math.min(...all.map((other) => other.p99)),
  },
  {
    toText: ({ imbalance }) => imbalance.toFixed(2),
    isWorse: ({ imbalance }, all) => imbalance > 1.05 * Math.min(...all.map((other) => other.imbalance)),
  },
  {
    toText: ({ extra }) => toPercent(extra),
    // In percent of the calls: the best is often none.
    isWorse: ({ extra }, all) => extra > 0.05 + Math.min(...all.map((other) => other.extra)),
  },
]

function toPercent(share: number): string {
  return (100 * share).toFixed(1)
}

/** A table of docs/upstreams.md. */
export function toTable(comparisons: readonly Comparison[]): string {
  const names = [...(comparisons[0]?.outcomes.keys() ?? [])]
  const rows = comparisons.map(({ scene, outcomes }) => {
    const all = [...outcomes.values()]
    const cells = all.map((outcome) =>
      COLUMNS.map(({ toText, isWorse }) => `${toText(outcome)}${isWorse(outcome, all) ? '†' : ''}`).join(
        ' · ',
      ),
    )
    return [scene.title, ...cells]
  })
  return toMarkdown([['servers', ...names], ...rows])
}

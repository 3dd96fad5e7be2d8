/**
 * The process in which the clients' fuzzer plays its rounds. Another process watches it, and reports a hang or a crash.
 */

import { openSync, writeSync } from 'node:fs'
import type { EngineName } from '../../../types/index.ts'
import type { ModelName } from './model-plan.ts'
import type { Failure } from './player.ts'
import { Player } from './player.ts'
import { processTime } from './process-time.ts'

/** The arguments of such a process. */
export interface Orders {
  readonly engine: EngineName
  /** Null: peers that say anything at all. */
  readonly model: ModelName | null
  readonly seed: number
  /** To the next seed. */
  readonly step: number
  /** In place of the two; null for none. */
  readonly seeds: readonly number[] | null
  readonly rounds: number
  readonly seconds: number
  readonly keepsGoing: boolean
  readonly isVerbose: boolean
  /** Whether garbage is collected after each round: then a crash of a collection belongs to its seed. */
  readonly collects: boolean
  /** A file: the seed that was begun last, and how many were played. */
  readonly progress: string
}

/** Rounds between two looks at the memory, and which one is the first that counts. */
const LOOK_EVERY = 2_000
const FIRST_LOOK = 2
/** Bytes that the memory may have grown by since then. */
const MAX_GROWTH = 10e6
/** Digits of a number in the progress file. */
const WIDTH = 16

/** The memory in use once all garbage is gone, in bytes. */
async function measure(): Promise<number> {
  let least = Number.POSITIVE_INFINITY
  for (let count = 0; count < 6; count++) {
    // What sockets leave to later turns, and V8's own threads, come between two collections.
    for (let turns = 0; turns < 20; turns++) await new Promise((resolve) => setImmediate(resolve))
    globalThis.gc?.()
    const { heapUsed, external } = process.memoryUsage()
    least = Math.min(least, heapUsed + external)
  }
  return least
}

/** As a process does: what is young first. */
async function collect(): Promise<void> {
  for (const type of ['minor', 'minor', 'minor', 'major'] as const) {
    for (let turns = 0; turns < 3; turns++) await new Promise((resolve) => setImmediate(resolve))
    globalThis.gc?.({ type, execution: 'sync' })
  }
}

/** The resources that keep the process alive, without those that come and go by themselves. */
function toResources(): string {
  const passing = ['CloseReq', 'Immediate', 'PipeWrap', 'TTYWrap', 'TickObject', 'Timeout']
  const names = process.getActiveResourcesInfo().filter((name) => !passing.includes(name))
  return names.sort().join(', ')
}

/** Checks the memory and the open resources from time to time. */
class Scale {
  readonly #resources = toResources()
  #looks = 0
  #first = 0

  /** The failure; null if there is none. */
  async look(rounds: number): Promise<string | null> {
    if (globalThis.gc === undefined || rounds % LOOK_EVERY !== 0) return null
    const bytes = await measure()
    const resources = toResources()
    if (resources !== this.#resources) return `left open: ${resources}; at first: ${this.#resources}`
    if (++this.#looks <= FIRST_LOOK) this.#first = bytes
    const growth = bytes - this.#first
    if (growth <= MAX_GROWTH) return null
    this.#first = bytes
    return `the memory has grown by ${(growth / 1e6).toFixed(1)} MB to ${(bytes / 1e6).toFixed(1)} MB`
  }
}

function print(failure: Failure, { engine, model }: Orders): void {
  const { seed, faults, plan } = failure
  process.stdout.write(`\nSeed ${seed}, engine ${engine}, Node ${process.versions.node}:\n`)
  process.stdout.write(`${faults.map((fault) => `  ${fault}`).join('\n')}\n\n${plan}\n\n`)
  process.stdout.write(
    `Alone: npm run fuzz -- ${model === null ? '--clients' : `--model ${model}`} --engine ${engine} --seed ${seed} --rounds 1 --verbose\n`,
  )
}

/** Failures by their text, without its numbers. */
class Summary {
  readonly #kinds = new Map<string, { first: string; seeds: number[] }>()

  add({ seed, faults }: Failure): void {
    for (const fault of new Set(faults)) {
      const kind = fault
        .replace(/^\[.*?\]/, '')
        .replace(/\d+/g, '#')
        .slice(0, 200)
      const known = this.#kinds.get(kind) ?? { first: fault, seeds: [] }
      known.seeds.push(seed)
      this.#kinds.set(kind, known)
    }
  }

  get isEmpty(): boolean {
    return this.#kinds.size === 0
  }

  print(): void {
    const kinds = [...this.#kinds.values()].sort((one, other) => other.seeds.length - one.seeds.length)
    for (const { first, seeds } of kinds)
      process.stdout.write(`${seeds.length} × ${first}\n    seeds ${seeds.slice(0, 8).join(', ')}\n`)
  }
}

/** Plays the rounds of its orders. The exit code is 1 when one has failed. */
export async function runChild(orders: Orders): Promise<void> {
  const { engine, model, seed, seeds, step, rounds, seconds, keepsGoing, isVerbose, collects } = orders
  const progress = openSync(orders.progress, 'w')
  const end = processTime.real + seconds * 1_000
  const player = await Player.start()
  if (isVerbose) player.log((line) => process.stdout.write(`${line}\n`))
  const scale = new Scale()
  const summary = new Summary()
  let played = 0
  for (; played < rounds && processTime.real < end; played++) {
    const current = seeds?.[played] ?? seed + played * step
    writeSync(progress, `${`${current}`.padStart(WIDTH)}${`${played}`.padStart(WIDTH)}`, 0)
    const failure = await player.play(current, engine, model)
    if (failure !== null) {
      summary.add(failure)
      if (!keepsGoing) {
        print(failure, orders)
        break
      }
    }
    if (collects) await collect()
    const leak = await scale.look(played + 1)
    if (leak !== null) summary.add({ seed: current, faults: [leak], plan: '' })
    if (leak !== null && !keepsGoing) break
  }
  writeSync(progress, `${`${seed}`.padStart(WIDTH)}${`${played}`.padStart(WIDTH)}`, 0)
  summary.print()
  process.exit(summary.isEmpty ? 0 : 1)
}

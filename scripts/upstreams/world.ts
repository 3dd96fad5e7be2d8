/**
 * Virtual time, chance, and servers: what the policies are played against.
 *
 * @module
 */

import type { Alarm, Clock, OnAlarm } from '../../src/core/clock.ts'
import { makeRandom } from '../random.mjs'

/** Gives the same numbers, from 0 to below 1, for the same seed. */
export function toRandom(seed: number): () => number {
  return makeRandom(seed).next
}

/** One thing that happens, at a time. */
class Happening implements Alarm {
  readonly at: number
  /** Breaks ties: what was planned first happens first. */
  readonly sequence: number
  /** Null once it has happened, or was cancelled. */
  run: OnAlarm | null

  constructor(at: number, sequence: number, run: OnAlarm) {
    this.at = at
    this.sequence = sequence
    this.run = run
  }

  cancel(): void {
    this.run = null
  }

  /** Virtual time keeps no process alive. */
  setRef(): void {}
}

/** A clock that jumps from one happening to the next one. Milliseconds. */
export class VirtualTime implements Clock {
  /** A binary heap: the earliest is first. */
  readonly #heap: Happening[] = []
  #now = 0
  #sequence = 0

  now(): number {
    return this.#now
  }

  after(delay: number, run: OnAlarm): Alarm {
    const happening = new Happening(this.#now + delay, this.#sequence++, run)
    const heap = this.#heap
    let index = heap.push(happening) - 1
    while (index > 0) {
      const parent = (index - 1) >> 1
      const above = heap[parent]
      if (above === undefined || !isBefore(happening, above)) break
      heap[index] = above
      index = parent
    }
    heap[index] = happening
    return happening
  }

  /** Lets all happen that is due until then. */
  runUntil(end: number): void {
    for (let next = this.#heap[0]; next !== undefined && next.at <= end; next = this.#heap[0]) {
      this.#shift()
      this.#now = next.at
      next.run?.(next.at)
    }
    this.#now = end
  }

  /** Takes the first off the heap. */
  #shift(): void {
    const heap = this.#heap
    const last = heap.pop()
    if (last === undefined || heap.length === 0) return
    let index = 0
    for (;;) {
      const left = 2 * index + 1
      const [one, two] = [heap[left], heap[left + 1]]
      if (one === undefined) break
      const isRight = two !== undefined && isBefore(two, one)
      const child = isRight ? two : one
      if (!isBefore(child, last)) break
      heap[index] = child
      index = isRight ? left + 1 : left
    }
    heap[index] = last
  }
}

function isBefore(a: Happening, b: Happening): boolean {
  return a.at < b.at || (a.at === b.at && a.sequence < b.sequence)
}

/** What becomes of a request at a server. */
export type Reply =
  | { readonly kind: 'response'; readonly status: number; readonly retryAfter: number | null }
  /** No connection. */
  | { readonly kind: 'refused' }
  /** The connection was lost with the request on it. */
  | { readonly kind: 'lost' }

/** How a server does at a time. */
export interface Condition {
  /** - `up`: it works; `down`: it refuses connections; `silent`: it takes requests, and says nothing */
  readonly state: 'up' | 'down' | 'silent'
  /** How many times as long as usual a request takes. */
  readonly slowness: number
  /** The share of requests that get 500, at once. */
  readonly errors: number
  /** So many requests may wait for a worker; a further one gets 429 with `retry-after: 2`. Infinity: no limit. */
  readonly queue: number
}

/** A server that is well. */
export const WELL: Condition = { state: 'up', slowness: 1, errors: 0, queue: Number.POSITIVE_INFINITY }

/** How long a request takes a worker. Milliseconds. */
export type ServiceTime = (random: () => number) => number

/** About the mean `mean`, with the spread of most services: the 99th percentile is 3.2 times the median. */
export function lognormal(mean: number, sigma = 0.5): ServiceTime {
  const mu = Math.log(mean) - sigma ** 2 / 2
  return (random) => {
    const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
    return Math.exp(mu + sigma * normal)
  }
}

/** One request in a hundred takes 20 times as long. */
export function heavyTailed(mean: number): ServiceTime {
  const usual = lognormal(mean / 1.19)
  return (random) => usual(random) * (random() < 0.01 ? 20 : 1)
}

/** How many requests a server works on at a time: the others wait. */
export const WORKERS = 4
/** To a server and back. Milliseconds. */
const NETWORK = 0.5

interface Job {
  readonly onReply: (reply: Reply) => void
  isOver: boolean
}

/** A server with some workers and a queue. */
export class Server {
  readonly name: string
  readonly #time: VirtualTime
  readonly #random: () => number
  readonly #serviceTime: ServiceTime
  readonly #toCondition: (now: number) => Condition
  readonly #waiting: Job[] = []
  readonly #jobs = new Set<Job>()
  #busy = 0
  /** Requests that have arrived. */
  requests = 0

  constructor(
    name: string,
    time: VirtualTime,
    random: () => number,
    serviceTime: ServiceTime,
    toCondition: (now: number) => Condition,
  ) {
    this.name = name
    this.#time = time
    this.#random = random
    this.#serviceTime = serviceTime
    this.#toCondition = toCondition
  }

  get #condition(): Condition {
    return this.#toCondition(this.#time.now())
  }

  /** Sends it a request. @returns the client resets the stream: a worker that has begun it goes on */
  handle(onReply: (reply: Reply) => void): () => void {
    const { state, errors, queue } = this.#condition
    const job: Job = { onReply, isOver: false }
    if (state === 'down') {
      this.#time.after(NETWORK, () => onReply({ kind: 'refused' }))
      return () => {}
    }
    this.requests++
    if (state === 'silent') {
      this.#jobs.add(job)
    } else if (errors > 0 && this.#random() < errors) {
      this.#respond(job, 500, null)
    } else if (this.#waiting.length >= queue) {
      this.#respond(job, 429, 2)
    } else {
      this.#jobs.add(job)
      this.#waiting.push(job)
      this.#work()
    }
    return () => {
      const index = this.#waiting.indexOf(job)
      if (index !== -1) this.#waiting.splice(index, 1)
    }
  }

  /** The process ends: all connections are lost. */
  die(): void {
    for (const job of this.#jobs) this.#end(job, { kind: 'lost' })
    this.#waiting.length = 0
    this.#busy = 0
  }

  #work(): void {
    while (this.#busy < WORKERS) {
      const job = this.#waiting.shift()
      if (job === undefined) return
      this.#busy++
      this.#time.after(this.#serviceTime(this.#random) * this.#condition.slowness, () => {
        // It has died meanwhile.
        if (job.isOver) return
        this.#busy--
        this.#end(job, { kind: 'response', status: 200, retryAfter: null })
        this.#work()
      })
    }
  }

  #respond(job: Job, status: number, retryAfter: number | null): void {
    this.#time.after(1, () => this.#end(job, { kind: 'response', status, retryAfter }))
  }

  #end(job: Job, reply: Reply): void {
    if (job.isOver) return
    job.isOver = true
    this.#jobs.delete(job)
    this.#time.after(NETWORK, () => job.onReply(reply))
  }
}

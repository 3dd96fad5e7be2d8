/**
 * A load from beginning to end, in all its threads.
 *
 * @module
 */

import type { LoadFigures, LoadSpec, ThreadResult } from './load-job.ts'
import { toJobs } from './load-job.ts'
import { Tally } from './tally.ts'
import { ThreadHandle } from './thread-handle.ts'
import type { ByteCount } from './wire-bytes.ts'

/** A load's results, from all threads. */
export interface LoadResult extends LoadFigures {
  readonly tally: Tally
  /** The bytes on the connections, without TLS. */
  readonly bytes: ByteCount
  /** The fraction of the time in which the busiest thread's event loop was busy, from 0 to 1. */
  readonly utilization: number
  /** How many streams each session may have, as the peer allows. */
  readonly streams: number
  /** Whether the user ended it early. */
  readonly isInterrupted: boolean
  /** Why workers ended without a result. The figures don't include what they did. */
  readonly lostWorkers: readonly string[]
}

/** How far a load is. */
export interface LoadProgress {
  readonly responses: number
  readonly failures: number
}

/** One load's threads. */
export class LoadThreads {
  readonly #threads: readonly ThreadHandle[]
  #isInterrupted = false

  /** Starts to open the sessions. */
  constructor(spec: LoadSpec) {
    const jobs = toJobs(spec)
    this.#threads = jobs.map((job) =>
      jobs.length === 1 ? ThreadHandle.here(job) : ThreadHandle.inWorker(job),
    )
  }

  get progress(): LoadProgress {
    return {
      responses: toSum(this.#threads, ({ responses }) => responses),
      failures: toSum(this.#threads, ({ failures }) => failures),
    }
  }

  /** Ends it at once, with the results so far. */
  interrupt(): void {
    this.#isInterrupted = true
    this.#post('cut')
  }

  /**
   * @returns how many streams each session may have, once all are open
   * @throws CliError if they can't be opened
   */
  async open(): Promise<number> {
    try {
      return Math.min(...(await Promise.all(this.#threads.map(({ ready }) => ready))))
    } catch (error) {
      this.#post('cut')
      await Promise.all(this.#threads.map(({ done }) => done))
      throw error
    }
  }

  /** Sends the requests, once all sessions are open. */
  async run(streams: number): Promise<LoadResult> {
    this.#post('start')
    const ends = await Promise.all(this.#threads.map(({ done }) => done))
    const results = ends.filter((end): end is ThreadResult => !(end instanceof Error))
    const lostWorkers = ends.filter((end) => end instanceof Error).map(({ message }) => message)
    return { ...toTotal(results), streams, isInterrupted: this.#isInterrupted, lostWorkers }
  }

  #post(order: 'start' | 'cut'): void {
    for (const thread of this.#threads) thread.post(order)
  }
}

function toTotal(results: readonly ThreadResult[]) {
  const tally = new Tally()
  for (const result of results) tally.merge(result.tally)
  return {
    tally,
    elapsed: Math.max(0, ...results.map(({ elapsed }) => elapsed)),
    lasted: Math.max(0, ...results.map(({ lasted }) => lasted)),
    inTime: toSum(results, ({ inTime }) => inTime),
    unsent: toSum(results, ({ unsent }) => unsent),
    mostWaiting: toSum(results, ({ mostWaiting }) => mostWaiting),
    sentLate: toSum(results, ({ sentLate }) => sentLate),
    utilization: Math.max(0, ...results.map(({ utilization }) => utilization)),
    unfinished: toSum(results, ({ unfinished }) => unfinished),
    bytes: {
      received: toSum(results, ({ bytes }) => bytes.received),
      sent: toSum(results, ({ bytes }) => bytes.sent),
    },
  }
}

function toSum<T>(items: readonly T[], toFigure: (item: T) => number): number {
  return items.reduce((sum, item) => sum + toFigure(item), 0)
}

/**
 * What the threads of a load are told, and what they tell.
 *
 * @module
 */

import type { ExitCode } from '../cli-error.ts'
import type { TrustOptions } from '../request-options.ts'
import type { Pace } from './pacer.ts'
import { toPace } from './pacer.ts'
import type { TallyData } from './tally.ts'
import type { ByteCount } from './wire-bytes.ts'

/** All that a load is to do. Durations in milliseconds. */
export interface LoadSpec {
  readonly origin: string
  /** With their queries; they are asked in turn. */
  readonly paths: readonly string[]
  /** Where to connect in place of the origin's host; null: there. */
  readonly address: { readonly addresses: readonly string[]; readonly port: number } | null
  readonly method: string
  /** Names and values in turn. */
  readonly headers: readonly string[]
  /** Null for none. */
  readonly body: Uint8Array | null
  readonly trust: TrustOptions
  /** Of each request, and of connecting. */
  readonly timeout: number
  readonly sessions: number
  /** Of each session; the peer may allow fewer. */
  readonly streams: number
  /** How many threads. */
  readonly workers: number
  /** Null for any number. */
  readonly requests: number | null
  /** Null for any time. */
  readonly duration: number | null
  /** How long requests are sent before those that count; 0: none. */
  readonly warmUp: number
  /** Requests a second; null: as many as the sessions take. */
  readonly rate: number | null
}

/** The part of a {@link LoadSpec} that one thread does. */
export interface LoadJob extends Omit<LoadSpec, 'workers' | 'rate'> {
  readonly pace: Pace | null
}

/** From the main thread. `start` comes once all threads are ready; `cut` ends the run at once. */
export type LoadOrder = 'start' | 'cut'

/** From a thread. */
export type LoadNews =
  /** Its sessions are open. `streams`: of each of them, as the peer allows. */
  | { readonly type: 'ready'; readonly streams: number }
  /** Now and then, of the requests that count. */
  | { readonly type: 'progress'; readonly responses: number; readonly failures: number }
  /** No session could be opened. Nothing else comes. */
  | { readonly type: 'failed'; readonly message: string; readonly exitCode: ExitCode }
  /** The end. */
  | { readonly type: 'done'; readonly result: ThreadResult }

/** What came of a load, in one thread or in all of them. Durations in milliseconds. */
export interface LoadFigures {
  /** The time in which requests were sent: the duration, or up to the last end of a request. */
  readonly elapsed: number
  /**
   * {@link LoadFigures.elapsed}, and the time in which what was in flight then was waited for. The bytes came in this
   * time.
   */
  readonly lasted: number
  /** Responses that ended while requests were sent. */
  readonly inTime: number
  /** Requests that were due, and were never sent: they had to wait too long for a stream. */
  readonly unsent: number
  /** The most requests that were due and waited for a stream at the same time. */
  readonly mostWaiting: number
  /** With a rate: requests that the client itself sent late, although a stream was free. */
  readonly sentLate: number
  /** Requests that had not ended when the load was cut. */
  readonly unfinished: number
}

/** What one thread has to report. */
export interface ThreadResult extends LoadFigures {
  readonly tally: TallyData
  /** On its connections, without TLS. */
  readonly bytes: ByteCount
  /** The share of the time in which its event loop was busy, from 0 to 1. */
  readonly utilization: number
}

/** Divides the work among the threads. */
export function toJobs(spec: LoadSpec): LoadJob[] {
  const { workers, rate, ...rest } = spec
  return Array.from({ length: workers }, (_, thread) => ({
    ...rest,
    sessions: toShare(spec.sessions, thread, workers),
    requests: spec.requests === null ? null : toShare(spec.requests, thread, workers),
    pace: rate === null ? null : toPace(rate, thread, workers),
  }))
}

/** The first threads get what is left over. */
function toShare(total: number, thread: number, threads: number): number {
  return Math.floor(total / threads) + (thread < total % threads ? 1 : 0)
}

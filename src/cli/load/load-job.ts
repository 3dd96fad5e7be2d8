/**
 * The messages to and from a load's threads.
 *
 * @module
 */

import type { ExitCode } from '../cli-error.ts'
import type { TrustOptions } from '../request-options.ts'
import type { Pace } from './pacer.ts'
import { toPace } from './pacer.ts'
import type { TallyData } from './tally.ts'
import type { ByteCount } from './wire-bytes.ts'

/** Everything that a load has to do. Durations are in milliseconds. */
export interface LoadSpec {
  readonly origin: string
  /** With their queries; they are requested in turn. */
  readonly paths: readonly string[]
  /** Where to connect instead of the origin's host; null: there. */
  readonly address: { readonly addresses: readonly string[]; readonly port: number } | null
  readonly method: string
  /** Names and values, alternating. */
  readonly headers: readonly string[]
  /** Null for none. */
  readonly body: Uint8Array | null
  readonly trust: TrustOptions
  /** For each request, and for connecting. */
  readonly timeout: number
  readonly sessions: number
  /** On each session; the peer may allow fewer. */
  readonly streams: number
  /** How many threads. */
  readonly workers: number
  /** Null for any number. */
  readonly requests: number | null
  /** Null for any time. */
  readonly duration: number | null
  /** How long requests are sent before those that count; 0: not at all. */
  readonly warmUp: number
  /** Requests per second; null: as many as the sessions accept. */
  readonly rate: number | null
}

/** One thread's part of a {@link LoadSpec}. */
export interface LoadJob extends Omit<LoadSpec, 'workers' | 'rate'> {
  readonly pace: Pace | null
}

/** From the main thread. `start` follows once all threads are ready; `cut` ends the run at once. */
export type LoadOrder = 'start' | 'cut'

/** From a thread. */
export type LoadNews =
  /** Its sessions are open. `streams`: how many each of them may have, as the peer allows. */
  | { readonly type: 'ready'; readonly streams: number }
  /** Sent now and then, about the requests that count. */
  | { readonly type: 'progress'; readonly responses: number; readonly failures: number }
  /** No session could be opened. Nothing else follows. */
  | { readonly type: 'failed'; readonly message: string; readonly exitCode: ExitCode }
  /** The end. */
  | { readonly type: 'done'; readonly result: ThreadResult }

/** A load's results, in one thread or in all. Durations are in milliseconds. */
export interface LoadFigures {
  /** For how long requests were sent: the duration, or until the last request ended. */
  readonly elapsed: number
  /**
   * {@link LoadFigures.elapsed}, and how long it then waited for what was in flight. The bytes arrived in this time.
   */
  readonly lasted: number
  /** Responses that ended while requests were sent. */
  readonly inTime: number
  /** Requests that were due but never sent, because they had to wait too long for a stream. */
  readonly unsent: number
  /** The most requests that were due and waited for a stream at the same time. */
  readonly mostWaiting: number
  /** With a rate: requests that the client itself sent late, although a stream was free. */
  readonly sentLate: number
  /** Requests that hadn't ended when the load was cut. */
  readonly unfinished: number
}

/** One thread's report. */
export interface ThreadResult extends LoadFigures {
  readonly tally: TallyData
  /** The bytes on its connections, without TLS. */
  readonly bytes: ByteCount
  /** The fraction of the time in which its event loop was busy, from 0 to 1. */
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

/** The first threads get the remainder. */
function toShare(total: number, thread: number, threads: number): number {
  return Math.floor(total / threads) + (thread < total % threads ? 1 : 0)
}

/**
 * What one thread of a load does, whichever thread that is.
 *
 * @module
 */

import type { MessagePort } from 'node:worker_threads'
import type { DispatchOptions } from '../../../types/request.ts'
import { noop } from '../../core/noop.ts'
import { EXIT } from '../cli-error.ts'
import { toExitCode } from './failure.ts'
import { loadClock } from './load-clock.ts'
import type { LoadJob, LoadNews, LoadOrder, ThreadResult } from './load-job.ts'
import type { LoadOutcome, LoadPlan } from './load-run.ts'
import { LoadRun } from './load-run.ts'
import { Sessions } from './sessions.ts'
import type { ByteCount } from './wire-bytes.ts'
import { WireBytes } from './wire-bytes.ts'

/** The client's advice names client options that the command line doesn't have. */
const ADVICE = /(?::|\. If it speaks HTTP\/1\.1,) use h2c: false, or an Agent| \(h2c: false\)/

/** How often a thread reports its progress, in milliseconds. */
const PROGRESS_INTERVAL = 100

/** Does a job to its end, following the orders that arrive, and reports the results. */
export class LoadThread {
  readonly #job: LoadJob
  readonly #port: MessagePort
  readonly #options: readonly DispatchOptions[]
  #run: LoadRun | null = null
  readonly #cut = new AbortController()
  #onStart: () => void = noop
  readonly #started = new Promise<void>((resolve) => {
    this.#onStart = resolve
  })

  constructor(job: LoadJob, port: MessagePort) {
    this.#job = job
    this.#port = port
    const { paths, method, body } = job
    // Read by each request, and never changed. A body is sent as it is, not copied.
    this.#options = paths.map((path) => ({ path, method, headers: [...job.headers], body }))
    port.on('message', (order: LoadOrder) => this.#obey(order))
  }

  /** Settles after the last news. */
  async work(): Promise<void> {
    const bytes = new WireBytes(this.#job.origin)
    try {
      const sessions = await Sessions.open(this.#job, this.#options, this.#cut.signal)
      this.#tell({ type: 'ready', streams: Math.min(...sessions.lanes.map(({ streams }) => streams)) })
      await this.#started
      await this.#warmUp(sessions)
      const before = bytes.read()
      const loop = performance.eventLoopUtilization()
      const outcome = await this.#measure(sessions)
      const { utilization } = performance.eventLoopUtilization(loop)
      const result = toResult(outcome, utilization, before, bytes.read())
      await sessions.destroy()
      this.#tell({ type: 'done', result })
    } catch (error) {
      this.#tell(toFailed(error, this.#job.timeout))
    } finally {
      bytes.close()
      this.#port.close()
    }
  }

  #obey(order: LoadOrder): void {
    if (order === 'cut') {
      this.#cut.abort()
      this.#run?.cut()
    }
    this.#onStart()
  }

  async #warmUp(sessions: Sessions): Promise<void> {
    const { warmUp, pace } = this.#job
    if (warmUp > 0) await this.#begin(sessions, { requests: null, duration: warmUp, pace }).outcome
  }

  async #measure(sessions: Sessions): Promise<LoadOutcome> {
    const run = this.#begin(sessions, this.#job)
    const timer = setInterval(() => this.#tell({ type: 'progress', ...run.progress }), PROGRESS_INTERVAL)
    try {
      return await run.outcome
    } finally {
      clearInterval(timer)
    }
  }

  #begin(sessions: Sessions, plan: LoadPlan): LoadRun {
    const isCut = this.#cut.signal.aborted
    const wanted = isCut ? { ...plan, requests: 0 } : plan
    const run = new LoadRun(sessions.lanes, this.#options, wanted, loadClock)
    this.#run = run
    if (isCut) run.cut()
    return run
  }

  #tell(news: LoadNews): void {
    this.#port.postMessage(news)
  }
}

/** @param timeout a request's timeout, in milliseconds */
function toFailed(error: unknown, timeout: number): LoadNews {
  const exitCode = toExitCode(error)
  const own = (error instanceof Error ? error.message : String(error)).replace(ADVICE, '')
  // The client's error names one of the client's options.
  const message = exitCode === EXIT.timeout ? `no response within --timeout, ${timeout} ms` : own
  return { type: 'failed', message, exitCode }
}

function toResult(
  outcome: LoadOutcome,
  utilization: number,
  before: ByteCount,
  after: ByteCount,
): ThreadResult {
  const { tally, ...figures } = outcome
  const bytes = { received: after.received - before.received, sent: after.sent - before.sent }
  return { ...figures, tally: tally.toData(), bytes, utilization }
}

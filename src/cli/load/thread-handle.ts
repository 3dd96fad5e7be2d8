/**
 * A load's thread, as the main thread sees it.
 *
 * @module
 */

import { MessageChannel, Worker } from 'node:worker_threads'
import { noop } from '../../core/noop.ts'
import { CliError, EXIT } from '../cli-error.ts'
import type { LoadJob, LoadNews, LoadOrder, ThreadResult } from './load-job.ts'
import { LoadThread } from './load-thread.ts'

/** The part of a MessagePort or a Worker that is used. */
interface Port {
  postMessage(order: LoadOrder): void
  on(event: 'message', listener: (news: LoadNews) => void): unknown
}

/** A job in progress. */
export class ThreadHandle {
  /** How many streams the peer allows on each session. Rejects with a CliError if no session could be opened. */
  readonly ready: Promise<number>
  /** The result, or why there is none. It doesn't reject. */
  readonly done: Promise<ThreadResult | Error>
  responses = 0
  failures = 0
  readonly #port: Port
  #onReady: (streams: number) => void = noop
  #onFailed: (error: Error) => void = noop
  #onDone: (result: ThreadResult | Error) => void = noop

  private constructor(port: Port) {
    this.#port = port
    this.ready = new Promise((resolve, reject) => {
      this.#onReady = resolve
      this.#onFailed = reject
    })
    this.done = new Promise((resolve) => {
      this.#onDone = resolve
    })
    port.on('message', (news) => this.#hear(news))
  }

  /** Starts a job in this thread. */
  static here(job: LoadJob): ThreadHandle {
    const { port1, port2 } = new MessageChannel()
    const handle = new ThreadHandle(port1)
    // It reports its errors through the port.
    void new LoadThread(job, port2).work()
    return handle
  }

  /** Starts a job in another thread, which runs `worker.ts`. Available once dist/ is built. */
  static inWorker(job: LoadJob): ThreadHandle {
    const worker = new Worker(new URL('./cli-worker.js', import.meta.url), { workerData: job })
    const handle = new ThreadHandle(worker)
    worker.on('error', (error) => handle.#end(error instanceof Error ? error : new Error(String(error))))
    worker.on('exit', (code) => handle.#end(new Error(`it ended early, with exit code ${code}`)))
    return handle
  }

  post(order: LoadOrder): void {
    this.#port.postMessage(order)
  }

  #hear(news: LoadNews): void {
    if (news.type === 'ready') this.#onReady(news.streams)
    else if (news.type === 'failed') this.#end(new CliError(news.message, news.exitCode))
    else if (news.type === 'done') this.#onDone(news.result)
    else {
      this.responses = news.responses
      this.failures = news.failures
    }
  }

  /** Without a result. No effect after one. */
  #end(error: Error): void {
    this.#onFailed(error instanceof CliError ? error : new CliError(error.message, EXIT.failure))
    this.#onDone(error)
  }
}

/**
 * `dodici load`'s worker, which acts when it is imported: built as `dist/parts/cli-worker.js`.
 *
 * @module
 */

import { parentPort, workerData } from 'node:worker_threads'
import type { LoadJob } from './load-job.ts'
import { LoadThread } from './load-thread.ts'

if (parentPort !== null) await new LoadThread(workerData as LoadJob, parentPort).work()

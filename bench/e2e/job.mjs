/** What the processes that are measured have in common: a client that is opened, its load, and a meter of the heap. */
import { readFileSync } from 'node:fs'
import { GCProfiler, getHeapStatistics } from 'node:v8'
import { clientNamed } from './clients/index.mjs'

/**
 * What a process needs to know to open one client and to send its requests.
 *
 * @typedef {object} ClientJob
 * @property {string} client
 * @property {string} api
 * @property {string | null} entry the file of a build to load in place of the client's package
 * @property {string[]} origins
 * @property {string | null} caFile
 * @property {string} path
 * @property {string} method
 * @property {string} authority where a tunnel shall lead to
 * @property {number} bodyBytes
 * @property {boolean} isStreamed the body is sent from a Readable
 * @property {number | null} connections to each origin; null: as many as the client likes
 * @property {number} maxStreams
 * @property {number} responseBytes
 * @property {number} inFlight
 */

/** Opens the client of a job. @param {ClientJob} job */
export async function openJob(job) {
  const { engine, label, load } = clientNamed(job.client)
  if (load === undefined) throw new Error(`${label} is another program`)
  const { api, entry, maxStreams, origins, path, method, authority, bodyBytes } = job
  const ca = job.caFile === null ? undefined : readFileSync(job.caFile, 'utf8')
  const connections = job.connections ?? 1
  const client = await (await load()).open(origins, { connections, maxStreams, ca, engine, api, entry })
  const start = client.apis[api]
  if (start === undefined) throw new Error(`${label} has no API ${api}`)
  const body = bodyBytes === 0 ? null : Buffer.alloc(bodyBytes, 'a')
  const isStreamed = job.isStreamed && body !== null
  /** One for each origin. @type {import('./clients/index.mjs').Target[]} */
  const targets = origins.map((origin) => ({
    // A client that was opened for one origin is told it once.
    origin: origins.length === 1 ? undefined : origin,
    ...{ path, url: `${origin}${path}`, method, body, isStreamed, authority },
  }))
  return { client, start, targets }
}

/**
 * Counts what is allocated on V8's heap while it runs: what was there before each collection, less what the one before had left. Memory
 * outside of that heap, such as that of Buffers, isn't in it.
 */
export class HeapMeter {
  #profiler = new GCProfiler()
  #before = 0

  start() {
    this.#profiler.start()
    this.#before = getHeapStatistics().used_heap_size
  }

  stop() {
    const after = getHeapStatistics().used_heap_size
    const { statistics } = this.#profiler.stop()
    let last = this.#before
    let bytes = 0
    let gcMicros = 0
    for (const { beforeGC, afterGC, cost } of statistics) {
      bytes += beforeGC.heapStatistics.usedHeapSize - last
      last = afterGC.heapStatistics.usedHeapSize
      gcMicros += cost
    }
    return { bytes: bytes + after - last, gcMicros, collections: statistics.length }
  }
}

/**
 * Counts the bytes of heap that one path allocates for a request, in a process of its own: no garbage is collected here
 * (the young generation has room for all of it), so what is in use grows by what is allocated. Writes one number.
 *
 * Buffers' memory isn't heap, and isn't counted.
 */
import { GCProfiler, getHeapStatistics } from 'node:v8'
import { median } from '../e2e/statistics.mjs'
import { ANSWER_BYTES, paths } from './paths.mjs'

/**
 * @typedef {object} Job
 * @property {string} path
 * @property {string} origin
 * @property {string} dodici the file of a build
 * @property {number} extra numbers in an array that is made for each request besides, to try the meter itself
 */

/** @type {Job} */
const job = JSON.parse(process.argv[2] ?? '{}')

const IN_FLIGHT = 100
/** The optimizer's last step comes after some 5,000 requests: it takes out 1 to 4 % of the allocations. */
const WARMUP = 6_000
/** Of these the median counts: one of them may have grown a table, or compiled something late. */
const WINDOWS = 5
const WINDOW = 400

const open = paths[job.path]
if (open === undefined) throw new Error(`There is no path ${job.path}`)
const { start, close } = await open(job.origin, job.dodici)

/** Kept, so that the optimizer can't do without it. @type {number[]} */
let sink = []

/** @param {number} count */
function run(count) {
  return new Promise((resolve, reject) => {
    let started = 0
    let responded = 0

    /** @type {import('./paths.mjs').Done} */
    const done = (error, status, bytes) => {
      if (error !== null || status !== 200 || bytes !== ANSWER_BYTES) {
        reject(error ?? new Error(`A wrong response: status ${status}, ${bytes} bytes`))
      } else if (++responded === count) {
        resolve(sink)
      } else if (started < count) {
        next()
      }
    }

    function next() {
      started++
      if (job.extra > 0) sink = new Array(job.extra).fill(started)
      start(done)
    }

    while (started < IN_FLIGHT) next()
  })
}

const profiler = new GCProfiler()
profiler.start()
await run(WARMUP)
const figures = []
for (let window = 0; window < WINDOWS; window++) {
  const before = getHeapStatistics().used_heap_size
  await run(WINDOW)
  figures.push((getHeapStatistics().used_heap_size - before) / WINDOW)
}
const { length: collections } = profiler.stop().statistics
if (collections > 0)
  throw new Error(`The figure is worth nothing: garbage was collected ${collections} times`)
await close()

process.stdout.write(`${Math.round(median(figures))}\n`)

/**
 * Looks at the memory of one process, and writes what it saw as JSON: while it sends very many requests, or as it opens very many
 * connections. Started with `--expose-gc`.
 */
import { getHeapSpaceStatistics } from 'node:v8'
import { openJob } from '../e2e/job.mjs'
import { Load } from '../e2e/load.mjs'

/**
 * @typedef {object} Sample in bytes
 * @property {number} requests before it
 * @property {number} heap used on V8's heap
 * @property {number} external memory of Buffers, and other memory that V8 knows of
 * @property {number} resident
 * @property {number} young what V8 has committed for new objects
 * @property {number} old what it has committed for all others
 *
 * @typedef {object} ScaleJob
 * @property {'requests' | 'connections'} what
 * @property {number} requests of `requests`
 * @property {number} step so many between two samples
 * @property {number} warm of `connections`: so many origins are not counted; the code gets compiled by their requests
 */

/** @type {import('../e2e/job.mjs').ClientJob & ScaleJob} */
const job = JSON.parse(process.argv[2])
const { start, targets } = await openJob(job)
const { inFlight, responseBytes, requests, step, warm } = job

/** @param {import('../e2e/clients/index.mjs').Target[]} some */
const toLoad = (some) => new Load(start, { targets: some, inFlight, responseBytes, pattern: 'steady' })

/** @param {number} sent @returns {Sample} */
function look(sent) {
  const { heapUsed: heap, external, rss: resident } = process.memoryUsage()
  let young = 0
  let old = 0
  for (const { space_name, space_size } of getHeapSpaceStatistics()) {
    if (space_name.startsWith('new')) young += space_size
    else old += space_size
  }
  return { requests: sent, heap, external, resident, young, old }
}

async function collect() {
  if (globalThis.gc === undefined) throw new Error('it needs --expose-gc')
  // The second collection takes what the finalizers of the first have let go.
  globalThis.gc()
  await new Promise((resolve) => setImmediate(resolve))
  globalThis.gc()
}

/** Nothing is collected on demand until the end: the steps are those of a program. */
async function sampleRequests() {
  const load = toLoad(targets)
  const samples = [look(0)]
  for (let sent = 0; sent < requests; sent += step) {
    await load.run(Math.min(step, requests - sent))
    samples.push(look(Math.min(sent + step, requests)))
  }
  await collect()
  return [...samples, look(requests)]
}

async function sampleConnections() {
  const others = targets.slice(warm)
  await toLoad(targets.slice(0, warm)).run(20 * warm)
  await collect()
  const before = look(20 * warm)
  await toLoad(others).run(others.length)
  await collect()
  return [before, look(20 * warm + others.length)]
}

const samples = await (job.what === 'requests' ? sampleRequests() : sampleConnections())
process.stdout.write(JSON.stringify(samples), () => process.exit())

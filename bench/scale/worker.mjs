/**
 * Looks at the memory of one process, and writes what it saw as JSON: while it sends very many requests, or as it opens very many
 * connections. Started with `--expose-gc`.
 */
import { openJob } from '../e2e/job.mjs'
import { Load } from '../e2e/load.mjs'
import { collect, look } from './memory.mjs'

/**
 * @typedef {import('./memory.mjs').Memory & { requests: number }} Sample `requests`: before it
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

/** @param {number} requests @returns {Sample} */
const lookAfter = (requests) => ({ requests, ...look() })

/** Nothing is collected on demand until the end: the steps are those of a program. */
async function sampleRequests() {
  const load = toLoad(targets)
  const samples = [lookAfter(0)]
  for (let sent = 0; sent < requests; sent += step) {
    await load.run(Math.min(step, requests - sent))
    samples.push(lookAfter(Math.min(sent + step, requests)))
  }
  await collect()
  return [...samples, lookAfter(requests)]
}

async function sampleConnections() {
  const others = targets.slice(warm)
  await toLoad(targets.slice(0, warm)).run(20 * warm)
  await collect()
  const before = lookAfter(20 * warm)
  await toLoad(others).run(others.length)
  await collect()
  return [before, lookAfter(20 * warm + others.length)]
}

const samples = await (job.what === 'requests' ? sampleRequests() : sampleConnections())
process.stdout.write(JSON.stringify(samples), () => process.exit())

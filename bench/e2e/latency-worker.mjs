/**
 * Two downloads by one client in a process of its own, the first on a connection that isn't there yet, the second on
 * the same one. Started by latency.mjs with the job as its only argument; writes one line of JSON.
 */
import { latencyClients } from './latency-clients.mjs'

/**
 * @typedef {object} Job
 * @property {string} client
 * @property {string} origin
 * @property {string} path
 * @property {number} size bytes of the response
 * @property {number} limit seconds after which a download is cut off
 * @property {string | undefined} dodici
 * @property {object} options
 *
 * @typedef {import('./latency-clients.mjs').Download & { cpuSeconds: number }} Measured
 *
 * @typedef {object} LatencyMeasurement
 * @property {Measured} cold
 * @property {Measured} warm
 */

/** @type {Job} */
const { client, origin, path, size, limit, dodici, options } = JSON.parse(process.argv[2] ?? '{}')

const { open } = latencyClients[client] ?? {}
if (open === undefined) throw new Error(`no such client: ${client}`)
const opened = await open(origin, { dodici, options })

/** @returns {Promise<Measured>} */
async function measure() {
  const before = process.cpuUsage()
  const download = await opened.download(path, limit)
  const { user, system } = process.cpuUsage(before)
  if (download.isWhole && download.bytes !== size)
    throw new Error(`${download.bytes} bytes instead of ${size}`)
  return { ...download, cpuSeconds: (user + system) / 1e6 }
}

const cold = await measure()
const warm = await measure()
process.stdout.write(`${JSON.stringify({ cold, warm })}\n`)
// One that was cut off may have left more on its way than is worth waiting for.
process.exit()

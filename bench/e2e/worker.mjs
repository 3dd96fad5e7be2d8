/**
 * One measurement in a process of its own: opens one client, warms it up, times a fixed count of requests,
 * and writes one line of JSON. Started by run.mjs, with the job as its only argument.
 */
import { readFileSync } from 'node:fs'
import { performance } from 'node:perf_hooks'
import { clientNamed } from './clients/index.mjs'

/**
 * @typedef {object} Job
 * @property {string} client
 * @property {string} api
 * @property {string} origin
 * @property {string | null} caFile
 * @property {Omit<import('./clients/index.mjs').Target, 'body'>} target
 * @property {number} bodyBytes
 * @property {number} answerBytes
 * @property {number} inFlight
 * @property {number} connections
 * @property {number} maxStreams
 * @property {number} warmup
 * @property {number} requests
 *
 * @typedef {object} Measurement
 * @property {string} version of the client
 * @property {number} requestsPerSecond
 * @property {number} cpuMicros CPU time a request, user and system, of all threads of the process
 */

/** @type {Job} */
const job = JSON.parse(process.argv[2] ?? '{}')

/** @typedef {import('./clients/index.mjs').Start} Start */

/** @type {import('./clients/index.mjs').Target} */
const target = { ...job.target, body: job.bodyBytes === 0 ? null : Buffer.alloc(job.bodyBytes, 'a') }

/**
 * Starts `count` requests, `inFlight` at a time, and settles when all have been answered, or at the first
 * wrong one.
 *
 * @param {Start} start
 * @param {number} count
 * @param {number} inFlight
 * @returns {Promise<void>}
 */
function run(start, count, inFlight) {
  const { answerBytes } = job
  return new Promise((resolve, reject) => {
    let started = 0
    let answered = 0

    /** @type {import('./clients/index.mjs').Done} */
    const done = (error, status, bytes) => {
      if (error !== null || status !== 200 || bytes !== answerBytes) {
        started = count
        reject(
          error ?? new Error(`a wrong answer: status ${status}, ${bytes} bytes instead of ${answerBytes}`),
        )
        return
      }
      if (++answered === count) {
        resolve()
      } else if (started < count) {
        started++
        start(target, done)
      }
    }

    while (started < Math.min(inFlight, count)) {
      started++
      start(target, done)
    }
  })
}

const entry = clientNamed(job.client)
const { open, version } = await entry.load()
const client = await open(job.origin, {
  connections: job.connections,
  maxStreams: job.maxStreams,
  ca: job.caFile === null ? undefined : readFileSync(job.caFile, 'utf8'),
})
const start = client.apis[job.api]
if (start === undefined) throw new Error(`${entry.label} has no API ${job.api}`)

await run(start, job.warmup, job.inFlight)

const cpuBefore = process.cpuUsage()
const before = performance.now()
await run(start, job.requests, job.inFlight)
const milliseconds = performance.now() - before
const cpu = process.cpuUsage(cpuBefore)

// More connections than the scenario says would be another benchmark. Nothing else in this process holds a
// socket. They are counted while requests are in flight, since a client may well unref a connection that is
// idle.
let sockets = 0
/** @type {Start} */
const countingStart = (target, done) =>
  start(target, (error, status, bytes) => {
    const open = process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length
    sockets = Math.max(sockets, open)
    done(error, status, bytes)
  })
const burst = Math.max(2, job.inFlight)
await run(countingStart, burst, burst)
if (sockets !== job.connections)
  throw new Error(`${sockets} connections in use instead of ${job.connections}`)

await client.close()

/** @type {Measurement} */
const measurement = {
  version,
  requestsPerSecond: (job.requests / milliseconds) * 1000,
  cpuMicros: (cpu.user + cpu.system) / job.requests,
}
process.stdout.write(`${JSON.stringify(measurement)}\n`)

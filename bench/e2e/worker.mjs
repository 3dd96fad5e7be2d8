/**
 * One measurement in a process of its own: opens one client and warms it up, says `ready`, times as many requests as
 * each line of its input says, with a line for each, and at `end` writes one line of JSON. Started by measure.mjs, with
 * the job as its only argument.
 */
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { clientNamed } from './clients/index.mjs'
import { HeapMeter } from './heap-meter.mjs'
import { Load, percentile } from './load.mjs'

/**
 * @typedef {ReturnType<typeof import('./measure.mjs').toJob>} Job
 *
 * @typedef {object} Measurement figures are for each request; null: the client can't tell
 * @property {string} version of the client
 * @property {number} requestsPerSecond
 * @property {number} cpuMicros CPU time, user and system, of all threads of the process
 * @property {number | null} p50Micros latency: from the call to the end of the response
 * @property {number | null} p99Micros
 * @property {number | null} allocatedBytes on V8's heap
 * @property {number | null} gcMicros the time for which garbage collection held the program up
 * @property {number | null} residentBytes memory of the process at the end
 */

/** @type {Job} */
const job = JSON.parse(process.argv[2] ?? '{}')

const { api, inFlight, origins, path, pattern, responseBytes, varies } = job
const { client, start } = await open()
const body = job.bodyBytes === 0 ? null : Buffer.alloc(job.bodyBytes, 'a')
/** One for each origin. @type {import('./clients/index.mjs').Target[]} */
const targets = origins.map((origin) => ({
  // A client that was opened for one origin is told it once.
  origin: origins.length === 1 ? undefined : origin,
  ...{ path, url: `${origin}${path}`, method: job.method, body, authority: job.authority },
  isStreamed: job.isStreamed && body !== null,
}))

async function open() {
  const { engine, label, load } = clientNamed(job.client)
  if (load === undefined) throw new Error(`${label} is another program`)
  const { entry, maxStreams } = job
  const ca = job.caFile === null ? undefined : readFileSync(job.caFile, 'utf8')
  const connections = job.connections ?? 1
  const client = await (await load()).open(origins, { connections, maxStreams, ca, engine, api, entry })
  const start = client.apis[api]
  if (start === undefined) throw new Error(`${label} has no API ${api}`)
  return { client, start }
}

/** @param {import('./clients/index.mjs').Start} start */
const toLoad = (start, size = inFlight) =>
  new Load(start, { targets, inFlight: size, pattern, responseBytes, varies })

/**
 * More connections than the scenario says would be another benchmark. Nothing else in this process holds a
 * socket. They are counted while requests are in flight, since a client may well unref a connection that is
 * idle.
 *
 * @param {number} expected
 */
async function checkConnections(expected) {
  // Two to each origin: the connection of the first response has still one to wait for.
  const size = Math.max(inFlight, 2 * origins.length)
  // To look each time would take minutes where there are thousands.
  const step = Math.ceil(size / 20)
  let sockets = 0
  let responses = 0
  const count = () => {
    const open = process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length
    sockets = Math.max(sockets, open)
  }
  /** @type {import('./clients/index.mjs').Start} */
  const countingStart = (target, done) => {
    start(target, (error, status, bytes) => {
      if (responses++ % step === 0) count()
      done(error, status, bytes)
    })
    // Responses that were read together leave the connection idle before the first of them is heard of.
    if (responses === 0) count()
  }
  await toLoad(countingStart, size).run(size)
  if (sockets !== expected) throw new Error(`${sockets} connections in use instead of ${expected}`)
}

/**
 * Milliseconds. A fast client is through with its warm-up before V8 has compiled it: it gets as much time as a slow
 * one. A run with so few requests that they can't be one is there to see whether it works.
 */
const MIN_WARMUP = job.warmup < 100 ? 0 : 2_000

const timed = toLoad(start)
const begun = performance.now()
do await timed.run(job.warmup)
while (performance.now() - begun < MIN_WARMUP)

/** What all turns came to. */
const sum = { timed: 0, milliseconds: 0, all: 0 }
/** @type {Float64Array[]} */
const latencies = []

/** @param {number} count */
async function takeTurn(count) {
  // Others had their turns: caches are cold, and a client may have let go of its connection.
  const untimed = Math.max(origins.length, Math.min(inFlight, 200))
  await timed.run(untimed)
  const before = performance.now()
  latencies.push(await timed.run(count))
  sum.milliseconds += performance.now() - before
  sum.timed += count
  sum.all += count + untimed
}

// Over all of it, pauses too: V8 does a part of its collecting when there is nothing else to do, and that isn't for
// free.
const heap = new HeapMeter()
heap.start()
const cpuBefore = process.cpuUsage()
process.stdout.write('ready\n')
for await (const line of createInterface({ input: process.stdin })) {
  if (line === 'end') break
  await takeTurn(Number(line))
  process.stdout.write('done\n')
}
const cpu = process.cpuUsage(cpuBefore)
const { bytes, gcMicros } = heap.stop()
const residentBytes = process.memoryUsage.rss()

if (job.connections !== null) await checkConnections(job.connections * origins.length)
await client.close()

const all = Float64Array.from(latencies.flatMap((turn) => [...turn]))
/** @type {Measurement} */
const measurement = {
  version: client.version,
  requestsPerSecond: (sum.timed / sum.milliseconds) * 1000,
  cpuMicros: (cpu.user + cpu.system) / sum.all,
  p50Micros: percentile(all, 0.5) * 1000,
  p99Micros: percentile(all, 0.99) * 1000,
  allocatedBytes: bytes / sum.all,
  gcMicros: gcMicros / sum.all,
  residentBytes,
}
// Some clients keep idle connections for a while, and have no way to close them.
process.stdout.write(`${JSON.stringify(measurement)}\n`, () => process.exit())

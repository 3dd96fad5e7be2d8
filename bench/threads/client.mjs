/**
 * The client of one measurement: a dispatcher in the main thread, or one in each of two worker threads, or one in each
 * of two processes of node:cluster. It writes `ready` when all are warmed up, sends the requests when a line comes, and
 * writes one line of JSON. It ends when its standard input does.
 */
import cluster from 'node:cluster'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { isMainThread, parentPort, Worker } from 'node:worker_threads'

/**
 * One dispatcher, wherever it runs.
 *
 * @typedef {object} Lane
 * @property {(requests: number) => Promise<void>} run
 * @property {() => Promise<number>} cpu of its process, since that began, in microseconds
 */

/** @type {typeof import('dodici')} */
const { Client } = await import(new URL('../../dist/index.js', import.meta.url).href)

/**
 * `inFlight`, `warmup`: of each dispatcher; `requests`: of all.
 *
 * @type {{ setup: 'one' | 'threads' | 'processes', engine: 'node' | 'wire', origin: string, path: string, responseBytes: number,
 *   inFlight: number, warmup: number, requests: number }}
 */
const job = JSON.parse(process.argv[2] ?? '{}')

/** @returns {Lane} */
function openLane() {
  const client = new Client(job.origin, { engine: job.engine })
  async function send() {
    const { statusCode, body } = await client.request({ path: job.path, method: 'GET' })
    const { length } = await body.text()
    if (statusCode !== 200 || length !== job.responseBytes) throw new Error(`${statusCode}, ${length} bytes`)
  }
  return {
    async run(requests) {
      let left = requests
      const senders = Array.from({ length: job.inFlight }, async () => {
        while (left-- > 0) await send()
      })
      await Promise.all(senders)
    },
    async cpu() {
      const { user, system } = process.cpuUsage()
      return user + system
    },
  }
}

/**
 * A lane in another thread or process, which is asked by messages.
 *
 * @param {import('node:events').EventEmitter} other @param {(message: object) => void} post
 * @returns {Lane}
 */
function toLane(other, post) {
  /** @param {object} message */
  const ask = async (message) => {
    post(message)
    const [response] = await once(other, 'message')
    return response
  }
  return { run: (requests) => ask({ requests }), cpu: () => ask({}) }
}

/** @param {(response: unknown) => void} respond */
function serveLane(respond) {
  const lane = openLane()
  return async (/** @type {{ requests?: number }} */ { requests }) => {
    if (requests === undefined) return respond(await lane.cpu())
    await lane.run(requests)
    respond('done')
  }
}

/** @returns {Promise<Lane[]>} */
async function openLanes() {
  if (job.setup === 'one') return [openLane()]
  const starts = [1, 2].map(async () => {
    if (job.setup === 'processes') {
      const worker = cluster.fork()
      // What comes before the process listens would be lost.
      await once(worker, 'message')
      return toLane(worker, (message) => worker.send(message))
    }
    const thread = new Worker(new URL(import.meta.url), { argv: process.argv.slice(2) })
    await once(thread, 'message')
    return toLane(thread, (message) => thread.postMessage(message))
  })
  return Promise.all(starts)
}

async function main() {
  // Also before it is ready.
  process.stdin.on('end', () => process.exit())
  const lanes = await openLanes()
  /** @param {number} requests of each */
  const run = (requests) => Promise.all(lanes.map((lane) => lane.run(requests)))
  // Threads are of one process. The primary process of a cluster does nothing.
  const measured = job.setup === 'processes' ? lanes : lanes.slice(0, 1)
  const readCpu = async () => {
    const figures = await Promise.all(measured.map((lane) => lane.cpu()))
    return figures.reduce((sum, figure) => sum + figure, 0)
  }
  await run(job.warmup)
  process.stdout.write('ready\n')
  for await (const _ of createInterface({ input: process.stdin })) {
    const each = Math.ceil(job.requests / lanes.length)
    const before = await readCpu()
    const begun = performance.now()
    await run(each)
    const millis = performance.now() - begun
    const cpuMicros = (await readCpu()) - before
    process.stdout.write(`${JSON.stringify({ requests: each * lanes.length, millis, cpuMicros })}\n`)
  }
}

if (!isMainThread) {
  parentPort?.on(
    'message',
    serveLane((response) => parentPort?.postMessage(response)),
  )
  parentPort?.postMessage('ready')
} else if (cluster.isWorker) {
  process.on(
    'message',
    serveLane((response) => process.send?.(response)),
  )
  process.send?.('ready')
} else await main()

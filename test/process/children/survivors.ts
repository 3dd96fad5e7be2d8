/** Performs calls of each kind one after another, and reports how many bytes of each outlive the scavenges of V8. */
import { EventEmitter, once } from 'node:events'
import { Writable } from 'node:stream'
import { Worker } from 'node:worker_threads'
import { fetch, Pool, setGlobalDispatcher } from '../../../src/index.ts'
import { report } from './report.ts'

const CALLS = 500

/** What is measured so often; the least counts, since tables of Node's and of V8's grow meanwhile. */
const TIMES = 3

/** Enough for the code that runs once, and for the tables that grow. */
const WARM_UP = 500

/** A thread has a heap of its own. */
const SERVER = `
const { parentPort } = require('node:worker_threads')
const server = require('node:http2').createServer((_request, response) => response.end('text'))
server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port))
`

class Sink extends Writable {
  override _write(_chunk: unknown, _encoding: string, callback: () => void): void {
    callback()
  }
}

const worker = new Worker(SERVER, { eval: true })
const [port] = await once(worker, 'message')
const origin = `http://127.0.0.1:${Number(port)}`
const pool = new Pool(origin, { engine: 'wire', h2c: true, connections: 1 })
setGlobalDispatcher(pool)

const GET = { path: '/', method: 'GET' }

const calls: Readonly<Record<string, () => Promise<unknown>>> = {
  async 'request()'() {
    await (await pool.request(GET)).body.text()
  },
  async 'request() with an AbortSignal'() {
    await (await pool.request({ ...GET, signal: new AbortController().signal })).body.text()
  },
  async 'request() with an EventEmitter'() {
    await (await pool.request({ ...GET, signal: new EventEmitter() })).body.text()
  },
  async 'dump() with an AbortSignal'() {
    await (await pool.request(GET)).body.dump({ limit: 100, signal: new AbortController().signal })
  },
  async 'stream()'() {
    await pool.stream(GET, () => new Sink())
  },
  async 'pipeline()'() {
    const duplex = pool.pipeline(GET, ({ body }) => body)
    duplex.end().resume()
    await once(duplex, 'close')
  },
  async 'fetch()'() {
    await (await fetch(origin)).text()
  },
  async 'fetch() with an AbortSignal'() {
    await (await fetch(origin, { signal: new AbortController().signal })).text()
  },
}

/** Bytes in use behind a scavenge, which is all that the calls before it have met. */
function toScavenged(): number {
  globalThis.gc?.({ type: 'minor' })
  return process.memoryUsage().heapUsed
}

const survivors: Record<string, number> = {}
for (const [name, call] of Object.entries(calls)) {
  for (let i = 0; i < WARM_UP; i++) await call()
  let least = Number.POSITIVE_INFINITY
  for (let time = 0; time < TIMES; time++) {
    globalThis.gc?.()
    const before = toScavenged()
    for (let i = 0; i < CALLS; i++) await call()
    least = Math.min(least, Math.round((toScavenged() - before) / CALLS))
  }
  survivors[name] = least
}
report({ survivors })
await pool.destroy()
await worker.terminate()

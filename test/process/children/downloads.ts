/** Downloads bodies on each engine, and reports which garbage collections V8 made meanwhile. */
import { once } from 'node:events'
import { constants, PerformanceObserver } from 'node:perf_hooks'
import { setImmediate } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import type { DispatchController } from '../../../src/index.ts'
import { Pool } from '../../../src/index.ts'
import { report } from './report.ts'

const BODY = 1_048_576
const IN_FLIGHT = 10

/** A thread has a heap of its own. */
const SERVER = `
const { parentPort } = require('node:worker_threads')
const body = Buffer.alloc(${BODY}, 'a')
const server = require('node:http2').createServer((_request, response) => response.end(body))
server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port))
`

interface Collections {
  bytes: number
  scavenges: number
  full: number
}

const worker = new Worker(SERVER, { eval: true })
const [port] = await once(worker, 'message')

function download(pool: Pool): Promise<number> {
  return new Promise((resolve, reject) => {
    let bytes = 0
    pool.dispatch(
      { path: '/', method: 'GET' },
      {
        onRequestStart() {},
        onResponseStart() {},
        onResponseData(_controller: DispatchController, chunk: Buffer) {
          bytes += chunk.length
        },
        onResponseEnd: () => resolve(bytes),
        onResponseError: (_controller: DispatchController, error: Error) => reject(error),
      },
    )
  })
}

/** Downloads so many bodies, some at a time, and yields their bytes. */
async function downloadAll(pool: Pool, count: number): Promise<number> {
  let [begun, bytes] = [0, 0]
  const one = async (): Promise<void> => {
    while (begun++ < count) {
      const more = await download(pool)
      bytes += more
    }
  }
  await Promise.all(Array.from({ length: IN_FLIGHT }, one))
  return bytes
}

async function look(engine: 'node' | 'wire'): Promise<Collections> {
  const pool = new Pool(`http://127.0.0.1:${Number(port)}`, { engine, connections: 1 })
  await downloadAll(pool, 100)
  const found: Collections = { bytes: 0, scavenges: 0, full: 0 }
  const count = (entries: readonly PerformanceEntry[]): void => {
    for (const { detail } of entries as readonly (PerformanceEntry & { detail: { kind: number } })[]) {
      if (detail.kind === constants.NODE_PERFORMANCE_GC_MINOR) found.scavenges++
      if (detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR) found.full++
    }
  }
  const observer = new PerformanceObserver((list) => count(list.getEntries()))
  observer.observe({ entryTypes: ['gc'] })
  found.bytes = await downloadAll(pool, 400)
  // The entries come in an Immediate.
  await setImmediate()
  count(observer.takeRecords())
  observer.disconnect()
  await pool.close()
  return found
}

const [node, wire] = [await look('node'), await look('wire')]
await worker.terminate()
report({ node, wire })

/** Sends requests to a great many origins without a server, and reports the memory that the agent still holds. */
import { Agent } from '../../../src/index.ts'
import { report } from './report.ts'

/** Calls that are under way at a time. */
const BATCH = 100
/** After so many origins, the memory must no longer grow. */
const WARM = 5_000

const [, , count = '', maxOrigins = ''] = process.argv
const total = Number(count)
const refused = new Error('There is no server')
const agent = new Agent({
  connect: (_options, callback) => callback(refused),
  maxOrigins: maxOrigins === '' ? null : Number(maxOrigins),
})

async function collect(): Promise<number> {
  // What the last turn still holds is let go of first.
  await new Promise((resolve) => setImmediate(resolve))
  if (globalThis.gc === undefined) throw new Error('Run it with --expose-gc')
  globalThis.gc()
  globalThis.gc()
  return process.memoryUsage().heapUsed
}

let failed = 0
let most = 0

async function ask(from: number, to: number): Promise<void> {
  for (let first = from; first < to; first += BATCH) {
    const calls = Array.from({ length: BATCH }, (_, i) =>
      agent.request({ origin: `https://host-${first + i}.example`, path: '/', method: 'GET' }),
    )
    for (const { status } of await Promise.allSettled(calls)) if (status === 'rejected') failed++
    if (first % 1_000 === 0) most = Math.max(most, Object.keys(agent.stats).length)
  }
}

await ask(0, WARM)
const before = await collect()
await ask(WARM, total)
const after = await collect()
const left = Object.keys(agent.stats).length
await agent.close()
report({ failed, most, left, grown: after - before })

/** Upstreams that a source names: only a request that waits for them keeps the process alive. */
import { dns, UpstreamPool } from '../../../src/index.ts'
import { report } from './report.ts'

const [, , mode = '', address = ''] = process.argv
const GET = { path: '/', method: 'GET' } as const
const NEVER = new Promise<never>(() => {})

async function ask(pool: UpstreamPool): Promise<void> {
  try {
    report({ text: await (await pool.request(GET)).body.text() })
  } catch (error) {
    report({ name: error instanceof Error ? error.name : String(error) })
  }
}

if (mode === 'used') {
  // It is never closed, and would ask again.
  await ask(new UpstreamPool(dns(address)))
} else if (mode === 'waiting') {
  await ask(new UpstreamPool(() => NEVER, { connectTimeout: 100 }))
} else if (mode === 'unused') {
  new UpstreamPool([() => NEVER, { [Symbol.asyncIterator]: () => ({ next: () => NEVER }) }])
  report({ isMade: true })
} else {
  const pool = new UpstreamPool(dns('http://api.test', { servers: [address], timeout: 600_000 }))
  report({ isMade: true })
  if (mode === 'closed') await pool.close()
  else await pool.destroy()
}

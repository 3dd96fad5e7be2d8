/** Only a request keeps the process alive: the server has no room for it. */
import { Client } from '../../../src/index.ts'
import { report } from './report.ts'

const [, , origin = '', end = ''] = process.argv
const client = new Client(origin)
const GET = { path: '/', method: 'GET' } as const

// The response comes once the server's limit of 0 streams has come.
await (await client.request(GET)).body.text()

const abort = new AbortController()
const response = client.request({ ...GET, signal: abort.signal })
const { pending, running } = client.stats
report({ pending, running })
if (end === 'aborted') setImmediate(() => abort.abort())
try {
  report({ text: await (await response).body.text() })
} catch (error) {
  report({ name: error instanceof Error ? error.name : String(error) })
}

/** Closes one client that is idle and one that can't connect, each with a deadline of weeks. */
import { Client } from '../../../src/index.ts'
import { report } from './report.ts'

const [, , origin = ''] = process.argv
const WEEKS = { timeout: 2 ** 31 - 1 }
const GET = { path: '/', method: 'GET' } as const

const client = new Client(origin)
const { body } = await client.request(GET)
const text = body.text()
const closed = client.close(WEEKS)
report({ text: await text })
await closed

// This one has a request that nothing would ever end but its abort.
const stuck = new Client(origin, { connect: () => new Promise(() => {}), connectTimeout: 0 })
const abort = new AbortController()
stuck.request({ ...GET, signal: abort.signal }).catch(() => {})
const ended = stuck.close(WEEKS)
abort.abort()
await ended
report({ isDestroyed: stuck.destroyed })

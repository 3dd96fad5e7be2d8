/** Sends 10,000 requests, 100 at a time, all with one signal. */
import { getEventListeners, setMaxListeners } from 'node:events'
import { Client } from '../../../src/index.ts'
import { report } from './report.ts'

const REQUESTS = 10_000
const AT_A_TIME = 100

const [, , origin = ''] = process.argv
const client = new Client(origin)
const { signal } = new AbortController()
// Node 20 warns of more than 10 listeners, later lines of none.
setMaxListeners(0, signal)
let sent = 0
let right = 0
let mostListeners = 0
let mostRunning = 0

async function work(): Promise<void> {
  while (sent < REQUESTS) {
    const path = `/${sent++}`
    const { statusCode, body } = await client.request({ path, method: 'GET', signal })
    if (statusCode === 200 && (await body.text()) === `this is ${path}`) right++
    // The first ones went out before the server's limit was known.
    if (sent > 2 * AT_A_TIME) mostRunning = Math.max(mostRunning, client.stats.running)
    mostListeners = Math.max(mostListeners, getEventListeners(signal, 'abort').length)
  }
}

await Promise.all(Array.from({ length: AT_A_TIME }, work))
const { pending, running } = client.stats
await client.close()
report({
  sent,
  right,
  pending,
  running,
  mostRunning,
  mostListeners,
  listeners: getEventListeners(signal, 'abort').length,
})

/** Sends requests, closes its client, and reports what the process holds before, during and after. */
import { createHook } from 'node:async_hooks'
import { Client } from '../../../src/index.ts'
import { report, toResources } from './report.ts'

const [, , origin = '', ca = ''] = process.argv

// A timer that doesn't keep the process alive is no active resource: these are counted one by one.
const timers = new Set<number>()
const made = new Set<number>()
createHook({
  init(id, type) {
    if (type !== 'Timeout') return
    timers.add(id)
    made.add(id)
  },
  destroy(id) {
    timers.delete(id)
  },
}).enable()

const before = toResources()
const client = new Client(origin, { connect: ca === '' ? {} : { ca } })
const options = { path: '/', method: 'GET', headersTimeout: 60_000, bodyTimeout: 60_000 } as const
const bodies = await Promise.all(
  Array.from({ length: 20 }, async () => {
    const { body } = await client.request(options)
    return await body.text()
  }),
)
const { body } = await client.request(options)
const during = toResources()
bodies.push(await body.text())
await client.close()
// Node tells of a timer's end, and clears up after a TLS socket, a turn later.
await new Promise((resolve) => setImmediate(resolve))
await new Promise((resolve) => setImmediate(resolve))
const after = toResources()
report({ bodies, before, during, after, timersMade: made.size, timersLeft: timers.size })

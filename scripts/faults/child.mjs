/**
 * One client, in a process of its own: it takes orders, and tells how each request of them ended. It runs on a Node that takes TypeScript as it is.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { Agent, request } from 'dodici'
import { CLIENTS } from '../../test/interop/fault-clients.ts'

const [, , name = ''] = process.argv

/** Milliseconds. */
const AFTERMATH = 20

/** @param {'node' | 'wire'} engine @returns {import('../../test/interop/fault-clients.ts').FaultClient['ask']} */
const dodici =
  (engine) =>
  async ({ origin, ca, requests, limit, pause }) => {
    const limits = { connectTimeout: limit, headersTimeout: limit, bodyTimeout: limit, uploadTimeout: limit }
    const pings = { pingInterval: limit / 4, pingTimeout: limit / 4 }
    const agent = new Agent({ engine, ...limits, ...pings, connect: ca === null ? {} : { ca } })
    const answers = []
    try {
      for (const what of requests) {
        if (pause > 0 && answers.length > 0) await delay(pause)
        const [method = '', path = ''] = what.split(' ')
        const body = method === 'POST' ? 'body' : null
        const begun = performance.now()
        const answer = await request(`${origin}${path}`, { dispatcher: agent, method, body })
          .then(async ({ statusCode, body }) => ({ status: statusCode, text: await body.text(), error: '' }))
          .catch((error) => ({ status: 0, text: '', error: String(error) }))
        answers.push({ ...answer, elapsed: performance.now() - begun })
      }
    } finally {
      await agent.destroy()
    }
    return answers
  }

const engine = /** @type {'node' | 'wire' | undefined} */ (/^dodici \((node|wire)\)$/.exec(name)?.[1])
const ask = engine === undefined ? CLIENTS.find((client) => client.name === name)?.ask : dodici(engine)
if (ask === undefined) throw new Error(`There is no client ${name}`)

process.on('message', async (/** @type {import('../../test/interop/fault-clients.ts').Order} */ order) => {
  const answers = await ask(order)
  // An error that its user can't catch may come behind the answers.
  await delay(AFTERMATH)
  process.send?.({ answers, rss: process.resourceUsage().maxRSS })
})
process.on('disconnect', () => process.exit())
process.send?.({ rss: process.resourceUsage().maxRSS })

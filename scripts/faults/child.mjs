/**
 * One client, in a process of its own: it takes orders, and tells how each request of them ended. It runs on a Node that takes TypeScript as it is.
 */
import { Agent, request } from '../../dist/index.js'
import { CLIENTS } from '../../test/interop/fault-clients.ts'

const [, , name = ''] = process.argv

/** @param {'node' | 'wire'} engine @returns {import('../../test/interop/fault-clients.ts').FaultClient['ask']} */
const dodici =
  (engine) =>
  async ({ origin, ca, requests, limit }) => {
    const limits = { headersTimeout: limit, bodyTimeout: limit, uploadTimeout: limit, pingTimeout: limit / 2 }
    const agent = new Agent({ engine, ...limits, connect: ca === null ? {} : { ca } })
    const answers = []
    try {
      for (const what of requests) {
        const [method = '', path = ''] = what.split(' ')
        const body = method === 'POST' ? 'body' : null
        try {
          const response = await request(`${origin}${path}`, { dispatcher: agent, method, body })
          answers.push({ status: response.statusCode, text: await response.body.text(), error: '' })
        } catch (error) {
          answers.push({ status: 0, text: '', error: String(error) })
        }
      }
    } finally {
      await agent.destroy()
    }
    return answers
  }

const engine = /^dodici \((node|wire)\)$/.exec(name)?.[1]
const ask =
  engine === undefined
    ? CLIENTS.find((client) => client.name === name)?.ask
    : dodici(/** @type {'node' | 'wire'} */ (engine))
if (ask === undefined) throw new Error(`There is no client ${name}`)

process.on('message', async (/** @type {import('../../test/interop/fault-clients.ts').Order} */ order) => {
  const answers = await ask(order)
  process.send?.({ answers, rss: process.resourceUsage().maxRSS })
})
process.on('disconnect', () => process.exit())
process.send?.('ready')

/**
 * One client, in a process of its own: it takes orders, and tells how each request of them ended. It runs on a Node that takes TypeScript as it is.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { Agent, request } from 'dodici'
import { CLIENTS, inTurn } from '../../test/interop/fault-clients.ts'
import { serve } from '../child.mjs'

/** @type {string} */
const name = JSON.parse(process.argv[2] ?? '""')

/** Milliseconds. */
const AFTERMATH = 20

/** @param {'node' | 'wire'} engine @returns {import('../../test/interop/fault-clients.ts').FaultClient['ask']} */
const dodici = (engine) => async (order) => {
  const { ca, limit } = order
  const limits = { connectTimeout: limit, headersTimeout: limit, bodyTimeout: limit, uploadTimeout: limit }
  const pings = { pingInterval: limit / 4, pingTimeout: limit / 4 }
  const agent = new Agent({ engine, ...limits, ...pings, connect: ca === null ? {} : { ca } })
  try {
    return await inTurn(order, async ({ url, method, body }) => {
      const response = await request(url, { dispatcher: agent, method, body })
      return { status: response.statusCode, text: await response.body.text() }
    })
  } finally {
    await agent.destroy()
  }
}

const engine = /** @type {'node' | 'wire' | undefined} */ (/^dodici \((node|wire)\)$/.exec(name)?.[1])
const ask = engine === undefined ? CLIENTS.find((client) => client.name === name)?.ask : dodici(engine)
if (ask === undefined) throw new Error(`There is no client ${name}`)

const toSize = () => process.resourceUsage().maxRSS

const methods = {
  begin: toSize,
  async play(/** @type {import('../../test/interop/fault-clients.ts').Order} */ order) {
    const answers = await ask(order)
    // An error that its user can't catch may come behind the answers.
    await delay(AFTERMATH)
    return { answers, rss: toSize() }
  },
}
serve(methods)

/** @typedef {typeof methods} Methods */

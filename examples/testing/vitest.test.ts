// npx vitest run examples/testing/vitest.test.ts
import type { Dispatcher } from 'dodici'
import { Agent, request } from 'dodici'
import type { FaultServer } from 'dodici/testing'
import { createFaultServer } from 'dodici/testing'
import { afterEach, beforeEach, expect, test } from 'vitest'

/** The code under test: it reads an order, and repeats the request once if the server is busy. */
async function readOrder(origin: string, id: number, dispatcher: Dispatcher) {
  for (let attempt = 1; ; attempt++) {
    const { statusCode, body } = await request(`${origin}/orders/${id}`, { dispatcher })
    const text = await body.text()
    if (statusCode !== 503 || attempt === 2) return { statusCode, text }
  }
}

let server: FaultServer
let agent: Agent

beforeEach(async () => {
  server = await createFaultServer({ h2c: true })
  agent = new Agent({ h2c: true })
})

afterEach(async () => {
  await agent.destroy()
  await server.close()
})

test('an order is read from a server that is busy once', async () => {
  server.onRequest('/orders/7', (stream) => stream.respond('order 7'))
  server.onRequest('/orders/7', (stream) => stream.respond({ status: 503 }), { times: 1 })
  expect(await readOrder(server.origin, 7, agent)).toEqual({ statusCode: 200, text: 'order 7' })
  expect(server.counts).toEqual({ 'GET /orders/7': 2 })
})

test('an order is read from a server that retires its first connection', async () => {
  server.onConnection(0, (connection) => connection.goAway({ lastStreamId: 0, closes: 'at once' }))
  const { statusCode } = await readOrder(server.origin, 7, agent)
  expect(statusCode).toBe(200)
  expect(server.connections).toHaveLength(2)
})

// node --test examples/testing/rolling-restart.test.mjs
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { Agent } from 'dodici'
import { createFaultServer } from 'dodici/testing'
import { createShop } from './shop.mjs'

test('the shop loses no request while its stock server restarts', async (t) => {
  const stock = await createFaultServer({ h2c: true })
  const agent = new Agent({ h2c: true })
  const shop = createShop(stock.origin, agent).listen(0, '127.0.0.1')
  await once(shop, 'listening')
  t.after(async () => {
    shop.close()
    await agent.destroy()
    await stock.close()
  })

  // The response takes a while, so that requests are in flight when something happens.
  const reserved = []
  stock.onRequest('*', async (stream) => {
    reserved.push(stream.path)
    await stream.delay(20)
    await stream.respond('reserved')
  })
  // The first server is told to stop: at its 10th request it sends GOAWAY, responds to the ten, and closes.
  stock.onConnection(0, {
    onRequest: (_stream, connection) => {
      if (connection.streams.length === 10) connection.goAway({ closes: 'when drained' })
    },
  })
  // The second one is killed, with all requests that it has.
  stock.onConnection(1, {
    onRequest: (_stream, connection) => {
      if (connection.streams.length === 10) connection.break()
    },
  })

  const reserve = (id) => fetch(`http://127.0.0.1:${shop.address().port}/reserve/${id}`, { method: 'POST' })
  const responses = await Promise.all(Array.from({ length: 50 }, (_, id) => reserve(id)))
  assert.deepEqual(
    responses.map(({ status }) => status),
    Array(50).fill(200),
  )

  // The third connection took the rest. What the second server had was made again, and nothing was made three times.
  assert.equal(stock.connections.length, 3)
  assert.equal(new Set(reserved).size, 50)
  const again = reserved.filter((path, index) => reserved.indexOf(path) !== index)
  assert.equal(new Set(again).size, again.length)
})

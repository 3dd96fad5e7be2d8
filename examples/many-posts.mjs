/**
 * Many small POSTs over one connection, as a provider of push notifications sends them. Each has an outcome of its own.
 *
 *     npx dodici serve
 *     node examples/many-posts.mjs
 */

// @ts-check

import { Client, errors } from 'dodici'

// One connection, and as many streams at once as the server allows. The others wait their turn.
const client = new Client(process.argv[2] ?? 'http://localhost:12080', { requestTimeout: 10_000 })

/** @typedef {'delivered' | 'rejected' | 'not sent' | 'unknown'} Outcome */

/** @param {string} device @returns {Promise<Outcome>} */
async function notify(device) {
  try {
    const { statusCode, body } = await client.request({
      path: device === 'device-13' ? '/status/410' : '/echo',
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ device, alert: 'Dinner is ready' }),
    })
    await body.dump()
    return statusCode === 200 ? 'delivered' : 'rejected'
  } catch (error) {
    // 'no': the server has not acted on it, it may be sent again later. Otherwise that would risk a second notification.
    return error instanceof errors.DodiciError && error.processed === 'no' ? 'not sent' : 'unknown'
  }
}

const devices = Array.from({ length: 1_000 }, (_, number) => `device-${number}`)
const outcomes = await Promise.all(devices.map(notify))
/** @type {Partial<Record<Outcome, number>>} */
const counts = {}
for (const outcome of outcomes) counts[outcome] = (counts[outcome] ?? 0) + 1
console.log(counts)
await client.close()

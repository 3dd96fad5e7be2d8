/**
 * Sends many small POSTs over one connection, as for push notifications, and shows the outcome of each.
 *
 *     npx dodici serve
 *     node examples/many-posts.mjs
 */

// @ts-check

import { Client, errors } from 'dodici'

// One connection, with as many streams at once as the server allows. The other requests wait.
const client = new Client(process.argv[2] ?? 'http://localhost:12080', { requestTimeout: 60_000 })

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
    // 'no': the server has not acted on it, so you can send it again later. Otherwise you would risk a second notification.
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

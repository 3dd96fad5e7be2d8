/**
 * An SDK based on `fetch`, as most are: you pass it a fetch. Its requests then share one HTTP/2 connection, with timeouts that apply only to
 * them.
 *
 *     npx dodici serve
 *     node examples/sdk.mjs
 */

// @ts-check

import { Agent, fetch } from 'dodici'

/** Knows nothing of Dodici. */
class Shop {
  #fetch
  #origin

  /** @param {{ origin: string, fetch?: typeof globalThis.fetch }} options */
  constructor({ origin, fetch = globalThis.fetch }) {
    this.#origin = origin
    this.#fetch = fetch
  }

  /** @param {string} name @param {number} count @returns {Promise<{ name: string, count: number }>} */
  async order(name, count) {
    const response = await this.#fetch(new URL('/echo', this.#origin), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ name, count }),
    })
    if (!response.ok) throw new Error(`The shop responded with ${response.status}`)
    return /** @type {Promise<{ name: string, count: number }>} */ (response.json())
  }
}

// `h2c: true` is for this example's server, which has no TLS.
const agent = new Agent({ requestTimeout: 30_000, h2c: true })

const shop = new Shop({
  origin: process.argv[2] ?? 'http://localhost:12080',
  // Only this SDK uses this Agent.
  fetch: (input, init) => fetch(input, { ...init, dispatcher: agent }),
})

const orders = await Promise.all([shop.order('tea', 2), shop.order('bread', 1), shop.order('figs', 12)])
for (const { name, count } of orders) console.log(`${count} × ${name}`)
await agent.close()

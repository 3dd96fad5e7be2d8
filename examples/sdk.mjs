/**
 * An SDK that stands on `fetch`, as most do: its caller gives it a fetch. It goes over one HTTP/2 connection then, and has limits of its
 * own.
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

// `h2c: true` is for the server of this example, which has no TLS.
const agent = new Agent({ requestTimeout: 5_000, h2c: true })

const shop = new Shop({
  origin: process.argv[2] ?? 'http://localhost:12080',
  // This SDK alone goes through this Agent.
  fetch: (input, init) => fetch(input, { ...init, dispatcher: agent }),
})

const orders = await Promise.all([shop.order('tea', 2), shop.order('bread', 1), shop.order('figs', 12)])
for (const { name, count } of orders) console.log(`${count} × ${name}`)
await agent.close()

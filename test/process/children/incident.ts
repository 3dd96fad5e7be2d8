/** Requests one after the other, whose log another process reads. */

import { Agent, install, ProxyAgent } from '../../../src/index.ts'

/** What is asked. */
export interface Plan {
  readonly engine: 'node' | 'wire'
  /** By whom: an API of an Agent, the built-in fetch over it, or the same through a proxy. */
  readonly by: 'request' | 'built-in fetch' | 'proxy'
  /** Origins that speak HTTP/2 without TLS. */
  readonly h2c: readonly string[]
  readonly proxy: string
  readonly asked: readonly { readonly url: string; readonly method: 'GET' | 'POST' }[]
}

const [, , text = ''] = process.argv
const plan = JSON.parse(text) as Plan
const options = {
  engine: plan.engine,
  h2c: ({ origin }: URL) => plan.h2c.includes(origin),
  connect: { rejectUnauthorized: false },
}
const agent =
  plan.by === 'proxy'
    ? new ProxyAgent({ uri: plan.proxy, ...options, proxyTls: { rejectUnauthorized: false } })
    : new Agent(options)
if (plan.by === 'built-in fetch') install(agent)

for (const { url, method } of plan.asked) {
  const { origin, pathname, search } = new URL(url)
  const headers = { authorization: 'Bearer hidden', cookie: 'hidden=1' }
  const body = method === 'POST' ? 'hidden' : null
  try {
    if (plan.by === 'built-in fetch') await (await globalThis.fetch(url, { method, headers, body })).text()
    else {
      const response = await agent.request({ origin, path: pathname + search, method, headers, body })
      await response.body.text()
    }
  } catch {
    // The log says it.
  }
}
await agent.close()

/** One request through a proxy; the agent isn't closed: an idle tunnel must not keep the process alive. */

import { ProxyAgent } from '../../../src/index.ts'

const { ORIGIN = '', PROXY = '', CA = '', ENGINE } = process.env
const tls = { ca: CA }
const agent = new ProxyAgent({
  uri: PROXY,
  engine: ENGINE === 'wire' ? 'wire' : 'node',
  proxyTls: tls,
  requestTls: tls,
})
const { body } = await agent.request({ origin: ORIGIN, path: '/', method: 'GET' })
console.log(await body.text())

/** Sends requests in each way, and prints how each one went. */

import http from 'node:http'
import { Agent, EnvHttpProxyAgent, fetch, getGlobalDispatcher, install, request } from '../../../src/index.ts'

const { ORIGIN = '', PROXY = '', MODE = '' } = process.env
// Self-signed: what is tested is the way.
process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0'

/** How many requests the way has sent through the proxy. */
async function play(name: string, send: () => Promise<string>): Promise<void> {
  const before = Number(await count())
  const text = await send().catch((error: Error) => `${error.name}: ${error.message}`)
  const { length } = text
  const ways = Number(await count()) - before
  console.log(`${name}: ${length > 0 ? text : 'nothing'} ${ways > 0 ? 'by the proxy' : 'directly'}`)
}

/** The proxy tells how many tunnels it was asked for. By a socket of Node's own, which goes around it. */
function count(): Promise<string> {
  return new Promise((resolve, reject) => {
    const agent = new http.Agent()
    http
      .get(`${PROXY}/count`, { agent }, (response) => {
        let text = ''
        response.on('data', (chunk) => {
          text += chunk
        })
        response.on('end', () => resolve(text))
      })
      .on('error', reject)
  })
}

let turn = 0
/** An origin of its own for each: a connection that is open already would tell nothing. */
const toUrl = (): string => `${ORIGIN.replace('localhost', `127.0.0.${++turn}`)}/`

async function playAll(label: string): Promise<void> {
  await play(`${label} request()`, async () => (await request(toUrl())).body.text())
  await play(`${label} fetch()`, async () => (await fetch(toUrl())).text())
  const own = new Agent()
  await play(`${label} an Agent`, async () => (await request(toUrl(), { dispatcher: own })).body.text())
  await own.destroy()
}

await playAll('at first')
if (MODE === 'set') {
  const set: unknown = Reflect.get(http, 'setGlobalProxyFromEnv')
  if (typeof set !== 'function') throw new Error('no setGlobalProxyFromEnv')
  const undo = set({ https_proxy: PROXY, no_proxy: 'elsewhere.test' })
  await playAll('set')
  undo()
  await playAll('undone')
}
install()
await play('installed', async () => (await globalThis.fetch(toUrl())).text())
const env = new EnvHttpProxyAgent({ httpsProxy: PROXY })
await play('EnvHttpProxyAgent', async () => (await request(toUrl(), { dispatcher: env })).body.text())
await env.destroy()
await getGlobalDispatcher().close()

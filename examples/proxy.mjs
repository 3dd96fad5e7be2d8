/**
 * Sends requests through a proxy: Dodici speaks HTTP/2 with the origin inside a tunnel. The example starts its own small proxy. If your
 * environment has one, use `EnvHttpProxyAgent`, which reads HTTP_PROXY, HTTPS_PROXY and NO_PROXY.
 *
 *     npx dodici serve
 *     NODE_EXTRA_CA_CERTS=… node examples/proxy.mjs
 *
 * `dodici serve` prints the path to use in place of the three dots.
 */

// @ts-check

import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect } from 'node:net'
import { ProxyAgent } from 'dodici'

const CREDENTIALS = `Basic ${Buffer.from('user:secret').toString('base64')}`

const proxy = createServer().on('connect', (request, socket, head) => {
  if (request.headers['proxy-authorization'] !== CREDENTIALS) {
    socket.end('HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n')
    return
  }
  console.log('the proxy opens a tunnel')
  const { hostname, port } = new URL(`http://${request.url}`)
  const upstream = connect(Number(port), hostname, () => {
    socket.write('HTTP/1.1 200 Connection Established\r\n\r\n')
    upstream.write(head)
    socket.pipe(upstream).pipe(socket)
  })
  upstream.on('error', () => socket.destroy())
  socket.on('error', () => upstream.destroy())
})
proxy.listen(0, 'localhost')
await once(proxy, 'listening')
const { port } = /** @type {import('node:net').AddressInfo} */ (proxy.address())

const url = new URL('/headers', process.argv[2] ?? 'https://localhost:12443')

/** @param {string} token */
async function ask(token) {
  const agent = new ProxyAgent({ uri: `http://localhost:${port}`, token })
  try {
    const { body } = await agent.request({ origin: url.origin, path: url.pathname, method: 'GET' })
    const { httpVersion } = /** @type {{ httpVersion: string }} */ (await body.json())
    console.log(`a response over HTTP/${httpVersion}`)
  } catch (error) {
    console.log(String(error))
  } finally {
    await agent.close()
  }
}

await ask(CREDENTIALS)
await ask('Basic wrong')
proxy.close()

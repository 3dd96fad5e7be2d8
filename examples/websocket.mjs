/**
 * A WebSocket over HTTP/2 (RFC 8441): a stream on the connection that the process already has. Node 22 and later have a `WebSocket`; on
 * Node 20, run `npm install undici` and use undici's.
 *
 *     npx dodici serve
 *     node examples/websocket.mjs
 */

// @ts-check

import { once } from 'node:events'
import { Agent, install } from 'dodici'

// From now on, every WebSocket, fetch and EventSource in this process uses this Agent. `wss:` URLs need no options: `h2c: true` is for
// this server, which has no TLS.
const agent = new Agent({ h2c: true })
install(agent)

const url = new URL('/ws', process.argv[2] ?? 'http://localhost:12080')
url.protocol = url.protocol.replace('http', 'ws')

const { WebSocket } = globalThis.WebSocket === undefined ? await import('undici') : globalThis
const socket = new WebSocket(url)
await once(socket, 'open')
for (const { sessions } of Object.values(agent.stats))
  console.log('open: streams of HTTP/2:', sessions[0]?.streams)
for (const text of ['one', 'two', 'three']) {
  socket.send(text)
  const [{ data }] = await once(socket, 'message')
  console.log('back:', data)
}
socket.close(1000, 'done')
const [{ code, reason }] = await once(socket, 'close')
console.log(`closed: ${code} ${reason}`)
await agent.close()

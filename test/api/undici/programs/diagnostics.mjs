// What diagnostics_channel tells.
import diagnosticsChannel from 'node:diagnostics_channel'
import { Client } from 'undici'

const { ORIGIN, CA } = process.env
const seen = []
const listen = (name, note) =>
  diagnosticsChannel.channel(name).subscribe((message) => seen.push([name.slice(7), ...note(message)]))
listen('undici:client:beforeConnect', ({ connectParams }) => [connectParams.protocol, connectParams.hostname])
listen('undici:client:connected', ({ connectParams, socket }) => [connectParams.protocol, socket.encrypted])
listen('undici:client:connectError', ({ error }) => [error.code])
listen('undici:request:create', ({ request }) => [request.method, request.path, request.completed])
listen('undici:client:sendHeaders', ({ request }) => [request.path])
listen('undici:request:bodySent', ({ request }) => [request.path])
listen('undici:request:headers', ({ response }) => [response.statusCode])
listen('undici:request:trailers', ({ request }) => [request.completed])
listen('undici:request:error', ({ error }) => [error.code])

const client = new Client(ORIGIN, { connect: { ca: CA } })
const { body } = await client.request({
  path: '/echo',
  method: 'POST',
  body: 'hello',
  headers: { 'x-a': 'b' },
})
await body.text()
const missing = await client.request({ path: '/missing', method: 'GET' })
await missing.body.dump()
const controller = new AbortController()
const waiting = client.request({ path: '/never', method: 'GET', signal: controller.signal }).catch(() => {})
setTimeout(() => controller.abort(), 50)
await waiting
await client.close()
const dead = new Client('https://localhost:1', { connect: { ca: CA } })
await dead.request({ path: '/', method: 'GET' }).catch(() => {})
// Of requests and of connections one behind the other: which of a first request and its connection is told first differs.
for (const kind of ['request:', 'client:']) {
  for (const line of seen.filter(([name]) => name.startsWith(kind))) console.log(...line)
}
await dead.destroy()

/**
 * A server of event streams: it responds to each request with a comment, and leaves the stream open. Whoever connects to its second port says
 * how many events each connection gets, hears how many connections there are, and from then on each of them gets an event every 3 ms, on one
 * stream after the other. Writes `listening PORT,PORT`, and ends when its standard input does.
 */
import { once } from 'node:events'
import { createServer } from 'node:http2'
import { createServer as createControl } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { portOf } from '../../scripts/processes.mjs'

/** @type {{ maxStreams: number, comment: string, event: string }} */
const { maxStreams, comment, event } = JSON.parse(process.argv[2])
/** @type {Map<unknown, import('node:http2').ServerHttp2Stream[]>} by session */
const open = new Map()

const server = createServer({ settings: { maxConcurrentStreams: maxStreams } })
server.on('stream', (/** @type {import('node:http2').ServerHttp2Stream} */ stream) => {
  stream.on('error', () => {})
  const streams = open.get(stream.session)
  if (streams === undefined) open.set(stream.session, [stream])
  else streams.push(stream)
  stream.respond({ ':status': 200, 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
  stream.write(comment)
})

const control = createControl((socket) => {
  socket.on('error', () => {})
  socket.once('data', async (text) => {
    socket.write(`${open.size}\n`)
    for (let round = 0; round < Number(text); round++) {
      for (const streams of open.values()) streams[round % streams.length]?.write(event)
      await wait(3)
    }
  })
})

for (const one of [server, control]) await once(one.listen(0, '127.0.0.1'), 'listening')
process.stdout.write(`listening ${portOf(server)},${portOf(control)}\n`)
process.stdin.on('end', () => process.exit())
process.stdin.resume()

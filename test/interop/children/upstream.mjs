// One upstream of a service, over h2c: `upstream.mjs PORT DELAY`. Its responses have no body: killed between header and body, it would
// leave half a response, after which nothing may be repeated.
import { createServer } from 'node:http2'

const [port, delay] = process.argv.slice(2).map(Number)
const server = createServer()

server.on('session', (session) => session.on('error', ignore))
server.on('stream', (stream) => {
  stream.on('error', ignore)
  setTimeout(() => {
    if (!stream.destroyed) stream.respond({ ':status': 200 }, { endStream: true })
  }, delay)
})
// After a restart another socket may still have the port.
server.on('error', () => setTimeout(listen, 50))
server.on('listening', () => process.stdout.write('listening\n'))
listen()

function listen() {
  server.listen(port, '127.0.0.1')
}

function ignore() {}

/**
 * A server of node:http2 in a process of its own, so that its CPU time isn't the client's. It says its port, and ends with its parent.
 */
import { createServer } from 'node:http2'

const content = Buffer.alloc(1_024, 'x')
const server = createServer()
server.on('stream', (stream) => {
  stream.respond({ ':status': 200, 'content-type': 'text/plain', 'content-length': content.length })
  stream.end(content)
})
server.listen(0, '127.0.0.1', () => process.send?.(server.address()))
process.on('disconnect', () => process.exit())

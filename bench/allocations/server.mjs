/**
 * Responds to every request with the same 1 KiB of JSON, once the request has come whole. A server of its own, so that
 * nothing but the client decides what is allocated there: what the responses look like, and how they are cut into
 * frames, stays as it is. Writes its port when it is ready, and ends with its standard input, also when the process
 * that started it dies.
 */
import { createServer } from 'node:http2'
import { portOf } from '../../scripts/processes.mjs'

const response = Buffer.from(`{"text":"${'a'.repeat(1013)}"}`)

// More than are in flight: no request waits for a slot.
const server = createServer({ settings: { maxConcurrentStreams: 256 } })

/** @param {import('node:http2').ServerHttp2Stream} stream */
function onStream(stream) {
  stream.on('error', () => {})
  stream.on('end', () => {
    stream.respond({
      ':status': 200,
      'content-length': response.length,
      'content-type': 'application/json',
      'cache-control': 'max-age=3600',
      'last-modified': 'Thu, 01 Jan 2026 00:00:00 GMT',
    })
    stream.end(response)
  })
  stream.resume()
}

server.on('stream', onStream)

server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`${portOf(server)}\n`)
})

process.stdin.on('end', () => process.exit())
process.stdin.resume()

// A gRPC server that costs as little as node:http2 permits: it answers a unary call with one message, and a call of another method
// with a hundred. It writes its port.
import { createServer } from 'node:http2'

const MESSAGES = 100
/** A StringValue of 100 bytes, with its prefix. */
const text = 'a'.repeat(98)
const frame = Buffer.concat([Buffer.from([0, 0, 0, 0, 100, 10, 98]), Buffer.from(text)])
const many = Buffer.concat(Array.from({ length: MESSAGES }, () => frame))

const server = createServer({ settings: { maxConcurrentStreams: 1_000 } })
server.on('stream', (/** @type {import('node:http2').ServerHttp2Stream} */ stream, headers) => {
  stream.on('error', () => {})
  stream.respond({ ':status': 200, 'content-type': 'application/grpc+proto' }, { waitForTrailers: true })
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }))
  stream.resume()
  stream.end(headers[':path']?.endsWith('/One') ? frame : many)
})
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  if (address !== null && typeof address === 'object') console.log(address.port)
})

/**
 * gRPC: a unary call, a stream from the server, and a call that fails. The example starts its own small server with `node:http2`.
 *
 *     node examples/grpc/greeter.mjs
 *
 * Messages are plain text here. In your program, a codec such as protobuf's creates them.
 */

// @ts-check

import { once } from 'node:events'
import { createServer } from 'node:http2'
import { Client } from 'dodici'
import { MessageReader } from './protocol.mjs'
import { call, callForOne } from './request-client.mjs'

/** A message on the wire: not compressed, its length, its bytes. @param {string} text */
function toFrame(text) {
  const prefix = Buffer.alloc(5)
  prefix.writeUInt32BE(Buffer.byteLength(text), 1)
  return Buffer.concat([prefix, Buffer.from(text)])
}

/** What the methods of the server answer to a message. @type {Readonly<Record<string, (message: string) => string[]>>} */
const METHODS = {
  '/example.Greeter/Greet': (name) => [`Hello, ${name}!`],
  '/example.Greeter/Count': (end) => Array.from({ length: Number(end) }, (_, index) => `${index + 1}`),
}

const server = createServer()
server.on('stream', async (/** @type {import('node:http2').ServerHttp2Stream} */ stream, headers) => {
  const method = METHODS[String(headers[':path'])]
  const status =
    method === undefined
      ? { 'grpc-status': 12, 'grpc-message': 'there is no such method' }
      : { 'grpc-status': 0 }
  stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true })
  stream.on('wantTrailers', () => stream.sendTrailers(status))
  const reader = new MessageReader({})
  for await (const piece of stream)
    for (const message of reader.read(piece))
      for (const answer of method?.(`${message}`) ?? []) stream.write(toFrame(answer))
  stream.end()
})
server.listen(0, '127.0.0.1')
await once(server, 'listening')
const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())

const client = new Client(`http://127.0.0.1:${port}`)

// One message each way. The deadline is in milliseconds.
console.log(`${await callForOne(client, 'example.Greeter/Greet', Buffer.from('twelve'), { timeout: 5_000 })}`)

// A stream from the server.
for await (const message of call(client, 'example.Greeter/Count', Buffer.from('3'))) console.log(`${message}`)

// A call that fails.
try {
  await callForOne(client, 'example.Greeter/Nothing', Buffer.from(''))
} catch (error) {
  console.log(String(error), /** @type {import('./protocol.mjs').GrpcError} */ (error).code)
}

await client.close()
server.close()

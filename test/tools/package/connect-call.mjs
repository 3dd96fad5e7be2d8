// A call of connect-es, to a server that knows one message.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http2'
import { create, toBinary } from '@bufbuild/protobuf'
import { fileDesc, serviceDesc } from '@bufbuild/protobuf/codegenv2'
import { FileDescriptorProtoSchema, file_google_protobuf_empty } from '@bufbuild/protobuf/wkt'
import { createClient } from '@connectrpc/connect'

function toService() {
  const type = '.google.protobuf.Empty'
  const file = create(FileDescriptorProtoSchema, {
    name: 'package.proto',
    syntax: 'proto3',
    dependency: ['google/protobuf/empty.proto'],
    service: [{ name: 'Package', method: [{ name: 'Call', inputType: type, outputType: type }] }],
  })
  const bytes = Buffer.from(toBinary(FileDescriptorProtoSchema, file)).toString('base64')
  return serviceDesc(fileDesc(bytes, [file_google_protobuf_empty]), 0)
}

export async function call({ createTransport }, Client) {
  const server = createServer()
  server.on('stream', (stream) => {
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true })
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }))
    stream.end(Buffer.alloc(5))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const baseUrl = `http://127.0.0.1:${server.address().port}`
  const dispatcher = new Client(baseUrl)
  const client = createClient(toService(), createTransport({ baseUrl, protocol: 'grpc', dispatcher }))
  assert.equal((await client.call({})).$typeName, 'google.protobuf.Empty')
  await dispatcher.close()
  server.close()
}

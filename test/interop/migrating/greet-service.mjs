/** What a generator makes of a service with one method, for a program of docs/migrating-grpc.md. */

import { create, toBinary } from '@bufbuild/protobuf'
import { fileDesc, serviceDesc } from '@bufbuild/protobuf/codegenv2'
import { FileDescriptorProtoSchema, file_google_protobuf_wrappers } from '@bufbuild/protobuf/wkt'

const type = '.google.protobuf.StringValue'
const file = create(FileDescriptorProtoSchema, {
  name: 'greet.proto',
  package: 'greet.v1',
  syntax: 'proto3',
  dependency: ['google/protobuf/wrappers.proto'],
  service: [{ name: 'GreetService', method: [{ name: 'Greet', inputType: type, outputType: type }] }],
})
const bytes = Buffer.from(toBinary(FileDescriptorProtoSchema, file))

/**
 * @typedef {typeof import('@bufbuild/protobuf/wkt').StringValueSchema} Message
 * @type {import('@bufbuild/protobuf/codegenv2').GenService<{
 *   greet: { methodKind: 'unary', input: Message, output: Message }
 * }>}
 */
export const GreetService = serviceDesc(
  fileDesc(bytes.toString('base64'), [file_google_protobuf_wrappers]),
  0,
)

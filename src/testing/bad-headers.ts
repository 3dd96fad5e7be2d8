/**
 * Response header sections that RFC 9113 §8 or RFC 7541 forbids, by name.
 *
 * @module
 */

import { Flag, frames } from './frames.ts'
import { toBlock, toText } from './header-blocks.ts'
import type { Field } from './hpack.ts'

/** A malformed message (RFC 9113 §8.1.1). */
type Malformed =
  | 'no :status'
  | ':status twice'
  | ':status of 99'
  | ':status of letters'
  | ':status behind a field'
  | 'a pseudo-header field of requests'
  | 'an unknown pseudo-header field'
  | 'a name in upper case'
  | 'an empty name'
  | 'a name with a space'
  | 'a value with a line feed'
  | 'a value with a NUL'
  | 'a value with a space ahead'
  | 'connection'
  | 'transfer-encoding'
  | 'content-length twice, unlike'
  | 'content-length of letters'
  | '101 Switching Protocols'

/** A header block that can't be decoded (RFC 7541). */
type Undecodable =
  | 'HPACK: index 0'
  | 'HPACK: an index beyond the tables'
  | 'HPACK: an integer without an end'
  | 'HPACK: a string that is cut off'
  | 'HPACK: EOS in a string'
  | 'HPACK: padding of zeros'
  | 'HPACK: padding of eight bits'
  | 'HPACK: a table above the limit'
  | 'HPACK: a table size behind a field'

/** The name of a bad header section. */
export type BadHeaders = Malformed | Undecodable

const OK: Field = [':status', '200']
const STATUS_200 = Buffer.of(0x88)

/** A malformed message (RFC 9113 §8.1.1): a stream error. */
const malformed: Readonly<Record<Malformed, readonly Field[]>> = {
  'no :status': [['x', '1']],
  ':status twice': [OK, OK],
  ':status of 99': [[':status', '99']],
  ':status of letters': [[':status', 'abc']],
  ':status behind a field': [['x', '1'], OK],
  'a pseudo-header field of requests': [OK, [':path', '/']],
  'an unknown pseudo-header field': [OK, [':x', '1']],
  'a name in upper case': [OK, ['X-Upper', '1']],
  'an empty name': [OK, ['', '1']],
  'a name with a space': [OK, ['x y', '1']],
  'a value with a line feed': [OK, ['x', '1\ny: 2']],
  'a value with a NUL': [OK, ['x', '1\0']],
  'a value with a space ahead': [OK, ['x', ' 1']],
  connection: [OK, ['connection', 'close']],
  'transfer-encoding': [OK, ['transfer-encoding', 'chunked']],
  'content-length twice, unlike': [OK, ['content-length', '1'], ['content-length', '2']],
  'content-length of letters': [OK, ['content-length', 'x']],
  '101 Switching Protocols': [[':status', '101']],
}

/** A field whose value is these Huffman-coded bytes; the rest of it is valid. */
function toHuffman(...octets: readonly number[]): Buffer {
  return Buffer.concat([STATUS_200, Buffer.of(0), toText('x'), Buffer.of(0x80 | octets.length, ...octets)])
}

/** Whole header blocks that can't be decoded (RFC 7541): a connection error, COMPRESSION_ERROR. */
const undecodable: Readonly<Record<Undecodable, Buffer>> = {
  'HPACK: index 0': Buffer.of(0x88, 0x80),
  'HPACK: an index beyond the tables': Buffer.of(0x88, 0xff, 0x80, 0x01),
  'HPACK: an integer without an end': Buffer.concat([STATUS_200, Buffer.alloc(17, 0xff)]),
  'HPACK: a string that is cut off': Buffer.of(0x88, 0x00, 0x05, 0x78),
  'HPACK: EOS in a string': toHuffman(0xff, 0xff, 0xff, 0xff),
  // `0` takes five bits.
  'HPACK: padding of zeros': toHuffman(0x00),
  // `&` takes eight.
  'HPACK: padding of eight bits': toHuffman(0xf8, 0xff),
  // 2^24: more than any client has allowed. It precedes all fields, where such a size is allowed.
  'HPACK: a table above the limit': Buffer.of(0x3f, 0xe1, 0xff, 0xff, 0x07, 0x88),
  'HPACK: a table size behind a field': Buffer.of(0x88, 0x20),
}

/** The frames of each, for a stream. All except the undecodable ones end it; after the 101, a 200 ends it. */
export const BAD_HEADERS: Readonly<Record<BadHeaders, (streamId: number) => Buffer>> = {
  ...mapValues(
    malformed,
    (fields) => (streamId: number) => frames.headers(streamId, fields, Flag.END_STREAM),
  ),
  ...mapValues(undecodable, (block) => (streamId: number) => toBlock(streamId, block)),
  // With END_STREAM, it would be as wrong as any informational response.
  '101 Switching Protocols': (streamId) =>
    Buffer.concat([
      frames.headers(streamId, malformed['101 Switching Protocols']),
      frames.response(streamId, Flag.END_STREAM),
    ]),
}

function mapValues<Name extends string, From, To>(
  from: Readonly<Record<Name, From>>,
  map: (value: From) => To,
) {
  return Object.fromEntries(Object.entries<From>(from).map(([name, value]) => [name, map(value)])) as Record<
    Name,
    To
  >
}

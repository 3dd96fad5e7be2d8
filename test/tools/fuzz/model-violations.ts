/** What a model server does wrong once: each breaks one rule of RFC 9113 or RFC 7541. */

import { Flag, frames, Setting, Type } from '../../../src/testing/frames.ts'
import type { Field } from '../../../src/testing/hpack.ts'
import { encodeFields } from '../../../src/testing/hpack.ts'
import type { Random } from '../../protocol/hpack/support.ts'
import { CANCEL } from '../../support/peers/error-codes.ts'

/** What there is to be wrong about. */
export interface ModelState {
  readonly random: Random
  /** A stream whose response has not begun; null: there is none. */
  readonly fresh: number | null
  /** A stream whose response has begun, and hasn't ended. */
  readonly begun: number | null
  /** A stream that has ended. */
  readonly ended: number | null
  /** The highest that the client has opened; 0: none. */
  readonly last: number
}

/** The bytes; null: there is no place for it yet. `end` and `silence`: they follow the bytes so far. */
type Violation = (state: ModelState) => Buffer | null

const END = Flag.END_HEADERS

function withFields(...fields: Field[]): Violation {
  return ({ fresh }) => (fresh === null ? null : frames.frame(Type.HEADERS, END, fresh, encodeFields(fields)))
}

function withBlock(block: Buffer): Violation {
  return ({ fresh }) => (fresh === null ? null : frames.frame(Type.HEADERS, END, fresh, block))
}

const always =
  (bytes: Buffer): Violation =>
  () =>
    bytes

const onBegun =
  (toBytes: (id: number) => Buffer): Violation =>
  ({ begun }) =>
    begun === null ? null : toBytes(begun)

const onFresh =
  (toBytes: (id: number) => Buffer): Violation =>
  ({ fresh }) =>
    fresh === null ? null : toBytes(fresh)

const OK: Field = [':status', '200']
const huge = Buffer.alloc(16_385)

const BYTES = {
  'DATA on stream 0': always(frames.data(0, 'x')),
  'DATA on an idle stream': ({ last }) => frames.data(last + 1_000, 'x'),
  'DATA on an even stream': always(frames.data(2, 'x')),
  'DATA before HEADERS': onFresh((id) => frames.data(id, 'wrong')),
  'DATA behind END_STREAM': ({ ended }) => (ended === null ? null : frames.data(ended, 'wrong')),
  'DATA with too much padding': onBegun((id) => frames.frame(Type.DATA, Flag.PADDED, id, Buffer.of(9, 1, 1))),
  'DATA without its pad length': onBegun((id) => frames.frame(Type.DATA, Flag.PADDED, id)),
  'a frame that is too large': onBegun((id) => frames.data(id, huge)),
  'a large frame of an unknown type': always(frames.frame(0xee, 0, 0, huge)),
  'HEADERS on stream 0': always(frames.frame(Type.HEADERS, END, 0, encodeFields([OK]))),
  'HEADERS on an idle stream': ({ last }) => frames.headers(last + 1_000, [OK]),
  'HEADERS on an even stream': always(frames.headers(2, [OK])),
  'HEADERS twice': onBegun((id) => frames.headers(id, [OK])),
  'trailers with :status': onBegun((id) => frames.headers(id, [OK], Flag.END_STREAM)),
  'trailers without END_STREAM': onBegun((id) => frames.headers(id, [['x-a', 'b']])),
  'a final response with END_STREAM on a 103': onFresh((id) =>
    frames.headers(id, [[':status', '103']], Flag.END_STREAM),
  ),
  'status 101': withFields([':status', '101']),
  'no :status': withFields(['x-a', 'b']),
  ':status twice': withFields(OK, OK),
  'a :status that is no number': withFields([':status', '2xx']),
  'an unknown pseudo-header field': withFields(OK, [':path', '/']),
  'a pseudo-header field behind a field': withFields(['x-a', 'b'], OK),
  'a name in upper case': withFields(OK, ['X-A', 'b']),
  'a name with a space': withFields(OK, ['x a', 'b']),
  'an empty name': withFields(OK, ['', 'b']),
  'a value with a line end': withFields(OK, ['x-a', 'b\r\nc: d']),
  'a value with a NUL': withFields(OK, ['x-a', 'b\0']),
  'a field of connections': withFields(OK, ['connection', 'close']),
  'transfer-encoding': withFields(OK, ['transfer-encoding', 'chunked']),
  'two values of content-length': withFields(OK, ['content-length', '1'], ['content-length', '2']),
  'a content-length that is no number': withFields(OK, ['content-length', '-1']),
  'an index of HPACK that is 0': withBlock(Buffer.of(0x88, 0x80)),
  'an index that no table has': withBlock(Buffer.of(0x88, 0xff, 0xff, 0x7f)),
  'an integer without an end': withBlock(Buffer.of(0x88, 0xff, ...Array<number>(20).fill(0xff))),
  'a string that is cut off': withBlock(Buffer.of(0x88, 0x00, 0x05, 0x61)),
  'a table that is too large': withBlock(Buffer.of(0x3f, 0xff, 0xff, 0xff, 0x07, 0x88)),
  'a table size behind a field': withBlock(Buffer.of(0x88, 0x20)),
  'Huffman code with EOS': withBlock(Buffer.of(0x88, 0x00, 0x01, 0x61, 0x84, 0xff, 0xff, 0xff, 0xff)),
  'CONTINUATION alone': ({ last }) =>
    frames.frame(Type.CONTINUATION, END, Math.max(1, last), Buffer.of(0x88)),
  'a header block that is interrupted': onFresh((id) =>
    Buffer.concat([frames.frame(Type.HEADERS, 0, id, Buffer.of(0x88)), frames.ping()]),
  ),
  'CONTINUATION on another stream': onFresh((id) =>
    Buffer.concat([
      frames.frame(Type.HEADERS, 0, id, Buffer.of(0x88)),
      frames.frame(Type.CONTINUATION, END, id + 2, Buffer.of(0x88)),
    ]),
  ),
  PUSH_PROMISE: ({ last }) =>
    frames.pushPromise(Math.max(1, last), 2, [
      [':method', 'GET'],
      [':path', '/'],
      [':scheme', 'http'],
      [':authority', 'a'],
    ]),
  'RST_STREAM on stream 0': always(frames.reset(0, CANCEL)),
  'RST_STREAM on an idle stream': ({ last }) => frames.reset(last + 1_000, CANCEL),
  'RST_STREAM of 3 octets': ({ last }) =>
    frames.frame(Type.RST_STREAM, 0, Math.max(1, last), Buffer.alloc(3)),
  'SETTINGS on a stream': always(frames.frame(Type.SETTINGS, 0, 1, Buffer.alloc(0))),
  'SETTINGS of 5 octets': always(frames.frame(Type.SETTINGS, 0, 0, Buffer.alloc(5))),
  'an ACK of SETTINGS with octets': always(frames.frame(Type.SETTINGS, Flag.ACK, 0, Buffer.alloc(6))),
  'ENABLE_PUSH of 1': always(frames.settings([Setting.ENABLE_PUSH, 1])),
  'a window of 2^31': always(frames.settings([Setting.INITIAL_WINDOW_SIZE, 2 ** 31])),
  'frames of 16,383 octets': always(frames.settings([Setting.MAX_FRAME_SIZE, 16_383])),
  'a PING of 7 octets': always(frames.ping(Buffer.alloc(7))),
  'a PING on a stream': always(frames.frame(Type.PING, 0, 1, Buffer.alloc(8))),
  'GOAWAY on a stream': always(frames.frame(Type.GOAWAY, 0, 1, Buffer.alloc(8))),
  'GOAWAY of 7 octets': always(frames.frame(Type.GOAWAY, 0, 0, Buffer.alloc(7))),
  'WINDOW_UPDATE of 0': always(frames.windowUpdate(0, 0)),
  'WINDOW_UPDATE of 0 on a stream': ({ last }) => frames.windowUpdate(Math.max(1, last), 0),
  'WINDOW_UPDATE on an idle stream': ({ last }) => frames.windowUpdate(last + 1_000, 1),
  'WINDOW_UPDATE of 3 octets': always(frames.frame(Type.WINDOW_UPDATE, 0, 0, Buffer.alloc(3))),
  'a connection window beyond 2^31 - 1': always(frames.windowUpdate(0, 2 ** 31 - 1)),
  'a stream window beyond 2^31 - 1': onFresh((id) => frames.windowUpdate(id, 2 ** 31 - 1)),
  'PRIORITY of 4 octets': ({ last }) => frames.frame(Type.PRIORITY, 0, Math.max(1, last), Buffer.alloc(4)),
  'PRIORITY on stream 0': always(frames.frame(Type.PRIORITY, 0, 0, Buffer.alloc(5))),
  'HTTP/1.1': always(Buffer.from('HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n')),
  noise: ({ random }) => Buffer.from(random.text(40, 'abc\0\xff\x01 {}')),
} satisfies Record<string, Violation>

/** What is more than some bytes: the server does it at that place. */
const DEEDS = [
  'the end in a frame',
  'a reset in a frame',
  'silence in a frame',
  'silence',
  'a wrong content-length',
  'no regard for windows',
] as const

export type Deed = (typeof DEEDS)[number]
export type ViolationName = keyof typeof BYTES | Deed

export const VIOLATIONS: readonly [ViolationName, ...ViolationName[]] = [
  // The deeds come more often: each has many places.
  ...DEEDS,
  ...DEEDS,
  ...(Object.keys(BYTES) as (keyof typeof BYTES)[]),
]

export function isDeed(name: ViolationName): name is Deed {
  return (DEEDS as readonly string[]).includes(name)
}

/** The bytes of a violation; null as long as there is no place for it. */
export function toViolation(name: Exclude<ViolationName, Deed>, state: ModelState): Buffer | null {
  const violation: Violation = BYTES[name]
  return violation(state)
}

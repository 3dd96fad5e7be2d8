/**
 * What a hostile server may send, as data, for `test/session/attacks.test.ts` and `bench/attacks.mjs`: they play it by
 * `attack-peer.ts` and `attack-client.ts`. No test runner.
 */

import { gzipSync } from 'node:zlib'
import type { ConnectionScript } from '../../../src/testing/fault-connection.ts'
import { Flag, frames, Setting, Type } from '../../../src/testing/frames.ts'
import { toBlock, toLiteral } from '../../../src/testing/header-blocks.ts'
import { CANCEL, NO_ERROR, REFUSED_STREAM } from './error-codes.ts'

const { frame } = frames

/** What the client does with the response. */
type Reader =
  /** Reads the body as text. */
  | 'text'
  /** Takes the header section, and never reads the body. */
  | 'holds'
  /** Aborts the call once its response has begun. */
  | 'aborts'
  /** Sends a body without an end. */
  | 'uploads'
  /** The same request over and over, as long as there are bytes left. */
  | 'repeats'
  /** `fetch()` fifty times at once, and never reads the bodies. */
  | 'fetch, unread'
  /** `fetch()` and `text()`, with a `maxResponseSize` of 1 MiB. */
  | 'fetch, limited'

export interface Attack {
  /** Its path, and its name in docs/threat-model.md. */
  readonly name: string
  readonly reader: Reader
  /** Over TLS, for what means nothing without it. */
  readonly isTls?: true
  readonly settings?: ConnectionScript['settings']
  /** Once, ahead of the rest. */
  ahead?(id: number): Buffer
  /** Over and over; `count` is how often it was sent before. Without it the attack is all in `ahead`. */
  round?(id: number, count: number): Buffer
  /** How many times as many bytes as of other attacks are sent. @default 1 */
  readonly weight?: number
  /** Whether every round is another one. Otherwise the first is repeated. */
  readonly varies?: true
  /** The peer reads nothing while it sends. */
  readonly isDeaf?: true
  /** What the peer sends after all rounds, in place of END_STREAM. Null: nothing. */
  readonly end?: string | null
}

const OK = Buffer.of(0x88)
const BYTE = 'x'
const BLOCK_SIZE = 1_000_000
const FRAME_SIZE = 16_384

/** One field of 4 KB in the table, named 16,000 times: 64 MB of fields in 20 KB. */
const HPACK_BOMB = Buffer.concat([OK, toLiteral(0x40, 'x', 'v'.repeat(4_000)), Buffer.alloc(16_000, 0xbe)])
/** As many fields as fit. */
const MANY_FIELDS = Buffer.concat([
  OK,
  ...Array.from({ length: 30_000 }, (_none, index) => toLiteral(0, `x${index}`, 'v')),
])

/** 64 MiB of zeros, in so many codings; made once, since that takes long. */
const bombs = new Map<number, Buffer>()

function toBomb(layers: number): Buffer {
  const made = bombs.get(layers)
  if (made !== undefined) return made
  const bomb = gzipSync(layers === 1 ? Buffer.alloc(64 * 1_048_576) : toBomb(layers - 1), { level: 9 })
  bombs.set(layers, bomb)
  return bomb
}

/** A whole body in frames of the usual size. */
function toDataFrames(id: number, body: Buffer): Buffer {
  const pieces: Buffer[] = []
  for (let at = 0; at < body.length; at += FRAME_SIZE) {
    const flags = at + FRAME_SIZE >= body.length ? Flag.END_STREAM : 0
    pieces.push(frames.data(id, body.subarray(at, at + FRAME_SIZE), flags))
  }
  return Buffer.concat(pieces)
}

/** A response whose body becomes 64 MiB. */
function toCoded(id: number, layers: number): Buffer {
  const codings = Array.from({ length: layers }, () => 'gzip').join(', ')
  return Buffer.concat([
    frames.headers(id, [
      [':status', '200'],
      ['content-encoding', codings],
    ]),
    toDataFrames(id, toBomb(layers)),
  ])
}

/** ORIGIN (RFC 8336): one frame full of origins that the client hasn't heard of. */
function toOrigins(count: number): Buffer {
  const entries: Buffer[] = []
  for (let index = 0; index < 500; index++) {
    const origin = Buffer.from(`https://host-${count}-${index}.example`)
    const length = Buffer.alloc(2)
    length.writeUInt16BE(origin.length)
    entries.push(length, origin)
  }
  return frame(0x0c, 0, 0, Buffer.concat(entries))
}

const WINDOWS = Buffer.concat([1, 2].map((size) => frames.settings([Setting.INITIAL_WINDOW_SIZE, size])))
const TABLES = Buffer.concat([0, 4_096].map((size) => frames.settings([Setting.HEADER_TABLE_SIZE, size])))
const JUNK = frame(0xbe, 0, 0, Buffer.alloc(FRAME_SIZE))
const respond = (id: number): Buffer => frames.response(id)
const toData = (id: number, size: number): Buffer => frames.data(id, BYTE.repeat(size))
const open = (id: number): Buffer => frame(Type.HEADERS, 0, id, OK)

export const ATTACKS: readonly Attack[] = [
  // Frames that bring nothing.
  { name: 'SETTINGS', reader: 'text', ahead: respond, round: () => frames.settings() },
  { name: 'SETTINGS that change windows', reader: 'text', ahead: respond, round: () => WINDOWS },
  { name: 'SETTINGS that change the table', reader: 'text', ahead: respond, round: () => TABLES },
  { name: 'PING', reader: 'text', ahead: respond, round: () => frames.ping() },
  { name: 'PING, no ACK is read', reader: 'text', isDeaf: true, ahead: respond, round: () => frames.ping() },
  {
    name: 'ACKs of PINGs',
    reader: 'text',
    ahead: respond,
    round: () => frames.ping(Buffer.alloc(8), Flag.ACK),
  },
  { name: 'empty DATA', reader: 'text', ahead: respond, round: (id) => frames.data(id, '') },
  {
    name: 'DATA of padding alone',
    reader: 'text',
    ahead: respond,
    round: (id) => frame(Type.DATA, Flag.PADDED, id, Buffer.of(0)),
  },
  {
    name: 'PRIORITY',
    reader: 'text',
    ahead: respond,
    round: (id) => frame(Type.PRIORITY, 0, id, Buffer.alloc(5)),
  },
  { name: 'WINDOW_UPDATE', reader: 'text', ahead: respond, round: (id) => frames.windowUpdate(id, 1) },
  { name: 'RST_STREAM', reader: 'text', end: null, round: (id) => frames.reset(id, CANCEL) },
  { name: 'GOAWAY', reader: 'text', ahead: respond, round: (id) => frames.goAway(id, NO_ERROR) },
  { name: 'unknown frames, small', reader: 'text', ahead: respond, round: () => frame(0xbe, 0, 0) },
  { name: 'unknown frames, large', reader: 'text', weight: 4, ahead: respond, round: () => JUNK },
  {
    name: 'ORIGIN',
    reader: 'text',
    isTls: true,
    varies: true,
    ahead: respond,
    round: (_id, count) => toOrigins(count),
  },
  {
    name: 'PUSH_PROMISE',
    reader: 'text',
    ahead: respond,
    round: (id) => frame(Type.PUSH_PROMISE, Flag.END_HEADERS, id, Buffer.of(0, 0, 0, 2, 0x88)),
  },
  // Header sections.
  { name: 'empty CONTINUATION', reader: 'text', ahead: open, round: (id) => frame(Type.CONTINUATION, 0, id) },
  {
    name: 'CONTINUATION without an end',
    reader: 'text',
    ahead: open,
    // `:status` over and over: each decoded field has 42 bytes.
    round: (id) => frame(Type.CONTINUATION, 0, id, Buffer.alloc(FRAME_SIZE, 0x88)),
  },
  {
    name: 'informational responses',
    reader: 'text',
    round: (id) => frames.headers(id, [[':status', '103']]),
  },
  { name: 'HPACK bomb', reader: 'repeats', end: null, ahead: (id) => toBlock(id, HPACK_BOMB) },
  { name: 'many fields', reader: 'repeats', end: null, ahead: (id) => toBlock(id, MANY_FIELDS) },
  {
    name: 'trailer section of 1 MB',
    reader: 'repeats',
    end: null,
    ahead: (id) =>
      Buffer.concat([respond(id), toBlock(id, toLiteral(0, 'x', 'v'.repeat(BLOCK_SIZE)), Flag.END_STREAM)]),
  },
  // Streams that end badly.
  {
    name: 'malformed responses',
    reader: 'repeats',
    end: null,
    ahead: (id) => frames.headers(id, [['x', '1']]),
  },
  { name: 'responses that are reset', reader: 'repeats', end: null, ahead: (id) => frames.reset(id, CANCEL) },
  {
    name: 'requests that are refused',
    reader: 'repeats',
    end: null,
    ahead: (id) => frames.reset(id, REFUSED_STREAM),
  },
  // Bodies.
  { name: 'DATA of 1 byte', reader: 'text', ahead: respond, round: (id) => toData(id, 1) },
  { name: 'DATA of 1 byte, unread', reader: 'holds', ahead: respond, round: (id) => toData(id, 1) },
  {
    name: 'DATA of 1 byte between junk',
    reader: 'text',
    weight: 16,
    ahead: respond,
    round: (id) => Buffer.concat([toData(id, 1), JUNK]),
  },
  {
    name: 'DATA of 1 byte between junk, unread',
    reader: 'holds',
    weight: 16,
    ahead: respond,
    round: (id) => Buffer.concat([toData(id, 1), JUNK]),
  },
  { name: 'DATA of 1 byte after an abort', reader: 'aborts', ahead: respond, round: (id) => toData(id, 1) },
  {
    name: 'DATA of 16 KiB after an abort',
    reader: 'aborts',
    weight: 4,
    ahead: respond,
    round: (id) => toData(id, FRAME_SIZE),
  },
  {
    name: 'trailer sections after an abort',
    reader: 'aborts',
    ahead: respond,
    round: (id) => toBlock(id, HPACK_BOMB),
  },
  {
    name: 'decompression bomb, unread',
    reader: 'fetch, unread',
    end: null,
    ahead: (id) => toCoded(id, 1),
  },
  {
    name: 'decompression bomb, five layers, unread',
    reader: 'fetch, unread',
    end: null,
    ahead: (id) => toCoded(id, 5),
  },
  {
    name: 'decompression bomb, with maxResponseSize',
    reader: 'fetch, limited',
    end: null,
    ahead: (id) => toCoded(id, 5),
  },
  // Uploads.
  {
    name: 'a window of 0 for an upload',
    reader: 'uploads',
    end: null,
    settings: [[Setting.INITIAL_WINDOW_SIZE, 0]],
  },
  {
    name: 'a socket that is not read',
    reader: 'uploads',
    end: null,
    isDeaf: true,
    settings: [[Setting.INITIAL_WINDOW_SIZE, 2 ** 31 - 1]],
    ahead: () => frames.windowUpdate(0, 2 ** 31 - 1 - 65_535),
  },
]

/** @throws Error when there is none of this name */
export function findAttack(name: string): Attack {
  const attack = ATTACKS.find((one) => one.name === name)
  if (attack === undefined) throw new Error(`There is no attack ${name}`)
  return attack
}

/**
 * Frames that a hostile server sends repeatedly, by name.
 *
 * @module
 */

import { byName } from './by-name.ts'
import { Flag, frames, Setting, Type } from './frames.ts'
import { Pace } from './pace.ts'
import { toStreamId } from './stream-ids.ts'

const { frame } = frames
const FRAME_SIZE = 16_384
/** An unknown type (RFC 9113 §5.5): a client has to ignore such frames. */
const UNKNOWN = 0xbe
const STATUS_200 = 0x88
/** A field with its value, from HPACK's static table. It may be repeated any number of times. */
const ACCEPT_ENCODING = 0x90

const JUNK = frame(UNKNOWN, 0, 0, Buffer.alloc(FRAME_SIZE))
const WINDOWS = Buffer.concat([1, 2].map((size) => frames.settings([Setting.INITIAL_WINDOW_SIZE, size])))
const TABLES = Buffer.concat([0, 4_096].map((size) => frames.settings([Setting.HEADER_TABLE_SIZE, size])))

/** A flood: the frames it sends once at first, and those it repeats. */
export interface FloodRounds {
  /** The frames before it that make the rounds legal: for most, the header section of a response. */
  ahead?(streamId: number): Buffer
  /** The frames that it repeats. */
  round(streamId: number): Buffer
  /** Whether the rounds are part of a header block: no other frame may be in between (RFC 9113 §6.10). */
  readonly isBlock?: true
}

const respond = (streamId: number): Buffer => frames.response(streamId)
const open = (streamId: number): Buffer => frame(Type.HEADERS, 0, streamId, Buffer.of(STATUS_200))

/**
 * The name of a flood. Its DATA doesn't wait for the client's windows: a client that gives no credit for it may end the
 * connection with FLOW_CONTROL_ERROR. Repeated RST_STREAM on one stream, and PUSH_PROMISE for a client that allows no
 * pushes, are illegal from the second or first round on.
 */
export type Flood =
  | 'SETTINGS'
  | 'SETTINGS that change windows'
  | 'SETTINGS that change the table'
  | 'PING'
  | 'ACKs of PINGs'
  | 'empty DATA'
  | 'DATA of padding alone'
  | 'DATA of 1 byte'
  | 'DATA of 1 byte between junk'
  | 'PRIORITY'
  | 'WINDOW_UPDATE'
  | 'RST_STREAM'
  | 'GOAWAY'
  | 'unknown frames, small'
  | 'unknown frames, large'
  | 'PUSH_PROMISE'
  | 'empty CONTINUATION'
  | 'CONTINUATION'
  | 'informational responses'

/** The frames of each flood. */
export const FLOODS: Readonly<Record<Flood, FloodRounds>> = {
  SETTINGS: { round: () => frames.settings() },
  'SETTINGS that change windows': { round: () => WINDOWS },
  'SETTINGS that change the table': { round: () => TABLES },
  PING: { round: () => frames.ping() },
  'ACKs of PINGs': { round: () => frames.ping(Buffer.alloc(8), Flag.ACK) },
  'empty DATA': { ahead: respond, round: (id) => frames.data(id, '') },
  'DATA of padding alone': { ahead: respond, round: (id) => frame(Type.DATA, Flag.PADDED, id, Buffer.of(0)) },
  'DATA of 1 byte': { ahead: respond, round: (id) => frames.data(id, 'x') },
  'DATA of 1 byte between junk': {
    ahead: respond,
    round: (id) => Buffer.concat([frames.data(id, 'x'), JUNK]),
  },
  PRIORITY: { round: (id) => frame(Type.PRIORITY, 0, id, Buffer.alloc(5)) },
  WINDOW_UPDATE: { round: (id) => frames.windowUpdate(id, 1) },
  RST_STREAM: { round: (id) => frames.reset(id, 8) },
  GOAWAY: { round: (id) => frames.goAway(id, 0) },
  'unknown frames, small': { round: () => frame(UNKNOWN, 0, 0) },
  'unknown frames, large': { round: () => JUNK },
  PUSH_PROMISE: {
    round: (id) => frame(Type.PUSH_PROMISE, Flag.END_HEADERS, id, Buffer.of(0, 0, 0, 2, STATUS_200)),
  },
  'empty CONTINUATION': { ahead: open, round: (id) => frame(Type.CONTINUATION, 0, id), isBlock: true },
  // `accept-encoding: gzip, deflate` repeatedly: each decoded field counts as 60 octets.
  CONTINUATION: {
    ahead: open,
    round: (id) => frame(Type.CONTINUATION, 0, id, Buffer.alloc(FRAME_SIZE, ACCEPT_ENCODING)),
    isBlock: true,
  },
  'informational responses': { round: (id) => frames.headers(id, [[':status', '103']]) },
}

/** How much a flood sends. It ends at the first of these limits, or with its connection. */
export interface FloodOptions {
  /** The number of the stream in its frames. @default the connection's newest stream */
  readonly streamId?: number
  /** How many rounds to send; most are one frame. @default no limit */
  readonly count?: number
  /** How many bytes to send. @default no limit */
  readonly bytes?: number
  /** How many rounds to send per second. @default as fast as the client reads */
  readonly perSecond?: number
}

/** How many bytes it writes at once. */
const WRITE = 65_536

/** What a flood needs from its connection. */
export interface FloodTarget {
  /** Whether data that is written now is sent. */
  readonly isWritable: boolean
  /** Writes the bytes, and settles when they were written. */
  writeCut(bytes: Buffer): Promise<void>
  /** Writes what the script writes, with nothing else in between. */
  writeAlone(script: (write: (bytes: Buffer) => Promise<void>) => Promise<void>): Promise<void>
  /** Waits for some milliseconds. @returns false if the connection closes before */
  delay(milliseconds: number): Promise<boolean>
}

/** Sends a flood. @param newest the newest stream @returns how many rounds were sent */
export async function pour(
  target: FloodTarget,
  kind: Flood,
  newest: number,
  { count = Number.POSITIVE_INFINITY, bytes = Number.POSITIVE_INFINITY, perSecond, ...options }: FloodOptions,
): Promise<number> {
  const flood = byName('flood', FLOODS, kind)
  const streamId = toStreamId(flood.round, options.streamId, newest)
  const round = flood.round(streamId)
  const rounds = Math.min(count, Math.ceil(bytes / round.length))
  // At a rate, each write contains as much as is due in some ten milliseconds.
  const atOnce = Math.max(1, Math.floor(perSecond === undefined ? WRITE / round.length : perSecond / 100))
  const pace =
    perSecond === undefined ? null : new Pace(perSecond, (milliseconds) => target.delay(milliseconds))
  let sent = 0
  const send = async (write: (bytes: Buffer) => Promise<void>): Promise<void> => {
    if (flood.ahead !== undefined) await write(flood.ahead(streamId))
    while (sent < rounds && target.isWritable) {
      const size = Math.min(atOnce, rounds - sent)
      if (pace !== null && !(await pace.take(size))) break
      await write(Buffer.concat(Array.from({ length: size }, () => round)))
      sent += size
    }
  }
  await (flood.isBlock === true ? target.writeAlone(send) : send((bytes) => target.writeCut(bytes)))
  return sent
}

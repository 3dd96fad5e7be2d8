/**
 * Writes and reads HTTP/2 frames (RFC 9113 §4 and §6). It shares no code with the client's own framing, which it tests.
 *
 * @module
 */

import type { Field } from './hpack.ts'
import { encodeFields } from './hpack.ts'

/** Frame types. */
export const Type = {
  DATA: 0,
  HEADERS: 1,
  PRIORITY: 2,
  RST_STREAM: 3,
  SETTINGS: 4,
  PUSH_PROMISE: 5,
  PING: 6,
  GOAWAY: 7,
  WINDOW_UPDATE: 8,
  CONTINUATION: 9,
} as const

/** Frame flags. ACK is for SETTINGS and PING. */
export const Flag = { ACK: 1, END_STREAM: 1, END_HEADERS: 4, PADDED: 8, PRIORITY: 0x20 } as const

/** Setting ids: RFC 9113 §6.5.2 and RFC 8441 §3. */
export const Setting = {
  HEADER_TABLE_SIZE: 1,
  ENABLE_PUSH: 2,
  MAX_CONCURRENT_STREAMS: 3,
  INITIAL_WINDOW_SIZE: 4,
  MAX_FRAME_SIZE: 5,
  MAX_HEADER_LIST_SIZE: 6,
  ENABLE_CONNECT_PROTOCOL: 8,
} as const

/** The error codes of RFC 9113 §7, in numerical order. */
export const ERROR_CODES = [
  'NO_ERROR',
  'PROTOCOL_ERROR',
  'INTERNAL_ERROR',
  'FLOW_CONTROL_ERROR',
  'SETTINGS_TIMEOUT',
  'STREAM_CLOSED',
  'FRAME_SIZE_ERROR',
  'REFUSED_STREAM',
  'CANCEL',
  'COMPRESSION_ERROR',
  'CONNECT_ERROR',
  'ENHANCE_YOUR_CALM',
  'INADEQUATE_SECURITY',
  'HTTP_1_1_REQUIRED',
] as const

/** An error code by its name (RFC 9113 §7). */
export type ErrorName = (typeof ERROR_CODES)[number]

/** An error code: its name, or any number, even one without a name. */
export type ErrorCode = ErrorName | number

/** SETTINGS by their names. For an id without a name, use a {@link SettingsEntry}. */
export interface SettingsObject {
  /** How many bytes the dynamic table of the server's HPACK decoder has. */
  readonly headerTableSize?: number
  /** Server push: 0 or 1. Clients only accept 0 (RFC 9113 §6.5.2). */
  readonly enablePush?: number
  /** How many requests the client may have open at once. */
  readonly maxConcurrentStreams?: number
  /** The window for the client's DATA on a new stream, in bytes. */
  readonly initialWindowSize?: number
  /** The largest frame payload that the server accepts, in bytes: 16,384 to 16,777,215. */
  readonly maxFrameSize?: number
  /** The largest header section that the server accepts, in bytes; advisory. */
  readonly maxHeaderListSize?: number
  /** Extended CONNECT: 0 or 1 (RFC 8441 §3). */
  readonly enableConnectProtocol?: number
  readonly [id: number]: number
}

/** The first bytes from a client (RFC 9113 §3.4). */
export const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'

/** The highest stream id, which the first step of a graceful GOAWAY contains (RFC 9113 §6.8). */
export const MAX_STREAM_ID = 2 ** 31 - 1

const HEAD_LENGTH = 9
const EMPTY = Buffer.alloc(0)

/** `:status: 200` in HPACK's static table. */
const STATUS_200 = 0x88
/** `content-length` in HPACK's static table, with a value that isn't indexed. */
const CONTENT_LENGTH = [0x0f, 0x0d]

/** A received frame, including its padding. */
export interface Frame {
  /** The frame type, such as 1 for HEADERS. */
  readonly type: number
  /** The flags, as an 8-bit number. */
  readonly flags: number
  /** The stream id; 0 for the connection. */
  readonly streamId: number
  /** The bytes after the frame header, including padding. */
  readonly payload: Buffer
}

/** One entry of SETTINGS: an id, such as `Setting.MAX_CONCURRENT_STREAMS`, and its value. */
export type SettingsEntry = readonly [id: number, value: number]

/** SETTINGS, in either form. Entries may repeat, in any order. */
export type SettingsInit = SettingsObject | SettingsEntry

const SETTING_OF: ReadonlyMap<string, number> = new Map([
  ['headerTableSize', Setting.HEADER_TABLE_SIZE],
  ['enablePush', Setting.ENABLE_PUSH],
  ['maxConcurrentStreams', Setting.MAX_CONCURRENT_STREAMS],
  ['initialWindowSize', Setting.INITIAL_WINDOW_SIZE],
  ['maxFrameSize', Setting.MAX_FRAME_SIZE],
  ['maxHeaderListSize', Setting.MAX_HEADER_LIST_SIZE],
  ['enableConnectProtocol', Setting.ENABLE_CONNECT_PROTOCOL],
])

/** The entries for a SETTINGS frame. @throws TypeError for an unknown name */
export function toEntries(settings: readonly SettingsInit[]): SettingsEntry[] {
  return settings.flatMap((each) => (isEntry(each) ? [each] : Object.entries(each).map(toEntry)))
}

function isEntry(init: SettingsInit): init is SettingsEntry {
  return Array.isArray(init)
}

function toEntry([name, value]: readonly [string, number]): SettingsEntry {
  const id = SETTING_OF.get(name) ?? Number(name)
  if (Number.isInteger(id)) return [id, value]
  throw new TypeError(
    `Unknown setting ${name}: expected a number or one of ${[...SETTING_OF.keys()].join(', ')}`,
  )
}

/** The number of an error code. @throws TypeError for a name that isn't in RFC 9113 §7 */
export function toCode(code: ErrorCode): number {
  if (typeof code === 'number') return code
  const number = ERROR_CODES.indexOf(code)
  if (number !== -1) return number
  throw new TypeError(`Unknown error code ${code}: expected a number or one of ${ERROR_CODES.join(', ')}`)
}

/** The name of a frame type, such as `GOAWAY`, or its number if it has no name. */
export function toTypeName(type: number): string {
  return TYPE_NAMES[type] ?? String(type)
}

const TYPE_NAMES: readonly string[] = Object.keys(Type)

function toUint32(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(4)
  bytes.writeUInt32BE(value)
  return bytes
}

function toUint16(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(2)
  bytes.writeUInt16BE(value)
  return bytes
}

/** Creates any frame, valid or not. */
function toFrame(type: number, flags: number, streamId: number, payload: Buffer = EMPTY): Buffer {
  const frame = Buffer.allocUnsafe(HEAD_LENGTH + payload.length)
  frame.writeUIntBE(payload.length, 0, 3)
  frame[3] = type
  frame[4] = flags
  frame.writeUInt32BE(streamId, 5)
  payload.copy(frame, HEAD_LENGTH)
  return frame
}

/** Creates frames as bytes, valid or not. */
export const frames = {
  /** Creates any frame, valid or not. */
  frame: toFrame,
  /** Creates SETTINGS with these entries; without entries, an empty frame. */
  settings(...entries: readonly SettingsEntry[]): Buffer {
    const payload = entries.map(([id, value]) => Buffer.concat([toUint16(id), toUint32(value)]))
    return toFrame(Type.SETTINGS, 0, 0, Buffer.concat(payload))
  },
  /** Creates the ACK of SETTINGS. */
  settingsAck(): Buffer {
    return toFrame(Type.SETTINGS, Flag.ACK, 0)
  },
  /** Creates HEADERS for a 200. */
  response(streamId: number, flags = 0, contentLength: number | null = null): Buffer {
    const length = contentLength === null ? '' : String(contentLength)
    const field = contentLength === null ? [] : [...CONTENT_LENGTH, length.length]
    const block = Buffer.concat([Buffer.from([STATUS_200, ...field]), Buffer.from(length)])
    return toFrame(Type.HEADERS, Flag.END_HEADERS | flags, streamId, block)
  },
  /** Creates HEADERS with a whole header block. */
  headers(streamId: number, fields: readonly Field[], flags = 0): Buffer {
    return toFrame(Type.HEADERS, Flag.END_HEADERS | flags, streamId, encodeFields(fields))
  },
  /** Creates PUSH_PROMISE on a stream, with the header section of the promised request. */
  pushPromise(streamId: number, promisedId: number, fields: readonly Field[]): Buffer {
    const payload = Buffer.concat([toUint32(promisedId), encodeFields(fields)])
    return toFrame(Type.PUSH_PROMISE, Flag.END_HEADERS, streamId, payload)
  },
  /** Creates DATA without padding. */
  data(streamId: number, content: string | Buffer, flags = 0): Buffer {
    return toFrame(Type.DATA, flags, streamId, typeof content === 'string' ? Buffer.from(content) : content)
  },
  /** Creates RST_STREAM with an error code. */
  reset(streamId: number, code: number): Buffer {
    return toFrame(Type.RST_STREAM, 0, streamId, toUint32(code))
  },
  /** Creates GOAWAY, with debug data in UTF-8. */
  goAway(lastStreamId: number, code: number, debugData = ''): Buffer {
    const payload = [toUint32(lastStreamId), toUint32(code), Buffer.from(debugData)]
    return toFrame(Type.GOAWAY, 0, 0, Buffer.concat(payload))
  },
  /** Creates PING; with flag 1, an ACK. A payload that isn't 8 bytes long is an error. */
  ping(payload: Buffer = Buffer.alloc(8), flags = 0): Buffer {
    return toFrame(Type.PING, flags, 0, payload)
  },
  /** Creates WINDOW_UPDATE; stream id 0 is the connection. */
  windowUpdate(streamId: number, increment: number): Buffer {
    return toFrame(Type.WINDOW_UPDATE, 0, streamId, toUint32(increment))
  },
}

/** The entries in a SETTINGS frame. */
export function toSettings({ payload }: Frame): SettingsEntry[] {
  const entries: SettingsEntry[] = []
  for (let at = 0; at + 6 <= payload.length; at += 6) {
    entries.push([payload.readUInt16BE(at), payload.readUInt32BE(at + 2)])
  }
  return entries
}

/** The content of a DATA or HEADERS frame, without padding and priority. */
export function toContent({ type, flags, payload }: Frame): Buffer {
  const isPadded = (flags & Flag.PADDED) !== 0
  const padding = isPadded ? payload.readUInt8(0) : 0
  const hasPriority = type === Type.HEADERS && (flags & Flag.PRIORITY) !== 0
  return payload.subarray((isPadded ? 1 : 0) + (hasPriority ? 5 : 0), payload.length - padding)
}

/** The complete frames in what a server has sent. */
export function toFrames(bytes: Buffer): Frame[] {
  const list: Frame[] = []
  new FrameParser((frame) => list.push(frame), 'server').push(bytes)
  return list
}

/** Parses bytes to frames. A client's frames begin after its preface. */
export class FrameParser {
  readonly #onFrame: (frame: Frame) => void
  #bytes: Buffer = EMPTY
  #hasPreface: boolean

  /** @param sender whose bytes these are */
  constructor(onFrame: (frame: Frame) => void, sender: 'client' | 'server' = 'client') {
    this.#onFrame = onFrame
    this.#hasPreface = sender === 'server'
  }

  push(bytes: Buffer): void {
    this.#bytes = this.#bytes.length === 0 ? bytes : Buffer.concat([this.#bytes, bytes])
    if (!this.#hasPreface) {
      const start = this.#bytes.toString('latin1', 0, PREFACE.length)
      if (!PREFACE.startsWith(start)) throw new Error(`Not the HTTP/2 preface: ${JSON.stringify(start)}`)
      if (this.#bytes.length < PREFACE.length) return
      this.#bytes = this.#bytes.subarray(PREFACE.length)
      this.#hasPreface = true
    }
    while (this.#bytes.length >= HEAD_LENGTH) {
      const end = HEAD_LENGTH + this.#bytes.readUIntBE(0, 3)
      if (this.#bytes.length < end) return
      const frame = {
        type: this.#bytes.readUInt8(3),
        flags: this.#bytes.readUInt8(4),
        streamId: this.#bytes.readUInt32BE(5) & MAX_STREAM_ID,
        payload: this.#bytes.subarray(HEAD_LENGTH, end),
      }
      this.#bytes = this.#bytes.subarray(end)
      this.#onFrame(frame)
    }
  }
}

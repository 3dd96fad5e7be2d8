/** The frames that a scripted peer writes and reads: RFC 9113 §6. */

import type { Frame } from './frame-peer.ts'
import {
  DATA,
  END_HEADERS,
  END_STREAM,
  frames as frequent,
  HEADERS,
  RST_STREAM,
  toFrame,
} from './frame-peer.ts'
import type { Field } from './hpack.ts'
import { encodeFields } from './hpack.ts'

export type { Frame } from './frame-peer.ts'

/** Frame types. */
export const Type = {
  DATA,
  HEADERS,
  PRIORITY: 2,
  RST_STREAM,
  SETTINGS: 4,
  PUSH_PROMISE: 5,
  PING: 6,
  GOAWAY: 7,
  WINDOW_UPDATE: 8,
  CONTINUATION: 9,
} as const

/** Flags. ACK is that of SETTINGS and PING. */
export const Flag = { ACK: 1, END_STREAM, END_HEADERS, PADDED: 8, PRIORITY: 0x20 } as const

/** RFC 9113 §6.5.2 and RFC 8441 §3. */
export const Setting = {
  HEADER_TABLE_SIZE: 1,
  ENABLE_PUSH: 2,
  MAX_CONCURRENT_STREAMS: 3,
  INITIAL_WINDOW_SIZE: 4,
  MAX_FRAME_SIZE: 5,
  MAX_HEADER_LIST_SIZE: 6,
  ENABLE_CONNECT_PROTOCOL: 8,
} as const

/** RFC 9113 §7, in the order of its numbers. */
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

/** One entry of SETTINGS: an id, such as `Setting.MAX_CONCURRENT_STREAMS`, and its value. */
export type SettingsEntry = readonly [id: number, value: number]

/** The greatest stream id: what the first step of a graceful GOAWAY names (RFC 9113 §6.8). */
export const MAX_STREAM_ID = 2 ** 31 - 1

const PREFACE_LENGTH = 24
const HEAD_LENGTH = 9

/** The frames of a peer, each as its bytes. */
export const frames = {
  ...frequent,
  frame: toFrame,
  /** A whole header block in one frame. */
  headers(streamId: number, fields: readonly Field[], flags = 0): Buffer {
    return toFrame(Type.HEADERS, Flag.END_HEADERS | flags, streamId, encodeFields(fields))
  },
  goAway(lastStreamId: number, code: number, debugData = ''): Buffer {
    const head = Buffer.alloc(8)
    head.writeUInt32BE(lastStreamId, 0)
    head.writeUInt32BE(code, 4)
    return toFrame(Type.GOAWAY, 0, 0, Buffer.concat([head, Buffer.from(debugData)]))
  },
  ping(payload: Buffer = Buffer.alloc(8), flags = 0): Buffer {
    return toFrame(Type.PING, flags, 0, payload)
  },
  settingsAck(): Buffer {
    return toFrame(Type.SETTINGS, Flag.ACK, 0)
  },
}

/** What a SETTINGS frame says. */
export function toSettings({ payload }: Frame): SettingsEntry[] {
  const entries: SettingsEntry[] = []
  for (let at = 0; at + 6 <= payload.length; at += 6) {
    entries.push([payload.readUInt16BE(at), payload.readUInt32BE(at + 2)])
  }
  return entries
}

/** What is left of a DATA or HEADERS frame without its padding and its priority. */
export function toContent({ type, flags, payload }: Frame): Buffer {
  const isPadded = (flags & Flag.PADDED) !== 0
  const padding = isPadded ? payload.readUInt8(0) : 0
  const hasPriority = type === Type.HEADERS && (flags & Flag.PRIORITY) !== 0
  return payload.subarray((isPadded ? 1 : 0) + (hasPriority ? 5 : 0), payload.length - padding)
}

/** Bytes of a client → its frames, once the preface has come. */
export class FrameParser {
  readonly #onFrame: (frame: Frame) => void
  #bytes: Buffer = Buffer.alloc(0)
  #isGreeted = false

  constructor(onFrame: (frame: Frame) => void) {
    this.#onFrame = onFrame
  }

  push(bytes: Buffer): void {
    this.#bytes = this.#bytes.length === 0 ? bytes : Buffer.concat([this.#bytes, bytes])
    if (!this.#isGreeted) {
      if (this.#bytes.length < PREFACE_LENGTH) return
      this.#bytes = this.#bytes.subarray(PREFACE_LENGTH)
      this.#isGreeted = true
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

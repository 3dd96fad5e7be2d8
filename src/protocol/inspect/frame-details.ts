/**
 * A frame's contents, as names and numbers.
 *
 * @module
 */

import { toErrorCodeName } from '../../errors/error-codes.ts'
import { Flag, FrameType } from '../frames.ts'
import { Setting } from '../settings.ts'
import type { Field } from './field-blocks.ts'
import type { Direction, ObservedFrame } from './frame-observer.ts'
import { toFrameName } from './frame-scanner.ts'
import type { SecretFilter } from './secrets.ts'

/** SETTINGS by name, in the order in which they arrived. Unknown ones have a name such as `0x4d44`. */
export type SettingsByName = Readonly<Record<string, number>>

/** A frame for human readers, and for `--json`. */
export interface FrameDetails {
  readonly direction: Direction
  /** Milliseconds since the command, or the connection, began. */
  readonly at: number
  /** `HEADERS`, or `0x1f` for an unknown type. */
  readonly type: string
  readonly streamId: number
  readonly flags: readonly string[]
  /** The payload's size in bytes. */
  readonly length: number
  readonly headers?: readonly Field[]
  readonly settings?: SettingsByName
  /** A WINDOW_UPDATE's increment, in bytes. */
  readonly increment?: number
  /** The name of an error code. */
  readonly code?: string
  readonly lastStreamId?: number
  readonly debugData?: string
  /** A PING's octets, in hex. */
  readonly data?: string
  readonly priority?: string
  /** The rule that the frame violates. */
  readonly fault?: string
}

/** The flags of each type (RFC 9113 §6). */
const FLAGS: Readonly<Record<number, readonly (readonly [name: string, bit: number])[]>> = {
  [FrameType.DATA]: [
    ['END_STREAM', Flag.END_STREAM],
    ['PADDED', Flag.PADDED],
  ],
  [FrameType.HEADERS]: [
    ['END_HEADERS', Flag.END_HEADERS],
    ['END_STREAM', Flag.END_STREAM],
    ['PADDED', Flag.PADDED],
    ['PRIORITY', Flag.PRIORITY],
  ],
  [FrameType.SETTINGS]: [['ACK', Flag.ACK]],
  [FrameType.PING]: [['ACK', Flag.ACK]],
  [FrameType.PUSH_PROMISE]: [['END_HEADERS', Flag.END_HEADERS]],
  [FrameType.CONTINUATION]: [['END_HEADERS', Flag.END_HEADERS]],
}

/** @param start where times count from, as `performance.now()` reports it */
export function toFrameDetails(frame: ObservedFrame, start: number, secrets: SecretFilter): FrameDetails {
  const { direction, type, flags, streamId, length, fields, fault } = frame
  const known = FLAGS[type] ?? []
  return {
    direction,
    at: Math.round((frame.at - start) * 1_000) / 1_000,
    type: toFrameName(type) ?? `0x${type.toString(16).padStart(2, '0')}`,
    streamId,
    flags: known.filter(([, bit]) => (flags & bit) !== 0).map(([name]) => name),
    length,
    ...(fields === null ? {} : { headers: secrets.toShownFields(fields) }),
    ...toPayloadDetails(frame, secrets),
    ...(fault === null ? {} : { fault: secrets.toShownText(fault) }),
  }
}

/** What a payload of its type contains. One that is too short contains nothing. */
function toPayloadDetails(frame: ObservedFrame, secrets: SecretFilter): Partial<FrameDetails> {
  const { type, flags, payload } = frame
  switch (type) {
    case FrameType.SETTINGS:
      return (flags & Flag.ACK) === 0 ? { settings: toSettings(payload) } : {}
    case FrameType.WINDOW_UPDATE:
      return { increment: toIncrement(frame) }
    case FrameType.PING:
      return { data: payload.toString('hex') }
    case FrameType.RST_STREAM:
      return payload.length < 4 ? {} : { code: toErrorCodeName(payload.readUInt32BE(0)) }
    case FrameType.GOAWAY:
      return payload.length < 8 ? {} : toGoaway(payload, secrets)
    case FrameType.PRIORITY_UPDATE:
      return { priority: payload.toString('latin1', 4) }
    default:
      return {}
  }
}

const SETTING_NAMES: ReadonlyMap<number, string> = new Map(
  Object.entries(Setting).map(([name, id]) => [id, name]),
)

/** The entries in a SETTINGS frame. If the payload was cut off, so is the list. */
export function toSettings(payload: Buffer): SettingsByName {
  const settings: Record<string, number> = {}
  for (let at = 0; at + 6 <= payload.length; at += 6) {
    const id = payload.readUInt16BE(at)
    settings[SETTING_NAMES.get(id) ?? `0x${id.toString(16).padStart(2, '0')}`] = payload.readUInt32BE(at + 2)
  }
  return settings
}

/** In bytes; 0 for a frame that is too short. */
export function toIncrement({ payload }: ObservedFrame): number {
  return payload.length < 4 ? 0 : payload.readUInt32BE(0) & 0x7fff_ffff
}

function toGoaway(payload: Buffer, secrets: SecretFilter): Partial<FrameDetails> {
  const debugData = secrets.toShownText(payload.toString('utf8', 8))
  return {
    lastStreamId: payload.readUInt32BE(0) & 0x7fff_ffff,
    code: toErrorCodeName(payload.readUInt32BE(4)),
    ...(debugData === '' ? {} : { debugData }),
  }
}

/** The lines that `-v` prints: the frame, and its contents. The caller makes them printable. */
export function toFrameLines(frame: FrameDetails): string[] {
  const { direction, at, type, streamId, flags, length } = frame
  const stream = streamId === 0 ? [] : [`stream ${streamId}`]
  const head = [type, ...stream, ...flags, ...toShortDetails(frame), `${length} bytes`].join(' ')
  const long = [
    ...(frame.headers ?? []).map(([name, value]) => `${name}: ${value}`),
    ...Object.entries(frame.settings ?? {}).map(([name, value]) => `${name} ${value}`),
    ...(frame.debugData === undefined ? [] : [`debug data: ${frame.debugData}`]),
    ...(frame.fault === undefined ? [] : [`malformed: ${frame.fault}`]),
  ]
  const mark = direction === 'sent' ? '>' : '<'
  return [`${mark} ${head}  (${at.toFixed(1)} ms)`, ...long.map((line) => `${mark}   ${line}`)]
}

function toShortDetails({ increment, code, lastStreamId, data, priority }: FrameDetails): string[] {
  return [
    ...(increment === undefined ? [] : [`+${increment}`]),
    ...(lastStreamId === undefined ? [] : [`last stream ${lastStreamId}`]),
    ...(code === undefined ? [] : [code]),
    ...(data === undefined ? [] : [data]),
    ...(priority === undefined ? [] : [`'${priority}'`]),
  ]
}

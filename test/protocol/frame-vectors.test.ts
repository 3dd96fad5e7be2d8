import { describe, expect, it } from 'vitest'
import { Flag, frames, Type } from '../../src/testing/frames.ts'
import { read } from './support/event-log.ts'
import { Rig } from './support/rig.ts'
import { findPublishedVectors, readVectors, toOwnVectors } from './support/vectors.ts'

/** A frame: a good one with what is in it, or a bad one with the codes that name the error (RFC 9113 §7). */
interface Vector {
  readonly name: string
  readonly wire: string
  readonly frame: {
    readonly length: number
    readonly frame_payload: Readonly<Record<string, unknown>>
    readonly flags: number
    readonly stream_identifier: number
  } | null
  readonly error: readonly number[] | null
}

const folders = [
  { folder: toOwnVectors('frames'), count: 72 },
  ...findPublishedVectors('frames').map((folder) => ({ folder, count: 34 })),
]

/** Good frames that only a server may get, or that no peer may send alone, and what a client makes of them. */
const NOT_FOR_CLIENTS: Readonly<Record<string, { readonly fault: number; readonly why: string }>> = {
  'push_promise/normal': { fault: 1, why: 'SETTINGS_ENABLE_PUSH is 0 (RFC 9113 §8.4)' },
  'continuation/header': { fault: 1, why: 'no HEADERS came before it (RFC 9113 §6.10)' },
  'continuation/normal': { fault: 1, why: 'no HEADERS came before it (RFC 9113 §6.10)' },
}

/** Bad frames that a client doesn't take for an error. */
const NO_ERROR_HERE: Readonly<Record<string, string>> = {
  'error/priority-frame-size':
    'an error of stream 2 (RFC 9113 §6.3), which is none of a client’s: there is nothing to reset (§5.1)',
}

/** What a reader is to tell of a good frame. */
function toLine({ name, frame }: Vector): string {
  if (frame === null) throw new Error(`${name} is a bad frame`)
  const { stream_identifier: id, flags, length, frame_payload: fields } = frame
  const isEnd = (flags & Flag.END_STREAM) !== 0
  const isAck = (flags & Flag.ACK) !== 0
  switch (name.split('/')[0]) {
    case 'data':
      return `data ${id} flow=${length} isEnd=${isEnd} ${fields.data}`
    case 'headers':
      return `block ${id} isEnd=${isEnd} ${fields.header_block_fragment}`
    case 'goaway':
      return `goaway ${fields.last_stream_id} ${fields.error_code} ${fields.additional_debug_data || 'nothing'}`
    case 'ping':
      return `ping isAck=${isAck} ${Buffer.from(String(fields.opaque_data)).toString('hex')}`
    case 'rst_stream':
      return `reset ${id} ${fields.error_code}`
    case 'settings':
      return isAck ? 'settings ack' : `settings ${toSettingsHex(fields.settings)}`
    case 'window_update':
      return `window ${id} ${fields.window_size_increment}`
    case 'priority':
      return `priority ${id} of ${length}`
    case 'unknown':
      return 'ignored'
    default:
      throw new Error(`${name} is of no kind that a reader tells`)
  }
}

function toSettingsHex(settings: unknown): string {
  if (!Array.isArray(settings)) return ''
  const toHex = (value: number, octets: number): string => value.toString(16).padStart(2 * octets, '0')
  return settings.map(([id, value]) => toHex(id, 2) + toHex(value, 4)).join('')
}

const wireOf = ({ wire }: Vector): Buffer => Buffer.from(wire, 'hex')

describe.each(folders)('the frame vectors, $folder.origin', ({ folder, count }) => {
  const vectors = readVectors<Vector>(folder, 'frames')

  it('are complete: no file is missing', () => {
    expect(vectors).toHaveLength(count)
    const tables = [...Object.keys(NOT_FOR_CLIENTS), ...Object.keys(NO_ERROR_HERE)]
    expect(tables.filter((name) => !vectors.some((vector) => vector.name === name))).toEqual([])
  })

  const good = vectors.filter(({ name, error }) => error === null && !(name in NOT_FOR_CLIENTS))
  it.each(good)('$name › is read as its description says', (vector) => {
    const lines = read([frames.settings(), wireOf(vector)])
    expect(lines).toEqual(['settings ', toLine(vector)])
  })

  const others = vectors.filter(({ name }) => name in NOT_FOR_CLIENTS)
  it.each(others)('$name › is refused by a client, with the reason', (vector) => {
    const rig = new Rig()
    rig.receive(frames.settings(), wireOf(vector))
    expect(rig.faults.map(({ code }) => code)).toEqual([NOT_FOR_CLIENTS[vector.name]?.fault])
  })

  it.each(
    vectors.filter(({ name }) => name.startsWith('continuation')),
  )('$name › continues a block where there is one', (vector) => {
    const streamId = vector.frame?.stream_identifier ?? 0
    const begin = frames.frame(Type.HEADERS, Flag.END_STREAM, streamId, Buffer.from('begin,'))
    const end = frames.frame(Type.CONTINUATION, Flag.END_HEADERS, streamId, Buffer.from(',end'))
    const lines = read([frames.settings(), begin, wireOf(vector), end])
    const fragment = vector.frame?.frame_payload.header_block_fragment ?? ''
    // The length of one of them isn't that of its fragment: the wire counts.
    const onWire = wireOf(vector).subarray(9).toString('latin1')
    expect(onWire).toBe(fragment)
    expect(lines).toEqual(['settings ', `block ${streamId} isEnd=true begin,${fragment},end`])
  })

  const bad = vectors.filter(({ name, error }) => error !== null && !(name in NO_ERROR_HERE))
  it.each(bad)('$name › is an error with a code that its description allows', (vector) => {
    const rig = new Rig()
    const stream = rig.open()
    rig.take()
    rig.receive(frames.settings(), wireOf(vector))
    const sent = rig.take().filter(({ type }) => type === Type.GOAWAY || type === Type.RST_STREAM)
    expect(sent).toHaveLength(1)
    const [frame] = sent
    const isConnection = frame?.type === Type.GOAWAY
    expect(vector.error).toContain(frame?.payload.readUInt32BE(isConnection ? 4 : 0))
    // A stream error goes to the stream's listener, a connection error to the connection's.
    if (isConnection) expect(rig.faults).toHaveLength(1)
    else expect(stream.events).toEqual([`breach ${frame?.payload.readUInt32BE(0)}`])
  })

  it.each(
    vectors.filter(({ name }) => name in NO_ERROR_HERE),
  )('$name › is no error here, with a reason', (vector) => {
    const rig = new Rig()
    rig.open()
    rig.receive(frames.settings(), wireOf(vector), frames.response(1, Flag.END_STREAM))
    expect(rig.faults).toEqual([])
    expect(rig.streams[0]?.events).toEqual(['response 200'])
  })
})

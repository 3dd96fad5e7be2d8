/** RFC 9113 §4: frames and header blocks, as a client reads and writes them; and §6.10, CONTINUATION. */

import { describe, expect, it } from 'vitest'
import { encodeFields } from '../../src/testing/hpack.ts'
import { CANCEL, NO_ERROR } from '../support/peers/error-codes.ts'
import {
  Dialogue,
  expectConnectionError,
  Flag,
  frames,
  GET,
  response,
  Setting,
  Type,
  uint32,
} from './support-connection.ts'

const { END_HEADERS, END_STREAM } = Flag
const OK = encodeFields([[':status', '200']])
const UNKNOWN_TYPE = 0xbe
/** Each type of RFC 9113 §6 with a payload of the right size. */
const ANY_FRAME = [
  { type: 'DATA', bytes: frames.data(1, 'x') },
  { type: 'HEADERS', bytes: response(1, 200) },
  { type: 'PRIORITY', bytes: frames.frame(Type.PRIORITY, 0, 1, Buffer.alloc(5)) },
  { type: 'RST_STREAM', bytes: frames.reset(1, CANCEL) },
  { type: 'SETTINGS', bytes: frames.settings() },
  { type: 'PUSH_PROMISE', bytes: frames.frame(Type.PUSH_PROMISE, END_HEADERS, 1, uint32(2)) },
  { type: 'PING', bytes: frames.ping() },
  { type: 'GOAWAY', bytes: frames.goAway(0, NO_ERROR) },
  { type: 'WINDOW_UPDATE', bytes: frames.windowUpdate(1, 1) },
  { type: 'an unknown type', bytes: frames.frame(UNKNOWN_TYPE, 0, 1) },
]

describe('the header of a frame', () => {
  it('RFC 9113 §4.1: of an unknown type is ignored, with its payload, whatever its flags and its stream are', () => {
    const dialogue = new Dialogue()
    const stream = dialogue.open()
    const unknown = [0, 1, 2, 77].map((id) => frames.frame(UNKNOWN_TYPE, 0xff, id, Buffer.alloc(100, 1)))
    expect(dialogue.hears(...unknown, frames.frame(0xff, 0, 1), response(1, 200, END_STREAM))).toEqual([])
    expect(stream.events).toEqual(['response 200, the end'])
  })

  it('RFC 9113 §4.1: has flags that mean nothing for its type, and they are ignored', () => {
    const dialogue = new Dialogue()
    const stream = dialogue.open()
    const pong = dialogue.hears(
      frames.frame(Type.HEADERS, END_HEADERS | 0xd2, 1, OK),
      frames.frame(Type.WINDOW_UPDATE, 0xff, 0, uint32(1)),
      frames.frame(Type.PING, 0xfe, 0, Buffer.from('12345678')),
      frames.frame(Type.DATA, END_STREAM | 0xf6, 1, Buffer.from('text')),
    )
    expect(pong).toEqual([`PING ACK ${Buffer.from('12345678').toString('hex')}`])
    expect(stream.events).toEqual(['response 200', 'data text, the end'])
    expect(dialogue.hears(frames.frame(Type.GOAWAY, 0xff, 0, Buffer.alloc(8)))).toEqual([])
    expect(dialogue.events).toEqual(['goaway NO_ERROR 0 null'])
  })

  it('RFC 9113 §4.1: has a reserved bit, which is ignored wherever there is one', () => {
    const dialogue = new Dialogue()
    const stream = dialogue.open(false)
    const bit = 0x8000_0000
    dialogue.hears(
      frames.frame(Type.HEADERS, END_HEADERS, bit + 1, OK),
      frames.frame(Type.WINDOW_UPDATE, 0, bit, uint32(bit + 5)),
      frames.frame(Type.GOAWAY, 0, bit, Buffer.concat([uint32(bit + 1), uint32(0)])),
    )
    expect(stream.events).toEqual(['response 200'])
    expect(dialogue.connection.sendWindow).toBe(65_540)
    expect(dialogue.events).toEqual(['goaway NO_ERROR 1 null'])
  })

  it('RFC 9113 §4.1: leaves the reserved bit and all unused flags unset in what the client sends', () => {
    const dialogue = new Dialogue({ isGreeted: false, windows: { connectionWindow: 100_000 } })
    const stream = dialogue.open(false)
    dialogue.send(stream, 'text')
    dialogue.hears(frames.settings(), frames.ping())
    dialogue.connection.sendTrailers(stream, ['a', 'b'])
    dialogue.connection.reset(dialogue.open(), 8)
    dialogue.connection.ping(() => {})
    dialogue.connection.goaway()
    dialogue.says()
    const defined: Record<number, number> = {
      [Type.DATA]: END_STREAM,
      [Type.HEADERS]: END_STREAM | END_HEADERS,
      [Type.SETTINGS]: Flag.ACK,
      [Type.PING]: Flag.ACK,
    }
    const types = new Set(dialogue.frames.map(({ type }) => type))
    expect([...types].sort()).toEqual([0, 1, 3, 4, 6, 7, 8])
    for (const { type, flags, streamId } of dialogue.frames) {
      expect(flags & ~(defined[type] ?? 0)).toBe(0)
      expect(streamId).toBeLessThan(2 ** 31)
    }
  })
})

describe('the size of a frame', () => {
  it('RFC 9113 §4.2: of 16,384 octets is always taken', () => {
    const dialogue = new Dialogue()
    const stream = dialogue.open()
    dialogue.hears(response(1, 200), frames.data(1, 'x'.repeat(16_384), END_STREAM))
    expect(stream.events[1]).toBe(`data ${'x'.repeat(16_384)}, the end`)
  })

  const LARGE = ANY_FRAME.map(({ type, bytes }) => ({ type, number: bytes.readUInt8(3) }))
  it.each(LARGE)('RFC 9113 §4.2: above SETTINGS_MAX_FRAME_SIZE is FRAME_SIZE_ERROR ($type)', ({ number }) => {
    const bytes = frames.frame(number, END_HEADERS, 1, Buffer.alloc(16_385))
    expectConnectionError(new Dialogue(), 'FRAME_SIZE_ERROR', bytes)
  })

  it('RFC 9113 §4.2: may be up to what the client has announced, and no more', () => {
    const dialogue = new Dialogue({ settings: { maxFrameSize: 20_000 } })
    const stream = dialogue.open()
    dialogue.hears(response(1, 200), frames.data(1, 'x'.repeat(20_000)))
    expect(stream.events).toHaveLength(2)
    expectConnectionError(dialogue, 'FRAME_SIZE_ERROR', frames.data(1, 'x'.repeat(20_001)))
  })

  it('RFC 9113 §4.1: is at most 16,384 octets for what the client sends, unless the server takes more', () => {
    const dialogue = new Dialogue()
    const stream = dialogue.open(false)
    expect(dialogue.send(stream, 'x'.repeat(20_000))).toEqual(['DATA(1) 16384', 'DATA(1) 3616'])
    dialogue.hears(frames.settings([Setting.MAX_FRAME_SIZE, 20_000]))
    expect(dialogue.send(stream, 'x'.repeat(20_001))).toEqual(['DATA(1) 20000', 'DATA(1) 1'])
  })
})

describe('a header block', () => {
  const WAYS = [0, 1, OK.length - 1, OK.length]
  it.each(WAYS)('RFC 9113 §4.3: is put together from HEADERS and CONTINUATION, cut at %i', (at) => {
    const dialogue = new Dialogue()
    const stream = dialogue.open()
    dialogue.hears(
      frames.frame(Type.HEADERS, END_STREAM, 1, OK.subarray(0, at)),
      frames.frame(Type.CONTINUATION, 0, 1, OK.subarray(at)),
      frames.frame(Type.CONTINUATION, END_HEADERS, 1),
    )
    expect(stream.events).toEqual(['response 200, the end'])
  })

  it.each(ANY_FRAME)('RFC 9113 §6.2: is broken by another frame within it, with PROTOCOL_ERROR ($type)', ({
    bytes,
  }) => {
    const begin = frames.frame(Type.HEADERS, 0, 1, OK.subarray(0, 1))
    expectConnectionError(new Dialogue(), 'PROTOCOL_ERROR', begin, bytes)
  })

  it.each(ANY_FRAME)('RFC 9113 §6.10: is broken behind a CONTINUATION, too, with PROTOCOL_ERROR ($type)', ({
    bytes,
  }) => {
    const begin = frames.frame(Type.HEADERS, 0, 1, OK.subarray(0, 1))
    const more = frames.frame(Type.CONTINUATION, 0, 1, OK.subarray(1, 2))
    expectConnectionError(new Dialogue(), 'PROTOCOL_ERROR', begin, more, bytes)
  })

  it('RFC 9113 §6.10: is not continued on another stream, which is PROTOCOL_ERROR', () => {
    const dialogue = new Dialogue()
    dialogue.open()
    const begin = frames.frame(Type.HEADERS, 0, 1, OK)
    expectConnectionError(dialogue, 'PROTOCOL_ERROR', begin, frames.frame(Type.CONTINUATION, END_HEADERS, 3))
  })

  it.each([
    0,
    END_HEADERS,
  ])('RFC 9113 §6.10: is not continued where there is none, which is PROTOCOL_ERROR (flags %i)', (flags) => {
    expectConnectionError(new Dialogue(), 'PROTOCOL_ERROR', frames.frame(Type.CONTINUATION, flags, 1, OK))
    const whole = new Dialogue()
    expectConnectionError(
      whole,
      'PROTOCOL_ERROR',
      response(1, 200),
      frames.frame(Type.CONTINUATION, flags, 1),
    )
  })

  it.each([
    0,
    END_HEADERS,
  ])('RFC 9113 §6.10: is not continued on stream 0, which is PROTOCOL_ERROR (flags %i)', (flags) => {
    expectConnectionError(new Dialogue(), 'PROTOCOL_ERROR', frames.frame(Type.CONTINUATION, flags, 0, OK))
    const begun = new Dialogue()
    const begin = frames.frame(Type.HEADERS, 0, 1, OK)
    expectConnectionError(begun, 'PROTOCOL_ERROR', begin, frames.frame(Type.CONTINUATION, flags, 0))
  })

  it('RFC 9113 §4.3: that HPACK cannot read is COMPRESSION_ERROR, on an open stream and on one that was reset', () => {
    const bad = Buffer.from([0x80])
    expectConnectionError(
      new Dialogue(),
      'COMPRESSION_ERROR',
      frames.frame(Type.HEADERS, END_HEADERS, 1, bad),
    )
    const dialogue = new Dialogue()
    dialogue.connection.reset(dialogue.open(), 8)
    dialogue.says()
    expectConnectionError(dialogue, 'COMPRESSION_ERROR', frames.frame(Type.HEADERS, END_HEADERS, 1, bad))
  })

  it('RFC 9113 §4.3: of the client that needs several frames has nothing between them', () => {
    const dialogue = new Dialogue()
    const busy = dialogue.open(false)
    dialogue.connection.send(busy, Buffer.from('text'), false)
    dialogue.connection.open(dialogue.open(), [...GET, 'x', '~'.repeat(40_000)], true, null)
    dialogue.connection.ping(() => {})
    const types = dialogue.says().map((line) => line.replace(/ (?!END).*?(?= END|$)/, ''))
    const at = types.indexOf('HEADERS(5) END_STREAM')
    expect(types.slice(at, at + 3)).toEqual([
      'HEADERS(5) END_STREAM',
      'CONTINUATION(5)',
      'CONTINUATION(5) END_HEADERS',
    ])
  })
})

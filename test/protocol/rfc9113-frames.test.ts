/**
 * RFC 9113 §6: each type of frame, as a client reads it. SETTINGS, GOAWAY and WINDOW_UPDATE have files of their own.
 */

import { describe, expect, it } from 'vitest'
import { encodeFields } from '../../src/testing/hpack.ts'
import { CANCEL } from '../support/peers/error-codes.ts'
import {
  Dialogue,
  expectConnectionError,
  expectStreamError,
  Flag,
  frames,
  response,
  Type,
  uint32,
} from './support-connection.ts'

const { END_HEADERS, END_STREAM, PADDED, PRIORITY } = Flag
const OK = encodeFields([[':status', '200']])

describe('DATA', () => {
  it('RFC 9113 §6.1: on stream 0 is PROTOCOL_ERROR', () => {
    expectConnectionError(new Dialogue(), 'PROTOCOL_ERROR', frames.data(0, 'x'))
  })

  it.each([
    1, 2, 255,
  ])('RFC 9113 §6.1: with as much padding as payload or more is PROTOCOL_ERROR (%i)', (padding) => {
    const payload = Buffer.from([padding])
    const bytes = frames.frame(Type.DATA, PADDED, 1, payload)
    expectConnectionError(new Dialogue(), 'PROTOCOL_ERROR', response(1, 200), bytes)
  })

  it('RFC 9113 §4.2: with PADDED, and no octet for its length, is FRAME_SIZE_ERROR', () => {
    const bytes = frames.frame(Type.DATA, PADDED, 1)
    expectConnectionError(new Dialogue(), 'FRAME_SIZE_ERROR', response(1, 200), bytes)
  })

  it('RFC 9113 §6.1: loses its padding, of any length', () => {
    const dialogue = new Dialogue()
    const stream = dialogue.open()
    const padded = [0, 1, 255].map((padding) =>
      Buffer.from(`${String.fromCharCode(padding)}text${'\0'.repeat(padding)}`, 'latin1'),
    )
    dialogue.hears(response(1, 200), ...padded.map((payload) => frames.frame(Type.DATA, PADDED, 1, payload)))
    expect(stream.events).toEqual(['response 200', 'data text', 'data text', 'data text'])
  })
})

describe('HEADERS', () => {
  it('RFC 9113 §6.2: on stream 0 is PROTOCOL_ERROR', () => {
    expectConnectionError(new Dialogue(), 'PROTOCOL_ERROR', response(0, 200))
    // At once, whatever else would follow.
    expectConnectionError(new Dialogue(), 'PROTOCOL_ERROR', frames.frame(Type.HEADERS, 0, 0, OK))
  })

  it.each([
    OK.length + 1,
    255,
  ])('RFC 9113 §6.2: with as much padding as payload or more is PROTOCOL_ERROR (%i)', (padding) => {
    const payload = Buffer.concat([Buffer.from([padding]), OK])
    const bytes = frames.frame(Type.HEADERS, PADDED | END_HEADERS, 1, payload)
    expectConnectionError(new Dialogue(), 'PROTOCOL_ERROR', bytes)
  })

  const SHORT = [
    { flags: PADDED, length: 0 },
    { flags: PRIORITY, length: 4 },
    { flags: PADDED | PRIORITY, length: 5 },
  ]
  it.each(SHORT)('RFC 9113 §4.2: too short for its own fields is FRAME_SIZE_ERROR (flags $flags)', ({
    flags,
    length,
  }) => {
    const bytes = frames.frame(Type.HEADERS, flags | END_HEADERS, 1, Buffer.alloc(length))
    expectConnectionError(new Dialogue(), 'FRAME_SIZE_ERROR', bytes)
  })

  it('RFC 9113 §6.2: loses its padding and its priority', () => {
    const dialogue = new Dialogue()
    const stream = dialogue.open()
    const payload = Buffer.concat([Buffer.from([9]), Buffer.alloc(5, 0xff), OK, Buffer.alloc(9)])
    dialogue.hears(frames.frame(Type.HEADERS, PADDED | PRIORITY | END_HEADERS | END_STREAM, 1, payload))
    expect(stream.events).toEqual(['response 200, the end'])
  })
})

describe('PRIORITY', () => {
  it('RFC 9113 §6.3: on stream 0 is PROTOCOL_ERROR', () => {
    const bytes = frames.frame(Type.PRIORITY, 0, 0, Buffer.alloc(5))
    expectConnectionError(new Dialogue(), 'PROTOCOL_ERROR', bytes)
  })

  it.each([
    0, 4, 6,
  ])('RFC 9113 §6.3: of another length than 5 is FRAME_SIZE_ERROR of its stream (%i)', (length) => {
    const dialogue = new Dialogue()
    const bytes = frames.frame(Type.PRIORITY, 0, 1, Buffer.alloc(length))
    expectStreamError(dialogue, dialogue.open(), 'FRAME_SIZE_ERROR', bytes)
  })

  it('RFC 9113 §6.3: changes nothing, also on streams that are idle or closed', () => {
    const dialogue = new Dialogue()
    const stream = dialogue.open()
    dialogue.hears(response(dialogue.open().id, 200, END_STREAM))
    const ids = [1, 2, 3, 99].map((id) => frames.frame(Type.PRIORITY, 0, id, Buffer.alloc(5)))
    expect(dialogue.hears(...ids)).toEqual([])
    expect([stream.state, stream.events]).toEqual(['half-closed (local)', []])
    expect(dialogue.events).toEqual([])
  })
})

describe('RST_STREAM', () => {
  it('RFC 9113 §6.4: on stream 0 is PROTOCOL_ERROR', () => {
    expectConnectionError(new Dialogue(), 'PROTOCOL_ERROR', frames.reset(0, CANCEL))
  })

  it.each([3, 5, 99])('RFC 9113 §6.4: on an idle stream is PROTOCOL_ERROR (%i)', (id) => {
    expectConnectionError(new Dialogue(), 'PROTOCOL_ERROR', frames.reset(id, CANCEL))
  })

  it.each([0, 3, 5])('RFC 9113 §6.4: of another length than 4 is FRAME_SIZE_ERROR (%i)', (length) => {
    const bytes = frames.frame(Type.RST_STREAM, 0, 1, Buffer.alloc(length))
    expectConnectionError(new Dialogue(), 'FRAME_SIZE_ERROR', bytes)
  })
})

describe('PUSH_PROMISE', () => {
  it.each([
    1, 0, 2, 99,
  ])('RFC 9113 §6.6: is PROTOCOL_ERROR, since the client has refused push (stream %i)', (id) => {
    const payload = Buffer.concat([uint32(2), encodeFields([[':method', 'GET']])])
    const bytes = frames.frame(Type.PUSH_PROMISE, END_HEADERS, id, payload)
    expectConnectionError(new Dialogue(), 'PROTOCOL_ERROR', bytes)
  })
})

describe('PING', () => {
  it('RFC 9113 §6.7: is answered with the same eight octets', () => {
    const payload = Buffer.from('ff00fe01fd02fc80', 'hex')
    expect(new Dialogue().hears(frames.ping(payload))).toEqual(['PING ACK ff00fe01fd02fc80'])
  })

  it('RFC 9113 §6.7: with ACK is not answered, whether the client has asked for it or not', () => {
    const dialogue = new Dialogue()
    expect(dialogue.hears(frames.ping(Buffer.alloc(8, 7), Flag.ACK))).toEqual([])
    const acks: string[] = []
    dialogue.connection.ping(() => acks.push('ack'))
    const [ping] = dialogue.says()
    const payload = Buffer.from(ping?.replace('PING ', '') ?? '', 'hex')
    expect(payload).toHaveLength(8)
    expect(dialogue.hears(frames.ping(payload, Flag.ACK), frames.ping(payload, Flag.ACK))).toEqual([])
    expect(acks).toEqual(['ack'])
  })

  it('RFC 9113 §6.7: on a stream is PROTOCOL_ERROR', () => {
    expectConnectionError(new Dialogue(), 'PROTOCOL_ERROR', frames.frame(Type.PING, 0, 1, Buffer.alloc(8)))
  })

  it.each([0, 7, 9])('RFC 9113 §6.7: of another length than 8 is FRAME_SIZE_ERROR (%i)', (length) => {
    const bytes = frames.frame(Type.PING, 0, 0, Buffer.alloc(length))
    expectConnectionError(new Dialogue(), 'FRAME_SIZE_ERROR', bytes)
  })
})

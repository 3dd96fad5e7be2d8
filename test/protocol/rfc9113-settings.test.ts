/** RFC 9113 §6.5: SETTINGS, of the server's and of the client's. And what of RFC 9113 §4.3.1 hangs on them. */

import { describe, expect, it } from 'vitest'
import {
  Dialogue,
  expectConnectionError,
  Flag,
  frames,
  GET,
  Setting,
  Type,
  uint32,
} from './support-connection.ts'

const MAX_VALUE = 2 ** 32 - 1
const NO_RFC7540_PRIORITIES = 9

function setting(id: number, value: number): Buffer {
  return Buffer.concat([Buffer.from([id >>> 8, id & 0xff]), uint32(value)])
}

describe('the SETTINGS of the server', () => {
  it('RFC 9113 §6.5.3: are acknowledged, each frame of them, in their order', () => {
    const dialogue = new Dialogue()
    expect(
      dialogue.hears(frames.settings(), frames.settings([4, 1], [3, 2]), frames.ping(), frames.settings()),
    ).toEqual([...['SETTINGS ACK', 'SETTINGS ACK', 'PING ACK 0000000000000000', 'SETTINGS ACK']])
    expect(dialogue.events).toEqual(['settings', 'settings', 'settings'])
  })

  it('RFC 9113 §6.5.3: count before they are acknowledged: what goes out with the ACK keeps to them', () => {
    const dialogue = new Dialogue()
    const stream = dialogue.open(false)
    dialogue.send(stream, 'x'.repeat(65_535))
    dialogue.connection.send(stream, Buffer.from('text'), false)
    dialogue.hears(frames.windowUpdate(0, 100))
    expect(dialogue.hears(frames.settings([Setting.INITIAL_WINDOW_SIZE, 65_537]))).toEqual([
      'SETTINGS ACK',
      'DATA(1) 2',
    ])
  })

  it('RFC 9113 §6.5.3: are processed in the order in which they appear: the last value of each counts', () => {
    const dialogue = new Dialogue()
    dialogue.hears(frames.settings([4, 10], [5, 20_000], [4, 20], [6, 1], [5, 30_000], [6, 70]))
    const { initialWindowSize, maxFrameSize, maxHeaderListSize } = dialogue.connection.server
    expect([initialWindowSize, maxFrameSize, maxHeaderListSize]).toEqual([20, 30_000, 70])
  })

  it('RFC 9113 §6.5: replace only what they say', () => {
    const dialogue = new Dialogue()
    const { server } = dialogue.connection
    expect({ ...server }).toEqual({
      headerTableSize: 4_096,
      maxConcurrentStreams: MAX_VALUE,
      initialWindowSize: 65_535,
      maxFrameSize: 16_384,
      maxHeaderListSize: MAX_VALUE,
      enableConnectProtocol: false,
    })
    dialogue.hears(frames.settings([1, 0], [3, 0], [4, 0], [6, 0], [8, 1]), frames.settings([5, 2 ** 24 - 1]))
    expect({ ...server }).toEqual({
      headerTableSize: 0,
      maxConcurrentStreams: 0,
      initialWindowSize: 0,
      maxFrameSize: 2 ** 24 - 1,
      maxHeaderListSize: 0,
      enableConnectProtocol: true,
    })
  })

  it('RFC 9113 §6.5.2: may have unknown identifiers', () => {
    const dialogue = new Dialogue()
    const unknown = [0, 7, 0x0a, 0x0a0a, 0xffff].map((id) => setting(id, MAX_VALUE))
    const before = { ...dialogue.connection.server }
    expect(dialogue.hears(frames.frame(Type.SETTINGS, 0, 0, Buffer.concat(unknown)))).toEqual([
      'SETTINGS ACK',
    ])
    expect({ ...dialogue.connection.server }).toEqual(before)
  })

  const BAD_VALUES = [
    { what: 'ENABLE_PUSH 1', id: Setting.ENABLE_PUSH, value: 1, code: 'PROTOCOL_ERROR' },
    { what: 'ENABLE_PUSH 2', id: Setting.ENABLE_PUSH, value: 2, code: 'PROTOCOL_ERROR' },
    {
      what: 'INITIAL_WINDOW_SIZE 2^31',
      id: Setting.INITIAL_WINDOW_SIZE,
      value: 2 ** 31,
      code: 'FLOW_CONTROL_ERROR',
    },
    {
      what: 'INITIAL_WINDOW_SIZE 2^32-1',
      id: Setting.INITIAL_WINDOW_SIZE,
      value: MAX_VALUE,
      code: 'FLOW_CONTROL_ERROR',
    },
    { what: 'MAX_FRAME_SIZE 0', id: Setting.MAX_FRAME_SIZE, value: 0, code: 'PROTOCOL_ERROR' },
    { what: 'MAX_FRAME_SIZE 16,383', id: Setting.MAX_FRAME_SIZE, value: 16_383, code: 'PROTOCOL_ERROR' },
    { what: 'MAX_FRAME_SIZE 2^24', id: Setting.MAX_FRAME_SIZE, value: 2 ** 24, code: 'PROTOCOL_ERROR' },
  ] as const
  it.each(BAD_VALUES)('RFC 9113 §6.5.2: may not have every value: $what is $code', ({ id, value, code }) => {
    expectConnectionError(new Dialogue(), code, frames.settings([id, value]))
    // Nor where a good value comes after it.
    expectConnectionError(
      new Dialogue(),
      code,
      frames.settings([id, value], [id, id === Setting.ENABLE_PUSH ? 0 : 16_384]),
    )
  })

  it('RFC 9113 §6.5.2: may have every other value, up to the greatest', () => {
    const dialogue = new Dialogue()
    const great = [
      frames.settings([Setting.ENABLE_PUSH, 0], [Setting.INITIAL_WINDOW_SIZE, 2 ** 31 - 1]),
      frames.settings([Setting.MAX_FRAME_SIZE, 16_384], [Setting.MAX_FRAME_SIZE, 2 ** 24 - 1]),
      frames.settings(...([1, 3, 6] as const).map((id) => [id, MAX_VALUE] as const)),
    ]
    expect(dialogue.hears(...great)).toEqual(['SETTINGS ACK', 'SETTINGS ACK', 'SETTINGS ACK'])
  })

  it('RFC 9113 §6.5: on a stream are PROTOCOL_ERROR, and so is their ACK', () => {
    expectConnectionError(new Dialogue(), 'PROTOCOL_ERROR', frames.frame(Type.SETTINGS, 0, 1))
    expectConnectionError(new Dialogue(), 'PROTOCOL_ERROR', frames.frame(Type.SETTINGS, Flag.ACK, 1))
  })

  it.each([
    1, 2, 3, 8, 13,
  ])('RFC 9113 §6.5: of a length that is no multiple of 6 are FRAME_SIZE_ERROR (%i)', (length) => {
    const bytes = frames.frame(Type.SETTINGS, 0, 0, Buffer.alloc(length))
    expectConnectionError(new Dialogue(), 'FRAME_SIZE_ERROR', bytes)
  })

  it.each([1, 6])('RFC 9113 §6.5: with ACK and a payload are FRAME_SIZE_ERROR (%i)', (length) => {
    const bytes = frames.frame(Type.SETTINGS, Flag.ACK, 0, Buffer.alloc(length))
    expectConnectionError(new Dialogue(), 'FRAME_SIZE_ERROR', bytes)
  })

  it('RFC 9113 §4.3.1: that make the table of HPACK smaller are followed by a size update in the next block', () => {
    const dialogue = new Dialogue()
    dialogue.open(true, [...GET, 'a', 'b'])
    dialogue.hears(frames.settings([Setting.HEADER_TABLE_SIZE, 100], [Setting.HEADER_TABLE_SIZE, 300]))
    // The reading side throws for a block that begins without it, since it allows for no more from now on.
    dialogue.open(true, [...GET, 'a', 'b'])
    const block = dialogue.frames.at(-1)?.payload
    // RFC 7541 §6.3: 001 and 5 bits of the size; the smallest first (§4.2).
    expect(block?.toString('hex', 0, 5)).toBe('3f453f8d02')
  })
})

describe('the SETTINGS of the client', () => {
  it('RFC 9113 §3.4: follow the preface at once, as the first frame', () => {
    const dialogue = new Dialogue({ isGreeted: false })
    const [first] = dialogue.says()
    expect(dialogue.preface).toBe('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
    expect(first).toMatch(/^SETTINGS /)
  })

  it('RFC 9113 §6.5.2: refuse push, and say what was asked for', () => {
    const settings = {
      headerTableSize: 0,
      maxConcurrentStreams: 7,
      maxFrameSize: 20_000,
      maxHeaderListSize: 9_999,
      enableConnectProtocol: false,
    }
    const dialogue = new Dialogue({ isGreeted: false, settings, windows: { streamWindow: 12 } })
    const { maxConcurrentStreams, maxFrameSize, maxHeaderListSize } = settings
    const all = [
      [Setting.HEADER_TABLE_SIZE, 0],
      [Setting.ENABLE_PUSH, 0],
      [Setting.MAX_CONCURRENT_STREAMS, maxConcurrentStreams],
      [Setting.INITIAL_WINDOW_SIZE, 12],
      [Setting.MAX_FRAME_SIZE, maxFrameSize],
      [Setting.MAX_HEADER_LIST_SIZE, maxHeaderListSize],
      [Setting.ENABLE_CONNECT_PROTOCOL, 0],
      [NO_RFC7540_PRIORITIES, 1],
    ]
    expect(dialogue.says()[0]).toBe(`SETTINGS ${all.join(' ')}`)
  })

  it('RFC 9113 §6.5.3: count once they are acknowledged, the oldest of them first', () => {
    const dialogue = new Dialogue()
    const acks: string[] = []
    dialogue.setStreamWindow(100_000, () => acks.push('first'))
    dialogue.setStreamWindow(200_000, () => acks.push('second'))
    dialogue.hears(frames.settingsAck())
    expect(acks).toEqual(['first'])
    dialogue.hears(frames.settingsAck())
    expect(acks).toEqual(['first', 'second'])
  })

  it('RFC 9113 §6.5.3: are acknowledged once: an ACK without them is PROTOCOL_ERROR', () => {
    expectConnectionError(new Dialogue(), 'PROTOCOL_ERROR', frames.settingsAck())
  })

  it('RFC 9113 §4.3.1: that make the table smaller want a size update in the first block after their ACK', () => {
    const options = { isGreeted: false, settings: { headerTableSize: 100 } }
    const block = Buffer.from('88', 'hex')
    const early = new Dialogue(options)
    const stream = early.open()
    const header = frames.frame(Type.HEADERS, Flag.END_HEADERS, 1, block)
    early.hears(frames.settings(), header)
    expect(stream.events).toEqual(['response 200'])
    expectConnectionError(
      early,
      'COMPRESSION_ERROR',
      frames.settingsAck(),
      frames.frame(Type.HEADERS, Flag.END_HEADERS, 3, block),
    )

    const proper = new Dialogue(options)
    const other = proper.open()
    const update = Buffer.from('3f4588', 'hex')
    proper.hears(
      frames.settings(),
      frames.settingsAck(),
      frames.frame(Type.HEADERS, Flag.END_HEADERS, 1, update),
    )
    expect(other.events).toEqual(['response 200'])
  })
})

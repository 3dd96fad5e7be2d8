/** RFC 9113 §5.2 and §6.9: flow control, of what the client sends and of what it receives. */

import { describe, expect, it } from 'vitest'
import { CANCEL } from '../support/peers/error-codes.ts'
import {
  Dialogue,
  expectConnectionError,
  expectStreamError,
  Flag,
  frames,
  response,
  Setting,
  Type,
} from './support-connection.ts'

const { END_STREAM, PADDED } = Flag
const MAX_WINDOW = 2 ** 31 - 1
/** As much as a frame may have. */
const FULL = 'x'.repeat(16_384)

/** Sets the window of streams, for what the client sends. */
function windowOf(size: number): Buffer {
  return frames.settings([Setting.INITIAL_WINDOW_SIZE, size])
}

describe('what the client sends', () => {
  it('RFC 9113 §6.9.2: is at most 65,535 octets on a stream, before the server has said anything', () => {
    const dialogue = new Dialogue({ isGreeted: false })
    const stream = dialogue.open(false)
    expect(dialogue.send(stream, 'x'.repeat(65_536))).toEqual([
      ...['DATA(1) 16384', 'DATA(1) 16384', 'DATA(1) 16384', 'DATA(1) 16383'],
    ])
    expect(stream.sendWindow).toBe(0)
  })

  it('RFC 9113 §6.9.1: stays within the window of its stream, while others go on', () => {
    const dialogue = new Dialogue()
    dialogue.hears(windowOf(10))
    const [one, other] = [dialogue.open(false), dialogue.open(false)]
    expect(dialogue.send(one, 'x'.repeat(25))).toEqual(['DATA(1) 10'])
    expect(dialogue.send(other, 'x'.repeat(5))).toEqual(['DATA(3) 5'])
    expect(dialogue.hears(frames.windowUpdate(1, 7))).toEqual(['DATA(1) 7'])
    expect(dialogue.hears(frames.windowUpdate(3, 100))).toEqual([])
    expect(dialogue.hears(frames.windowUpdate(1, 100))).toEqual(['DATA(1) 8'])
  })

  it('RFC 9113 §6.9.1: stays within the connection’s window, whatever the windows of streams are', () => {
    const dialogue = new Dialogue()
    dialogue.hears(windowOf(MAX_WINDOW))
    const [one, other] = [dialogue.open(false), dialogue.open(false)]
    dialogue.send(one, 'x'.repeat(65_000))
    expect(dialogue.send(other, 'x'.repeat(1_000))).toEqual(['DATA(3) 535'])
    expect(dialogue.hears(frames.windowUpdate(3, 100))).toEqual([])
    expect(dialogue.hears(frames.windowUpdate(0, 100))).toEqual(['DATA(3) 100'])
    expect(dialogue.hears(frames.windowUpdate(0, 10_000))).toEqual(['DATA(3) 365'])
  })

  it('RFC 9113 §6.9.1: may end a stream with an empty frame where there is no window', () => {
    const dialogue = new Dialogue()
    const [one, other] = [dialogue.open(false), dialogue.open(false)]
    dialogue.send(one, 'x'.repeat(65_535))
    expect(dialogue.send(one, '', true)).toEqual(['DATA(1) 0 END_STREAM'])
    expect(dialogue.send(other, 'text')).toEqual([])
    expect(one.state).toBe('half-closed (local)')
  })

  it('RFC 9113 §5.2.1: is held up for DATA alone', () => {
    const dialogue = new Dialogue()
    dialogue.hears(windowOf(0))
    const stream = dialogue.open(false)
    dialogue.send(dialogue.open(false), 'text')
    dialogue.connection.sendTrailers(stream, ['a', 'b'])
    dialogue.connection.ping(() => {})
    dialogue.connection.reset(stream, 8)
    expect(dialogue.says()).toEqual([
      ...['HEADERS(1) a=b END_STREAM END_HEADERS', 'PING 0000000000000001', 'RST_STREAM(1) CANCEL'],
    ])
  })

  it('RFC 9113 §6.9.2: follows a change of SETTINGS_INITIAL_WINDOW_SIZE on streams that are open, and on new ones', () => {
    const dialogue = new Dialogue()
    dialogue.hears(windowOf(10))
    const stream = dialogue.open(false)
    dialogue.send(stream, 'x'.repeat(40))
    expect(dialogue.hears(windowOf(25))).toEqual(['SETTINGS ACK', 'DATA(1) 15'])
    expect(dialogue.send(dialogue.open(false), 'x'.repeat(40))).toEqual(['DATA(3) 25'])
  })

  it('RFC 9113 §6.9.2: waits until a window that became negative is positive again', () => {
    const dialogue = new Dialogue()
    dialogue.hears(windowOf(60))
    const stream = dialogue.open(false)
    dialogue.send(stream, 'x'.repeat(100))
    expect(dialogue.hears(windowOf(16))).toEqual(['SETTINGS ACK'])
    expect(stream.sendWindow).toBe(-44)
    expect(dialogue.hears(frames.windowUpdate(1, 43))).toEqual([])
    expect(dialogue.hears(frames.windowUpdate(1, 1))).toEqual([])
    expect(dialogue.hears(frames.windowUpdate(1, 3))).toEqual(['DATA(1) 3'])
  })

  it('RFC 9113 §6.9.2: is nothing, not even an empty frame, where the window was lowered while data stood in line', () => {
    const dialogue = new Dialogue()
    const [one, other] = [dialogue.open(false), dialogue.open(false)]
    dialogue.send(one, 'x'.repeat(65_535))
    expect(dialogue.send(other, 'text')).toEqual([])
    expect(dialogue.hears(windowOf(0), frames.windowUpdate(0, 100))).toEqual(['SETTINGS ACK'])
    expect(dialogue.hears(frames.windowUpdate(3, 3))).toEqual(['DATA(3) 3'])
    expect(dialogue.hears(frames.windowUpdate(3, 3))).toEqual(['DATA(3) 1'])
  })

  it('RFC 9113 §6.9.2: has a connection’s window that SETTINGS do not touch', () => {
    const dialogue = new Dialogue()
    dialogue.hears(windowOf(5))
    expect(dialogue.connection.sendWindow).toBe(65_535)
    dialogue.hears(windowOf(MAX_WINDOW))
    expect(dialogue.connection.sendWindow).toBe(65_535)
  })
})

describe('WINDOW_UPDATE', () => {
  it('RFC 9113 §6.9: of 0 is PROTOCOL_ERROR of its stream', () => {
    const dialogue = new Dialogue()
    expectStreamError(dialogue, dialogue.open(), 'PROTOCOL_ERROR', frames.windowUpdate(1, 0))
  })

  it('RFC 9113 §6.9: of 0 for the connection is PROTOCOL_ERROR', () => {
    expectConnectionError(new Dialogue(), 'PROTOCOL_ERROR', frames.windowUpdate(0, 0))
  })

  it.each([0, 3, 5])('RFC 9113 §6.9: of another length than 4 is FRAME_SIZE_ERROR (%i)', (length) => {
    for (const id of [0, 1]) {
      const bytes = frames.frame(Type.WINDOW_UPDATE, 0, id, Buffer.alloc(length, 1))
      expectConnectionError(new Dialogue(), 'FRAME_SIZE_ERROR', bytes)
    }
  })

  it('RFC 9113 §6.9.1: beyond 2^31-1 is FLOW_CONTROL_ERROR of its stream', () => {
    const dialogue = new Dialogue()
    const stream = dialogue.open(false)
    expect(dialogue.hears(frames.windowUpdate(1, MAX_WINDOW - 65_535))).toEqual([])
    expect(stream.sendWindow).toBe(MAX_WINDOW)
    expectStreamError(dialogue, stream, 'FLOW_CONTROL_ERROR', frames.windowUpdate(1, 1))
  })

  it('RFC 9113 §6.9.1: beyond 2^31-1 for the connection is FLOW_CONTROL_ERROR', () => {
    const dialogue = new Dialogue()
    expect(dialogue.hears(frames.windowUpdate(0, MAX_WINDOW - 65_535))).toEqual([])
    expectConnectionError(dialogue, 'FLOW_CONTROL_ERROR', frames.windowUpdate(0, 1))
  })

  it('RFC 9113 §6.9.2: is not what SETTINGS may do instead: beyond 2^31-1 by them is FLOW_CONTROL_ERROR', () => {
    const dialogue = new Dialogue()
    dialogue.open(false)
    dialogue.hears(frames.windowUpdate(1, 1))
    expectConnectionError(dialogue, 'FLOW_CONTROL_ERROR', windowOf(MAX_WINDOW))
  })
})

describe('what the client receives', () => {
  it('RFC 9113 §6.9.1: beyond the window of its stream is FLOW_CONTROL_ERROR of that stream', () => {
    const dialogue = new Dialogue({
      windows: { connectionWindow: 1_000_000, maxConnectionWindow: 1_000_000 },
    })
    dialogue.isReading = false
    const stream = dialogue.open()
    const full = frames.data(1, FULL)
    dialogue.hears(response(1, 200), full, full, full, frames.data(1, 'x'.repeat(16_383)))
    expect(stream.events).toHaveLength(5)
    expectStreamError(dialogue, stream, 'FLOW_CONTROL_ERROR', frames.data(1, 'x'))
  })

  it('RFC 9113 §6.9.1: beyond the connection’s window is FLOW_CONTROL_ERROR', () => {
    const dialogue = new Dialogue({ windows: { streamWindow: 1_000_000 } })
    dialogue.isReading = false
    const [one, other] = [dialogue.open(), dialogue.open()]
    const heard = dialogue.hears(
      ...[
        response(1, 200),
        response(3, 200),
        frames.data(1, FULL),
        frames.data(3, FULL),
        frames.data(1, FULL),
      ],
      frames.data(3, 'x'.repeat(16_383)),
    )
    expect([heard, one.events.length, other.events.length]).toEqual([[], 3, 3])
    expectConnectionError(dialogue, 'FLOW_CONTROL_ERROR', frames.data(1, 'x'))
  })

  it('RFC 9113 §6.9: gives the peer new credit as it is read, for the stream and for the connection', () => {
    const dialogue = new Dialogue()
    dialogue.open()
    // With less than half of its window left, each of them hears of what was read.
    expect(dialogue.hears(response(1, 200), frames.data(1, FULL))).toEqual([])
    const said = dialogue.hears(frames.data(1, FULL))
    // A PING goes along, to measure what the path holds.
    expect(said.filter((line) => !line.startsWith('PING'))).toEqual([
      ...['WINDOW_UPDATE(0) 32768', 'WINDOW_UPDATE(1) 32768'],
    ])
  })

  it('RFC 9113 §6.1: counts with its padding, and with the length of that', () => {
    const dialogue = new Dialogue()
    dialogue.isReading = false
    const stream = dialogue.open()
    const payload = Buffer.concat([Buffer.from([255]), Buffer.from('text'), Buffer.alloc(255)])
    dialogue.hears(response(1, 200), frames.frame(Type.DATA, PADDED, 1, payload))
    expect([stream.receiveWindow, stream.consumed, stream.held]).toEqual([65_535 - 260, 256, 4])
  })

  const LOST = [
    { what: 'on a stream that was reset', before: [frames.reset(1, CANCEL)], code: null },
    {
      what: 'on a stream that the server had ended',
      before: [response(1, 200, END_STREAM)],
      code: 'STREAM_CLOSED',
    },
    { what: 'before its header', before: [], code: 'PROTOCOL_ERROR' },
    { what: 'where there is no content', before: [response(1, 204)], code: 'PROTOCOL_ERROR' },
  ]
  it.each(LOST)('RFC 9113 §6.9: counts for the connection also where it is in error ($what)', ({
    before,
    code,
  }) => {
    const dialogue = new Dialogue()
    dialogue.open(false)
    dialogue.hears(...before)
    const said = dialogue.hears(frames.data(1, FULL), frames.data(1, FULL))
    const reset = code === null ? [] : [`RST_STREAM(1) ${code}`]
    expect(said).toEqual([...reset, 'WINDOW_UPDATE(0) 32768'])
  })

  it('RFC 9113 §6.9: needs no credit where it is no DATA', () => {
    const dialogue = new Dialogue()
    dialogue.isReading = false
    const [one, other] = [dialogue.open(), dialogue.open()]
    dialogue.hears(
      response(1, 200),
      ...[FULL, FULL, FULL, 'x'.repeat(16_383)].map((text) => frames.data(1, text)),
    )
    const more = [
      response(3, 103),
      response(3, 200),
      frames.settings(),
      frames.ping(),
      frames.headers(3, [['a', 'b']], END_STREAM),
    ]
    expect(dialogue.hears(...more)).toEqual(['SETTINGS ACK', 'PING ACK 0000000000000000'])
    expect(one.events).toHaveLength(5)
    expect(other.events).toEqual(['informational 103', 'response 200', 'trailers a: b'])
  })

  it('RFC 9113 §5.2.2: is read while a response lies unread: what is to be sent is not held up by it', () => {
    const dialogue = new Dialogue()
    dialogue.isReading = false
    dialogue.hears(windowOf(2))
    dialogue.open()
    dialogue.hears(response(1, 200), frames.data(1, FULL), frames.data(1, FULL))
    const upload = dialogue.open(false)
    expect(dialogue.send(upload, 'text')).toEqual(['DATA(3) 2'])
    expect(dialogue.hears(frames.windowUpdate(3, 2))).toEqual(['DATA(3) 2'])
  })
})

describe('a smaller window', () => {
  it('RFC 9113 §6.9.3: does not count before the server has acknowledged it', () => {
    const dialogue = new Dialogue()
    dialogue.isReading = false
    const stream = dialogue.open()
    dialogue.setStreamWindow(1_000, () => dialogue.events.push('ack'))
    expect(dialogue.says()).toEqual(['SETTINGS 4,1000'])
    expect(dialogue.hears(response(1, 200), frames.data(1, FULL))).toEqual([])
    expect([stream.events, stream.receiveWindow]).toEqual([['response 200', `data ${FULL}`], 65_535 - 16_384])
    dialogue.hears(frames.settingsAck())
    expect(dialogue.events).toEqual(['ack'])
    const late = dialogue.open()
    dialogue.hears(response(3, 200))
    expectStreamError(dialogue, late, 'FLOW_CONTROL_ERROR', frames.data(3, 'x'.repeat(1_001)))
  })

  it('RFC 9113 §6.9.1: lets an empty frame end a response, though less than nothing is left of it', () => {
    const dialogue = new Dialogue({ isGreeted: false, windows: { streamWindow: 1_000 } })
    dialogue.isReading = false
    const stream = dialogue.open()
    dialogue.hears(
      frames.settings(),
      response(1, 200),
      frames.data(1, 'x'.repeat(2_000)),
      frames.settingsAck(),
    )
    expect(stream.receiveWindow).toBe(-1_000)
    expect(dialogue.hears(frames.data(1, '', END_STREAM))).toEqual([])
    expect(stream.events.at(-1)).toBe('data , the end')
  })

  it('RFC 9113 §6.9.3: of the first SETTINGS does not count before their ACK, either', () => {
    const dialogue = new Dialogue({ isGreeted: false, windows: { streamWindow: 10 } })
    const early = dialogue.open()
    dialogue.hears(frames.settings(), response(1, 200), frames.data(1, 'x'.repeat(1_000), END_STREAM))
    expect(early.events).toEqual(['response 200', `data ${'x'.repeat(1_000)}, the end`])
    dialogue.hears(frames.settingsAck())
    const stream = dialogue.open()
    dialogue.hears(response(3, 200))
    expectStreamError(dialogue, stream, 'FLOW_CONTROL_ERROR', frames.data(3, 'x'.repeat(11)))
  })

  it('RFC 9113 §6.9.2: and a larger one: the larger one counts on open streams, too, the smaller one on later streams alone', () => {
    const dialogue = new Dialogue()
    dialogue.isReading = false
    const stream = dialogue.open()
    dialogue.hears(response(1, 200), frames.data(1, 'x'.repeat(535)))
    dialogue.setStreamWindow(100_000)
    // The peer may use it before its ACK comes.
    expect(stream.receiveWindow).toBe(100_000 - 535)
    dialogue.hears(frames.settingsAck())
    expect(stream.receiveWindow).toBe(100_000 - 535)
    dialogue.setStreamWindow(50_000)
    dialogue.hears(frames.settingsAck())
    // Some servers acknowledge it, and go on with the window of before.
    expect(stream.receiveWindow).toBe(100_000 - 535)
    expect(dialogue.open().receiveWindow).toBe(50_000)
  })
})

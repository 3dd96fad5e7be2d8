/** RFC 9113 §5.1, §5.4.2, §6.4 and §6.6: the states of streams, as the frames of both sides move them. */

import { describe, expect, it } from 'vitest'
import { encodeFields } from '../../src/testing/hpack.ts'
import { CANCEL, NO_ERROR } from '../support/peers/error-codes.ts'
import type { RecordingStream } from './support-connection.ts'
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

const { END_HEADERS, END_STREAM } = Flag

describe('an idle stream', () => {
  const KINDS = [
    { type: 'DATA', toFrame: (id: number) => frames.data(id, 'x') },
    { type: 'HEADERS', toFrame: (id: number) => response(id, 200) },
    { type: 'RST_STREAM', toFrame: (id: number) => frames.reset(id, CANCEL) },
    { type: 'WINDOW_UPDATE', toFrame: (id: number) => frames.windowUpdate(id, 1) },
  ]
  it.each(KINDS)('RFC 9113 §5.1: may get nothing but PRIORITY: $type is PROTOCOL_ERROR', ({ toFrame }) => {
    for (const id of [3, 101, 2 ** 31 - 1]) {
      expectConnectionError(new Dialogue(), 'PROTOCOL_ERROR', toFrame(id))
    }
  })

  it.each(KINDS)('RFC 9113 §5.1.1: of the server’s own is never opened: $type is PROTOCOL_ERROR', ({
    toFrame,
  }) => {
    for (const id of [2, 4, 2 ** 31 - 2]) {
      const dialogue = new Dialogue()
      // There are higher ones of the client's.
      dialogue.open()
      dialogue.open()
      expectConnectionError(dialogue, 'PROTOCOL_ERROR', toFrame(id))
    }
  })
})

describe('the streams that the client opens', () => {
  it('RFC 9113 §5.1.1: have odd ids, each above all before it', () => {
    const dialogue = new Dialogue()
    const ids = [1, 2, 3].map(() => dialogue.open().id)
    dialogue.hears(response(1, 200, END_STREAM), frames.reset(3, CANCEL), response(5, 200, END_STREAM))
    expect([...ids, dialogue.open().id]).toEqual([1, 3, 5, 7])
    const opened = dialogue.frames.filter(({ type }) => type === Type.HEADERS)
    expect(opened.map(({ streamId }) => streamId)).toEqual([1, 3, 5, 7])
  })
})

describe('a stream that the server has ended', () => {
  it('RFC 9113 §5.1: while the client still sends, is closed by the next HEADERS, with STREAM_CLOSED', () => {
    const dialogue = new Dialogue()
    const stream = dialogue.open(false)
    dialogue.hears(response(1, 200, END_STREAM))
    expect([stream.state, stream.phase]).toEqual(['half-closed (remote)', 'whole'])
    expectStreamError(dialogue, stream, 'STREAM_CLOSED', response(1, 200))
  })

  it('RFC 9113 §6.1: while the client still sends, is closed by the next DATA, with STREAM_CLOSED', () => {
    const dialogue = new Dialogue()
    const stream = dialogue.open(false)
    dialogue.hears(response(1, 200), frames.data(1, 'text', END_STREAM))
    expectStreamError(dialogue, stream, 'STREAM_CLOSED', frames.data(1, 'x'))
    expect(stream.events).toEqual(['response 200', 'data text, the end', 'breach STREAM_CLOSED'])
  })

  it('RFC 9113 §5.1: while the client still sends, may get WINDOW_UPDATE, PRIORITY and RST_STREAM', () => {
    const dialogue = new Dialogue()
    const stream = dialogue.open(false)
    dialogue.hears(frames.settings([Setting.INITIAL_WINDOW_SIZE, 0]), response(1, 200, END_STREAM))
    dialogue.send(stream, 'text')
    const priority = frames.frame(Type.PRIORITY, 0, 1, Buffer.alloc(5))
    expect(dialogue.hears(priority, frames.windowUpdate(1, 4))).toEqual(['DATA(1) 4'])
    expect(dialogue.hears(frames.reset(1, CANCEL))).toEqual([])
    expect(stream.events).toEqual(['response 200, the end', 'reset CANCEL'])
  })

  it.each([
    'DATA',
    'HEADERS',
  ])('RFC 9113 §5.1: after both sides have, makes a further %s STREAM_CLOSED for all', (type) => {
    const dialogue = new Dialogue()
    dialogue.open()
    dialogue.hears(response(1, 200, END_STREAM))
    const bytes = type === 'DATA' ? frames.data(1, 'x') : response(1, 200)
    expectConnectionError(dialogue, 'STREAM_CLOSED', bytes)
  })

  it('RFC 9113 §6.9: after both sides have, may get WINDOW_UPDATE and RST_STREAM for a while', () => {
    const dialogue = new Dialogue()
    const stream = dialogue.open()
    dialogue.hears(response(1, 200, END_STREAM))
    expect(dialogue.hears(frames.windowUpdate(1, 10), frames.reset(1, NO_ERROR))).toEqual([])
    expect([stream.events, dialogue.events]).toEqual([['response 200, the end'], []])
  })
})

describe('a stream that the client has reset', () => {
  function startReset(): { dialogue: Dialogue; stream: RecordingStream } {
    const dialogue = new Dialogue()
    const stream = dialogue.open()
    dialogue.connection.reset(stream, CANCEL)
    expect(dialogue.says()).toEqual(['RST_STREAM(1) CANCEL'])
    expect(stream.state).toBe('closed')
    stream.events.length = 0
    return { dialogue, stream }
  }

  it('RFC 9113 §5.1: may get any frame that was on its way, and none of them is answered or heard of', () => {
    const { dialogue, stream } = startReset()
    const late = [
      response(1, 103),
      response(1, 200),
      frames.data(1, 'text'),
      frames.windowUpdate(1, 1),
      frames.frame(Type.PRIORITY, 0, 1, Buffer.alloc(5)),
      frames.data(1, '', END_STREAM),
      frames.reset(1, CANCEL),
    ]
    expect(dialogue.hears(...late)).toEqual([])
    expect([stream.events, dialogue.events]).toEqual([[], []])
  })

  it('RFC 9113 §5.1: still moves the state of HPACK', () => {
    const { dialogue } = startReset()
    const sibling = dialogue.open()
    // Literal with incremental indexing, a: b. Then the entry 62 that this has made.
    const block = Buffer.concat([encodeFields([[':status', '200']]), Buffer.from('4001610162', 'hex')])
    dialogue.hears(frames.frame(Type.HEADERS, END_HEADERS, 1, block))
    const indexed = Buffer.concat([encodeFields([[':status', '200']]), Buffer.from('be', 'hex')])
    dialogue.hears(frames.frame(Type.HEADERS, END_HEADERS, sibling.id, indexed))
    expect(sibling.events).toEqual(['response 200 a: b'])
  })

  it('RFC 9113 §5.1: still counts for the connection’s window, which is opened again', () => {
    const { dialogue } = startReset()
    const said = dialogue.hears(frames.data(1, 'x'.repeat(16_000)), frames.data(1, 'x'.repeat(16_384)))
    const more = dialogue.hears(frames.data(1, 'x'.repeat(2_000)))
    expect([...said, ...more]).toEqual(['WINDOW_UPDATE(0) 34384'])
  })

  it('RFC 9113 §5.1: is sent nothing more', () => {
    const { dialogue, stream } = startReset()
    dialogue.connection.send(stream, Buffer.from('text'), true)
    dialogue.connection.sendTrailers(stream, ['a', 'b'])
    dialogue.connection.reprioritize(stream, 'u=1')
    dialogue.connection.reset(stream, CANCEL)
    expect(dialogue.says()).toEqual([])
  })

  it('RFC 9113 §5.1: takes what it was sending along', () => {
    const dialogue = new Dialogue()
    const stream = dialogue.open(false)
    dialogue.connection.send(stream, Buffer.from('text'), true)
    dialogue.connection.reset(stream, CANCEL)
    expect(dialogue.says()).toEqual(['RST_STREAM(1) CANCEL'])
  })
})

describe('a stream that the server has reset', () => {
  it('RFC 9113 §6.4: is sent nothing more: neither RST_STREAM, nor data that was waiting', () => {
    const dialogue = new Dialogue()
    const stream = dialogue.open(false)
    dialogue.hears(frames.settings([Setting.INITIAL_WINDOW_SIZE, 1]))
    dialogue.send(stream, 'text')
    expect(dialogue.hears(frames.reset(1, CANCEL), frames.windowUpdate(1, 10))).toEqual([])
    dialogue.connection.send(stream, Buffer.from('text'), true)
    dialogue.connection.sendTrailers(stream, ['a', 'b'])
    dialogue.connection.reset(stream, CANCEL)
    expect(dialogue.says()).toEqual([])
    expect([stream.state, stream.events]).toEqual(['closed', ['reset CANCEL']])
  })

  it('RFC 9113 §5.4.2: is not reset in turn, even when the caller had given it up', () => {
    const dialogue = new Dialogue()
    const stream = dialogue.open()
    dialogue.connection.cancel(stream)
    expect(dialogue.hears(frames.reset(1, CANCEL))).toEqual([])
    dialogue.connection.reset(stream, CANCEL)
    expect(dialogue.says()).toEqual([])
    expect(stream.events).toEqual(['forgotten'])
  })

  it.each([
    14,
    255,
    2 ** 32 - 1,
  ])('RFC 9113 §7: with an unknown code is reset like any other (%i)', (code) => {
    const dialogue = new Dialogue()
    const [stream, sibling] = [dialogue.open(), dialogue.open()]
    expect(dialogue.hears(frames.reset(1, code), response(3, 200, END_STREAM))).toEqual([])
    expect([stream.events, sibling.events]).toEqual([[`reset ${code}`], ['response 200, the end']])
  })
})

describe('an error of a stream', () => {
  it('RFC 9113 §5.4.2: is told by one RST_STREAM, whatever follows on it', () => {
    const dialogue = new Dialogue()
    const stream = dialogue.open(false)
    dialogue.hears(response(1, 200, END_STREAM))
    const said = dialogue.hears(
      frames.data(1, 'a'),
      frames.data(1, 'b'),
      frames.windowUpdate(1, 0),
      response(1, 200),
    )
    expect(said).toEqual(['RST_STREAM(1) STREAM_CLOSED'])
    expect(stream.events).toEqual(['response 200, the end', 'breach STREAM_CLOSED'])
  })

  it('RFC 9113 §5.4.2: is the last thing that is sent on it', () => {
    const dialogue = new Dialogue()
    const stream = dialogue.open(false)
    dialogue.hears(frames.settings([Setting.INITIAL_WINDOW_SIZE, 0]))
    dialogue.send(stream, 'text')
    expect(dialogue.hears(frames.windowUpdate(1, 0), frames.windowUpdate(1, 9))).toEqual([
      'RST_STREAM(1) PROTOCOL_ERROR',
    ])
    dialogue.connection.reset(stream, CANCEL)
    expect(dialogue.says()).toEqual([])
  })
})

describe('a stream that the client has ended', () => {
  it('RFC 9113 §5.1: is sent no more than WINDOW_UPDATE and RST_STREAM', () => {
    const dialogue = new Dialogue()
    const stream = dialogue.open(false)
    dialogue.send(stream, 'text', true)
    dialogue.connection.send(stream, Buffer.from('more'), true)
    dialogue.connection.sendTrailers(stream, ['a', 'b'])
    expect(dialogue.says()).toEqual([])
    dialogue.hears(response(1, 200))
    expect(
      dialogue.hears(frames.data(1, 'x'.repeat(16_384)), frames.data(1, 'x'.repeat(16_384))),
    ).toContainEqual('WINDOW_UPDATE(1) 32768')
    dialogue.connection.reset(stream, CANCEL)
    expect(dialogue.says()).toEqual(['RST_STREAM(1) CANCEL'])
  })
})

/** RFC 9113 §8: what makes a response whole, and what makes it malformed. */

import { describe, expect, it } from 'vitest'
import type { Field } from '../../src/testing/hpack.ts'
import { NO_ERROR } from '../support/peers/error-codes.ts'
import { Dialogue, expectStreamError, Flag, frames, response, Setting } from './support-connection.ts'

const { END_STREAM } = Flag
const OK: Field = [':status', '200']

/** The frames of a response that is malformed by its header's fields. */
function header(...fields: readonly Field[]): Buffer {
  return frames.headers(1, fields)
}

function expectMalformed(...bytes: readonly Buffer[]): void {
  const dialogue = new Dialogue()
  expectStreamError(dialogue, dialogue.open(), 'PROTOCOL_ERROR', ...bytes)
}

describe('a response', () => {
  it('RFC 9113 §8.1: is any number of interim headers, one final header, content, and trailers', () => {
    const dialogue = new Dialogue()
    const stream = dialogue.open()
    dialogue.hears(
      ...[
        response(1, 100),
        response(1, 103, 0, ['link', '</a>']),
        response(1, 103),
        response(1, 200, 0, ['a', 'b']),
      ],
      ...[frames.data(1, 'te'), frames.data(1, ''), frames.data(1, 'xt')],
      frames.headers(1, [['sum', '7']], END_STREAM),
    )
    expect(stream.events).toEqual([
      ...['informational 100', 'informational 103 link: </a>', 'informational 103'],
      ...['response 200 a: b', 'data te', 'data xt', 'trailers sum: 7'],
    ])
    expect([stream.state, stream.phase]).toEqual(['closed', 'whole'])
  })

  it('RFC 9113 §8.1: with END_STREAM on an interim header is malformed', () => {
    for (const status of [100, 103, 199]) expectMalformed(response(1, status, END_STREAM))
  })

  it('RFC 9113 §8.1: with a further header that does not end it is malformed, interim or not', () => {
    expectSecond(response(1, 200))
    expectSecond(frames.headers(1, [['sum', '7']]))
    expectSecond(response(1, 103))
  })

  /** The second header of a response whose first was good. */
  function expectSecond(second: Buffer): void {
    const dialogue = new Dialogue()
    const stream = dialogue.open()
    dialogue.hears(response(1, 200), frames.data(1, 'text'))
    expectStreamError(dialogue, stream, 'PROTOCOL_ERROR', second)
    expect(stream.events).toEqual(['response 200', 'data text', 'breach PROTOCOL_ERROR'])
  }

  it('RFC 9113 §8.1: with pseudo-header fields in its trailers is malformed', () => {
    expectSecond(frames.headers(1, [['sum', '7'], OK], END_STREAM))
    expectSecond(frames.headers(1, [OK], END_STREAM))
  })

  it('RFC 9113 §8.2.1: with a bad field in its trailers is malformed', () => {
    expectSecond(frames.headers(1, [['Sum', '7']], END_STREAM))
    expectSecond(frames.headers(1, [['connection', 'close']], END_STREAM))
  })

  it('RFC 9113 §8.1.1: that begins with content is malformed, also behind an interim header', () => {
    expectMalformed(frames.data(1, 'text'))
    expectMalformed(frames.data(1, '', END_STREAM))
    const dialogue = new Dialogue()
    const stream = dialogue.open()
    dialogue.hears(response(1, 103))
    expectStreamError(dialogue, stream, 'PROTOCOL_ERROR', frames.data(1, 'text'))
  })

  it('RFC 9113 §8.1: that is whole before the request is stays, when RST_STREAM with NO_ERROR follows', () => {
    const dialogue = new Dialogue()
    const stream = dialogue.open(false)
    dialogue.hears(frames.settings([Setting.INITIAL_WINDOW_SIZE, 1]))
    dialogue.send(stream, 'much of a body')
    expect(
      dialogue.hears(response(1, 413), frames.data(1, 'too much', END_STREAM), frames.reset(1, NO_ERROR)),
    ).toEqual([])
    expect(stream.events).toEqual(['response 413', 'data too much, the end', 'reset NO_ERROR'])
    expect([stream.phase, stream.state, stream.isSending]).toEqual(['whole', 'closed', false])
  })

  it('RFC 9113 §8.1: that is whole ends nothing of the request: that goes on to its own end', () => {
    const dialogue = new Dialogue()
    const stream = dialogue.open(false)
    dialogue.hears(response(1, 200, END_STREAM))
    expect(dialogue.send(stream, 'more')).toEqual(['DATA(1) 4'])
    expect(dialogue.send(stream, 'rest', true)).toEqual(['DATA(1) 4 END_STREAM'])
    expect(stream.state).toBe('closed')
  })

  it('RFC 9113 §8.6: of status 101 is malformed', () => {
    expectMalformed(response(1, 101))
  })

  it('RFC 9113 §8.3.2: is told by whichever error comes first, and reset once', () => {
    const dialogue = new Dialogue()
    const stream = dialogue.open()
    const said = dialogue.hears(header(['a', 'b']), header(['A', 'b']), response(1, 200), frames.data(1, 'x'))
    expect(said).toEqual(['RST_STREAM(1) PROTOCOL_ERROR'])
    expect(stream.events).toEqual(['breach PROTOCOL_ERROR'])
  })
})

describe('the pseudo-header fields of a response', () => {
  it('RFC 9113 §8.3.2: have to have :status, also in an interim one', () => {
    expectMalformed(header())
    expectMalformed(header(['a', 'b']))
    const dialogue = new Dialogue()
    const stream = dialogue.open()
    dialogue.hears(response(1, 100))
    expectStreamError(dialogue, stream, 'PROTOCOL_ERROR', header(['a', 'b']))
  })

  it.each([
    '',
    '2',
    '20',
    '2000',
    '20x',
    '099',
    '000',
    '-20',
    '+20',
    '2e2',
    '2 0',
    '٢٠٠',
  ])('RFC 9113 §8.3.2: have a status of three digits, which %j is not', (status) => {
    expectMalformed(header([':status', status]))
  })

  it('RFC 9113 §8.3: come before all other fields', () => {
    expectMalformed(header(['a', 'b'], OK))
    expectMalformed(header(OK, ['a', 'b'], OK))
  })

  it('RFC 9113 §8.3: come once', () => {
    expectMalformed(header(OK, OK))
    expectMalformed(header(OK, [':status', '404']))
  })

  it.each([
    ':method',
    ':scheme',
    ':authority',
    ':path',
    ':protocol',
    ':unknown',
    ':',
    ':Status',
  ])('RFC 9113 §8.3: are none but :status, so not %s', (name) => {
    expectMalformed(header(OK, [name, '/']))
    expectMalformed(header([name, '/'], OK))
  })
})

describe('the fields of a response', () => {
  const BAD_NAMES = [...range(0x00, 0x20), ...range(0x41, 0x5a), ...range(0x7f, 0xff)]

  function range(first: number, last: number): string[] {
    return Array.from({ length: last - first + 1 }, (_, i) => String.fromCharCode(first + i))
  }

  it('RFC 9113 §8.2.1: have names without control characters, spaces, upper case, and what is beyond ASCII', () => {
    for (const octet of BAD_NAMES) {
      const dialogue = new Dialogue()
      dialogue.open()
      const name = `a${octet}b`
      expect(dialogue.hears(header(OK, [name, 'b'])), JSON.stringify(name)).toEqual([
        'RST_STREAM(1) PROTOCOL_ERROR',
      ])
    }
    for (const name of [' ', ' a', 'a ']) expectMalformed(header(OK, [name, 'b']))
    expectMalformed(header(OK, ['Name', 'b']))
  })

  it('RFC 9113 §8.2.1: have no colon within their names', () => {
    expectMalformed(header(OK, ['a:', 'b']))
    expectMalformed(header(OK, ['a:b', 'b']))
  })

  it.each(['\0', '\n', '\r'])('RFC 9113 §8.2.1: have no %j anywhere in their values', (octet) => {
    for (const value of [octet, `${octet}a`, `a${octet}b`, `a${octet}`])
      expectMalformed(header(OK, ['a', value]))
  })

  it.each([' ', '\t'])('RFC 9113 §8.2.1: have no %j at the ends of their values', (octet) => {
    for (const value of [octet, `${octet}a`, `a${octet}`]) expectMalformed(header(OK, ['a', value]))
  })

  it('RFC 9113 §8.2.1: may have every other octet', () => {
    const dialogue = new Dialogue()
    const stream = dialogue.open()
    const value = `!${range(0x01, 0xff)
      .filter((octet) => !'\n\r'.includes(octet))
      .join('')}!`
    const name = range(0x21, 0x7e)
      .filter((octet) => !/[A-Z:]/.test(octet))
      .join('')
    dialogue.hears(frames.headers(1, [OK, [name, value], ['empty', ''], ['a', 'b \t c']], END_STREAM))
    expect(stream.events).toEqual([`response 200 ${name}: ${value} empty:  a: b \t c, the end`])
  })

  const SPECIFIC: readonly Field[] = [
    ['connection', 'close'],
    ['proxy-connection', 'keep-alive'],
    ['keep-alive', 'timeout=5'],
    ['transfer-encoding', 'chunked'],
    ['upgrade', 'websocket'],
    ['te', 'gzip'],
  ]
  it.each(SPECIFIC)('RFC 9113 §8.2.2: are not those of a connection, such as %s', (name, value) => {
    expectMalformed(header(OK, [name, value]))
    expectMalformed(
      frames.headers(1, [
        [':status', '103'],
        [name, value],
      ]),
    )
  })
})

describe('the content of a response', () => {
  it.each([
    204, 304,
  ])('RFC 9113 §8.1.1: is none where the status is %i: a content-length is no matter, DATA is malformed', (status) => {
    const dialogue = new Dialogue()
    const stream = dialogue.open()
    dialogue.hears(response(1, status, END_STREAM, ['content-length', '5']))
    expect(stream.events).toEqual([`response ${status} content-length: 5, the end`])
    expectBare(response(3, status))
  })

  it('RFC 9113 §8.1.1: is none where the request was a HEAD: a content-length is no matter, DATA is malformed', () => {
    const dialogue = new Dialogue()
    const stream = dialogue.open()
    stream.data = 'none'
    dialogue.hears(response(1, 200, 0, ['content-length', '5']), frames.data(1, '', END_STREAM))
    expect(stream.events).toEqual(['response 200 content-length: 5', 'data , the end'])
    expectBare(response(3, 200), true)
  })

  /** A response on stream 3 that may have no content, and has some. */
  function expectBare(bytes: Buffer, isHead = false): void {
    const dialogue = new Dialogue()
    dialogue.open()
    const stream = dialogue.open()
    if (isHead) stream.data = 'none'
    dialogue.hears(bytes)
    expectStreamError(dialogue, stream, 'PROTOCOL_ERROR', frames.data(3, 'x'))
  }

  it.each([
    '',
    'x',
    '-1',
    '5, 6',
    '0x5',
    '5.0',
    '1e1',
  ])('RFC 9113 §8.1.1: has one length, which %j is not', (length) => {
    expectMalformed(response(1, 200, 0, ['content-length', length]))
  })

  it('RFC 9113 §8.1.1: has one length, of which two are too many unless they are the same', () => {
    expectMalformed(response(1, 200, 0, ['content-length', '5', 'content-length', '6']))
    const dialogue = new Dialogue()
    const stream = dialogue.open()
    dialogue.hears(response(1, 200, 0, ['content-length', '5', 'content-length', '5']))
    expect(stream.events).toHaveLength(1)
  })
})

describe('an unknown frame within a response', () => {
  it('RFC 9113 §5.5: is discarded between its frames', () => {
    const dialogue = new Dialogue()
    const stream = dialogue.open()
    const grease = frames.frame(0x0b, 0xff, 1, Buffer.from('grease'))
    dialogue.hears(
      grease,
      response(1, 200),
      grease,
      frames.data(1, 'text'),
      grease,
      frames.data(1, '', END_STREAM),
      grease,
    )
    expect(stream.events).toEqual(['response 200', 'data text', 'data , the end'])
  })
})

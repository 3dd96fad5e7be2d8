import { describe, expect, it } from 'vitest'
import { RefusalBody } from '../../../src/proxy/refusal-body.ts'
import { toCuts } from '../session/connect/proxy-scene.ts'

/** What the body is by these pieces, and whether it is whole. */
function receive(raw: readonly string[], pieces: readonly Buffer[]): { text: string; isWhole: boolean } {
  const body = new RefusalBody(raw)
  let text = ''
  for (const piece of pieces) if (!body.isWhole) text += body.receive(piece).toString('latin1')
  return { text, isWhole: body.isWhole }
}

describe.each<[string, string[], string, string, boolean]>([
  ['a length', ['Content-Length', '5'], 'hello', 'hello', true],
  ['a length, and bytes behind it', ['content-length', '5'], 'hello HTTP/1.1', 'hello', true],
  ['a length of more', ['content-length', '9'], 'hello', 'hello', false],
  ['no length', [], 'hello', 'hello', false],
  ['a malformed length', ['content-length', '-5'], 'hello', 'hello', false],
  ['a length of many digits', ['content-length', '9'.repeat(400)], 'hello', 'hello', false],
  ['chunks', ['Transfer-Encoding', 'chunked'], '5\r\nhello\r\n0\r\n\r\n', 'hello', true],
  [
    'chunks and a length',
    ['content-length', '1', 'transfer-encoding', 'chunked'],
    '5\r\nhello\r\n0\r\n\r\n',
    'hello',
    true,
  ],
  ['chunks of a coding', ['transfer-encoding', 'gzip, chunked'], '5\r\nhello\r\n0\r\n\r\n', 'hello', true],
  [
    'chunks with extensions',
    ['transfer-encoding', 'chunked'],
    'A;a="b"\r\n0123456789\r\n00;x\r\n',
    '0123456789',
    true,
  ],
  ['chunks in upper case', ['transfer-encoding', 'CHUNKED'], '1\r\na\r\n1\r\nb\r\n0\r\n\r\n', 'ab', true],
  ['chunks that stop', ['transfer-encoding', 'chunked'], '5\r\nhel', 'hel', false],
  ['a coding that is no chunks', ['transfer-encoding', 'x-chunked'], 'hello', 'hello', false],
])('a body with %s', (_name, raw, sent, text, isWhole) => {
  it('is the same at each cut', () => {
    for (const pieces of toCuts(Buffer.from(sent, 'latin1')))
      expect(receive(raw, pieces)).toEqual({ text, isWhole })
  })
})

describe('a body', () => {
  it('with a length of 0 is whole at once', () => {
    expect(new RefusalBody(['content-length', '0']).isWhole).toBe(true)
    expect(new RefusalBody(['transfer-encoding', 'chunked', 'content-length', '0']).isWhole).toBe(false)
  })

  it.each([
    ['a size that never ends', Buffer.alloc(1_000, '1')],
    ['a size that is none', Buffer.alloc(1_000, 'z')],
    ['an extension that never ends', Buffer.from(`5;${'x'.repeat(1_000)}`)],
    ['line ends alone', Buffer.alloc(1_000, '\r\n')],
  ])('with %s ends', (_name, garbage) => {
    for (const pieces of [[garbage], [...garbage].map((byte) => Buffer.of(byte))])
      expect(receive(['transfer-encoding', 'chunked'], pieces)).toEqual({ text: '', isWhole: true })
  })
})

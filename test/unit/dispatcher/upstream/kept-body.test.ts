import { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { toKeptIterable } from '../../../../src/dispatcher/upstream/kept-body.ts'
import type { DispatchOptions } from '../../../../types/index.ts'

const LIMIT = 10

async function* generate(...pieces: string[]): AsyncGenerator<string> {
  yield* pieces
}

function toKept(body: DispatchOptions['body'], headers: DispatchOptions['headers']) {
  return toKeptIterable({ path: '/', method: 'POST', body, headers }, LIMIT)
}

async function read(iterable: AsyncIterable<Uint8Array>): Promise<string> {
  let text = ''
  for await (const piece of iterable) text += Buffer.from(piece).toString()
  return text
}

describe('toKeptIterable()', () => {
  it.each<[string, DispatchOptions['headers']]>([
    ['an object', { 'Content-Length': '6' }],
    ['an object with a number', { 'content-length': 6 }],
    ['a flat list', ['accept', '*/*', 'Content-Length', '6']],
    ['a list of pairs', [['content-length', '6']]],
    ['a Headers', new Headers({ 'content-length': '6' })],
    ['a Map', new Map([['content-length', '6']])],
  ])('finds the length in %s, and gives the same bytes as often as they are read', async (_, headers) => {
    const kept = toKept(generate('abc', '', 'def'), headers)
    if (kept === null) throw new Error('The body is not kept')
    // The second reader begins while the first one is in the middle.
    const first = kept[Symbol.asyncIterator]()
    expect(Buffer.from((await first.next()).value).toString()).toBe('abc')
    expect([await read(kept), await read(kept)]).toEqual(['abcdef', 'abcdef'])
    expect(Buffer.from((await first.next()).value).toString()).toBe('def')
  })

  it.each<[string, DispatchOptions['body'], DispatchOptions['headers']]>([
    ['of unknown length', generate('a'), {}],
    ['without headers', generate('a'), null],
    ['whose length is no number', generate('a'), { 'content-length': 'one' }],
    ['above the limit', generate('a'), { 'content-length': '11' }],
    ['that is bytes', 'a', { 'content-length': '1' }],
    ['that is a form', new URLSearchParams('a'), { 'content-length': '2' }],
    ['that is a Readable', Readable.from(['a']), { 'content-length': '1' }],
    ['that is a web stream', new Blob(['a']).stream(), { 'content-length': '1' }],
    ['that is none', null, { 'content-length': '0' }],
  ])('is null for a body %s', (_, body, headers) => expect(toKept(body, headers)).toBeNull())

  it.each<[string, () => AsyncIterable<string> | Iterable<string>, string]>([
    ['gives more bytes than announced', () => generate('abc', 'defg'), 'got 7 bytes, expected 6'],
    [
      'throws',
      function* () {
        yield 'abc'
        throw new Error('the source broke')
      },
      'the source broke',
    ],
  ])('tells each reader when the source %s', async (_, make, message) => {
    const kept = toKept(make(), { 'content-length': '6' })
    if (kept === null) throw new Error('The body is not kept')
    await expect(read(kept)).rejects.toThrow(message)
    await expect(read(kept)).rejects.toThrow(message)
  })

  it('tells the source when no reader follows, and only then', async () => {
    const events: string[] = []
    async function* watch(): AsyncGenerator<string> {
      try {
        yield 'abc'
        yield 'def'
      } finally {
        events.push('returned')
      }
    }
    const kept = toKept(watch(), { 'content-length': '6' })
    if (kept === null) throw new Error('The body is not kept')
    for await (const _ of kept) break
    expect(events).toEqual([])
    kept.stop()
    kept.stop()
    await new Promise(setImmediate)
    expect(events).toEqual(['returned'])
  })
})

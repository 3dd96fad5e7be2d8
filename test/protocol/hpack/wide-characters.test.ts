/** What isn't latin1 has no octets: nothing of its block may go out, or stay in the table. */

import { describe, expect, it } from 'vitest'
import { InvalidArgumentError } from '../../../src/errors/errors.ts'
import { HpackEncoder } from '../../../src/protocol/hpack/encoder.ts'
import { Type } from '../../../src/testing/frames.ts'
import { HpackDecoder } from '../../../src/testing/hpack.ts'
import { HeardStream, Rig } from '../support/rig.ts'
import { encode } from './support.ts'

/** The low octet of the first is LF's. */
const WIDE = ['\u010a', '\u0100', '\u01ff', '\uffff', '\ud83d\ude00']

/** A value of a length that is written in a way of its own, with the character somewhere in it. */
const VALUES: readonly [kind: string, make: (wide: string) => string][] = [
  ['a character', (wide) => wide],
  ['a short value of the Huffman code', (wide) => `aaa${wide}aaa`],
  ['a short value that is sent raw', (wide) => `\x80\x81\x82\x83\x84\x85\x86\x87\x88\x89${wide}`],
  ['a value that is sent raw', (wide) => `${'\x80'.repeat(60)}${wide}`],
  ['a long value of the Huffman code', (wide) => `${'a'.repeat(300)}${wide}${'a'.repeat(300)}`],
  ['a long value that is sent raw', (wide) => `${'\x80'.repeat(300)}${wide}`],
  ['a value that is too large for the table', (wide) => `${'a'.repeat(5_000)}${wide}`],
]

const SENSITIVE: ReadonlySet<string> = new Set(['x-key'])

/** Fields of every kind: static, in the dynamic table, new there, never indexed, not worth it, of an unknown name. */
const toBlock = (at: string, value: string): string[] => {
  const fields = [
    ...[':method', 'GET', ':path', '/a', 'x-known', 'v', 'x-new', 'w', 'authorization', 'a', 'x-key', 'k'],
    ...['content-length', '5', 'accept', '*/*', 'x-last', 'z'],
  ]
  fields[fields.indexOf(at) + 1] = value
  return fields
}
const NAMES = [
  ':method',
  ':path',
  'x-known',
  'x-new',
  'authorization',
  'x-key',
  'content-length',
  'accept',
  'x-last',
]

/** An encoder whose table has something in it. */
function startEncoder(): HpackEncoder {
  const encoder = new HpackEncoder()
  encode(encoder, ['x-known', 'v', ':path', '/a', 'authorization', 'a'])
  return encoder
}

/** What two encoders make of the same lists from now on: the octets tell what is in their tables. */
function expectAlike(encoder: HpackEncoder, other: HpackEncoder): void {
  for (const fields of [toBlock('x-last', 'z'), ['x-known', 'v', 'x-new', 'w'], toBlock(':path', '/b')]) {
    expect(encode(encoder, fields, SENSITIVE)).toEqual(encode(other, fields, SENSITIVE))
  }
}

describe('the encoder', () => {
  describe.each(VALUES)('when a value has a character above U+00FF: %s', (_kind, toValue) => {
    it.each(NAMES)('refuses it for %s without the value, and stays as it was', (name) => {
      for (const wide of WIDE) {
        const encoder = startEncoder()
        const value = toValue(wide)
        for (const fields of [toBlock(name, value), [name, value]]) {
          expect(() => encode(encoder, fields, SENSITIVE)).toThrow(InvalidArgumentError)
          expect(() => encode(encoder, fields, SENSITIVE)).toThrow(
            `Invalid header "${name}": got a character above U+00FF, expected ISO-8859-1`,
          )
        }
        expectAlike(encoder, startEncoder())
      }
    })
  })

  it('refuses a name with such a character, and stays as it was', () => {
    for (const wide of WIDE) {
      const encoder = startEncoder()
      const fields = ['x-new', 'w', `x${wide}`, 'v']
      expect(() => encode(encoder, fields)).toThrow(InvalidArgumentError)
      expect(() => encode(encoder, fields, new Set([`x${wide}`]))).toThrow(InvalidArgumentError)
      expectAlike(encoder, startEncoder())
    }
  })

  it('refuses one that comes again, and one that a secret had before', () => {
    const encoder = startEncoder()
    for (let count = 0; count < 3; count++) {
      expect(() => encode(encoder, ['authorization', 'b\u010a'])).toThrow(InvalidArgumentError)
    }
    expect(encode(encoder, ['authorization', 'a'])).toEqual(encode(startEncoder(), ['authorization', 'a']))
  })

  it("still announces the table's new size, with the next block", () => {
    const encoder = startEncoder()
    const other = startEncoder()
    for (const one of [encoder, other]) {
      one.setMaxTableSize(0)
      one.setMaxTableSize(100)
    }
    expect(() => encode(encoder, [':method', 'GET', ':path', '/\u010a'])).toThrow(InvalidArgumentError)
    expectAlike(encoder, other)
  })

  it('takes every character up to U+00FF', () => {
    const decoder = new HpackDecoder()
    const encoder = new HpackEncoder()
    for (let unit = 0; unit <= 0xff; unit++) {
      for (const [, toValue] of VALUES) {
        const value = toValue(String.fromCharCode(unit))
        expect(decoder.decode(encode(encoder, ['x-a', value, ':path', value]))).toEqual([
          ['x-a', value],
          [':path', value],
        ])
      }
    }
  })
})

describe('a connection', () => {
  const HEADER = [':method', 'POST', ':scheme', 'http', ':authority', 'a', ':path', '/']

  /** What it has sent, decoded: frames of header blocks, and their fields. */
  function toBlocks(rig: Rig, decoder: HpackDecoder): string[] {
    return rig
      .take()
      .filter(({ type }) => type === Type.HEADERS)
      .map(({ streamId, payload }) => `${streamId} ${JSON.stringify(decoder.decode(payload))}`)
  }

  it('has no part of a stream whose header cannot be encoded', () => {
    const rig = new Rig()
    const decoder = new HpackDecoder()
    const first = rig.open({ hasBody: true })
    const broken = new HeardStream(rig, 'reads')
    const fields = [...HEADER, 'x-new', 'v', 'x-bad', '\u010a']
    expect(() => rig.http2.open(broken, fields, true, null)).toThrow(InvalidArgumentError)
    expect(broken).toMatchObject({ id: 0, state: 'idle', sendWindow: 0, receiveWindow: 0, events: [] })
    const next = rig.open()
    expect([first.id, next.id]).toEqual([1, 3])
    expect(toBlocks(rig, decoder)).toHaveLength(2)
    rig.http2.open(new HeardStream(rig, 'reads'), [...HEADER, 'x-new', 'v'], true, null)
    expect(toBlocks(rig, decoder)).toEqual([expect.stringMatching(/^5 .*\["x-new","v"\]\]$/)])
  })

  it('leaves a stream open whose trailers cannot be encoded', () => {
    const rig = new Rig()
    const decoder = new HpackDecoder()
    const stream = rig.open({ hasBody: true })
    const before = rig.take()
    decoder.decode(before.find(({ type }) => type === Type.HEADERS)?.payload ?? Buffer.alloc(0))
    expect(() => rig.http2.sendTrailers(stream, ['x-a', '1', 'x-b', '\u010a'])).toThrow(InvalidArgumentError)
    expect(stream.state).toBe('open')
    expect(rig.take()).toEqual([])
    rig.http2.sendTrailers(stream, ['x-a', '1', 'x-b', '2'])
    expect(stream.state).toBe('half-closed (local)')
    expect(toBlocks(rig, decoder)).toEqual(['1 [["x-a","1"],["x-b","2"]]'])
  })
})

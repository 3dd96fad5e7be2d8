import { describe, expect, it } from 'vitest'
import { HpackDecoder } from '../../../src/protocol/hpack/decoder.ts'
import { HpackEncoder } from '../../../src/protocol/hpack/encoder.ts'
import { decode, encode, startDecoder, toHuffmanLiteral, toLiteral } from './support.ts'

/** The ways in which one field may come. */
const WAYS: readonly { readonly way: string; toBlock(name: string, value: string): Buffer }[] = [
  {
    way: 'as a literal',
    toBlock: (name, value) => Buffer.concat([Buffer.of(0x00), toLiteral(name), toLiteral(value)]),
  },
  {
    way: 'as a literal in the Huffman code',
    toBlock: (name, value) =>
      Buffer.concat([Buffer.of(0x10), toHuffmanLiteral(name), toHuffmanLiteral(value)]),
  },
  {
    way: 'as a literal that is indexed',
    toBlock: (name, value) => Buffer.concat([Buffer.of(0x40), toLiteral(name), toLiteral(value)]),
  },
]

/** What is said of a list with this field, and what is said when the field comes a second time. */
function faultsOf(block: Buffer): (string | null)[] {
  const decoder = startDecoder()
  return [block, block].map((bytes) => {
    decoder.decode(bytes, 0, bytes.length)
    return decoder.fault
  })
}

const octets = (from: number, to: number): number[] =>
  Array.from({ length: to - from + 1 }, (_none, at) => from + at)
const BAD_IN_NAMES = [...octets(0x00, 0x20), ...octets(0x41, 0x5a), ...octets(0x7f, 0xff), 0x3a]
const isBadInName = new Set(BAD_IN_NAMES)
const CONNECTION_SPECIFIC = ['connection', 'keep-alive', 'proxy-connection', 'transfer-encoding', 'upgrade']

describe.each(WAYS)('the fault of a field that comes $way', ({ toBlock }) => {
  it('when the name is good › is null, for each octet that a name may have', () => {
    for (const octet of octets(0, 255).filter((octet) => !isBadInName.has(octet))) {
      expect(faultsOf(toBlock(`x${String.fromCharCode(octet)}`, 'v'))).toEqual([null, null])
    }
    expect(faultsOf(toBlock(':path', '/'))).toEqual([null, null])
  })

  it('when an octet may not be in a name › names the name, for each such octet (RFC 9113 §8.2.1)', () => {
    for (const octet of BAD_IN_NAMES) {
      const name = `x${String.fromCharCode(octet)}y`
      const fault = `the field name ${JSON.stringify(name)} contains an octet that is not allowed (RFC 9113 §8.2.1)`
      expect(faultsOf(toBlock(name, 'v'))).toEqual([fault, fault])
    }
  })

  it('when a name has two colons › is that (RFC 9113 §8.2.1)', () => {
    expect(faultsOf(toBlock(':a:', 'v'))[0]).toContain('":a:"')
    expect(faultsOf(toBlock('::', 'v'))[0]).toContain('"::"')
  })

  it('when the name is empty › says so (RFC 9113 §8.2.1)', () => {
    const fault = 'a field name is empty (RFC 9113 §8.2.1)'
    expect(faultsOf(toBlock('', 'v'))).toEqual([fault, fault])
  })

  it.each(CONNECTION_SPECIFIC)('when the name is %s › says so (RFC 9113 §8.2.2)', (name) => {
    const fault = `the field "${name}" is connection-specific (RFC 9113 §8.2.2)`
    expect(faultsOf(toBlock(name, 'v'))).toEqual([fault, fault])
  })

  it.each([
    'connectiom',
    'keep-alivf',
    'proxy-connectiom',
    'transfer-encodinh',
    'upgradf',
    'tf',
    'http2-settings',
  ])('when the name is %s › is null', (name) => expect(faultsOf(toBlock(name, 'v'))).toEqual([null, null]))

  it('when te is anything but trailers › says so (RFC 9113 §8.2.2)', () => {
    const fault = `the value of the field "te" is not 'trailers' (RFC 9113 §8.2.2)`
    expect(faultsOf(toBlock('te', 'gzip'))).toEqual([fault, fault])
    expect(faultsOf(toBlock('te', ''))).toEqual([fault, fault])
    expect(faultsOf(toBlock('te', 'trailers'))).toEqual([null, null])
    expect(faultsOf(toBlock('te', 'Trailers'))).toEqual([null, null])
    expect(faultsOf(toBlock('te', 'a\0b'))[0]).toContain('contains NUL')
  })

  it('when a value has a NUL, CR or LF › says so, and not what the value is (RFC 9113 §8.2.1)', () => {
    const fault = 'the value of the field "x" contains NUL, CR or LF (RFC 9113 §8.2.1)'
    for (const octet of octets(0, 255)) {
      const expected = [0x00, 0x0a, 0x0d].includes(octet) ? fault : null
      expect(faultsOf(toBlock('x', `a${String.fromCharCode(octet)}b`))).toEqual([expected, expected])
    }
  })

  it.each([
    ' a',
    'a ',
    '\ta',
    'a\t',
    ' ',
    '\t',
  ])('when a value is %j › says that there is space around (RFC 9113 §8.2.1)', (value) => {
    const fault = 'the value of the field "x" starts or ends with a space or tab (RFC 9113 §8.2.1)'
    expect(faultsOf(toBlock('x', value))).toEqual([fault, fault])
  })

  it('when the name is long › is short', () => {
    expect(faultsOf(toBlock('N'.repeat(3_000), 'v'))[0]?.length).toBeLessThan(200)
  })
})

describe('the fault of a list', () => {
  const bad = '4001580161' // X: a
  it('when an indexed field is bad › is that of the field', () => {
    const decoder = startDecoder()
    decode(decoder, bad)
    decode(decoder, '82')
    expect(decoder.fault).toBe(null)
    decode(decoder, '82be')
    expect(decoder.fault).toContain('"X"')
  })

  it('when a name of the dynamic table is bad › is that of the name', () => {
    const decoder = startDecoder()
    decode(decoder, bad)
    decode(decoder, '0f2f0162')
    expect(decoder.fault).toContain('"X"')
  })

  it('when a name of the dynamic table is te › is that of the new value', () => {
    const decoder = startDecoder()
    decode(decoder, '4002746508747261696c657273')
    expect(decoder.fault).toBe(null)
    decode(decoder, '0f2f0162')
    expect(decoder.fault).toContain('"te"')
  })

  it('when the value beside a name of the dynamic table was bad › forgets that value', () => {
    const decoder = startDecoder()
    decode(decoder, '400178010a')
    expect(decoder.fault).toContain('"x"')
    decode(decoder, '0f2f0162')
    expect(decoder.fault).toBe(null)
  })

  it('when a name of the static table is connection-specific › is that', () => {
    const decoder = startDecoder()
    decode(decoder, 'b9')
    expect(decoder.fault).toContain('"transfer-encoding" is connection-specific')
    decode(decoder, '0f2a0162')
    expect(decoder.fault).toContain('"transfer-encoding" is connection-specific')
  })

  it('when the table has grown around its oldest entries › is that of each entry', () => {
    const decoder = startDecoder()
    const add = (at: number): string =>
      `4001${at % 3 === 0 ? '58' : '78'}02${Buffer.from(`${at}`).toString('hex')}`
    // A small table first, whose entries have gone round their ring when there is room for more.
    decode(decoder, `3fa104${Array.from({ length: 50 }, (_none, at) => add(10 + at)).join('')}`)
    decode(decoder, `3fe11f${Array.from({ length: 40 }, (_none, at) => add(60 + at)).join('')}`)
    for (let at = 99; at >= 50; at--) {
      expect(decode(decoder, (0x80 + 62 + 99 - at).toString(16))).toEqual([at % 3 === 0 ? 'X' : 'x', `${at}`])
      expect(decoder.fault === null).toBe(at % 3 !== 0)
    }
  })

  it('when several fields are bad › is the first one', () => {
    const decoder = startDecoder()
    decode(decoder, '0001410161 0001420161')
    expect(decoder.fault).toContain('"A"')
  })

  it('when the bad field is not kept any more › is there all the same', () => {
    const decoder = new HpackDecoder(4_096, 0)
    expect(decode(decoder, '0001410161')).toEqual([])
    expect(decoder.fault).toContain('"A"')
  })
})

describe('the size of a list', () => {
  const fields = ['x-a', '1', ':status', '200', 'x-b', '22']
  const size = fields.join('').length + 3 * 32

  it('counts 32 bytes a field (RFC 9113 §6.5.2)', () => {
    const decoder = startDecoder()
    const bytes = encode(new HpackEncoder(), fields)
    decoder.decode(bytes, 0, bytes.length)
    expect(decoder.listSize).toBe(size)
    decode(decoder, '')
    expect(decoder.listSize).toBe(0)
  })

  it('when it is the limit › leaves the list whole', () => {
    const decoder = new HpackDecoder(4_096, size)
    const bytes = encode(new HpackEncoder(), fields)
    expect(decoder.decode(bytes, 0, bytes.length)).toEqual(fields)
    expect(decoder.isTruncated).toBe(false)
  })

  it('when it is above the limit › leaves the beginning, and the table as it has to be', () => {
    const decoder = new HpackDecoder(4_096, size - 1)
    const encoder = new HpackEncoder()
    const long = encode(encoder, [...fields, 'x-c', '3'])
    expect(decoder.decode(long, 0, long.length)).toEqual(fields.slice(0, 4))
    expect(decoder.isTruncated).toBe(true)
    expect(decoder.listSize).toBe(size + 36)
    const next = encode(encoder, ['x-c', '3', 'x-b', '22'])
    expect(next).toHaveLength(2)
    expect(decoder.decode(next, 0, next.length)).toEqual(['x-c', '3', 'x-b', '22'])
    expect(decoder.isTruncated).toBe(false)
  })
})

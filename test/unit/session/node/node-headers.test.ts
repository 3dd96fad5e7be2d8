import { describe, expect, it } from 'vitest'
import { toFieldObject, toSpaceFault } from '../../../../src/session/node/node-headers.ts'

describe('toFieldObject', () => {
  it('has the fields in their order, the values of one name in an array', () => {
    const fields = toFieldObject([':path', '/', 'b', '1', 'a', '2', 'b', '3', 'b', '4'])
    expect(Object.entries(fields)).toEqual([
      [':path', '/'],
      ['b', ['1', '3', '4']],
      ['a', '2'],
    ])
  })

  it('inherits nothing', () => {
    const fields = toFieldObject([])
    expect(Object.keys(fields)).toEqual([])
    for (const name of ['__proto__', 'constructor', 'toString', 'hasOwnProperty'])
      expect(name in fields).toBe(false)
  })

  it('accepts any name as an own property', () => {
    const fields = toFieldObject(['__proto__', 'a', 'constructor', 'b', '__proto__', 'c'])
    expect(Object.entries(fields)).toEqual([
      ['__proto__', ['a', 'c']],
      ['constructor', 'b'],
    ])
    expect('constructor' in toFieldObject([])).toBe(false)
  })
})

describe('toSpaceFault', () => {
  it.each([
    ['nothing', []],
    ['an empty value', ['a', '']],
    ['white space within', ['a', 'b c\td']],
    ['white space at the end of a name, which nghttp2 never hands on', ['a ', 'b']],
  ])('is null for %s', (_name, raw) => {
    expect(toSpaceFault(raw)).toBeNull()
  })

  it.each([
    ['a space ahead', ' b'],
    ['a tab ahead', '\tb'],
    ['a space behind', 'b '],
    ['a tab behind', 'b\t'],
    ['a space alone', ' '],
  ])('names the field, and not the value, for %s', (_name, value) => {
    const fault = toSpaceFault(['c', 'd', 'a', value])
    expect(fault).toBe("the value of the field 'a' starts or ends with a space or tab (RFC 9113 §8.2.1)")
  })
})

import { describe, expect, it } from 'vitest'
import { toHeaderObject } from '../../../src/request/header-object.ts'

/** By name; what `toEqual` doesn't look at is looked at apart. */
const toPlain = (headers: object): Record<string, unknown> => ({ ...headers })

// That it has what node:http2 makes of the same fields, test/unit/request/response-headers.test.ts checks.
describe('the header object of a raw list', () => {
  it('has names in lower case, which HTTP/1.1 may write otherwise', () => {
    const raw = ['X-A', '1', 'x-a', '2', 'Set-Cookie', 'a', 'SET-COOKIE', 'b', 'ETag', 'c', 'etag', 'd']
    expect(toPlain(toHeaderObject(raw))).toEqual({ 'x-a': '1, 2', 'set-cookie': ['a', 'b'], etag: 'c' })
  })

  it.each([
    ['a', 'b'],
    ['__proto__', 'a'],
    ['__proto__', 'a', '__proto__', 'b'],
    ['Constructor', 'a'],
  ])('inherits from Object.prototype, as undici has it over HTTP/1.1: %j', (...raw) => {
    const headers = toHeaderObject(raw)
    expect(Object.getPrototypeOf(headers)).toBe(Object.prototype)
    expect(Object.keys(headers)).toEqual([raw[0]?.toLowerCase()])
    expect(headers.hasOwnProperty).toBe(Object.prototype.hasOwnProperty)
  })

  it('leaves a name without a value out', () => {
    expect(toPlain(toHeaderObject(['a', 'b', 'c']))).toEqual({ a: 'b' })
  })
})

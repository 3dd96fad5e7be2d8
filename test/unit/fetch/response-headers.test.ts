import { afterEach, describe, expect, it, vi } from 'vitest'
import { toFetchHeaders } from '../../../src/fetch/response-headers.ts'

afterEach(() => {
  vi.unstubAllGlobals()
})

describe('toFetchHeaders', () => {
  it.each<[string, Parameters<typeof toFetchHeaders>[0]]>([
    ['a list', ['X-A', '1', 'set-cookie', 'a=1', 'set-cookie', 'b=2', 'x-a', '2']],
    [
      'Buffers',
      ['X-A', '1', 'set-cookie', 'a=1', 'set-cookie', 'b=2', 'x-a', '2'].map((text) => Buffer.from(text)),
    ],
    ['an object', { 'x-a': ['1', '2'], 'set-cookie': ['a=1', 'b=2'] }],
  ])('accepts %s, and keeps each value', (_what, source) => {
    const headers = toFetchHeaders(source)
    expect(headers.get('X-A')).toBe('1, 2')
    expect(headers.getSetCookie()).toEqual(['a=1', 'b=2'])
    expect([...headers]).toEqual([
      ['set-cookie', 'a=1'],
      ['set-cookie', 'b=2'],
      ['x-a', '1, 2'],
    ])
  })

  it('gives no fields for an empty list', () => {
    expect([...toFetchHeaders([]), ...toFetchHeaders({})]).toEqual([])
  })

  it('keeps latin1 characters', () => {
    expect(toFetchHeaders(['a', '\xfc']).get('a')).toBe('\xfc')
    expect(toFetchHeaders([Buffer.from('a'), Buffer.from([0xfc])]).get('a')).toBe('\xfc')
  })

  it('leaves out invalid fields', () => {
    const headers = toFetchHeaders(['a b', '1', 'c', '2\n3', '', '4', 'd', '5'])
    expect([...headers]).toEqual([['d', '5']])
  })

  it('returns an instance of Headers with the same properties', () => {
    const headers = toFetchHeaders(['a', '1'])
    expect(headers).toBeInstanceOf(Headers)
    expect(headers.constructor).toBe(Headers)
    expect(Object.prototype.toString.call(headers)).toBe('[object Headers]')
    expect(Object.keys(headers)).toEqual([])
    expect([headers.has('A'), headers.get('b')]).toEqual([true, null])
    const seen: string[] = []
    headers.forEach((value, name) => {
      seen.push(`${name}=${value}`)
    })
    expect([seen, [...headers.keys()], [...headers.values()]]).toEqual([['a=1'], ['a'], ['1']])
  })

  it('cannot be changed', () => {
    const headers = toFetchHeaders(['a', '1'])
    const error = expect.objectContaining({ constructor: TypeError, message: 'immutable' })
    expect(() => headers.append('b', '2')).toThrow(error)
    expect(() => headers.set('a', '2')).toThrow(error)
    expect(() => headers.delete('a')).toThrow(error)
    expect([...headers]).toEqual([['a', '1']])
  })

  it('can be copied to Headers that can be changed', () => {
    const copy = new Headers(toFetchHeaders(['a', '1', 'set-cookie', 'x', 'set-cookie', 'y']))
    copy.set('a', '2')
    copy.append('set-cookie', 'z')
    expect([copy.get('a'), copy.getSetCookie()]).toEqual(['2', ['x', 'y', 'z']])
    const { headers } = new Response(null, { headers: toFetchHeaders(['a', '1']) })
    headers.set('a', '2')
    expect(headers.get('a')).toBe('2')
    new Headers().set('a', '1')
  })

  it('uses the global class at the time of the call', () => {
    class Other extends Headers {}
    const before = toFetchHeaders(['a', '1'])
    vi.stubGlobal('Headers', Other)
    const headers = toFetchHeaders(['a', '1'])
    expect([headers instanceof Other, before instanceof Other]).toEqual([true, false])
    expect(() => headers.set('a', '2')).toThrow('immutable')
    vi.unstubAllGlobals()
    expect(toFetchHeaders(['a', '1'])).not.toBeInstanceOf(Other)
  })
})

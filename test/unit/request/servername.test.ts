import { describe, expect, it } from 'vitest'
import { InvalidArgumentError } from '../../../src/errors/errors.ts'
import { toOrigin } from '../../../src/options/options.ts'
import { toOwnServername, toServername, withServername } from '../../../src/request/servername.ts'
import type { Connector } from '../../../types/index.ts'

const origin = toOrigin('https://a.example:8443')
const connector: Connector = (_options, callback) => callback(new Error('none'), null)

describe('toServername', () => {
  it.each([
    ['undefined', undefined, {}],
    ['null', null, {}],
    ['an empty string', '', {}],
    ["the origin's host", 'a.example', {}],
    ["the origin's host in capitals", 'A.Example', {}],
    ["the origin's host, where connect is a function", 'a.example', connector],
    ['that of connect', 'b.example', { servername: 'b.example' }],
  ])('is null where it is the own one: %s', (_kind, value, connect) => {
    expect(toServername(value, origin, connect)).toBeNull()
  })

  it('is null over http:, as undici takes no notice of it there', () => {
    expect(toServername('b.example', toOrigin('http://a.example'), {})).toBeNull()
  })

  it.each([
    ['b.example', {}],
    ['b.example', connector],
    ['a.example', { servername: 'b.example' }],
  ])('is another one: %s', (value, connect) => {
    expect(toServername(value, origin, connect)).toBe(value)
  })

  it.each([
    1,
    {},
    'b example',
    'b\0.example',
    'b\u010a',
    'bücher.example',
    'b:443',
    '10.0.0.1',
    '::1',
    '[::1]',
  ])('refuses what is none: %j', (value) => {
    expect(() => toServername(value, origin, {})).toThrow(InvalidArgumentError)
    expect(() => toServername(value, origin, {})).toThrow(
      /^Invalid servername: got .+, expected an ASCII server name, or null$/,
    )
  })
})

describe('toOwnServername', () => {
  it.each([
    ["the origin's host", 'a.example', {}],
    ['that of connect', 'b.example', { servername: 'b.example' }],
    [
      'that of a connect function of an Agent',
      'b.example',
      withServername({ connect: connector }, 'b.example').connect,
    ],
  ])('takes the own one: %s', (_kind, value, connect) => {
    expect(toOwnServername(value, origin, connect ?? {})).toBe(value)
  })

  it.each([undefined, null, ''])('is null for none: %j', (value) => {
    expect(toOwnServername(value, origin, {})).toBeNull()
  })

  it.each([
    ['b.example', {}, 'a.example'],
    ['b.example', connector, 'a.example'],
    ['a.example', { servername: 'b.example' }, 'b.example'],
    ['c.example', withServername({ connect: connector }, 'b.example').connect, 'b.example'],
  ])('refuses another one: %s', (value, connect, own) => {
    expect(() => toOwnServername(value, origin, connect ?? {})).toThrow(
      `Invalid servername: got "${value}", expected ${own}, which this client's connections use`,
    )
  })
})

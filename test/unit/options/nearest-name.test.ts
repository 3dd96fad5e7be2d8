import { describe, expect, it } from 'vitest'
import { toEditDistance, toNearestName } from '../../../src/options/nearest-name.ts'

describe('toEditDistance()', () => {
  it.each([
    ['', '', 0],
    ['', 'abc', 3],
    ['abc', '', 3],
    ['same', 'same', 0],
    ['kitten', 'sitting', 3],
    ['haeders', 'headers', 1],
    ['keepAliveTimeot', 'keepAliveTimeout', 1],
  ])('of %j and %j is %i', (a, b, distance) => {
    expect(toEditDistance(a, b)).toBe(distance)
    expect(toEditDistance(b, a)).toBe(distance)
  })
})

describe('toNearestName()', () => {
  const names = ['method', 'headers', 'headersTimeout', 'ca', 'keepAliveTimeout']

  it.each([
    ['keepAliveTimeot', 'keepAliveTimeout'],
    ['headerstimeout', 'headersTimeout'],
    ['header', 'headers'],
    ['methdo', 'method'],
    ['cb', null],
    ['cookies', null],
    ['x'.repeat(10_000), null],
  ])('of %.20j is %j', (name, nearest) => {
    expect(toNearestName(name, names)).toBe(nearest)
  })
})

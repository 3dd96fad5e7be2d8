import { describe, expect, it } from 'vitest'
import { InvalidArgumentError } from '../../../src/errors/errors.ts'
import type { Limits } from '../../../src/options/limits.ts'
import { CALL_LIMITS, toLimits } from '../../../src/options/limits.ts'

const names = Object.keys(CALL_LIMITS)
const times = Object.entries(CALL_LIMITS).flatMap(([name, { unit }]) => (unit === 'milliseconds' ? name : []))

// Each another one: a limit that comes from another's default is noticed.
const defaults = toLimits(Object.fromEntries(names.map((name, index) => [name, 11 + index])), null)

/** toLimits() as JavaScript calls it: with anything at all. */
function resolve(options: object): Limits {
  return Reflect.apply(toLimits, undefined, [options, defaults])
}

describe('toLimits', () => {
  describe('when no limit is given', () => {
    it.each([
      ['nothing', {}],
      ['other options', { path: '/', method: 'GET' }],
      ['undefined', Object.fromEntries(names.map((name) => [name, undefined]))],
    ])('gives the very defaults: %s', (_what, options) => {
      expect(resolve(options)).toBe(defaults)
    })

    it('gives their values for null', () => {
      expect(resolve(Object.fromEntries(names.map((name) => [name, null])))).toEqual(defaults)
    })
  })

  describe('when one limit is given', () => {
    it.each(names)('has it, frozen, and the defaults of the others: %s', (name) => {
      const limits = resolve({ [name]: 1 })
      expect(limits).toEqual({ ...defaults, [name]: 1 })
      expect(Object.isFrozen(limits)).toBe(true)
    })

    it.each(names)('leaves the defaults alone: %s', (name) => {
      const before = { ...defaults }
      resolve({ [name]: 1 })
      expect(defaults).toEqual(before)
    })

    it.each(times)('takes 0 for never: %s', (name) => {
      expect(resolve({ [name]: 0 })).toEqual({ ...defaults, [name]: 0 })
    })
  })

  describe('when a time is none', () => {
    it.each(times)('names it: %s', (name) => {
      for (const value of [-1, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 31, '1', true]) {
        expect(() => resolve({ [name]: value })).toThrow(InvalidArgumentError)
        expect(() => resolve({ [name]: value })).toThrow(
          new RegExp(`^Invalid ${name}: got .+, expected milliseconds from 0 \\(never\\) to 2147483647$`),
        )
      }
    })
  })

  describe('when a size or a count is none', () => {
    it.each([
      ['maxResponseSize', -2, 'bytes (-1 for no limit) from -1 to 9007199254740991'],
      ['maxHeaderSize', 0, 'bytes from 1 to 1048576'],
      ['maxHeaderSize', 1_048_577, 'bytes from 1 to 1048576'],
      ['maxReplayBuffer', -1, 'bytes from 0 to 1073741824'],
      ['maxReplayBuffer', 2 ** 30 + 1, 'bytes from 0 to 1073741824'],
      ['maxHeadersCount', 0, 'fields from 1 to 32768'],
      ['maxHeadersCount', 32_769, 'fields from 1 to 32768'],
      ['maxHeadersCount', 1.5, 'fields from 1 to 32768'],
    ])('names it: %s: %d', (name, value, accepted) => {
      expect(() => resolve({ [name]: value })).toThrow(InvalidArgumentError)
      expect(() => resolve({ [name]: value })).toThrow(
        `Invalid ${name}: got ${value}, expected a whole number of ${accepted}`,
      )
    })
  })
})

import { describe, expect, it } from 'vitest'
import type { Limits } from '../../../src/options/limits.ts'
import { CALL_LIMITS, toLimits } from '../../../src/options/limits.ts'

const names = Object.keys(CALL_LIMITS)

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
  })
})

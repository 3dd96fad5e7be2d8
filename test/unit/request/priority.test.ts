import { describe, expect, it } from 'vitest'
import { InvalidArgumentError } from '../../../src/errors/errors.ts'
import { toPriorityField, toUrgency } from '../../../src/request/priority.ts'
import { toThrown } from '../thrown.ts'

const LEVELS = [0, 1, 2, 3, 4, 5, 6, 7] as const
/** A missing parameter (RFC 9218 §4) has the reader's default. */
const UNSAID = [undefined, null] as const

/** As JavaScript calls it, with anything at all. */
function toField(priority: unknown): string {
  return Reflect.apply(toPriorityField, undefined, [priority])
}

const toRefusal = (priority: unknown): Error => toThrown(() => toField(priority))

describe('the value of a priority field', () => {
  describe('when a level is given', () => {
    it.each(LEVELS)('says %i, the default of 3 as well', (urgency) => {
      expect(toField({ urgency })).toBe(`u=${urgency}`)
      for (const incremental of [false, ...UNSAID])
        expect(toField({ urgency, incremental })).toBe(`u=${urgency}`)
      expect(toField({ urgency, incremental: true })).toBe(`u=${urgency}, i`)
    })
  })

  describe('when none is given', () => {
    it('says only that it is incremental', () => {
      for (const urgency of UNSAID) expect(toField({ urgency, incremental: true })).toBe('i')
      expect(toField({ incremental: true })).toBe('i')
    })

    it('is empty where that is not so either', () => {
      expect(toField({})).toBe('')
      for (const urgency of UNSAID)
        for (const incremental of [false, ...UNSAID]) expect(toField({ urgency, incremental })).toBe('')
    })
  })

  it('reads no more than the two: what else is there has no effect', () => {
    expect(toField({ urgency: 1, u: 5, weight: 16 })).toBe('u=1')
    expect(toField(Object.assign(Object.create(null), { urgency: 0 }))).toBe('u=0')
  })

  describe('when what is given is no priority', () => {
    const levels = 'a whole number of levels from 0 to 7'

    it.each([
      [-1, '-1'],
      [8, '8'],
      [1.5, '1.5'],
      [Number.NaN, 'NaN'],
      [Number.POSITIVE_INFINITY, 'Infinity'],
      ['1', '"1"'],
      [1n, '1'],
      [true, 'true'],
      [[1], 'an array'],
    ])('names the level, its value %s, and what there is', (urgency, shown) => {
      const error = toRefusal({ urgency })
      expect(error).toBeInstanceOf(InvalidArgumentError)
      expect(error.message).toBe(`Invalid priority.urgency: got ${shown}, expected ${levels}`)
    })

    it.each([
      [1, '1'],
      [0, '0'],
      ['true', '"true"'],
      ['', '""'],
      [{}, 'an object (Object)'],
    ])('names incremental, its value %s, and what there is', (incremental, shown) => {
      const error = toRefusal({ urgency: 1, incremental })
      expect(error).toBeInstanceOf(InvalidArgumentError)
      expect(error.message).toBe(`Invalid priority.incremental: got ${shown}, expected true or false`)
    })

    it.each([
      ['u=1', '"u=1"'],
      [1, '1'],
      [true, 'true'],
      [null, 'null'],
      [undefined, 'undefined'],
      [[], 'an array'],
      [() => {}, 'a function'],
    ])('names the whole, its value %s, and what there is', (priority, shown) => {
      const error = toRefusal(priority)
      expect(error).toBeInstanceOf(InvalidArgumentError)
      expect(error.message).toBe(
        `Invalid priority: got ${shown}, expected an object with urgency and incremental, or null`,
      )
    })
  })
})

describe('the urgency of a priority field', () => {
  it.each([
    [undefined, 3],
    ['', 3],
    ['i', 3],
    ['u=0', 0],
    ['u=7', 7],
    ['u=1, i', 1],
    ['i,u=2', 2],
    ['i;x="u=1" , u=5;y', 5],
    // These say none.
    ['u=8', 3],
    ['u=-1', 3],
    ['u', 3],
    ['xu=1', 3],
    ['u=12', 3],
  ])('of %j is %i', (value, urgency) => {
    expect(toUrgency(value)).toBe(urgency)
  })
})

import { describe, expect, it } from 'vitest'
import { toLogged } from '../../../src/core/debug-log.ts'

/** An error that is its own cause, by way of another one. */
function toCircle(): Error {
  const inner = new Error('inner')
  const outer = new Error('outer', { cause: inner })
  inner.cause = outer
  return outer
}

describe('an error as a line of the log shows it', () => {
  it.each([
    ['with a code', Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }), 'ECONNREFUSED: refused'],
    ['without one', new TypeError('bad'), 'TypeError: bad'],
    ['with a cause', new Error('lost', { cause: new RangeError('far') }), 'Error: lost < RangeError: far'],
    ['that is a text', 'why', 'why'],
    ['that is a symbol', Symbol('why'), 'Symbol(why)'],
    [
      'whose message is a symbol',
      Object.assign(new Error(), { message: Symbol('x') }),
      'an error that cannot be shown',
    ],
    [
      'whose code throws',
      Object.defineProperty(new Error('q'), 'code', { get: () => expect.fail('a getter') }),
      'an error that cannot be shown',
    ],
    ['that has no text', Object.create(null), 'an error that cannot be shown'],
  ])('%s', (_what, error: unknown, text) => {
    expect(toLogged(error)).toBe(text)
  })

  it('in a circle of causes › ends', () => {
    expect(toLogged(toCircle())).toBe(
      'Error: outer < Error: inner < Error: outer < Error: inner < Error: outer',
    )
  })
})

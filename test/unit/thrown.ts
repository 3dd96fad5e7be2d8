/** What a function throws, for tests of values that are refused. */

import { expect } from 'vitest'
import { InvalidArgumentError } from '../../src/errors/errors.ts'

export function toThrown(act: () => unknown): Error {
  try {
    act()
  } catch (thrown) {
    if (thrown instanceof Error) return thrown
    throw thrown
  }
  throw new Error('Nothing was thrown')
}

/** The message of the InvalidArgumentError that a function throws. */
export function toRefusal(act: () => unknown): string {
  const error = toThrown(act)
  expect(error).toBeInstanceOf(InvalidArgumentError)
  return error.message
}

import { describe, expect, test } from 'vitest'
import { isToken } from '../../../src/request/field-names.ts'

describe('isToken', () => {
  test.each(['GET', 'm-search', "!#$%&'*+-.^_`|~09AZaz"])('is true: %j', (value) => {
    expect(isToken(value)).toBe(true)
  })

  test.each(['', ' ', 'GET ', 'GE T', 'GET\n', 'É', 'a:b', '(', '"', 'a,b'])('is false: %j', (value) => {
    expect(isToken(value)).toBe(false)
  })
})

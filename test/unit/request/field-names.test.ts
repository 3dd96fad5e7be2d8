import { describe, expect, it } from 'vitest'
import { isToken } from '../../../src/request/field-names.ts'

describe('isToken', () => {
  it.each(['GET', 'm-search', "!#$%&'*+-.^_`|~09AZaz"])('is true: %j', (value) => {
    expect(isToken(value)).toBe(true)
  })

  it.each(['', ' ', 'GET ', 'GE T', 'GET\n', 'É', 'a:b', '(', '"', 'a,b'])('is false: %j', (value) => {
    expect(isToken(value)).toBe(false)
  })
})

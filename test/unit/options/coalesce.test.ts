import { describe, expect, it } from 'vitest'
import { toCoalesceRules } from '../../../src/options/coalesce.ts'

function toRules(coalesce: unknown) {
  return toCoalesceRules({ coalesce } as Parameters<typeof toCoalesceRules>[0])
}

describe('the coalesce option', () => {
  it.each([undefined, null, false])('is off with %s', (value) => {
    expect(toRules(value)).toBeNull()
  })

  it.each([
    true,
    {},
    { origins: null, skipDns: null },
    { origins: 'both', skipDns: false },
  ])('is on with %j', (value) => {
    expect(toRules(value)).toEqual({ origins: 'both', skipDns: false })
  })

  it.each([
    { origins: 'dns', skipDns: false },
    { origins: 'origin-frame', skipDns: true },
    { origins: 'both', skipDns: true },
  ])('takes %j as it is', (value) => {
    expect(toRules(value)).toEqual(value)
  })

  it.each([
    ['yes', /^Invalid coalesce: got .*, expected true, false, or an object/],
    [1, /^Invalid coalesce: /],
    [[], /^Invalid coalesce: /],
    [{ origin: 'dns' }, /^Invalid coalesce: got "origin".*origins and skipDns/],
    [
      { origins: 'all' },
      /^Invalid coalesce\.origins: got "all", expected one of "dns", "origin-frame", "both"/,
    ],
    [{ origins: true }, /^Invalid coalesce\.origins: /],
    [{ skipDns: 1 }, /^Invalid coalesce\.skipDns: /],
    [{ origins: 'dns', skipDns: true }, /^Invalid coalesce\.skipDns: got true, expected false when/],
  ])('refuses %j', (value, message) => {
    expect(() => toRules(value)).toThrow(message)
  })
})

import { describe, expect, it } from 'vitest'
import { NoProxy } from '../../../src/proxy/no-proxy.ts'

describe('NO_PROXY', () => {
  it.each([
    ['', 'a.test', 443, false],
    ['*', 'a.test', 443, true],
    ['x.test, * ', 'a.test', 443, true],
    ['*:80', 'a.test', 443, false],
    ['*:443', 'a.test', 443, true],
    ['a.test', 'a.test', 443, true],
    ['A.Test.', 'a.test', 443, true],
    ['a.test', 'A.TEST.', 443, true],
    ['a.test', 'b.a.test', 443, true],
    ['a.test', 'ba.test', 443, false],
    ['.a.test', 'a.test', 443, true],
    ['.a.test', 'b.a.test', 443, true],
    ['*.a.test', 'a.test', 443, false],
    ['*.a.test', 'b.a.test', 443, true],
    ['a.test:8443', 'a.test', 443, false],
    ['a.test:8443', 'a.test', 8443, true],
    ['x.test a.test', 'a.test', 443, true],
    ['10.0.0.1', '10.0.0.1', 80, true],
    ['10.0.0.1:81', '10.0.0.1', 80, false],
    ['10.0.0.0/8', '10.200.3.4', 80, true],
    ['10.0.0.0/8', '11.0.0.1', 80, false],
    ['10.0.0.0/8', 'ten.test', 80, false],
    ['10.0.0.0/99', '10.0.0.1', 80, false],
    ['10.0.0.5-10.0.0.9', '10.0.0.7', 80, true],
    ['10.0.0.5-10.0.0.9', '10.0.0.10', 80, false],
    ['10.0.0.5-10.0.0.5', '10.0.0.5', 80, true],
    ['9.0.0.1-10.0.0.1', '9.200.0.0', 80, true],
    ['10.0.0.9-10.0.0.5', '10.0.0.7', 80, false],
    ['10.0.0.9-10.0.0.5,a.test', 'a.test', 80, true],
    ['10.0.0.9-10.0.0', '10.0.0.9', 80, false],
    ['::1', '::1', 443, true],
    ['[::1]', '::1', 443, true],
    ['[::1]:443', '::1', 443, true],
    ['[::1]:444', '::1', 443, false],
    ['0:0:0:0:0:0:0:1', '::1', 443, true],
    ['fd00::/8', 'fd12::9', 443, true],
    ['fd00::/8', 'fe80::1', 443, false],
  ])('%o has %s at %i: %s', (text, hostname, port, isListed) => {
    expect(new NoProxy(text).has(hostname, port)).toBe(isListed)
  })
})

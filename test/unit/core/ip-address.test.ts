import { isIP } from 'node:net'
import { describe, expect, it } from 'vitest'
import { toIpVersion } from '../../../src/core/ip-address.ts'

describe('toIpVersion()', () => {
  it.each([
    ['127.0.0.1', 4],
    ['255.255.255.255', 4],
    ['::', 6],
    ['::1', 6],
    ['2001:db8::1', 6],
    ['::ffff:192.0.2.1', 6],
    ['fe80::1%lo', 6],
    ['', 0],
    ['localhost', 0],
    ['example.org', 0],
    ['256.0.0.1', 0],
    ['1.2.3', 0],
    ['[::1]', 0],
    ['host:443', 0],
    ['1.2.3.4:80', 0],
    ['face', 0],
  ] as const)('%j › %i, as node:net says', (text, version) => {
    expect(toIpVersion(text)).toBe(version)
    expect(isIP(text)).toBe(version)
  })
})

import { describe, expect, it } from 'vitest'
import { showIpEndpoint, toIpEndpoint } from '../../../../../src/dispatcher/upstream/discovery/ip-endpoint.ts'

const GOOD = [
  ['10.0.0.7', '10.0.0.7', 4, null],
  ['10.0.0.7:8443', '10.0.0.7:8443', 4, 8443],
  ['::1', '[::1]', 6, null],
  ['[::1]', '[::1]', 6, null],
  ['[::1]:8443', '[::1]:8443', 6, 8443],
  ['FD00:0:0::1', '[fd00::1]', 6, null],
  ['[FD00:0:0::1]:65535', '[fd00::1]:65535', 6, 65535],
  ['fe80::1%eth0', '[fe80::1%eth0]', 6, null],
  ['[FE80:0::1%eth0]:1', '[fe80::1%eth0]:1', 6, 1],
] as const

const BAD = [
  ...['', 'a.example', 'localhost:80', '10.0.0', '10.0.0.7:', '10.0.0.7:0', '10.0.0.7:65536', '10.0.0.7:x'],
  ...['[10.0.0.7]', '[::1', '::1]:80', '[::1]:', '[]', '10.0.0.7/24', ' 10.0.0.7', '[a]:1', '10.0.0.256'],
]

describe('toIpEndpoint()', () => {
  it.each(GOOD)('reads %s, and shows it as %s', (text, shown, family, port) => {
    const endpoint = toIpEndpoint(text)
    expect(endpoint).toMatchObject({ family, port })
    expect(endpoint === null ? null : showIpEndpoint(endpoint)).toBe(shown)
    expect(toIpEndpoint(shown)).toEqual(endpoint)
  })

  it.each(BAD)('refuses %j', (text) => {
    expect(toIpEndpoint(text)).toBeNull()
  })
})

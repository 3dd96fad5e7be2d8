import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import { InvalidArgumentError } from '../../../src/errors/errors.ts'
import { Socks5ProxyError } from '../../../src/errors/proxy-errors.ts'
import { SocksHandshake, toAuthentication, toConnectRequest, toGreeting } from '../../../src/proxy/socks5.ts'
import { toTunnelTarget } from '../../../src/proxy/tunnels.ts'
import { toCuts } from '../session/connect/proxy-scene.ts'
import { toThrown } from '../thrown.ts'

const CREDENTIALS = { username: 'me', password: 'secret' }
const TARGET = toTunnelTarget('a.test', 443)

const hex = (bytes: Buffer | null): string | null => bytes?.toString('hex') ?? null

describe('the messages of RFC 1928 and RFC 1929', () => {
  it('greet with the methods that there are credentials for', () => {
    expect(hex(toGreeting(null))).toBe('050100')
    expect(hex(toGreeting(CREDENTIALS))).toBe('05020200')
  })

  it('have user name and password in UTF-8, by their lengths in bytes', () => {
    expect(hex(toAuthentication(CREDENTIALS))).toBe(
      `0102${hex(Buffer.from('me'))}06${hex(Buffer.from('secret'))}`,
    )
    expect(hex(toAuthentication({ username: 'ä', password: '' }))).toBe('0102c3a400')
    const long = { username: 'u'.repeat(255), password: 'p'.repeat(255) }
    expect(toAuthentication(long)).toHaveLength(3 + 255 + 255)
  })

  it.each([
    ['username', { username: '', password: 'secret' }],
    ['username', { username: 'secret'.repeat(43), password: 'x' }],
    ['username', { username: 'ä'.repeat(128), password: 'secret' }],
    ['password', { username: 'x', password: 'secret'.repeat(43) }],
  ])('have no room for a %s like this', (name, credentials) => {
    const error = toThrown(() => toAuthentication(credentials))
    expect(error).toBeInstanceOf(InvalidArgumentError)
    expect(error.message).toMatch(new RegExp(`^Invalid ${name}: got \\d+ bytes, expected 1 to 255$`))
    expect(inspect(error)).not.toContain('secret')
  })

  it.each([
    ['127.0.0.1', 80, '05010001 7f000001 0050'],
    ['a.test', 443, `05010003 06${hex(Buffer.from('a.test'))} 01bb`],
    ['::', 1, `05010004 ${'00'.repeat(16)} 0001`],
    ['::1', 65_535, `05010004 ${'00'.repeat(15)}01 ffff`],
    ['2001:db8::1:0:0:2', 256, '05010004 20010db8 00000000 00010000 00000002 0100'],
    ['1:2:3:4:5:6:7:8', 1, '05010004 00010002000300040005000600070008 0001'],
    ['fe80::', 1, `05010004 fe80${'00'.repeat(14)} 0001`],
    ['::ffff:1.2.3.4', 1, `05010004 ${'00'.repeat(10)}ffff01020304 0001`],
    ['fe80::1%eth0', 1, `05010004 fe80${'00'.repeat(13)}01 0001`],
    ['1.2.3', 1, `05010003 05${hex(Buffer.from('1.2.3'))} 0001`],
  ])('ask for %s:%i', (hostname, port, expected) => {
    expect(hex(toConnectRequest(toTunnelTarget(hostname, port)))).toBe(expected.replaceAll(' ', ''))
  })

  it('have room for a name of 255 bytes, and not of 256', () => {
    expect(toConnectRequest(toTunnelTarget('a'.repeat(255), 1))).toHaveLength(4 + 1 + 255 + 2)
    const error = toThrown(() => toConnectRequest(toTunnelTarget('a'.repeat(256), 1)))
    expect(error).toBeInstanceOf(InvalidArgumentError)
    expect(error.message).toContain("name of the origin's host: got 256 bytes")
  })
})

const OK: Record<string, string> = {
  'an IPv4 address': '05000001 7f000001 1234',
  'an IPv6 address': `05000004 ${'00'.repeat(15)}01 1234`,
  'a name': `05000003 06${hex(Buffer.from('a.test'))} 1234`,
  'an empty name': '05000003 00 1234',
  'the longest name': `05000003 ff${'61'.repeat(255)} 1234`,
}

const fromHex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex')

describe.each(Object.entries(OK))('a handshake whose reply has %s', (_name, reply) => {
  it.each([
    ['without credentials', null, '0500', ''],
    ['with credentials that are asked for', CREDENTIALS, '0502', '0100'],
    ['with credentials that are not asked for', CREDENTIALS, '0500', ''],
  ])('%s, at each cut, and with the first bytes of the server behind it', (_case, credentials, method, verdict) => {
    const expected = [
      ...(verdict === '' ? [] : [hex(toAuthentication(CREDENTIALS))]),
      hex(toConnectRequest(TARGET)),
    ].join('')
    for (const rest of ['', 'SERVER']) {
      const all = Buffer.concat([fromHex(`${method} ${verdict} ${reply}`), Buffer.from(rest)])
      for (const pieces of toCuts(all)) {
        const handshake = new SocksHandshake(TARGET, credentials)
        let sent = ''
        let after = ''
        for (const piece of pieces) {
          if (handshake.isConnected) after += piece
          else sent += hex(handshake.receive(piece)) ?? ''
        }
        expect(handshake.isConnected).toBe(true)
        expect(sent).toBe(expected)
        expect(handshake.rest + after).toBe(rest)
      }
    }
  })
})

describe('a refusal', () => {
  it.each([
    [1, 'general failure of the SOCKS server'],
    [2, 'connection not allowed by ruleset'],
    [3, 'network unreachable'],
    [4, 'host unreachable'],
    [5, 'connection refused'],
    [6, 'TTL expired'],
    [7, 'command not supported'],
    [8, 'address type not supported'],
    [9, 'code 9'],
    [255, 'code 255'],
  ])('with the reply %i is an error of its own', (reply, text) => {
    for (const pieces of toCuts(Buffer.of(5, reply, 0, 1, 0, 0, 0, 0, 0, 0))) {
      const handshake = new SocksHandshake(TARGET, null)
      handshake.receive(Buffer.of(5, 0))
      const error = toThrown(() => pieces.map((piece) => handshake.receive(piece)))
      expect(error).toBeInstanceOf(Socks5ProxyError)
      expect(error.message).toBe(`The SOCKS5 proxy replied: ${text}`)
      expect(error).toMatchObject({ code: `UND_ERR_SOCKS5_REPLY_${reply}` })
    }
  })

  it.each([
    ['another version', null, '0400', 'VERSION'],
    ['HTTP', null, Buffer.from('HTTP/1.1 400').toString('hex'), 'VERSION'],
    ['none of the methods', null, '05ff', 'AUTH_REJECTED'],
    ['none of the methods', CREDENTIALS, '05ff', 'AUTH_REJECTED'],
    ['a method that was not offered', null, '0502', 'AUTH_METHOD'],
    ['GSSAPI', CREDENTIALS, '0501', 'AUTH_METHOD'],
    ['wrong credentials', CREDENTIALS, '0502 0101', 'AUTH_FAILED'],
    ['another version of the authentication', CREDENTIALS, '0502 0500', 'AUTH_VERSION'],
    ['another version of the reply', null, '0500 0400', 'REPLY_VERSION'],
    ['an address of an unknown type', null, '0500 05000002 00000000 0000', 'ADDR_TYPE'],
  ])('with %s', (_name, credentials, sent, code) => {
    for (const pieces of toCuts(fromHex(sent))) {
      const handshake = new SocksHandshake(TARGET, credentials)
      const error = toThrown(() => pieces.map((piece) => handshake.receive(piece)))
      expect(error).toBeInstanceOf(Socks5ProxyError)
      expect(error).toMatchObject({ code: `UND_ERR_SOCKS5_${code}` })
      expect(inspect(error)).not.toContain('secret')
    }
  })

  it('of credentials that have no room', () => {
    const handshake = new SocksHandshake(TARGET, { username: 'x'.repeat(256), password: '' })
    expect(toThrown(() => handshake.receive(Buffer.of(5, 2)))).toBeInstanceOf(InvalidArgumentError)
  })
})

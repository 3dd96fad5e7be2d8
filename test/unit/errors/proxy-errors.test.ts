import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import {
  ProxyConnectionError,
  SecureProxyConnectionError,
  Socks5ProxyError,
  toProxyRefusal,
} from '../../../src/errors/proxy-errors.ts'
import { errors } from '../../../src/index.ts'

const RESPONSE = { statusCode: 407, headers: { 'proxy-authenticate': 'Basic' }, body: Buffer.from('no') }

describe('a refusal', () => {
  it("has the proxy's response", () => {
    const error = toProxyRefusal('refused', RESPONSE)
    expect(error).toBeInstanceOf(ProxyConnectionError)
    expect(error).toBeInstanceOf(errors.DodiciError)
    expect(error).toMatchObject({ ...RESPONSE, message: 'refused', code: 'UND_ERR_PRX_CONN' })
    expect(error.cause).toBe(undefined)
  })
})

describe.each([
  ['ProxyConnectionError', ProxyConnectionError, 'UND_ERR_PRX_CONN'],
  ['SecureProxyConnectionError', SecureProxyConnectionError, 'UND_ERR_PRX_TLS'],
] as const)('%s', (name, ProxyError, code) => {
  it("has the constructor of undici's", () => {
    const cause = new Error('why')
    const error = new ProxyError(cause, 'it failed')
    expect(error).toMatchObject({ name, code, message: 'it failed', cause })
    expect(errors[name]).toBe(ProxyError)
    expect(new ProxyError()).toMatchObject({ name, code })
  })
})

describe('ProxyConnectionError without a response', () => {
  it('has null for each part', () => {
    expect(new ProxyConnectionError()).toMatchObject({ statusCode: null, headers: null, body: null })
  })
})

describe('Socks5ProxyError', () => {
  it('has the code that it is given', () => {
    expect(new Socks5ProxyError('no', 'UND_ERR_SOCKS5_REPLY_5')).toMatchObject({
      name: 'Socks5ProxyError',
      message: 'no',
      code: 'UND_ERR_SOCKS5_REPLY_5',
    })
    expect(new Socks5ProxyError()).toMatchObject({ code: 'UND_ERR_SOCKS5' })
  })

  it.each([
    [new Socks5ProxyError('a', 'UND_ERR_SOCKS5_REPLY_1'), true],
    [new ProxyConnectionError(), false],
    [Object.assign(new Error('of undici'), { name: 'Socks5ProxyError' }), true],
    [null, false],
    ['Socks5ProxyError', false],
  ])('%o is one: %s', (value, expected) => {
    expect(value instanceof Socks5ProxyError).toBe(expected)
  })

  it('shows its code', () => {
    expect(inspect(new Socks5ProxyError('a', 'UND_ERR_SOCKS5_REPLY_1'))).toContain('UND_ERR_SOCKS5_REPLY_1')
  })
})

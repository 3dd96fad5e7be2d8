import { inspect } from 'node:util'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { InvalidArgumentError, InvalidReturnValueError } from '../../../src/errors/errors.ts'
import { EnvHttpProxyAgent, ProxyAgent, Socks5ProxyAgent } from '../../../src/index.ts'
import type { ResolvedProxyOptions } from '../../../src/proxy/proxy-options.ts'
import {
  toProxyHeaders,
  toProxyOptions,
  toProxyTarget,
  withoutCredentials,
} from '../../../src/proxy/proxy-options.ts'
import type { ProxyAgentOptions, RequestHeaders } from '../../../types/index.ts'
import { toThrown } from '../thrown.ts'

const URI = 'http://proxy.test:3128'

const resolve = (options: object): ResolvedProxyOptions =>
  toProxyOptions({ uri: URI, ...options } as ProxyAgentOptions)

describe("a proxy's URL", () => {
  it.each([
    ['http://proxy.test', 'http:', 'proxy.test', 80, 'http://proxy.test'],
    ['http://proxy.test:3128/', 'http:', 'proxy.test', 3128, URI],
    ['HTTPS://Proxy.Test', 'https:', 'proxy.test', 443, 'https://proxy.test'],
    ['https://[::1]:8443/path?query#hash', 'https:', '::1', 8443, 'https://[::1]:8443'],
    ['proxy.test:3128', 'http:', 'proxy.test', 3128, URI],
    ['user:secret@proxy.test:3128', 'http:', 'proxy.test', 3128, URI],
    ['socks5://proxy.test', 'socks5:', 'proxy.test', 1080, 'socks5://proxy.test:1080'],
    ['socks://proxy.test:1', 'socks5:', 'proxy.test', 1, 'socks5://proxy.test:1'],
    ['socks5h://[::1]', 'socks5:', '::1', 1080, 'socks5://[::1]:1080'],
  ])('%s', (uri, protocol, hostname, port, href) => {
    expect(toProxyTarget('uri', uri).target).toEqual({ protocol, hostname, port, href })
  })

  it('may be an object', () => {
    expect(toProxyTarget('uri', new URL(URI)).target.href).toBe(URI)
  })

  it('has credentials in percent-encoding', () => {
    const { credentials } = toProxyTarget('uri', 'http://me%40home:a%3Ab%2F@proxy.test')
    expect(credentials).toEqual({ username: 'me@home', password: 'a:b/' })
  })

  it.each([
    ['', 'got ""'],
    [undefined, 'got undefined'],
    [null, 'got null'],
    [3128, 'got 3128'],
    [{}, 'got an object (Object)'],
    ['ftp://proxy.test', 'got "ftp://proxy.test'],
    ['socks4://proxy.test', 'got "socks4://proxy.test'],
    ['http://', 'got "http://"'],
    ['http://proxy.test:99999', 'got "http://proxy.test:99999"'],
    ['http://me:secret@proxy.test:99999', 'got "…@proxy.test:99999"'],
    ['http://me:se/cret@proxy.test:1', 'got "…@proxy.test:1"'],
    ['http://me:se?cret@proxy.test:1', 'got "…"'],
    ['http://me:se#cret@proxy.test:1', 'got "…"'],
    ['ftp://me:secret@proxy.test', 'got "…@proxy.test'],
    ['http://me%zz:secret@proxy.test', 'got a URL (not shown)'],
  ])('%j is refused, and the error shows no credentials', (uri, shown) => {
    const error = toThrown(() => toProxyTarget('uri', uri))
    expect(error).toBeInstanceOf(InvalidArgumentError)
    expect(error.message).toMatch(/^Invalid uri: got .*, expected /)
    expect(error.message).toContain(shown)
    expect(inspect(error)).not.toMatch(/secret|cret@/)
  })
})

describe('credentials', () => {
  it.each([
    [{}, null],
    [{ token: 'Bearer abc' }, 'Bearer abc'],
    [{ auth: 'bWU6eA==' }, 'Basic bWU6eA=='],
    [{ uri: 'http://me:x@proxy.test' }, 'Basic bWU6eA=='],
    [{ uri: 'http://me@proxy.test' }, `Basic ${btoa('me:')}`],
    [{ uri: 'http://me:%C3%A4@proxy.test' }, `Basic ${Buffer.from('me:ä').toString('base64')}`],
    [{ uri: 'http://me:x@proxy.test', token: 'Bearer abc' }, 'Bearer abc'],
    [{ uri: 'http://me:x@proxy.test', auth: 'abc=' }, 'Basic abc='],
    [{ token: '', auth: null }, null],
  ])('of %j', (options, authorization) => {
    expect(resolve(options).authorization).toBe(authorization)
  })

  it.each([
    ['token', 5, 'got 5, expected a string'],
    ['token', Buffer.from('secret'), 'got an object (Buffer), expected a string'],
    ['token', 'Bearer secret\n', 'got a string (not shown), expected a value without line breaks'],
    ['auth', 'secret\r\nx: y', 'got a string (not shown), expected a value without line breaks'],
    ['auth', ['secret'], 'got an array, expected a string'],
    ['username', 5, 'got 5, expected a string'],
    ['password', {}, 'got an object (Object), expected a string'],
  ])('%s: %j is refused', (name, value, text) => {
    const error = toThrown(() => resolve({ [name]: value }))
    expect(error).toBeInstanceOf(InvalidArgumentError)
    expect(error.message).toContain(`Invalid ${name}: ${text}`)
    expect(inspect(error)).not.toContain('secret')
  })

  it('token and auth exclude each other', () => {
    const error = toThrown(() => resolve({ token: 'Bearer secret', auth: 'secret' }))
    expect(error.message).toBe('Invalid auth: expected auth or token, not both')
  })

  it.each([
    [{}, null],
    [{ uri: 'socks5://me:x@proxy.test' }, { username: 'me', password: 'x' }],
    [
      { uri: 'socks5://me:x@proxy.test', password: 'y' },
      { username: 'me', password: 'y' },
    ],
    [
      { uri: 'socks5://me:x@proxy.test', username: 'you' },
      { username: 'you', password: 'x' },
    ],
    [
      { uri: 'socks5://proxy.test', username: 'me' },
      { username: 'me', password: '' },
    ],
    [
      { uri: 'socks5://proxy.test', username: 'é'.repeat(127), password: 'p'.repeat(255) },
      { username: 'é'.repeat(127), password: 'p'.repeat(255) },
    ],
  ])('of SOCKS5: %j', (options, credentials) => {
    expect(resolve(options).credentials).toEqual(credentials)
  })

  it.each([
    [{ uri: 'socks5://:secret@proxy.test' }, 'Invalid username: got 0 bytes'],
    [{ uri: 'socks5://proxy.test', password: 'secret' }, 'Invalid username: got 0 bytes'],
    [{ uri: 'socks5://proxy.test', username: 'é'.repeat(128) }, 'Invalid username: got 256 bytes'],
    [
      { uri: 'socks5://proxy.test', username: 'me', password: 'secret'.repeat(50) },
      'Invalid password: got 300 bytes',
    ],
  ])('that SOCKS5 has no room for: %j', (options, text) => {
    const error = toThrown(() => resolve(options))
    expect(error).toBeInstanceOf(InvalidArgumentError)
    expect(error.message).toContain(text)
    expect(inspect(error)).not.toContain('secret')
  })
})

describe('options', () => {
  it.each([
    ['headers', 'x: y', 'Invalid headers: got a string'],
    ['headers', ['x'], 'Invalid headers: got an array, expected a flat array with a value for each name'],
    ['headers', { 'x y': '1' }, 'Invalid header name'],
    ['headers', { 'x-a': 'a\nb' }, 'Invalid header "x-a"'],
    ['proxyTls', 'x', 'Invalid proxyTls: got a string, expected TLS and socket options'],
    ['proxyTls', () => {}, 'Invalid proxyTls: got a function, expected TLS and socket options'],
    ['requestTls', [], 'Invalid requestTls: got an array, expected TLS and socket options'],
    ['connect', () => {}, 'Invalid connect: got a function, expected TLS and socket options'],
    ['proxyTunnel', 'yes', 'Invalid proxyTunnel: got "yes", expected true or false'],
    ['clientFactory', {}, 'Invalid clientFactory: got an object (Object), expected a function'],
    ['socketPath', '/tmp/x', 'Invalid socketPath: got "/tmp/x", expected none'],
  ])('%s: %j is refused', (name, value, text) => {
    const error = toThrown(() => resolve({ [name]: value }))
    expect(error).toBeInstanceOf(InvalidArgumentError)
    expect(error.message).toContain(text)
  })

  it('that are null count as missing', () => {
    const names = ['token', 'auth', 'headers', 'proxyTls', 'requestTls', 'proxyTunnel', 'clientFactory']
    const nulls = Object.fromEntries(
      [...names, 'username', 'password', 'connect'].map((name) => [name, null]),
    )
    expect(resolve(nulls)).toEqual(resolve({}))
  })

  it('for sockets go to the proxy, and for TLS to the origin', () => {
    const { proxyTls, requestTls } = resolve({ connect: { ca: 'a', keepAlive: false, family: 4 } })
    expect(proxyTls).toEqual({ keepAlive: false, family: 4 })
    expect(requestTls).toMatchObject({ ca: 'a' })
  })

  it('of the top level for sockets go to the proxy; those of connect and proxyTls win', () => {
    const top = { localAddress: '127.0.0.2', autoSelectFamily: false, autoSelectFamilyAttemptTimeout: 10 }
    expect(resolve(top).proxyTls).toEqual(top)
    expect(resolve({ ...top, connect: { localAddress: '127.0.0.3' } }).proxyTls).toMatchObject({
      localAddress: '127.0.0.3',
    })
    expect(resolve({ ...top, proxyTls: { localAddress: '127.0.0.4' } }).proxyTls).toMatchObject({
      localAddress: '127.0.0.4',
    })
  })

  it('requestTls replaces connect for TLS with the origin', () => {
    expect(resolve({ connect: { ca: 'a' }, requestTls: { ca: 'b' } }).requestTls).toEqual({ ca: 'b' })
  })

  it('of the Agent are passed on, without those of the proxy', () => {
    const { agent } = resolve({ token: 'x', username: 'y', engine: 'wire', connect: {}, maxOrigins: 5 })
    expect(agent).toEqual({ engine: 'wire', maxOrigins: 5 })
  })
})

describe('header fields for the proxy', () => {
  it('are empty without options', () => {
    expect(toProxyHeaders(resolve({}))).toEqual([])
  })

  it.each<[string, () => unknown]>([
    ['an object', () => ({ 'X-A': ['1', '2'] })],
    ['a flat array', () => ['X-A', '1', 'x-a', '2']],
    [
      'pairs',
      () => [
        ['X-A', '1'],
        ['x-a', '2'],
      ],
    ],
    [
      'an iterator, which can be read once',
      () =>
        [
          ['X-A', '1'],
          ['x-a', '2'],
        ].values(),
    ],
    ['a function', () => () => ({ 'x-a': ['1', '2'] })],
  ])('by %s, each time', (_name, toHeaders) => {
    const options = resolve({ headers: toHeaders(), token: 'secret' })
    const expected = ['x-a', '1', 'x-a', '2', 'proxy-authorization', 'secret']
    expect(toProxyHeaders(options)).toEqual(expected)
    expect(toProxyHeaders(options)).toEqual(expected)
  })

  it('of a function are made anew', () => {
    let calls = 0
    const options = resolve({ headers: () => ({ 'x-count': ++calls }) })
    expect(calls).toBe(0)
    expect(toProxyHeaders(options)).toEqual(['x-count', '1'])
    expect(toProxyHeaders(options)).toEqual(['x-count', '2'])
  })

  it('a later change by the caller has no effect', () => {
    const headers = ['x-a', '1']
    const options = resolve({ headers })
    headers[1] = '2'
    expect(toProxyHeaders(options)).toEqual(['x-a', '1'])
  })

  it("the token wins over the caller's credentials, in any case", () => {
    const headers = { 'Proxy-Authorization': 'a' }
    expect(toProxyHeaders(resolve({ headers }))).toEqual(['proxy-authorization', 'a'])
    expect(toProxyHeaders(resolve({ headers, token: 'b' }))).toEqual(['proxy-authorization', 'b'])
  })

  it("have no host: it is the target's", () => {
    expect(toProxyHeaders(resolve({ headers: { Host: 'other.test', 'x-a': '1' } }))).toEqual(['x-a', '1'])
  })

  it('of a function that returns something else', () => {
    const of = (made: unknown): Error => toThrown(() => toProxyHeaders(resolve({ headers: () => made })))
    expect(of(Promise.resolve({ 'x-a': '1' }))).toBeInstanceOf(InvalidReturnValueError)
    expect(of('Bearer secret')).toBeInstanceOf(InvalidArgumentError)
    expect(of('Bearer secret').message).not.toContain('secret')
    expect(of({ 'proxy-authorization': 'secret\n' }).message).not.toContain('secret')
    expect(toProxyHeaders(resolve({ headers: () => undefined }))).toEqual([])
  })
})

describe('proxy-authorization among the headers of a request', () => {
  const pair = (name: string): [string, string] => [name, 'secret']
  const FORMS: Record<string, (name: string) => unknown> = {
    'an object': (name) => ({ 'x-a': '1', [name]: 'secret' }),
    'an object with a list': (name) => ({ [name]: ['secret'] }),
    'a flat array': (name) => ['x-a', '1', ...pair(name)],
    pairs: (name) => [['x-a', '1'], pair(name)],
    'a Map': (name) => new Map([pair(name)]),
    'a Headers': (name) => new Headers([pair(name)]),
    'an iterator': (name) => [pair(name)].values(),
    'a generator': function* (name) {
      yield ['x-a', '1']
      yield pair(name)
    },
  }
  describe.each(Object.entries(FORMS))('in %s', (_form, toHeaders) => {
    it.each(['proxy-authorization', 'Proxy-Authorization', 'PROXY-AUTHORIZATION'])('as %s', (name) => {
      const error = toThrown(() => withoutCredentials(toHeaders(name) as RequestHeaders))
      expect(error).toBeInstanceOf(InvalidArgumentError)
      expect(error.message).toContain("Invalid header 'proxy-authorization'")
      expect(inspect(error)).not.toContain('secret')
    })

    it('and other names pass', () => {
      expect(withoutCredentials(toHeaders('proxy-authenticate') as RequestHeaders)).toBeDefined()
    })
  })

  it('an iterator is returned as a list: it is read once', () => {
    expect(withoutCredentials([['a', 'b']].values() as never)).toEqual([['a', 'b']])
    expect(withoutCredentials(null)).toBe(null)
    expect(withoutCredentials(undefined)).toBe(undefined)
  })
})

describe('an unknown option', () => {
  const heard: string[] = []

  beforeEach(() => {
    heard.length = 0
    vi.spyOn(process, 'emitWarning').mockImplementation((warning, options) => {
      if (Reflect.get(Object(options), 'code') === 'DODICI_UNKNOWN_OPTION') heard.push(String(warning))
    })
  })

  afterEach(() => {
    vi.restoreAllMocks()
  })

  it.each<[string, (options: object) => ProxyAgent | EnvHttpProxyAgent]>([
    ['ProxyAgent', (options) => new ProxyAgent({ uri: URI, ...options })],
    ['Socks5ProxyAgent', (options) => new Socks5ProxyAgent('socks5://localhost', options)],
    ['EnvHttpProxyAgent', (options) => new EnvHttpProxyAgent({ httpProxy: URI, ...options })],
  ])('of a %s is warned of once, with the nearest name', (name, make) => {
    // A name is judged once in the life of the process.
    const typo = `proxyTunel${name.charAt(0)}`
    void make({ [typo]: true, [`colour${name}`]: 'red', keepAliveTimeout: 1 }).destroy()
    void make({ [typo]: true }).destroy()
    expect(heard).toEqual([
      `Unknown proxy agent option: "${typo}" has no effect. Did you mean "proxyTunnel"?`,
      `Unknown proxy agent option: "colour${name}" has no effect`,
    ])
  })

  it('within proxyTls and requestTls is warned of', () => {
    resolve({ proxyTls: { servernam: 'a' }, requestTls: { rejectUnauthorised: false } })
    expect(heard.toSorted()).toEqual([
      'Unknown connect option: "rejectUnauthorised" has no effect. Did you mean "rejectUnauthorized"?',
      'Unknown connect option: "servernam" has no effect. Did you mean "servername"?',
    ])
  })

  it('is not warned of when it is known, or one of undici', () => {
    const all = {
      auth: 'x',
      clientFactory: null,
      headers: {},
      proxyTls: {},
      proxyTunnel: true,
      requestTls: {},
    }
    void new ProxyAgent({ uri: URI, ...all, ...{ allowH2: true, pipelining: 1, useH2c: false } }).destroy()
    void new EnvHttpProxyAgent({ httpProxy: URI, httpsProxy: URI, noProxy: 'a.test', token: 'x' }).destroy()
    void new Socks5ProxyAgent('socks5://localhost', { username: 'a', password: 'b' }).destroy()
    expect(heard).toEqual([])
  })
})

describe('the constructors', () => {
  it.each<[string, () => unknown, string]>([
    ['ProxyAgent', () => new ProxyAgent(5 as never), 'Invalid options: got 5'],
    ['ProxyAgent', () => new ProxyAgent({} as never), 'Invalid uri: got undefined'],
    [
      'Socks5ProxyAgent',
      () => new Socks5ProxyAgent('http://me:secret@a.test'),
      'Invalid proxyUrl: got "http://a.test"',
    ],
    ['EnvHttpProxyAgent', () => new EnvHttpProxyAgent(null as never), 'Invalid options: got null'],
    [
      'EnvHttpProxyAgent',
      () => new EnvHttpProxyAgent({ httpProxy: 'ftp://secret@a' }),
      'Invalid httpProxy: got "…@a',
    ],
    [
      'EnvHttpProxyAgent',
      () => new EnvHttpProxyAgent({ httpsProxy: 'ftp://a' }),
      'Invalid httpsProxy: got "ftp://a',
    ],
    [
      'EnvHttpProxyAgent',
      () => new EnvHttpProxyAgent({ noProxy: ['a'] as never }),
      'Invalid noProxy: got an array',
    ],
    [
      'EnvHttpProxyAgent',
      () => new EnvHttpProxyAgent({ proxyTunnel: 1 as never, httpProxy: URI }),
      'Invalid proxyTunnel: got 1',
    ],
  ])('%s names the option that it refuses', (_name, make, text) => {
    const error = toThrown(make)
    expect(error).toBeInstanceOf(InvalidArgumentError)
    expect(error.message).toContain(text)
    expect(inspect(error)).not.toContain('secret')
  })
})

import { describe, expect, it } from 'vitest'
import { invalid, show, toBoolean, toDelay, toInteger } from '../../../src/core/validate.ts'
import { InvalidArgumentError } from '../../../src/errors/errors.ts'
import type { LimitRow } from '../../../src/options/limits.ts'
import { CALL_LIMITS, SESSION_LIMITS } from '../../../src/options/limits.ts'
import type { ResolvedClientOptions } from '../../../src/options/options.ts'
import { toClientOptions, toOrigin } from '../../../src/options/options.ts'
import { DEFAULT_RECEIVE_LIMITS } from '../../../src/options/receive-limits.ts'
import type { ClientOptions } from '../../../types/client.ts'
import { toRefusal as toInvalid } from '../thrown.ts'

/** toClientOptions() as JavaScript calls it: with anything at all. */
function resolve(options: unknown): ResolvedClientOptions {
  return Reflect.apply(toClientOptions, undefined, [options])
}

function toDefaults(table: Readonly<Record<string, LimitRow>>): Record<string, number> {
  return Object.fromEntries(Object.entries(table).map(([name, row]) => [name, row.default]))
}

/** What toOrigin() says of a value that it refuses. */
const toRefusal = (value: unknown): string => toInvalid(() => toOrigin(value))

// What the figures are, test/unit/options/limits-table.test.ts holds the table to.
const limits: object = { ...toDefaults(CALL_LIMITS), connectTimeout: null, isQueueTimeoutGiven: false }

const session = {
  ...toDefaults(SESSION_LIMITS),
  isWindowGiven: false,
  isConnectionWindowGiven: false,
  firstConnectionWindow: 4_194_319,
  isPingIntervalGiven: false,
  waitForSettings: false,
  settings: { enablePush: false, maxHeaderListSize: 1_048_576 },
}

const defaults = {
  engine: 'node',
  isEngineGiven: false,
  connect: {},
  socketPath: null,
  localAddress: null,
  connectTimeout: 10_000,
  fallback: undefined,
  limits,
  session,
  strictContentLength: true,
  replaySafe: true,
  enforceMaxHeaderListSize: true,
  captureStack: false,
  receiveLimits: DEFAULT_RECEIVE_LIMITS,
  http1: {
    ...{ keepAliveTimeout: 4_000, keepAliveMaxTimeout: 600_000, keepAliveTimeoutThreshold: 2_000 },
    ...{ clientTtl: 0, maxRequestsPerClient: 0, pipelining: 1 },
  },
  ageOption: 'maxSessionAge',
}

/** The defaults, with what was given in its place: a limit among the limits, but for the connection attempts' own. */
function toExpected(given: object): object {
  const entries = Object.entries(given)
  const isLimit = ([name]: [string, unknown]) => name in limits && name !== 'connectTimeout'
  const isOfSession = ([name]: [string, unknown]) => name in session
  const isOfHttp1 = ([name]: [string, unknown]) => name in defaults.http1
  const isOther = (entry: [string, unknown]) => !isLimit(entry) && !isOfSession(entry) && !isOfHttp1(entry)
  // undici takes no 0 for a time that has no end.
  // A session's age is that of a connection of HTTP/1.1, too, and the other way round.
  const { maxSessionAge, clientTtl = maxSessionAge, maxSessionRequests }: ClientOptions = given
  const toEndless = ([name, value]: [string, unknown]): [string, unknown] =>
    value === 0 && /^keepAlive(Max)?Timeout$/.test(name) ? [name, 2_147_483_647] : [name, value]
  return {
    ...defaults,
    ...Object.fromEntries(entries.filter(isOther)),
    http1: {
      ...defaults.http1,
      ...(clientTtl !== undefined && { clientTtl }),
      ...(maxSessionRequests !== undefined && { maxRequestsPerClient: maxSessionRequests }),
      ...Object.fromEntries(entries.filter(isOfHttp1).map(toEndless)),
    },
    ageOption: 'clientTtl' in given ? 'clientTtl' : 'maxSessionAge',
    limits: {
      ...limits,
      isQueueTimeoutGiven: 'queueTimeout' in given,
      ...Object.fromEntries(entries.filter(isLimit)),
    },
    session: {
      ...session,
      ...(clientTtl !== undefined && { maxSessionAge: clientTtl }),
      ...Object.fromEntries(entries.filter(isOfSession)),
      ...('connectionWindowSize' in given && { firstConnectionWindow: Number(given.connectionWindowSize) }),
      isWindowGiven: 'initialWindowSize' in given,
      isConnectionWindowGiven: 'connectionWindowSize' in given,
      isPingIntervalGiven: 'pingInterval' in given,
    },
  }
}

describe('toClientOptions', () => {
  describe('when nothing is given', () => {
    it.each([undefined, null, {}])('gives the defaults: %j', (options) => {
      expect(resolve(options)).toEqual(defaults)
    })

    it('gives them frozen', () => {
      const options = toClientOptions(undefined)
      expect(Object.isFrozen(options)).toBe(true)
    })
  })

  describe('when an option is null or undefined', () => {
    it.each(
      Object.keys({ ...defaults, ...limits, ...session }).flatMap((name) => [
        [name, null],
        [name, undefined],
      ]),
    )('means the default: %s: %s', (name, value) => {
      const expected: Record<string, object> = {
        fallback: { ...defaults, fallback: null },
        resetBurst: { ...defaults, session: { ...session, resetBurst: Number.POSITIVE_INFINITY } },
      }
      const isNone = value === null && Object.hasOwn(expected, name)
      expect(resolve({ [`${name}`]: value })).toEqual(isNone ? expected[name] : defaults)
    })
  })

  describe('when a fallback is given', () => {
    it('keeps it as it is', () => {
      const fallback = { dispatch: () => true }
      expect(resolve({ fallback }).fallback).toBe(fallback)
    })

    it.each([1, 'undici', true, {}, () => true, { dispatch: 1 }])('refuses what is none: %j', (fallback) => {
      expect(() => resolve({ fallback })).toThrow(
        /^Invalid fallback: got .+, expected an object with a dispatch/,
      )
    })
  })

  describe('when options are given', () => {
    it('keeps them, and completes the others', () => {
      const given: ClientOptions = { bodyTimeout: 5, strictContentLength: false, socketPath: '/run/h2.sock' }
      expect(toClientOptions(given)).toEqual(toExpected(given))
    })

    it('is not touched by what becomes of them later', () => {
      const connect = { servername: 'a.example' }
      const given: ClientOptions = { bodyTimeout: 5, connect }
      const options = toClientOptions(given)
      given.bodyTimeout = 6
      connect.servername = 'b.example'
      expect(options).toEqual(toExpected({ bodyTimeout: 5, connect: { servername: 'a.example' } }))
      expect(Object.isFrozen(options.connect)).toBe(true)
      expect(Object.isFrozen(connect)).toBe(false)
    })

    it('leaves out what it does not know', () => {
      expect(resolve({ preferH2: true, allowH2: true, limits: { bodyTimeout: 5 } })).toEqual(defaults)
    })

    it.each([
      [1],
      ['https://example.com'],
      [true],
      [[]],
      [() => {}],
    ])('refuses what is no object: %s', (options) => {
      expect(() => resolve(options)).toThrow(/^Invalid options: got .+, expected an object$/)
    })
  })

  const delays = [
    ...['connectTimeout', 'queueTimeout', 'headersTimeout', 'bodyTimeout', 'uploadTimeout'],
    ...['requestTimeout', 'keepAliveTimeout', 'pingInterval', 'pingTimeout'],
    ...[
      'keepAliveMaxTimeout',
      'keepAliveTimeoutThreshold',
      'clientTtl',
      'maxSessionAge',
      'sessionGracePeriod',
    ],
  ]
  describe.each(delays)('when %s is given', (name) => {
    it.each([0, 1, 0.5, 2_147_483_647])('accepts %d', (value) => {
      expect(resolve({ [name]: value })).toEqual(toExpected({ [name]: value }))
    })

    it.each([
      [-1, '-1'],
      [-0.001, '-0.001'],
      [2_147_483_648, '2147483648'],
      [Number.POSITIVE_INFINITY, 'Infinity'],
      [Number.NaN, 'NaN'],
      ['100', '"100"'],
      [100n, '100'],
      [true, 'true'],
      [[100], 'an array'],
      [{}, 'an object (Object)'],
    ])('refuses %s', (value, got) => {
      expect(() => resolve({ [name]: value })).toThrow(InvalidArgumentError)
      expect(() => resolve({ [name]: value })).toThrow(
        `Invalid ${name}: got ${got}, expected milliseconds from 0 (never) to 2147483647`,
      )
    })
  })

  it('takes clientTtl for connections of HTTP/1.1, and maxSessionAge for those of HTTP/2, where both are given', () => {
    const { http1, session, ageOption } = toClientOptions({ clientTtl: 1_000, maxSessionAge: 2_000 })
    expect([http1.clientTtl, session.maxSessionAge, ageOption]).toEqual([1_000, 2_000, 'clientTtl'])
    const none = toClientOptions({ clientTtl: 1_000, maxSessionAge: 0 })
    expect([none.http1.clientTtl, none.session.maxSessionAge]).toEqual([1_000, 0])
  })

  it('takes maxRequestsPerClient for connections of HTTP/1.1 alone', () => {
    const { http1, session } = toClientOptions({ maxRequestsPerClient: 7 })
    expect([http1.maxRequestsPerClient, session.maxSessionRequests]).toEqual([7, 0])
    const both = toClientOptions({ maxRequestsPerClient: 7, maxSessionRequests: 9 })
    expect([both.http1.maxRequestsPerClient, both.session.maxSessionRequests]).toEqual([7, 9])
  })

  const integers = [
    { name: 'initialWindowSize', unit: 'bytes', min: 1, max: 2_147_483_647 },
    { name: 'connectionWindowSize', unit: 'bytes', min: 65_535, max: 2_147_483_647 },
    { name: 'maxSessionBuffer', unit: 'bytes', min: 65_535, max: Number.MAX_SAFE_INTEGER },
    { name: 'maxConcurrentStreams', unit: 'streams', min: 1, max: 4_294_967_295 },
    { name: 'maxRequestsPerClient', unit: 'requests (0 for no limit)', min: 0, max: 4_294_967_295 },
    { name: 'maxSessionRequests', unit: 'requests (0 for no limit)', min: 0, max: 4_294_967_295 },
    { name: 'pipelining', unit: 'requests', min: 0, max: 4_294_967_295 },
    { name: 'maxHeaderSize', unit: 'bytes', min: 1, max: 1_048_576 },
    { name: 'maxHeadersCount', unit: 'fields', min: 1, max: 32_768 },
    { name: 'maxResponseSize', unit: 'bytes (-1 for no limit)', min: -1, max: Number.MAX_SAFE_INTEGER },
    { name: 'maxReplayBuffer', unit: 'bytes', min: 0, max: 2 ** 30 },
  ]
  describe.each(integers)('when $name is given', ({ name, unit, min, max }) => {
    it.each([min, min + 1, max - 1, max])('accepts %i', (value) => {
      expect(resolve({ [name]: value })).toEqual(toExpected({ [name]: value }))
    })

    it.each([
      [min - 1, String(min - 1)],
      [max + 1, String(max + 1)],
      [-max, String(-max)],
      [min + 0.5, String(min + 0.5)],
      [Number.POSITIVE_INFINITY, 'Infinity'],
      [Number.NaN, 'NaN'],
      [String(max), `"${max}"`],
      [true, 'true'],
      [{}, 'an object (Object)'],
    ])('refuses %s', (value, got) => {
      expect(() => resolve({ [name]: value })).toThrow(InvalidArgumentError)
      expect(() => resolve({ [name]: value })).toThrow(
        `Invalid ${name}: got ${got}, expected a whole number of ${unit} from ${min} to ${max}`,
      )
    })
  })

  const booleans = [
    ...['strictContentLength', 'replaySafe', 'enforceMaxHeaderListSize', 'captureStack'],
    'waitForSettings',
  ]
  describe.each(booleans)('when %s is given', (name) => {
    it.each([true, false])('accepts %s', (value) => {
      expect(resolve({ [name]: value })).toEqual(toExpected({ [name]: value }))
    })

    it.each([0, 1, 'false', {}])('refuses %j', (value) => {
      expect(() => resolve({ [name]: value })).toThrow(`Invalid ${name}: got `)
      expect(() => resolve({ [name]: value })).toThrow(', expected true or false')
    })
  })

  describe('when socketPath is given', () => {
    it.each(['', 1, true, {}])('refuses %j', (socketPath) => {
      expect(() => resolve({ socketPath })).toThrow(
        /^Invalid socketPath: got .+, expected a Unix socket path, or null$/,
      )
    })
  })

  describe('when connect is given', () => {
    it('keeps a function as it is', () => {
      const connect = async () => {
        throw new Error('Nothing connects here')
      }
      expect(toClientOptions({ connect }).connect).toBe(connect)
    })

    it.each([1, 'https', true, []])('refuses %j', (connect) => {
      expect(() => resolve({ connect })).toThrow(
        /^Invalid connect: got .+, expected TLS and socket options, or a function that provides a socket$/,
      )
    })
  })

  describe('when engine is given', () => {
    it.each(['node', 'wire'] as const)('accepts %j', (engine) => {
      expect(toClientOptions({ engine })).toEqual({ ...defaults, engine, isEngineGiven: true })
    })

    it.each([
      ['native', '"native"'],
      ['', '""'],
      ['Node', '"Node"'],
      ['wire ', '"wire "'],
      [1, '1'],
      [{}, 'an object (Object)'],
    ])('refuses %j', (engine, got) => {
      expect(() => resolve({ engine })).toThrow(InvalidArgumentError)
      expect(() => resolve({ engine })).toThrow(`Invalid engine: got ${got}, expected one of "node", "wire"`)
    })
  })
})

describe('toOrigin', () => {
  describe('when the origin is good', () => {
    it.each([
      ['https://example.com', 'https://example.com', 'example.com', 443],
      ['https://example.com/', 'https://example.com', 'example.com', 443],
      ['https://example.com:443', 'https://example.com', 'example.com', 443],
      ['https://example.com:8443', 'https://example.com:8443', 'example.com', 8443],
      ['HTTPS://EXAMPLE.com', 'https://example.com', 'example.com', 443],
      ['http://example.com', 'http://example.com', 'example.com', 80],
      ['http://example.com:443', 'http://example.com:443', 'example.com', 443],
      ['http://127.0.0.1:3000', 'http://127.0.0.1:3000', '127.0.0.1', 3000],
      ['https://[::1]', 'https://[::1]', '::1', 443],
      ['http://[2001:db8::A]:8080', 'http://[2001:db8::a]:8080', '2001:db8::a', 8080],
      ['https://bücher.example', 'https://xn--bcher-kva.example', 'xn--bcher-kva.example', 443],
    ])('takes it apart: %s', (value, href, hostname, port) => {
      const [scheme, authority] = href.split('://')
      const expected = { href, scheme, hostname, port, authority }
      expect(toOrigin(value)).toMatchObject(expected)
      expect(toOrigin(new URL(value))).toMatchObject(expected)
    })

    it('gives it frozen', () => {
      expect(Object.isFrozen(toOrigin('https://example.com'))).toBe(true)
    })

    it("keeps a URL of its own, not the caller's", () => {
      const given = new URL('https://example.com')
      const origin = toOrigin(given)
      given.hostname = 'evil.example'
      expect(origin.url.href).toBe('https://example.com/')
    })
  })

  describe('when the origin is bad', () => {
    it.each([
      ['a path', 'https://example.com/a', 'https://example.com/a'],
      ['a query', 'https://example.com/?a=1', 'https://example.com/?…'],
      ['a fragment', 'https://example.com/#a', 'https://example.com/#…'],
      ['ftp:', 'ftp://example.com', 'ftp://example.com/'],
      ['ws:', 'ws://example.com', 'ws://example.com/'],
      ['file:', 'file:///etc/passwd', 'file:///etc/passwd'],
      ['garbage', 'not a url', 'not a url'],
      ['no scheme', '//example.com', '//example.com'],
      ['an empty string', '', ''],
      ['a port out of range', 'https://example.com:65536', 'https://example.com:65536'],
    ])('names it, and what is accepted: %s', (_kind, value, got) => {
      expect(toRefusal(value)).toBe(
        `Invalid origin: got ${JSON.stringify(got)}, expected an http: or https: URL without path, query, fragment or credentials`,
      )
    })

    it.each([
      [undefined],
      [null],
      [1],
      [true],
      [{}],
      [['https://example.com']],
      [{ href: 'https://example.com' }],
    ])('refuses what is no string and no URL: %j', (value) => {
      expect(toRefusal(value)).toMatch(/^Invalid origin: got .+, expected an http: or https: URL/)
    })
  })

  describe('when the origin has credentials', () => {
    it.each([
      ['both', 'https://user:s3cret@example.com'],
      ['a password alone', 'https://:s3cret@example.com'],
      ['a user name alone', 'https://s3cret@example.com'],
      ['with a path', 'https://user:s3cret@example.com/a'],
      ['with another scheme', 'ftp://user:s3cret@example.com'],
      ['with a scheme of no origin', 'redis://user:s3cret@example.com'],
      ['in what is no URL', 'https://user:s3cret@example.com:65536'],
    ])('refuses it without echoing them: %s', (_kind, value) => {
      const message = toRefusal(value)
      expect(message).toMatch(/^Invalid origin: /)
      expect(message).not.toContain('s3cret')
    })
  })
})

describe('the checks of single options', () => {
  it.each([undefined, null])('mean the fallback: %s', (value) => {
    expect(toInteger('size', value, 7, 1, 9, 'bytes')).toBe(7)
    expect(toDelay('delay', value, 7)).toBe(7)
    expect(toBoolean('flag', value, true)).toBe(true)
    expect(toBoolean('flag', value, false)).toBe(false)
  })
})

describe('invalid', () => {
  it('makes an InvalidArgumentError of what it is called, what came, and what is accepted', () => {
    const error = invalid('size', 'big', 'a number')
    expect(error).toBeInstanceOf(InvalidArgumentError)
    expect(error.message).toBe('Invalid size: got "big", expected a number')
  })
})

describe('show', () => {
  it.each([
    ['abc', '"abc"'],
    ['a"b\r\n', '"a\\"b\\r\\n"'],
    ['x'.repeat(80), `"${'x'.repeat(80)}"`],
    ['x'.repeat(81), `"${'x'.repeat(80)}…"`],
    [1, '1'],
    [-0, '0'],
    [10n, '10'],
    [null, 'null'],
    [undefined, 'undefined'],
    [true, 'true'],
    [Symbol('s'), 'Symbol(s)'],
    [() => 'long body', 'a function'],
    [class Secret {}, 'a function'],
    [[1, 2, 3], 'an array'],
    [{ password: 's3cret' }, 'an object (Object)'],
    [new Map(), 'an object (Map)'],
    [Object.create(null), 'an object (no prototype)'],
  ])('is short: %o', (value, text) => {
    expect(show(value)).toBe(text)
  })

  describe('when an object would not be asked', () => {
    it.each([
      [
        'a getter that throws',
        {
          get constructor() {
            throw new Error('no')
          },
        },
      ],
      ['a name that is no string', { constructor: { name: Symbol('s') } }],
      [
        'a proxy that throws',
        new Proxy(
          {},
          {
            get() {
              throw new Error('no')
            },
          },
        ),
      ],
    ])('does not throw: %s', (_kind, value) => {
      expect(show(value)).toMatch(/^an object/)
    })
  })
})

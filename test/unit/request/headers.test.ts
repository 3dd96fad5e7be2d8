import { Headers as UndiciHeaders } from 'undici'
import { describe, expect, it } from 'vitest'
import type { HeaderTarget } from '../../../src/request/headers.ts'
import {
  addHeaders,
  MAX_REQUEST_FIELD_SIZE,
  MAX_REQUEST_HEADER_SIZE,
  toRawHeaders,
} from '../../../src/request/headers.ts'
import { toFields } from '../../support/clients/fields.ts'
import { toRefusal as toInvalid } from '../thrown.ts'

/** addHeaders() as JavaScript calls it: with anything at all. */
function add(headers: unknown): HeaderTarget {
  const target: HeaderTarget = {
    wire: [],
    host: null,
    contentLength: null,
    headerSize: 0,
    sensitiveHeaders: null,
    spellings: null,
    reset: null,
  }
  Reflect.apply(addHeaders, undefined, [target, headers])
  return target
}

/** What goes on the wire, in its order. */
function toWire(headers: unknown): [string, string | string[]][] {
  return Object.entries(toFields(add(headers).wire))
}

/** What addHeaders() says of headers that it refuses. */
const toRefusal = (headers: unknown): string => toInvalid(() => add(headers))

/** The forms of one header list. */
function toForms(pairs: [string, unknown][]): [string, unknown][] {
  return [
    ['an object', Object.fromEntries(pairs)],
    ['an object without a prototype', Object.assign(Object.create(null), Object.fromEntries(pairs))],
    ['a flat array', pairs.flat()],
    ['an array of pairs', pairs],
    ['a Map', new Map(pairs)],
    [
      'a generator of pairs',
      (function* () {
        yield* pairs
      })(),
    ],
  ]
}

describe('addHeaders', () => {
  describe('when there are no headers', () => {
    it.each([
      ['null', null],
      ['undefined', undefined],
      ['an empty object', {}],
      ['an empty array', []],
      ['an empty Map', new Map()],
      ['an empty Headers', new Headers()],
    ])('adds nothing: %s', (_form, headers) => {
      expect(add(headers)).toMatchObject({ wire: [], host: null, contentLength: null })
    })
  })

  describe('when the headers come in any of the forms', () => {
    const pairs: [string, unknown][] = [
      ['X-B', '1'],
      ['x-a', 'two'],
      ['X-List', ['a', 'b']],
      ['x-number', 3],
    ]
    it.each(toForms(pairs))('adds them in lower case, in their order: %s', (_form, headers) => {
      expect(toWire(headers)).toEqual([
        ['x-b', '1'],
        ['x-a', 'two'],
        ['x-list', ['a', 'b']],
        ['x-number', '3'],
      ])
    })

    const init: [string, string][] = [
      ['X-B', '1'],
      ['Set-Cookie', 'a=1'],
      ['X-A', '2'],
      ['X-B', '3'],
      ['Set-Cookie', 'b=2'],
    ]
    it.each([
      ['the global one', new Headers(init)],
      ["undici's", new UndiciHeaders(init)],
    ])('adds what a Headers gives: %s', (_whose, headers) => {
      expect(toWire(headers)).toEqual([
        ['set-cookie', ['a=1', 'b=2']],
        ['x-a', '2'],
        ['x-b', '1, 3'],
      ])
    })

    it('leaves inherited fields out', () => {
      expect(toWire(Object.create({ inherited: '1' }, { own: { value: '2', enumerable: true } }))).toEqual([
        ['own', '2'],
      ])
    })

    it('does not change them', () => {
      const list = ['a', 'b']
      const headers = { 'X-List': list, 'x-list': 'c', Connection: 'close' }
      expect(toWire(headers)).toEqual([['x-list', ['a', 'b', 'c']]])
      expect(headers).toEqual({ 'X-List': ['a', 'b'], 'x-list': 'c', Connection: 'close' })
    })
  })

  describe('when the headers have no such form', () => {
    it.each([
      [
        'a string',
        'a: 1',
        'got a string, expected an object, a flat array, an iterable of pairs, or a Headers',
      ],
      ['a number', 1, 'got 1, expected an object'],
      ['true', true, 'got true, expected an object'],
      ['a function', () => {}, 'got a function, expected an object'],
      ['a flat array of odd length', ['a', '1', 'b'], 'expected a flat array with a value for each name'],
      ['pairs of one', [['a']], 'expected pairs of a name and a value'],
      ['pairs of three', [['a', '1', '2']], 'expected pairs of a name and a value'],
      ['pairs that are none', new Set(['ab']), 'got a string, expected pairs of a name and a value'],
      ['pairs, but for one', [['a', '1'], 'b'], 'got a string, expected pairs of a name and a value'],
    ])('refuses them: %s', (_kind, headers, message) => {
      expect(toRefusal(headers)).toMatch(/^Invalid headers: got /)
      expect(toRefusal(headers)).toContain(message)
    })
  })

  describe('when a value is no string', () => {
    it.each([
      ['null', null, [['x', '']]],
      ['0', 0, [['x', '0']]],
      ['a number', 1.5, [['x', '1.5']]],
      ['a bigint', 10n, [['x', '10']]],
      ['true', true, [['x', 'true']]],
      ['false', false, [['x', 'false']]],
      ['undefined', undefined, []],
      ['an empty array', [], []],
      ['an array of one', ['a'], [['x', 'a']]],
      ['an array of several', ['a', 1, null, true], [['x', ['a', '1', '', 'true']]]],
    ])('sends it as text, or leaves it out: %s', (_kind, value, wire) => {
      expect(toWire({ x: value })).toEqual(wire)
      expect(toWire(['x', value])).toEqual(wire)
    })

    it.each([
      ['an object', {}, 'an object (Object)'],
      ['a Buffer', Buffer.from('a'), 'an object (Buffer)'],
      ['a symbol', Symbol('s'), 'Symbol(s)'],
      ['a function', () => 'a', 'a function'],
      ['undefined in an array', ['a', undefined], 'undefined'],
      ['an array in an array', [['a']], 'an array'],
    ])('refuses it: %s', (_kind, value, got) => {
      expect(toRefusal({ x: value })).toBe(
        `Invalid header "x": got ${got}, expected a string, a number, or an array of them`,
      )
    })
  })

  describe('when a value has characters that no field may have', () => {
    it.each([
      '\r',
      '\n',
      '\r\n',
      '\0',
      '\x01',
      '\x0b',
      '\x1f',
      '\x7f',
      '\u0100',
      '€',
      '\u{1f600}',
      '\ud800',
    ])('refuses it: %j', (character) => {
      for (const value of [
        character,
        `a${character}b`,
        `${character}b`,
        `a${character}`,
        ['a', `a${character}`],
      ]) {
        const message = toRefusal({ 'X-Name': value })
        expect(message).toMatch(/^Invalid header "x-name": got /)
        expect(message).toContain('expected a value without CR, LF, NUL or characters outside ISO-8859-1')
        expect(message).not.toMatch(/[\r\n\0]/)
      }
    })

    it.each([
      '\t',
      ' ',
      '!',
      '~',
      '\x80',
      '\xa0',
      'é',
      '\xff',
      ':',
      ',',
      '"',
    ])('takes this one: %j', (character) => {
      expect(toWire({ x: `a${character}b` })).toEqual([['x', `a${character}b`]])
    })
  })

  describe('when a value has white space around it', () => {
    it.each([
      [' a', 'a'],
      ['a ', 'a'],
      ['\ta', 'a'],
      ['a\t', 'a'],
      ['\ta\t', 'a'],
      [' \t a  b\tc \t ', 'a  b\tc'],
      ['   ', ''],
      ['\t', ''],
      ['', ''],
      ['\xa0a\xa0', '\xa0a\xa0'],
    ])('trims spaces and tabs: %j', (value, trimmed) => {
      expect(toWire({ x: value })).toEqual([['x', trimmed]])
      expect(toWire({ x: [value, 'b'] })).toEqual([['x', [trimmed, 'b']]])
    })
  })

  describe('when a value has much white space inside', () => {
    // A pattern that looks for the outer white space alone takes seconds here, and 4 times as long for twice the value.
    it('does not take long over it', () => {
      const value = `a${' '.repeat(60_000)}a`
      // What other processes take of the machine doesn't count.
      const before = process.cpuUsage()
      expect(toWire({ x: `${value} ` })).toEqual([['x', value]])
      expect(process.cpuUsage(before).user).toBeLessThan(1e6)
    })
  })

  describe('when a field is large', () => {
    const fits = 'é'.repeat(MAX_REQUEST_FIELD_SIZE - 'x-name'.length)

    it('takes 64 KiB of name and value, each character a byte', () => {
      expect(MAX_REQUEST_FIELD_SIZE).toBe(65_536)
      expect(toWire({ 'X-Name': fits })).toEqual([['x-name', fits]])
    })

    it('refuses a byte more, and does not repeat the value', () => {
      expect(toRefusal({ 'X-Name': `${fits}a` })).toBe(
        'Invalid header "x-name": the field has 65537 bytes, expected at most 65536',
      )
    })

    it('does not count the white space that it trims', () => {
      expect(toWire({ 'X-Name': ` ${fits}\t` })).toEqual([['x-name', fits]])
    })

    it('counts each value of a name for itself', () => {
      expect(toWire({ 'x-name': [fits, fits] })).toEqual([['x-name', [fits, fits]]])
      expect(toRefusal({ 'x-name': ['a', `${fits}a`] })).toContain('the field has 65537 bytes')
    })
  })

  describe('when a name is no token', () => {
    it.each([
      '',
      ' ',
      'a b',
      ' a',
      'a ',
      'a:',
      'a\r\nb',
      'a\0',
      'é',
      '€',
      '(a)',
      'a/b',
      'a@b',
      '"a"',
      'a{',
    ])('refuses it: %j', (name) => {
      // Twice: names that were found to be good are remembered.
      for (let i = 0; i < 2; i++) {
        expect(toRefusal([name, '1'])).toBe(
          `Invalid header name: got ${JSON.stringify(name)}, expected a token (RFC 9110 §5.6.2)`,
        )
      }
    })

    it.each([
      ['a number', 1, '1'],
      ['null', null, 'null'],
      ['a symbol', Symbol('s'), 'Symbol(s)'],
      ['a Buffer', Buffer.from('a'), 'an object (Buffer)'],
    ])('refuses what is no string: %s', (_kind, name, got) => {
      expect(toRefusal([name, '1'])).toBe(`Invalid header name: got ${got}, expected a string`)
      expect(toRefusal(new Map([[name, '1']]))).toBe(`Invalid header name: got ${got}, expected a string`)
    })

    it.each([
      ':method',
      ':path',
      ':authority',
      ':scheme',
      ':status',
      ':protocol',
      ':',
    ])('refuses a pseudo-header: %s', (name) => {
      expect(toRefusal({ [name]: 'a' })).toBe(
        `Invalid header name: got "${name}", expected no pseudo-header field: Dodici sets them from method, path and origin`,
      )
    })
  })

  describe('when a name is a token', () => {
    it.each([
      "!#$%&'*+-.^_`|~",
      '0',
      'X_Y',
      'constructor',
      'toString',
      'hasOwnProperty',
    ])('adds it in lower case: %s', (name) => {
      expect(toWire([name, '1', name, '2'])).toEqual([[name.toLowerCase(), ['1', '2']]])
    })

    it('takes a long one', () => {
      expect(toWire({ [`X-${'A'.repeat(1_000)}`]: '1' })).toEqual([[`x-${'a'.repeat(1_000)}`, '1']])
    })

    it('takes ever more of them', () => {
      for (let i = 0; i < 3_000; i++) expect(toWire([`X-${i}`, '1'])).toEqual([[`x-${i}`, '1']])
      expect(toRefusal(['a b', '1'])).toContain('expected a token')
    })
  })

  describe('when a name is __proto__', () => {
    it.each(
      toForms([['__proto__', 'polluted']]),
    )('takes it for a name like any other: %s', (_form, headers) => {
      expect(add(headers).wire).toEqual(['__proto__', 'polluted'])
      expect(Object.getPrototypeOf({})).toBe(Object.prototype)
    })

    it('takes it from JSON', () => {
      const { wire } = add(JSON.parse('{ "__proto__": ["a", "b"], "x": "1" }'))
      expect(wire).toEqual(['__proto__', 'a', '__proto__', 'b', 'x', '1'])
    })
  })

  describe('when a field speaks of an HTTP/1.1 connection', () => {
    it.each([
      ['connection', 'close'],
      ['Connection', 'keep-alive'],
      ['CONNECTION', 'Keep-Alive'],
      ['connection', 'close, keep-alive'],
      ['connection', 'keep-alive,close'],
      ['connection', ['close', 'keep-alive']],
      // Over HTTP/1.1 undici takes any option, and writes none but these two.
      ['connection', 'x-a'],
      ['connection', 'keep-alive, x-a'],
      ['connection', 'close, te'],
      ['connection', 'upgrade'],
      ['keep-alive', 'timeout=5, max=100'],
      ['Keep-Alive', ['timeout=5', 'max=100']],
    ])('drops what HTTP/1.1 users send: %s: %s', (name, value) => {
      expect(toWire({ a: '1', [name]: value, b: '2' })).toEqual([
        ['a', '1'],
        ['b', '2'],
      ])
    })

    it.each(['', 'close;', 'close,', 'two words'])('refuses connection: %j', (value) => {
      expect(toRefusal({ Connection: value })).toBe(
        `Invalid header 'connection': got "${value}", expected tokens, separated by commas (RFC 9110 §7.6.1)`,
      )
    })

    it.each([
      'Transfer-Encoding',
      'transfer-encoding',
      'Upgrade',
      'Proxy-Connection',
      'HTTP2-Settings',
    ])('refuses %s', (name) => {
      expect(toRefusal({ [name]: 'a' })).toBe(
        `Invalid header "${name.toLowerCase()}": got "a", expected no connection-specific field: HTTP/2 has none (RFC 9113 §8.2.2)`,
      )
    })

    it.each(['gzip', 'trailers, deflate', 'trailers;q=0.5', ''])('refuses te: %j', (value) => {
      expect(toRefusal({ TE: value })).toBe(
        `Invalid header 'te': got "${value}", expected 'trailers', which is all that HTTP/2 allows (RFC 9113 §8.2.2)`,
      )
    })

    // node:http2 compares with 'trailers', and throws ERR_HTTP2_INVALID_CONNECTION_HEADERS at anything else.
    it.each([
      ['as it is', 'trailers'],
      ['in capitals', 'Trailers'],
      ['trimmed', ' trailers '],
      ['once in an array', ['trailers']],
      ['twice', ['trailers', 'trailers']],
    ])('sends te: trailers in the one form that node:http2 takes: %s', (_form, value) => {
      expect(toWire({ te: value })).toEqual([['te', 'trailers']])
    })
  })

  describe('when host is given', () => {
    it.each([
      'example.com',
      'example.com:8443',
      '[::1]:8080',
      'EXAMPLE.com',
      ' example.com ',
    ])('gives it to the target, not to the wire: %j', (value) => {
      expect(add({ Host: value, a: '1' })).toMatchObject({
        wire: ['a', '1'],
        host: value.trim(),
        contentLength: null,
      })
    })

    it.each([
      [{ host: ['a', 'b'] }],
      [{ host: ['a', 'a'] }],
      [{ host: 'a', Host: 'b' }],
      [['host', 'a', 'HOST', 'a']],
    ])('refuses several: %j', (headers) => {
      expect(toRefusal(headers)).toMatch(/^Invalid header 'host': got "[ab]", expected one value$/)
    })

    it.each([
      ['', ''],
      ['a b', 'a b'],
      ['user:s3cret@a', '…@a'],
      ['a?b', 'a?…'],
      ['a:65536', 'a:65536'],
    ])('refuses %j', (value, got) => {
      expect(toRefusal({ host: value })).toBe(
        `Invalid header 'host': got ${JSON.stringify(got)}, expected a host, or host:port`,
      )
    })
  })

  describe('when content-length is given', () => {
    it.each([
      ['0', 0],
      ['5', 5],
      [5, 5],
      [' 5 ', 5],
      [['5'], 5],
      ['9007199254740991', 9_007_199_254_740_991],
    ])('gives it to the target and to the wire: %j', (value, contentLength) => {
      expect(add({ 'Content-Length': value })).toMatchObject({
        wire: ['content-length', String(contentLength)],
        host: null,
        contentLength,
      })
    })

    it.each([
      '',
      '-1',
      '+5',
      '5.0',
      '5.5',
      '1e3',
      '0x5',
      'five',
      '5, 5',
      '5 5',
      '９',
      '9007199254740992',
    ])('refuses %j', (value) => {
      expect(toRefusal({ 'Content-Length': value })).toMatch(
        /^Invalid header .content-length.: got ".*", expected a /,
      )
    })

    it.each([Number.NaN, Number.POSITIVE_INFINITY, -1, 1.5, 1e21, null, true])('refuses %d', (value) => {
      expect(toRefusal({ 'content-length': value })).toMatch(
        /^Invalid header 'content-length': got ".*", expected a whole number of bytes$/,
      )
    })

    it.each([[['5', '5']], [['0', '5']]])('refuses several: %j', (value) => {
      expect(toRefusal({ 'content-length': value })).toBe(
        'Invalid header \'content-length\': got "5", expected one value',
      )
    })
  })

  describe('when a name comes several times', () => {
    it('keeps the values apart, in their order', () => {
      expect(toWire(['x-a', '1', 'x-b', '2', 'X-A', '3', 'x-a', ['4', '5']])).toEqual([
        ['x-a', ['1', '3', '4', '5']],
        ['x-b', '2'],
      ])
    })

    it.each([
      'accept',
      'cookie',
      'x-forwarded-for',
      'via',
      'cache-control',
      'vary',
      'priority',
    ])('sends each value: %s', (name) => {
      expect(toWire({ [name]: ['a', 'b'] })).toEqual([[name, ['a', 'b']]])
    })

    it.each([
      'access-control-allow-credentials',
      'access-control-max-age',
      'access-control-request-method',
      'age',
      'authorization',
      'content-encoding',
      'content-language',
      'content-location',
      'content-md5',
      'content-range',
      'content-type',
      'date',
      'dnt',
      'etag',
      'expires',
      'from',
      'if-match',
      'if-modified-since',
      'if-none-match',
      'if-range',
      'if-unmodified-since',
      'last-modified',
      'location',
      'max-forwards',
      'proxy-authorization',
      'range',
      'referer',
      'retry-after',
      'tk',
      'upgrade-insecure-requests',
      'user-agent',
      'x-content-type-options',
    ])('refuses what node:http2 takes one value of: %s', (name) => {
      const shown = name === 'authorization' || name === 'proxy-authorization' ? '(not shown)' : 'b'
      const message = `Invalid header "${name}": got "${shown}", expected one value`
      expect(toWire({ [name]: ['a'] })).toEqual([[name, 'a']])
      expect(toRefusal({ [name]: ['a', 'b'] })).toBe(message)
      expect(toRefusal([name, 'a', name.toUpperCase(), 'b'])).toBe(message)
    })
  })
})

describe('toRawHeaders', () => {
  describe('when there is nothing', () => {
    it.each([null, undefined])('gives an empty array, a new one each time: %s', (headers) => {
      expect(toRawHeaders(headers)).toEqual([])
      expect(toRawHeaders(headers)).not.toBe(toRawHeaders(headers))
    })
  })

  describe('when it is an object', () => {
    it('gives a pair for each value', () => {
      expect(toRawHeaders({ 'X-A': '1', 'set-cookie': ['a=1', 'b=2'], 'x-b': '' })).toEqual([
        ...['X-A', '1'],
        ...['set-cookie', 'a=1', 'set-cookie', 'b=2'],
        ...['x-b', ''],
      ])
    })

    it('leaves undefined, empty lists and pseudo-headers out', () => {
      expect(toRawHeaders({ ':status': '200', a: undefined, b: [], c: '1' })).toEqual(['c', '1'])
    })

    it('takes one without a prototype', () => {
      const headers: Record<string, string> = Object.create(null)
      headers.a = '1'
      headers.__proto__ = '2'
      expect(toRawHeaders(headers)).toEqual(['a', '1', '__proto__', '2'])
    })
  })

  describe('when it is a flat array', () => {
    it('keeps order, duplicates and case', () => {
      expect(toRawHeaders(['b', '1', 'A', '2', 'b', '3', 'b', '1'])).toEqual([
        'b',
        '1',
        'A',
        '2',
        'b',
        '3',
        'b',
        '1',
      ])
    })

    it('leaves pseudo-headers out', () => {
      expect(toRawHeaders([':status', '200', 'a', '1', ':x', ':y', 'b', ':z'])).toEqual(['a', '1', 'b', ':z'])
      expect(
        toRawHeaders([Buffer.from(':status'), Buffer.from('200'), Buffer.from('a'), Buffer.from('1')]),
      ).toEqual(['a', '1'])
    })

    it('reads Buffers as ISO-8859-1', () => {
      const bytes = Uint8Array.of(0x20, 0xe9, 0xff, 0x20)
      expect(
        toRawHeaders([Buffer.from('X-A'), Buffer.from([0xe9, 0x80]), Buffer.from('b'), bytes.subarray(1, 3)]),
      ).toEqual(['X-A', 'é\x80', 'b', 'éÿ'])
    })

    it('gives a pair for each value of a list', () => {
      expect(toRawHeaders(['set-cookie', ['a=1', Buffer.from('b=2')], 'c', '1'])).toEqual([
        ...['set-cookie', 'a=1', 'set-cookie', 'b=2'],
        ...['c', '1'],
      ])
    })

    it('leaves out a name without a value', () => {
      expect(toRawHeaders(['a', '1', 'b'])).toEqual(['a', '1'])
    })
  })

  describe('when what it gave is changed', () => {
    it.each([
      ['a flat array', ['a', '1', 'b', '2']],
      ['an object', { a: '1', b: '2' }],
    ])('leaves the source as it was: %s', (_kind, source) => {
      const raw = toRawHeaders(source)
      expect(raw).not.toBe(source)
      raw.splice(0, 2)
      expect(raw).toEqual(['b', '2'])
      expect(toRawHeaders(source)).toEqual(['a', '1', 'b', '2'])
    })
  })
})

describe('all headers of a request together', () => {
  // A name of 5, a value of 63, and 32 as RFC 9113 §6.5.2 counts: 100 bytes.
  const ofHundreds = (count: number) =>
    Array.from({ length: count }, (_, i) => [`n${String(i).padStart(4, '0')}`, 'v'.repeat(63)])

  it('may have 136 KiB, and no more', () => {
    const count = Math.floor(MAX_REQUEST_HEADER_SIZE / 100)
    expect(toWire(ofHundreds(count))).toHaveLength(count)
    expect(toRefusal(ofHundreds(count + 1))).toBe(
      'Invalid headers: they have more than 139264 bytes in total',
    )
  })
})

import { readFileSync } from 'node:fs'
import { errors as undici } from 'undici'
import { beforeAll, describe, expect, it, vi } from 'vitest'
import * as ours from '../../../src/errors/errors.ts'

/** Every error class with its code. */
const CODES = [
  [ours.InvalidArgumentError, 'UND_ERR_INVALID_ARG'],
  [ours.NotSupportedError, 'UND_ERR_NOT_SUPPORTED'],
  [ours.ConnectError, 'DODICI_ERR_CONNECT'],
  [ours.AlpnError, 'DODICI_ERR_ALPN'],
  [ours.ConnectTimeoutError, 'UND_ERR_CONNECT_TIMEOUT'],
  [ours.HeadersTimeoutError, 'UND_ERR_HEADERS_TIMEOUT'],
  [ours.BodyTimeoutError, 'UND_ERR_BODY_TIMEOUT'],
  [ours.RequestAbortedError, 'UND_ERR_ABORTED'],
  [ours.RequestContentLengthMismatchError, 'UND_ERR_REQ_CONTENT_LENGTH_MISMATCH'],
  [ours.ResponseContentLengthMismatchError, 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH'],
  [ours.ClientDestroyedError, 'UND_ERR_DESTROYED'],
  [ours.ClientClosedError, 'UND_ERR_CLOSED'],
  [ours.QueueTimeoutError, 'DODICI_ERR_QUEUE_TIMEOUT'],
  [ours.UploadTimeoutError, 'DODICI_ERR_UPLOAD_TIMEOUT'],
  [ours.RequestTimeoutError, 'DODICI_ERR_REQUEST_TIMEOUT'],
  [ours.ResponseExceededMaxSizeError, 'UND_ERR_RES_EXCEEDED_MAX_SIZE'],
  [ours.HeadersOverflowError, 'UND_ERR_HEADERS_OVERFLOW'],
  [ours.HeadersCountError, 'DODICI_ERR_HEADERS_COUNT'],
  [ours.RequestHeadersOverflowError, 'DODICI_ERR_REQUEST_HEADERS_OVERFLOW'],
  [ours.MaxOriginsReachedError, 'UND_ERR_MAX_ORIGINS_REACHED'],
  [ours.InvalidReturnValueError, 'UND_ERR_INVALID_RETURN_VALUE'],
  [ours.SocketError, 'UND_ERR_SOCKET'],
  [ours.StreamError, 'DODICI_ERR_STREAM'],
] as const

/** With its name, and the undici classes that its errors are instances of, but UndiciError: those of undici's codes. */
const classes = CODES.map(([type, code]) => {
  // undici's declarations leave out AbortError: its classes are compared by their names.
  const isAbort = type === ours.RequestAbortedError
  const as = code.startsWith('UND_ERR_') ? [type.name, ...(isAbort ? ['AbortError'] : [])] : []
  return { type, name: isAbort ? 'AbortError' : type.name, code, as }
})
const all = [{ type: ours.DodiciError, name: 'DodiciError', code: 'UND_ERR', as: [] }, ...classes]

/**
 * The exported classes whose `instanceof` takes `value` for theirs. Without those that only inherit it: undici's
 * Socks5ProxyError has its parent's, and so takes every UndiciError for its own.
 */
function toMatches(value: unknown, from: object): string[] {
  return Object.entries(from)
    .filter(([, type]) => typeof type === 'function' && Object.hasOwn(type, Symbol.hasInstance))
    .filter(([, type]) => value instanceof type)
    .map(([name]) => name)
    .sort()
}

/** An error of the exported class of that name. */
function construct(from: object, name: string): unknown {
  const type = new Map(Object.entries(from)).get(name)
  if (typeof type !== 'function') throw new Error(`There is no class ${name}`)
  return Reflect.construct(type, ['It broke'])
}

describe('the error classes', () => {
  it('are all in the table below, but for the one that has more to say', () => {
    const exported = Object.values(ours).filter(
      (value) => typeof value === 'function' && value.prototype instanceof Error,
    )
    expect(new Set(exported)).toEqual(new Set([...all.map(({ type }) => type), ours.TunnelRefusedError]))
  })

  describe.each(all)('when $name is made', ({ type, name, code, as }) => {
    const error = new type('It broke')

    it('has its name, code and message', () => {
      expect(error).toMatchObject({ name, code, message: 'It broke' })
      expect(String(error)).toBe(`${name}: It broke`)
      expect(error.stack).toMatch(/^\w*Error: It broke\n/)
    })

    it('is an instance of its own class, of DodiciError, and of no other of ours', () => {
      expect(error).toBeInstanceOf(Error)
      expect(toMatches(error, ours)).toEqual([...new Set(['DodiciError', type.name])].sort())
    })

    it("is an instance of undici's class, of UndiciError, and of no other of undici's", () => {
      const names = ['UndiciError', ...as].sort()
      expect(toMatches(error, undici)).toEqual(names)
    })

    it("has the name and the code of undici's class, or a code of its own", () => {
      const [undiciName] = as
      if (undiciName === undefined) expect(code).toMatch(/^(DODICI_ERR_\w+|UND_ERR)$/)
      else expect(construct(undici, undiciName)).toMatchObject({ name, code })
    })

    it('shows none of its marks', () => {
      const seen: string[] = []
      for (const key in error) seen.push(key)
      const fields = ['attempts', 'code', 'goawayDebugData', 'http2ErrorCode', 'processed', 'streamId']
      if (name === 'AlpnError') fields.unshift('alpnProtocol')
      expect(seen.sort()).toEqual(fields)
      expect(Object.getOwnPropertySymbols({ ...error })).toEqual([])
      for (const mark of Object.getOwnPropertySymbols(type.prototype)) {
        expect(Object.getOwnPropertyDescriptor(type.prototype, mark)).toMatchObject({ enumerable: false })
      }
    })
  })

  describe('when no details are given', () => {
    it.each(all)('says that nothing is known: $name', ({ type }) => {
      const error = new type('It broke')
      expect(error).toMatchObject({
        processed: 'no',
        attempts: 0,
        streamId: null,
        http2ErrorCode: null,
        goawayDebugData: null,
      })
      expect('cause' in error).toBe(false)
    })

    it.each([
      [new ours.RequestAbortedError(), 'Request aborted'],
      [new ours.ClientDestroyedError(), 'The client is destroyed'],
      [new ours.ClientClosedError(), 'The client is closed'],
    ])('has a message all the same: %s', (error, message) => {
      expect(error.message).toBe(message)
    })
  })

  describe('when details are given', () => {
    it.each(all)('keeps them: $name', ({ type }) => {
      const cause = new Error('beneath')
      const goawayDebugData = Buffer.from('too many pings')
      const error = new type('It broke', { cause, processed: 'maybe', http2ErrorCode: 0, goawayDebugData })
      expect(error.cause).toBe(cause)
      expect(error.goawayDebugData).toBe(goawayDebugData)
      expect(error).toMatchObject({ processed: 'maybe', http2ErrorCode: 0 })
      expect(Object.keys(error)).not.toContain('cause')
    })

    it.each([[null], [undefined], [0]])('keeps a cause of any value: %s', (cause) => {
      const error = new ours.SocketError('It broke', { cause })
      expect('cause' in error).toBe(true)
      expect(error.cause).toBe(cause)
    })
  })

  describe('when a value is not one of ours', () => {
    const foreign: [string, unknown][] = [
      ['an Error', new Error('It broke')],
      ['an Error with our code', Object.assign(new Error('It broke'), { code: 'UND_ERR_SOCKET' })],
      ['a plain object', {}],
      ['an object without a prototype', Object.create(null)],
      ['null', null],
      ['undefined', undefined],
      ['a string', 'UND_ERR_SOCKET'],
      ['a function', ours.SocketError],
    ]
    it.each(foreign)('is an instance of none: %s', (_kind, value) => {
      expect(toMatches(value, ours)).toEqual([])
    })
  })
})

describe("undici's own errors", () => {
  it.each([
    'SocketError',
    'BodyTimeoutError',
    'InvalidArgumentError',
    'RequestAbortedError',
  ])('are instances of our class of that name, and of no DodiciError: %s', (name) => {
    expect(toMatches(construct(undici, name), ours)).toEqual([name])
  })
})

describe('two copies of the module', () => {
  let other: typeof ours

  beforeAll(async () => {
    vi.resetModules()
    other = await import('../../../src/errors/errors.ts')
  })

  it('are two', () => {
    expect(other.DodiciError).not.toBe(ours.DodiciError)
  })

  describe.each(all)("when $name is the other copy's", ({ type }) => {
    it('is recognised as if it were of this one', () => {
      const error = construct(other, type.name)
      expect(error).not.toHaveProperty('constructor', type)
      expect(toMatches(error, ours)).toEqual([...new Set(['DodiciError', type.name])].sort())
      expect(toMatches(new type('It broke'), other)).toEqual(toMatches(error, ours))
    })
  })

  it("come back untouched from this copy's toConnectError", () => {
    const error = new other.AlpnError('It chose http/1.1')
    expect(ours.toConnectError(error, 'https://example.com')).toBe(error)
  })
})

describe('toError', () => {
  describe('when an Error was thrown', () => {
    it.each([
      ['an Error', new TypeError('It broke')],
      ['one of ours', new ours.SocketError('It broke')],
      ['a DOMException', new DOMException('It broke', 'AbortError')],
    ])('gives it back: %s', (_kind, error) => {
      expect(ours.toError(error)).toBe(error)
    })
  })

  describe('when something else was thrown', () => {
    it.each([
      ['a string', 'oops', 'oops'],
      ['a number', 1, '1'],
      ['null', null, 'null'],
      ['undefined', undefined, 'undefined'],
      ['a symbol', Symbol('s'), 'Symbol(s)'],
      ['an object', { toString: () => 'mine' }, 'mine'],
    ])('makes an Error that says what it was: %s', (_kind, thrown, text) => {
      const error = ours.toError(thrown)
      expect(error).toBeInstanceOf(ours.DodiciError)
      expect(error.message).toContain(text)
      expect(error.cause).toBe(thrown)
    })

    it.each([
      ['an object without a prototype', Object.create(null)],
      [
        'an object whose toString throws',
        {
          toString() {
            throw new Error('no')
          },
        },
      ],
    ])('makes an Error where it cannot be made a string: %s', (_kind, thrown) => {
      expect(ours.toError(thrown)).toBeInstanceOf(ours.DodiciError)
    })
  })
})

/** In both files: a class, the type of its code, and the code that it is branded with. */
describe('the type of code', () => {
  const text = ['errors/errors.ts', 'errors/undici-errors.ts']
    .map((file) => readFileSync(new URL(`../../../src/${file}`, import.meta.url), 'utf8'))
    .join('\n')
  const declared = [
    ...text.matchAll(/^export class (\w+) extends \w+ \{\n {2}declare readonly code: (.+)$/gm),
  ]
  const branded = new Map(
    [...text.matchAll(/^brand\(\s*(\w+),\s*'[^']*',\s*'([^']*)'/gm)].map(([, name, code]) => [name, code]),
  )

  it.each(
    declared.map(([, name, type]) => [name, type]),
  )('of %s is %s, the one that it has', (name, type) => {
    expect(type?.split(' | ')[0]).toBe(`'${branded.get(name)}'`)
  })

  it('is a literal for all branded classes but three, whose codes vary, and one that has the code of its parent', () => {
    const literal = declared.map(([, name]) => name)
    const others = ['DodiciError', 'UndiciError', 'ConnectError', 'HttpParserError']
    expect([...branded.keys()].filter((name) => !literal.includes(name)).sort()).toEqual(others.sort())
  })
})

describe('toConnectError', () => {
  const origin = 'https://example.com:8443'

  describe("when the cause is Node's", () => {
    const cause = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:8443'), { code: 'ECONNREFUSED' })

    it('makes a ConnectError that names the origin and the reason', () => {
      const error = ours.toConnectError(cause, origin)
      expect(error).toBeInstanceOf(ours.ConnectError)
      expect(error.name).toBe('ConnectError')
      expect(error.message).toBe(
        'Could not connect to https://example.com:8443: connect ECONNREFUSED 127.0.0.1:8443',
      )
    })

    it('keeps the code and the cause', () => {
      const error = ours.toConnectError(cause, origin)
      expect(error.code).toBe('ECONNREFUSED')
      expect(error.cause).toBe(cause)
      expect(Object.keys(error)).toContain('code')
    })

    it('leaves the code of other errors as it is', () => {
      ours.toConnectError(cause, origin)
      expect(new ours.ConnectError('It broke').code).toBe('DODICI_ERR_CONNECT')
    })
  })

  describe('when several addresses failed', () => {
    const refused = [new Error('connect ECONNREFUSED ::1:80'), new Error('connect ECONNREFUSED 127.0.0.1:80')]

    it('gives the reason of each where the AggregateError has no message', () => {
      const cause = Object.assign(new AggregateError(refused), { code: 'ECONNREFUSED' })
      const error = ours.toConnectError(cause, origin)
      expect(error.message).toBe(
        `Could not connect to ${origin}: connect ECONNREFUSED ::1:80, connect ECONNREFUSED 127.0.0.1:80`,
      )
      expect(error.code).toBe('ECONNREFUSED')
      expect(error.cause).toBe(cause)
    })

    it('gives the message of an AggregateError that has one', () => {
      const error = ours.toConnectError(new AggregateError(refused, 'All of them failed'), origin)
      expect(error.message).toBe('All of them failed')
    })
  })

  describe('when the cause has no code', () => {
    it.each([
      ['no code', new Error('oops')],
      ['a code that is no string', Object.assign(new Error('oops'), { code: 42 })],
      ['a string', 'oops'],
    ])('has its own: %s', (_kind, cause) => {
      const error = ours.toConnectError(cause, origin)
      expect(error.code).toBe('DODICI_ERR_CONNECT')
      // What a connect function has thrown is told in its own words, as in undici.
      expect(error.message).toMatch(cause instanceof Error ? /^oops$/ : /^Could not connect to .+: oops$/)
      expect(error.cause).toBe(cause)
    })
  })

  describe('when the cause has no message', () => {
    it.each([
      ['an Error', new Error()],
      ['an AggregateError of one', new AggregateError([new Error()])],
    ])('says so: %s', (_kind, cause) => {
      expect(ours.toConnectError(cause, origin).message).toBe(
        `Could not connect to ${origin}: no reason given`,
      )
    })
  })

  describe('when the cause is one of ours', () => {
    it('gives it back', () => {
      const cause = new ours.ConnectTimeoutError('Not connected within 10 ms')
      expect(ours.toConnectError(cause, origin)).toBe(cause)
    })
  })
})

describe('toCodedError', () => {
  describe('when the error has a code', () => {
    it.each([
      ["Node's", Object.assign(new Error('oops'), { code: 'ECONNRESET' })],
      ['ours', new ours.SocketError('oops')],
    ])('gives it back: %s', (_kind, error) => {
      expect(ours.toCodedError(error)).toBe(error)
    })
  })

  describe('when the error has none', () => {
    it.each([
      ['no code', new Error('oops')],
      ['a code that is no string', Object.assign(new Error('oops'), { code: 42 })],
    ])('wraps it: %s', (_kind, cause) => {
      const error = ours.toCodedError(cause)
      expect(error).toBeInstanceOf(ours.DodiciError)
      expect(error).toMatchObject({ message: 'oops', code: 'UND_ERR' })
      expect(error.cause).toBe(cause)
    })
  })
})

describe("a user's own subclass", () => {
  class Mine extends ours.SocketError {}

  it('has its instances, and no others', () => {
    expect(new Mine('a')).toBeInstanceOf(Mine)
    expect(new Mine('a')).toBeInstanceOf(ours.SocketError)
    expect(new ours.SocketError('a')).not.toBeInstanceOf(Mine)
  })
})

describe('TunnelRefusedError', () => {
  const error = new ours.TunnelRefusedError('The proxy said no', 403)

  it('has its name, code and message, and the status of the response', () => {
    expect(error).toMatchObject({
      name: 'TunnelRefusedError',
      code: 'DODICI_ERR_TUNNEL_REFUSED',
      message: 'The proxy said no',
      statusCode: 403,
      processed: 'yes',
    })
  })

  it("is a SocketError and no other of ours, and undici's SocketError", () => {
    expect(toMatches(error, ours)).toEqual(['DodiciError', 'SocketError', 'TunnelRefusedError'])
    expect(toMatches(error, undici)).toEqual(['SocketError', 'UndiciError'])
    expect(new ours.SocketError('It broke')).not.toBeInstanceOf(ours.TunnelRefusedError)
  })

  it('comes back itself when each call is to have its own: its constructor takes something else', () => {
    expect(ours.toOwnError(error)).toBe(error)
  })
})

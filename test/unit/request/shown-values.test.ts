import { describe, expect, it } from 'vitest'
import { invalid, showName, withoutSecrets } from '../../../src/core/validate.ts'
import { InvalidArgumentError } from '../../../src/errors/errors.ts'
import { toFields } from '../../../src/fetch/fetch-fields.ts'
import { toHref } from '../../../src/fetch/fetch-url.ts'
import { request } from '../../../src/global/top-level.ts'
import { toClientOptions, toOrigin } from '../../../src/options/options.ts'
import { Request } from '../../../src/request/request.ts'
import { toRefusal } from './request-scene.ts'

const SECRET = 's3cret'

describe('a value in an error message', () => {
  it('is escaped where a terminal or a log would act upon it', () => {
    const { message } = invalid('path', 'a\0\n\u001b[2J\u007f\u009b2J\u2028\u202e\ufeffĊ', 'none')
    expect(message).toBe(
      'Invalid path: got "a\\u0000\\n\\u001b[2J\\u007f\\u009b2J\\u2028\\u202e\\ufeffĊ", expected none',
    )
  })

  it('is cut', () => {
    expect(invalid('path', 'a'.repeat(81), 'none').message).toContain(`"${'a'.repeat(80)}…"`)
  })
})

describe('a target in an error message', () => {
  it.each([
    ['/path', '/path'],
    ['/@me/a@b', '/@me/a@b'],
    ['/path?token=s3cret', '/path?…'],
    ['/path#token=s3cret', '/path#…'],
    ['/path?', '/path?'],
    ['?token=s3cret', '?…'],
    ['https://user:s3cret@a.example/', '…@a.example/'],
    ['//user:s3cret@a.example/', '…@a.example/'],
    ['user:s3cret@a.example:443', '…@a.example:443'],
    ['https://user:s3@cret@a.example', '…@a.example'],
    ['https://user:s3?cret@a.example', '…'],
    ['https://user:pass@a.example/?token=s3@cret', '…'],
    ['https://user:s3cret@a.example/?token=s3cret', '…@a.example/?…'],
  ])('has neither credentials, nor a query, nor a fragment: %s', (target, shown) => {
    expect(withoutSecrets(target)).toBe(shown)
  })
})

describe('a name in an error message', () => {
  it.each([
    ['a b', '"a b"'],
    [':path', '":path"'],
    ['a:', '"a:"'],
    ['authorization: s3cret', '"authorization:…"'],
    [':authority: s3cret', '":authority:…"'],
    [1, '1'],
  ])('is shown without what may be its value: %s', (name, shown) => {
    expect(showName(name)).toBe(shown)
  })
})

describe('the error of a request', () => {
  const NAMES = ['authorization', 'Proxy-Authorization', 'cookie', 'set-cookie']

  it.each(NAMES)('does not show the value of %s', (name) => {
    const { message } = toRefusal({ headers: { [name]: `${SECRET}\n` } })
    expect(message).toContain(name.toLowerCase())
    expect(message).not.toContain(SECRET)
  })

  const SPECIAL = ['connection', 'te', 'host', 'content-length', 'upgrade', 'transfer-encoding', 'X-Key']

  it.each(SPECIAL)('does not show the value of %s, where sensitiveHeaders names it', (name) => {
    const bad = `${SECRET}\n`
    for (const headers of [{ [name]: bad }, { [name]: SECRET, 'content-type': ['a', 'b'] }]) {
      const { message } = toRefusal({ headers, sensitiveHeaders: [name] })
      expect(message).not.toContain(SECRET)
    }
    const { message } = toRefusal({ trailers: { [name]: bad }, sensitiveHeaders: [name] })
    expect(message).toContain(name.toLowerCase())
    expect(message).not.toContain(SECRET)
  })

  it('does not show a value of sensitiveHeaders that a trailers function makes', () => {
    const trailers = () => ({ 'x-key': `${SECRET}\n` })
    const options = { path: '/', method: 'POST', body: 'a', trailers, sensitiveHeaders: ['x-key'] }
    const made = new Request(options, toOrigin('https://a.example'), toClientOptions({}))
    expect(() => made.toTrailers()).toThrow('Invalid header "x-key": got "(not shown)", expected ')
  })

  it('shows the value of any other field', () => {
    expect(toRefusal({ headers: { 'x-key': 'a\n' }, sensitiveHeaders: ['x-other'] }).message).toContain(
      '"a\\n"',
    )
  })

  it.each([
    ['headers', { headers: `authorization: ${SECRET}` }],
    ['a pair', { headers: new Set([`authorization: ${SECRET}`]) }],
    ['a name', { headers: { [`authorization: ${SECRET}`]: '' } }],
    ['trailers', { trailers: `x-key: ${SECRET}` }],
    ['a query', { query: `token=${SECRET}` }],
    ['a path', { path: `/a b?token=${SECRET}` }],
    ['a path with a query beside query', { path: `/a?token=${SECRET}`, query: {} }],
    ['a path that is too long', { path: `/?${SECRET}${'a'.repeat(70_000)}` }],
    ['a URL as path', { path: `https://user:${SECRET}@a.example/` }],
    ['an authority', { method: 'CONNECT', path: `user:${SECRET}@a.example:443` }],
    ['an origin', { origin: `https://a.example/?token=${SECRET}` }],
    ['the body of a tunnel', { method: 'CONNECT', path: 'a:1', body: SECRET }],
    ['the trailers of a tunnel', { method: 'CONNECT', path: 'a:1', trailers: SECRET }],
    ['sensitiveHeaders', { sensitiveHeaders: [`authorization: ${SECRET}`] }],
  ])('does not show what %s says', (_what, options) => {
    expect(toRefusal(options).message).not.toContain(SECRET)
  })
})

describe('the error of a URL', () => {
  it.each([
    `https://user:${SECRET}@a b/`,
    `https://a b/?token=${SECRET}`,
    `ht tps://user:${SECRET}@a/?token=${SECRET}#${SECRET}`,
  ])('shows neither credentials nor query: %s', async (url) => {
    const error: unknown = await request(url).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(InvalidArgumentError)
    expect(Reflect.get(Object(error), 'message')).not.toContain(SECRET)
  })

  it.each([
    [`https://user:${SECRET}@a b/`, undefined],
    [`//a b/?token=${SECRET}`, new URL(`https://user:${SECRET}@a.example/?token=${SECRET}`)],
    [`https://user:${SECRET}@a.example/?token=${SECRET}`, undefined],
  ])('of fetch shows neither, nor does its cause: %s', (url, base) => {
    let error: unknown = null
    try {
      toHref(url, base)
    } catch (thrown) {
      error = thrown
    }
    expect(error).toBeInstanceOf(TypeError)
    const cause: unknown = Reflect.get(Object(error), 'cause')
    expect(JSON.stringify([Object(error).message, { ...Object(cause) }])).not.toContain(SECRET)
  })
})

describe('the error of headers of fetch', () => {
  it.each([
    ['a value', { authorization: `${SECRET}\nb` }],
    ['a name', { [`authorization: ${SECRET}`]: '' }],
    ['a list that is none', [`authorization: ${SECRET}`]],
  ])('does not show %s', (_what, headers) => {
    expect(() => toFields(headers)).toThrow(TypeError)
    expect(() => toFields(headers)).not.toThrow(SECRET)
    expect(() => toFields(headers)).toThrow(/\(not shown\)/)
  })
})

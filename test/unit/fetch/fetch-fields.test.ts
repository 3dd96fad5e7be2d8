import { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { toSupportedCodings } from '../../../src/fetch/decode.ts'
import { toFetchBody } from '../../../src/fetch/fetch-body.ts'
import type { DispatchedFields } from '../../../src/fetch/fetch-fields.ts'
import { toDispatchedFields, toFields } from '../../../src/fetch/fetch-fields.ts'
import { FetchRequest } from '../../../src/fetch/fetch-request.ts'
import { splitUrl } from '../../../src/fetch/fetch-url.ts'
import { FakeDispatcher } from '../../support/clients/fake-dispatcher.ts'

function toPairs(fields: readonly string[]): [string, string][] {
  return fields.flatMap((name, i) => (i % 2 === 0 ? [[name, fields[i + 1] ?? '']] : []))
}

/** Sorted by name: the order of the fields doesn't matter. */
function toSorted(pairs: readonly [string, string][]): [string, string][] {
  return pairs.toSorted(([a], [b]) => (a < b ? -1 : Number(a > b)))
}

const FORMS: readonly (readonly [what: string, headers: object])[] = [
  ['nothing', {}],
  ['plain values', { accept: 'a', 'X-A': 'b c', x_b: '' }],
  ['two spellings', { 'X-A': '1', 'x-a': '2', 'x-A': '3' }],
  ['two spellings of several', { B: '1', 'X-A': '1', b: '2', 'x-a': '2', c: '3' }],
  ['white space', { a: ' 1', b: '2 ', c: '\t3\t', d: '4\r\n' }],
  ['no strings', { a: 1, b: null, c: true, d: [1, 2], e: undefined }],
  ['latin1', { a: '\x80\xff' }],
  ['a tab within', { a: '1\t2' }],
  ['names of other characters', { "x!#$%&'*+-.^_`|~9": '1' }],
  ['a list', [['B', '1'], ['a', '2'], ['b', '3']]], // biome-ignore format: short
  ['cookies', [['cookie', 'a=1'], ['cookie', 'b=2']]], // biome-ignore format: short
  ['a Map', new Map([['A', '1']])],
  ['a Headers', new Headers({ A: '1' })],
  ['an object of a class', new (class { a = '1' })()], // biome-ignore format: short
  ['an object without prototype', Object.assign(Object.create(null), { A: '1' })],
  ['a proxy', new Proxy({ A: '1' }, {})],
  ['names of digits', { 2: 'b', 1: 'a' }],
]

const BAD: readonly (readonly [what: string, headers: unknown])[] = [
  ['a name with a space', { 'a b': '1' }],
  ['an empty name', { '': '1' }],
  ['a pseudo-header', { ':path': '/' }],
  ['a name beyond ASCII', { ä: '1' }],
  ['a line break', { a: '1\n2' }],
  ['NUL', { a: '\0' }],
  ['beyond latin1', { a: '€' }],
  ['a symbol', { a: Symbol('x') }],
  ['a number', 1],
  ['a string', 'a: b'],
  ['a list of strings', ['ab']],
]

describe('toFields', () => {
  it.each(FORMS)('gives the same fields as Headers for %s', (_what, headers) => {
    const expected = [...new Headers(Object(headers))]
    expect(toSorted(toPairs(toFields(headers)))).toEqual(toSorted(expected))
  })

  it.each(BAD)('throws a TypeError for %s, as Headers does', (_what, headers) => {
    expect(() => Reflect.construct(Headers, [headers])).toThrow(TypeError)
    expect(() => toFields(headers)).toThrow(TypeError)
  })

  it('leaves out host, in any spelling and form', () => {
    for (const headers of [{ host: 'x' }, { HOST: 'x' }, [['Host', 'x']], { host: ' x' }]) {
      expect(toFields(headers)).toEqual([])
    }
  })

  it('is empty when there are no headers', () => {
    expect(toFields(undefined)).toEqual([])
  })

  it('returns a new list each time', () => {
    const headers = Object.freeze({ a: '1' })
    expect(toFields(headers)).not.toBe(toFields(headers))
  })
})

function toRequest(more: Partial<FetchRequest> = {}): FetchRequest {
  const rare = { mode: 'cors', cache: 'default', integrity: '', referrer: '', referrerPolicy: '' }
  const fields: string[] = []
  const url = splitUrl('http://localhost/path')
  return Object.assign(
    new FetchRequest(url, 'GET', fields, null, 'follow', new FakeDispatcher(), null, rare),
    more,
  )
}

function toWire(more: Partial<FetchRequest> = {}): DispatchedFields {
  const request = toRequest(more)
  request.determineReferrer()
  return toDispatchedFields(request)
}

const ADDED = {
  accept: '*/*',
  'accept-language': '*',
  'sec-fetch-mode': 'cors',
  'user-agent': 'dodici',
  'accept-encoding': 'gzip, deflate',
}

describe('toFields, where all objects have one member more', () => {
  it('takes the own fields alone, as Headers does', () => {
    const headers = { accept: 'text/plain', 'x-own': 'b' }
    const member = { value: 'a', enumerable: true, configurable: true, writable: true }
    Object.defineProperty(Object.prototype, 'x-of-all', member)
    // Only then is it compared: what compares would see the member, too.
    const fields = toFields(headers)
    const names = [...new Headers(headers).keys()]
    Reflect.deleteProperty(Object.prototype, 'x-of-all')
    expect(fields).toEqual(['accept', 'text/plain', 'x-own', 'b'])
    expect(names).toEqual(['accept', 'x-own'])
  })
})

describe('toDispatchedFields', () => {
  it('adds the fields that the Fetch standard adds', () => {
    expect(toWire()).toEqual(ADDED)
  })

  it('asks for all supported codings over TLS', () => {
    const { 'accept-encoding': codings } = toWire({ url: splitUrl('https://a.test/') })
    expect(codings).toBe(toSupportedCodings())
  })

  it('does not change the list of the request', () => {
    const request = toRequest({ fields: ['a', '1'] })
    expect(Object.entries(toDispatchedFields(request))[0]).toEqual(['a', '1'])
    expect(request.fields).toEqual(['a', '1'])
  })

  it('is a plain object, with names that all objects have', () => {
    const headers = toWire({ fields: ['constructor', 'a', '__proto__', 'b', 'tostring', 'c'] })
    expect(Object.getPrototypeOf(headers)).toBe(Object.prototype)
    expect(Object.entries({ ...headers }).slice(0, 3)).toEqual([
      ['constructor', 'a'],
      ['__proto__', 'b'],
      ['tostring', 'c'],
    ])
  })

  it.each([
    [['set-cookie', 'a=1'], 'a=1'],
    [
      ['set-cookie', 'a=1', 'set-cookie', 'b=2'],
      ['a=1', 'b=2'],
    ],
    [
      ['set-cookie', 'a=1', 'x', 'y', 'set-cookie', 'b=2', 'set-cookie', 'c=3'],
      ['a=1', 'b=2', 'c=3'],
    ],
  ])('does not join set-cookie: %j', (fields, value) => {
    expect(toWire({ fields })['set-cookie']).toEqual(value)
    const { 'Set-Cookie': spelled } = toWire({ fields, spellings: ['Set-Cookie'] })
    expect(spelled).toEqual(value)
  })

  it('has the names in the spelling of the caller', () => {
    const spellings = ['X-A', 'ACCEPT']
    const names = Object.keys(toWire({ fields: ['x-a', '1', 'accept', 'b'], spellings }))
    expect(names.slice(0, 3)).toEqual(['X-A', 'ACCEPT', 'accept-language'])
  })

  it.each([
    ['GET', null, undefined],
    ['DELETE', null, undefined],
    ['PATCH', null, undefined],
    ['POST', null, '0'],
    ['PUT', null, '0'],
    ['POST', '', '0'],
    ['DELETE', '', '0'],
    ['POST', 'hé', '3'],
    ['POST', new Uint8Array(5), '5'],
    ['POST', new Blob(['abc']), '3'],
    ['POST', new URLSearchParams('a=b'), '3'],
    ['POST', new Blob(['abc']).stream(), undefined],
    ['POST', Readable.from(['abc']), undefined],
  ])('has the length of the body that is known: %s with %s', (method, content, length) => {
    const body = content === null ? null : toFetchBody(content)
    expect(toWire({ method, body })['content-length']).toBe(length)
    expect(toWire({ method, body, fields: ['content-length', '7'] })['content-length']).toBe('7')
  })

  it('says the mode to a trustworthy origin alone', () => {
    expect(toWire({ url: { origin: 'https://a.test', path: '/' } })).toHaveProperty('sec-fetch-mode')
    expect(toWire({ url: { origin: 'http://a.test', path: '/' } })).not.toHaveProperty('sec-fetch-mode')
  })

  it('adds no field that the caller has set, except for sec-fetch-mode', () => {
    const own = { accept: 'a', 'accept-language': 'b', 'user-agent': 'c', 'accept-encoding': 'd' }
    const fields = Object.entries({ ...own, 'sec-fetch-mode': 'e' }).flat()
    expect(toWire({ fields, mode: 'no-cors' })).toEqual({ ...own, 'sec-fetch-mode': 'no-cors' })
  })

  it('asks for identity coding in a range request', () => {
    expect(toWire({ fields: ['range', 'bytes=1-2'] })).toMatchObject({ 'accept-encoding': 'identity' })
    const fields = ['range', 'bytes=1-2', 'accept-encoding', 'br']
    expect(toWire({ fields })).toMatchObject({ 'accept-encoding': 'br' })
  })

  it.each([
    ['default', {}],
    ['force-cache', {}],
    ['only-if-cached', {}],
    ['no-cache', { 'cache-control': 'max-age=0' }],
    ['no-store', { pragma: 'no-cache', 'cache-control': 'no-cache' }],
    ['reload', { pragma: 'no-cache', 'cache-control': 'no-cache' }],
  ])('adds the fields of the cache mode %s', (cache, more) => {
    expect(toWire({ cache })).toEqual({ ...ADDED, ...more })
  })

  it.each([
    'if-modified-since',
    'if-none-match',
    'if-unmodified-since',
    'if-match',
    'if-range',
  ])('asks caches to be bypassed for %s', (name) => {
    expect(toWire({ fields: [name, 'x'] })).toMatchObject({ pragma: 'no-cache', 'cache-control': 'no-cache' })
    expect(toWire({ fields: ['if-other', 'x'] })).not.toHaveProperty('pragma')
    const own = { pragma: 'a', 'cache-control': 'b' }
    expect(toWire({ fields: [name, 'x', ...Object.entries(own).flat()] })).toMatchObject(own)
  })

  it("sets the referrer by the policy, and overrides the caller's field", () => {
    const referrer = 'http://b.test/page'
    expect(toWire({ referrer })).toMatchObject({ referer: 'http://b.test/' })
    expect(toWire({ referrer, referrerPolicy: 'unsafe-url', fields: ['referer', 'own'] })).toMatchObject({
      referer: referrer,
    })
    expect(toWire({ referrer, referrerPolicy: 'no-referrer' })).not.toHaveProperty('referer')
  })
})

describe('toDispatchedFields, when the client has an origin', () => {
  const client = new URL('https://client.test/page')

  it.each<[string, Partial<FetchRequest>, string | undefined]>([
    ['GET', {}, undefined],
    ['HEAD', { method: 'HEAD' }, undefined],
    ['POST without TLS', { method: 'POST' }, 'null'],
    ['POST over TLS', { method: 'POST', url: splitUrl('https://a.test/') }, 'https://client.test'],
    ['POST with unsafe-url', { method: 'POST', referrerPolicy: 'unsafe-url' }, 'https://client.test'],
    ['POST with no-referrer', { method: 'POST', referrerPolicy: 'no-referrer' }, 'null'],
    ['POST elsewhere with same-origin', { method: 'POST', referrerPolicy: 'same-origin' }, 'null'],
    [
      'POST to itself with same-origin',
      { method: 'POST', referrerPolicy: 'same-origin', url: splitUrl('https://client.test/') },
      'https://client.test',
    ],
  ])('sends it for %s', (_what, more, origin) => {
    expect(toWire({ client, ...more }).origin).toBe(origin)
  })

  it('sends it after a redirect to another origin', () => {
    const request = toRequest({ client })
    request.isTainted = true
    expect(toDispatchedFields(request).origin).toBe('https://client.test')
  })
})

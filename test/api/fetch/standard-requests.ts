/** What a caller may ask for, and what is refused: the Request constructor's steps, which fetch() takes first. */

import { expect } from 'vitest'
import type { Case, Scene } from './standard-scene.ts'
import { fieldOf, inSection, toReason, toSeen } from './standard-scene.ts'

const inUrl = inSection('5.4 Request class: parse the input as a URL')
const inMethod = inSection('5.4 Request class: validate and normalize the method')
const inHeaders = inSection('5.1 Headers class: fill, validate and append')
const inInit = inSection('5.4 Request class: convert the members of init')
const inBody = inSection('5.4 Request class: a body needs a method that has one')
const inPort = inSection('2.9 Port blocking')

/** The method that goes over the wire. Node's HTTP/1.1 server has a list of those it takes. */
async function toWireMethod(scene: Scene, method: unknown): Promise<string> {
  if (scene.isHttp2) return (await scene.inspect({ method })).method
  const head = await (await scene.fetch(`${scene.raw}/`, { method })).text()
  return head.split(' ', 1)[0] ?? ''
}

const URLS: readonly Case[] = [
  ...['', '/path', '//host/path', 'no url', 'http://', 'http://a b/', 'http://[::1', 'http://h:99999/'].map(
    (url) => inUrl(`'${url}' is refused, for want of a base URL or of a host`, (scene) => scene.refuse(url)),
  ),
  ...['user:secret@', 'user@', ':secret@'].map((credentials) =>
    inUrl(`a URL with the credentials '${credentials}' is refused`, (scene) =>
      scene.refuse(scene.inspectUrl.replace('//', `//${credentials}`)),
    ),
  ),
  inUrl('no argument at all is refused, by a promise', async (scene) => {
    const promise = scene.fetch()
    expect(promise).toBeInstanceOf(Promise)
    expect(await toReason(promise)).toBeInstanceOf(TypeError)
  }),
  inUrl('a URL object is taken', async (scene) => {
    expect((await scene.inspect({}, new URL(`${scene.inspectUrl}?a=1`))).path).toBe('/inspect?a=1')
  }),
  inUrl('any object is taken for its string', async (scene) => {
    const input = { toString: () => `${scene.inspectUrl}?object` }
    expect((await scene.inspect({}, input)).path).toBe('/inspect?object')
  }),
  inUrl('what its toString() throws is the reason', async (scene) => {
    const reason = new RangeError('no string')
    const input = {
      toString() {
        throw reason
      },
    }
    expect(await toReason(scene.fetch(input))).toBe(reason)
  }),
  inUrl('white space around a URL and in it is none of it', async (scene) => {
    expect((await scene.inspect({}, ` \n${scene.inspectUrl}?a\tb `)).path).toBe('/inspect?ab')
  }),
  inUrl('a path and a query are percent-encoded', async (scene) => {
    const url = `${scene.origin}/é/inspect?ü=a b"`
    expect((await scene.inspect({}, url)).path).toBe('/%C3%A9/inspect?%C3%BC=a%20b%22')
  }),
  inUrl('dot segments are resolved', async (scene) => {
    expect((await scene.inspect({}, `${scene.origin}/a/./b/../inspect`)).path).toBe('/a/inspect')
  }),
  inUrl('a fragment is not sent', async (scene) => {
    expect((await scene.inspect({}, `${scene.inspectUrl}?a#fragment`)).path).toBe('/inspect?a')
  }),
  inUrl('an empty query is sent', async (scene) => {
    expect((await scene.inspect({}, `${scene.inspectUrl}?`)).path).toBe('/inspect?')
  }),
]

const METHODS: readonly Case[] = [
  ...['get', 'hEAD', 'post', 'Put', 'delete', 'oPtions'].map((method) =>
    inMethod(`'${method}' is normalized`, async (scene) => {
      const response = await scene.fetch(scene.inspectUrl, { method })
      expect((await toSeen(response)).method).toBe(method.toUpperCase())
    }),
  ),
  ...['PATCH', 'PROPFIND'].map((method) =>
    inMethod(`'${method}' is sent`, async (scene) => {
      expect((await scene.inspect({ method })).method).toBe(method)
    }),
  ),
  ...['patch', 'Chicken', 'x-y!z'].map((method) =>
    inMethod(`'${method}' is sent as it is`, async (scene) => {
      expect(await toWireMethod(scene, method)).toBe(method)
    }),
  ),
  ...['CONNECT', 'connect', 'TRACE', 'Trace', 'TRACK', 'track'].map((method) =>
    inMethod(`'${method}' is forbidden`, (scene) => scene.refuse(scene.inspectUrl, { method })),
  ),
  ...['', 'GE T', 'GET\n', ' GET', 'é', 'G\u0100T', 'GET/1', '(', '{}'].map((method) =>
    inMethod(`${JSON.stringify(method)} is no method`, (scene) => scene.refuse(scene.inspectUrl, { method })),
  ),
  inMethod('a symbol is no method', (scene) => scene.refuse(scene.inspectUrl, { method: Symbol('GET') })),
  inMethod('undefined is GET', async (scene) => {
    expect((await scene.inspect({ method: undefined })).method).toBe('GET')
  }),
  inMethod('an object is taken for its string', async (scene) => {
    expect((await scene.inspect({ method: { toString: () => 'put' } })).method).toBe('PUT')
  }),
]

const HEADERS: readonly Case[] = [
  ...['', 'a b', 'é', 'a:', 'a\n', '(a)', 'a\0'].map((name) =>
    inHeaders(`${JSON.stringify(name)} is no name`, (scene) =>
      scene.refuse(scene.inspectUrl, { headers: { [name]: 'value' } }),
    ),
  ),
  ...['a\nb', 'a\rb', 'a\0b', '\u0100', '🎾'].map((value) =>
    inHeaders(`${JSON.stringify(value)} is no value`, (scene) =>
      scene.refuse(scene.inspectUrl, { headers: { 'x-a': value } }),
    ),
  ),
  ...[null, 'a: b', 1, [['a']], [['a', 'b', 'c']], [['a', 'b'], []], ['ab', 1], { a: Symbol('b') }].map(
    (headers) =>
      inHeaders(`headers can't be ${toName(headers)}`, (scene) =>
        scene.refuse(scene.inspectUrl, { headers }),
      ),
  ),
  inHeaders('white space around a value is none of it', async (scene) => {
    expect(fieldOf(await scene.inspect({ headers: { 'x-a': ' \t\r\n a b \n' } }), 'x-a')).toBe('a b')
  }),
  inHeaders('an empty value is sent', async (scene) => {
    expect(fieldOf(await scene.inspect({ headers: { 'x-a': '' } }), 'x-a')).toBe('')
  }),
  inHeaders('a value is sent byte by byte', async (scene) => {
    expect(fieldOf(await scene.inspect({ headers: { 'x-a': 'é' } }), 'x-a')).toBe('é')
  }),
  inHeaders('pairs of one name are combined', async (scene) => {
    const headers = [
      ['x-a', '1'],
      ['X-A', '2'],
    ]
    expect(fieldOf(await scene.inspect({ headers }), 'x-a')).toBe('1, 2')
  }),
  inHeaders('any iterable of pairs is taken', async (scene) => {
    expect(fieldOf(await scene.inspect({ headers: new Map([['x-a', 'map']]) }), 'x-a')).toBe('map')
  }),
  inHeaders('Headers are taken', async (scene) => {
    const headers = new Headers({ 'x-a': '1' })
    headers.append('X-A', '2')
    expect(fieldOf(await scene.inspect({ headers }), 'x-a')).toBe('1, 2')
  }),
  inHeaders('values are taken for their strings', async (scene) => {
    const seen = await scene.inspect({ headers: { 'x-a': 1, 'x-b': null, 'x-c': undefined, 'x-d': [2, 3] } })
    const fields = ['x-a', 'x-b', 'x-c', 'x-d'].map((name) => fieldOf(seen, name))
    expect(fields).toEqual(['1', 'null', 'undefined', '2,3'])
  }),
  inHeaders('names that Object.prototype has are names like others', async (scene) => {
    const headers = [
      ['constructor', '1'],
      ['__proto__', '2'],
      ['toString', '3'],
    ]
    const seen = await scene.inspect({ headers })
    const fields = ['constructor', '__proto__', 'tostring'].map((name) => fieldOf(seen, name))
    expect(fields).toEqual(['1', '2', '3'])
  }),
  inHeaders('what is done to them after the call is not sent', async (scene) => {
    const headers = new Headers({ 'x-a': 'before' })
    const promise = scene.inspect({ headers })
    headers.set('x-a', 'after')
    expect(fieldOf(await promise, 'x-a')).toBe('before')
  }),
  inHeaders('what a getter of a record throws is the reason', async (scene) => {
    const reason = new RangeError('no value')
    const headers = {
      get a() {
        throw reason
      },
    }
    expect(await toReason(scene.fetch(scene.inspectUrl, { headers }))).toBe(reason)
  }),
  // A browser forbids its scripts these two; a server-side client has to give them itself, and Node lets it.
  inHeaders('cookie and referer, given by the caller, are sent', async (scene) => {
    const seen = await scene.inspect({ headers: { cookie: 'a=1; b=2', referer: 'http://caller/' } })
    expect(fieldOf(seen, 'cookie')?.replaceAll(', ', '; ')).toBe('a=1; b=2')
    expect(fieldOf(seen, 'referer')).toBe('http://caller/')
  }),
]

const ENUMS = ['mode', 'credentials', 'cache', 'redirect', 'referrerPolicy', 'duplex', 'priority']

const INITS: readonly Case[] = [
  ...[1, 'init', true, Symbol('init')].map((init) =>
    inInit(`init can't be ${toName(init)}`, (scene) => scene.refuse(scene.inspectUrl, init)),
  ),
  ...[null, undefined, () => {}, []].map((init) =>
    inInit(`init can be ${toName(init)}`, async (scene) => {
      expect((await scene.inspect(init)).method).toBe('GET')
    }),
  ),
  ...ENUMS.flatMap((name) => ['nonsense', null, ''].map((value) => [name, value] as const))
    .filter(([name, value]) => name !== 'referrerPolicy' || value !== '')
    .map(([name, value]) =>
      inInit(`${name} can't be ${toName(value)}`, (scene) =>
        scene.refuse(scene.inspectUrl, { [name]: value }),
      ),
    ),
  ...ENUMS.map((name) => inInit(`${name} can be undefined`, (scene) => scene.inspect({ [name]: undefined }))),
  inInit("mode can't be 'navigate'", (scene) => scene.refuse(scene.inspectUrl, { mode: 'navigate' })),
  inInit("duplex can't be 'full'", (scene) => scene.refuse(scene.inspectUrl, { duplex: 'full' })),
  ...['high', 'low', 'auto'].map((priority) =>
    inInit(`priority can be '${priority}'`, (scene) => scene.inspect({ priority })),
  ),
  inInit('cache: only-if-cached needs mode: same-origin', (scene) =>
    scene.refuse(scene.inspectUrl, { cache: 'only-if-cached' }),
  ),
  inInit('mode: no-cors takes no PUT', (scene) =>
    scene.refuse(scene.inspectUrl, { mode: 'no-cors', method: 'PUT' }),
  ),
  inInit('window can be null', (scene) => scene.inspect({ window: null })),
  inInit('window can be nothing else', (scene) => scene.refuse(scene.inspectUrl, { window: 'window' })),
  ...[{}, 1, 'abort'].map((signal) =>
    inInit(`signal can't be ${toName(signal)}`, (scene) => scene.refuse(scene.inspectUrl, { signal })),
  ),
  ...[null, undefined].map((signal) =>
    inInit(`signal can be ${signal}`, (scene) => scene.inspect({ signal })),
  ),
  inInit('a referrer that is no URL is refused', (scene) =>
    scene.refuse(scene.inspectUrl, { referrer: 'http://a b/' }),
  ),
  inInit('unknown members are ignored', (scene) => scene.inspect({ nonsense: 1, keepalive: 0 })),
  ...['method', 'headers', 'body', 'signal', 'redirect', 'integrity'].map((name) =>
    inInit(`what the getter of ${name} throws is the reason`, async (scene) => {
      const reason = new RangeError(name)
      const init = Object.defineProperty({ method: 'POST' }, name, {
        get() {
          throw reason
        },
      })
      expect(await toReason(scene.fetch(scene.inspectUrl, init))).toBe(reason)
    }),
  ),
  inInit('inherited members count', async (scene) => {
    expect((await scene.inspect(Object.create({ method: 'PUT' }))).method).toBe('PUT')
  }),
]

const BODIES: readonly Case[] = [
  ...['GET', 'get', 'HEAD'].flatMap((method) =>
    ['text', ''].map((body) =>
      inBody(`${method} has no body, not '${body}'`, (scene) =>
        scene.refuse(scene.inspectUrl, { method, body }),
      ),
    ),
  ),
  inBody('no method is GET, which has none', (scene) => scene.refuse(scene.inspectUrl, { body: 'text' })),
  ...[null, undefined].map((body) =>
    inBody(`GET can have a body that is ${body}`, async (scene) => {
      expect((await scene.inspect({ body })).body).toBe('')
    }),
  ),
]

/** Some of each part of the list. */
const BAD_PORTS = [
  1, 7, 22, 25, 53, 110, 143, 161, 389, 465, 587, 993, 995, 1719, 2049, 3659, 4190, 5060, 6000,
]
const MORE_BAD_PORTS = [6566, 6665, 6669, 6679, 6697, 10080]

const PORTS: readonly Case[] = [
  inPort('a bad port is refused, without a try to connect', async (scene) => {
    for (const port of [...BAD_PORTS, ...MORE_BAD_PORTS]) {
      const url = `${scene.origin.replace(/\d+$/, `${port}`)}/`
      const { cause } = await scene.refuse(url)
      expect(String(Reflect.get(Object(cause), 'code')), url).not.toBe('ECONNREFUSED')
    }
  }),
  inPort('a redirection to a bad port is refused as well', async (scene) => {
    const location = `${scene.origin.replace(/\d+$/, '6667')}/`
    const { cause } = await scene.refuse(scene.url({ status: 302, headers: [['location', location]] }))
    expect(String(Reflect.get(Object(cause), 'code'))).not.toBe('ECONNREFUSED')
  }),
]

export const REQUESTS: readonly Case[] = [...URLS, ...METHODS, ...HEADERS, ...INITS, ...BODIES, ...PORTS]

function toName(value: unknown): string {
  if (typeof value === 'symbol' || typeof value === 'function') return `a ${typeof value}`
  return Object(value) === value ? JSON.stringify(value).replace(/"/g, "'") : `${JSON.stringify(value)}`
}

/** What a Response says, without its body. */

import { expect } from 'vitest'
import type { Case } from './standard-scene.ts'
import { inSection } from './standard-scene.ts'

const inStatus = inSection('5.5 Response class: status, ok and statusText')
const inUrl = inSection('5.5 Response class: url, redirected and type')
const inHeaders = inSection('5.5 Response class: headers')
const inInterim = inSection('4.6 HTTP-network fetch: interim responses')
const inObject = inSection('5.5 Response class: the object')

const STATUSES: readonly Case[] = [
  ...[200, 201, 202, 203, 204, 205, 206, 226, 299].map((status) =>
    inStatus(`${status} is ok`, async (scene) => {
      const response = await scene.ask({ status })
      expect([response.status, response.ok]).toEqual([status, true])
    }),
  ),
  ...[300, 304, 400, 401, 404, 405, 418, 421, 425, 429, 451, 500, 501, 503, 599].map((status) =>
    inStatus(`${status} is a response, and not ok`, async (scene) => {
      const response = await scene.ask({ status })
      expect([response.status, response.ok]).toEqual([status, false])
    }),
  ),
  ...['Not Found', 'My Own Words', ''].map((reason) =>
    inStatus(`'${reason}' is the statusText, over HTTP/1.1`, async (scene) => {
      const { statusText } = scene.isHttp2
        ? await scene.ask({ status: 404, reason })
        : await scene.fetch(toRaw(scene.raw, `HTTP/1.1 404 ${reason}`))
      expect(statusText).toBe(scene.isHttp2 ? '' : reason)
    }),
  ),
  inStatus('a statusText is read byte by byte', async (scene) => {
    if (scene.isHttp2) return
    const { statusText } = await scene.fetch(toRaw(scene.raw, 'HTTP/1.1 200 \xe9'))
    expect(statusText).toBe('é')
  }),
]

function toRaw(raw: string, statusLine: string): string {
  const bytes = Buffer.from(`${statusLine}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n`, 'latin1')
  return `${raw}/?${bytes.toString('base64url')}`
}

const URLS: readonly Case[] = [
  inUrl('url is that of the request, without its fragment', async (scene) => {
    const url = scene.url({})
    expect((await scene.fetch(`${url}#fragment`)).url).toBe(url)
  }),
  inUrl('url is serialized', async (scene) => {
    const response = await scene.fetch(`${scene.origin.toUpperCase()}/a/../inspect?é`)
    expect(response.url).toBe(`${scene.inspectUrl}?%C3%A9`)
  }),
  inUrl('url is the last one of a redirection', async (scene) => {
    const response = await scene.redirect(302, '/inspect?last#fragment')
    expect([response.url, response.redirected]).toEqual([`${scene.inspectUrl}?last`, true])
  }),
  inUrl('redirected is false otherwise', async (scene) => {
    expect((await scene.ask({})).redirected).toBe(false)
  }),
  // Cross-origin it would be 'cors' in a browser; Node has no origin to compare with.
  inUrl("type is 'basic'", async (scene) => {
    expect((await scene.ask({})).type).toBe('basic')
  }),
]

const HEADERS: readonly Case[] = [
  inHeaders('names are those of any case', async (scene) => {
    const { headers } = await scene.ask({ headers: [['X-Mixed', 'a']] })
    expect([headers.get('x-mixed'), headers.get('X-MIXED'), headers.has('x-Mixed')]).toEqual(['a', 'a', true])
  }),
  inHeaders('one that is not there is null', async (scene) => {
    const { headers } = await scene.ask({})
    expect([headers.get('x-none'), headers.has('x-none')]).toEqual([null, false])
  }),
  inHeaders('an empty value is one', async (scene) => {
    const { headers } = await scene.ask({ headers: [['x-empty', '']] })
    expect([headers.get('x-empty'), headers.has('x-empty')]).toEqual(['', true])
  }),
  inHeaders('duplicates are combined, in order', async (scene) => {
    const { headers } = await scene.ask({
      headers: [
        ['x-dup', '1'],
        ['x-dup', ''],
        ['x-dup', '2, 3'],
      ],
    })
    expect(headers.get('x-dup')).toBe('1, , 2, 3')
  }),
  ...['vary', 'link', 'www-authenticate', 'via'].map((name) =>
    inHeaders(`duplicates of ${name} are combined`, async (scene) => {
      const { headers } = await scene.ask({
        headers: [
          [name, 'a'],
          [name, 'b'],
        ],
      })
      expect(headers.get(name)).toBe('a, b')
    }),
  ),
  inHeaders('cookies are kept apart', async (scene) => {
    const { headers } = await scene.ask({
      headers: [
        ['set-cookie', 'a=1; Expires=Wed, 01 Jan 2020 00:00:00 GMT'],
        ['set-cookie', 'b=2'],
        ['set-cookie', 'a=1'],
      ],
    })
    const cookies = ['a=1; Expires=Wed, 01 Jan 2020 00:00:00 GMT', 'b=2', 'a=1']
    expect(headers.getSetCookie()).toEqual(cookies)
    expect(headers.get('set-cookie')).toBe(cookies.join(', '))
    expect([...headers].filter(([name]) => name === 'set-cookie').map(([, value]) => value)).toEqual(cookies)
  }),
  inHeaders('without a cookie there is none', async (scene) => {
    expect((await scene.ask({})).headers.getSetCookie()).toEqual([])
  }),
  inHeaders('they are iterated sorted, by names in lower case', async (scene) => {
    const fields = ['x-b', 'X-C', 'x-a', 'A-z'].map((name) => [name, name] as const)
    const { headers } = await scene.ask({ headers: fields })
    const names = [...headers.keys()]
    expect(names).toEqual(names.map((name) => name.toLowerCase()).sort())
    expect(names.filter((name) => name === 'a-z' || name.startsWith('x-'))).toEqual([
      'a-z',
      'x-a',
      'x-b',
      'x-c',
      'x-protocol',
    ])
    expect([...headers.entries()]).toEqual([...headers])
    expect([...headers.values()]).toEqual([...headers].map(([, value]) => value))
    const each: string[] = []
    headers.forEach((value, name) => {
      each.push(`${name}: ${value}`)
    })
    expect(each).toEqual([...headers].map(([name, value]) => `${name}: ${value}`))
  }),
  inHeaders('they can not be changed', async (scene) => {
    const { headers } = await scene.ask({ headers: [['x-a', '1']] })
    expect(() => headers.set('x-a', '2')).toThrow(TypeError)
    expect(() => headers.append('x-b', '2')).toThrow(TypeError)
    expect(() => headers.delete('x-a')).toThrow(TypeError)
    expect(headers.get('x-a')).toBe('1')
  }),
  inHeaders('a name that is none is refused', async (scene) => {
    const { headers } = await scene.ask({})
    expect(() => headers.get('a b')).toThrow(TypeError)
    expect(() => headers.has('')).toThrow(TypeError)
  }),
  inHeaders('names that Object.prototype has are names like others', async (scene) => {
    const { headers } = await scene.ask({ headers: [['constructor', 'mine']] })
    expect([headers.get('constructor'), headers.get('tostring'), headers.get('__proto__')]).toEqual([
      'mine',
      null,
      null,
    ])
  }),
  inHeaders('values are read byte by byte', async (scene) => {
    const { headers } = await scene.ask({ headers: [['x-bytes', '\xe9\xc3\xa9\xff']] })
    expect(headers.get('x-bytes')).toBe('\xe9\xc3\xa9\xff')
  }),
  inHeaders('white space around a value is none of it', async (scene) => {
    if (scene.isHttp2) return
    const { headers } = await scene.fetch(toRaw(scene.raw, 'HTTP/1.1 200 OK\r\nx-a: \t a b\t '))
    expect(headers.get('x-a')).toBe('a b')
  }),
  inHeaders('they are Headers, and always the same', async (scene) => {
    const response = await scene.ask({ headers: [['x-a', '1']] })
    expect(response.headers).toBeInstanceOf(Headers)
    expect(response.headers).toBe(response.headers)
    const copy = new Headers(response.headers)
    copy.set('x-a', '2')
    expect([copy.get('x-a'), response.headers.get('x-a')]).toEqual(['2', '1'])
  }),
  inHeaders('trailers are none of them', async (scene) => {
    const response = await scene.ask({ body: 'text' })
    await response.text()
    expect(response.headers.has('x-sum')).toBe(false)
  }),
]

const INTERIM: readonly Case[] = [
  inInterim('a 103 is passed over', async (scene) => {
    const response = await scene.ask({ hints: { link: '</a.css>; rel=preload' }, body: 'text' })
    expect([response.status, response.headers.get('link'), await response.text()]).toEqual([
      200,
      null,
      'text',
    ])
  }),
]

const OBJECT: readonly Case[] = [
  inObject('it is a Response', async (scene) => {
    const response = await scene.ask({})
    expect(response).toBeInstanceOf(Response)
    expect(Object.prototype.toString.call(response)).toBe('[object Response]')
  }),
  ...['status', 'ok', 'statusText', 'url', 'redirected', 'type', 'headers', 'body', 'bodyUsed'].map((name) =>
    inObject(`${name} is read-only`, async (scene) => {
      const response = await scene.ask({})
      const before = Reflect.get(response, name)
      expect(Reflect.set(response, name, 'other')).toBe(false)
      expect(Reflect.get(response, name)).toBe(before)
      expect(name in response && !Object.hasOwn(response, name)).toBe(true)
    }),
  ),
  inObject('nothing of it is enumerated as its own', async (scene) => {
    expect(Object.keys(await scene.ask({}))).toEqual([])
  }),
  inObject('the promise is one of Promise', async (scene) => {
    const promise = scene.ask({})
    expect(promise).toBeInstanceOf(Promise)
    await promise
  }),
]

export const RESPONSES: readonly Case[] = [...STATUSES, ...URLS, ...HEADERS, ...INTERIM, ...OBJECT]

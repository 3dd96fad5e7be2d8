/** Schemes that aren't HTTP's, and the errors of a network. */

import { Blob as NodeBlob } from 'node:buffer'
import { createServer } from 'node:net'
import { expect } from 'vitest'
import { toStream } from './standard-request-bodies.ts'
import type { Case, Scene } from './standard-scene.ts'
import { inSection, toReason, toTypeError } from './standard-scene.ts'

const inScheme = inSection('4.2 Scheme fetch: other schemes')
const inData = inSection('6. data: URLs')
const inBlob = inSection('4.2 Scheme fetch: blob')
const inError = inSection('4.6 HTTP-network fetch: a network error')
const inStatus = inSection('4.5 HTTP-network-or-cache fetch: 401, 407, 421')
const inParsing = inSection('4.6 HTTP-network fetch: what is no HTTP')

const SCHEMES: readonly Case[] = [
  ...[
    'ftp://localhost/',
    'ws://localhost/',
    'mailto:a@b',
    'nonsense:a',
    'about:srcdoc',
    'about:',
    'javascript:1',
  ].map((url) => inScheme(`${url} is refused`, (scene) => scene.refuse(url))),
  // The standard leaves file: to the implementation, and recommends a network error.
  inScheme('file:///etc/hosts is refused', (scene) => scene.refuse('file:///etc/hosts')),
  inScheme('about:blank is refused', (scene) => scene.refuse('about:blank')),
]

const NO_BYTES: readonly number[] = []

/** [the URL, the type, the bytes] */
const DATA: readonly (readonly [string, string, string | readonly number[]])[] = [
  ['data:,text', 'text/plain;charset=US-ASCII', 'text'],
  ['data:,', 'text/plain;charset=US-ASCII', ''],
  ['data:text/plain,a%20b', 'text/plain', 'a b'],
  ['data:text/plain;charset=utf-8,%C3%A9', 'text/plain;charset=utf-8', 'é'],
  ['data:text/html;base64,dGV4dA==', 'text/html', 'text'],
  ['data:text/html;base64,dGV4dA', 'text/html', 'text'],
  ['data:text/html; BASE64 ,dGV4dA==', 'text/html', 'text'],
  ['data:text/html;base64,dGV4%20dA%3D%3D', 'text/html', 'text'],
  ['data:;base64,/+8=', 'text/plain;charset=US-ASCII', [0xff, 0xef]],
  ['data:;charset=x,a', 'text/plain;charset=x', 'a'],
  ['data:nonsense,a', 'text/plain;charset=US-ASCII', 'a'],
  ['data:image/PNG;Name="A b",%FF', 'image/png;name="A b"', [0xff]],
  ['data:text/plain,a?b', 'text/plain', 'a?b'],
  ['data:text/plain,%zz', 'text/plain', '%zz'],
  ['data:text/plain,a#fragment', 'text/plain', 'a'],
  ['DATA:text/plain,a', 'text/plain', 'a'],
  ['data:text/plain;base64;a=b,dGV4dA==', 'text/plain;a=b', 'dGV4dA=='],
  ['data:text/plain;base64,', 'text/plain', NO_BYTES],
]

const DATAS: readonly Case[] = [
  ...DATA.map(([url, type, bytes]) =>
    inData(`${url} gets a response`, async (scene) => {
      const response = await scene.fetch(url)
      expect([response.status, response.ok, response.statusText, response.redirected]).toEqual([
        200,
        true,
        'OK',
        false,
      ])
      expect([...response.headers]).toEqual([['content-type', type]])
      expect([...(await response.bytes())]).toEqual([...Buffer.from(bytes)])
    }),
  ),
  ...['data:text/plain', 'data:text/html;base64,d', 'data:;base64,a*b='].map((url) =>
    inData(`${url} is refused`, (scene) => scene.refuse(url)),
  ),
  inData('its url is without the fragment', async (scene) => {
    const response = await scene.fetch('data:text/plain,a%20b#fragment')
    expect([response.url, response.type]).toEqual(['data:text/plain,a%20b', 'basic'])
  }),
  ...['POST', 'PUT', 'OPTIONS'].map((method) =>
    inData(`${method} gets the same response`, async (scene) => {
      expect(await (await scene.fetch('data:,text', { method })).text()).toBe('text')
    }),
  ),
  inData('HEAD has a null body', async (scene) => {
    const response = await scene.fetch('data:,text', { method: 'HEAD' })
    expect([response.status, response.body, await response.text()]).toEqual([200, null, ''])
  }),
  inData('a Request of it gets a response', async (scene) => {
    const response = await scene.fetch(new Request('data:application/json,{"a":1}'))
    expect([await response.json(), response.bodyUsed]).toEqual([{ a: 1 }, true])
  }),
  inData('its response can be cloned', async (scene) => {
    const response = await scene.fetch('data:,text')
    const clone = response.clone()
    expect([await clone.text(), await response.text()]).toEqual(['text', 'text'])
  }),
  inData('a signal that was aborted before fails it', async (scene) => {
    expect(await toReason(scene.fetch('data:,text', { signal: AbortSignal.abort('mine') }))).toBe('mine')
  }),
  inData('mode: same-origin gets it', async (scene) => {
    expect(await (await scene.fetch('data:,text', { mode: 'same-origin' })).text()).toBe('text')
  }),
]

async function withBlob(
  parts: string[],
  type: string,
  run: (url: string) => Promise<unknown>,
): Promise<void> {
  const url = URL.createObjectURL(new NodeBlob(parts, { type }))
  try {
    await run(url)
  } finally {
    URL.revokeObjectURL(url)
  }
}

function askBlob(scene: Scene, init: object, run: (response: Response) => Promise<unknown>): Promise<void> {
  return withBlob(['text'], 'text/css', async (url) => run(await scene.fetch(url, init)))
}

const BLOBS: readonly Case[] = [
  inBlob('a Blob is a response, with its type and length', (scene) =>
    askBlob(scene, {}, async (response) => {
      expect([response.status, response.statusText]).toEqual([200, 'OK'])
      expect([...response.headers]).toEqual([
        ['content-length', '4'],
        ['content-type', 'text/css'],
      ])
      expect(await response.text()).toBe('text')
    }),
  ),
  inBlob('a Blob without a type has an empty one', (scene) =>
    withBlob(['text'], '', async (url) => {
      expect((await scene.fetch(url)).headers.get('content-type')).toBe('')
    }),
  ),
  inBlob('an empty Blob is a response', (scene) =>
    withBlob([], 'a/b', async (url) => {
      const response = await scene.fetch(url)
      expect([response.headers.get('content-length'), await response.text()]).toEqual(['0', ''])
    }),
  ),
  inBlob('a fragment is none of its url', (scene) =>
    withBlob(['text'], 'a/b', async (url) => {
      const response = await scene.fetch(`${url}#fragment`)
      expect([await response.text(), response.url]).toEqual(['text', url])
    }),
  ),
  ...['POST', 'HEAD', 'PUT', 'DELETE'].map((method) =>
    inBlob(`${method} is refused`, (scene) => withBlob(['text'], '', (url) => scene.refuse(url, { method }))),
  ),
  ...[
    ['bytes=1-2', 206, 'ex', 'bytes 1-2/4'],
    ['bytes=2-', 206, 'xt', 'bytes 2-3/4'],
    ['bytes=-1', 206, 't', 'bytes 3-3/4'],
    ['bytes=1-99', 206, 'ext', 'bytes 1-3/4'],
  ].map(([range, status, text, contentRange]) =>
    inBlob(`the range ${range} gets a response`, (scene) =>
      askBlob(scene, { headers: { range } }, async (response) => {
        expect([response.status, response.statusText]).toEqual([status, 'Partial Content'])
        expect(response.headers.get('content-range')).toBe(contentRange)
        expect(await response.text()).toBe(text)
      }),
    ),
  ),
  ...['bytes=4-', 'bytes=2-1', 'nonsense', 'bytes=-'].map((range) =>
    inBlob(`the range ${range} is refused`, (scene) =>
      withBlob(['text'], '', (url) => scene.refuse(url, { headers: { range } })),
    ),
  ),
  inBlob('one that was revoked is refused', async (scene) => {
    const url = URL.createObjectURL(new NodeBlob(['text']))
    URL.revokeObjectURL(url)
    await scene.refuse(url)
  }),
  inBlob('one that never was is refused', (scene) => scene.refuse('blob:nodedata:none')),
]

/** A port without a listener. */
async function toFreePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  return typeof address === 'object' && address !== null ? address.port : expect.fail()
}

const ERRORS: readonly Case[] = [
  inError('a connection that is refused is a TypeError with a cause', async (scene) => {
    const url = `${scene.origin.replace(/\d+$/, `${await toFreePort()}`)}/`
    const error = await scene.refuse(url)
    expect(error.message).toBe('fetch failed')
    expect(error.cause).toBeInstanceOf(Error)
    expect(error.cause).toHaveProperty('code', 'ECONNREFUSED')
  }),
  inError('an unknown host is a TypeError with a cause', async (scene) => {
    const { cause } = await scene.refuse(scene.inspectUrl.replace('localhost', 'unknown.invalid'))
    expect(cause).toBeInstanceOf(Error)
  }),
  inError('a connection that breaks before the header is a TypeError with a cause', async (scene) => {
    const { cause } = await scene.refuse(scene.url({ end: 'refuse' }))
    expect(cause).toBeInstanceOf(Error)
  }),
  inError('a connection that breaks while a body is sent is a TypeError', (scene) =>
    scene.refuse(scene.url({ end: 'refuse', early: true }), { method: 'POST', body: 'a'.repeat(1 << 20) }),
  ),
  inError('the next call works', async (scene) => {
    await scene.refuse(scene.url({ end: 'refuse' }))
    expect(await (await scene.ask({ body: 'text' })).text()).toBe('text')
  }),
  inError('a connection that breaks in the body is a TypeError with a cause', async (scene) => {
    const error = await toTypeError((await scene.ask({ body: 'begun', end: 'reset' })).text())
    expect(error.cause).toBeInstanceOf(Error)
  }),
]

const STATUSES: readonly Case[] = [
  inStatus('401 is a response', async (scene) => {
    const headers = [['www-authenticate', 'Basic realm="a"']] as const
    const response = await scene.ask({ status: 401, headers, body: 'who?' })
    expect([response.status, await response.text()]).toEqual([401, 'who?'])
  }),
  // There is no user to ask for a password.
  inStatus('407 is refused', (scene) => scene.refuse(scene.url({ status: 407 }))),
  inStatus('421 to a stream is a response, of the only try', async (scene) => {
    const body = toStream(new TextEncoder().encode('a'))
    const init = { method: 'POST', body, duplex: 'half' }
    const response = await scene.ask({ status: 421, body: 'elsewhere' }, init)
    expect([response.status, await response.text()]).toEqual([421, 'elsewhere'])
  }),
  inStatus('421 is a response, of the second try', async (scene) => {
    const response = await scene.ask({ status: 421, body: 'elsewhere' })
    expect([response.status, await response.text()]).toEqual([421, 'elsewhere'])
  }),
]

const NO_HTTP: readonly (readonly [string, string])[] = [
  ['nonsense', 'nonsense\r\n\r\n'],
  ['a status of two digits', 'HTTP/1.1 20 OK\r\n\r\n'],
  ['another protocol', 'ICY 200 OK\r\n\r\n'],
  ['a field with NUL', 'HTTP/1.1 200 OK\r\nx-a: a\0b\r\n\r\n'],
  ['a field whose name has a space', 'HTTP/1.1 200 OK\r\nx a: b\r\n\r\n'],
  ['an empty line', '\r\n'],
  ['half of a header', 'HTTP/1.1 200 OK\r\nx-a'],
]

const NO_BODIES: readonly (readonly [string, string])[] = [
  ['a chunk that is cut', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\ntex'],
  ['chunks without an end', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\ntext\r\n'],
  ['a chunk of a bad size', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\ntext\r\nx\r\n'],
  ['less than content-length', 'HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\ntext'],
]

function toRaw(scene: Scene, bytes: string): string {
  return `${scene.raw}/?${Buffer.from(bytes, 'latin1').toString('base64url')}`
}

// HTTP/1.1 alone: over HTTP/2 nothing of it can be said.
const PARSING: readonly Case[] = [
  ...NO_HTTP.map(([what, bytes]) =>
    inParsing(`${what} is a TypeError`, async (scene) => {
      if (!scene.isHttp2) await scene.refuse(toRaw(scene, bytes))
    }),
  ),
  ...NO_BODIES.map(([what, bytes]) =>
    inParsing(`${what} is a TypeError of the body`, async (scene) => {
      if (!scene.isHttp2)
        await toTypeError(scene.fetch(toRaw(scene, bytes)).then((response) => response.text()))
    }),
  ),
  inParsing('a body without a length ends with its connection', async (scene) => {
    if (scene.isHttp2) return
    const response = await scene.fetch(toRaw(scene, 'HTTP/1.1 200 OK\r\n\r\nall of it'))
    expect(await response.text()).toBe('all of it')
  }),
]

export const SCHEMED: readonly Case[] = [...SCHEMES, ...DATAS, ...BLOBS, ...ERRORS, ...STATUSES, ...PARSING]

/** A Request as input, with and without an init that overrides it. */

import { ReadableStream } from 'node:stream/web'
import { expect } from 'vitest'
import type { Case } from './standard-scene.ts'
import { bodyOf, fieldOf, inSection, toDomException, toReason, toSeen } from './standard-scene.ts'

const inInput = inSection('5.4 Request class: a Request as input')
const inOverride = inSection('5.4 Request class: init overrides the input')
const inBody = inSection('5.4 Request class: the body of the input')

function toForm(): FormData {
  const form = new FormData()
  form.append('a', '1')
  return form
}

function toStream(): ReadableStream {
  return new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode('a=1'))
      controller.close()
    },
  })
}

const KINDS: readonly (readonly [string, () => object, string | null])[] = [
  ['a string', () => ({ body: 'a=1' }), 'text/plain;charset=UTF-8'],
  ['bytes', () => ({ body: new TextEncoder().encode('a=1') }), null],
  ['a Blob', () => ({ body: new Blob(['a=1'], { type: 'a/b' }) }), 'a/b'],
  [
    'URLSearchParams',
    () => ({ body: new URLSearchParams('a=1') }),
    'application/x-www-form-urlencoded;charset=UTF-8',
  ],
  ['a FormData', () => ({ body: toForm() }), 'multipart/form-data'],
  ['a stream', () => ({ body: toStream(), duplex: 'half' }), null],
]

const INPUTS: readonly Case[] = [
  inInput('its URL, method and headers are sent', async (scene) => {
    const url = `${scene.inspectUrl}?a#fragment`
    const seen = await scene.inspect(undefined, new Request(url, { method: 'put', headers: { 'x-a': '1' } }))
    expect([seen.method, seen.path, fieldOf(seen, 'x-a')]).toEqual(['PUT', '/inspect?a', '1'])
  }),
  inInput('headers that were set on it are sent', async (scene) => {
    const request = new Request(scene.inspectUrl)
    request.headers.set('x-a', '1')
    expect(fieldOf(await scene.inspect(undefined, request), 'x-a')).toBe('1')
  }),
  inInput('one without a body can be used again', async (scene) => {
    const request = new Request(scene.inspectUrl)
    await scene.inspect(undefined, request)
    await scene.inspect(undefined, request)
    expect(request.bodyUsed).toBe(false)
  }),
  inInput('one of a class that extends Request is one', async (scene) => {
    class Mine extends Request {}
    expect((await scene.inspect(undefined, new Mine(scene.inspectUrl, { method: 'PUT' }))).method).toBe('PUT')
  }),
  inInput('its redirect mode counts', async (scene) => {
    const url = scene.url({ status: 302, headers: [['location', '/inspect']] })
    await scene.refuse(new Request(url, { redirect: 'error' }))
    expect((await scene.fetch(new Request(url, { redirect: 'manual' }))).status).toBe(302)
  }),
  inInput('its cache mode counts', async (scene) => {
    const request = new Request(scene.inspectUrl, { cache: 'no-store' })
    expect(fieldOf(await scene.inspect(undefined, request), 'cache-control')).toBe('no-cache')
  }),
  inInput('its integrity counts', async (scene) => {
    await scene.refuse(new Request(scene.inspectUrl, { integrity: `sha256-${'A'.repeat(43)}=` }))
  }),
  inInput('its referrer counts', async (scene) => {
    const referrer = `${scene.origin}/page`
    const request = new Request(scene.inspectUrl, { referrer, referrerPolicy: 'unsafe-url' })
    expect(fieldOf(await scene.inspect(undefined, request), 'referer')).toBe(referrer)
  }),
  inInput('its signal counts', async (scene) => {
    const controller = new AbortController()
    const request = new Request(scene.url({ end: 'hold' }), { signal: controller.signal })
    const promise = scene.fetch(request)
    controller.abort()
    await toDomException(promise, 'AbortError')
  }),
  inInput('its signal counts for its clone, and for a Request that is made of it', async (scene) => {
    const controller = new AbortController()
    const request = new Request(scene.url({ end: 'hold' }), { signal: controller.signal })
    const promises = [scene.fetch(request.clone()), scene.fetch(new Request(request))]
    controller.abort()
    for (const promise of promises) await toDomException(promise, 'AbortError')
  }),
  inInput('its signal may be aborted before', async (scene) => {
    const request = new Request(scene.inspectUrl, { signal: AbortSignal.abort() })
    await toDomException(scene.fetch(request), 'AbortError')
  }),
]

const OVERRIDES: readonly Case[] = [
  inOverride('the method', async (scene) => {
    const request = new Request(scene.inspectUrl, { method: 'PUT' })
    expect((await scene.inspect({ method: 'DELETE' }, request)).method).toBe('DELETE')
  }),
  inOverride('all headers', async (scene) => {
    const request = new Request(scene.inspectUrl, { headers: { 'x-a': '1' } })
    const seen = await scene.inspect({ headers: { 'x-b': '2' } }, request)
    expect([fieldOf(seen, 'x-a'), fieldOf(seen, 'x-b')]).toEqual([null, '2'])
  }),
  inOverride('members that are undefined override nothing', async (scene) => {
    const request = new Request(scene.inspectUrl, { method: 'PUT', headers: { 'x-a': '1' }, body: 'text' })
    const seen = await scene.inspect({ method: undefined, headers: undefined, body: undefined }, request)
    expect([seen.method, fieldOf(seen, 'x-a'), bodyOf(seen)]).toEqual(['PUT', '1', 'text'])
  }),
  inOverride('the body', async (scene) => {
    const request = new Request(scene.inspectUrl, { method: 'POST', body: 'old' })
    expect(bodyOf(await scene.inspect({ body: 'new' }, request))).toBe('new')
  }),
  inOverride('a content-type that the input has stays for another body', async (scene) => {
    const request = new Request(scene.inspectUrl, { method: 'POST', body: new URLSearchParams('a=1') })
    const seen = await scene.inspect({ body: 'text' }, request)
    expect(fieldOf(seen, 'content-type')).toBe('application/x-www-form-urlencoded;charset=UTF-8')
  }),
  inOverride('headers without a content-type leave a body of the input without one', async (scene) => {
    const request = new Request(scene.inspectUrl, { method: 'POST', body: 'text' })
    const seen = await scene.inspect({ headers: { 'x-a': '1' } }, request)
    expect([fieldOf(seen, 'content-type'), bodyOf(seen)]).toEqual([null, 'text'])
  }),
  inOverride('body: null keeps that of the input', async (scene) => {
    const request = new Request(scene.inspectUrl, { method: 'POST', body: 'text' })
    expect(bodyOf(await scene.inspect({ body: null }, request))).toBe('text')
  }),
  inOverride('GET for an input with a body is refused', async (scene) => {
    const request = new Request(scene.inspectUrl, { method: 'POST', body: 'text' })
    await scene.refuse(request, { method: 'GET' })
  }),
  inOverride('a body for an input of GET is refused', (scene) =>
    scene.refuse(new Request(scene.inspectUrl), { body: 'text' }),
  ),
  inOverride('the redirect mode', async (scene) => {
    const url = scene.url({ status: 302, headers: [['location', '/inspect']] })
    const response = await scene.fetch(new Request(url, { redirect: 'error' }), { redirect: 'manual' })
    expect(response.status).toBe(302)
  }),
  inOverride('the signal', async (scene) => {
    const controller = new AbortController()
    const request = new Request(scene.inspectUrl, { signal: AbortSignal.abort() })
    expect((await scene.inspect({ signal: controller.signal }, request)).method).toBe('GET')
  }),
  inOverride('signal: null, by none', async (scene) => {
    const request = new Request(scene.inspectUrl, { signal: AbortSignal.abort() })
    expect((await scene.inspect({ signal: null }, request)).method).toBe('GET')
  }),
  inOverride('signal: undefined does not', async (scene) => {
    const request = new Request(scene.inspectUrl, { signal: AbortSignal.abort() })
    await toDomException(scene.fetch(request, { signal: undefined }), 'AbortError')
  }),
  inOverride('other members leave the signal', async (scene) => {
    const request = new Request(scene.inspectUrl, { signal: AbortSignal.abort() })
    await toDomException(scene.fetch(request, { method: 'PUT', headers: {} }), 'AbortError')
  }),
  inOverride('an init with any member takes the referrer away', async (scene) => {
    const request = new Request(scene.inspectUrl, { referrer: `${scene.origin}/page` })
    expect(fieldOf(await scene.inspect({ method: 'GET' }, request), 'referer')).toBeNull()
  }),
  inOverride('an empty init leaves the referrer', async (scene) => {
    const referrer = `${scene.origin}/page`
    const request = new Request(scene.inspectUrl, { referrer, referrerPolicy: 'unsafe-url' })
    expect(fieldOf(await scene.inspect({}, request), 'referer')).toBe(referrer)
  }),
]

const BODIES: readonly Case[] = [
  ...KINDS.map(([what, toInit, type]) =>
    inBody(`${what} is sent`, async (scene) => {
      const request = new Request(scene.inspectUrl, { method: 'POST', ...toInit() })
      const seen = await scene.inspect(undefined, request)
      if (type === 'multipart/form-data') expect(bodyOf(seen)).toContain('name="a"\r\n\r\n1\r\n')
      else expect(bodyOf(seen)).toBe('a=1')
      expect(fieldOf(seen, 'content-type')?.split('; boundary')[0] ?? null).toBe(type)
      expect(request.bodyUsed).toBe(true)
    }),
  ),
  ...['a string', 'a stream'].map((kind) =>
    inBody(`${kind} is used by the call at once, and refused the second time`, async (scene) => {
      const toInit = KINDS.find(([what]) => what === kind)?.[1] ?? expect.fail()
      const request = new Request(scene.inspectUrl, { method: 'POST', ...toInit() })
      const promise = scene.inspect(undefined, request)
      expect(request.bodyUsed).toBe(true)
      await promise
      await scene.refuse(request)
      expect(await toReason(request.text())).toBeInstanceOf(TypeError)
    }),
  ),
  inBody('one that was read is refused', async (scene) => {
    const request = new Request(scene.inspectUrl, { method: 'POST', body: 'text' })
    await request.text()
    await scene.refuse(request)
  }),
  inBody('one that is locked is refused', async (scene) => {
    const request = new Request(scene.inspectUrl, { method: 'POST', body: 'text' })
    request.body?.getReader()
    await scene.refuse(request)
  }),
  inBody('one that was read can be overridden', async (scene) => {
    const request = new Request(scene.inspectUrl, { method: 'POST', body: 'text' })
    await request.text()
    expect(bodyOf(await scene.inspect({ body: 'new' }, request))).toBe('new')
  }),
  inBody('one that is overridden is not used', async (scene) => {
    const request = new Request(scene.inspectUrl, { method: 'POST', body: 'text' })
    await scene.inspect({ body: 'new' }, request)
    expect(request.bodyUsed).toBe(false)
    expect(await request.text()).toBe('text')
  }),
  inBody('a Request and its clone can both be sent', async (scene) => {
    const request = new Request(scene.inspectUrl, { method: 'POST', body: 'text' })
    const clone = request.clone()
    expect(bodyOf(await scene.inspect(undefined, request))).toBe('text')
    expect(bodyOf(await scene.inspect(undefined, clone))).toBe('text')
  }),
  inBody('it is used by a call whose signal was aborted before', async (scene) => {
    const request = new Request(scene.inspectUrl, {
      method: 'POST',
      body: 'text',
      signal: AbortSignal.abort(),
    })
    await toDomException(scene.fetch(request), 'AbortError')
    expect(request.bodyUsed).toBe(true)
  }),
  inBody('a stream is cancelled by a signal that was aborted before', async (scene) => {
    const cancelled = new Promise((resolve) => {
      const body = new ReadableStream({ cancel: resolve })
      const init = { method: 'POST', body, duplex: 'half' as const, signal: AbortSignal.abort('mine') }
      scene.fetch(new Request(scene.inspectUrl, init))
    })
    expect(await cancelled).toBe('mine')
  }),
  inBody('it is sent again after a 307', async (scene) => {
    const url = scene.url({ status: 307, headers: [['location', '/inspect']] })
    const seen = await toSeen(await scene.fetch(new Request(url, { method: 'POST', body: 'text' })))
    expect([seen.method, bodyOf(seen)]).toEqual(['POST', 'text'])
  }),
]

export const REQUEST_INPUTS: readonly Case[] = [...INPUTS, ...OVERRIDES, ...BODIES]

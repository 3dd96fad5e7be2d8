/** The body of a Response as a stream; clones. */

import { expect } from 'vitest'
import type { Case, Scene } from './standard-scene.ts'
import { inSection, toTypeError } from './standard-scene.ts'

const inBody = inSection('5.3 Body mixin: body is a ReadableStream')
const inNetwork = inSection('4.6 HTTP-network fetch: the stream of the body')
const inClone = inSection('5.5 Response class: clone()')
const inNew = inSection('5.5 Response class: a new Response of a body')

function toBody(response: Response): NonNullable<Response['body']> {
  return response.body ?? expect.fail('There is no body')
}

/** What is left of a body. */
async function drain(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = []
  for await (const chunk of body) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

/** One whose end doesn't come. */
function askOpen(scene: Scene, name: string): Promise<Response> {
  return scene.ask({ body: 'begun', end: 'open', name })
}

const BODIES: readonly Case[] = [
  inBody('it is one, and always the same', async (scene) => {
    const response = await scene.ask({ body: 'text' })
    expect(response.body).toBeInstanceOf(ReadableStream)
    expect(response.body).toBe(response.body)
    expect([response.body?.locked, response.bodyUsed]).toEqual([false, false])
  }),
  inBody('its chunks are Uint8Arrays', async (scene) => {
    const reader = toBody(await scene.ask({ body: 'text' })).getReader()
    const { value } = await reader.read()
    expect(value?.constructor).toBe(Uint8Array)
    expect(Buffer.from(value ?? '').toString()).toBe('text')
    expect(await reader.read()).toEqual({ done: true, value: undefined })
    await reader.closed
  }),
  inBody('it is used by the first read, not by a reader', async (scene) => {
    const response = await scene.ask({ body: 'text' })
    const reader = toBody(response).getReader()
    expect([response.bodyUsed, response.body?.locked]).toEqual([false, true])
    const promise = reader.read()
    expect(response.bodyUsed).toBe(true)
    await promise
    reader.releaseLock()
    await toTypeError(response.text())
  }),
  inBody('a reader that is released leaves it readable', async (scene) => {
    const response = await scene.ask({ body: 'text' })
    toBody(response).getReader().releaseLock()
    expect([response.bodyUsed, await response.text()]).toEqual([false, 'text'])
  }),
  inBody('text() locks it, and it ends', async (scene) => {
    const response = await scene.ask({ body: 'text' })
    const body = toBody(response)
    const promise = response.text()
    expect(body.locked).toBe(true)
    expect(await promise).toBe('text')
    expect(() => body.getReader()).toThrow(TypeError)
  }),
  inBody('text() works without a look at it, and after one', async (scene) => {
    const [one, other] = await Promise.all([scene.ask({ body: 'one' }), scene.ask({ body: 'other' })])
    expect(other.body).not.toBeNull()
    expect([await one.text(), await other.text()]).toEqual(['one', 'other'])
    expect(one.body).toBeInstanceOf(ReadableStream)
    expect([one.body?.locked, one.bodyUsed]).toEqual([other.body?.locked, true])
  }),
  inBody('it can be iterated', async (scene) => {
    const response = await scene.ask({ body: 'dodici', repeat: 1_000, pieces: 3 })
    expect(await drain(toBody(response))).toBe('dodici'.repeat(1_000))
    expect(response.bodyUsed).toBe(true)
  }),
  inBody('a loop that is left cancels it', async (scene) => {
    const name = scene.toName()
    const response = await askOpen(scene, name)
    for await (const chunk of toBody(response)) {
      expect(Buffer.from(chunk).toString()).toBe('begun')
      break
    }
    await scene.happened('ended', name)
    await toTypeError(response.text())
  }),
  inBody('it can be read into buffers of the caller', async (scene) => {
    const reader = toBody(await scene.ask({ body: 'dodici' })).getReader({ mode: 'byob' })
    const first = await reader.read(new Uint8Array(4))
    expect([first.done, Buffer.from(first.value ?? '').toString()]).toEqual([false, 'dodi'])
    const second = await reader.read(new Uint8Array(4))
    expect([second.done, Buffer.from(second.value ?? '').toString()]).toEqual([false, 'ci'])
    expect(await reader.read(new Uint8Array(4))).toMatchObject({ done: true })
  }),
  inBody('it can be piped through a TextDecoderStream', async (scene) => {
    const body = toBody(await scene.ask({ body: '🎾é', pieces: 6 }))
    let text = ''
    for await (const part of body.pipeThrough(new TextDecoderStream())) text += part
    expect(text).toBe('🎾é')
  }),
  inBody('it can be piped to a stream', async (scene) => {
    const chunks: Uint8Array[] = []
    const body = toBody(await scene.ask({ body: 'text' }))
    await body.pipeTo(new WritableStream({ write: (chunk: Uint8Array) => void chunks.push(chunk) }))
    expect(Buffer.concat(chunks).toString()).toBe('text')
  }),
  inBody('it can be teed', async (scene) => {
    const response = await scene.ask({ body: 'text' })
    const [one, other] = toBody(response).tee()
    expect([await drain(one), await drain(other)]).toEqual(['text', 'text'])
    await toTypeError(response.text())
  }),
]

const NETWORK: readonly Case[] = [
  inNetwork('the response is there before its body is', async (scene) => {
    const reader = toBody(await askOpen(scene, scene.toName())).getReader()
    expect(Buffer.from((await reader.read()).value ?? '').toString()).toBe('begun')
    await reader.cancel()
  }),
  inNetwork('cancel() ends the exchange', async (scene) => {
    const name = scene.toName()
    const response = await askOpen(scene, name)
    await toBody(response).cancel('reason')
    expect(response.bodyUsed).toBe(true)
    await scene.happened('ended', name)
    await toTypeError(response.text())
  }),
  inNetwork('cancel() of a body that is locked is refused', async (scene) => {
    const response = await scene.ask({ body: 'text' })
    const reader = toBody(response).getReader()
    await toTypeError(toBody(response).cancel())
    await reader.cancel()
  }),
  inNetwork('cancel() of one that has ended is nothing', async (scene) => {
    const reader = toBody(await scene.ask({ body: 'text' })).getReader()
    while (!(await reader.read()).done);
    await reader.cancel('reason')
  }),
  inNetwork('a connection that breaks is a TypeError of read()', async (scene) => {
    const reader = toBody(await scene.ask({ body: 'begun', end: 'reset' })).getReader()
    await toTypeError(
      (async () => {
        while (!(await reader.read()).done);
      })(),
    )
    await toTypeError(reader.closed)
  }),
]

function toWords(response: Response): unknown[] {
  const { status, statusText, ok, url, redirected, type } = response
  return [status, statusText, ok, url, redirected, type, [...response.headers]]
}

const CLONES: readonly Case[] = [
  inClone('it says the same', async (scene) => {
    const response = await scene.ask({
      status: 404,
      headers: [
        ['set-cookie', 'a=1'],
        ['set-cookie', 'b=2'],
      ],
    })
    const clone = response.clone()
    expect(clone).toBeInstanceOf(Response)
    expect(toWords(clone)).toEqual(toWords(response))
    expect(clone.headers).not.toBe(response.headers)
    expect(clone.headers.getSetCookie()).toEqual(['a=1', 'b=2'])
  }),
  inClone('it says the same of a redirection', async (scene) => {
    const response = await scene.redirect(302, '/inspect')
    expect(toWords(response.clone())).toEqual(toWords(response))
  }),
  inClone('its headers can not be changed either', async (scene) => {
    const { headers } = (await scene.ask({})).clone()
    expect(() => headers.set('x-a', '2')).toThrow(TypeError)
  }),
  ...[true, false].map((isFirst) =>
    inClone(`both are read, the ${isFirst ? 'original' : 'clone'} first`, async (scene) => {
      const response = await scene.ask({ body: 'dodici', repeat: 10_000, pieces: 4 })
      const clone = response.clone()
      const [first, second] = isFirst ? [response, clone] : [clone, response]
      expect(await first.text()).toBe('dodici'.repeat(10_000))
      expect([first.bodyUsed, second.bodyUsed]).toEqual([true, false])
      expect(await second.text()).toBe('dodici'.repeat(10_000))
    }),
  ),
  inClone('both are read at the same time, by different methods', async (scene) => {
    const response = await scene.ask({ body: '{"a":1}', headers: [['content-type', 'a/b']] })
    const clone = response.clone()
    const [json, blob] = await Promise.all([response.json(), clone.blob()])
    expect([json, blob.type, blob.size]).toEqual([{ a: 1 }, 'a/b', 7])
  }),
  inClone('a body that was looked at before is replaced by one that works', async (scene) => {
    const response = await scene.ask({ body: 'text' })
    expect(response.body).not.toBeNull()
    const clone = response.clone()
    expect([response.body?.locked, clone.body?.locked]).toEqual([false, false])
    expect([await drain(toBody(response)), await drain(toBody(clone))]).toEqual(['text', 'text'])
  }),
  inClone('a clone can be cloned', async (scene) => {
    const response = await scene.ask({ body: 'text' })
    const clone = response.clone()
    const other = clone.clone()
    const texts = await Promise.all([other.text(), response.text(), clone.text()])
    expect(texts).toEqual(['text', 'text', 'text'])
  }),
  inClone('a null body is cloned', async (scene) => {
    const clone = (await scene.ask({ status: 204 })).clone()
    expect([clone.body, clone.status, await clone.text()]).toEqual([null, 204, ''])
  }),
  inClone('one that was read is refused', async (scene) => {
    const response = await scene.ask({ body: 'text' })
    await response.text()
    expect(() => response.clone()).toThrow(TypeError)
  }),
  inClone('one that is being read is refused', async (scene) => {
    const response = await scene.ask({ body: 'text' })
    const promise = response.text()
    expect(() => response.clone()).toThrow(TypeError)
    expect(await promise).toBe('text')
  }),
  inClone('one that is locked is refused', async (scene) => {
    const response = await scene.ask({ body: 'text' })
    const reader = toBody(response).getReader()
    expect(() => response.clone()).toThrow(TypeError)
    await reader.cancel()
  }),
  inClone('one that was read from is refused', async (scene) => {
    const response = await scene.ask({ body: 'text' })
    const reader = toBody(response).getReader()
    await reader.read()
    reader.releaseLock()
    expect(() => response.clone()).toThrow(TypeError)
  }),
  inClone('when one is cancelled, the other goes on', async (scene) => {
    const response = await scene.ask({ body: 'dodici', pieces: 2 })
    const clone = response.clone()
    const cancelled = response.body?.cancel()
    expect(await clone.text()).toBe('dodici')
    await cancelled
  }),
  inClone('when both are cancelled, the exchange ends', async (scene) => {
    const name = scene.toName()
    const response = await askOpen(scene, name)
    const clone = response.clone()
    await Promise.all([response.body?.cancel(), clone.body?.cancel()])
    await scene.happened('ended', name)
  }),
  inClone('a connection that breaks fails both', async (scene) => {
    const response = await scene.ask({ body: 'begun', end: 'reset' })
    const clone = response.clone()
    await Promise.all([toTypeError(response.text()), toTypeError(clone.text())])
  }),
]

const NEW: readonly Case[] = [
  inNew('it has the body', async (scene) => {
    const response = await scene.ask({ body: 'text' })
    const copy = new Response(response.body, response)
    expect([copy.status, await copy.text(), response.bodyUsed]).toEqual([200, 'text', true])
    await toTypeError(response.text())
  }),
  inNew('it has the headers, which can be changed', async (scene) => {
    const response = await scene.ask({ status: 201, headers: [['x-a', '1']], body: 'text' })
    const copy = new Response(response.body, response)
    copy.headers.set('x-a', '2')
    expect([copy.status, copy.headers.get('x-a'), response.headers.get('x-a')]).toEqual([201, '2', '1'])
    expect(await copy.text()).toBe('text')
  }),
  inNew('of a body that was read it is refused', async (scene) => {
    const response = await scene.ask({ body: 'text' })
    const { body } = response
    await response.text()
    expect(() => new Response(body)).toThrow(TypeError)
  }),
  inNew('of a body that was piped it has what was made of it', async (scene) => {
    const upper = new TransformStream<Uint8Array, Uint8Array>({
      transform: (chunk, controller) =>
        controller.enqueue(Buffer.from(Buffer.from(chunk).toString().toUpperCase())),
    })
    const response = await scene.ask({ body: 'text' })
    expect(await new Response(toBody(response).pipeThrough(upper)).text()).toBe('TEXT')
  }),
]

export const STREAMS: readonly Case[] = [...BODIES, ...NETWORK, ...CLONES, ...NEW]

/** Aborts, at every time and with every kind of reason. */

import { ReadableStream } from 'node:stream/web'
import { expect } from 'vitest'
import type { Case, Scene } from './standard-scene.ts'
import { bodyOf, inSection, toDomException, toReason, toTypeError } from './standard-scene.ts'

const inBefore = inSection('5.6 Fetch methods: a signal that was aborted before')
const inReason = inSection('5.6 Fetch methods: abort the fetch() call with the reason')
const inHeader = inSection('4. Fetching: abort before the response')
const inBody = inSection('5.6 Fetch methods: abort while the body is read')
const inAfter = inSection('5.6 Fetch methods: abort after the end')
const inUpload = inSection('5.6 Fetch methods: abort cancels the body of the request')
const inClone = inSection('5.6 Fetch methods: abort of clones')
const inSignals = inSection('5.4 Request class: signals')

const REASONS: readonly (readonly [string, unknown])[] = [
  ['an Error', new RangeError('mine')],
  ['a string', 'mine'],
  ['null', null],
  ['zero', 0],
  ['an object', { mine: true }],
  ['a DOMException', new DOMException('mine', 'DataError')],
]

/** A response whose header doesn't come; settles once the server has the request. */
async function askHeld(scene: Scene, init: object): Promise<{ promise: Promise<Response>; name: string }> {
  const name = scene.toName()
  const promise = scene.ask({ end: 'hold', name, early: true }, init)
  await scene.happened('seen', name)
  return { promise, name }
}

/** One whose end doesn't come. */
function askOpen(scene: Scene, signal: AbortSignal, name = scene.toName()): Promise<Response> {
  return scene.ask({ body: 'begun', end: 'open', name }, { signal })
}

const BEFORE: readonly Case[] = [
  inBefore('the call fails, and nothing is sent', async (scene) => {
    const name = scene.toName()
    await toDomException(scene.ask({ name }, { signal: AbortSignal.abort() }), 'AbortError')
    await scene.inspect()
    expect(
      await (await scene.fetch(`${scene.origin}/has?${encodeURIComponent(`seen ${name}`)}`)).text(),
    ).toBe('false')
  }),
  ...REASONS.map(([what, reason]) =>
    inBefore(`the call fails with ${what}`, async (scene) => {
      expect(await toReason(scene.ask({}, { signal: AbortSignal.abort(reason) }))).toBe(reason)
    }),
  ),
  inBefore('what is wrong with the arguments comes first', async (scene) => {
    const signal = AbortSignal.abort()
    await scene.refuse('no url', { signal })
    await scene.refuse(scene.inspectUrl, { signal, method: 'CONNECT' })
    await scene.refuse(scene.inspectUrl, { signal, body: 'text' })
  }),
  inBefore('a bad port does not', async (scene) => {
    const signal = AbortSignal.abort()
    await toDomException(scene.fetch('http://localhost:6667/', { signal }), 'AbortError')
  }),
  inBefore('a stream that was to be sent is cancelled with the reason, at once', async (scene) => {
    const reason = new RangeError('mine')
    const reasons: unknown[] = []
    const body = new ReadableStream({ cancel: (cause) => void reasons.push(cause) })
    const init = { method: 'POST', body, duplex: 'half', signal: AbortSignal.abort(reason) }
    const promise = scene.ask({}, init)
    expect(reasons).toEqual([reason])
    expect(await toReason(promise)).toBe(reason)
  }),
]

const HEADER: readonly Case[] = [
  inHeader('right after the call it fails', async (scene) => {
    const controller = new AbortController()
    const promise = scene.ask({}, { signal: controller.signal })
    controller.abort()
    await toDomException(promise, 'AbortError')
  }),
  ...REASONS.map(([what, reason]) =>
    inReason(`while the header is waited for, with ${what}`, async (scene) => {
      const controller = new AbortController()
      const { promise, name } = await askHeld(scene, { signal: controller.signal })
      controller.abort(reason)
      expect(await toReason(promise)).toBe(reason)
      await scene.happened('ended', name)
    }),
  ),
  inHeader('in a redirection, while the next response is waited for', async (scene) => {
    const controller = new AbortController()
    const name = scene.toName()
    const location = scene.url({ end: 'hold', name })
    const promise = scene.redirect(302, location, { signal: controller.signal })
    await scene.happened('seen', name)
    controller.abort()
    await toDomException(promise, 'AbortError')
    await scene.happened('ended', name)
  }),
  inHeader('other calls go on', async (scene) => {
    const controller = new AbortController()
    const { promise } = await askHeld(scene, { signal: controller.signal })
    const other = scene.ask({ body: 'text' })
    controller.abort()
    await toDomException(promise, 'AbortError')
    expect(await (await other).text()).toBe('text')
  }),
  inHeader('one signal is for all calls that have it', async (scene) => {
    const controller = new AbortController()
    const { signal } = controller
    const [one, other] = await Promise.all([askHeld(scene, { signal }), askHeld(scene, { signal })])
    controller.abort()
    await toDomException(one.promise, 'AbortError')
    await toDomException(other.promise, 'AbortError')
  }),
]

type Method = 'text' | 'json' | 'arrayBuffer' | 'bytes' | 'blob' | 'formData'

const METHODS: readonly Method[] = ['text', 'json', 'arrayBuffer', 'bytes', 'blob', 'formData']

const BODY: readonly Case[] = [
  ...METHODS.map((method) =>
    inBody(`${method}() that waits fails with the reason`, async (scene) => {
      const controller = new AbortController()
      const headers = [['content-type', 'application/x-www-form-urlencoded']] as const
      const name = scene.toName()
      const url = scene.url({ headers, body: 'a', end: 'open', name })
      const response = await scene.fetch(url, { signal: controller.signal })
      const promise = response[method]()
      promise.catch(() => {})
      controller.abort()
      await toDomException(promise, 'AbortError')
      await scene.happened('ended', name)
    }),
  ),
  ...METHODS.map((method) =>
    inBody(`${method}() after the abort fails with the reason`, async (scene) => {
      const controller = new AbortController()
      const response = await askOpen(scene, controller.signal)
      controller.abort()
      await toDomException(response[method](), 'AbortError')
    }),
  ),
  inBody('the reason is that of the abort, between header and body', async (scene) => {
    const controller = new AbortController()
    const response = await askOpen(scene, controller.signal)
    const reason = new RangeError('mine')
    controller.abort(reason)
    expect(await toReason(response.text())).toBe(reason)
  }),
  inBody('the reason is that of the abort, while text() waits', async (scene) => {
    const controller = new AbortController()
    const promise = (await askOpen(scene, controller.signal)).text()
    const reason = new RangeError('mine')
    controller.abort(reason)
    expect(await toReason(promise)).toBe(reason)
  }),
  inBody('read() fails, and so does what is read next', async (scene) => {
    const controller = new AbortController()
    const reader = (await askOpen(scene, controller.signal)).body?.getReader() ?? expect.fail()
    expect(Buffer.from((await reader.read()).value ?? '').toString()).toBe('begun')
    const promise = reader.read()
    controller.abort()
    await toDomException(promise, 'AbortError')
    await toDomException(reader.read(), 'AbortError')
    await toDomException(reader.closed, 'AbortError')
  }),
  inBody('a loop over the body fails', async (scene) => {
    const controller = new AbortController()
    const body = (await askOpen(scene, controller.signal)).body ?? expect.fail()
    const loop = async (): Promise<void> => {
      for await (const _chunk of body) controller.abort()
    }
    await toDomException(loop(), 'AbortError')
  }),
  inBody('a body that is not read fails, and its stream is reset', async (scene) => {
    const controller = new AbortController()
    const name = scene.toName()
    await askOpen(scene, controller.signal, name)
    controller.abort()
    await scene.happened('ended', name)
  }),
  inBody('status and headers stay', async (scene) => {
    const controller = new AbortController()
    const response = await askOpen(scene, controller.signal)
    controller.abort()
    expect([response.status, response.headers.get('x-protocol')?.startsWith('HTTP/')]).toEqual([200, true])
    await toDomException(response.text(), 'AbortError')
  }),
  inBody('a body that is decoded fails with the reason', async (scene) => {
    const controller = new AbortController()
    const init = { signal: controller.signal }
    const response = await scene.ask({ headers: [['content-encoding', 'gzip']], end: 'open' }, init)
    const promise = response.text()
    controller.abort()
    await toDomException(promise, 'AbortError')
  }),
]

const AFTER: readonly Case[] = [
  inAfter('what was read stays, and nothing happens', async (scene) => {
    const controller = new AbortController()
    const response = await scene.ask({ body: 'text' }, { signal: controller.signal })
    const text = await response.text()
    controller.abort()
    expect([text, response.status, response.bodyUsed]).toEqual(['text', 200, true])
    await toTypeError(response.text())
  }),
  inAfter('a null body is read all the same', async (scene) => {
    const controller = new AbortController()
    const response = await scene.ask({ status: 204 }, { signal: controller.signal })
    controller.abort()
    expect(await response.text()).toBe('')
  }),
  inAfter('a reader that has seen the end stays closed', async (scene) => {
    const controller = new AbortController()
    const { body } = await scene.ask({ body: 'text' }, { signal: controller.signal })
    const reader = body?.getReader() ?? expect.fail()
    while (!(await reader.read()).done);
    controller.abort()
    await reader.closed
    expect(await reader.read()).toEqual({ done: true, value: undefined })
  }),
  inAfter('a call that failed keeps its error', async (scene) => {
    const controller = new AbortController()
    const promise = scene.ask({ end: 'refuse' }, { signal: controller.signal })
    await toTypeError(promise)
    controller.abort()
    await toTypeError(promise)
  }),
]

const UPLOAD: readonly Case[] = [
  inUpload('while it is sent, with the reason', async (scene) => {
    const controller = new AbortController()
    const reason = new RangeError('mine')
    let cancel = (_reason: unknown): void => {}
    const cancelled = new Promise((resolve) => {
      cancel = resolve
    })
    const body = new ReadableStream({
      start: (stream) => stream.enqueue(new TextEncoder().encode('begun')),
      cancel: (reason) => cancel(reason),
    })
    const { promise } = await askHeld(scene, {
      method: 'POST',
      body,
      duplex: 'half',
      signal: controller.signal,
    })
    controller.abort(reason)
    expect(await toReason(promise)).toBe(reason)
    expect(await cancelled).toBe(reason)
  }),
  inUpload('a body that fails with an AbortError of its own, fails the call', async (scene) => {
    const error = new DOMException('mine', 'AbortError')
    const body = new ReadableStream({ start: (stream) => stream.error(error) })
    const reason = await toReason(scene.ask({}, { method: 'POST', body, duplex: 'half' }))
    expect(reason).toHaveProperty('name', 'AbortError')
  }),
]

const CLONES: readonly Case[] = [
  inClone('both fail', async (scene) => {
    const controller = new AbortController()
    const response = await askOpen(scene, controller.signal)
    const clone = response.clone()
    controller.abort()
    await toDomException(response.text(), 'AbortError')
    await toDomException(clone.text(), 'AbortError')
  }),
  inClone('both that are read fail', async (scene) => {
    const controller = new AbortController()
    const response = await askOpen(scene, controller.signal)
    const texts = [response.clone().text(), response.text()]
    for (const text of texts) text.catch(() => {})
    controller.abort()
    for (const text of texts) await toDomException(text, 'AbortError')
  }),
  inClone('a clone that was made after it fails', async (scene) => {
    const controller = new AbortController()
    const response = await askOpen(scene, controller.signal)
    controller.abort()
    await toDomException(response.clone().text(), 'AbortError')
  }),
]

const SIGNALS: readonly Case[] = [
  inSignals('AbortSignal.timeout() is a TimeoutError', async (scene) => {
    await toDomException(scene.ask({ end: 'hold' }, { signal: AbortSignal.timeout(1) }), 'TimeoutError')
  }),
  inSignals('AbortSignal.timeout() is a TimeoutError of the body', async (scene) => {
    // Its time is the caller's to choose: this one passes when the response has come.
    const timeout = new AbortController()
    const response = await askOpen(scene, AbortSignal.any([timeout.signal, AbortSignal.timeout(1 << 30)]))
    timeout.abort(new DOMException('mine', 'TimeoutError'))
    await toDomException(response.text(), 'TimeoutError')
  }),
  inSignals('AbortSignal.any() is any of them', async (scene) => {
    const [one, other] = [new AbortController(), new AbortController()]
    const { promise } = await askHeld(scene, { signal: AbortSignal.any([one.signal, other.signal]) })
    other.abort('mine')
    expect(await toReason(promise)).toBe('mine')
  }),
  inSignals('a signal that is not aborted is nothing', async (scene) => {
    const { signal } = new AbortController()
    for (let i = 0; i < 3; i++)
      expect(await (await scene.ask({ body: 'text' }, { signal })).text()).toBe('text')
  }),
  inSignals('a listener of the signal that aborts another call does', async (scene) => {
    const [one, other] = [new AbortController(), new AbortController()]
    one.signal.addEventListener('abort', () => other.abort('other'))
    const [first, second] = await Promise.all([
      askHeld(scene, { signal: one.signal }),
      askHeld(scene, { signal: other.signal }),
    ])
    one.abort('one')
    expect([await toReason(first.promise), await toReason(second.promise)]).toEqual(['one', 'other'])
  }),
  inSignals('after an abort the same request can be made', async (scene) => {
    const controller = new AbortController()
    const init = { method: 'POST', body: 'text', signal: controller.signal }
    const promise = scene.inspect(init)
    controller.abort()
    await toDomException(promise, 'AbortError')
    expect(bodyOf(await scene.inspect({ ...init, signal: null }))).toBe('text')
  }),
]

export const ABORTS: readonly Case[] = [
  ...BEFORE,
  ...HEADER,
  ...BODY,
  ...AFTER,
  ...UPLOAD,
  ...CLONES,
  ...SIGNALS,
]

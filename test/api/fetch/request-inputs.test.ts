import { openAsBlob } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { fetch } from '../../../src/index.ts'
import { FakeDispatcher } from '../../support/clients/fake-dispatcher.ts'
import type { RequestModule } from './request-modules.ts'
import { MODULES } from './request-modules.ts'
import { startOrigin, toFailure, toLatest, toMixedAgent, toValues } from './request-rig.ts'

interface Kind {
  readonly what: string
  toBody(module: RequestModule): unknown
  readonly body: string | RegExp
  /** Null where it comes as it comes. */
  readonly length: number | null
  readonly type: string | RegExp | null
}

const PLAIN = 'text/plain;charset=UTF-8'
const FORM = /^multipart\/form-data; boundary=/

function toStream(type?: 'bytes'): ReadableStream<Uint8Array> {
  const fill = (controller: { enqueue(chunk: Uint8Array<ArrayBuffer>): void; close(): void }): void => {
    for (const text of ['one', 'two']) controller.enqueue(new TextEncoder().encode(text))
    controller.close()
  }
  if (type === 'bytes') return new ReadableStream({ type, start: (controller) => fill(controller) })
  return new ReadableStream({ start: (controller) => fill(controller) })
}

async function* iterate(): AsyncGenerator<Uint8Array> {
  yield Buffer.from('one')
  yield Buffer.from('two')
}

/** A body in memory is announced with its length, as Node's fetch does. */
const KINDS: readonly Kind[] = [
  {
    what: 'a string',
    toBody: () => 'grüß',
    body: Buffer.from('grüß').toString('latin1'),
    length: 6,
    type: PLAIN,
  },
  { what: 'an empty string', toBody: () => '', body: '', length: 0, type: PLAIN },
  {
    what: 'a Blob',
    toBody: () => new Blob(['ab', 'c'], { type: 'x/y' }),
    body: 'abc',
    length: 3,
    type: 'x/y',
  },
  {
    what: 'a form with a file',
    toBody({ FormData }) {
      const form = new FormData()
      form.append('file', new Blob(['content'], { type: 'x/y' }), 'f.txt')
      return form
    },
    body: /filename="f\.txt"\r\ncontent-type: x\/y\r\n\r\ncontent\r\n--/i,
    length: Number.NaN,
    type: FORM,
  },
  { what: 'a stream', toBody: () => toStream(), body: 'onetwo', length: null, type: null },
]

describe.each(MODULES)('when fetch is given a Request of $name', (module) => {
  const { Request } = module

  for (const kind of KINDS) {
    it(`sends ${kind.what}, as Node's fetch does`, async () => {
      const server = await startOrigin('HTTP/2')
      const body = kind.toBody(module)
      const request = new Request(`${server.origin}/path?query`, { method: 'POST', body, duplex: 'half' })
      const response = await fetch(request, { dispatcher: toMixedAgent(server) })
      expect(await response.text()).toBe('/path?query')
      const seen = toLatest(server)
      expect(seen.method).toBe('POST')
      if (typeof kind.body === 'string') expect(seen.body).toBe(kind.body)
      else expect(seen.body).toMatch(kind.body)
      const length = Number.isNaN(kind.length) ? seen.body.length : kind.length
      expect(toValues(seen, 'content-length')).toEqual(length === null ? [] : [String(length)])
      const [type = null, ...more] = toValues(seen, 'content-type')
      expect(more).toEqual([])
      if (kind.type instanceof RegExp) expect(type).toMatch(kind.type)
      else expect(type).toBe(kind.type)
      expect(request.bodyUsed).toBe(true)
    })
  }

  for (const [what, toBody] of [
    ['a byte stream', () => toStream('bytes')],
    ['an async iterable', () => iterate()],
  ] as const) {
    it(`sends ${what}`, async () => {
      const server = await startOrigin('HTTP/2')
      const request = new Request(server.origin, { method: 'POST', body: toBody(), duplex: 'half' })
      await (await fetch(request, { dispatcher: toMixedAgent(server) })).text()
      expect(toLatest(server).body).toBe('onetwo')
      expect(request.bodyUsed).toBe(true)
    })
  }

  it('sends a Blob that is a file', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'dodici-request-'))
    onTestFinished(() => rm(folder, { recursive: true, force: true }))
    const content = 'from a file '.repeat(20_000)
    await writeFile(join(folder, 'file'), content)
    const server = await startOrigin('HTTP/2')
    const body = await openAsBlob(join(folder, 'file'), { type: 'x/y' })
    const request = new Request(server.origin, { method: 'POST', body })
    await (await fetch(request, { dispatcher: toMixedAgent(server) })).text()
    expect(toLatest(server).body).toBe(content)
    expect(toValues(toLatest(server), 'content-type')).toEqual(['x/y'])
  })

  it('uses its members if the init has none', async () => {
    const server = await startOrigin('HTTP/2')
    const request = new Request(`${server.origin}/a`, { method: 'PUT', headers: { 'x-a': '1' }, body: 'old' })
    await (await fetch(request, { dispatcher: toMixedAgent(server) })).text()
    expect(toLatest(server)).toMatchObject({ method: 'PUT', path: '/a', body: 'old' })
    expect(toValues(toLatest(server), 'x-a')).toEqual(['1'])
  })

  it('takes its Headers in an init', async () => {
    const server = await startOrigin('HTTP/2')
    const headers = new module.Headers({ 'X-A': '1', 'x-b': '2' })
    await (await fetch(server.origin, { headers, dispatcher: toMixedAgent(server) })).text()
    const seen = toLatest(server)
    expect([toValues(seen, 'x-a'), toValues(seen, 'x-b')]).toEqual([['1'], ['2']])
  })

  it('does not follow if the Request forbids it', async () => {
    const reply = { status: 302, fields: { location: '/to' } }
    const server = await startOrigin('HTTP/2', () => reply)
    const dispatcher = toMixedAgent(server)
    const manual = await fetch(new Request(server.origin, { redirect: 'manual' }), { dispatcher })
    expect(manual.status).toBe(302)
    await manual.text()
    const call = fetch(new Request(server.origin, { redirect: 'error' }), { dispatcher })
    expect(await toFailure(call)).toBe('TypeError: fetch failed ← unexpected redirect')
  })

  it('refuses one whose body was read, or is being read', async () => {
    const dispatcher = new FakeDispatcher()
    const init = { method: 'POST', body: 'body', duplex: 'half' }
    const used = new Request('http://localhost/', init)
    await new Response(used.body instanceof ReadableStream ? used.body : null).text()
    expect(await toFailure(fetch(used, { dispatcher }))).toMatch(/^TypeError: .*used/)
    const locked = new Request('http://localhost/', { ...init, body: toStream() })
    locked.body?.getReader()
    expect(await toFailure(fetch(locked, { dispatcher }))).toMatch(/^TypeError: .*used/)
    expect(dispatcher.requests).toEqual([])
  })

  it.each([
    ['a string', () => 'body'],
    ['a stream', () => toStream()],
  ])('refuses a second fetch of one with %s, while the first goes on', async (_what, toBody) => {
    const server = await startOrigin('HTTP/2')
    const dispatcher = toMixedAgent(server)
    const request = new Request(server.origin, { method: 'POST', body: toBody(), duplex: 'half' })
    const first = fetch(request, { dispatcher })
    expect(request.bodyUsed).toBe(true)
    expect(await toFailure(fetch(request, { dispatcher }))).toMatch(/^TypeError: .*used/)
    await (await first).text()
    expect(server.seen).toHaveLength(1)
  })

  it('is aborted by its signal, before and while it is fetched', async () => {
    const dispatcher = new FakeDispatcher()
    const reason = new Error('enough')
    const controller = new AbortController()
    const { signal } = controller
    const calls = ['GET', 'POST'].map((method) => {
      const body = method === 'POST' ? 'body' : null
      return fetch(new Request('http://localhost/', { method, body, signal }), { dispatcher })
    })
    controller.abort(reason)
    for (const call of calls) await expect(call).rejects.toBe(reason)
    const late = fetch(new Request('http://localhost/', { signal }), { dispatcher })
    await expect(late).rejects.toBe(reason)
  })
})

describe('when fetch is given a URL', () => {
  it.each<[string, unknown, RegExp]>([
    ['nothing', undefined, /undefined/],
    ['no URL', 'no url', /no url/],
    ['a relative one', '/path', /\/path/],
    ['a symbol', Symbol('url'), /Symbol\(url\)/],
    ['credentials', 'http://user:secret@localhost/', /credentials/],
    ['an object whose toString() throws', { toString: () => fail() }, /thrown/],
  ])('refuses %s, with an error that says what it got', async (_what, input, message) => {
    const call: Promise<Response> = Reflect.apply(fetch, undefined, [input])
    await expect(call).rejects.toBeInstanceOf(TypeError)
    const failure = await toFailure(call)
    expect(failure).toMatch(message)
    expect(failure).not.toContain('secret')
  })
})

function fail(): never {
  throw new TypeError('thrown')
}

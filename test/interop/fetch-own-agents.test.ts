/** Our own fetch over dispatchers of npm's undici. */

import { gzipSync } from 'node:zlib'
import { describe, expect, it, onTestFinished } from 'vitest'
import { fetch } from '../../src/index.ts'
import type { Dispatcher } from '../../types/index.ts'
import { startOrigin, toFailure, toLatest, toValues } from '../api/fetch/request-rig.ts'
import { UNDICIS } from './fetch-fetches.ts'

interface AgentModule {
  readonly Agent: new (options?: object) => Dispatcher
  readonly Pool: new (origin: string) => Dispatcher
  readonly Client: new (origin: string) => Dispatcher
}

/** By a name that the compiler doesn't see: each has types of its own. */
async function load(name: string): Promise<AgentModule & { readonly name: string }> {
  const { Agent, Pool, Client }: AgentModule = await import(name)
  return { name, Agent, Pool, Client }
}

const MODULES = await Promise.all(UNDICIS.map(load))

function end<T extends Dispatcher>(dispatcher: T): T {
  onTestFinished(() => dispatcher.destroy())
  return dispatcher
}

describe.each(MODULES)('when the dispatcher is one of $name', ({ Agent, Pool, Client }) => {
  it('works with an Agent, a Pool and a Client', async () => {
    const server = await startOrigin('HTTP/1.1', () => ({
      reason: 'Fine',
      fields: { 'set-cookie': ['a=1', 'b=2'] },
    }))
    for (const dispatcher of [new Agent(), new Pool(server.origin), new Client(server.origin)]) {
      const response = await fetch(`${server.origin}/path?query`, { dispatcher: end(dispatcher) })
      expect([response.status, response.statusText, response.url]).toEqual([
        200,
        'Fine',
        `${server.origin}/path?query`,
      ])
      expect(response.headers.getSetCookie()).toEqual(['a=1', 'b=2'])
      expect(await response.text()).toBe('/path?query')
    }
  })

  it.each<[string, () => NonNullable<RequestInit['body']>, string | RegExp]>([
    ['a string', () => 'grüß', Buffer.from('grüß').toString('latin1')],
    ['an empty string', () => '', ''],
    ['bytes', () => new Uint8Array([0, 255]), '\0\xff'],
    ['a Blob', () => new Blob(['blob']), 'blob'],
    ['parameters', () => new URLSearchParams({ a: 'b' }), 'a=b'],
    ['a form', () => toForm(), /name="a"\r\n\r\nb\r\n/],
    ['a stream', () => toStream(), 'onetwo'],
  ])('sends it %s', async (_what, toBody, expected) => {
    const server = await startOrigin('HTTP/1.1')
    const init = { method: 'POST', body: toBody(), duplex: 'half', dispatcher: end(new Agent()) } as const
    await (await fetch(server.origin, init)).text()
    const { body } = toLatest(server)
    if (typeof expected === 'string') expect(body).toBe(expected)
    else expect(body).toMatch(expected)
  })

  it('sends it a Request', async () => {
    const server = await startOrigin('HTTP/1.1')
    const request = new Request(server.origin, { method: 'POST', body: toStream(), duplex: 'half' })
    await (await fetch(request, { dispatcher: end(new Agent()) })).text()
    expect(toLatest(server).body).toBe('onetwo')
  })

  it('decodes a content coding', async () => {
    const body = gzipSync('x'.repeat(200_000))
    const server = await startOrigin('HTTP/1.1', () => ({ fields: { 'content-encoding': 'gzip' }, body }))
    const response = await fetch(server.origin, { dispatcher: end(new Agent()) })
    expect(await response.text()).toBe('x'.repeat(200_000))
  })

  it('follows redirects, and keeps their connection', async () => {
    const server = await startOrigin('HTTP/1.1', ({ path }) => {
      const left = Number(path.slice(1))
      return left === 0 ? {} : { status: 302, fields: { location: `/${left - 1}` }, body: 'moved' }
    })
    const dispatcher = end(new Agent())
    for (let i = 0; i < 3; i++)
      expect(await (await fetch(`${server.origin}/5`, { dispatcher })).text()).toBe('/0')
    expect(server.connections).toBeLessThan(6)
  })

  it('sends a body in memory again after a 307', async () => {
    const server = await startOrigin('HTTP/1.1', ({ path }) =>
      path === '/from' ? { status: 307, fields: { location: '/to' } } : {},
    )
    const dispatcher = end(new Agent())
    for (const body of ['text', new Blob(['text']), new TextEncoder().encode('text')]) {
      await (await fetch(`${server.origin}/from`, { method: 'POST', body, dispatcher })).text()
      expect(toLatest(server)).toMatchObject({ path: '/to', body: 'text' })
      expect(toValues(toLatest(server), 'content-length')).toEqual(['4'])
    }
  })

  it('fails with its error once it is destroyed', async () => {
    const dispatcher = new Agent()
    await dispatcher.destroy()
    expect(await toFailure(fetch('http://localhost/', { dispatcher }))).toMatch(
      /^TypeError: fetch failed ← .*destroyed/,
    )
  })

  it('is aborted by a signal', async () => {
    const dispatcher = end(new Agent())
    const controller = new AbortController()
    const { signal } = controller
    const server = await startOrigin('HTTP/1.1', () => {
      controller.abort()
      return {}
    })
    await expect(fetch(server.origin, { dispatcher, signal })).rejects.toMatchObject({ name: 'AbortError' })
  })
})

function toForm(): FormData {
  const form = new FormData()
  form.append('a', 'b')
  return form
}

function toStream(): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      for (const text of ['one', 'two']) controller.enqueue(new TextEncoder().encode(text))
      controller.close()
    },
  })
}

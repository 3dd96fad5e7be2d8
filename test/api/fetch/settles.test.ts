/** fetch() settles, whatever throws; and reads no member twice. */

import http2 from 'node:http2'
import type { AddressInfo } from 'node:net'
import zlib from 'node:zlib'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { Agent, errors, fetch } from '../../../src/index.ts'
import type { DispatchHandler } from '../../../types/index.ts'
import { INERT } from '../../support/clients/inert-controller.ts'

/** 5 MB in some 5 KB. */
const BOMB = zlib.gzipSync(Buffer.alloc(5_000_000))

const server = http2.createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    if (request.url === '/bomb') response.setHeader('content-encoding', 'gzip')
    if (request.url === '/slow') {
      response.writeHead(200, { 'content-encoding': 'gzip' })
      response.write(zlib.gzipSync('first', { finishFlush: zlib.constants.Z_SYNC_FLUSH }))
      return
    }
    if (request.url === '/no-url') response.writeHead(302, { location: 'http://user:secret@[' })
    response.end(request.url === '/bomb' ? BOMB : Buffer.concat(chunks))
  })
})
let origin: string
const agent = new Agent({ h2c: true, maxResponseSize: 50_000 })

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})

afterAll(async () => {
  await agent.destroy()
  await new Promise((resolve) => server.close(resolve))
})

afterEach(() => vi.unstubAllGlobals())

describe('when the global Response is no usable class', () => {
  it.each([
    ['missing', undefined],
    ['a function without a prototype', () => {}],
    [
      'a class that throws',
      class {
        constructor() {
          throw new Error('not today')
        }
      },
    ],
  ])('rejects: %s', async (_what, global) => {
    vi.stubGlobal('Response', global)
    await expect(fetch(`${origin}/`, { dispatcher: agent })).rejects.toThrow(new TypeError('fetch failed'))
  })

  it('does not change the class of earlier responses', async () => {
    const response = await fetch(`${origin}/`, { dispatcher: agent })
    const { Response } = globalThis
    vi.stubGlobal('Response', class Other {})
    const other = await fetch(`${origin}/`, { dispatcher: agent })
    expect(response).toBeInstanceOf(Response)
    expect(other).toBeInstanceOf(globalThis.Response)
    expect(await Promise.all([response.text(), other.text()])).toEqual(['', ''])
  })
})

describe('when a Request is an object of other code', () => {
  const shape = { [Symbol.toStringTag]: 'Request', bodyUsed: false, method: 'GET', body: null }

  it('uses the defaults for missing members', async () => {
    const request = { ...shape, url: `${origin}/`, headers: new Headers({ a: 'b' }), signal: null }
    const response = await Reflect.apply(fetch, undefined, [request, { dispatcher: agent }])
    expect(response.status).toBe(200)
  })

  it('refuses a body that is no web stream', async () => {
    const request = { ...shape, url: `${origin}/`, method: 'POST', body: Buffer.from('x') }
    await expect(Reflect.apply(fetch, undefined, [request, { dispatcher: agent }])).rejects.toThrow(TypeError)
  })

  it('rejects an invalid referrer, with a body as well', async () => {
    const request = new Request(`${origin}/`, { method: 'POST', body: 'x' })
    Object.defineProperty(request, 'referrer', { value: 'no URL' })
    await expect(fetch(request, { dispatcher: agent })).rejects.toThrow(TypeError)
  })
})

describe('when the stream of a request throws as it is cancelled', () => {
  it('rejects with the reason nevertheless', async () => {
    const stream = {
      locked: false,
      getReader: () => ({
        read: () => new Promise(() => {}),
        cancel: () => {
          throw new Error('never')
        },
      }),
    }
    const abort = new AbortController()
    const init = {
      method: 'POST',
      body: stream,
      duplex: 'half',
      signal: abort.signal,
      dispatcher: agent,
    } as const
    const response = fetch(`${origin}/`, init)
    abort.abort('over')
    await expect(response).rejects.toBe('over')
  })
})

describe('when timers are faked', () => {
  it('gives the decoded part of a coded body', async () => {
    const response = await fetch(`${origin}/slow`, { dispatcher: agent })
    vi.useFakeTimers()
    try {
      const reader = response.body?.getReader()
      expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toBe('first')
      await reader?.cancel()
    } finally {
      vi.useRealTimers()
    }
  })
})

describe('when an interceptor hands on a controller of its own', () => {
  /** As undici's interceptors that retry, cache or decode do. */
  const bounded = agent.compose((dispatch) => (options, handler) => {
    const { onRequestStart, onResponseStart, onResponseData, onResponseEnd, onResponseError } =
      handler as Required<DispatchHandler>
    const toOwn = (inner: Parameters<typeof onRequestStart>[0]) => ({
      ...INERT,
      abort: (reason?: Error) => inner.abort(reason),
      pause: () => inner.pause(),
      resume: () => inner.resume(),
    })
    return dispatch(options, {
      onRequestStart: (inner, context) => onRequestStart.call(handler, toOwn(inner), context),
      onResponseStart: (inner, ...rest) => onResponseStart.call(handler, toOwn(inner), ...rest),
      onResponseData: (inner, chunk) => onResponseData.call(handler, toOwn(inner), chunk),
      onResponseEnd: (inner, trailers) => onResponseEnd.call(handler, toOwn(inner), trailers),
      onResponseError: (inner, error) => onResponseError.call(handler, toOwn(inner), error),
    })
  })

  it.each([
    ['without it', agent],
    ['with it', bounded],
  ])('applies maxResponseSize to the decoded body, %s', async (_what, dispatcher) => {
    const response = await fetch(`${origin}/bomb`, { dispatcher })
    const failure = await response.bytes().catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(TypeError)
    expect((failure as TypeError).cause).toBeInstanceOf(errors.ResponseExceededMaxSizeError)
  })
})

describe('when an init has getters', () => {
  it('calls each of them once', async () => {
    const asked: string[] = []
    const values: Record<string, unknown> = {
      method: 'POST',
      body: 'x',
      headers: { a: 'b' },
      redirect: 'follow',
    }
    const names = [
      'body',
      'cache',
      'headers',
      'integrity',
      'method',
      'mode',
      'redirect',
      'referrer',
      'signal',
    ]
    const init = { dispatcher: agent }
    for (const name of names) {
      Object.defineProperty(init, name, {
        get: () => {
          asked.push(name)
          return values[name]
        },
      })
    }
    await (await fetch(`${origin}/`, init)).text()
    expect(asked).toEqual(names)
  })

  it('passes inherited members on for data: URLs', async () => {
    class Init {
      get signal() {
        return AbortSignal.abort('over')
      }
    }
    await expect(fetch('data:,x', new Init())).rejects.toBe('over')
  })

  it('makes a Request for data: URLs, whose getters take no other object', async () => {
    const init = new Request('http://a.test/', { method: 'HEAD' })
    const [response, nodes] = [await fetch('data:,x', init), await globalThis.fetch('data:,x', init)]
    expect([response.status, await response.text()]).toEqual([nodes.status, await nodes.text()])
  })
})

describe('when the dispatcher is destroyed', () => {
  it.each([
    ['before the header', false],
    ['while the body is read', true],
  ])('fails its calls, %s, and nothing else', async (_when, hasHeader) => {
    const doomed = new Agent({ h2c: true })
    const fetched = fetch(`${origin}/slow`, { dispatcher: doomed })
    const failing = hasHeader ? (await fetched).text() : fetched
    const gone = new Error('gone')
    const failure = expect(failing).rejects.toMatchObject({ name: 'TypeError', cause: gone })
    await doomed.destroy(gone)
    await failure
    expect((await fetch(`${origin}/`, { dispatcher: agent })).status).toBe(200)
  })
})

describe('when a redirect leads nowhere', () => {
  it('does not show the location in its error', async () => {
    const failure = await fetch(`${origin}/no-url`, { dispatcher: agent }).catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(TypeError)
    expect(
      JSON.stringify((failure as TypeError).cause, Object.getOwnPropertyNames((failure as TypeError).cause)),
    ).not.toContain('secret')
  })
})

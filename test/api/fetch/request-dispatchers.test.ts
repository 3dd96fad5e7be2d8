import { describe, expect, it, onTestFinished } from 'vitest'
import type { Dispatcher } from '../../../src/index.ts'
import { Agent, Client, fetch, getGlobalDispatcher, Pool, setGlobalDispatcher } from '../../../src/index.ts'
import type { AnyDispatchHandler, DispatchHandler, DispatchOptions } from '../../../types/index.ts'
import { destroyWithTest, toAgent } from '../../support/clients/agents.ts'
import { FakeDispatcher } from '../../support/clients/fake-dispatcher.ts'
import type { Origin } from './request-rig.ts'
import { startOrigin, toFailure, toLatest, toMixedAgent, toValues } from './request-rig.ts'

/** Calls the handler from inside dispatch(). */
class Hasty extends FakeDispatcher {
  readonly #play: (handler: DispatchHandler, options: DispatchOptions) => void

  constructor(play: (handler: DispatchHandler, options: DispatchOptions) => void) {
    super()
    this.#play = play
  }

  override dispatch(options: DispatchOptions, handler: AnyDispatchHandler): boolean {
    super.dispatch(options, handler)
    this.#play(handler as DispatchHandler, options)
    return true
  }
}

/** The controller of a dispatcher that is neither ours nor undici's. */
function toController() {
  const reasons: Error[] = []
  return {
    reasons,
    rawHeaders: null,
    rawTrailers: null,
    paused: false,
    aborted: false,
    reason: null,
    pause() {},
    resume() {},
    abort(reason: Error) {
      reasons.push(reason)
    },
  }
}

function respond(handler: DispatchHandler, status: number, headers: Record<string, string>, text: string) {
  const controller = toController() as unknown as Parameters<
    NonNullable<DispatchHandler['onRequestStart']>
  >[0]
  handler.onRequestStart?.(controller, null)
  handler.onResponseStart?.(controller, status, headers, 'Fine')
  handler.onResponseData?.(controller, Buffer.from(text))
  handler.onResponseEnd?.(controller, {})
}

describe('when no dispatcher is named', () => {
  it.each<[string, object | null | undefined]>([
    ['without an init', undefined],
    ['with null for it', null],
    ['with null for the dispatcher', { dispatcher: null }],
    ['with undefined for the dispatcher', { dispatcher: undefined }],
  ])('uses the global dispatcher of Dodici %s', async (_what, init) => {
    const before = getGlobalDispatcher()
    onTestFinished(() => setGlobalDispatcher(before))
    const dispatcher = new Hasty((handler) => respond(handler, 200, {}, 'global'))
    setGlobalDispatcher(dispatcher)
    expect(await (await fetch('http://origin.test/path?query#hash', init)).text()).toBe('global')
    expect(dispatcher.requests).toMatchObject([
      { origin: 'http://origin.test', path: '/path?query', method: 'GET', body: null },
    ])
  })

  it('does not use the one of Node', async () => {
    const before = getGlobalDispatcher()
    onTestFinished(() => setGlobalDispatcher(before))
    const ours = new FakeDispatcher()
    setGlobalDispatcher(ours)
    const place = Symbol.for('undici.globalDispatcher.1')
    const nodes: unknown = Reflect.get(globalThis, place)
    const theirs = new FakeDispatcher()
    Reflect.set(globalThis, place, theirs)
    onTestFinished(() => void Reflect.set(globalThis, place, nodes))
    void fetch('http://origin.test/')
    expect([ours.requests.length, theirs.requests.length]).toEqual([1, 0])
  })
})

describe('when a dispatcher of Dodici is named', () => {
  it.each<[string, (server: Origin) => Dispatcher]>([
    ['an Agent', () => new Agent({ h2c: true })],
    ['a Pool', ({ origin }) => new Pool(origin)],
    ['a Client', ({ origin }) => new Client(origin)],
    ['a composed Agent', () => new Agent({ h2c: true }).compose((dispatch) => dispatch)],
  ])('uses %s', async (_what, toDispatcher) => {
    const server = await startOrigin('HTTP/2')
    const dispatcher = toDispatcher(server)
    onTestFinished(() => dispatcher.destroy())
    const response = await fetch(server.origin, { method: 'POST', body: 'body', dispatcher })
    expect([response.status, await response.text()]).toEqual([200, '/'])
    expect(toLatest(server).body).toBe('body')
  })

  it('fails when a Client gets a request for another origin than its own', async () => {
    const [server, other] = [await startOrigin('HTTP/2'), await startOrigin('HTTP/2')]
    const dispatcher = destroyWithTest(new Client(server.origin))
    expect(await toFailure(fetch(other.origin, { dispatcher }))).toMatch(
      /^TypeError: fetch failed ← .*origin/,
    )
    expect([server.seen, other.seen]).toEqual([[], []])
  })

  it('fails when a Client is redirected to another origin than its own', async () => {
    const other = await startOrigin('HTTP/2')
    const reply = { status: 302, fields: { location: other.origin } }
    const server = await startOrigin('HTTP/2', () => reply)
    const dispatcher = destroyWithTest(new Client(server.origin))
    expect(await toFailure(fetch(server.origin, { dispatcher }))).toMatch(
      /^TypeError: fetch failed ← .*origin/,
    )
    expect(other.seen).toEqual([])
  })

  it.each(['close', 'destroy'] as const)('fails after its %s(), and says so', async (end) => {
    const server = await startOrigin('HTTP/2')
    const dispatcher = toMixedAgent(server)
    await dispatcher[end]()
    const failure = await toFailure(fetch(server.origin, { dispatcher }))
    expect(failure).toMatch(/^TypeError: fetch failed ← .*(closed|destroyed)/)
    expect(server.seen).toEqual([])
  })
})

describe('when a dispatcher fails', () => {
  it('fails with the exception of its dispatch()', async () => {
    for (const thrown of [new Error('no'), 'no']) {
      const dispatcher = new Hasty(() => {
        throw thrown
      })
      expect(await toFailure(fetch('http://origin.test/', { dispatcher }))).toMatch(
        /^TypeError: fetch failed ← .*no/,
      )
    }
  })

  it('cancels the body that a closed or throwing dispatcher never reads', async () => {
    const closed = toAgent({})
    await closed.destroy()
    const throwing = new Hasty(() => {
      throw new Error('no')
    })
    for (const dispatcher of [closed, throwing]) {
      const cancelled: unknown[] = []
      const body = new ReadableStream({ cancel: (reason) => void cancelled.push(reason) })
      const call = fetch('http://localhost:1/', { method: 'POST', body, duplex: 'half', dispatcher })
      expect(await toFailure(call)).toContain('TypeError: fetch failed')
      await expect.poll(() => cancelled.length, { interval: 5 }).toBe(1)
    }
  })

  it('ignores a second outcome', async () => {
    const controller = toController() as unknown as Parameters<
      NonNullable<DispatchHandler['onRequestStart']>
    >[0]
    const dispatcher = new Hasty((handler) => {
      handler.onResponseError?.(controller, new Error('first'))
      handler.onResponseError?.(controller, new Error('second'))
      respond(handler, 200, {}, 'late')
    })
    expect(await toFailure(fetch('http://origin.test/', { dispatcher }))).toBe(
      'TypeError: fetch failed ← first',
    )
  })
})

describe('when a dispatcher responds from inside dispatch()', () => {
  it('takes its response', async () => {
    const dispatcher = new Hasty((handler) => respond(handler, 201, { 'x-a': '1' }, 'at once'))
    const response = await fetch('http://origin.test/', { dispatcher })
    expect([response.status, response.statusText, response.headers.get('x-a')]).toEqual([201, 'Fine', '1'])
    expect(await response.text()).toBe('at once')
  })

  it('follows twenty redirects', async () => {
    const dispatcher = new Hasty((handler, { path }) => {
      const count = Number(path.slice(1))
      if (count === 20) respond(handler, 200, {}, 'there')
      else respond(handler, 302, { location: `/${count + 1}` }, '')
    })
    const response = await fetch('http://origin.test/0', { dispatcher })
    expect([response.url, await response.text()]).toEqual(['http://origin.test/20', 'there'])
  })

  it('passes the whole request', async () => {
    const dispatcher = new Hasty((handler) => respond(handler, 200, {}, ''))
    await fetch('http://origin.test:81/a?b', {
      method: 'put',
      body: 'x',
      headers: { 'X-A': '1' },
      dispatcher,
    })
    const [options] = dispatcher.requests
    expect(options).toMatchObject({ origin: 'http://origin.test:81', path: '/a?b', method: 'PUT', body: 'x' })
    expect(options?.headers).toMatchObject({ 'X-A': '1', 'content-type': 'text/plain;charset=UTF-8' })
  })
})

describe('when requests share one agent', () => {
  it('multiplexes them', async () => {
    const server = await startOrigin('HTTP/2', ({ path }) => ({ body: path }))
    const dispatcher = toMixedAgent(server)
    const paths = Array.from({ length: 50 }, (_, i) => `/${i}`)
    const texts = paths.map(async (path) => (await fetch(server.origin + path, { dispatcher })).text())
    expect(await Promise.all(texts)).toEqual(paths)
    expect(server.connections).toBe(1)
    expect(server.seen.flatMap((seen) => toValues(seen, 'host'))).toEqual([])
  })
})

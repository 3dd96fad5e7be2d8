/** Several interceptors at once, and what passes through them. */

import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import type { DispatcherComposeInterceptor } from '../../types/index.ts'
import type { Respond } from './interceptors-server.ts'
import { composeAgent, composeClient, send, startWebServer } from './interceptors-server.ts'
import type { Undici } from './interceptors-undicis.ts'
import { NEWER_UNDICIS, UNDICIS } from './interceptors-undicis.ts'
import { toCases, toReason, WAYS } from './interceptors-ways.ts'

/** `/busy` has no time at first, and then leads to `/here`, which is encoded and lasts. */
function toWinding(): Respond {
  let isBusy = true
  const body = gzipSync('hello')
  return ({ path }, reply) => {
    if (path === '/busy' && isBusy) send(reply, 503, {}, 'busy')
    else if (path === '/busy') send(reply, 302, { location: '/here', 'cache-control': 'max-age=3600' })
    else
      send(reply, 200, { 'content-encoding': 'gzip', 'cache-control': 'max-age=3600', 'x-said': 'yes' }, body)
    isBusy = false
  }
}

describe.each(['h2', 'http/1.1'] as const)('all interceptors together, over %s', (protocol) => {
  it.each(toCases(NEWER_UNDICIS, WAYS))('of $from do each its part, by $what', async ({ undici, way }) => {
    const server = await startWebServer(toWinding(), protocol)
    const { retry, redirect, decompress, cache, deduplicate, responseError } = undici.interceptors
    const dispatcher = composeAgent(
      server,
      undici.toDns(() => [{ address: '127.0.0.1', ttl: 60_000, family: 4 }]),
      retry({ minTimeout: 0 }),
      deduplicate(),
      redirect({ maxRedirections: 2 }),
      cache(),
      decompress(),
      responseError(),
    )
    for (const _ of ['first', 'second']) {
      const { status, headers, text } = await way.ask(undici, dispatcher, `${server.origin}/busy`)
      expect([status, headers['x-said'], text]).toEqual([200, 'yes', 'hello'])
      expect(Object.keys(headers)).not.toContain('content-encoding')
    }
    const paths = server.exchanges.map(({ path }) => path)
    expect(paths.slice(0, 3)).toEqual(['/busy', '/busy', '/here'])
    // A fetch follows by itself, and lets go of a redirect that may not have ended yet: that isn't cached then.
    expect(paths.slice(3).filter((path) => path !== '/busy')).toEqual([])
    if (!way.isFetch) expect(paths).toHaveLength(3)
  })
})

/** An interceptor that assigns what raw headers there are, or changes them in place. */
function toMarking(how: 'assigns' | 'splices'): DispatcherComposeInterceptor {
  return (dispatch) => (options, handler) => {
    const marking = new Proxy(handler, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name)
        if (typeof value !== 'function') return value
        return (...args: unknown[]): unknown => {
          const [controller] = args
          if (name === 'onResponseStart' && typeof controller === 'object' && controller !== null) {
            const raw: unknown = Reflect.get(controller, 'rawHeaders')
            if (how === 'splices' && Array.isArray(raw)) raw.splice(0, raw.length, 'x-mark', 'here')
            else Reflect.set(controller, 'rawHeaders', [Buffer.from('x-mark'), Buffer.from('here')])
          }
          return Reflect.apply(value, target, args)
        }
      },
    })
    return dispatch(options, marking)
  }
}

describe.each(['assigns', 'splices'] as const)('an interceptor that %s raw headers', (how) => {
  it.each(['h2', 'http/1.1'] as const)('determines the raw headers of a call, over %s', async (protocol) => {
    const server = await startWebServer((_exchange, reply) => send(reply, 200, { 'x-said': 'yes' }), protocol)
    const dispatcher = composeAgent(server, toMarking(how))
    const options = { origin: server.origin, path: '/', method: 'GET', responseHeaders: 'raw' } as const
    const { headers, body } = await dispatcher.request(options)
    await body.dump()
    expect(headers).toEqual(['x-mark', 'here'])
  })

  it('determines the headers of the built-in fetch', async () => {
    const server = await startWebServer((_exchange, reply) => send(reply, 200, { 'x-said': 'yes' }))
    const response = await fetch(server.origin, { dispatcher: composeAgent(server, toMarking(how)) })
    await response.text()
    expect(Object.fromEntries(response.headers)).toEqual({ 'x-mark': 'here' })
  })
})

/** The interceptors that every undici has; here none has an effect. */
function toIdle({ interceptors }: Undici): DispatcherComposeInterceptor[] {
  return [interceptors.redirect({ maxRedirections: 2 }), interceptors.retry({ maxRetries: 0, minTimeout: 0 })]
}

describe.each(toCases(UNDICIS, WAYS))('interceptors of $from, by $what', ({ undici, way }) => {
  it('pass on the error of a lost connection', async () => {
    const server = await startWebServer(() => server.cut())
    const dispatcher = composeAgent(server, ...toIdle(undici))
    const call = way.ask(undici, dispatcher, server.origin, { method: 'POST', body: 'this' })
    expect(await toReason(call)).toMatchObject({ code: 'UND_ERR_SOCKET', processed: 'maybe' })
  })

  it('pass on the reason of an abort', async () => {
    const aborter = new AbortController()
    const reason = new Error('enough')
    const server = await startWebServer(() => aborter.abort(reason))
    const dispatcher = composeAgent(server, ...toIdle(undici))
    const { signal } = aborter
    const heard = await way
      .ask(undici, dispatcher, server.origin, { signal })
      .catch((thrown: unknown) => thrown)
    expect(heard).toBe(reason)
  })

  it('serve a Client', async () => {
    const server = await startWebServer(({ body }, reply) =>
      send(reply, 200, { 'x-said': 'yes' }, `got ${body}`),
    )
    const dispatcher = composeClient(server, ...toIdle(undici))
    const { headers, text } = await way.ask(undici, dispatcher, server.origin, {
      method: 'POST',
      body: 'this',
    })
    expect([headers['x-said'], text]).toEqual(['yes', 'got this'])
  })
})

/** The interceptors that keep a response from its caller: `dump` and `responseError`. */

import { describe, expect, it } from 'vitest'
import type { Protocol } from './interceptors-server.ts'
import { composeAgent, composeClient, send, startWebServer } from './interceptors-server.ts'
import { NEWER_UNDICIS, UNDICIS } from './interceptors-undicis.ts'
import { PIPELINE, toCases, toReason, WAYS } from './interceptors-ways.ts'

const PROTOCOLS: { protocol: Protocol; version: string }[] = [
  { protocol: 'h2', version: '2.0' },
  { protocol: 'http/1.1', version: '1.1' },
]

/** More than the windows of a stream and of HTTP/1.1's socket hold: it must be read to come to its end. */
const LARGE = Buffer.alloc(4 * 1024 * 1024, 'x')

describe.each(PROTOCOLS)('the dump interceptor over $protocol', ({ protocol, version }) => {
  describe.each(toCases(UNDICIS, [...WAYS, PIPELINE]))('of $from, by $what', ({ undici, way }) => {
    it('keeps a large body, all of which was read, from the caller', async () => {
      const { promise: finished, resolve } = toDeferred()
      const server = await startWebServer((_exchange, reply) => {
        reply.once('finish', resolve)
        send(reply, 200, { 'x-said': 'yes' }, LARGE)
      }, protocol)
      const dispatcher = composeAgent(server, undici.interceptors.dump({ maxSize: LARGE.length + 1 }))
      const { status, headers, text } = await way.ask(undici, dispatcher, server.origin)
      expect([status, headers['x-said'], text]).toEqual([200, 'yes', ''])
      await finished
      expect(server.exchanges.map(({ version }) => version)).toEqual([version])
    })

    it('fails a call whose response announces too large a body', async () => {
      const server = await startWebServer(
        (_exchange, reply) => send(reply, 200, { 'content-length': '10' }, 'abcdefghij'),
        protocol,
      )
      const dispatcher = composeAgent(server, undici.interceptors.dump({ maxSize: 9 }))
      const reason = await toReason(way.ask(undici, dispatcher, server.origin))
      expect(reason).toMatchObject({
        code: 'UND_ERR_ABORTED',
        message: expect.stringContaining('maxSize (9)'),
      })
      // The connection still serves.
      const other = composeAgent(server)
      const { status } = await way.ask(undici, other, server.origin)
      expect(status).toBe(200)
    })
  })
})

function toDeferred(): { promise: Promise<void>; resolve: () => void } {
  let resolve = (): void => {}
  const promise = new Promise<void>((tell) => {
    resolve = tell
  })
  return { promise, resolve }
}

describe.each(PROTOCOLS)('the responseError interceptor over $protocol', ({ protocol, version }) => {
  describe.each(toCases(NEWER_UNDICIS, [...WAYS, PIPELINE]))('of $from, by $what', ({ undici, way }) => {
    it('makes an error of a response of 404', async () => {
      const server = await startWebServer(
        (_exchange, reply) =>
          send(reply, 404, { 'content-type': 'application/json', 'x-said': 'no' }, '{"why":"gone"}'),
        protocol,
      )
      const dispatcher = composeAgent(server, undici.interceptors.responseError())
      expect(await toReason(way.ask(undici, dispatcher, server.origin))).toMatchObject({
        name: 'ResponseError',
        code: 'UND_ERR_RESPONSE',
        statusCode: 404,
        headers: { 'x-said': 'no' },
        body: { why: 'gone' },
      })
      expect(server.exchanges.map(({ version }) => version)).toEqual([version])
    })

    it('lets any other response pass', async () => {
      const server = await startWebServer((_exchange, reply) => send(reply, 201, {}, 'made'), protocol)
      const dispatcher = composeAgent(server, undici.interceptors.responseError())
      const { status, text } = await way.ask(undici, dispatcher, server.origin)
      expect([status, text]).toEqual([201, 'made'])
    })
  })
})

describe.each(NEWER_UNDICIS)('the responseError interceptor of $name', ({ interceptors }) => {
  it('serves over a Client too', async () => {
    const server = await startWebServer((_exchange, reply) => send(reply, 500, {}))
    const dispatcher = composeClient(server, interceptors.responseError())
    const reason = await toReason(dispatcher.request({ path: '/', method: 'GET' }))
    expect(reason).toMatchObject({ code: 'UND_ERR_RESPONSE', statusCode: 500 })
  })

  it('passes on an error of ours unchanged', async () => {
    const server = await startWebServer(() => server.cut())
    const dispatcher = composeAgent(server, interceptors.responseError())
    const call = dispatcher.request({ origin: server.origin, path: '/', method: 'POST' })
    expect(await toReason(call)).toMatchObject({ code: 'UND_ERR_SOCKET', processed: 'maybe', attempts: 1 })
  })
})

// That of undici 6 forgets the reason.
describe.each(NEWER_UNDICIS)('the dump interceptor of $name', ({ interceptors }) => {
  it('passes on the reason of an abort, once the body has come', async () => {
    const aborter = new AbortController()
    const server = await startWebServer((_exchange, reply) => {
      aborter.abort(new Error('enough'))
      send(reply, 200, {}, 'hello')
    })
    const dispatcher = composeAgent(server, interceptors.dump({ maxSize: 100 }))
    const { signal } = aborter
    const call = dispatcher.request({ origin: server.origin, path: '/', method: 'GET', signal })
    expect(await toReason(call)).toBe(signal.reason)
  })
})

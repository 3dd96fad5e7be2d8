/** The interceptors that save requests: `cache` and `deduplicate`. */

import { describe, expect, it } from 'vitest'
import type { Protocol, Respond } from './interceptors-server.ts'
import { composeAgent, composeClient, countRequests, send, startWebServer } from './interceptors-server.ts'
import type { Undici } from './interceptors-undicis.ts'
import { NEWER_UNDICIS } from './interceptors-undicis.ts'
import type { Way } from './interceptors-ways.ts'
import { BUILTIN_FETCH, OWN_FETCH, PIPELINE, toCases, toReason, WAYS } from './interceptors-ways.ts'

const PROTOCOLS: { protocol: Protocol; version: string }[] = [
  { protocol: 'h2', version: '2.0' },
  { protocol: 'http/1.1', version: '1.1' },
]

/** A cacheable response, in the requested language, with an ETag. */
const lasting: Respond = ({ headers }, reply) => {
  const common = { 'cache-control': 'public, max-age=3600', etag: '"v1"', vary: 'x-language' }
  if (headers['if-none-match'] === '"v1"') send(reply, 304, common)
  else send(reply, 200, { ...common, 'x-said': 'yes' }, `hello in ${headers['x-language']}`)
}

describe.each(PROTOCOLS)('the cache interceptor over $protocol', ({ protocol, version }) => {
  describe.each(toCases(NEWER_UNDICIS, [...WAYS, PIPELINE]))('of $from, by $what', ({ undici, way }) => {
    it('responds to the second GET itself', async () => {
      const server = await startWebServer(lasting, protocol)
      const dispatcher = composeAgent(server, undici.interceptors.cache())
      const asked = { headers: { 'x-language': 'en' } }
      const first = await way.ask(undici, dispatcher, server.origin, asked)
      const second = await way.ask(undici, dispatcher, server.origin, asked)
      expect([first.status, first.text, first.headers['x-said']]).toEqual([200, 'hello in en', 'yes'])
      expect([second.status, second.text, second.headers['x-said']]).toEqual([200, 'hello in en', 'yes'])
      expect([first.headers.age, second.headers.age]).toEqual([undefined, expect.stringMatching(/^\d+$/)])
      expect(server.exchanges.map(({ version }) => version)).toEqual([version])
    })
  })

  describe.each(toCases(NEWER_UNDICIS, WAYS))('of $from, by $what', ({ undici, way }) => {
    it('revalidates a stored response with the server', async () => {
      const server = await startWebServer(lasting, protocol)
      const dispatcher = composeAgent(server, undici.interceptors.cache())
      const headers = { 'x-language': 'en' }
      await way.ask(undici, dispatcher, server.origin, { headers })
      const asked = { headers: { ...headers, 'cache-control': 'no-cache' } }
      const { status, text } = await way.ask(undici, dispatcher, server.origin, asked)
      expect([status, text]).toEqual([200, 'hello in en'])
      expect(server.exchanges.map(({ headers }) => headers['if-none-match'])).toEqual([undefined, '"v1"'])
    })

    it('distinguishes responses that vary', async () => {
      const server = await startWebServer(lasting, protocol)
      const dispatcher = composeAgent(server, undici.interceptors.cache())
      const texts: string[] = []
      for (const language of ['en', 'de', 'en', 'de']) {
        const asked = { headers: { 'x-language': language } }
        texts.push((await way.ask(undici, dispatcher, server.origin, asked)).text)
      }
      expect(texts).toEqual(['hello in en', 'hello in de', 'hello in en', 'hello in de'])
      expect(server.exchanges).toHaveLength(2)
    })
  })
})

describe.each(toCases(NEWER_UNDICIS, WAYS))('the cache interceptor of $from, by $what', ({ undici, way }) => {
  it('gives a response for a client that wants nothing but what it has', async () => {
    const server = await startWebServer(lasting)
    const dispatcher = composeAgent(server, undici.interceptors.cache())
    const asked = { headers: { 'cache-control': 'only-if-cached' } }
    const { status } = await way.ask(undici, dispatcher, server.origin, asked)
    expect(status).toBe(504)
    expect(server.exchanges).toEqual([])
  })

  it('caches over a Client', async () => {
    const server = await startWebServer(lasting)
    const dispatcher = composeClient(server, undici.interceptors.cache())
    await way.ask(undici, dispatcher, server.origin)
    expect((await way.ask(undici, dispatcher, server.origin)).text).toBe('hello in undefined')
    expect(server.exchanges).toHaveLength(1)
  })
})

describe.each(NEWER_UNDICIS)('the cache interceptor of $name', ({ interceptors }) => {
  it("caches over a Client, whose requests don't name it", async () => {
    const server = await startWebServer(lasting)
    const dispatcher = composeClient(server, interceptors.cache())
    for (const _ of ['first', 'second']) {
      const { body } = await dispatcher.request({ path: '/', method: 'GET' })
      expect(await body.text()).toBe('hello in undefined')
    }
    expect(server.exchanges).toHaveLength(1)
  })

  it('has raw headers for its own responses', async () => {
    const server = await startWebServer(lasting)
    const dispatcher = composeAgent(server, interceptors.cache())
    const ask = async () => {
      const options = { origin: server.origin, path: '/', method: 'GET', responseHeaders: 'raw' } as const
      const { headers, body } = await dispatcher.request(options)
      await body.dump()
      return headers
    }
    await ask()
    const raw = await ask()
    expect(raw).toEqual(expect.arrayContaining(['x-said', 'yes', 'age']))
    expect(Array.isArray(raw) && raw.every((part) => typeof part === 'string')).toBe(true)
    expect(server.exchanges).toHaveLength(1)
  })

  it('passes a failure on, and stores nothing of it', async () => {
    let isFirst = true
    const server = await startWebServer((exchange, reply) => {
      if (isFirst) server.cut()
      else lasting(exchange, reply)
      isFirst = false
    })
    const dispatcher = composeAgent(server, interceptors.cache())
    const options = { origin: server.origin, path: '/', method: 'GET', idempotent: false }
    expect(await toReason(dispatcher.request(options))).toMatchObject({ code: 'UND_ERR_SOCKET' })
    const { statusCode, body } = await dispatcher.request(options)
    await body.dump()
    expect(statusCode).toBe(200)
  })
})

/** Responds to each request once it may. */
function toPatient(mayRespond: Promise<void>): Respond {
  let count = 0
  return (_exchange, reply) => {
    const text = `hello ${++count}`
    void mayRespond.then(() => send(reply, 200, { 'content-type': 'text/plain', 'x-said': 'yes' }, text))
  }
}

/** The fetch of undici 8 looks for headers in `rawHeaders` alone, where `deduplicate` has none for the second. */
function readsRawAlone(undici: Undici, way: Way): boolean {
  if (!way.isFetch || way === OWN_FETCH) return false
  return way === BUILTIN_FETCH ? process.versions.undici?.startsWith('8.') === true : undici.major === 8
}

describe.each(PROTOCOLS)('the deduplicate interceptor over $protocol', ({ protocol, version }) => {
  it.each(toCases(NEWER_UNDICIS, WAYS))('of $from makes one request of two at once, by $what', async ({
    undici,
    way,
  }) => {
    const { interceptor, reached } = countRequests(2)
    const server = await startWebServer(toPatient(reached), protocol)
    const dispatcher = composeAgent(server, undici.interceptors.deduplicate(), interceptor)
    const responses = await Promise.all([
      way.ask(undici, dispatcher, server.origin),
      way.ask(undici, dispatcher, server.origin),
    ])
    const seen = responses.map(({ status, text }) => [status, text])
    expect(seen).toEqual([
      [200, 'hello 1'],
      [200, 'hello 1'],
    ])
    const said = responses.map(({ headers }) => headers['x-said'])
    expect(said).toEqual(readsRawAlone(undici, way) ? ['yes', undefined] : ['yes', 'yes'])
    expect(server.exchanges.map(({ version }) => version)).toEqual([version])
  })
})

describe.each(NEWER_UNDICIS)('the deduplicate interceptor of $name', ({ interceptors }) => {
  const toOptions = (origin: string) => ({ origin, path: '/', method: 'GET' })

  it('gives raw headers to both', async () => {
    const { interceptor, reached } = countRequests(2)
    const server = await startWebServer(toPatient(reached))
    const dispatcher = composeAgent(server, interceptors.deduplicate(), interceptor)
    const ask = async () => {
      const options = { ...toOptions(server.origin), responseHeaders: 'raw' } as const
      const { headers, body } = await dispatcher.request(options)
      await body.dump()
      return headers
    }
    for (const raw of await Promise.all([ask(), ask()]))
      expect(raw).toEqual(expect.arrayContaining(['x-said', 'yes']))
  })

  it('fails both with the same error', async () => {
    const { interceptor, reached } = countRequests(2)
    const server = await startWebServer(() => void reached.then(() => server.cut()))
    const dispatcher = composeAgent(server, interceptors.deduplicate(), interceptor)
    const options = { ...toOptions(server.origin), idempotent: false }
    const reasons = await Promise.all([
      toReason(dispatcher.request(options)),
      toReason(dispatcher.request(options)),
    ])
    expect(reasons[0]).toMatchObject({ code: 'UND_ERR_SOCKET', processed: 'maybe' })
    expect(reasons[1]).toBe(reasons[0])
  })

  it("makes one request of two over a Client, whose requests don't name it", async () => {
    const { interceptor, reached } = countRequests(2)
    const server = await startWebServer(toPatient(reached))
    const dispatcher = composeClient(server, interceptors.deduplicate(), interceptor)
    const ask = async () => (await dispatcher.request({ path: '/', method: 'GET' })).body.text()
    expect(await Promise.all([ask(), ask()])).toEqual(['hello 1', 'hello 1'])
  })
})

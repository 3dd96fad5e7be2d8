import { describe, expect, it } from 'vitest'
import type { Protocol, Respond } from './interceptors-server.ts'
import { composeAgent, composeClient, send, startWebServer, tapData } from './interceptors-server.ts'
import { UNDICIS } from './interceptors-undicis.ts'
import { toCases, toReason, WAYS } from './interceptors-ways.ts'

/** undici 6 and 7 take a `retry-after` of 0 for none. */
const AT_ONCE = { minTimeout: 0 }

/** Has no time for the first so many. */
function toBusy(count: number): Respond {
  let left = count
  return (_exchange, reply) => {
    if (left-- > 0) send(reply, 503, { 'retry-after': '0' }, 'busy')
    else send(reply, 200, { 'x-said': 'yes' }, 'hello')
  }
}

const TEXT = 'abcdefghij'

/** Gives the first half of its text, and the other one to who asks for it. */
const halving: Respond = ({ headers }, reply) => {
  reply.setHeader('etag', '"v1"')
  if (headers.range === undefined) {
    reply.setHeader('content-length', String(TEXT.length))
    reply.write(TEXT.slice(0, 5))
  } else {
    const range = { 'content-range': `bytes 5-9/${TEXT.length}`, 'content-length': '5' }
    send(reply, 206, range, TEXT.slice(5))
  }
}

describe.each<{ protocol: Protocol; version: string }>([
  { protocol: 'h2', version: '2.0' },
  { protocol: 'http/1.1', version: '1.1' },
])('the retry interceptor over $protocol', ({ protocol, version }) => {
  describe.each(toCases(UNDICIS, WAYS))('of $from, by $what', ({ undici, way }) => {
    it('retries a request after a 503', async () => {
      const server = await startWebServer(toBusy(2), protocol)
      const dispatcher = composeAgent(server, undici.interceptors.retry(AT_ONCE))
      const { status, headers, text } = await way.ask(undici, dispatcher, `${server.origin}/busy`)
      expect([status, headers['x-said'], text]).toEqual([200, 'yes', 'hello'])
      const request = `GET /busy ${version}`
      expect(server.exchanges.map(({ method, path, version }) => `${method} ${path} ${version}`)).toEqual([
        request,
        request,
        request,
      ])
    })

    it('goes on with a body that was cut in the middle', async () => {
      const server = await startWebServer(halving, protocol)
      let cuts = 0
      const cut = tapData(() => {
        if (cuts++ === 0) server.cut()
      })
      const dispatcher = composeAgent(server, cut, undici.interceptors.retry(AT_ONCE))
      const { status, text } = await way.ask(undici, dispatcher, `${server.origin}/text`)
      expect([status, text]).toEqual([200, TEXT])
      const asked = server.exchanges.map(({ version, headers }) => [
        version,
        headers.range,
        headers['if-match'],
      ])
      expect(asked).toEqual([
        [version, undefined, undefined],
        [version, 'bytes=5-9', '"v1"'],
      ])
    })
  })
})

describe.each(toCases(UNDICIS, WAYS))('the retry interceptor of $from, by $what', ({ undici, way }) => {
  it('does not disturb a request that needs no retry, with or without a body', async () => {
    const server = await startWebServer(({ body }, reply) => send(reply, 200, {}, `got ${body}`))
    const dispatcher = composeAgent(server, undici.interceptors.retry(AT_ONCE))
    const { text } = await way.ask(undici, dispatcher, server.origin, { method: 'POST', body: 'this' })
    expect(text).toBe('got this')
    expect(server.exchanges).toHaveLength(1)
  })

  it('retries a request over the same Client', async () => {
    const server = await startWebServer(toBusy(1))
    const dispatcher = composeClient(server, undici.interceptors.retry(AT_ONCE))
    const { status, text } = await way.ask(undici, dispatcher, `${server.origin}/busy`)
    expect([status, text]).toEqual([200, 'hello'])
    expect(server.exchanges).toHaveLength(2)
  })

  it('fails after its maximum of attempts', async () => {
    const server = await startWebServer(toBusy(9))
    const dispatcher = composeAgent(server, undici.interceptors.retry({ ...AT_ONCE, maxRetries: 2 }))
    const reason = await toReason(way.ask(undici, dispatcher, server.origin))
    expect(reason).toMatchObject({ code: 'UND_ERR_REQ_RETRY', statusCode: 503 })
    expect(server.exchanges).toHaveLength(3)
  })

  it('hands on why the caller has given up', async () => {
    const aborter = new AbortController()
    const server = await startWebServer((_exchange, reply) => {
      send(reply, 503, { 'retry-after': '3600' })
      aborter.abort()
    })
    const dispatcher = composeAgent(server, undici.interceptors.retry({ ...AT_ONCE, maxRetries: 1 }))
    const { signal } = aborter
    const reason = await toReason(way.ask(undici, dispatcher, server.origin, { signal }))
    expect(reason).toMatchObject({ name: 'AbortError' })
  })
})

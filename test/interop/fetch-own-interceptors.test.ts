/** Our own fetch through undici's interceptors, over our Agent. */

import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { fetch } from '../../src/index.ts'
import type { Respond } from './interceptors-server.ts'
import { composeAgent, composeClient, send, startWebServer } from './interceptors-server.ts'
import { NEWER_UNDICIS, UNDICIS } from './interceptors-undicis.ts'
import { toReason } from './interceptors-ways.ts'

/** The first responses in turn, then 200 with the body of the request. */
function inTurn(...statuses: readonly number[]): Respond {
  const left = [...statuses]
  return ({ body }, reply) => {
    const status = left.shift()
    if (status === undefined) send(reply, 200, { 'content-type': 'text/plain' }, `got ${body}`)
    else send(reply, status, { 'retry-after': '0' }, 'not now')
  }
}

const RETRY = { maxRetries: 2, minTimeout: 1 }

describe.each(UNDICIS)('when our Agent is composed with interceptors of $name', ({
  interceptors,
  toDns,
  toRetryAgent,
}) => {
  it('is retried by retry', async () => {
    const server = await startWebServer(inTurn(503, 500))
    const dispatcher = composeAgent(server, interceptors.retry(RETRY))
    const response = await fetch(server.origin, { method: 'PUT', body: 'body', dispatcher })
    expect([response.status, await response.text()]).toEqual([200, 'got body'])
    expect(server.exchanges.map(({ body }) => body)).toEqual(['body', 'body', 'body'])
  })

  it('is retried by a RetryAgent', async () => {
    const server = await startWebServer(inTurn(503))
    const dispatcher = toRetryAgent(composeAgent(server), RETRY)
    expect(await (await fetch(server.origin, { dispatcher })).text()).toBe('got ')
    expect(server.exchanges).toHaveLength(2)
  })

  it('follows redirects itself: redirect leaves them to it, as with undici’s fetch', async () => {
    const server = await startWebServer(({ path, body }, reply) => {
      if (path === '/to') send(reply, 200, {}, `got ${body}`)
      else send(reply, 307, { location: '/to' })
    })
    const dispatcher = composeAgent(server, interceptors.redirect({ maxRedirections: 3 }))
    const response = await fetch(`${server.origin}/from`, { method: 'POST', body: 'body', dispatcher })
    expect([response.status, response.redirected, response.url, await response.text()]).toEqual([
      200,
      true,
      `${server.origin}/to`,
      'got body',
    ])
    expect(server.exchanges.map(({ path }) => path)).toEqual(['/from', '/to'])
  })

  it('gets nothing of a body by dump', async () => {
    const server = await startWebServer((_exchange, reply) => send(reply, 200, { 'x-a': '1' }, 'dumped'))
    const dispatcher = composeAgent(server, interceptors.dump({ maxSize: 1024 }))
    const response = await fetch(server.origin, { dispatcher })
    expect([response.headers.get('x-a'), await response.text()]).toEqual(['1', ''])
  })

  it('finds its host by dns', async () => {
    const server = await startWebServer(({ authority }, reply) => send(reply, 200, {}, authority))
    const dns = toDns(() => [{ address: '127.0.0.1', ttl: 1_000, family: 4 }])
    const response = await fetch(server.origin, { dispatcher: composeAgent(server, dns) })
    // undici 6 leaves the port out.
    expect(await response.text()).toMatch(/^localhost/)
  })

  it('follows redirects itself through several, by a Client too', async () => {
    const server = await startWebServer(({ path }, reply) => {
      const left = Number(path.slice(1))
      if (left === 0) send(reply, 200, {}, 'there')
      else send(reply, 302, { location: `/${left - 1}` })
    })
    for (const dispatcher of [
      composeAgent(server, interceptors.retry(RETRY)),
      composeClient(server, interceptors.retry(RETRY)),
    ]) {
      const response = await fetch(`${server.origin}/3`, { dispatcher })
      expect([response.redirected, response.url, await response.text()]).toEqual([
        true,
        `${server.origin}/0`,
        'there',
      ])
    }
  })
})

describe.each(NEWER_UNDICIS)('when our Agent is composed with newer interceptors of $name', ({
  interceptors,
}) => {
  it('gets its response from cache', async () => {
    const fields = { 'cache-control': 'max-age=60', 'x-a': '1' }
    const server = await startWebServer((_exchange, reply) => send(reply, 200, fields, 'cached'))
    const dispatcher = composeAgent(server, interceptors.cache())
    for (let i = 0; i < 3; i++) {
      const response = await fetch(server.origin, { dispatcher })
      expect([response.status, response.headers.get('x-a'), await response.text()]).toEqual([
        200,
        '1',
        'cached',
      ])
    }
    expect(server.exchanges).toHaveLength(1)
  })

  it('gets a body once decoded by decompress', async () => {
    const body = gzipSync('decoded')
    const server = await startWebServer((_exchange, reply) =>
      send(reply, 200, { 'content-encoding': 'gzip' }, body),
    )
    const dispatcher = composeAgent(server, interceptors.decompress())
    const response = await fetch(server.origin, { dispatcher })
    expect(await response.text()).toBe('decoded')
  })

  it('decodes a cached response', async () => {
    const fields = { 'cache-control': 'max-age=60', 'content-encoding': 'gzip' }
    const server = await startWebServer((_exchange, reply) => send(reply, 200, fields, gzipSync('decoded')))
    const dispatcher = composeAgent(server, interceptors.cache())
    for (let i = 0; i < 2; i++)
      expect(await (await fetch(server.origin, { dispatcher })).text()).toBe('decoded')
    expect(server.exchanges).toHaveLength(1)
  })

  it('fails with the error that responseError makes of a response', async () => {
    const server = await startWebServer((_exchange, reply) => send(reply, 404, {}, 'none'))
    const dispatcher = composeAgent(server, interceptors.responseError())
    expect(await toReason(fetch(server.origin, { dispatcher }))).toMatchObject({ statusCode: 404 })
  })

  it('shares one request by deduplicate', async () => {
    let release = (): void => {}
    const server = await startWebServer((_exchange, reply) => {
      release = () => send(reply, 200, {}, 'shared')
    })
    const dispatcher = composeAgent(server, interceptors.deduplicate())
    const calls = [1, 2, 3].map(() => fetch(server.origin, { dispatcher }))
    await expect.poll(() => server.exchanges.length, { interval: 5 }).toBe(1)
    release()
    const texts = await Promise.all(calls.map(async (call) => (await call).text()))
    expect(texts).toEqual(['shared', 'shared', 'shared'])
    expect(server.exchanges).toHaveLength(1)
  })
})

describe.each(UNDICIS)('when the dispatcher is a MockAgent of $name', ({ toMock }) => {
  it('gets its response', async () => {
    const mock = toMock()
    mock.disableNetConnect()
    const headers = { 'content-type': 'application/json', 'x-a': '1' }
    mock
      .get('https://mocked.test')
      .intercept({ path: '/a?b', method: 'POST', body: 'body' })
      .reply(201, '{"a":1}', { headers })
    const response = await fetch('https://mocked.test/a?b', {
      method: 'POST',
      body: 'body',
      dispatcher: mock,
    })
    expect([response.status, response.headers.get('x-a'), await response.json()]).toEqual([
      201,
      '1',
      { a: 1 },
    ])
    mock.assertNoPendingInterceptors()
  })

  it('follows its redirects', async () => {
    const mock = toMock()
    const pool = mock.get('https://mocked.test')
    pool.intercept({ path: '/from', method: 'GET' }).reply(302, '', { headers: { location: '/to' } })
    pool.intercept({ path: '/to', method: 'GET' }).reply(200, 'there')
    const response = await fetch('https://mocked.test/from', { dispatcher: mock })
    expect([response.url, await response.text()]).toEqual(['https://mocked.test/to', 'there'])
  })

  it('fails with its error, also if nothing was mocked', async () => {
    const mock = toMock()
    mock.disableNetConnect()
    const error = new Error('mocked')
    mock.get('https://mocked.test').intercept({ path: '/', method: 'GET' }).replyWithError(error)
    expect(await toReason(fetch('https://mocked.test/', { dispatcher: mock }))).toBe(error)
    expect(await toReason(fetch('https://other.test/', { dispatcher: mock }))).toMatchObject({
      code: 'UND_MOCK_ERR_MOCK_NOT_MATCHED',
    })
  })
})

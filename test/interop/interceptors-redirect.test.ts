import { describe, expect, it } from 'vitest'
import type { Exchange, Protocol, Respond } from './interceptors-server.ts'
import { composeAgent, composeClient, send, startWebServer } from './interceptors-server.ts'
import { UNDICIS } from './interceptors-undicis.ts'
import { toCases, toReason, WAYS } from './interceptors-ways.ts'

/** `/3` leads to `/2`, and so on. */
const counting: Respond = ({ path, method, body }, reply) => {
  const left = Number(path.slice(1))
  if (left > 0) send(reply, 302, { location: `/${left - 1}` }, 'elsewhere')
  else send(reply, 200, {}, `${method} ${body}`)
}

function toLines(exchanges: readonly Exchange[]): string[] {
  return exchanges.map(({ method, path, version }) => `${method} ${path} ${version}`)
}

function toHistory(context: object): string[] {
  const history: unknown = Reflect.get(context, 'history')
  return Array.isArray(history) ? history.map((url) => new URL(url).pathname) : []
}

describe.each<{ protocol: Protocol; version: string }>([
  { protocol: 'h2', version: '2.0' },
  { protocol: 'http/1.1', version: '1.1' },
])('the redirect interceptor over $protocol', ({ protocol, version }) => {
  it.each(toCases(UNDICIS, WAYS))('of $from goes to the end of the chain, by $what', async ({
    undici,
    way,
  }) => {
    const server = await startWebServer(counting, protocol)
    const dispatcher = composeAgent(server, undici.interceptors.redirect({ maxRedirections: 3 }))
    const { status, text } = await way.ask(undici, dispatcher, `${server.origin}/2`)
    expect([status, text]).toEqual([200, 'GET '])
    expect(toLines(server.exchanges)).toEqual([`GET /2 ${version}`, `GET /1 ${version}`, `GET /0 ${version}`])
  })

  it.each(UNDICIS)('of $name reports the history of redirects', async ({ interceptors }) => {
    const server = await startWebServer(counting, protocol)
    const dispatcher = composeAgent(server, interceptors.redirect({ maxRedirections: 3 }))
    const { context, body } = await dispatcher.request({ origin: server.origin, path: '/2', method: 'GET' })
    await body.dump()
    expect(toHistory(context)).toEqual(['/2', '/1', '/0'])
  })
})

describe.each(UNDICIS)('the redirect interceptor of $name', ({ interceptors }) => {
  it('makes a GET without a body of a POST after a 303', async () => {
    const server = await startWebServer(({ path, method, body }, reply) => {
      if (path === '/from') send(reply, 303, { location: '/to' })
      else send(reply, 200, {}, `${method} ${body}`)
    })
    const dispatcher = composeAgent(server, interceptors.redirect({ maxRedirections: 1 }))
    const options = { origin: server.origin, path: '/from', method: 'POST', body: 'this' }
    const { body } = await dispatcher.request(options)
    expect(await body.text()).toBe('GET ')
    expect(server.exchanges.map(({ body }) => body)).toEqual(['this', ''])
  })

  it('repeats a POST with its body after a 307', async () => {
    const server = await startWebServer(({ path, method, body }, reply) => {
      if (path === '/from') send(reply, 307, { location: '/to' })
      else send(reply, 200, {}, `${method} ${body}`)
    })
    const dispatcher = composeAgent(server, interceptors.redirect({ maxRedirections: 1 }))
    const options = { origin: server.origin, path: '/from', method: 'POST', body: 'this' }
    const { body } = await dispatcher.request(options)
    expect(await body.text()).toBe('POST this')
  })

  it('hands over the redirect itself at the limit of redirects', async () => {
    const server = await startWebServer(counting)
    const dispatcher = composeAgent(server, interceptors.redirect({ maxRedirections: 1 }))
    const { statusCode, headers, body } = await dispatcher.request({
      origin: server.origin,
      path: '/2',
      method: 'GET',
    })
    expect([statusCode, headers.location, await body.text()]).toEqual([302, '/0', 'elsewhere'])
  })

  it('follows to another server, without the fields for the first one alone', async () => {
    const target = await startWebServer(({ headers }, reply) =>
      send(reply, 200, {}, `${headers.authorization} ${headers['x-own']}`),
    )
    const server = await startWebServer((_exchange, reply) =>
      send(reply, 302, { location: `${target.origin}/` }),
    )
    const dispatcher = composeAgent(server, interceptors.redirect({ maxRedirections: 1 }))
    const headers = { authorization: 'secret', 'x-own': 'yes' }
    const { body } = await dispatcher.request({ origin: server.origin, path: '/', method: 'GET', headers })
    expect(await body.text()).toBe('undefined yes')
    expect(target.exchanges[0]?.authority).toBe(new URL(target.origin).host)
  })

  it('goes to an absolute location over a Client', async () => {
    const server = await startWebServer(({ path }, reply) => {
      if (path === '/from') send(reply, 302, { location: `${server.origin}/to` })
      else send(reply, 200, {}, path)
    })
    const dispatcher = composeClient(server, interceptors.redirect({ maxRedirections: 1 }))
    const { body } = await dispatcher.request({ path: '/from', method: 'GET' })
    expect(await body.text()).toBe('/to')
  })

  it("goes to a relative location over a Client, whose requests don't name it", async () => {
    const server = await startWebServer(counting)
    const dispatcher = composeClient(server, interceptors.redirect({ maxRedirections: 1 }))
    const { body } = await dispatcher.request({ path: '/1', method: 'GET' })
    expect(await body.text()).toBe('GET ')
  })

  it('passes on the error that ended a chain', async () => {
    const aborter = new AbortController()
    const server = await startWebServer(({ path }, reply) => {
      if (path === '/1') aborter.abort(new Error('enough'))
      counting(server.exchanges[server.exchanges.length - 1] as Exchange, reply)
    })
    const dispatcher = composeAgent(server, interceptors.redirect({ maxRedirections: 3 }))
    const { signal } = aborter
    const call = dispatcher.request({ origin: server.origin, path: '/2', method: 'GET', signal })
    expect(await toReason(call)).toBe(signal.reason)
  })
})

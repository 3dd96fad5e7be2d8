import { inspect } from 'node:util'
import { describe, expect, it, onTestFinished } from 'vitest'
import { EnvHttpProxyAgent, errors, fetch, ProxyAgent, Socks5ProxyAgent } from '../../src/index.ts'
import type { ProxyAgentOptions } from '../../types/index.ts'
import { ENGINES } from '../support/clients/engines.ts'
import type { Origins, ProxyRules, TestProxy } from '../support/servers/proxies.ts'
import {
  startHttp1Proxy,
  startHttp2Proxy,
  startOrigins,
  startSocksProxy,
} from '../support/servers/proxies.ts'

const USER = 'me'
const PASSWORD = 's3cr3t:@'
const BASIC = `Basic ${btoa(`${USER}:${PASSWORD}`)}`

type Start = (rules?: ProxyRules) => Promise<TestProxy>
const HTTP_PROXIES: Record<string, Start> = {
  'HTTP/1.1': (rules) => startHttp1Proxy(rules),
  'HTTP/1.1 over TLS': (rules) => startHttp1Proxy(rules, true),
  'HTTP/2': startHttp2Proxy,
}
const PROXIES: Record<string, Start> = {
  ...HTTP_PROXIES,
  SOCKS5: (rules) => startSocksProxy(rules?.authorization === undefined ? null : [USER, PASSWORD]),
}

function withCredentials(url: string): string {
  const { protocol, host } = new URL(url)
  return `${protocol}//${USER}:${encodeURIComponent(PASSWORD)}@${host}`
}

function toAgent({ ca }: Origins, options: ProxyAgentOptions): ProxyAgent {
  const agent = new ProxyAgent({ proxyTls: { ca }, requestTls: { ca }, ...options })
  onTestFinished(() => agent.destroy())
  return agent
}

async function ask(
  agent: ProxyAgent | EnvHttpProxyAgent,
  origin: string,
  more: object = {},
): Promise<string> {
  const { body } = await agent.request({ origin, path: '/', method: 'GET', ...more })
  return body.text()
}

const fail = (agent: ProxyAgent | EnvHttpProxyAgent, origin: string, more: object = {}): Promise<Error> =>
  ask(agent, origin, more).then(
    (text) => new Error(`no error, but ${text}`),
    (error: Error) => error,
  )

const toAuthority = (origin: string): string => new URL(origin).host

describe.each(ENGINES)('engine %s', (engine) => {
  describe.each(Object.entries(PROXIES))('through a proxy of %s', (name, start) => {
    it('an origin of HTTP/2, of HTTP/1.1, and a plain one', async () => {
      const origins = await startOrigins()
      const proxy = await start({ authorization: BASIC })
      const agent = toAgent(origins, { uri: withCredentials(proxy.url), engine })
      expect(await ask(agent, origins.http2)).toBe('GET / over 2.0')
      expect(await ask(agent, origins.http1)).toBe('GET / over 1.1')
      expect(await ask(agent, origins.plain, { path: '/a?b=c' })).toBe('GET /a?b=c over 1.1')
      expect(await ask(agent, origins.http2)).toBe('GET / over 2.0')
      const { http2, http1, plain } = origins
      // The tunnel that has found out that an origin speaks HTTP/1.1 serves the request.
      const expected = [http2, http1].map(toAuthority)
      const forwarded = name === 'SOCKS5' ? toAuthority(plain) : `${plain}/a?b=c`
      expect(proxy.asked).toEqual([...expected, forwarded])
      expect(origins.seen.filter((headers) => 'proxy-authorization' in headers)).toEqual([])
      const { host } = new URL(plain)
      expect(origins.seen.map(({ host: field }) => field).filter((field) => field === host)).toHaveLength(1)
      await agent.close()
    })

    it('100 requests at once, by one tunnel', async () => {
      const origins = await startOrigins()
      const proxy = await start()
      const agent = toAgent(origins, { uri: proxy.url, engine })
      const texts = await Promise.all(Array.from({ length: 100 }, () => ask(agent, origins.http2)))
      expect(new Set(texts)).toEqual(new Set(['GET / over 2.0']))
      expect(proxy.asked).toEqual([toAuthority(origins.http2)])
      await agent.close()
    })

    it('fetch, and an upgrade', async () => {
      const origins = await startOrigins()
      const proxy = await start()
      const agent = toAgent(origins, { uri: proxy.url, engine })
      const response = await fetch(origins.http2, { dispatcher: agent })
      expect(await response.text()).toBe('GET / over 2.0')
      const { socket } = await agent.upgrade({ origin: origins.plain, path: '/', protocol: 'echo' })
      socket.write('hello')
      const [first] = await new Promise<Buffer[]>((resolve) =>
        socket.once('data', (chunk) => resolve([chunk])),
      )
      expect(String(first)).toBe('hello')
      socket.destroy()
      expect(proxy.asked.at(-1)).toBe(toAuthority(origins.plain))
    })

    it('a tunnel that the proxy closes is replaced', async () => {
      const origins = await startOrigins()
      const proxy = await start()
      const agent = toAgent(origins, { uri: proxy.url, engine })
      expect(await ask(agent, origins.http2)).toBe('GET / over 2.0')
      const gone = new Promise((resolve) => agent.once('disconnect', resolve))
      proxy.cut()
      await gone
      expect(await ask(agent, origins.http2)).toBe('GET / over 2.0')
      expect(proxy.asked).toHaveLength(2)
    })

    it('an origin that cannot be reached', async () => {
      const origins = await startOrigins()
      const proxy = await start({ status: 502 })
      const agent = toAgent(origins, { uri: proxy.url, engine })
      const error = await fail(agent, name === 'SOCKS5' ? 'https://localhost:1' : origins.http2)
      if (name !== 'SOCKS5') {
        expect(error).toBeInstanceOf(errors.ProxyConnectionError)
        expect(error).toMatchObject({ statusCode: 502, code: 'UND_ERR_PRX_CONN' })
      } else expect(error).toBeInstanceOf(errors.DodiciError)
    })

    it('credentials among the headers of a request are refused', async () => {
      const origins = await startOrigins()
      const proxy = await start()
      const agent = toAgent(origins, { uri: proxy.url, engine })
      const name = 'Proxy-Authorization'
      const forms: (() => unknown)[] = [
        () => ({ [name]: BASIC }),
        () => [name, BASIC],
        () => [[name, BASIC]],
        () => new Map([[name, BASIC]]),
        () => new Headers([[name, BASIC]]),
        () => new Map([[name, BASIC]]).entries(),
      ]
      for (const toHeaders of forms) {
        for (const origin of [origins.http2, origins.plain]) {
          const error = await fail(agent, origin, { headers: toHeaders() })
          expect(error).toBeInstanceOf(errors.InvalidArgumentError)
          expect(inspect(error)).not.toContain(BASIC)
        }
      }
      expect(proxy.asked).toEqual([])
    })

    it('nothing shows the credentials', async () => {
      const origins = await startOrigins()
      const proxy = await start({ authorization: 'another' })
      const agent = toAgent(origins, { uri: withCredentials(proxy.url), engine })
      const shown: string[] = [inspect(agent, { depth: 10, showHidden: true })]
      for (const origin of [origins.http2, origins.plain]) {
        const error = name === 'SOCKS5' ? null : await fail(agent, origin)
        if (error !== null) expect(error).toMatchObject({ code: 'UND_ERR_PRX_CONN', statusCode: 407 })
        shown.push(inspect(error, { depth: 10 }), JSON.stringify(error))
      }
      for (const text of shown)
        for (const secret of [PASSWORD, encodeURIComponent(PASSWORD), btoa(`${USER}:${PASSWORD}`)])
          expect(text).not.toContain(secret)
    })

    it('is left by destroy(), and a process may end', async () => {
      const origins = await startOrigins()
      const proxy = await start()
      const agent = toAgent(origins, { uri: proxy.url, engine })
      await ask(agent, origins.http2)
      await agent.destroy()
      expect(await fail(agent, origins.http2)).toBeInstanceOf(errors.ClientDestroyedError)
    })
  })

  describe.each(Object.entries(HTTP_PROXIES))('a refusal by a proxy of %s', (_name, start) => {
    it.each([401, 403, 407, 503])('with status %i has its header and body', async (status) => {
      const origins = await startOrigins()
      const proxy = await start({ status, body: 'x'.repeat(100_000) })
      const agent = toAgent(origins, { uri: proxy.url, engine })
      const error = await fail(agent, origins.http2)
      expect(error).toBeInstanceOf(errors.ProxyConnectionError)
      expect(error).toMatchObject({ statusCode: status, headers: { 'proxy-authenticate': 'Basic' } })
      expect((error as InstanceType<typeof errors.ProxyConnectionError>).body).toHaveLength(65_536)
    })

    it('fails each of the waiting requests with an error of its own', async () => {
      const origins = await startOrigins()
      const proxy = await start({ status: 403, body: 'no' })
      const agent = toAgent(origins, { uri: proxy.url, engine })
      const all = await Promise.all([1, 2, 3].map(() => fail(agent, origins.http2)))
      expect(new Set(all).size).toBe(3)
      for (const error of all) expect(error).toMatchObject({ statusCode: 403, body: Buffer.from('no') })
    })
  })

  it.each([
    1, 2, 3, 4, 5, 6, 7, 8, 9,
  ])('the reply %i of a SOCKS5 proxy is an error of its own', async (reply) => {
    const origins = await startOrigins()
    const proxy = await startSocksProxy(null, reply)
    const agent = toAgent(origins, { uri: proxy.url, engine })
    const error = await fail(agent, origins.http2)
    expect(error).toBeInstanceOf(errors.Socks5ProxyError)
    expect(error).toMatchObject({ code: `UND_ERR_SOCKS5_REPLY_${reply}` })
  })

  it('a SOCKS5 proxy refuses wrong and missing credentials', async () => {
    const origins = await startOrigins()
    const proxy = await startSocksProxy([USER, PASSWORD])
    const wrong = new Socks5ProxyAgent(proxy.url, {
      username: USER,
      password: 'no',
      requestTls: { ca: origins.ca },
      engine,
    })
    onTestFinished(() => wrong.destroy())
    expect(await fail(wrong, origins.http2)).toMatchObject({ code: 'UND_ERR_SOCKS5_AUTH_FAILED' })
    const none = toAgent(origins, { uri: proxy.url, engine })
    expect(await fail(none, origins.http2)).toMatchObject({ code: 'UND_ERR_SOCKS5_AUTH_REJECTED' })
  })

  it('the environment names the proxies, and the hosts without one', async () => {
    const origins = await startOrigins()
    const proxy = await startHttp1Proxy()
    const { port } = new URL(origins.http1)
    const agent = new EnvHttpProxyAgent({
      httpProxy: proxy.url,
      noProxy: `127.0.0.0/8, localhost:${port}`,
      connect: { ca: origins.ca },
      engine,
    })
    onTestFinished(() => agent.destroy())
    expect(await ask(agent, origins.http2)).toBe('GET / over 2.0')
    expect(await ask(agent, origins.http1)).toBe('GET / over 1.1')
    expect(await ask(agent, origins.plain.replace('localhost', '127.0.0.1'))).toBe('GET / over 1.1')
    expect(proxy.asked).toEqual([toAuthority(origins.http2)])
  })
})

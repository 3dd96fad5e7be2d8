/** What goes through a proxy, what it shows of its credentials, and what goes around it. */

import { createHash } from 'node:crypto'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { Http2SecureServer, Http2ServerRequest, ServerHttp2Stream } from 'node:http2'
import { createSecureServer } from 'node:http2'
import { createServer as createHttps } from 'node:https'
import type { LookupFunction, Socket } from 'node:net'
import { inspect } from 'node:util'
import { interceptors } from 'undici'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import type { Dispatcher } from '../../src/index.ts'
import { EnvHttpProxyAgent, errors, fetch, Pool, ProxyAgent } from '../../src/index.ts'
import type { ProxyAgentOptions } from '../../types/index.ts'
import { ENGINES } from '../support/clients/engines.ts'
import { HTTP_1_1_REQUIRED } from '../support/peers/error-codes.ts'
import { findFreePort } from '../support/servers/free-port.ts'
import { listen } from '../support/servers/listen.ts'
import { toCertificate } from '../support/servers/server.ts'
import type { AskedTunnel, TunnelProxy } from '../support/servers/tunnel-proxy.ts'
import { KINDS, startTunnelProxy } from '../support/servers/tunnel-proxy.ts'

const SECRET = 's3cr3t'
const HTTP_KINDS = KINDS.filter((kind) => kind !== 'SOCKS5')

/** A server of HTTP/2 and HTTP/1.1, by ALPN. Where a redirect leads to is in its query. */
async function startOrigin() {
  const { private: key, cert } = await toCertificate()
  const server: Http2SecureServer = createSecureServer({ key, cert, allowHTTP1: true })
  let misdirected = 0
  server.on('session', (session) => session.on('error', () => {}))
  server.on('request', (request: Http2ServerRequest, response) => {
    const { pathname, searchParams } = new URL(request.url, 'https://x')
    const isHttp2 = request.httpVersion === '2.0'
    if (pathname === '/h1' && isHttp2) request.stream.close(HTTP_1_1_REQUIRED)
    else if (pathname === '/421' && isHttp2 && misdirected++ === 0) response.writeHead(421).end()
    else if (pathname === '/redirect')
      response.writeHead(302, { location: searchParams.get('to') ?? '' }).end()
    else response.end(`${request.method} ${pathname} over ${request.httpVersion}`)
  })
  server.on('upgrade', (request, socket: Socket) => {
    const accept = createHash('sha1')
      .update(`${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
      .digest('base64')
    socket.write(
      'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n' +
        `sec-websocket-accept: ${accept}\r\n\r\n`,
    )
    // A text of two bytes.
    socket.on('error', () => {}).write(Buffer.from('\x81\x02hi', 'latin1'))
  })
  const { port, sockets } = await listen(server)
  return { port, connections: () => sockets.length, at: (name: string) => `https://${name}:${port}` }
}

/** Any name is the loopback address. */
const toLoopback: LookupFunction = (_hostname, { all }, callback) => {
  if (all === true) callback(null, [{ address: '127.0.0.1', family: 4 }])
  else callback(null, '127.0.0.1', 4)
}

/** All strings that a message has, as far as an inspector looks. */
const show = (value: unknown): string =>
  [
    inspect(value, { depth: 12, showHidden: true, maxArrayLength: null, maxStringLength: null }),
    String(value),
  ].join()

describe.each(ENGINES)('engine %s', (engine) => {
  function toAgent(
    proxy: Pick<TunnelProxy, 'uri' | 'ca'>,
    options: Partial<ProxyAgentOptions> = {},
  ): ProxyAgent {
    const agent = new ProxyAgent({
      ...{ uri: proxy.uri, engine, proxyTls: { ca: proxy.ca }, requestTls: { rejectUnauthorized: false } },
      ...options,
    })
    onTestFinished(() => agent.destroy())
    return agent
  }

  async function ask(agent: Dispatcher, origin: string, path = '/'): Promise<string> {
    const { body } = await agent.request({ origin, path, method: 'GET' })
    return body.text()
  }

  const fail = (asked: Promise<unknown>): Promise<Error> =>
    asked.then(
      () => new Error('no error'),
      (error: Error) => error,
    )

  describe.each(KINDS)('behind a proxy of %s', (kind) => {
    it('HTTP_1_1_REQUIRED leads through the proxy again', async () => {
      const origin = await startOrigin()
      const proxy = await startTunnelProxy(kind)
      const agent = toAgent(proxy)
      expect(await ask(agent, origin.at('origin.test'), '/h1')).toBe('GET /h1 over 1.1')
      expect(await ask(agent, origin.at('origin.test'))).toBe('GET / over 2.0')
      expect(new Set(proxy.asked.map(({ authority }) => authority))).toEqual(
        new Set([`origin.test:${origin.port}`]),
      )
      expect(proxy.asked).toHaveLength(origin.connections())
    })

    it('a 421 leads through the proxy again', async () => {
      const origin = await startOrigin()
      const proxy = await startTunnelProxy(kind)
      expect(await ask(toAgent(proxy), origin.at('origin.test'), '/421')).toBe('GET /421 over 2.0')
      expect(proxy.asked).toHaveLength(2)
      expect(origin.connections()).toBe(2)
    })

    it.each(['fetch()', "undici's interceptor"])('a redirect of %s looks at NO_PROXY anew', async (way) => {
      const origin = await startOrigin()
      const proxy = await startTunnelProxy(kind)
      const agent = new EnvHttpProxyAgent({
        ...{ httpsProxy: proxy.uri, httpProxy: '', noProxy: '127.0.0.0/8', engine },
        ...{ proxyTls: { ca: proxy.ca }, connect: { rejectUnauthorized: false } },
      })
      onTestFinished(() => agent.destroy())
      const end = `${origin.at('b.test')}/end`
      const direct = `${origin.at('127.0.0.1')}/redirect?to=${encodeURIComponent(end)}`
      const path = `/redirect?to=${encodeURIComponent(direct)}`
      const start = origin.at('a.test')
      const text =
        way === 'fetch()'
          ? await (await fetch(`${start}${path}`, { dispatcher: agent })).text()
          : await ask(agent.compose(interceptors.redirect({ maxRedirections: 5 }) as never), start, path)
      expect(text).toBe('GET /end over 2.0')
      expect(proxy.asked.map(({ authority }) => authority)).toEqual([
        `a.test:${origin.port}`,
        `b.test:${origin.port}`,
      ])
      expect(origin.connections()).toBe(3)
    })
  })

  describe.each(HTTP_KINDS)('a proxy of %s', (kind) => {
    it('gets the fields of a function with each CONNECT, and the token', async () => {
      const origin = await startOrigin()
      const proxy = await startTunnelProxy(kind)
      let count = 0
      const headers = (): Record<string, string> => ({ 'x-count': String(++count), host: 'other.test' })
      const agent = toAgent(proxy, { headers, token: `Bearer ${SECRET}` })
      for (const name of ['a.test', 'b.test', 'c.test', 'a.test']) await ask(agent, origin.at(name))
      expect(proxy.asked.map((tunnel) => tunnel.headers['x-count'])).toEqual(['1', '2', '3'])
      for (const { headers: fields, authority } of proxy.asked) {
        expect(fields['proxy-authorization']).toBe(`Bearer ${SECRET}`)
        expect(fields.host ?? authority).toBe(authority)
      }
    })

    it('a function of headers that fails fails the call', async () => {
      const proxy = await startTunnelProxy(kind)
      const failing = toAgent(proxy, {
        headers: () => {
          throw new Error('no token')
        },
      })
      expect(inspect(await fail(ask(failing, 'https://a.test')))).toContain('no token')
      const late = toAgent(proxy, { headers: (async () => ({})) as never })
      expect(inspect(await fail(ask(late, 'https://a.test')))).toContain('returned a promise')
      expect(proxy.asked).toEqual([])
    })

    it('no message of a diagnostics channel has credentials', async () => {
      const origin = await startOrigin()
      const proxy = await startTunnelProxy(kind)
      const heard: string[] = []
      const names = [
        'request:create',
        'request:headers',
        'request:error',
        'client:sendHeaders',
        'client:connected',
      ]
      const channels = [...names, 'client:beforeConnect', 'client:connectError', 'proxy:connected']
      for (const name of channels) {
        const onMessage = (message: unknown): void => {
          const { request, headers, connectParams, error } = Object(message)
          heard.push(`${name} ${show([request, request?.headers, headers, connectParams, error])}`)
        }
        subscribe(`undici:${name}`, onMessage)
        onTestFinished(() => void unsubscribe(`undici:${name}`, onMessage))
      }
      await ask(toAgent(proxy, { token: `Bearer ${SECRET}` }), origin.at('a.test'))
      expect(proxy.asked[0]?.headers['proxy-authorization']).toContain(SECRET)
      expect(heard.length).toBeGreaterThan(2)
      expect(heard.filter((text) => text.includes(SECRET))).toEqual([])
    })

    it("publishes its tunnels in undici's shape", async () => {
      const origin = await startOrigin()
      const proxy = await startTunnelProxy(kind)
      const heard: { socket: { write: unknown }; connectParams: Record<string, unknown> }[] = []
      const onMessage = (message: unknown): void => void heard.push(message as never)
      subscribe('undici:proxy:connected', onMessage)
      onTestFinished(() => void unsubscribe('undici:proxy:connected', onMessage))
      await ask(toAgent(proxy, { headers: { 'x-key': SECRET } }), origin.at('a.test'))
      const path = `a.test:${origin.port}`
      expect(heard).toHaveLength(1)
      expect(heard[0]?.socket.write).toBeTypeOf('function')
      expect(heard[0]?.connectParams).toEqual({
        ...{ origin: proxy.uri, port: new URL(proxy.uri).port, path, servername: 'localhost' },
        ...{ headers: { host: path }, signal: expect.any(AbortSignal) },
      })
    })

    it('may be connected to by a dispatcher of the caller', async () => {
      const origin = await startOrigin()
      const proxy = await startTunnelProxy(kind)
      const { protocol, host } = new URL(proxy.uri)
      const pools: Pool[] = []
      const seen: string[] = []
      const agent = toAgent(proxy, {
        uri: `${protocol}//me:${SECRET}@${host}`,
        connectTimeout: 60_000,
        clientFactory: (url, options) => {
          seen.push(url.href, show(options))
          const pool = new Pool(url, { ...options, engine, h2c: false })
          pools.push(pool)
          return pool
        },
      })
      expect(await ask(agent, origin.at('a.test'))).toBe('GET / over 2.0')
      expect(proxy.asked[0]?.headers['proxy-authorization']).toBe(`Basic ${btoa(`me:${SECRET}`)}`)
      expect(seen.join()).not.toContain(SECRET)
      expect(seen.join()).toContain('connectTimeout: 60000')
      await agent.destroy()
      expect(pools.map((pool) => pool.destroyed)).toEqual([true])
      expect(() => toAgent(proxy, { clientFactory: () => ({}) as never })).toThrow(
        errors.InvalidReturnValueError,
      )
    })

    it('that refuses a dispatcher of the caller is a refusal, too', async () => {
      const refuse = ({ link }: AskedTunnel): void => {
        if (kind === 'HTTP/2') (link as ServerHttp2Stream).respond({ ':status': 403 }, { endStream: true })
        else link.end('HTTP/1.1 403 No\r\ncontent-length: 0\r\n\r\n')
      }
      const proxy = await startTunnelProxy(kind, refuse)
      const agent = toAgent(proxy, {
        clientFactory: (url, options) => new Pool(url, { ...options, engine, h2c: false }),
      })
      const error = await fail(ask(agent, 'https://a.test'))
      expect(error).toBeInstanceOf(errors.ProxyConnectionError)
      expect(error).toMatchObject({ statusCode: 403, body: Buffer.alloc(0) })
    })
  })

  describe.each(['HTTP/1.1 over TLS', 'HTTP/2'] as const)('TLS with a proxy of %s', (kind) => {
    it('that is not trusted is an error of its own', async () => {
      const origin = await startOrigin()
      const proxy = await startTunnelProxy(kind)
      const agent = toAgent(proxy, { proxyTls: {}, token: SECRET })
      const error = await fail(ask(agent, origin.at('a.test')))
      expect(error).toBeInstanceOf(errors.SecureProxyConnectionError)
      expect(error.message).toContain(proxy.uri)
      expect(show(error)).not.toContain(SECRET)
      expect(proxy.asked).toEqual([])
    })

    it('that is for another name is an error of its own; proxyTls may say the right one', async () => {
      const origin = await startOrigin()
      const proxy = await startTunnelProxy(kind)
      const tls = { ca: proxy.ca, lookup: toLoopback }
      const uri = proxy.uri.replace('localhost', 'proxy.test')
      const wrong = toAgent(proxy, { uri, proxyTls: tls })
      expect(await fail(ask(wrong, origin.at('a.test')))).toBeInstanceOf(errors.SecureProxyConnectionError)
      const right = toAgent(proxy, { uri, proxyTls: { ...tls, servername: 'localhost' } })
      expect(await ask(right, origin.at('a.test'))).toBe('GET / over 2.0')
    })

    it('of the origin is another error', async () => {
      const origin = await startOrigin()
      const proxy = await startTunnelProxy(kind)
      const error = await fail(ask(toAgent(proxy, { requestTls: {} }), origin.at('a.test')))
      expect(error).toBeInstanceOf(errors.ConnectError)
      expect(error).not.toBeInstanceOf(errors.SecureProxyConnectionError)
      expect(error.message).toContain(origin.at('a.test'))
    })
  })

  it('a proxy of https: that speaks no TLS is an error of its own', async () => {
    const { port } = await listen(createServer())
    const error = await fail(
      ask(toAgent({ uri: `https://localhost:${port}`, ca: '' }, { proxyTls: {} }), 'https://a.test'),
    )
    expect(error).toBeInstanceOf(errors.SecureProxyConnectionError)
  })

  describe('a request that is forwarded by TLS', () => {
    async function startForwarder() {
      const { private: key, cert } = await toCertificate()
      const server = createHttps({ key, cert }, (request, response) => response.end(request.url))
      const { port } = await listen(server)
      return { uri: `https://localhost:${port}`, ca: cert }
    }

    it("has the server name of the proxy, not the origin's", async () => {
      const proxy = await startForwarder()
      const agent = toAgent(proxy)
      for (const name of ['a.test', 'b.test', 'a.test'])
        expect(await ask(agent, `http://${name}`)).toBe(`http://${name}/`)
      const byAddress = toAgent(proxy, { uri: proxy.uri.replace('localhost', '127.0.0.1') })
      expect(await ask(byAddress, 'http://a.test')).toBe('http://a.test/')
    })

    it('has the server name of proxyTls', async () => {
      const proxy = await startForwarder()
      const uri = proxy.uri.replace('localhost', 'proxy.test')
      const proxyTls = { ca: proxy.ca, lookup: toLoopback, servername: 'localhost' }
      expect(await ask(toAgent(proxy, { uri, proxyTls }), 'http://a.test')).toBe('http://a.test/')
    })
  })

  describe('the environment', () => {
    it('names the proxies: lower case wins, and NO_PROXY is read at each request', async () => {
      const origin = await startOrigin()
      const proxy = await startTunnelProxy('HTTP/1.1')
      for (const name of ['http_proxy', 'HTTP_PROXY', 'NO_PROXY']) vi.stubEnv(name, '')
      vi.stubEnv('HTTPS_PROXY', 'http://localhost:1')
      vi.stubEnv('https_proxy', proxy.uri)
      vi.stubEnv('no_proxy', undefined)
      onTestFinished(() => void vi.unstubAllEnvs())
      const agent = new EnvHttpProxyAgent({ engine, connect: { rejectUnauthorized: false } })
      onTestFinished(() => agent.destroy())
      expect(await ask(agent, origin.at('127.0.0.1'))).toBe('GET / over 2.0')
      expect(proxy.asked).toHaveLength(1)
      vi.stubEnv('NO_PROXY', '127.0.0.1')
      expect(await ask(agent, origin.at('127.0.0.1'))).toBe('GET / over 2.0')
      expect(origin.connections()).toBe(2)
      vi.stubEnv('no_proxy', 'a.test')
      expect(await ask(agent, origin.at('127.0.0.1'))).toBe('GET / over 2.0')
      expect(proxy.asked).toHaveLength(1)
      expect(origin.connections()).toBe(2)
      expect(agent.stats).toEqual({
        [origin.at('127.0.0.1')]: expect.objectContaining({
          ...{ connected: 2, free: 2, pending: 0, queued: 0, running: 0, size: 0 },
          sessions: [expect.objectContaining({ requests: 1 }), expect.objectContaining({ requests: 2 })],
          http1: { connections: 0, running: 0 },
        }),
      })
      await agent.close()
      expect(agent.destroyed).toBe(true)
    })
  })

  describe('a request that is forwarded', () => {
    it('and refused with a large 407 fails with 64 KiB of its body', async () => {
      const server = createServer((_request, response) => {
        response.writeHead(407, { 'proxy-authenticate': 'Basic' })
        response.end(Buffer.alloc(1_000_000, 'x'))
      })
      const { port } = await listen(server)
      const agent = toAgent({ uri: `http://me:${SECRET}@localhost:${port}`, ca: '' }, { proxyTls: {} })
      const error = await fail(ask(agent, 'http://a.test'))
      expect(error).toBeInstanceOf(errors.ProxyConnectionError)
      expect(error).toMatchObject({ statusCode: 407, headers: { 'proxy-authenticate': 'Basic' } })
      expect((error as InstanceType<typeof errors.ProxyConnectionError>).body).toHaveLength(65_536)
      expect(show(error)).not.toContain(SECRET)
    })

    it('to a proxy that cannot be connected to fails with the name of the proxy', async () => {
      const uri = `http://localhost:${await findFreePort()}`
      const agent = toAgent({ uri, ca: '' }, { proxyTls: {} })
      for (const origin of ['http://a.test', 'https://a.test']) {
        const error = await fail(ask(agent, origin))
        expect(error).toBeInstanceOf(errors.ConnectError)
        expect(error).toMatchObject({ code: 'ECONNREFUSED', processed: 'no' })
        expect(error.message).toContain(`Could not connect to ${uri}: `)
      }
    })

    it('and aborted while the proxy is silent fails by the abort', async () => {
      const server = createServer(() => {})
      const { port } = await listen(server)
      const agent = toAgent({ uri: `http://localhost:${port}`, ca: '' }, { proxyTls: {} })
      for (const isEarly of [true, false]) {
        const abortion = new AbortController()
        const options = {
          origin: 'http://a.test',
          path: '/',
          method: 'GET',
          signal: abortion.signal,
        } as const
        const failed = fail(agent.request(options))
        if (!isEarly) await once(server, 'request')
        abortion.abort()
        expect(await failed).toMatchObject({ name: 'AbortError' })
      }
    })

    it('has the absolute form, one host, and the fields for the proxy', async () => {
      const heard: string[] = []
      const server = createServer((request, response) => {
        heard.push(`${request.method} ${request.url} ${request.rawHeaders.join(' ')}`)
        response.end()
      })
      const { port } = await listen(server)
      const uri = `http://localhost:${port}`
      const agent = toAgent(
        { uri, ca: '' },
        { proxyTls: {}, headers: { host: 'no.test', 'x-a': '1' }, token: 'x y' },
      )
      await ask(agent, 'http://a.test', '/b?c=d')
      await agent.request({
        origin: 'http://a.test:81',
        path: '/b',
        method: 'GET',
        query: { e: 1 },
        headers: { host: 'c.test' },
      })
      await agent.request({ origin: 'http://a.test', path: '*', method: 'OPTIONS' })
      const [first = '', second = '', third = ''] = heard
      expect(first).toMatch(/^GET http:\/\/a\.test\/b\?c=d host a\.test/)
      expect(first).toContain('x-a 1 proxy-authorization x y')
      expect(second).toMatch(/^GET http:\/\/a\.test:81\/b\?e=1 /)
      expect(second.match(/host \S+/g)).toEqual(['host c.test'])
      expect(third).toMatch(/^OPTIONS http:\/\/a\.test /)
    })

    it('goes from the localAddress of the options', async () => {
      const heard: unknown[] = []
      const server = createServer((request, response) => {
        heard.push(request.socket.remoteAddress)
        response.end()
      })
      const { port } = await listen(server)
      const agent = toAgent(
        { uri: `http://127.0.0.1:${port}`, ca: '' },
        { proxyTls: {}, localAddress: '127.0.0.2' },
      )
      await ask(agent, 'http://a.test')
      expect(heard).toEqual(['127.0.0.2'])
    })
  })
})

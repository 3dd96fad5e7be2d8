import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import type { RequestListener } from 'node:http'
import { createServer } from 'node:http'
import { createSecureServer } from 'node:http2'
import { createServer as createSecureServer1 } from 'node:https'
import type { AddressInfo, Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TLSSocket } from 'node:tls'
import * as undici7 from 'undici'
import { describe, expect, it, onTestFinished } from 'vitest'
import { dns, fetch, Pool, ProxyAgent, UpstreamPool } from '../../src/index.ts'
import type { PoolOptions, UpstreamInit, UpstreamPoolOptions } from '../../types/index.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import { findFreePort } from '../support/servers/free-port.ts'
import { startHttp1Proxy } from '../support/servers/proxies.ts'
import { startServer, toCertificate } from '../support/servers/server.ts'

const GET = { path: '/', method: 'GET' } as const
const POST = { path: '/', method: 'POST', body: 'x' } as const

function toPool(upstreams: ConstructorParameters<typeof UpstreamPool>[0], options?: UpstreamPoolOptions) {
  const pool = destroyWithTest(new UpstreamPool(upstreams, { slowStart: 0, ...options }))
  return pool
}

async function ask(pool: UpstreamPool, options: Parameters<UpstreamPool['request']>[0] = GET) {
  const { statusCode, body } = await pool.request(options)
  return `${statusCode} ${await body.text()}`
}

async function listen(
  server: Server,
  where: { path: string } | { port: 0; host: '127.0.0.1' },
): Promise<void> {
  server.listen(where)
  await once(server, 'listening')
  onTestFinished(() => {
    if ('closeAllConnections' in server) (server as { closeAllConnections(): void }).closeAllConnections()
    server.close()
  })
}

/** A server of HTTP/1.1. */
async function startHttp1(listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  await listen(server, { port: 0, host: '127.0.0.1' })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

interface Kind {
  readonly upstreams: readonly (string | UpstreamInit)[]
  readonly options?: UpstreamPoolOptions
  /** Another one that refuses connections. */
  readonly refusing: string | UpstreamInit
}

/** Two servers that say their names, over each way to reach them. `status` is that of the first one. */
const KINDS: Record<string, (listenerOf: (name: string) => RequestListener) => Promise<Kind>> = {
  'over HTTP/1.1 in plain text': async (listenerOf) => ({
    upstreams: [await startHttp1(listenerOf('a')), await startHttp1(listenerOf('b'))],
    options: { h2c: false },
    refusing: `http://127.0.0.1:${await findFreePort()}`,
  }),
  'over HTTP/1.1 with TLS': async (listenerOf) => {
    const { private: key, cert } = await toCertificate()
    const toOrigin = async (name: string): Promise<string> => {
      const server = createSecureServer1({ key, cert }, listenerOf(name))
      await listen(server, { port: 0, host: '127.0.0.1' })
      return `https://127.0.0.1:${(server.address() as AddressInfo).port}`
    }
    return {
      upstreams: [await toOrigin('a'), await toOrigin('b')],
      options: { connect: { ca: cert } },
      refusing: `https://127.0.0.1:${await findFreePort()}`,
    }
  },
  'over Unix sockets, with TLS': async (listenerOf) => {
    const { private: key, cert } = await toCertificate()
    const toUpstream = async (name: string): Promise<UpstreamInit> => {
      const socketPath = join(tmpdir(), `dodici-${randomUUID()}`)
      const server = createSecureServer({ key, cert, allowHTTP1: true }, listenerOf(name) as never)
      await listen(server, { path: socketPath })
      return { origin: `https://localhost:${name === 'a' ? 1 : 2}`, socketPath }
    }
    return {
      upstreams: [await toUpstream('a'), await toUpstream('b')],
      options: { connect: { ca: cert } },
      refusing: { origin: 'https://localhost:3', socketPath: join(tmpdir(), `dodici-${randomUUID()}`) },
    }
  },
  'over Unix sockets, by HTTP/1.1': async (listenerOf) => {
    const toUpstream = async (name: string): Promise<UpstreamInit> => {
      const socketPath = join(tmpdir(), `dodici-${randomUUID()}`)
      const server = createServer(listenerOf(name))
      await listen(server, { path: socketPath })
      return { origin: `http://localhost:${name === 'a' ? 1 : 2}`, socketPath }
    }
    return {
      upstreams: [await toUpstream('a'), await toUpstream('b')],
      options: { h2c: false },
      refusing: { origin: 'http://localhost:3', socketPath: join(tmpdir(), `dodici-${randomUUID()}`) },
    }
  },
}

describe.each(Object.entries(KINDS))('an UpstreamPool %s', (_title, start) => {
  it('uses both, sends a POST on when one refuses connections, and ejects one that fails', async () => {
    let status = 200
    const kind = await start((name) => (_request, response) => {
      response.writeHead(name === 'a' ? status : 200).end(name)
    })
    const pool = toPool(kind.upstreams, { ...kind.options, maxFailures: 1, ejectionTime: 60_000 })
    const both = await Promise.all(Array.from({ length: 10 }, () => ask(pool)))
    expect(new Set(both)).toEqual(new Set(['200 a', '200 b']))
    const [b] = kind.upstreams.slice(1)
    const other = toPool([kind.refusing, b as UpstreamInit], { ...kind.options, maxFailures: 1 })
    for (let count = 0; count < 6; count++) expect(await ask(other, POST)).toBe('200 b')
    const [refusing] = other.upstreams
    expect(other.stats[refusing ?? '']).toMatchObject({ ejections: 1, failures: expect.any(Number) })
    status = 500
    const [first = ''] = pool.upstreams
    const askAndLook = async (): Promise<string | undefined> => {
      await ask(pool)
      return pool.stats[first]?.state
    }
    await expect.poll(askAndLook).toBe('ejected')
    expect(await ask(pool, POST)).toBe('200 b')
    await pool.close()
    await other.close()
  })
})

describe('an UpstreamPool whose factory makes ProxyAgents', () => {
  it('sends each request through the proxy to an upstream, and to another one where one refuses', async () => {
    const proxy = await startHttp1Proxy()
    const servers = [
      await startServer((stream) => stream.end('a'), { tls: true }),
      await startServer((stream) => stream.end('b'), { tls: true }),
    ]
    const [{ ca } = { ca: '' }] = servers
    const factory: UpstreamPoolOptions['factory'] = () =>
      new ProxyAgent({ uri: proxy.url, requestTls: { ca } })
    const pool = toPool(
      servers.map(({ origin }) => origin),
      { factory },
    )
    const both = await Promise.all(Array.from({ length: 10 }, () => ask(pool)))
    expect(new Set(both)).toEqual(new Set(['200 a', '200 b']))
    expect(proxy.asked).toHaveLength(2)
    const refusing = `https://localhost:${await findFreePort()}`
    const other = toPool([refusing, servers[1]?.origin ?? ''], { factory, maxFailures: 1 })
    for (let count = 0; count < 6; count++) expect(await ask(other)).toBe('200 b')
    expect(other.stats[refusing]).toMatchObject({ state: expect.stringMatching(/ejected|probing/) })
  })
})

describe('a redirect of an upstream', () => {
  /** An upstream that redirects, and another host. */
  async function startScene(options?: UpstreamPoolOptions) {
    const elsewhere = await startHttp1(({ url, headers, method }, response) => {
      if (url === '/back') response.writeHead(302, { location: `${headers['x-back']}` }).end()
      else if (url === '/on') response.writeHead(302, { location: '/end?of=it' }).end()
      else response.end(`elsewhere ${method} ${url} ${headers.host === new URL(elsewhere).host}`)
    })
    const paths: string[] = []
    const answer = (location: string | null): Promise<string> =>
      startServer((stream, headers) => {
        const path = headers[':path'] ?? ''
        paths.push(path)
        if (path.startsWith('/go')) {
          stream.respond({ ':status': path === '/go307' ? 307 : 302, location: location ?? elsewhere + path })
          stream.end()
        } else stream.end(`upstream ${path}`)
      }).then(({ origin }) => origin)
    const [one, two] = [await answer(null), await answer(null)]
    return { pool: toPool([one, two], options), one, two, elsewhere, paths, answer }
  }

  const send = (url: string, pool: UpstreamPool, init?: object) => fetch(url, { dispatcher: pool, ...init })
  const sendByNode = (url: string, pool: UpstreamPool, init?: object) =>
    globalThis.fetch(url, { dispatcher: pool, ...init } as RequestInit)

  describe('followed by Dodici’s fetch', () => {
    it.each(['http://service.example', null])('leads to another host (asked for %s)', async (alias) => {
      const { pool, one } = await startScene()
      const response = await send(`${alias ?? one}/go?a=1`, pool)
      expect(await response.text()).toBe('elsewhere GET /go?a=1 true')
    })

    it('keeps method and body with 307', async () => {
      const { pool } = await startScene()
      const response = await send('http://service.example/go307', pool, { method: 'POST', body: 'x' })
      expect(await response.text()).toBe('elsewhere POST /go307 true')
    })

    it('leads to an upstream with redirects: upstreams', async () => {
      const { pool, paths } = await startScene({ redirects: 'upstreams', maxRetries: 0 })
      const response = await send('http://service.example/go', pool, { redirect: 'follow' }).catch(() => null)
      expect(response).toBeNull()
      expect(paths.filter((path) => path === '/go').length).toBeGreaterThan(10)
    })

    it('leads further from there, and back to an upstream', async () => {
      const { pool, elsewhere, answer } = await startScene()
      const further = toPool(await answer(`${elsewhere}/on`))
      expect(await (await send('http://service.example/go', further)).text()).toBe(
        'elsewhere GET /end?of=it true',
      )
      const back = toPool(await answer(`${elsewhere}/back`))
      const headers = { 'x-back': 'http://service.example/home' }
      expect(await (await send('http://service.example/go', back, { headers })).text()).toBe('upstream /home')
      await pool.close()
    })

    it('leads to an upstream where it names the origin of one, or of the request', async () => {
      const { pool, two, paths } = await startScene()
      for (const location of [`${two}/x`, 'http://service.example/y', '/z']) {
        const own = toPool(
          await startServer((stream, headers) => {
            if (headers[':path'] === '/go') {
              stream.respond({ ':status': 302, location })
              stream.end()
            } else stream.end(`own ${headers[':path']}`)
          }).then(({ origin }) => origin),
        )
        if (location.startsWith(two)) own.addUpstream(two)
        const text = await (await send('http://service.example/go', own)).text()
        expect(text).toMatch(/^(own|upstream) \/[xyz]$/)
      }
      expect(paths.filter((path) => path === '/y')).toEqual([])
      await pool.close()
    })
  })

  it.each<[string, UpstreamPoolOptions]>([
    ['', {}],
    [' of a pool that hedges', { hedge: { after: 60_000 } }],
  ])('followed by undici’s redirect interceptor%s, leads to another host, and on from there', async (_title, options) => {
    const { pool, elsewhere, answer } = await startScene(options)
    const follow = undici7.interceptors.redirect({ maxRedirections: 3 }) as never
    const request = { origin: 'http://service.example', path: '/go', method: 'GET' } as const
    const { body } = await pool.compose(follow).request(request)
    expect(await body.text()).toBe('elsewhere GET /go true')
    const further = toPool(await answer(`${elsewhere}/on`), options)
    const { body: end } = await further.compose(follow).request(request)
    expect(await end.text()).toBe('elsewhere GET /end?of=it true')
  })

  it('followed by the fetch of Node, which says nothing of it, leads to an upstream', async () => {
    const { elsewhere } = await startScene()
    const { origin } = await startServer((stream, headers) => {
      if (headers[':path'] === '/go') stream.respond({ ':status': 302, location: `${elsewhere}/x` })
      stream.end(`upstream ${headers[':path']}`)
    })
    const pool = toPool(origin)
    expect(await (await sendByNode('http://service.example/go', pool)).text()).toBe('upstream /x')
  })

  const sharedHandler = {
    done: (): void => {},
    onRequestStart() {},
    onResponseStart() {},
    onResponseData() {},
    onResponseEnd: () => sharedHandler.done(),
    onResponseError: () => sharedHandler.done(),
  }

  /** Each gets a redirect of the pool's upstream to `to`. */
  const OTHERS: Record<string, (pool: UpstreamPool, to: string) => Promise<unknown>> = {
    'a request that names no origin': (pool, to) => pool.request({ path: `/to?${to}`, method: 'GET' }),
    'a request that names another origin': (pool, to) =>
      pool.request({ origin: 'http://other.example', path: `/to?${to}`, method: 'GET' }),
    'a request that names the same origin, in capitals': (pool, to) =>
      pool.request({ origin: new URL(to).origin.toUpperCase(), path: `/to?${to}`, method: 'GET' }),
    'a fetch that doesn’t follow': (pool, to) =>
      send(`http://other.example/to?${to}`, pool, { redirect: 'manual' }),
    'a fetch that follows': (pool, to) => send(`http://other.example/to?${to}`, pool),
    'the fetch of Node': (pool, to) =>
      sendByNode(`http://other.example/to?${to}`, pool, { redirect: 'manual' }),
    'a fetch of undici’s interceptor': async (pool, to) => {
      const composed = pool.compose(undici7.interceptors.redirect({ maxRedirections: 3 }) as never)
      return composed.request({ origin: 'http://other.example', path: `/to?${to}`, method: 'GET' })
    },
    'a handler that serves several requests': (pool, to) =>
      new Promise<void>((resolve) => {
        sharedHandler.done = () => resolve()
        pool.dispatch({ path: `/to?${to}`, method: 'GET' }, sharedHandler)
      }),
  }

  it.each(
    Object.entries(OTHERS),
  )('of %s leads no other caller’s request away', async (_title, getRedirect) => {
    const outside: string[] = []
    const elsewhere = await startHttp1(({ headers }, response) => {
      if (headers.authorization !== undefined) outside.push(headers.authorization)
      response.end('elsewhere')
    })
    const { origin } = await startServer((stream, headers) => {
      const path = headers[':path'] ?? ''
      if (path.startsWith('/to?')) stream.respond({ ':status': 302, location: path.slice(4) })
      stream.end(`upstream ${headers.authorization}`)
    })
    const pool = toPool(origin)
    const url = `${elsewhere.replace('127.0.0.1', 'localhost')}/secret`
    const askSecretly = async (): Promise<string> => {
      const headers = { authorization: 'Bearer x', cookie: 'a=b' }
      return (await send(url, pool, { method: 'POST', body: 'x', headers })).text()
    }
    expect(await askSecretly()).toBe('upstream Bearer x')
    await getRedirect(pool, url)
    for (const ask of [askSecretly, askSecretly]) expect(await ask()).toBe('upstream Bearer x')
    await new Promise<void>((resolve) => {
      sharedHandler.done = () => resolve()
      const { origin: named, pathname } = new URL(url)
      const headers = { authorization: 'Bearer x' }
      pool.dispatch({ origin: named, path: pathname, method: 'GET', headers }, sharedHandler)
    })
    expect(outside).toEqual([])
  })

  it('to another host shows it no certificate of the client, and trusts what ca trusts alone', async () => {
    const { cert, private: key } = await toCertificate()
    let identity: object | null = null
    const server = createSecureServer1(
      { cert, key, requestCert: true, rejectUnauthorized: false },
      (request, response) => {
        identity = (request.socket as TLSSocket).getPeerCertificate()
        response.end('elsewhere')
      },
    )
    await listen(server, { port: 0, host: '127.0.0.1' })
    const { port } = server.address() as AddressInfo
    const { origin: upstream } = await startServer((stream) => {
      stream.respond({ ':status': 302, location: `https://localhost:${port}/` })
      stream.end()
    })
    const identified = { cert, key }
    const trusting = toPool(upstream, { connect: { ca: cert, ...identified } })
    expect(await (await send(upstream, trusting)).text()).toBe('elsewhere')
    expect(identity).toEqual({})
    for (const connect of [
      { rejectUnauthorized: false },
      { ca: cert, checkServerIdentity: () => new Error('own check') },
    ]) {
      const pool = toPool(upstream, { connect })
      const outcome = await send(upstream, pool).then(
        (response) => response.text(),
        ({ cause }) => cause.code,
      )
      expect(outcome).toBe('ca' in connect ? 'elsewhere' : 'DEPTH_ZERO_SELF_SIGNED_CERT')
    }
  })

  it('to another host uses the common options, and neither the socket path nor the factory’s upstreams', async () => {
    const elsewhere = await startServer((stream) => stream.end('elsewhere'), { tls: true })
    const socketPath = join(tmpdir(), `dodici-${randomUUID()}`)
    await startServer(
      (stream) => {
        stream.respond({ ':status': 302, location: `${elsewhere.origin}/x` })
        stream.end()
      },
      { path: socketPath },
    )
    const pool = toPool('http://localhost', {
      socketPath,
      connect: { ca: elsewhere.ca, servername: 'other.test' },
    })
    expect(await (await fetch('http://localhost/', { dispatcher: pool })).text()).toBe('elsewhere')
    const closed = once(elsewhere.sessions[0] as never, 'close')
    await pool.close()
    await closed
  })

  it('by a URL that can’t be followed changes nothing', async () => {
    for (const location of ['ftp://a.example/', 'http://[', 'mailto:x']) {
      const { origin } = await startServer((stream) => {
        stream.respond({ ':status': 302, location })
        stream.end()
      })
      const pool = toPool(origin)
      expect((await pool.request(GET)).statusCode).toBe(302)
      expect((await pool.request({ ...GET, origin: 'http://a.example' })).statusCode).toBe(302)
    }
  })
})

describe('the address of an upstream', () => {
  it('is a part of its name, by which it is found and removed', async () => {
    const pool = toPool([
      { origin: 'https://api.test:8443', address: '10.0.0.1' },
      { origin: 'https://api.test:8443', address: '10.0.0.1:8443' },
      { origin: 'https://api.test:8443', address: '10.0.0.1:8444' },
      { origin: 'https://api.test:8443', address: 'FD00::1' },
      'https://api.test:8443',
    ])
    expect(pool.upstreams).toEqual([
      'https://api.test:8443#10.0.0.1',
      'https://api.test:8443#10.0.0.1:8444',
      'https://api.test:8443#[fd00::1]',
      'https://api.test:8443',
    ])
    const six = pool.getUpstream('https://api.test:8443#fd00::1')
    expect(six).toBeDefined()
    expect(pool.getUpstream({ origin: 'https://api.test:8443', address: '[fd00::1]:8443' })).toBe(six)
    pool.removeUpstream('https://api.test:8443#10.0.0.1').removeUpstream('https://api.test:8443')
    pool.removeUpstream({ origin: new URL('https://api.test:8443'), address: '10.0.0.1:8444' })
    pool.removeUpstream('https://api.test:8443#10.0.0.9')
    expect(pool.upstreams).toEqual(['https://api.test:8443#[fd00::1]'])
  })

  it.each([
    [{ origin: 'http://a.test', address: 'b.test' }, 'Invalid address'],
    [{ origin: 'http://a.test', address: 7 }, 'Invalid address'],
    [
      { origin: 'http://a.test', address: '10.0.0.1', socketPath: '/x' },
      'Invalid address: got "10.0.0.1", expected none when socketPath is set',
    ],
    [
      { origin: 'http://a.test', address: '10.0.0.1', connect: { socketPath: '/x' } },
      'Invalid address: got "10.0.0.1", expected none when socketPath is set',
    ],
    [
      { origin: 'http://10.0.0.2', address: '10.0.0.1' },
      'Invalid address: got "10.0.0.1", expected the address 10.0.0.2, which is the origin\'s host, or none',
    ],
    [{ origin: 'http://a.test', priority: 65_536 }, 'Invalid priority'],
    [{ origin: 'http://a.test', priority: 1.5 }, 'Invalid priority'],
    [
      { origin: 'http://a.test', connect: { remotePort: 0 } },
      'Invalid connect.remotePort: got 0, expected a port from 1 to 65535',
    ],
  ])('%j is refused', (upstream, message) => {
    expect(() => new UpstreamPool(upstream as UpstreamInit)).toThrow(message)
  })

  it.each([
    ['redirects', 7],
    ['redirects', 'x'],
  ])('the option %s: %j is refused', (name, value) => {
    expect(() => new UpstreamPool([], { [name]: value })).toThrow('Invalid redirects')
  })

  it.each([
    ['10.0.0.1', { address: '10.0.0.1', family: 4 }, undefined],
    ['10.0.0.1:8443', { address: '10.0.0.1', family: 4 }, undefined],
    ['[fd00:0::1]:8444', { address: 'fd00::1', family: 6 }, 8444],
    ['fe80::1%eth0', { address: 'fe80::1%eth0', family: 6 }, undefined],
  ])('%s is what the connect options of a factory look up', async (address, found, remotePort) => {
    const given: PoolOptions[] = []
    const pool = toPool([], {
      connect: { servername: 'a.test' },
      factory: (origin, options) => {
        given.push(options)
        return new Pool(origin, options)
      },
    })
    pool.addUpstream({ origin: 'https://api.test:8443', address })
    const { connect } = given[0] ?? {}
    if (typeof connect !== 'object' || connect === null) throw new Error('There are no connect options')
    expect(connect).toMatchObject({ servername: 'a.test' })
    expect(connect.remotePort).toBe(remotePort)
    const { lookup } = connect
    const looked = await new Promise((resolve) =>
      lookup?.('api.test', { all: true }, (_error, addresses) => resolve(addresses)),
    )
    expect(looked).toEqual([found])
  })

  it('of an origin that is an address may have another port', async () => {
    const { origin, server } = await startServer((stream) => stream.end('there'))
    const port = new URL(origin).port
    expect(server.listening).toBe(true)
    const pool = toPool({ origin: 'http://127.0.0.1:1', address: `127.0.0.1:${port}` })
    expect(await ask(pool)).toBe('200 there')
    const byName = toPool(dns(origin))
    expect(await ask(byName)).toBe('200 there')
  })
})

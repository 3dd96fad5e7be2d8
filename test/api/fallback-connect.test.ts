import { mkdtemp, rm } from 'node:fs/promises'
import { createSecureServer } from 'node:http2'
import type { LookupFunction, Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect as connectTls } from 'node:tls'
import { generate } from 'selfsigned'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Agent, errors } from '../../src/index.ts'
import type { AgentOptions, ConnectorOptions } from '../../types/index.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import { HTTP_1_1_REQUIRED } from '../support/peers/error-codes.ts'
import { serveHttp1Hello, startHttp1 } from '../support/servers/fallback-http1.ts'
import { listen } from '../support/servers/listen.ts'
import { toCertificate } from '../support/servers/server.ts'

function toAgent(options: AgentOptions): Agent {
  return destroyWithTest(new Agent(options))
}

async function ask(agent: Agent, origin: string, servername: string | null = null): Promise<string> {
  const { body } = await agent.request({ origin, path: '/', method: 'GET', servername })
  return body.text()
}

const fail = (agent: Agent, origin: string): Promise<unknown> =>
  ask(agent, origin).catch((error: unknown) => error)

const HELLO = 'GET / over 1.1'

/**
 * Two requests at once: the first has the connection that the session's attempt has made, and the second one of the
 * fallback's own. Resolves to what the second has got.
 */
async function askTwice(agent: Agent, origin: string, servername: string | null = null): Promise<string> {
  const [first, second] = [ask(agent, origin, servername), ask(agent, origin, servername)]
  second.catch(() => {})
  expect(await first).toBe(HELLO)
  return second
}

const failTwice = (agent: Agent, origin: string): Promise<unknown> =>
  askTwice(agent, origin).catch((error: unknown) => error)

/** Every name is this machine. */
const lookup: LookupFunction = (_hostname, { all }, callback) => {
  if (all === true) callback(null, [{ address: '127.0.0.1', family: 4 }])
  else callback(null, '127.0.0.1', 4)
}

/** A self-signed certificate, for any name, by which a server may trust a client. */
const toClientCertificate = () => generate([{ name: 'commonName', value: 'the client' }], { keyType: 'ec' })

describe('the fallback connects as HTTP/2 does, with', () => {
  it('ca', async () => {
    const server = await startHttp1()
    expect(await ask(toAgent({ connect: { ca: server.ca } }), server.origin)).toBe(HELLO)
    expect(await fail(toAgent({}), server.origin)).toBeInstanceOf(errors.ConnectError)
  })

  it('rejectUnauthorized', async () => {
    const server = await startHttp1()
    expect(await ask(toAgent({ connect: { rejectUnauthorized: false } }), server.origin)).toBe(HELLO)
  })

  it.each(['TLSv1.2', 'TLSv1.3'] as const)('a client certificate, over %s', async (version) => {
    const { private: key, cert } = await toClientCertificate()
    const mutual = { requestCert: true, rejectUnauthorized: true, ca: cert }
    const server = await startHttp1(serveHttp1Hello, { ...mutual, minVersion: version, maxVersion: version })
    const agent = toAgent({ connect: { ca: server.ca, key, cert } })
    expect(await ask(agent, server.origin)).toBe(HELLO)
    expect(server.requests.map(({ isAuthorized, peer }) => [isAuthorized, peer])).toEqual([
      [true, 'the client'],
    ])
    // Without one there is no way in.
    expect(await fail(toAgent({ connect: { ca: server.ca } }), server.origin)).toBeInstanceOf(Error)
    expect(server.requests).toHaveLength(1)
  })

  it('lookup', async () => {
    const server = await startHttp1()
    const asked: string[] = []
    const counting: LookupFunction = (hostname, options, callback) => {
      asked.push(hostname)
      lookup(hostname, options, callback)
    }
    const connect = { ca: server.ca, lookup: counting, checkServerIdentity: () => undefined }
    expect(await askTwice(toAgent({ connect }), `https://nowhere.invalid:${server.port}`)).toBe(HELLO)
    expect(asked).toEqual(['nowhere.invalid', 'nowhere.invalid'])
    expect(server.handshakes.map(({ servername }) => servername)).toEqual([
      'nowhere.invalid',
      'nowhere.invalid',
    ])
  })

  it('lookup, for an http: origin', async () => {
    const server = await startHttp1(serveHttp1Hello, { tls: false })
    expect(await ask(toAgent({ connect: { lookup } }), `http://nowhere.invalid:${server.port}`)).toBe(HELLO)
  })

  it('servername', async () => {
    const server = await startHttp1()
    const agent = toAgent({ connect: { ca: server.ca, servername: 'localhost' } })
    expect(await askTwice(agent, `https://127.0.0.1:${server.port}`)).toBe(HELLO)
    expect(server.handshakes.map(({ servername }) => servername)).toEqual(['localhost', 'localhost'])
  })

  it("a request's own servername", async () => {
    const server = await startHttp1()
    const agent = toAgent({ connect: { ca: server.ca } })
    expect(await askTwice(agent, `https://127.0.0.1:${server.port}`, 'localhost')).toBe(HELLO)
    expect(server.handshakes.map(({ servername }) => servername)).toEqual(['localhost', 'localhost'])
  })

  it('the name of the origin, whatever the host field has', async () => {
    const server = await startHttp1()
    const agent = toAgent({ connect: { ca: server.ca } })
    const headers = { host: 'other.example' }
    const options = { origin: server.origin, path: '/', method: 'GET', headers }
    for (const { body } of await Promise.all([agent.request(options), agent.request(options)]))
      expect(await body.text()).toBe(HELLO)
    expect(server.handshakes.map(({ servername }) => servername)).toEqual(['localhost', 'localhost'])
    const raw = server.requests[0]?.rawHeaders ?? []
    expect(raw.filter((_, i) => raw[i - 1]?.toLowerCase() === 'host')).toEqual(['other.example'])
  })

  it('checkServerIdentity', async () => {
    const server = await startHttp1()
    const asked: string[] = []
    const checkServerIdentity = (hostname: string): undefined => void asked.push(hostname)
    const agent = toAgent({ connect: { ca: server.ca, checkServerIdentity } })
    expect(await askTwice(agent, server.origin)).toBe(HELLO)
    expect(asked).toEqual(['localhost', 'localhost'])
    const mine = new Error('not this one')
    const strict = toAgent({ connect: { ca: server.ca, checkServerIdentity: () => mine } })
    expect(await fail(strict, server.origin)).toMatchObject({
      message: expect.stringContaining('not this one'),
    })
    expect(server.requests).toHaveLength(2)
  })

  it('localAddress', async () => {
    const server = await startHttp1()
    const agent = toAgent({ connect: { ca: server.ca, localAddress: '127.0.0.2' } })
    expect(await ask(agent, server.origin)).toBe(HELLO)
    const addresses = server.sockets.map(({ remoteAddress }) => remoteAddress)
    expect(server.requests[0]?.socket.remoteAddress).toBe('127.0.0.2')
    expect(addresses.filter((address) => address !== undefined && address !== '127.0.0.2')).toEqual([])
  })

  it.each([true, false])('socketPath, with TLS: %s', async (tls) => {
    const folder = await mkdtemp(join(tmpdir(), 'dodici-'))
    onTestFinished(() => rm(folder, { recursive: true, force: true }))
    const path = join(folder, 'socket')
    const server = await startHttp1(serveHttp1Hello, { tls, path })
    const agent = toAgent({ connect: { ca: server.ca }, socketPath: path })
    expect(await askTwice(agent, server.origin)).toBe(HELLO)
    expect(server.sockets).toHaveLength(2)
  })
})

describe('the fallback connects by the same function', () => {
  const toSocket = (port: number, ca: string) =>
    connectTls({ port, host: '127.0.0.1', ca, servername: 'localhost', ALPNProtocols: ['h2', 'http/1.1'] })

  it('that calls back', async () => {
    const server = await startHttp1()
    const asked: ConnectorOptions[] = []
    const agent = toAgent({
      connect: (options, callback) => {
        asked.push(options)
        const socket = toSocket(server.port, server.ca)
        socket.once('secureConnect', () => callback(null, socket))
      },
    })
    expect(await askTwice(agent, 'https://example.com')).toBe(HELLO)
    // First for a session, then for the fallback: its connection may choose HTTP/2 as well.
    expect(asked.map(({ ALPNProtocols, allowH2 }) => [ALPNProtocols, allowH2])).toEqual([
      [['h2', 'http/1.1'], true],
      [['h2', 'http/1.1'], true],
    ])
    for (const each of asked) {
      expect(each).toMatchObject({
        hostname: 'example.com',
        protocol: 'https:',
        port: '',
        servername: 'example.com',
      })
      expect(each.socketPath).toBe(null)
    }
  })

  it('that returns a promise', async () => {
    const server = await startHttp1()
    let asked = 0
    const agent = toAgent({
      connect: async () => {
        asked++
        const socket = toSocket(server.port, server.ca)
        await new Promise((resolve) => socket.once('secureConnect', resolve))
        return socket
      },
    })
    expect(await askTwice(agent, 'https://example.com')).toBe(HELLO)
    expect(asked).toBe(2)
  })

  it('along with socketPath, which it gets', async () => {
    const server = await startHttp1(serveHttp1Hello, { tls: false })
    const paths: unknown[] = []
    const { connect } = await import('node:net')
    const agent = toAgent({
      socketPath: '/nowhere',
      connect: ({ socketPath }, callback) => {
        paths.push(socketPath)
        const socket = connect(server.port, '127.0.0.1', () => callback(null, socket))
      },
    })
    expect(await ask(agent, 'http://example.com')).toBe(HELLO)
    expect(paths).toEqual(['/nowhere'])
  })

  it.each([
    'throws',
    'calls back',
    'rejects',
  ])('that fails when it is called for HTTP/1.1: it %s', async (how) => {
    const server = await startHttp1()
    const mine = new Error('mine')
    let asked = 0
    const agent = toAgent({
      connect: (_options, callback) => {
        if (asked++ > 0) {
          if (how === 'throws') throw mine
          if (how === 'rejects') return Promise.reject(mine)
          callback(mine)
          return undefined
        }
        const socket = toSocket(server.port, server.ca)
        socket.once('secureConnect', () => callback(null, socket))
        return undefined
      },
    })
    const error = await failTwice(agent, 'https://example.com')
    expect(error).toBeInstanceOf(errors.ConnectError)
    expect(error).toMatchObject({ message: expect.stringContaining('mine'), processed: 'no', attempts: 1 })
  })

  it('that never calls back fails the call after connectTimeout', async () => {
    const server = await startHttp1()
    let asked = 0
    const agent = toAgent({
      // Real time: the first connection has to stand within it.
      connectTimeout: 1_500,
      connect: (_options, callback) => {
        if (asked++ > 0) return
        const socket = toSocket(server.port, server.ca)
        socket.once('secureConnect', () => callback(null, socket))
      },
    })
    const error = await failTwice(agent, 'https://example.com')
    expect(error).toBeInstanceOf(errors.ConnectTimeoutError)
    expect(error).toMatchObject({ processed: 'no' })
  })

  it('that yields no socket', async () => {
    const server = await startHttp1()
    let asked = 0
    const agent = toAgent({
      connect: (_options, callback) => {
        if (asked++ > 0) {
          callback(null, 'socket' as unknown as Socket)
          return
        }
        const socket = toSocket(server.port, server.ca)
        socket.once('secureConnect', () => callback(null, socket))
      },
    })
    expect(await failTwice(agent, 'https://example.com')).toMatchObject({ processed: 'no' })
  })
})

describe('a server that refuses a request with HTTP_1_1_REQUIRED', () => {
  it('is offered http/1.1 alone on the next connection', async () => {
    const { private: key, cert } = await toCertificate()
    const offered: string[][] = []
    const ALPNCallback = ({ protocols }: { protocols: string[] }): string => {
      offered.push(protocols)
      return protocols.includes('h2') ? 'h2' : 'http/1.1'
    }
    const server = createSecureServer({ key, cert, allowHTTP1: true, ALPNCallback })
    server.on('session', (session) => session.on('error', () => {}))
    server.on('stream', (stream) => stream.on('error', () => {}).close(HTTP_1_1_REQUIRED))
    server.on('request', (request, response) => {
      if (request.httpVersion === '1.1') response.end(`GET ${request.url} over 1.1`)
    })
    const { port } = await listen(server)
    const agent = toAgent({ connect: { ca: cert } })
    expect(await ask(agent, `https://localhost:${port}`)).toBe(HELLO)
    expect(offered).toEqual([['h2', 'http/1.1'], ['http/1.1']])
  })
})

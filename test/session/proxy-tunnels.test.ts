/** Tunnels that hang, are given up, or are lost, through proxies of each protocol. */

import { once } from 'node:events'
import type { ServerHttp2Stream } from 'node:http2'
import type { AddressInfo, Socket } from 'node:net'
import { createServer } from 'node:net'
import { Readable } from 'node:stream'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Client, errors, ProxyAgent } from '../../src/index.ts'
import { toClientOptions } from '../../src/options/options.ts'
import { HttpTunnels } from '../../src/proxy/http-tunnels.ts'
import { toProxyOptions } from '../../src/proxy/proxy-options.ts'
import { toTunnelConnector } from '../../src/proxy/tunnel-connector.ts'
import type { Connector, ProxyAgentOptions } from '../../types/index.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import { ENGINES, Harness } from '../support/clients/engines.ts'
import { FakeClock } from '../support/clocks/fake-clock.ts'
import { NO_ERROR } from '../support/peers/error-codes.ts'
import {
  PATIENT,
  REFUSED_DUPLEX,
  SERVE,
  startPeer,
  toConnector,
  toSocketConnector,
} from '../support/peers/peer-rig.ts'
import { listen } from '../support/servers/listen.ts'
import type { TestServer } from '../support/servers/server.ts'
import { startServer } from '../support/servers/server.ts'
import type { AskedTunnel, TunnelProxy } from '../support/servers/tunnel-proxy.ts'
import { KINDS, startTunnelProxy } from '../support/servers/tunnel-proxy.ts'

const serve = (stream: ServerHttp2Stream): void => {
  stream.respond({ ':status': 200 })
  stream.end('hello')
}

const portOf = ({ origin }: TestServer): string => new URL(origin).port

/** A name that no resolver but the proxy knows. */
const toOrigin = (server: TestServer, name = 'origin.test'): string => `https://${name}:${portOf(server)}`

/** Doesn't respond, but sees the end of the connection. */
const hold = ({ link }: AskedTunnel): void => void link.resume()

const lose = ({ link }: AskedTunnel): void => (link as ServerHttp2Stream).session?.destroy()

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

  async function ask(agent: ProxyAgent, origin: string, more: object = {}): Promise<string> {
    const { body } = await agent.request({ origin, path: '/', method: 'GET', ...more })
    return body.text()
  }

  const fail = (asked: Promise<unknown>): Promise<Error> =>
    asked.then(
      () => new Error('no error'),
      (error: Error) => error,
    )

  describe.each(KINDS)('through a proxy of %s', (kind) => {
    it('the first bytes of the server come in one read with the response', async () => {
      const server = await startServer(serve)
      const proxy = await startTunnelProxy(kind, (tunnel) => tunnel.relay(true))
      // A tunnel of HTTP/2 is no socket: without TLS on it, engine node doesn't run over it.
      const isRefused = kind === 'HTTP/2' && engine === 'node'
      const agent = toAgent(proxy, { h2c: true, ...(isRefused ? { engine: undefined } : {}) })
      expect(await ask(agent, `http://origin.test:${portOf(server)}`)).toBe('hello')
      expect(server.sessions).toHaveLength(1)
    })

    it.each([
      ['one read with', (tunnel: AskedTunnel) => tunnel.accept(Buffer.from('This is not TLS\r\n'))],
      [
        'a read after',
        (tunnel: AskedTunnel) => {
          tunnel.accept()
          tunnel.link.once('data', () => tunnel.link.write('This is not TLS\r\n'))
        },
      ],
    ])('bytes that are not TLS, in %s the response, are a ConnectError', async (_when, speak) => {
      const agent = toAgent(await startTunnelProxy(kind, speak))
      const error = await fail(ask(agent, 'https://a.test'))
      expect(error).toBeInstanceOf(errors.ConnectError)
      expect(error.message).toContain('Could not connect to https://a.test')
    })

    it('destroy() in the middle of CONNECT closes everything', async () => {
      const proxy = await startTunnelProxy(kind, hold)
      const agent = toAgent(proxy)
      const failed = ['a', 'b', 'c'].map((name) => fail(ask(agent, `https://${name}.test`)))
      await proxy.until(3)
      await agent.destroy()
      for (const error of await Promise.all(failed)) expect(error).toBeInstanceOf(errors.ClientDestroyedError)
      await Promise.all(proxy.asked.map(({ closed }) => closed))
      await proxy.allClosed()
    })

    it('destroy() in the middle of the TLS behind it closes everything', async () => {
      const proxy = await startTunnelProxy(kind, (tunnel) => tunnel.accept())
      const agent = toAgent(proxy)
      const failed = fail(ask(agent, 'https://a.test'))
      await proxy.until(1)
      const [tunnel] = proxy.asked
      await once(tunnel?.link as AskedTunnel['link'], 'data')
      await agent.destroy()
      expect(await failed).toBeInstanceOf(errors.ClientDestroyedError)
      await proxy.allClosed()
    })

    it.each([
      'hold',
      'accept',
    ] as const)('connectTimeout covers a proxy that does %s and falls silent', async (what) => {
      const proxy = await startTunnelProxy(kind, (tunnel) => {
        tunnel.link.resume()
        if (what === 'accept') tunnel.accept()
      })
      const agent = toAgent(proxy, { connectTimeout: 200 })
      expect(await fail(ask(agent, 'https://a.test'))).toBeInstanceOf(errors.ConnectTimeoutError)
      await Promise.all(proxy.asked.map(({ closed }) => closed))
      if (kind !== 'HTTP/2') await proxy.allClosed()
    })

    it.each([
      'end',
      'destroy',
    ] as const)('a proxy that leaves the tunnel by %s() instead of a response', async (way) => {
      const server = await startServer(serve, { tls: true })
      const proxy = await startTunnelProxy(kind, (tunnel) => {
        if (kind === 'HTTP/2') lose(tunnel)
        else tunnel.link[way]()
      })
      const agent = toAgent(proxy)
      const error = await fail(ask(agent, toOrigin(server)))
      expect(error).toBeInstanceOf(errors.ProxyConnectionError)
      expect(error).toMatchObject({ statusCode: null, headers: null, body: null, processed: 'no' })
      await agent.destroy()
      await proxy.allClosed()
    })

    it('a proxy that stops reading is left by abort and destroy()', async () => {
      const server = await startServer(
        (stream) => {
          stream.resume()
        },
        { tls: true },
      )
      const proxy = await startTunnelProxy(kind)
      const agent = toAgent(proxy)
      const abortion = new AbortController()
      let produced = 0
      const body = new Readable({
        highWaterMark: 65_536,
        read() {
          produced += 65_536
          if (produced > 65_536 * 4) {
            const [tunnel] = proxy.asked
            tunnel?.link.unpipe()
            tunnel?.link.pause()
          }
          this.push(Buffer.alloc(65_536))
        },
      })
      const failed = fail(ask(agent, toOrigin(server), { method: 'POST', body, signal: abortion.signal }))
      // It stands still: nothing more is read of the body in a hundred turns.
      for (let before = -1, still = 0; still < 100; before = produced) {
        await new Promise((resolve) => setImmediate(resolve))
        still = before === produced && produced > 65_536 * 4 ? still + 1 : 0
      }
      abortion.abort()
      expect(await failed).toMatchObject({ name: 'AbortError' })
      expect(body.destroyed).toBe(true)
      await agent.destroy()
      proxy.asked[0]?.link.resume()
      await proxy.allClosed()
    })
  })

  describe('through a proxy of HTTP/2', () => {
    /** Ten tunnels on one session, by names that the proxy resolves. */
    const NAMES = Array.from({ length: 10 }, (_, index) => `n${index}.test`)

    if (engine === 'node') {
      it('an http: origin that is spoken to in HTTP/2 is refused', async () => {
        let served = 0
        const server = await startServer((stream) => {
          served++
          serve(stream)
        })
        const proxy = await startTunnelProxy('HTTP/2')
        const agent = toAgent(proxy, { h2c: true })
        await expect(ask(agent, `http://origin.test:${portOf(server)}`)).rejects.toMatchObject(REFUSED_DUPLEX)
        await agent.destroy()
        await proxy.allClosed()
        expect(served).toBe(0)
      })
    }

    it('connectTimeout resets the one stream; other tunnels go on', async () => {
      const server = await startServer(serve, { tls: true })
      const proxy = await startTunnelProxy('HTTP/2', (tunnel) => {
        if (!tunnel.authority.startsWith('held')) tunnel.relay()
      })
      const clock = new FakeClock()
      const options = toProxyOptions({ uri: proxy.uri, proxyTls: { ca: proxy.ca } })
      const tunnels = new HttpTunnels(options, toClientOptions({ engine }), clock)
      onTestFinished(() => tunnels.destroy(null))
      const connect = toTunnelConnector(tunnels, { rejectUnauthorized: false }, clock)
      const start = (origin: string): Harness => {
        const harness = new Harness(origin, { ...PATIENT, engine, connect, connectTimeout: 1_000 }, clock)
        onTestFinished(() => harness.scheduler.destroy(null))
        return harness
      }
      const served = start(toOrigin(server))
      const first = served.dispatch()
      await first.settled
      expect(first.text).toBe('hello')
      const held = start('https://held.test').dispatch()
      await proxy.until(2)
      clock.advance(1_000)
      await held.settled
      expect(held.error).toBeInstanceOf(errors.ConnectTimeoutError)
      await proxy.asked[1]?.closed
      expect((proxy.asked[1]?.link as ServerHttp2Stream).rstCode).toBe(8)
      const second = served.dispatch()
      await second.settled
      expect(second.text).toBe('hello')
      expect(proxy.asked).toHaveLength(2)
      expect(proxy.connections).toHaveLength(1)
    })

    it('a tunnel that is closed is one stream; other tunnels go on', async () => {
      const server = await startServer(serve, { tls: true })
      const proxy = await startTunnelProxy('HTTP/2')
      const agent = toAgent(proxy)
      await Promise.all(NAMES.map((name) => ask(agent, toOrigin(server, name))))
      expect(proxy.asked).toHaveLength(10)
      expect(proxy.connections).toHaveLength(1)
      const gone = once(agent, 'disconnect')
      ;(proxy.asked[3]?.link as ServerHttp2Stream).close(2)
      await gone
      const texts = await Promise.all(NAMES.map((name) => ask(agent, toOrigin(server, name))))
      expect(new Set(texts)).toEqual(new Set(['hello']))
      expect(proxy.asked).toHaveLength(11)
      expect(proxy.connections).toHaveLength(1)
      await agent.close()
      await proxy.allClosed()
    })

    it('a session that is lost with many tunnels on it is replaced by one', async () => {
      let held: ServerHttp2Stream[] = []
      const server = await startServer(
        (stream, headers) => {
          if (headers[':path'] === '/held' && held.length < 10) held.push(stream)
          else serve(stream)
        },
        { tls: true },
      )
      const proxy = await startTunnelProxy('HTTP/2')
      const agent = toAgent(proxy)
      const asked = NAMES.map((name) => ask(agent, toOrigin(server, name), { path: '/held' }))
      await expect.poll(() => held.length).toBe(10)
      for (const socket of proxy.connections) socket.destroy()
      expect(new Set(await Promise.all(asked))).toEqual(new Set(['hello']))
      held = []
      expect(proxy.asked).toHaveLength(20)
      expect(proxy.connections).toHaveLength(2)
    })

    it('a GOAWAY while a CONNECT waits: the refused one is asked for again', async () => {
      const server = await startServer(serve, { tls: true })
      const proxy = await startTunnelProxy('HTTP/2', (tunnel) => {
        const { session, id } = tunnel.link as ServerHttp2Stream
        if (proxy.asked.length === 2) session?.goaway(NO_ERROR, (id ?? 0) - 2)
        else tunnel.relay()
      })
      const agent = toAgent(proxy)
      expect(await ask(agent, toOrigin(server, 'a.test'))).toBe('hello')
      expect(await ask(agent, toOrigin(server, 'b.test'))).toBe('hello')
      expect(await ask(agent, toOrigin(server, 'a.test'))).toBe('hello')
      expect(proxy.asked.map(({ authority }) => authority[0])).toEqual(['a', 'b', 'b'])
      expect(proxy.sessions).toHaveLength(2)
    })

    it('a GOAWAY while a CONNECT waits: the accepted one goes on', async () => {
      const server = await startServer(serve, { tls: true })
      const proxy = await startTunnelProxy('HTTP/2', (tunnel) => {
        const { session, id } = tunnel.link as ServerHttp2Stream
        if (proxy.asked.length > 1) return
        session?.goaway(NO_ERROR, id)
        tunnel.relay()
      })
      const agent = toAgent(proxy)
      expect(await ask(agent, toOrigin(server))).toBe('hello')
      expect(await ask(agent, toOrigin(server))).toBe('hello')
      expect(proxy.asked).toHaveLength(1)
    })

    it('a session that is lost while a CONNECT waits: it is asked for again', async () => {
      const server = await startServer(serve, { tls: true })
      const proxy = await startTunnelProxy('HTTP/2', (tunnel) => {
        if (proxy.asked.length === 1) lose(tunnel)
        else tunnel.relay()
      })
      const agent = toAgent(proxy)
      expect(await ask(agent, toOrigin(server))).toBe('hello')
      expect(proxy.asked).toHaveLength(2)
    })

    it('a session that is lost at each CONNECT is not asked without end', async () => {
      const proxy = await startTunnelProxy('HTTP/2', lose)
      const error = await fail(ask(toAgent(proxy), 'https://a.test'))
      expect(error).toBeInstanceOf(errors.ProxyConnectionError)
      expect(proxy.asked).toHaveLength(2)
    })

    it('a stream that is refused is asked for again', async () => {
      const server = await startServer(serve, { tls: true })
      const proxy = await startTunnelProxy('HTTP/2', (tunnel) => {
        if (proxy.asked.length === 1) (tunnel.link as ServerHttp2Stream).close(7)
        else tunnel.relay()
      })
      const agent = toAgent(proxy)
      expect(await ask(agent, toOrigin(server))).toBe('hello')
      expect(proxy.asked).toHaveLength(2)
      expect(proxy.connections).toHaveLength(1)
    })

    it('a refusal whose body never ends is reset after 64 KiB', async () => {
      const proxy = await startTunnelProxy('HTTP/2', ({ link }) => {
        const stream = link as ServerHttp2Stream
        stream.respond({ ':status': 407 })
        const endless = new Readable({
          read(size) {
            this.push(Buffer.alloc(size, 'x'))
          },
        })
        endless.pipe(stream)
        stream.on('close', () => endless.destroy())
      })
      const error = await fail(ask(toAgent(proxy), 'https://a.test'))
      expect(error).toMatchObject({ statusCode: 407 })
      expect((error as InstanceType<typeof errors.ProxyConnectionError>).body).toHaveLength(65_536)
      await proxy.asked[0]?.closed
      expect(proxy.connections[0]?.destroyed).toBe(false)
    })

    it('a 200 that ends the stream is no tunnel', async () => {
      const proxy = await startTunnelProxy('HTTP/2', ({ link }) =>
        (link as ServerHttp2Stream).respond({ ':status': 200 }, { endStream: true }),
      )
      const agent = toAgent(proxy)
      expect(await fail(ask(agent, 'https://a.test'))).toBeInstanceOf(errors.ConnectError)
      await agent.destroy()
      await proxy.allClosed()
    })

    it.each(['a CONNECT', 'a tunnel'])('close() waits for the request behind %s', async (what) => {
      const never = (): void => {}
      let release = never
      const server = await startServer(
        (stream) => {
          if (what === 'a CONNECT') serve(stream)
          else release = () => serve(stream)
        },
        { tls: true },
      )
      const proxy = await startTunnelProxy('HTTP/2', (tunnel) => {
        if (what === 'a CONNECT') release = () => tunnel.relay()
        else tunnel.relay()
      })
      const agent = toAgent(proxy)
      const asked = ask(agent, toOrigin(server))
      await proxy.until(1)
      await expect.poll(() => release).not.toBe(never)
      const closing = agent.close()
      release()
      expect(await asked).toBe('hello')
      await closing
      await proxy.allClosed()
    })

    it('an origin that cannot be connected to: RST_STREAM with CONNECT_ERROR', async () => {
      const proxy = await startTunnelProxy('HTTP/2', (tunnel) => (tunnel.link as ServerHttp2Stream).close(10))
      const agent = toAgent(proxy)
      const error = await fail(ask(agent, 'https://a.test'))
      expect(error).toBeInstanceOf(errors.ProxyConnectionError)
      expect(error).toMatchObject({ statusCode: null, cause: { http2ErrorCode: 10 } })
    })
  })

  it.each([
    ['a socket', toSocketConnector, engine],
    ['a Duplex', toConnector, engine === 'node' ? undefined : engine],
  ])('a tunnel that is %s keeps the process alive while callers wait, and not when it is idle', async (_what, toConnectorOf, engine) => {
    const peer = await startPeer(SERVE)
    const toPeer = toConnectorOf(peer)
    const calls: string[] = []
    const connect: Connector = (options, callback) =>
      toPeer(options, (error, socket) => {
        const watched = { ref: () => void calls.push('ref'), unref: () => void calls.push('unref') }
        if (error === null) callback(null, Object.assign(socket as Socket, watched) as Socket)
        else callback(error)
      })
    const client = destroyWithTest(new Client(peer.origin, { engine, connect }))
    for (let round = 1; round <= 2; round++) {
      const { body } = await client.request({ path: '/', method: 'GET' })
      await body.dump()
      expect(calls.at(-1)).toBe('unref')
    }
    expect(calls).toContain('ref')
  })

  describe('a hostile proxy of HTTP/1.1', () => {
    /** Sends the pieces for as long as it is connected to; how many bytes went out. */
    async function startFlood(head: string, piece: Buffer) {
      let sent = 0
      const server = createServer((socket) => {
        socket.once('data', () => {
          socket.write(head)
          const send = (): void => {
            if (socket.destroyed) return
            sent += piece.length
            if (socket.write(piece)) setImmediate(send)
            else socket.once('drain', send)
          }
          send()
        })
      })
      const { allClosed } = await listen(server)
      const { port } = server.address() as AddressInfo
      return { uri: `http://localhost:${port}`, ca: '', sent: () => sent, allClosed }
    }

    it.each([
      ['a header', 'HTTP/1.1 200 OK\r\nx: ', 'x', { statusCode: null }],
      ['a body', 'HTTP/1.1 407 No\r\n\r\n', 'x', { statusCode: 407 }],
      [
        'a body in chunks',
        'HTTP/1.1 407 No\r\ntransfer-encoding: chunked\r\n\r\n',
        '5\r\nhello\r\n',
        { statusCode: 407 },
      ],
    ])('that never ends %s is left', async (_name, head, text, expected) => {
      const proxy = await startFlood(head, Buffer.from(text.repeat(10_000)))
      const agent = toAgent(proxy, { proxyTls: {} })
      const error = await fail(ask(agent, 'https://a.test'))
      expect(error).toBeInstanceOf(errors.ProxyConnectionError)
      expect(error).toMatchObject(expected)
      const { body } = error as InstanceType<typeof errors.ProxyConnectionError>
      expect(body?.length ?? 65_536).toBe(65_536)
      await proxy.allClosed()
    })

    it('that sends informational responses without end is left', async () => {
      const proxy = await startFlood('', Buffer.from('HTTP/1.1 100\r\n\r\n'.repeat(1_000)))
      const agent = toAgent(proxy, { proxyTls: {} })
      expect(await fail(ask(agent, 'https://a.test'))).toBeInstanceOf(errors.ProxyConnectionError)
      await proxy.allClosed()
    })

    it.each([
      ['the default', undefined],
      ['a connectTimeout of 1,500 ms', 1_500],
    ])('whose refusal stands still is a refusal nevertheless, with %s', async (_name, connectTimeout) => {
      const server = createServer((socket) => {
        socket.once('data', () => socket.write('HTTP/1.1 403 No\r\ncontent-length: 9\r\n\r\nhello'))
      })
      const { port, allClosed } = await listen(server)
      const agent = toAgent({ uri: `http://localhost:${port}`, ca: '' }, { proxyTls: {}, connectTimeout })
      const error = await fail(ask(agent, 'https://a.test'))
      expect(error).toMatchObject({ statusCode: 403, body: Buffer.from('hello') })
      await allClosed()
    })
  })
})

import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import type { SecureServerOptions, ServerHttp2Stream } from 'node:http2'
import { createSecureServer } from 'node:http2'
import type { LookupFunction, Server, Socket } from 'node:net'
import { connect as connectSocket, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TLSSocket } from 'node:tls'
import { connect as connectTls, createServer as createTlsServer } from 'node:tls'
import { buildConnector } from 'undici'
import { describe, expect, it, onTestFinished } from 'vitest'
import { errors } from '../../src/index.ts'
import type { ClientOptions, Connector, ConnectorOptions } from '../../types/index.ts'
import { ENGINES, Harness } from '../support/clients/engines.ts'
import type { Recorder } from '../support/clients/recorder.ts'
import { FakeClock } from '../support/clocks/fake-clock.ts'
import { findFreePort } from '../support/servers/free-port.ts'
import type { SocketServer } from '../support/servers/listen.ts'
import { listen } from '../support/servers/listen.ts'
import { serveHello, startServer, toCertificate } from '../support/servers/server.ts'

/** A server that accepts connections and never sends anything. */
function startSilent(): Promise<SocketServer & { server: Server }> {
  const server = createServer((socket) => socket.resume())
  return listen(server).then((listening) => ({ ...listening, server }))
}

/** A server of HTTP/2 over TLS that responds with `hello`, and the data that the client sent in its handshakes. */
async function startTls(options: SecureServerOptions = {}) {
  const { private: key, cert } = await toCertificate()
  const handshakes: { servername: unknown; authorized: boolean }[] = []
  const server = createSecureServer({ key, cert, ...options })
  server.on('secureConnection', (socket: TLSSocket) => {
    handshakes.push({ servername: Reflect.get(socket, 'servername'), authorized: socket.authorized })
  })
  server.on('session', (session) => session.on('error', ignore))
  server.on('sessionError', ignore)
  server.on('stream', (stream: ServerHttp2Stream) => {
    stream.on('error', ignore)
    serveHello(stream, {})
  })
  return { ...(await listen(server)), server, key, cert, handshakes }
}

/** The path of a unix socket, in a folder of its own that goes with the test. */
async function toSocketPath(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'dodici-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return join(folder, 'socket')
}

/** Whether this machine can listen on ::1. */
async function hasIpv6(): Promise<boolean> {
  const server = createServer()
  try {
    server.listen(0, '::1')
    await once(server, 'listening')
    return true
  } catch {
    return false
  } finally {
    server.close()
  }
}

function ignore(): void {}

describe.each(ENGINES)('connecting with engine %s', (engine) => {
  function start(origin: string, options: ClientOptions = {}, clock?: FakeClock): Harness {
    const harness = new Harness(origin, { engine, ...options }, clock)
    onTestFinished(() => harness.scheduler.destroy(null))
    return harness
  }

  async function expectHello(harness: Harness): Promise<void> {
    const call = harness.dispatch()
    await call.settled
    expect(call.errors).toEqual([])
    expect(call.text).toBe('hello')
  }

  /** Three calls that wait for the same connection all fail, and one announcement is made. */
  async function expectFailure(harness: Harness, errorClass: typeof errors.DodiciError): Promise<Recorder> {
    const first = harness.dispatch()
    const calls = [first, harness.dispatch({ method: 'POST', body: 'twice' }), harness.dispatch()]
    await Promise.all(calls.map((call) => call.settled))
    for (const call of calls) {
      expect(call.error).toBeInstanceOf(errorClass)
      expect(call.error).toMatchObject({ processed: 'no', attempts: 0, streamId: null, http2ErrorCode: null })
      expect(call.events).toEqual(['start', 'error'])
    }
    expect(harness.connections).toEqual(['connectionError'])
    expect(harness.errors[0]).toBeInstanceOf(errorClass)
    expect(harness.scheduler).toMatchObject({ pending: 0, running: 0, connected: 0 })
    return first
  }

  describe('over TLS', () => {
    describe('when the certificate is trusted by `ca`', () => {
      it('sends the origin as server name, and announces the connection once', async () => {
        const { port, cert, handshakes } = await startTls()
        const harness = start(`https://localhost:${port}`, { connect: { ca: cert } })
        await expectHello(harness)
        await expectHello(harness)
        expect(handshakes).toEqual([{ servername: 'localhost', authorized: false }])
        expect(harness.connections).toEqual(['connect'])
      })

      it('sends no server name for an IP address', async () => {
        const { port, cert, handshakes } = await startTls()
        await expectHello(start(`https://127.0.0.1:${port}`, { connect: { ca: cert } }))
        expect(handshakes).toEqual([{ servername: false, authorized: false }])
      })

      it('sends the `servername` that was given instead', async () => {
        const { port, cert, handshakes } = await startTls()
        const connect = { ca: cert, servername: 'localhost' }
        await expectHello(start(`https://127.0.0.1:${port}`, { connect }))
        expect(handshakes).toEqual([{ servername: 'localhost', authorized: false }])
      })
    })

    describe('when the certificate is not trusted', () => {
      it("fails all waiting calls with a ConnectError with the cause's code, and leaves no socket", async () => {
        const { port, sockets, allClosed } = await startTls()
        const origin = `https://localhost:${port}`
        const { error } = await expectFailure(start(origin), errors.ConnectError)
        expect(error).toMatchObject({ code: 'DEPTH_ZERO_SELF_SIGNED_CERT' })
        expect(error.cause).toMatchObject({ code: 'DEPTH_ZERO_SELF_SIGNED_CERT' })
        expect(error.message).toContain(`Could not connect to ${origin}: `)
        await allClosed()
        expect(sockets).toHaveLength(1)
      })

      it('connects all the same with `rejectUnauthorized: false`', async () => {
        const { port } = await startTls()
        await expectHello(start(`https://localhost:${port}`, { connect: { rejectUnauthorized: false } }))
      })

      it('tries again for the next call', async () => {
        const { port, sockets, allClosed } = await startTls()
        const harness = start(`https://localhost:${port}`)
        for (const call of [harness.dispatch(), harness.dispatch()]) await call.settled
        const later = harness.dispatch()
        await later.settled
        expect(later.error).toBeInstanceOf(errors.ConnectError)
        expect(harness.connections).toEqual(['connectionError', 'connectionError'])
        await allClosed()
        expect(sockets).toHaveLength(2)
      })
    })

    it('when the certificate is for another name, fails', async () => {
      const { port, cert, allClosed } = await startTls()
      const connect = { ca: cert, servername: 'other.test' }
      const harness = start(`https://localhost:${port}`, { connect })
      const { error } = await expectFailure(harness, errors.ConnectError)
      expect(error).toMatchObject({ code: 'ERR_TLS_CERT_ALTNAME_INVALID' })
      expect(error.cause).toMatchObject({ code: 'ERR_TLS_CERT_ALTNAME_INVALID' })
      expect(error.message).toContain('other.test')
      await allClosed()
    })

    it('when `ca` is no certificate, fails', async () => {
      const harness = start('https://localhost', { connect: { ca: 'no PEM', cert: 'no PEM' } })
      const { error } = await expectFailure(harness, errors.ConnectError)
      expect(error.cause).toBeInstanceOf(Error)
    })

    it('when the server closes in the middle of the handshake, fails', async () => {
      const server = createServer((socket) => socket.once('data', () => socket.destroy()))
      const { port, allClosed } = await listen(server)
      const { error } = await expectFailure(start(`https://127.0.0.1:${port}`), errors.ConnectError)
      expect(error).toMatchObject({ code: 'ECONNRESET' })
      await allClosed()
    })

    describe('when the server speaks no HTTP/2', () => {
      it.each([
        { what: 'http/1.1 alone', protocols: { ALPNProtocols: ['http/1.1'] } },
        { what: 'no ALPN', protocols: {} },
      ])('but $what, fails with an AlpnError', async ({ protocols }) => {
        const { private: key, cert } = await toCertificate()
        const server = createTlsServer({ key, cert, ...protocols }, (socket) => {
          socket.on('error', ignore).resume()
        })
        const { port, sockets, allClosed } = await listen(server)
        const origin = `https://localhost:${port}`
        const { error } = await expectFailure(start(origin, { connect: { ca: cert } }), errors.AlpnError)
        expect(error).toMatchObject({ name: 'AlpnError', code: 'DODICI_ERR_ALPN' })
        expect(error.message).toContain(origin)
        expect(error.message).toContain('ALPN')
        await allClosed()
        expect(sockets).toHaveLength(1)
      })
    })

    describe('when the server requires a client certificate', () => {
      async function startMutual() {
        const { cert } = await toCertificate()
        return startTls({ requestCert: true, rejectUnauthorized: true, ca: cert })
      }

      it('and it is given, is authorized', async () => {
        const { port, key, cert, handshakes } = await startMutual()
        await expectHello(start(`https://localhost:${port}`, { connect: { ca: cert, cert, key } }))
        expect(handshakes).toEqual([{ servername: 'localhost', authorized: true }])
      })

      it.each(['TLSv1.2', 'TLSv1.3'] as const)('and it is missing, fails over %s', async (version) => {
        const { port, cert, allClosed } = await startMutual()
        const connect = { ca: cert, maxVersion: version }
        const harness = start(`https://localhost:${port}`, { connect })
        const calls = [harness.dispatch(), harness.dispatch()]
        await Promise.all(calls.map((call) => call.settled))
        for (const call of calls) {
          expect(call.error).toBeInstanceOf(errors.DodiciError)
          expect(call.statuses).toEqual([])
        }
        await allClosed()
      })
    })
  })

  describe('by `socketPath`', () => {
    it('over h2c reaches the server there, with the authority of the origin', async () => {
      const path = await toSocketPath()
      const authorities: unknown[] = []
      await startServer(
        (stream, headers) => {
          authorities.push(headers[':authority'])
          serveHello(stream, headers)
        },
        { path },
      )
      await expectHello(start('http://service.test:8080', { socketPath: path }))
      expect(authorities).toEqual(['service.test:8080'])
    })

    it('over TLS sends the server name of the origin', async () => {
      const path = await toSocketPath()
      const { server, ca } = await startServer(serveHello, { path, tls: true })
      const servernames: unknown[] = []
      server.on('secureConnection', (socket: TLSSocket) =>
        servernames.push(Reflect.get(socket, 'servername')),
      )
      await expectHello(start('https://localhost', { socketPath: path, connect: { ca } }))
      expect(servernames).toEqual(['localhost'])
    })

    it('over TLS does not take the certificate of another origin', async () => {
      const path = await toSocketPath()
      const { ca } = await startServer(serveHello, { path, tls: true })
      const harness = start('https://service.test', { socketPath: path, connect: { ca } })
      const { error } = await expectFailure(harness, errors.ConnectError)
      expect(error).toMatchObject({ code: 'ERR_TLS_CERT_ALTNAME_INVALID' })
    })

    it('at a path without a server, fails', async () => {
      const socketPath = await toSocketPath()
      const { error } = await expectFailure(start('http://localhost', { socketPath }), errors.ConnectError)
      expect(error).toMatchObject({ code: 'ENOENT' })
    })
  })

  describe('when `connect` is a function', () => {
    describe('of the caller', () => {
      it('that calls back, is told the destination, and has its socket used', async () => {
        const { origin } = await startServer(serveHello)
        const { port } = new URL(origin)
        const asked: ConnectorOptions[] = []
        const connect: Connector = (options, callback) => {
          asked.push(options)
          const socket = connectSocket(Number(options.port), options.hostname, () => callback(null, socket))
        }
        const harness = start(origin, { connect })
        await expectHello(harness)
        await expectHello(harness)
        expect(asked).toEqual([
          {
            hostname: '127.0.0.1',
            host: `127.0.0.1:${port}`,
            protocol: 'http:',
            port,
            socketPath: null,
            ALPNProtocols: ['h2'],
            allowH2: true,
            signal: expect.any(AbortSignal),
          },
        ])
        expect(harness.connections).toEqual(['connect'])
      })

      it('that calls back at once, with a socket that is not connected yet, uses it', async () => {
        const { origin } = await startServer(serveHello)
        const connect: Connector = ({ port, hostname }, callback) => {
          callback(null, connectSocket(Number(port), hostname))
        }
        await expectHello(start(origin, { connect }))
      })

      it('that returns a promise of a TLS socket, is told the server name, and has its socket used', async () => {
        const { port, cert, handshakes } = await startTls()
        const asked: ConnectorOptions[] = []
        const connect: Connector = async (options) => {
          asked.push(options)
          const { hostname: host, servername = '' } = options
          const socket = connectTls({ host, port, servername, ca: cert, ALPNProtocols: ['h2'] })
          await once(socket, 'secureConnect')
          return socket
        }
        const socketPath = 'for the connector alone'
        await expectHello(start(`https://localhost:${port}`, { connect, socketPath }))
        const host = `localhost:${port}`
        const names = { hostname: 'localhost', host, servername: 'localhost' }
        const more = { protocol: 'https:', port: `${port}`, socketPath, ALPNProtocols: ['h2'], allowH2: true }
        expect(asked).toEqual([{ ...names, ...more, signal: expect.any(AbortSignal) }])
        expect(handshakes).toEqual([{ servername: 'localhost', authorized: false }])
      })

      const broken = Object.assign(new Error('no tunnel today'), { code: 'E_TUNNEL' })
      const failing: { how: string; connect: Connector }[] = [
        {
          how: 'throws',
          connect: () => {
            throw broken
          },
        },
        { how: 'calls back at once with an error', connect: (_options, callback) => callback(broken) },
        {
          how: 'calls back later with an error',
          connect: (_options, callback) => void setImmediate(callback, broken, null),
        },
        { how: 'returns a promise that is rejected', connect: () => Promise.reject(broken) },
      ]

      it.each(failing)('that $how, fails with a ConnectError of its cause', async ({ connect }) => {
        const harness = start('http://127.0.0.1', { connect })
        const { error } = await expectFailure(harness, errors.ConnectError)
        expect(error.cause).toBe(broken)
        expect(error).toMatchObject({ code: 'E_TUNNEL' })
        expect(error.message).toBe('Could not connect to http://127.0.0.1: no tunnel today')
      })

      it('whose promise is rejected with a value that is no Error, fails with it as the cause', async () => {
        const connect: Connector = () => Promise.reject('busy')
        const { error } = await expectFailure(start('http://127.0.0.1', { connect }), errors.ConnectError)
        expect(error.cause).toBe('busy')
        expect(error).toMatchObject({ code: 'DODICI_ERR_CONNECT' })
        expect(error.message).toContain('busy')
      })

      const strange: { what: string; value: unknown }[] = [
        { what: 'undefined', value: undefined },
        { what: 'null', value: null },
        { what: 'a number', value: 7 },
        { what: 'an object', value: { write: true } },
      ]

      it.each(strange)('that calls back with $what, fails with an InvalidArgumentError', async ({
        value,
      }) => {
        // The types forbid it, and JavaScript doesn't.
        const connect: Connector = (_options, callback) => callback(null, value as Socket)
        const harness = start('http://127.0.0.1', { connect })
        const { error } = await expectFailure(harness, errors.InvalidArgumentError)
        expect(error.message).toMatch(/^Invalid connect: .*a function that provides a socket$/)
      })

      it('that yields a socket which it has paused, reads from it', async () => {
        const { origin } = await startServer(serveHello)
        const connect: Connector = ({ port, hostname }, callback) => {
          const socket = connectSocket(Number(port), hostname, () => callback(null, socket.pause()))
        }
        await expectHello(start(origin, { connect }))
      })

      it('that yields a socket that is destroyed already, fails and crashes nothing', async () => {
        const connect: Connector = (_options, callback) => {
          const socket = connectSocket(1, '127.0.0.1').on('error', ignore)
          socket.destroy()
          callback(null, socket)
        }
        const call = start('http://127.0.0.1', { connect }).dispatch()
        await call.settled
        expect(call.error).toBeInstanceOf(errors.DodiciError)
        expect(call.error).toMatchObject({ processed: 'no' })
      })

      it('that yields a socket which can not connect, fails and crashes nothing', async () => {
        const port = await findFreePort()
        const connect: Connector = (_options, callback) => callback(null, connectSocket(port, '127.0.0.1'))
        const call = start('http://127.0.0.1', { connect }).dispatch()
        await call.settled
        expect(call.error).toBeInstanceOf(errors.DodiciError)
        expect(call.error).toMatchObject({ processed: 'no' })
      })

      describe('and calls back twice', () => {
        it('with two sockets, uses the first and destroys the second', async () => {
          const { origin } = await startServer(serveHello)
          const given: Socket[] = []
          let onSecondClosed = ignore
          const secondClosed = new Promise<void>((resolve) => {
            onSecondClosed = resolve
          })
          const connect: Connector = ({ port, hostname }, callback) => {
            const give = () => {
              const socket = connectSocket(Number(port), hostname, () => {
                if (given.push(socket) === 2) socket.once('close', onSecondClosed)
                callback(null, socket)
              })
            }
            give()
            give()
          }
          const harness = start(origin, { connect })
          await expectHello(harness)
          await secondClosed
          expect(given.map((socket) => socket.destroyed)).toEqual([false, true])
          await expectHello(harness)
          expect(harness.connections).toEqual(['connect'])
        })
      })
    })

    describe("of undici 7's buildConnector", () => {
      it('over TLS with allowH2, uses its socket', async () => {
        const { port, cert, handshakes } = await startTls()
        const connect = buildConnector({ allowH2: true, ca: cert })
        const harness = start(`https://localhost:${port}`, { connect })
        await expectHello(harness)
        await expectHello(harness)
        expect(handshakes).toEqual([{ servername: 'localhost', authorized: false }])
        expect(harness.connections).toEqual(['connect'])
      })

      it('without allowH2, fails with an AlpnError that names what was chosen', async () => {
        const { port, cert, allClosed } = await startTls({ allowHTTP1: true })
        const connect = buildConnector({ allowH2: false, ca: cert })
        const harness = start(`https://localhost:${port}`, { connect })
        const { error } = await expectFailure(harness, errors.AlpnError)
        expect(error.message).toContain("'http/1.1'")
        await allClosed()
      })
    })
  })

  describe('when no server listens', () => {
    it('at an address, fails with ECONNREFUSED', async () => {
      const port = await findFreePort()
      const harness = start(`http://127.0.0.1:${port}`)
      const { error } = await expectFailure(harness, errors.ConnectError)
      expect(error).toMatchObject({ code: 'ECONNREFUSED' })
      expect(error.cause).toMatchObject({ code: 'ECONNREFUSED' })
      expect(error.message).toBe(
        `Could not connect to http://127.0.0.1:${port}: connect ECONNREFUSED 127.0.0.1:${port}`,
      )
    })

    it('at any address of a name, fails with an error that names each address', async () => {
      const port = await findFreePort()
      const lookup: LookupFunction = (_hostname, _options, callback) => {
        callback(null, [
          { address: '127.0.0.1', family: 4 },
          { address: '::1', family: 6 },
        ])
      }
      const harness = start(`http://localhost:${port}`, { connect: { lookup, autoSelectFamily: true } })
      const { error } = await expectFailure(harness, errors.ConnectError)
      // Without IPv6 the second address fails otherwise; it is there nevertheless.
      expect(error).toMatchObject({ code: 'ECONNREFUSED' })
      expect(error.cause).toBeInstanceOf(AggregateError)
      expect(error.message).toContain(
        `Could not connect to http://localhost:${port}: connect ECONNREFUSED 127`,
      )
      expect(error.message).toContain(`::1:${port}`)
    })
  })

  describe('when it is destroyed while it connects', () => {
    async function expectDestroyed(harness: Harness, calls: Recorder[], reason: Error | null): Promise<void> {
      await harness.scheduler.destroy(reason)
      for (const call of calls) {
        if (reason === null) expect(call.error).toBeInstanceOf(errors.ClientDestroyedError)
        else expect(call.error).toBe(reason)
        expect(call.events).toEqual(['start', 'error'])
      }
      expect(harness.connections).toEqual([])
      expect(harness.scheduler).toMatchObject({ pending: 0, running: 0, connected: 0 })
    }

    it.each([
      { what: 'with a ClientDestroyedError', reason: null },
      { what: 'with the error that was given', reason: new Error('enough') },
    ])('before TLS is up, fails its calls $what, and leaves no socket and no timer', async ({ reason }) => {
      const { port, server, sockets, allClosed } = await startSilent()
      const clock = new FakeClock()
      const harness = start(`https://127.0.0.1:${port}`, { connectTimeout: 3_000 }, clock)
      const arrived = once(server, 'connection')
      const calls = [harness.dispatch(), harness.dispatch()]
      await arrived
      expect(clock.alarms).toBeGreaterThan(0)
      await expectDestroyed(harness, calls, reason)
      expect(clock.alarms).toBe(0)
      await allClosed()
      expect(sockets).toHaveLength(1)
      if (reason === null)
        expect(calls[0]?.error).toMatchObject({ processed: 'no', attempts: 0, streamId: null })
    })

    it('in the very tick of its first call, leaves no socket', async () => {
      const { port, server, sockets } = await startSilent()
      const clock = new FakeClock()
      const harness = start(`http://127.0.0.1:${port}`, {}, clock)
      await expectDestroyed(harness, [harness.dispatch()], null)
      expect(clock.alarms).toBe(0)
      // Had there been another connection, it would have come before this one.
      const arrived = once(server, 'connection')
      const own = connectSocket(port, '127.0.0.1')
      await arrived
      own.destroy()
      expect(sockets).toHaveLength(1)
    })
  })

  it('to an IPv6 address reaches it, and keeps its brackets in the authority', async (context) => {
    if (!(await hasIpv6()) && process.env.CI !== 'true') {
      console.warn('SKIPPED: the test of an IPv6 origin, as this machine has no ::1')
      context.skip()
    }
    const authorities: unknown[] = []
    const { private: key, cert } = await toCertificate()
    const server = createSecureServer({ key, cert })
    server.on('session', (session) => session.on('error', ignore))
    server.on('stream', (stream: ServerHttp2Stream, headers) => {
      authorities.push(headers[':authority'])
      serveHello(stream, headers)
    })
    const { port } = await listen(server, '::1')
    const connect = { ca: cert, checkServerIdentity: () => undefined }
    await expectHello(start(`https://[::1]:${port}`, { connect }))
    expect(authorities).toEqual([`[::1]:${port}`])
  })
})

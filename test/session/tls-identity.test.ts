import { once } from 'node:events'
import type { SecureServerOptions, ServerHttp2Stream } from 'node:http2'
import { createSecureServer } from 'node:http2'
import type { AddressInfo, LookupFunction, Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Agent, Client } from '../../src/index.ts'
import type { ClientOptions } from '../../types/index.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import { ENGINES } from '../support/clients/engines.ts'
import { toCertificate } from '../support/servers/server.ts'

const GET = { path: '/', method: 'GET' } as const

function ignore(): void {}

/** What the server's side of a handshake says. */
interface Handshake {
  readonly isResumed: boolean
  readonly servername: unknown
  readonly isAuthorized: boolean
  readonly peer: unknown
  readonly socket: Socket
}

/** A server of HTTP/2 over TLS, with its handshakes. Its tickets are good for all of its connections. */
async function startTls(options: SecureServerOptions = {}) {
  const { private: key, cert } = await toCertificate()
  const handshakes: Handshake[] = []
  const server = createSecureServer({ key, cert, ...options })
  server.on('secureConnection', (socket: TLSSocket) => {
    handshakes.push({
      isResumed: socket.isSessionReused(),
      servername: Reflect.get(socket, 'servername'),
      isAuthorized: socket.authorized,
      peer: socket.getPeerCertificate().subject?.CN,
      socket,
    })
  })
  server.on('sessionError', ignore)
  server.on('session', (session) => session.on('error', ignore))
  server.on('stream', (stream: ServerHttp2Stream) => {
    stream.on('error', ignore)
    stream.respond({ ':status': 200 })
    stream.end('hello')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(async () => {
    for (const { socket } of handshakes) socket.destroy()
    const closed = once(server, 'close')
    server.close()
    await closed
  })
  const { port } = server.address() as AddressInfo
  return { origin: `https://localhost:${port}`, handshakes, cert }
}

describe.each(ENGINES)('with engine %s', (engine) => {
  function toClient(origin: string, options: ClientOptions): Client {
    const client = destroyWithTest(new Client(origin, { engine, ...options }))
    return client
  }

  async function expectHello(client: Client): Promise<void> {
    const { body } = await client.request(GET)
    expect(await body.text()).toBe('hello')
  }

  /** Ends the client's connection from the server's side, and waits until it knows. */
  async function cut(client: Client, handshake: Handshake | undefined): Promise<void> {
    const gone = once(client, 'disconnect')
    handshake?.socket.destroy()
    await gone
  }

  describe('a TLS session', () => {
    it.each(['TLSv1.3', 'TLSv1.2'] as const)('of %s is resumed by the next connection', async (version) => {
      const { origin, handshakes, cert } = await startTls({ minVersion: version, maxVersion: version })
      const client = toClient(origin, { connect: { ca: cert } })
      for (let round = 0; round < 3; round++) {
        await expectHello(client)
        await cut(client, handshakes.at(-1))
      }
      expect(handshakes.map(({ isResumed }) => isResumed)).toEqual([false, true, true])
    })

    it('is not resumed by another client, though its origin and its options are the same', async () => {
      const { origin, handshakes, cert } = await startTls()
      for (let round = 0; round < 2; round++) await expectHello(toClient(origin, { connect: { ca: cert } }))
      expect(handshakes.map(({ isResumed }) => isResumed)).toEqual([false, false])
    })

    it('that the caller gives is used', async () => {
      const { origin, handshakes, cert } = await startTls({ maxVersion: 'TLSv1.2' })
      const first = toClient(origin, { connect: { ca: cert } })
      const connected = once(first, 'connect')
      await expectHello(first)
      await connected
      // A ticket that no server knows: a full handshake follows.
      const other = toClient(origin, { connect: { ca: cert, session: Buffer.alloc(0) } })
      await expectHello(other)
      await cut(other, handshakes.at(-1))
      await expectHello(other)
      expect(handshakes.map(({ isResumed }) => isResumed)).toEqual([false, false, false])
    })

    it('is forgotten when a connection fails, so that no later one fails by it', async () => {
      const { origin, handshakes, cert } = await startTls()
      let isBroken = false
      const client = toClient(origin, {
        connect: {
          ca: cert,
          checkServerIdentity: () => undefined,
          lookup: (_hostname, _options, callback) => {
            if (isBroken) callback(new Error('no such host'), [])
            else callback(null, [{ address: '127.0.0.1', family: 4 }])
          },
        },
      })
      await expectHello(client)
      await cut(client, handshakes.at(-1))
      isBroken = true
      await expect(client.request(GET)).rejects.toThrow('no such host')
      isBroken = false
      await expectHello(client)
      expect(handshakes.map(({ isResumed }) => isResumed)).toEqual([false, false])
    })
  })

  describe('a client certificate', () => {
    it('is presented on each connection, also on a resumed one; an agent without it is another identity', async () => {
      const { private: key, cert } = await toCertificate()
      const { origin, handshakes } = await startTls({
        requestCert: true,
        rejectUnauthorized: false,
        ca: cert,
      })
      const withCertificate = new Agent({ engine, connect: { ca: cert, cert, key } })
      const without = new Agent({ engine, connect: { ca: cert } })
      onTestFinished(async () => {
        await Promise.all([withCertificate.destroy(), without.destroy()])
      })
      for (const agent of [withCertificate, without, withCertificate]) {
        const gone = once(agent, 'disconnect')
        const { body } = await agent.request({ ...GET, origin })
        expect(await body.text()).toBe('hello')
        handshakes.at(-1)?.socket.destroy()
        await gone
      }
      expect(handshakes.map(({ peer }) => peer)).toEqual(['localhost', undefined, 'localhost'])
      expect(handshakes.map(({ isAuthorized }) => isAuthorized)).toEqual([true, false, true])
      expect(handshakes.map(({ isResumed }) => isResumed)).toEqual([false, false, true])
    })
  })

  describe('a name with several addresses', () => {
    const lookup: LookupFunction = (_hostname, _options, callback) => {
      callback(null, [
        { address: '127.0.0.2', family: 4 },
        { address: '127.0.0.1', family: 4 },
      ])
    }

    it('that fails at once, by a lookup that calls back at once › fails the request, and not the process', async () => {
      const { origin, cert } = await startTls()
      const client = toClient(origin, {
        connect: {
          ca: cert,
          // No TCP connection can be made to a broadcast address.
          lookup: (_hostname, _options, callback) => {
            callback(null, [{ address: '255.255.255.255', family: 4 }])
          },
        },
      })
      await expect(client.request(GET)).rejects.toThrow('255.255.255.255')
    })

    it('is reached by the one that responds (RFC 8305), though the first refuses', async () => {
      const { origin, handshakes, cert } = await startTls()
      await expectHello(toClient(origin, { connect: { ca: cert, lookup } }))
      expect(handshakes).toHaveLength(1)
    })
  })
})

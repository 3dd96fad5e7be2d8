/** TLS sessions and certificates, which may change while a client lives: its own, and that of its server. */

import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { SecureServerOptions, ServerHttp2Session, ServerHttp2Stream } from 'node:http2'
import { createSecureServer } from 'node:http2'
import type { AddressInfo } from 'node:net'
import type { PeerCertificate, SecureContext, TLSSocket } from 'node:tls'
import { connect as connectTls, createSecureContext } from 'node:tls'
import { generate } from 'selfsigned'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Agent, Client, errors } from '../../src/index.ts'
import type { ClientOptions, Connector } from '../../types/index.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import { ENGINES } from '../support/clients/engines.ts'
import { startHttp1 } from '../support/servers/fallback-http1.ts'
import { listenOnFree } from '../support/servers/free-port.ts'
import { toCertificate } from '../support/servers/server.ts'

const GET = { path: '/', method: 'GET' } as const
const VERSIONS = ['TLSv1.3', 'TLSv1.2'] as const

interface Handshake {
  readonly isResumed: boolean
  readonly isAuthorized: boolean
  readonly peer: unknown
  readonly socket: TLSSocket
}

/** A certificate that signs itself, for localhost. */
function toNamed(name: string) {
  return generate([{ name: 'commonName', value: name }], {
    keyType: 'ec',
    extensions: [{ name: 'subjectAltName', altNames: [{ type: 2, value: 'localhost' }] }],
  })
}

/** An HTTP/2 server that tells the name in the certificate of its client. It can be started again at the same port. */
async function startTls(options: SecureServerOptions, port = 0) {
  const handshakes: Handshake[] = []
  const sessions: ServerHttp2Session[] = []
  const server = createSecureServer(options)
  server.on('secureConnection', (socket: TLSSocket) => {
    const peer = socket.getPeerCertificate().subject?.CN
    handshakes.push({ isResumed: socket.isSessionReused(), isAuthorized: socket.authorized, peer, socket })
  })
  server.on('tlsClientError', () => {})
  server.on('sessionError', () => {})
  server.on('session', (session) => sessions.push(session.on('error', () => {})))
  server.on('stream', (stream: ServerHttp2Stream) => {
    stream.on('error', () => {})
    stream.respond({ ':status': 200 })
    const socket = stream.session?.socket as TLSSocket
    stream.end(String(handshakes.find((each) => each.socket.remotePort === socket.remotePort)?.peer))
  })
  if (port === 0) await listenOnFree(server)
  else await once(server.listen(port, '127.0.0.1'), 'listening')
  const stop = async (): Promise<void> => {
    for (const { socket } of handshakes) socket.destroy()
    for (const session of sessions) session.destroy()
    if (!server.listening) return
    const closed = once(server, 'close')
    server.close()
    await closed
  }
  onTestFinished(stop)
  const { port: listening } = server.address() as AddressInfo
  return { origin: `https://localhost:${listening}`, port: listening, handshakes, stop }
}

describe.each(ENGINES)('with engine %s', (engine) => {
  function toClient(origin: string, options: ClientOptions): Client {
    const client = destroyWithTest(new Client(origin, { engine, ...options }))
    return client
  }

  async function ask(client: Client): Promise<string> {
    const { body } = await client.request(GET)
    return body.text()
  }

  /** Ends the client's connection from the server's side, and waits until the client has heard. */
  async function cut(client: Client, handshakes: readonly Handshake[]): Promise<void> {
    const gone = once(client, 'disconnect')
    handshakes.at(-1)?.socket.destroy()
    await gone
  }

  describe('a TLS session', () => {
    it('that the caller gives is used', async () => {
      const { private: key, cert: ca } = await toCertificate()
      const { origin, handshakes } = await startTls({ key, cert: ca, maxVersion: 'TLSv1.2' })
      // A ticket that no server knows: a full handshake follows.
      const client = toClient(origin, { connect: { ca, session: Buffer.alloc(0) } })
      await ask(client)
      await cut(client, handshakes)
      await ask(client)
      expect(handshakes.map(({ isResumed }) => isResumed)).toEqual([false, false])
    })

    it('is forgotten when a connection fails, so that no later one fails by it', async () => {
      const { private: key, cert: ca } = await toCertificate()
      const { origin, handshakes } = await startTls({ key, cert: ca })
      let isBroken = false
      const client = toClient(origin, {
        connect: {
          ca,
          checkServerIdentity: () => undefined,
          lookup: (_hostname, _options, callback) => {
            if (isBroken) callback(new Error('no such host'), [])
            else callback(null, [{ address: '127.0.0.1', family: 4 }])
          },
        },
      })
      await ask(client)
      await cut(client, handshakes)
      isBroken = true
      await expect(client.request(GET)).rejects.toThrow('no such host')
      isBroken = false
      await ask(client)
      expect(handshakes.map(({ isResumed }) => isResumed)).toEqual([false, false])
    })
  })

  it('a client certificate is presented on each connection, also on a resumed one; an agent without it is another identity', async () => {
    const { private: key, cert } = await toCertificate()
    const { origin, handshakes } = await startTls({
      ...{ key, cert, ca: cert },
      ...{ requestCert: true, rejectUnauthorized: false },
    })
    const withCertificate = destroyWithTest(new Agent({ engine, connect: { ca: cert, cert, key } }))
    const without = destroyWithTest(new Agent({ engine, connect: { ca: cert } }))
    for (const agent of [withCertificate, without, withCertificate]) {
      const gone = once(agent, 'disconnect')
      const { body } = await agent.request({ ...GET, origin })
      await body.dump()
      handshakes.at(-1)?.socket.destroy()
      await gone
    }
    expect(handshakes.map(({ peer }) => peer)).toEqual(['localhost', undefined, 'localhost'])
    expect(handshakes.map(({ isAuthorized }) => isAuthorized)).toEqual([true, false, true])
    expect(handshakes.map(({ isResumed }) => isResumed)).toEqual([false, false, true])
  })

  it('an address that fails at once, by a lookup that calls back at once › fails the request, and not the process', async () => {
    const client = toClient('https://localhost:1', {
      connect: {
        // No TCP connection can be made to a broadcast address.
        lookup: (_hostname, _options, callback) => {
          callback(null, [{ address: '255.255.255.255', family: 4 }])
        },
      },
    })
    await expect(client.request(GET)).rejects.toThrow('255.255.255.255')
  })

  describe.each(VERSIONS)('a client certificate that is replaced, over %s', (version) => {
    const common = { minVersion: version, maxVersion: version } as const

    async function start() {
      const [old, fresh] = await Promise.all([toNamed('old'), toNamed('fresh')])
      const { private: key, cert: ca } = await toCertificate()
      const server = await startTls({
        ...{ ...common, key, cert: ca, ca: [old.cert, fresh.cert] },
        ...{ requestCert: true, rejectUnauthorized: true },
      })
      const toContext = ({ private: own, cert }: typeof old): SecureContext =>
        createSecureContext({ ...common, ca, key: own, cert })
      return { ...server, ca, old, fresh, toContext }
    }

    it('by a secureContext function › is the one of the next connection, and resumes nothing of the old one', async () => {
      const { origin, handshakes, old, fresh, toContext } = await start()
      let current = toContext(old)
      const client = toClient(origin, { connect: { secureContext: () => current } })
      expect(await ask(client)).toBe('old')
      await cut(client, handshakes)
      expect(await ask(client)).toBe('old')
      current = toContext(fresh)
      // An open session keeps its certificate.
      expect(await ask(client)).toBe('old')
      await cut(client, handshakes)
      expect(await ask(client)).toBe('fresh')
      await cut(client, handshakes)
      expect(await ask(client)).toBe('fresh')
      expect(handshakes.map(({ isResumed, peer }) => [isResumed, peer])).toEqual([
        [false, 'old'],
        [true, 'old'],
        [false, 'fresh'],
        [true, 'fresh'],
      ])
    })

    it('by a connect function › is the one of the next connection', async () => {
      const { origin, handshakes, ca, old, fresh } = await start()
      let current = old
      const connect: Connector = ({ hostname, port, servername, ALPNProtocols = [] }, callback) => {
        const { private: key, cert } = current
        const socket = connectTls({
          ...{ ...common, host: hostname, port: Number(port), ca, key, cert, ALPNProtocols },
          ...(servername === undefined ? {} : { servername }),
        })
        socket.once('secureConnect', () => callback(null, socket)).once('error', callback)
      }
      const client = toClient(origin, { connect })
      expect(await ask(client)).toBe('old')
      current = fresh
      await cut(client, handshakes)
      expect(await ask(client)).toBe('fresh')
      expect(handshakes.map(({ isResumed }) => isResumed)).toEqual([false, false])
    })

    it('by one that the server does not trust › fails, though the old one would have been resumed', async () => {
      const { origin, handshakes, ca, old, toContext } = await start()
      let current = toContext(old)
      const client = toClient(origin, { connect: { secureContext: () => current } })
      expect(await ask(client)).toBe('old')
      current = createSecureContext({ ...common, ca })
      await cut(client, handshakes)
      await expect(client.request(GET)).rejects.toBeInstanceOf(errors.DodiciError)
      current = toContext(old)
      expect(await ask(client)).toBe('old')
    })
  })

  describe('a secureContext function', () => {
    it.each([
      {
        what: 'throws',
        secureContext: (): SecureContext => {
          throw new Error('no certificate')
        },
        message: 'no certificate',
      },
      { what: 'returns no context', secureContext: () => 'pem' as never, message: 'context' },
    ])('that $what › fails the request', async ({ secureContext, message }) => {
      const { private: key, cert } = await toCertificate()
      const { origin } = await startTls({ key, cert })
      const error = await ask(toClient(origin, { connect: { secureContext } })).catch((thrown) => thrown)
      expect(error).toBeInstanceOf(errors.ConnectError)
      expect(error).toMatchObject({ processed: 'no', message: expect.stringContaining(message) })
    })
  })

  describe.each(VERSIONS)('a server that comes back with another certificate, over %s', (version) => {
    const common = { minVersion: version, maxVersion: version } as const

    /** Two certificates of one server in turn, and the certificates that the client has checked. */
    async function start(ticketKeys: readonly [Buffer, Buffer], trustsBoth: boolean) {
      const [first, second] = await Promise.all([toNamed('first'), toNamed('second')])
      const before = await startTls({
        ...{ ...common, key: first.private, cert: first.cert, ticketKeys: ticketKeys[0] },
      })
      const checked: string[] = []
      const client = toClient(before.origin, {
        connect: {
          ca: trustsBoth ? [first.cert, second.cert] : first.cert,
          checkServerIdentity: (_hostname: string, { subject }: PeerCertificate) => {
            checked.push(String(subject.CN))
            return undefined
          },
        },
      })
      expect(await ask(client)).toBe('undefined')
      await cut(client, before.handshakes)
      await before.stop()
      const after = await startTls(
        { ...common, key: second.private, cert: second.cert, ticketKeys: ticketKeys[1] },
        before.port,
      )
      return { client, checked, after }
    }

    it('when it does not know the old tickets › is checked anew', async () => {
      const { client, checked, after } = await start([randomBytes(48), randomBytes(48)], true)
      expect(await ask(client)).toBe('undefined')
      await cut(client, after.handshakes)
      expect(await ask(client)).toBe('undefined')
      expect(after.handshakes.map(({ isResumed }) => isResumed)).toEqual([false, true])
      expect(checked).toEqual(['first', 'second'])
    })

    it('when it does not know the old tickets, and its certificate is not trusted › is refused, each time', async () => {
      const { client, checked, after } = await start([randomBytes(48), randomBytes(48)], false)
      for (let round = 0; round < 2; round++) {
        const error = await client.request(GET).catch((thrown: unknown) => thrown)
        expect(error).toBeInstanceOf(errors.ConnectError)
        expect(error).toMatchObject({ code: 'DEPTH_ZERO_SELF_SIGNED_CERT', processed: 'no' })
      }
      expect(checked).toEqual(['first'])
      expect(after.handshakes.every(({ isResumed }) => !isResumed)).toBe(true)
    })

    it('when it knows the old tickets › is taken for the same server, without a new check', async () => {
      const keys = randomBytes(48)
      const { client, checked, after } = await start([keys, keys], false)
      expect(await ask(client)).toBe('undefined')
      expect(after.handshakes.map(({ isResumed }) => isResumed)).toEqual([true])
      expect(checked).toEqual(['first'])
    })
  })

  it('a server that comes back with another version of TLS › is connected to, with a full handshake', async () => {
    const { private: key, cert } = await toCertificate()
    const ticketKeys = randomBytes(48)
    let version: (typeof VERSIONS)[number] = 'TLSv1.3'
    let running = await startTls({ key, cert, ticketKeys, minVersion: version, maxVersion: version })
    const client = toClient(running.origin, { connect: { ca: cert } })
    for (const next of ['TLSv1.2', 'TLSv1.3'] as const) {
      expect(await ask(client)).toBe('undefined')
      await cut(client, running.handshakes)
      await running.stop()
      version = next
      running = await startTls({ key, cert, ticketKeys, minVersion: next, maxVersion: next }, running.port)
    }
    expect(await ask(client)).toBe('undefined')
    expect(running.handshakes.map(({ isResumed }) => isResumed)).toEqual([false])
  })
})

it('a secureContext function is that of the fallback, too', async () => {
  const [old, fresh] = await Promise.all([toNamed('old'), toNamed('fresh')])
  const { origin, ca, requests, sockets } = await startHttp1(undefined, {
    ...{ requestCert: true, rejectUnauthorized: true, ca: [old.cert, fresh.cert] },
  })
  let current = old
  const secureContext = () => createSecureContext({ ca, key: current.private, cert: current.cert })
  const agent = destroyWithTest(new Agent({ connect: { secureContext } }))
  for (const each of [old, fresh]) {
    current = each
    const { body } = await agent.request({ ...GET, origin, headers: { connection: 'close' } })
    await body.dump()
    for (const socket of sockets) socket.destroy()
  }
  expect(requests.map(({ peer }) => peer)).toEqual(['old', 'fresh'])
})

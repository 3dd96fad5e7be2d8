import { once } from 'node:events'
import { connect, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { connect as connectTls } from 'node:tls'
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { Client, errors, ProxyAgent } from '../../src/index.ts'
import { PairedDuplex } from '../../src/testing/duplex-pair.ts'
import type { FaultServer } from '../../src/testing/fault-server.ts'
import type { Connector, EngineName } from '../../types/index.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import {
  REFUSED_DUPLEX,
  SERVE,
  startPeer,
  toConnector,
  toSocketConnector,
} from '../support/peers/peer-rig.ts'
import { toTlsPeer } from '../support/peers/peer-tls.ts'
import { startServer } from '../support/servers/server.ts'
import type { Kind } from '../support/servers/tunnel-proxy.ts'
import { startTunnelProxy } from '../support/servers/tunnel-proxy.ts'

const GET = { path: '/', method: 'GET' } as const

/** What mocks yield: an instance of net.Socket that has no handle, and whose bytes go another way. */
class HandlelessSocket extends Socket {
  readonly #behind: Duplex

  constructor(behind: Duplex) {
    super()
    this.#behind = behind
    behind.on('data', (chunk) => this.push(chunk))
    behind.on('end', () => this.push(null))
    behind.on('error', (error) => this.destroy(error))
  }

  override _read(): void {}

  override _write(bytes: Buffer, _encoding: BufferEncoding, callback: (error?: Error | null) => void): void {
    this.#behind.write(bytes, callback)
  }

  override _writev(chunks: { chunk: Buffer }[], callback: (error?: Error | null) => void): void {
    this.#behind.write(Buffer.concat(chunks.map(({ chunk }) => chunk)), callback)
  }

  override _final(callback: () => void): void {
    this.#behind.end(callback)
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#behind.destroy()
    super._destroy(error, callback)
  }
}

/** A connection to the peer's port by a Duplex. */
function toRelay({ origin }: FaultServer): Duplex {
  const { hostname, port } = new URL(origin)
  const socket = connect(Number(port), hostname)
  const [near, far] = PairedDuplex.toPair()
  socket.on('error', () => far.destroy()).on('close', () => far.destroy())
  far.on('error', () => socket.destroy()).on('close', () => socket.destroy())
  socket.pipe(far).pipe(socket)
  return near
}

/** A connector that yields TLS. @param toOver what TLS runs on, or where it connects to */
function toTlsConnector(ca: string, toOver: () => { socket: Duplex } | { port: number }): Connector {
  return (_options, callback) => {
    const options = { host: 'localhost', servername: 'localhost', ca, ALPNProtocols: ['h2'] }
    const socket = connectTls({ ...options, ...toOver() })
    socket.once('secureConnect', () => callback(null, socket))
    socket.once('error', (error) => callback(error, null))
  }
}

interface Yielded {
  readonly what: string
  readonly isTls?: boolean
  readonly toConnector: (peer: FaultServer, ca: string) => Connector
  /** The engine of the session, by the engine option; null: the request is refused. */
  readonly runs: Readonly<Record<'none' | EngineName, EngineName | null>>
}

const ON_ANY = { none: 'node', node: 'node', wire: 'wire' } as const
const ON_WIRE_ALONE = { none: 'wire', node: null, wire: 'wire' } as const

const YIELDED: readonly Yielded[] = [
  { what: 'a net.Socket', toConnector: toSocketConnector, runs: ON_ANY },
  {
    what: 'a TLSSocket',
    isTls: true,
    toConnector: ({ origin }, ca) => toTlsConnector(ca, () => ({ port: Number(new URL(origin).port) })),
    runs: ON_ANY,
  },
  {
    what: 'a TLSSocket over a Duplex',
    isTls: true,
    toConnector: (peer, ca) => toTlsConnector(ca, () => ({ socket: toRelay(peer) })),
    runs: ON_ANY,
  },
  { what: 'a Duplex', toConnector, runs: ON_WIRE_ALONE },
  {
    what: 'an instance of net.Socket without a handle',
    toConnector: (peer) => (_options, callback) => callback(null, new HandlelessSocket(peer.connect())),
    runs: ON_WIRE_ALONE,
  },
]

describe.each(YIELDED)('when a connect function yields $what', ({ isTls = false, toConnector, runs }) => {
  async function start(engine: EngineName | undefined) {
    const { options, ca } = await toTlsPeer()
    const peer = await startPeer(SERVE, isTls ? options : {})
    const client = destroyWithTest(
      new Client(peer.origin, { engine, connect: toConnector(peer, ca), fallback: null }),
    )
    return { peer, client }
  }

  const cells = Object.entries(runs).map(([option, engine]) => ({
    option,
    given: option === 'none' ? undefined : (option as EngineName),
    engine,
  }))

  it.each(
    cells.filter(({ engine }) => engine !== null),
  )('and the engine option is $option › runs on $engine', async ({ given, engine }) => {
    const { client } = await start(given)
    const { body } = await client.request({ path: '/', method: 'POST', body: 'body' })
    expect(await body.text()).toBe('POST /')
    expect(client.stats.sessions).toMatchObject([{ engine, state: 'ready' }])
  })

  it.each(
    cells.filter(({ engine }) => engine === null),
  )('and the engine option is $option › refuses it', async ({ given }) => {
    const { peer, client } = await start(given)
    const call = client.request({ path: '/', method: 'POST', body: 'body' })
    await expect(call).rejects.toBeInstanceOf(errors.InvalidArgumentError)
    await expect(call).rejects.toMatchObject({ ...REFUSED_DUPLEX, processed: 'no' })
    expect(client.stats.sessions).toEqual([])
    await peer.waitFor(() => peer.connection(0).isClosed)
    expect(peer.requests).toEqual([])
  })
})

describe('a client that names no engine, and whose connect function yields now a socket, now a Duplex', () => {
  it('runs each session on its own engine', async () => {
    const peer = await startPeer([
      {
        onComplete: (stream, connection) => {
          stream.respond()
          connection.goAway({ lastStreamId: stream.id, code: 0 })
        },
      },
      SERVE,
    ])
    const ways = [toConnector(peer), toSocketConnector(peer)]
    const connect: Connector = (options, callback) => ways.shift()?.(options, callback)
    const client = destroyWithTest(new Client(peer.origin, { connect, fallback: null }))
    const engines: unknown[] = []
    client.on('connect', () => engines.push(client.stats.sessions.at(-1)?.engine))
    for (let call = 0; call < 2; call++) await (await client.request(GET)).body.dump()
    expect(engines).toEqual(['wire', 'node'])
  })
})

describe('while the engines are loaded', () => {
  const WIRE = '../../src/session/wire/wire-engine.ts'

  afterEach(() => vi.doUnmock(WIRE))

  /** As in a new process: no engine is loaded. */
  async function importAnew(): Promise<typeof import('../../src/index.ts')> {
    vi.resetModules()
    return await import('../../src/index.ts')
  }

  it('when the Duplex is destroyed that the connect function will yield › fails the call, and serves the next', async () => {
    const dodici = await importAnew()
    const peer = await startPeer(SERVE)
    const made = peer.connect()
    const waiting = [made]
    const connect: Connector = (_options, callback) =>
      callback(null, (waiting.shift() ?? peer.connect()) as Socket)
    const client = new dodici.Client(peer.origin, { connect, fallback: null, replaySafe: false })
    onTestFinished(() => client.destroy())
    const call = client.request(GET)
    made.destroy()
    await expect(call).rejects.toMatchObject({ processed: 'no' })
    const { body } = await client.request(GET)
    expect(await body.text()).toBe('GET /')
    expect(client.stats.sessions).toMatchObject([{ engine: 'wire' }])
  })

  it('when the client is destroyed › the connect function is not asked', async () => {
    const dodici = await importAnew()
    const peer = await startPeer(SERVE)
    const connect = vi.fn(toConnector(peer))
    const client = new dodici.Client(peer.origin, { connect })
    const call = client.request(GET)
    await Promise.all([expect(call).rejects.toMatchObject({ code: 'UND_ERR_DESTROYED' }), client.destroy()])
    // By the time that this one is served, both engines are loaded.
    const next = new dodici.Client(peer.origin, { connect: toConnector(peer) })
    await (await next.request(GET)).body.dump()
    await next.close()
    expect(connect).not.toHaveBeenCalled()
  })

  it('when engine wire cannot be loaded › fails the call, and says so', async () => {
    const dodici = await importAnew()
    const peer = await startPeer(SERVE)
    vi.doMock(WIRE, () => {
      throw new Error('no such file')
    })
    const client = new dodici.Client(peer.origin, { connect: toConnector(peer) })
    await expect(client.request(GET)).rejects.toMatchObject({
      message: expect.stringContaining("Engine 'wire' can't be loaded"),
      processed: 'no',
    })
    await client.close()
  })
})

describe('a client that names no engine, behind a proxy', () => {
  it.each([
    { scheme: 'http', kind: 'HTTP/2', engine: 'wire' },
    { scheme: 'https', kind: 'HTTP/2', engine: 'node' },
    { scheme: 'http', kind: 'HTTP/1.1', engine: 'node' },
    { scheme: 'https', kind: 'HTTP/1.1', engine: 'node' },
    { scheme: 'http', kind: 'SOCKS5', engine: 'node' },
  ] as const satisfies readonly {
    scheme: string
    kind: Kind
    engine: EngineName
  }[])('of $kind, with an $scheme: origin › runs on engine $engine', async ({ scheme, kind, engine }) => {
    const server = await startServer(
      (stream) => {
        stream.respond({ ':status': 200 })
        stream.end('hello')
      },
      { tls: scheme === 'https' },
    )
    const proxy = await startTunnelProxy(kind)
    const agent = new ProxyAgent({
      uri: proxy.uri,
      h2c: true,
      proxyTls: { ca: proxy.ca },
      requestTls: { rejectUnauthorized: false },
    })
    onTestFinished(() => agent.destroy())
    const origin = `${scheme}://origin.test:${new URL(server.origin).port}`
    const { body } = await agent.request({ ...GET, origin })
    expect(await body.text()).toBe('hello')
    expect(Object.values(agent.stats).flatMap(({ sessions }) => sessions)).toMatchObject([{ engine }])
    const gone = once(agent, 'disconnect')
    await agent.close()
    await gone
  })
})

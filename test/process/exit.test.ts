import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import type { Http2Session } from 'node:http2'
import type { AddressInfo, Socket } from 'node:net'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { frames } from '../../src/testing/frames.ts'
import { runNode } from '../support/clients/child.ts'
import { NO_ERROR, REFUSED_STREAM } from '../support/peers/error-codes.ts'
import { SERVE, startPeer } from '../support/peers/peer-rig.ts'
import { DnsServer } from '../support/servers/dns-server.ts'
import { serveHello, startServer } from '../support/servers/server.ts'

const children = new URL('./children/', import.meta.url)
const CHILDREN = [
  'close',
  'closing',
  'discovery',
  'idle',
  'import',
  'pending',
  'refused',
  'unconnected',
  'unread',
  'waiting',
]
let folder = ''

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dodici-children-'))
  await build({
    entryPoints: CHILDREN.map((name) => fileURLToPath(new URL(`${name}.ts`, children))),
    outdir: folder,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    // What is imported late stays a file of its own, and isn't run before.
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
  })
})

afterAll(() => rm(folder, { recursive: true, force: true }))

/** The lines that a child reported, once it has ended by itself and without an error output. */
async function runChild(name: string, ...args: string[]): Promise<Record<string, unknown>[]> {
  const { code, signal, stdout, stderr } = await runNode(join(folder, `${name}.mjs`), ...args)
  expect(stderr).toBe('')
  expect([code, signal]).toEqual([0, null])
  return stdout.trimEnd().split('\n').map(toFacts)
}

function toFacts(line: string): Record<string, unknown> {
  const facts: unknown = JSON.parse(line)
  if (typeof facts !== 'object' || facts === null) throw new Error(`The child reported ${line}`)
  return { ...facts }
}

/** Settles after some round trips to the client, in which its event loop has turned as often. */
async function roundTrips(session: Http2Session | undefined): Promise<void> {
  for (let trip = 0; trip < 3; trip++) {
    await new Promise<void>((resolve, reject) => {
      session?.ping((error) => (error === null ? resolve() : reject(error)))
    })
  }
}

describe('a process', () => {
  describe.each([
    { protocol: 'h2c', tls: false },
    { protocol: 'h2 over TLS', tls: true },
  ])('with a client over $protocol', ({ tls }) => {
    it('that has closed its client after its requests holds no resource of it, and ends by itself', async () => {
      const { origin, ca, sessions } = await startServer(serveHello, { tls })
      const [facts = {}] = await runChild('close', origin, ca)
      expect(facts).toMatchObject({ bodies: Array(21).fill('hello'), timersLeft: 0 })
      const { before, during, after, timersMade } = facts
      // Otherwise there was nothing to let go of.
      expect(timersMade).toBeGreaterThan(0)
      expect(during).toContain('TCPSocketWrap')
      expect(before).not.toContain('TCPSocketWrap')
      expect(after).toEqual(before)
      expect(sessions).toHaveLength(1)
    })

    it('whose connection is idle and was never closed ends by itself', async () => {
      const { origin, ca, sessions } = await startServer(serveHello, { tls })
      expect(await runChild('idle', origin, ca)).toEqual([{ text: 'hello', connected: true }])
      expect(sessions).toHaveLength(1)
    })

    it('whose request waits for its response stays until that is complete', async () => {
      const { origin, ca, sessions } = await startServer(
        async (stream) => {
          await roundTrips(stream.session)
          stream.respond({ ':status': 200 })
          stream.write('first, ')
          await roundTrips(stream.session)
          stream.end('last')
        },
        { tls },
      )
      const response = [{ statusCode: 200 }, { text: 'first, last' }]
      expect(await runChild('pending', origin, ca)).toEqual([...response, ...response])
      expect(sessions).toHaveLength(1)
    })
  })

  describe('whose upstreams are named by a source', () => {
    it('ends by itself, used or not', async () => {
      const { origin } = await startServer(serveHello)
      expect(await runChild('discovery', 'used', origin)).toEqual([{ text: 'hello' }])
      expect(await runChild('discovery', 'unused')).toEqual([{ isMade: true }])
    })

    it('stays while a request waits for the first answer', async () => {
      expect(await runChild('discovery', 'waiting')).toEqual([{ name: 'ConnectTimeoutError' }])
    })

    it.each([
      'closed',
      'destroyed',
    ])('whose questions aren’t answered ends when the UpstreamPool is %s', async (how) => {
      const silent = await DnsServer.start()
      for (const type of ['A', 'AAAA'] as const) silent.set('api.test', type, 'drop')
      expect(await runChild('discovery', how, silent.address)).toEqual([{ isMade: true }])
    })
  })

  describe.each(['node', 'wire'])('with a response that is not read, on engine %s', (engine) => {
    const SIZE = 500_000

    it.each([
      ['fetch', []],
      ['request', []],
      ['another', [{ text: 'small' }]],
      ['late', [{ size: SIZE }]],
      // Not before close() has destroyed what is left.
      ['closed', [{ isClosed: true }]],
    ])('ends by itself: %s', async (mode, reports) => {
      const { origin } = await startServer((stream, headers) => {
        stream.respond({ ':status': 200 })
        // Behind round trips, so that the process has time to end before.
        if (headers[':path'] === '/small') void roundTrips(stream.session).then(() => stream.end('small'))
        else stream.end(Buffer.alloc(SIZE))
      })
      expect(await runChild('unread', mode, origin, engine)).toEqual([...reports, { isThere: true }])
    })
  })

  describe('whose server allows no stream for now', () => {
    /** Permits no stream after the first request; `reopen` is called when that one has got its response. */
    function startDoor(reopen: (session: Http2Session | undefined) => Promise<void>) {
      let isFirst = true
      return startServer((stream, headers) => {
        if (!isFirst) return serveHello(stream, headers)
        isFirst = false
        stream.session?.settings({ maxConcurrentStreams: 0 }, async () => {
          serveHello(stream, headers)
          await reopen(stream.session)
        })
      })
    }

    it('stays while a request waits for room', async () => {
      const { origin } = await startDoor(async (session) => {
        await roundTrips(session)
        session?.settings({ maxConcurrentStreams: 1 })
      })
      expect(await runChild('waiting', origin, 'served')).toEqual([
        { pending: 1, running: 0 },
        { text: 'hello' },
      ])
    })

    it('ends when the request that waits is aborted', async () => {
      const { origin } = await startDoor(async () => {})
      const heard = [{ pending: 1, running: 0 }, { name: 'AbortError' }]
      expect(await runChild('waiting', origin, 'aborted')).toEqual(heard)
    })
  })

  describe('whose request waits for a connection', () => {
    /** Listens until the test ends. */
    async function listen(onSocket: (socket: Socket) => void): Promise<number> {
      const sockets: Socket[] = []
      const server = createServer((socket) => {
        sockets.push(socket)
        socket.on('error', () => {})
        onSocket(socket)
      })
      server.listen(0, '127.0.0.1')
      await once(server, 'listening')
      onTestFinished(() => {
        for (const socket of sockets) socket.destroy()
        server.close()
      })
      return (server.address() as AddressInfo).port
    }

    it('stays until connectTimeout, although the connector holds nothing', async () => {
      const heard = await runChild('unconnected', 'silent connector')
      expect(heard).toEqual([{ name: 'ConnectTimeoutError' }])
    })

    it.each([
      'held by nothing',
      'held by HTTP/1.1',
      'held in memory',
    ])('stays until it is aborted: %s', async (mode) => {
      const heard = await runChild('unconnected', mode)
      expect(heard).toEqual([{ name: 'AbortError' }])
    })

    it('stays while it backs off', async () => {
      let connections = 0
      const port = await listen((socket) => {
        connections++
        // It retires each connection unused, and closes it.
        socket.end(Buffer.concat([frames.settings(), frames.goAway(0, NO_ERROR)]))
        socket.resume()
      })
      const [facts] = await runChild('unconnected', 'lost again and again', `http://127.0.0.1:${port}`)
      expect(facts?.name).toMatch(/^(?:Stream|Socket)Error$/)
      // From the third on there is a pause before each, in which there is no socket at all.
      expect(connections).toBe(4)
    })

    it('ends when it is aborted in the middle of a handshake', async () => {
      let begun = (): void => {}
      const handshake = new Promise<void>((resolve) => {
        begun = resolve
      })
      const port = await listen((socket) => socket.once('data', () => begun()))
      const witness = await startServer(async (stream) => {
        await handshake
        stream.respond({ ':status': 204 }, { endStream: true })
      })
      const heard = await runChild('unconnected', 'aborted', `https://127.0.0.1:${port}`, witness.origin)
      expect(heard).toEqual([{ name: 'AbortError' }])
    })
  })

  describe('whose request is refused', () => {
    it('stays while it waits before it is sent again', async () => {
      const peer = await startPeer({ onComplete: (stream) => stream.reset(REFUSED_STREAM) })
      const heard = await runChild('refused', 'settled', peer.origin)
      expect(heard).toEqual([{ name: 'StreamError', attempts: 4 }])
      expect(peer.ledger).toEqual([1, 3, 5, 7].map((id) => `0/${id} GET /`))
    })

    it('holds nothing once the waiting request is aborted', async () => {
      const peer = await startPeer({ onComplete: (stream) => stream.reset(REFUSED_STREAM) })
      const heard = await runChild('refused', 'aborted', peer.origin)
      expect(heard[0]).toEqual({ pending: 1, left: 0, isStaying: false })
      expect(heard[1]).toMatchObject({ name: 'AbortError' })
      expect(peer.ledger).toEqual(['0/1 GET /', '0/3 GET /'])
    })
  })

  describe('whose peer does not close its side of an idle connection', () => {
    it('ends without waiting for it when the idle time is over', async () => {
      const peer = await startPeer({ ...SERVE, staysHalfOpen: true })
      // The connection is still open: the process hasn't waited for its end.
      expect(await runChild('closing', 'timeout', peer.origin)).toEqual([{ sessions: ['draining'] }])
    })

    it.each([
      'owner',
      'timeout, then owner',
      'owner, before a tunnel has ended',
    ])('stays until it is gone if close() was called with a waiting caller: by %s', async (mode) => {
      const peer = await startPeer({
        staysHalfOpen: true,
        onRequest: (stream) => stream.method === 'CONNECT' && stream.head(200),
        onComplete: (stream) => (stream.method === 'CONNECT' ? stream.end() : stream.respond()),
      })
      expect(await runChild('closing', mode, peer.origin)).toEqual([{ isClosed: true }, { sessions: [] }])
    })
  })

  describe('that imports the package', () => {
    it('finds no global added, no handle open, no listener on the process, and no dispatcher of undici set', async () => {
      const [facts = {}] = await runChild('import', 'dispatchers')
      expect(facts).toMatchObject({ watched: 2, changed: [], dispatchers: [] })
      const { exports, ...rest } = facts
      expect(exports).toContain('Client')
      expect(rest.keysBefore).toContain('fetch')
      expect(rest.keysAfter).toEqual(rest.keysBefore)
      expect(rest.resourcesAfter).toEqual(rest.resourcesBefore)
      expect(rest.listenersAfter).toEqual(rest.listenersBefore)
    })

    it('finds no module of Node loaded that takes milliseconds, and that not every program needs', async () => {
      const [facts = {}] = await runChild('import', 'dispatchers')
      const late = ['http2', 'http', 'https', 'tls', 'crypto', 'zlib', 'stream/web', 'dns']
      const loaded = new Set(facts.loaded as string[])
      // Otherwise the list has other names on this Node.
      expect(loaded).toContain('NativeModule net')
      expect(late.filter((name) => loaded.has(`NativeModule ${name}`))).toEqual([])
    })

    it('finds no global replaced', async () => {
      const [facts = {}] = await runChild('import', 'all')
      expect(facts).toMatchObject({ exports: expect.arrayContaining(['Client']), changed: [] })
      expect(facts.watched).toBeGreaterThan(50)
    })
  })
})

import { once } from 'node:events'
import type { ServerHttp2Stream } from 'node:http2'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { finished } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { Agent, Client, errors } from '../../src/index.ts'
import { Flag, Setting, Type } from '../../src/testing/frames.ts'
import type { ClientOptions } from '../../types/index.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import { ENGINES } from '../support/clients/engines.ts'
import { Recorder } from '../support/clients/recorder.ts'
import { NO_ERROR } from '../support/peers/error-codes.ts'
import { startPeer } from '../support/peers/peer-rig.ts'
import { startServer } from '../support/servers/server.ts'

const TARGET = { path: 'example.test:443' } as const
const GET = { path: '/', method: 'GET' } as const
const POST = { path: '/', method: 'POST' } as const

/** The tunnel's `error` and `close`, as promises. An error that the test doesn't await must not end the process. */
function watch(tunnel: Duplex): { readonly errors: Error[]; readonly closed: Promise<void> } {
  const heard: Error[] = []
  tunnel.on('error', (error) => heard.push(error))
  return { errors: heard, closed: new Promise((resolve) => tunnel.on('close', resolve)) }
}

/** Writes, or ends with, more than has room on the way; settles with what the callback is told. */
function send(tunnel: Duplex, verb: 'write' | 'end'): Promise<unknown> {
  const bytes = Buffer.alloc(100_000)
  return new Promise((resolve) => {
    if (verb === 'write') tunnel.write(bytes, resolve)
    // The types of end() leave the error out.
    else tunnel.end(bytes, ((error?: Error) => resolve(error)) as () => void)
  })
}

describe.each(ENGINES)('on engine %s', (engine) => {
  function toClient(origin: string, options: ClientOptions = {}): Client {
    const client = destroyWithTest(new Client(origin, { engine, ...options }))
    return client
  }

  function toAgent(): Agent {
    const agent = destroyWithTest(new Agent({ engine, h2c: true }))
    return agent
  }

  describe('when both sides end and nobody reads', () => {
    /** The server's side of a tunnel, and ours. */
    async function open(content: string) {
      const accepted: ServerHttp2Stream[] = []
      const server = await startServer((stream) => {
        accepted.push(stream.on('error', () => {}))
        stream.resume()
        stream.respond({ ':status': 200 })
        if (content !== '') stream.write(content)
      })
      const { socket } = await toClient(server.origin).connect(TARGET)
      return { tunnel: socket, stream: accepted[0] as ServerHttp2Stream }
    }

    const orders: readonly (readonly [string, (tunnel: Duplex, stream: ServerHttp2Stream) => unknown])[] = [
      [
        'we end first',
        async (tunnel, stream) => {
          tunnel.end()
          await once(stream, 'end')
          stream.end()
        },
      ],
      [
        'the server ends first',
        async (tunnel, stream) => {
          stream.end()
          while (!tunnel.readableEnded && stream.writableFinished === false) await setImmediate()
          tunnel.end()
        },
      ],
      [
        'both at once',
        (tunnel, stream) => {
          tunnel.end()
          stream.end()
        },
      ],
    ]

    it.each(orders)('without data, the tunnel closes: %s', async (_what, end) => {
      const { tunnel, stream } = await open('')
      const { errors: heard, closed } = watch(tunnel)
      await end(tunnel, stream)
      await closed
      expect([heard, tunnel.readableEnded, tunnel.writableFinished]).toEqual([[], true, true])
    })

    it.each(
      orders,
    )('with data, it stays for a reader, and closes when that has read: %s', async (_what, end) => {
      const { tunnel, stream } = await open('unread')
      const { errors: heard, closed } = watch(tunnel)
      await end(tunnel, stream)
      while (!stream.destroyed) await setImmediate()
      await setImmediate()
      expect(tunnel.destroyed).toBe(false)
      const pieces: Buffer[] = []
      for await (const piece of tunnel) pieces.push(piece)
      await closed
      expect(Buffer.concat(pieces).toString()).toBe('unread')
      expect(heard).toEqual([])
    })
  })

  /** A server that takes every tunnel and reads nothing of it: few bytes of ours have room on the way. */
  async function startHolding() {
    const sockets: Socket[] = []
    const streams: ServerHttp2Stream[] = []
    const server = await startServer(
      (stream) => {
        streams.push(stream)
        stream.pause()
        stream.respond({ ':status': 200 })
      },
      { settings: { initialWindowSize: 1_000 } },
    )
    server.server.on('connection', (socket: Socket) => sockets.push(socket))
    return { server, sockets, streams }
  }

  describe('destroy() after close(), with a tunnel open', () => {
    it('ends the tunnel of a Client, and both settle', async () => {
      const { server } = await startHolding()
      const client = toClient(server.origin)
      const { socket } = await client.connect(TARGET)
      const { errors: heard, closed } = watch(socket)
      const closing = client.close()
      // No call is left: it is the tunnel that close() waits for.
      while (!client.destroyed) await setImmediate()
      expect(socket.destroyed).toBe(false)
      const mine = new Error('mine')
      await client.destroy(mine)
      await closing
      await closed
      expect(heard).toEqual([mine])
    })

    it('ends the tunnel of an Agent, and both settle', async () => {
      const { server } = await startHolding()
      const agent = toAgent()
      const { socket } = await agent.connect({ ...TARGET, origin: server.origin })
      const { closed } = watch(socket)
      const closing = agent.close()
      // By now its client is at the same point.
      await setImmediate()
      expect(socket.destroyed).toBe(false)
      await agent.destroy()
      await closing
      await closed
    })

    it('by an Agent ends the tunnel of a client that it has dropped, too', async () => {
      const { server } = await startHolding()
      const agent = toAgent()
      const { origin } = server
      const { socket } = await agent.connect({ ...TARGET, origin })
      const { closed } = watch(socket)
      const [session] = server.sessions
      session?.goaway(NO_ERROR)
      await new Promise((resolve) => session?.ping(resolve))
      server.server.close()
      // With the session retired and no other to be had, the agent keeps the client no longer.
      await expect(agent.request({ ...GET, origin })).rejects.toMatchObject({ code: 'ECONNREFUSED' })
      expect(socket.destroyed).toBe(false)
      await agent.destroy()
      expect(socket.destroyed).toBe(true)
      await closed
    })
  })

  describe('a web stream that its owner locks while the call is queued', () => {
    async function startQueued() {
      const server = await startServer((stream) => stream.respond({ ':status': 200 }))
      const client = toClient(server.origin, { maxConcurrentStreams: 1 })
      const { body: first } = await client.request(GET)
      first.on('error', () => {})
      const body = new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(10)) })
      const locked = new Recorder()
      const others = [new Recorder(), new Recorder()]
      client.dispatch({ ...POST, body }, locked)
      for (const other of others) client.dispatch(GET, other)
      body.getReader()
      return { client, locked, others }
    }

    it('lets abort() end the call, and the others continue to wait', async () => {
      const { client, locked, others } = await startQueued()
      const mine = new Error('mine')
      locked.controller?.abort(mine)
      await locked.settled
      expect(locked.error).toBe(mine)
      expect(client.stats).toMatchObject({ pending: 2, running: 1 })
      for (const { errors: heard } of others) expect(heard).toEqual([])
    })

    it('lets destroy() end every call, and settle', async () => {
      const { client, locked, others } = await startQueued()
      await client.destroy()
      for (const { events, error } of [locked, ...others]) {
        expect(events).toEqual(['start', 'error'])
        expect(error).toBeInstanceOf(errors.ClientDestroyedError)
      }
      expect(client.stats).toMatchObject({ pending: 0, running: 0 })
    })
  })

  it('a tunnel that the peer and then the client have ended is not reset while an upload shares the connection', async () => {
    const peer = await startPeer({
      settings: [[Setting.INITIAL_WINDOW_SIZE, 1_000_000_000]],
      grantsCredit: false,
      onRequest(stream) {
        stream.head(200)
        if (stream.id % 4 === 3) stream.end('bye')
      },
      onFrame({ type, payload }, connection) {
        // Bit by bit, so that the upload is always at it.
        if (type === Type.DATA && payload.length > 0) {
          setImmediate().then(() => connection.grant(0, payload.length))
        }
      },
    })
    const client = toClient(peer.origin)
    for (const streamId of [3, 7, 11, 15]) {
      const upload = new Recorder()
      client.dispatch({ ...POST, body: Buffer.alloc(1_000_000) }, upload)
      const { socket } = await client.connect(TARGET)
      const { errors: heard, closed } = watch(socket)
      await once(socket.resume(), 'end')
      socket.end('last words')
      await closed
      expect(heard).toEqual([])
      const connection = peer.connection(0)
      const isEnded = () => connection.of(Type.DATA, streamId).at(-1)?.flags === Flag.END_STREAM
      await expect.poll(isEnded).toBe(true)
      const words = connection.of(Type.DATA, streamId).map(({ payload }) => payload)
      expect(Buffer.concat(words).toString()).toBe('last words')
      await connection.ping()
      expect(connection.of(Type.RST_STREAM, streamId)).toEqual([])
    }
    expect(peer.connections).toHaveLength(1)
  })

  describe.each([
    { what: 'and we have read it all', isRead: true },
    { what: 'and we have read nothing', isRead: false },
  ])('a tunnel whose peer has ended its half, $what,', ({ isRead }) => {
    async function openHalf() {
      const { server, sockets, streams } = await startHolding()
      const client = toClient(server.origin)
      const { socket } = await client.connect(TARGET)
      const [connection] = sockets
      const [far] = streams
      if (connection === undefined || far === undefined) throw new Error('There is no tunnel')
      const watched = watch(socket)
      far.end('bye')
      if (isRead) await once(socket.resume(), 'end')
      else await new Promise((resolve) => far.session?.ping(resolve))
      const outcome = new Promise((resolve) => finished(socket, resolve))
      return { socket, connection, far, outcome, ...watched }
    }

    it('fails when its session dies, with no data in flight', async () => {
      const { socket, connection, errors: heard, closed } = await openHalf()
      connection.destroy()
      await closed
      expect(heard).toHaveLength(1)
      expect(heard[0]).toBeInstanceOf(errors.SocketError)
      expect(await send(socket, 'write')).toMatchObject({ code: 'ERR_STREAM_DESTROYED' })
    })

    it.each(['write', 'end'] as const)('tells the callback of %s() when its session dies', async (verb) => {
      const { socket, connection, errors: heard, closed, outcome } = await openHalf()
      const told = send(socket, verb)
      connection.destroy()
      await closed
      const [error] = heard
      expect(heard).toHaveLength(1)
      expect(error).toBeInstanceOf(errors.SocketError)
      expect(await told).toBe(error)
      expect(await outcome).toBe(error)
    })

    it.each([
      'write',
      'end',
    ] as const)('tells the callback of %s() when the peer resets it with NO_ERROR', async (verb) => {
      const { socket, far, errors: heard, closed, outcome } = await openHalf()
      const told = send(socket, verb)
      far.close(0)
      far.destroy()
      await closed
      const [error] = heard
      expect(heard).toHaveLength(1)
      expect(error).toMatchObject({ name: 'StreamError', http2ErrorCode: 0, processed: 'yes' })
      expect(await told).toBe(error)
      expect(await outcome).toBe(error)
    })
  })
})

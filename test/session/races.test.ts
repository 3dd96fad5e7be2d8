import { EventEmitter, once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import type { Socket } from 'node:net'
import { createConnection } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Duplex, Readable } from 'node:stream'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { errors } from '../../src/index.ts'
import { StreamTable } from '../../src/protocol/stream-table.ts'
import type { FaultServer } from '../../src/testing/fault-server.ts'
import type { ClientOptions, Connector, ConnectorCallback } from '../../types/index.ts'
import { ENGINES, Harness } from '../support/clients/engines.ts'
import { Recorder } from '../support/clients/recorder.ts'
import { FakeClock } from '../support/clocks/fake-clock.ts'
import { DEAF, startPeer } from '../support/peers/peer-rig.ts'
import type { TestServer } from '../support/servers/server.ts'
import { serveHello, startServer } from '../support/servers/server.ts'

async function useUpNodeIds(harness: Harness): Promise<void> {
  const emit = vi.spyOn(EventEmitter.prototype, 'emit')
  await harness.dispatch().settled
  // The server's session hears SETTINGS too.
  const session: unknown = emit.mock.contexts.find(
    (context: unknown) => Object(context).constructor.name === 'ClientHttp2Session',
  )
  emit.mockRestore()
  Reflect.apply(Reflect.get(Object(session), 'setNextStreamID'), session, [2 ** 31 - 1])
}

/**
 * A thousand million streams would take too long: the first connection's table reports that the next id is its last.
 */
async function useUpWireIds(harness: Harness): Promise<void> {
  await harness.dispatch().settled
  const add = vi.spyOn(StreamTable.prototype, 'add')
  const hasIds = vi.spyOn(StreamTable.prototype, 'hasIds', 'get')
  hasIds.mockImplementation(function (this: StreamTable) {
    return this !== add.mock.contexts[0]
  })
  onTestFinished(() => {
    add.mockRestore()
    hasIds.mockRestore()
  })
}

describe.each(ENGINES)('on engine %s', (engine) => {
  function start(server: TestServer, options: ClientOptions = {}, clock?: FakeClock): Harness {
    const harness = new Harness(server.origin, { engine, ...options }, clock)
    onTestFinished(() => harness.scheduler.destroy(null))
    return harness
  }

  it('a call whose handler destroys everything in onRequestStart fails, and nothing is dialled', async () => {
    const server = await startServer(serveHello)
    const harness = start(server)
    const recorder = new Recorder()
    const torn: Promise<void>[] = []
    recorder.onRequestStart = () => void torn.push(harness.scheduler.destroy(null))
    harness.dispatch({}, recorder)
    expect(recorder.error).toBeInstanceOf(errors.ClientDestroyedError)
    await Promise.all(torn)
    expect(server.sessions).toHaveLength(0)
    expect(harness.scheduler.running).toBe(0)
  })

  it('calls that end together fail in the order of dispatch, also when some of them have ended before', async () => {
    const server = await startServer((stream, headers) => {
      if (headers[':path'] === '/2') serveHello(stream, headers)
    })
    const harness = start(server)
    const calls = [1, 2, 3, 4, 5].map((n) => harness.dispatch({ path: `/${n}` }))
    await calls[1]?.settled
    const order: number[] = []
    const ends = calls.map((call, index) => call.settled.then(() => order.push(index + 1)))
    await harness.scheduler.destroy(null)
    await Promise.all(ends)
    // The second had its response before this test listened.
    expect(order).toEqual([2, 1, 3, 4, 5])
  })

  it('when the queue empties by failure or abort › drain is emitted', async () => {
    const server = await startServer(serveHello)
    server.server.close()
    await once(server.server, 'close')
    const harness = start(server)
    await harness.dispatch().settled
    await expect.poll(() => harness.events).toContain('drain')
    const aborted = start(server)
    aborted.dispatch().controller?.abort()
    await expect.poll(() => aborted.events).toContain('drain')
  })

  it('a body that breaks after its end has no effect on the call', async () => {
    let response = () => {}
    const server = await startServer((stream) => {
      stream.resume()
      response = () => serveHello(stream, {})
      stream.on('end', () => body.destroy(new Error('too late')))
    })
    const body = new Duplex({ read() {}, write() {}, autoDestroy: false })
    body.push('all of it')
    body.push(null)
    const closed = once(body, 'close').catch(() => {})
    const call = start(server).dispatch({ method: 'POST', body })
    await closed
    response()
    await call.settled
    expect(call.text).toBe('hello')
  })

  it("a connector's own error reaches each call unchanged", async () => {
    class Mine extends errors.DodiciError {
      constructor(readonly extra: { readonly size: number }) {
        super(`size ${extra.size}`)
      }
    }
    const mine = new Mine({ size: 42 })
    const harness = new Harness('http://localhost', { engine, connect: () => Promise.reject(mine) })
    const calls = [harness.dispatch(), harness.dispatch()]
    await Promise.all(calls.map((call) => call.settled))
    for (const { error } of calls) expect(error).toBe(mine)
    await harness.scheduler.destroy(null)
  })

  it('the certificate of an https origin over a unix socket is checked against its own name, also when that is an address', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'dodici-identity-'))
    onTestFinished(() => rm(folder, { recursive: true, force: true }))
    const socketPath = join(folder, 'socket')
    const { ca } = await startServer(serveHello, { tls: true, path: socketPath })
    const ask = async (origin: string): Promise<Recorder> => {
      const harness = new Harness(origin, { engine, connect: { ca }, socketPath })
      onTestFinished(() => harness.scheduler.destroy(null))
      const call = harness.dispatch()
      await call.settled
      return call
    }
    // The certificate is for localhost and 127.0.0.1.
    expect((await ask('https://127.0.0.1')).text).toBe('hello')
    expect((await ask('https://10.1.2.3')).error).toMatchObject({ code: 'ERR_TLS_CERT_ALTNAME_INVALID' })
  })

  it('an async connector may call back', async () => {
    const server = await startServer(serveHello)
    const { port } = new URL(server.origin)
    const connect: ClientOptions['connect'] = (async (_options: unknown, callback: ConnectorCallback) => {
      const socket = createConnection(Number(port), '127.0.0.1')
      await once(socket, 'connect')
      callback(null, socket)
    }) as unknown as Connector
    const call = start(server, { connect }).dispatch()
    await call.settled
    expect(call.text).toBe('hello')
  })

  it('uploads that can not be repeated wait for the limit of the peer, and none is refused', async () => {
    const server = await startServer(serveHello, { settings: { maxConcurrentStreams: 1 } })
    const harness = start(server)
    const calls = Array.from({ length: 5 }, (_, i) =>
      harness.dispatch({ method: 'POST', body: Readable.from([`body ${i}`]) }),
    )
    await Promise.all(calls.map((call) => call.settled))
    expect(calls.map((call) => call.text)).toEqual(Array(5).fill('hello'))
    expect(server.sessions).toHaveLength(1)
  })

  it('a session whose stream ids are used up is replaced by another', async () => {
    const server = await startServer(serveHello)
    const harness = start(server)
    if (engine === 'node') await useUpNodeIds(harness)
    else await useUpWireIds(harness)
    const calls = [harness.dispatch(), harness.dispatch(), harness.dispatch()]
    await Promise.all(calls.map((call) => call.settled))
    expect(calls.map((call) => call.text)).toEqual(Array(3).fill('hello'))
    expect(server.sessions).toHaveLength(2)
  })

  it('a failed connection gives each waiting call an error of its own', async () => {
    const server = await startServer(serveHello)
    server.server.close()
    await once(server.server, 'close')
    const harness = start(server)
    const calls = [harness.dispatch(), harness.dispatch()]
    await Promise.all(calls.map((call) => call.settled))
    expect(calls[0]?.error).not.toBe(calls[1]?.error)
    for (const { error } of calls) expect(error).toMatchObject({ code: 'ECONNREFUSED', name: 'ConnectError' })
  })

  it('a connector that yields no real socket fails the call', async () => {
    const connect = async () => ({ destroy() {}, write() {}, on() {}, once() {} }) as unknown as Socket
    const harness = new Harness('http://localhost', { engine, connect })
    const call = harness.dispatch()
    await call.settled
    expect(call.error).toMatchObject({ processed: 'no', attempts: 0 })
    await harness.scheduler.destroy(null)
  })

  describe('a peer that keeps its side open', () => {
    async function startDeaf(): Promise<{ harness: Harness; clock: FakeClock; peer: FaultServer }> {
      const clock = new FakeClock()
      const peer = await startPeer(DEAF)
      const harness = new Harness(peer.origin, { engine }, clock)
      harness.dispatch().controller?.abort()
      harness.dispatch().controller?.abort()
      await expect.poll(() => harness.connections).toEqual(['connect'])
      onTestFinished(() => harness.scheduler.destroy(null))
      return { harness, clock, peer }
    }

    it('and retires the idle session by GOAWAY is disconnected after a while', async () => {
      const { harness, clock, peer } = await startDeaf()
      const connection = peer.connection(0)
      connection.goAway({ lastStreamId: 0, code: 0 })
      await peer.waitFor(() => connection.hasEnded)
      expect(harness.connections).toEqual(['connect'])
      clock.advance(1_000)
      await expect.poll(() => harness.connections).toEqual(['connect', 'disconnect'])
    })

    it('does not hold up a destroy while the session drains', async () => {
      const { harness, peer } = await startDeaf()
      const connection = peer.connection(0)
      connection.goAway({ lastStreamId: 0, code: 0 })
      await peer.waitFor(() => connection.hasEnded)
      // The clock stands still: no linger can end it.
      await harness.scheduler.destroy(new Error('enough'))
      expect(harness.connections).toEqual(['connect', 'disconnect'])
    })
  })

  describe('an upload', () => {
    it('that makes progress delays headersTimeout', async () => {
      const clock = new FakeClock()
      const received = new EventEmitter()
      const server = await startServer((stream) => {
        stream.on('data', () => received.emit('data'))
        stream.on('end', () => serveHello(stream, {}))
      })
      const body = new Readable({ read() {} })
      const call = start(server, {}, clock).dispatch({ method: 'POST', body, headersTimeout: 5_000 })
      for (let i = 0; i < 4; i++) {
        const arrived = once(received, 'data')
        body.push('piece')
        await arrived
        clock.advance(4_000)
        expect(call.errors).toEqual([])
      }
      body.push(null)
      await call.settled
      expect(call.text).toBe('hello')
    })

    it('whose source was paused by its maker flows', async () => {
      const server = await startServer((stream) => {
        stream.respond({ ':status': 200 })
        stream.pipe(stream)
      })
      const body = Readable.from(['one ', 'two']).pause()
      const call = start(server).dispatch({ method: 'POST', body })
      await call.settled
      expect(call.text).toBe('one two')
    })

    it('whose source breaks while the call is queued fails at once, unsent', async () => {
      const server = await startServer(serveHello)
      const body = new Readable({ read() {} })
      const harness = start(server)
      const call = harness.dispatch({ method: 'POST', body })
      const broken = new Error('broken')
      body.destroy(broken)
      await call.settled
      expect(call.error).toBe(broken)
      const next = harness.dispatch()
      await next.settled
      expect(next.text).toBe('hello')
    })

    it('of a large Buffer arrives whole, in pieces', async () => {
      const server = await startServer((stream) => {
        let length = 0
        stream.on('data', (chunk: Buffer) => {
          length += chunk.length
        })
        stream.on('end', () => {
          stream.respond({ ':status': 200 })
          stream.end(String(length))
        })
      })
      const call = start(server).dispatch({ method: 'POST', body: Buffer.alloc(3_000_001) })
      await call.settled
      expect(call.text).toBe('3000001')
    })
  })
})

import { EventEmitter, once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Duplex, Readable } from 'node:stream'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { StreamTable } from '../../src/protocol/stream-table.ts'
import type { FaultServer } from '../../src/testing/fault-server.ts'
import type { ClientOptions } from '../../types/index.ts'
import { ENGINES, Harness } from '../support/clients/engines.ts'
import type { Recorder } from '../support/clients/recorder.ts'
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
  })
})

import { describe, expect, it } from 'vitest'
import { errors } from '../../src/index.ts'
import type { ConnectionScript } from '../../src/testing/fault-connection.ts'
import type { FaultServer } from '../../src/testing/fault-server.ts'
import { Setting } from '../../src/testing/frames.ts'
import type { PoolOptions } from '../../types/index.ts'
import type { Harness } from '../support/clients/engines.ts'
import { ENGINES } from '../support/clients/engines.ts'
import type { Recorder } from '../support/clients/recorder.ts'
import { FakeClock } from '../support/clocks/fake-clock.ts'
import { REFUSED_STREAM } from '../support/peers/error-codes.ts'
import { ask, SERVE, startHarness, startPeer, toOutcomes } from '../support/peers/peer-rig.ts'

const { MAX_CONCURRENT_STREAMS, HEADER_TABLE_SIZE, ENABLE_CONNECT_PROTOCOL } = Setting

describe.each(ENGINES)('a peer that changes its SETTINGS, on engine %s', (engine) => {
  describe.each([{ connections: 1 }, { connections: 4 }])('with connections: $connections', ({
    connections,
  }) => {
    const options: PoolOptions = { engine, connections }

    /** Serves `/warm`, and holds everything else; the limit is known, and so are its SETTINGS. */
    async function begin(limit: number, clock?: FakeClock) {
      const script: ConnectionScript = {
        settings: [[MAX_CONCURRENT_STREAMS, limit]],
        onComplete: (stream) => stream.path === '/warm' && stream.respond(),
      }
      const peer = await startPeer(script)
      const harness = startHarness(peer, options, clock)
      await ask(harness, 'GET /warm').settled
      const connection = peer.connection(0)
      await connection.ping()
      return { peer, harness, connection }
    }

    const askMany = (harness: Harness, count: number, from = 0): Recorder[] =>
      Array.from({ length: count }, (_, i) => ask(harness, `${i % 2 === 0 ? 'GET' : 'POST'} /${from + i}`))

    /** Responses what is open, until so many were. */
    async function serve(peer: FaultServer, count: number): Promise<void> {
      for (let served = 0; served < count; served++) {
        await peer.waitFor(() => peer.requests.some(({ isOpen, isComplete }) => isOpen && isComplete))
        peer.requests.find(({ isOpen, isComplete }) => isOpen && isComplete)?.respond()
      }
    }

    it('lowers its limit to 0: running calls finish, waiting calls are bounded by queueTimeout, no connection is opened', async () => {
      const clock = new FakeClock()
      const { peer, harness, connection } = await begin(2, clock)
      const running = askMany(harness, 2)
      await peer.waitFor(() => peer.requests.length === 3)
      await connection.settings([MAX_CONCURRENT_STREAMS, 0])
      const late = ask(harness, 'GET /late', { queueTimeout: 5_000 })
      const patient = ask(harness, 'POST /patient', { queueTimeout: 60_000 })
      await serve(peer, 2)
      expect(await toOutcomes(running)).toEqual(['GET /0', 'POST /1'])
      await connection.ping()
      expect(connection.open).toBe(0)
      clock.advance(4_999)
      expect(late.errors).toEqual([])
      clock.advance(101)
      expect(late.error).toBeInstanceOf(errors.QueueTimeoutError)
      expect(late.error).toMatchObject({ processed: 'no', attempts: 0, streamId: null })
      expect(patient.errors).toEqual([])
      await connection.settings([MAX_CONCURRENT_STREAMS, 1])
      await serve(peer, 1)
      expect(await toOutcomes([patient])).toEqual(['POST /patient'])
      expect(peer.connections).toHaveLength(1)
      expect(peer.counts).toEqual({ 'GET /warm': 1, 'GET /0': 1, 'POST /1': 1, 'POST /patient': 1 })
    })

    it('begins with a limit of 0: the call that was sent before is refused, and served when there is room', async () => {
      const clock = new FakeClock()
      const script: ConnectionScript = {
        settings: [[MAX_CONCURRENT_STREAMS, 0]],
        onComplete: (stream) => (isOpen ? stream.respond() : stream.reset(REFUSED_STREAM)),
      }
      let isOpen = false
      const peer = await startPeer(script)
      const harness = startHarness(peer, options, clock)
      const calls = [ask(harness, 'GET /0'), ask(harness, 'POST /1')]
      await peer.waitFor(() => peer.requests.length === 2)
      await peer.connection(0).ping()
      expect(harness.scheduler.pending).toBe(2)
      expect(peer.requests).toHaveLength(2)
      isOpen = true
      await peer.connection(0).settings([MAX_CONCURRENT_STREAMS, 2])
      expect(await toOutcomes(calls)).toEqual(['GET /0', 'POST /1'])
      expect(peer.ledger.slice(2)).toEqual(['0/5 GET /0', '0/7 POST /1'])
      expect(peer.connections).toHaveLength(1)
    })
  })

  const options: PoolOptions = { engine, connections: 1 }

  it('raises its limit, and lowers it: open streams stay within the limit, and none is refused', async () => {
    const peer = await startPeer({
      settings: [[MAX_CONCURRENT_STREAMS, 2]],
      onComplete: (stream) => stream.path === '/warm' && stream.respond(),
    })
    const harness = startHarness(peer, options)
    await ask(harness, 'GET /warm').settled
    const connection = peer.connection(0)
    const calls = Array.from({ length: 8 }, (_, i) => ask(harness, `POST /${i}`))
    await connection.ping()
    expect(connection.open).toBe(2)
    await connection.settings([MAX_CONCURRENT_STREAMS, 4])
    await connection.ping()
    expect(connection.open).toBe(4)
    await connection.settings([MAX_CONCURRENT_STREAMS, 1])
    for (const stream of connection.streams.slice(1, 4)) stream.respond()
    await connection.ping()
    // One is left of the four, and that is as many as there may be.
    expect([connection.open, connection.streams.length]).toEqual([1, 5])
    for (let next = 4; next < 8; next++) {
      connection.streams[next]?.respond()
      await connection.ping()
      expect([connection.open, connection.streams.length]).toEqual([1, next + 2])
    }
    connection.streams[8]?.respond()
    expect(await toOutcomes(calls)).toEqual(calls.map((_, i) => `POST /${i}`))
    expect(Object.values(peer.counts)).toEqual(Array(9).fill(1))
  })

  it('sets its header table size to 0, and raises it again: it can decode all requests', async () => {
    const peer = await startPeer(SERVE)
    const harness = startHarness(peer, options)
    const headers = { 'x-token': 'a value that is worth an entry of the table', 'x-other': 'another' }
    const send = (path: string) => toOutcomes([ask(harness, `GET ${path}`, { headers })])
    await send('/0')
    await send('/1')
    const connection = peer.connection(0)
    const sizes: number[] = []
    for (const size of [0, 128, 65_536]) {
      await connection.settings([HEADER_TABLE_SIZE, size])
      for (const path of [`/${size}/a`, `/${size}/b`]) expect(await send(path)).toEqual([`GET ${path}`])
      expect(connection.hpack.tableSize).toBeLessThanOrEqual(size)
      sizes.push(connection.hpack.tableSize)
    }
    expect(sizes[0]).toBe(0)
    for (const stream of peer.requests) expect(stream.field('x-token')).toBe(headers['x-token'])
    expect(peer.connections).toHaveLength(1)
  })

  it('offers extended CONNECT late: tunnels fail before that, and work afterwards', async () => {
    const peer = await startPeer({ onRequest: (stream) => stream.respond() })
    const harness = startHarness(peer, options)
    await ask(harness, 'GET /').settled
    const upgrade = () => {
      const call = ask(harness, 'GET /chat', { upgrade: 'websocket' })
      return call.settled.then(() => call)
    }
    const early = await upgrade()
    expect(early.error).toBeInstanceOf(errors.NotSupportedError)
    expect(early.error).toMatchObject({ processed: 'no', attempts: 0 })
    const connection = peer.connection(0)
    await connection.settings([ENABLE_CONNECT_PROTOCOL, 1])
    void upgrade()
    await peer.waitFor(() => peer.requests.length === 2)
    const stream = peer.request('/chat')
    expect([stream.method, stream.field(':protocol')]).toEqual(['CONNECT', 'websocket'])
    expect(peer.connections).toHaveLength(1)
  })
})

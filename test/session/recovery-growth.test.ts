import { connect } from 'node:net'
import { describe, expect, it } from 'vitest'
import type { ConnectionScript } from '../../src/testing/fault-connection.ts'
import type { FaultServer } from '../../src/testing/fault-server.ts'
import { Setting, Type } from '../../src/testing/frames.ts'
import type { ConnectorCallback, PoolOptions } from '../../types/index.ts'
import type { Harness } from '../support/clients/engines.ts'
import { ENGINES } from '../support/clients/engines.ts'
import type { Recorder } from '../support/clients/recorder.ts'
import { FakeClock } from '../support/clocks/fake-clock.ts'
import { ask, startHarness, startPeer, toOutcomes } from '../support/peers/peer-rig.ts'

const LIMIT = 10

describe.each(ENGINES)('sessions to one origin, on engine %s', (engine) => {
  const options: PoolOptions = { engine, connections: 4, pingInterval: 0 }

  /** Serves `/warm`, and holds everything else. */
  const HOLD: ConnectionScript = {
    settings: [[Setting.MAX_CONCURRENT_STREAMS, LIMIT]],
    onComplete: (stream) => stream.path === '/warm' && stream.respond(),
  }

  /** With one session, whose limit is known. */
  async function begin(given: PoolOptions = options, clock?: FakeClock) {
    const peer = await startPeer(HOLD)
    const harness = startHarness(peer, given, clock)
    expect(await toOutcomes([ask(harness, 'GET /warm')])).toEqual(['GET /warm'])
    return { peer, harness }
  }

  const askMany = (harness: Harness, count: number): Recorder[] =>
    Array.from({ length: count }, (_, i) => ask(harness, `POST /${i}`))

  /** Until each connection has had its round trip, and there is none more. */
  async function rest(peer: FaultServer): Promise<void> {
    for (let count = -1; count !== peer.requests.length; ) {
      count = peer.requests.length
      for (const connection of peer.connections) if (!connection.isClosed) await connection.ping()
    }
  }

  const openOf = (peer: FaultServer): number[] => peer.connections.map(({ open }) => open)

  async function respondToAll(peer: FaultServer, calls: readonly Recorder[]): Promise<string[]> {
    let left = calls.length
    for (const call of calls) void call.settled.then(() => left--)
    while (left > 0) {
      for (const stream of peer.requests) if (stream.isOpen && stream.isComplete) stream.respond()
      await rest(peer)
    }
    return toOutcomes(calls)
  }

  it('when the caller makes one request after another, one is enough, whatever the limit', async () => {
    const peer = await startPeer({
      settings: [[Setting.MAX_CONCURRENT_STREAMS, 1]],
      onComplete: (stream) => stream.respond(),
    })
    const harness = startHarness(peer, options)
    for (const what of ['GET /0', 'POST /1', 'GET /2', 'POST /3']) {
      expect(await toOutcomes([ask(harness, what)])).toEqual([what])
    }
    expect(peer.ledger).toEqual(['0/1 GET /0', '0/3 POST /1', '0/5 GET /2', '0/7 POST /3'])
  })

  it('there are never more than connections permits, and calls without room wait', async () => {
    const { peer, harness } = await begin()
    const calls = askMany(harness, 1_000)
    await peer.waitFor(() => peer.requests.length === 4 * LIMIT + 1)
    await rest(peer)
    expect(openOf(peer)).toEqual([LIMIT, LIMIT, LIMIT, LIMIT])
    expect(harness.scheduler.pending).toBe(1_000 - 4 * LIMIT)
    expect(await respondToAll(peer, calls)).toEqual(calls.map((_, i) => `POST /${i}`))
    expect(peer.connections).toHaveLength(4)
    expect(peer.connections.map(({ maxOpen }) => maxOpen)).toEqual([LIMIT, LIMIT, LIMIT, LIMIT])
    for (const count of Object.values(peer.counts)) expect(count).toBe(1)
  })

  it('with connections: null, there are as many as the calls need, and no more', async () => {
    const { peer, harness } = await begin({ ...options, connections: null })
    const calls = askMany(harness, 12 * LIMIT)
    await peer.waitFor(() => peer.requests.length === 12 * LIMIT + 1)
    await rest(peer)
    expect(openOf(peer)).toEqual(Array(12).fill(LIMIT))
    expect(await respondToAll(peer, calls)).toEqual(calls.map((_, i) => `POST /${i}`))
  })

  it('are opened one at a time', async () => {
    const peer = await startPeer(HOLD)
    const { port } = new URL(peer.origin)
    const waiting: ConnectorCallback[] = []
    const harness = startHarness(peer, { ...options, connect: (_, callback) => void waiting.push(callback) })
    /** Lets the one attempt that is under way come about. */
    const proceed = async (): Promise<void> => {
      await expect.poll(() => waiting.length).toBe(1)
      // As long as it doesn't, there is no other.
      await rest(peer)
      expect(waiting).toHaveLength(1)
      waiting.shift()?.(null, connect(Number(port), '127.0.0.1'))
    }
    const warm = ask(harness, 'GET /warm')
    await proceed()
    expect(await toOutcomes([warm])).toEqual(['GET /warm'])
    const calls = askMany(harness, 100)
    for (let count = 2; count <= 4; count++) {
      await proceed()
      await peer.waitFor(() => (peer.connections[count - 1]?.open ?? 0) === LIMIT)
    }
    await rest(peer)
    expect(waiting).toHaveLength(0)
    expect(await respondToAll(peer, calls)).toEqual(calls.map((_, i) => `POST /${i}`))
    expect(peer.connections).toHaveLength(4)
  })

  /** Four of them, with nothing to do. */
  async function beginFour(given: PoolOptions = options, clock?: FakeClock) {
    const { peer, harness } = await begin(given, clock)
    const calls = askMany(harness, 4 * LIMIT)
    await peer.waitFor(() => peer.requests.length === 4 * LIMIT + 1)
    await respondToAll(peer, calls)
    expect(openOf(peer)).toEqual([0, 0, 0, 0])
    return { peer, harness }
  }

  it('the least loaded gets the next call', async () => {
    const { peer, harness } = await beginFour()
    const before = peer.requests.length
    askMany(harness, 8)
    await peer.waitFor(() => peer.requests.length === before + 8)
    expect(openOf(peer)).toEqual([2, 2, 2, 2])
    // One has more room than the others from now on.
    const [roomy] = peer.connections.slice(2)
    for (const stream of roomy?.streams ?? []) if (stream.isOpen) stream.respond()
    await roomy?.ping()
    askMany(harness, 2)
    await peer.waitFor(() => peer.requests.length === before + 10)
    expect(openOf(peer)).toEqual([2, 2, 2, 2])
  })

  it('when idle for keepAliveTimeout, they are closed with GOAWAY, and new ones are opened when needed', async () => {
    const clock = new FakeClock()
    const { peer, harness } = await beginFour({ ...options, keepAliveTimeout: 60_000 }, clock)
    clock.advance(59_000)
    await rest(peer)
    expect(peer.connections.map(({ isClosed }) => isClosed)).toEqual([false, false, false, false])
    const busy = ask(harness, 'GET /busy')
    await peer.waitFor(() => peer.ledger.some((line) => line.endsWith('/busy')))
    clock.advance(1_200)
    await peer.waitFor(() => peer.connections.filter(({ isClosed }) => isClosed).length === 3)
    for (const connection of peer.connections) {
      const isBusy = connection.open === 1
      expect(connection.of(Type.GOAWAY).length > 0).toBe(!isBusy)
      if (isBusy) await connection.ping()
      expect(connection.isClosed).toBe(!isBusy)
    }
    peer.request('/busy').respond()
    expect(await toOutcomes([busy])).toEqual(['GET /busy'])
    await rest(peer)
    clock.advance(60_200)
    await peer.waitFor(() => peer.connections.every(({ isClosed }) => isClosed))
    const next = ask(harness, 'GET /warm')
    expect(await toOutcomes([next])).toEqual(['GET /warm'])
    expect(peer.connections).toHaveLength(5)
  })

  it('when one is retired, it is replaced, and the others stay', async () => {
    const { peer, harness } = await beginFour()
    const before = peer.requests.length
    const retired = peer.connection(1)
    retired.goAway({ lastStreamId: retired.streams.at(-1)?.id ?? 0, code: 0 })
    await peer.waitFor(() => retired.isClosed)
    const calls = askMany(harness, 4 * LIMIT)
    await peer.waitFor(() => peer.requests.length === before + 4 * LIMIT)
    await rest(peer)
    expect(openOf(peer)).toEqual([LIMIT, 0, LIMIT, LIMIT, LIMIT])
    expect(await respondToAll(peer, calls)).toEqual(calls.map((_, i) => `POST /${i}`))
    expect(peer.connections).toHaveLength(5)
  })
})

import { describe, expect, it } from 'vitest'
import type { ConnectionScript, FaultConnection } from '../../src/testing/fault-connection.ts'
import type { FaultStream } from '../../src/testing/fault-stream.ts'
import { Flag, Setting, Type } from '../../src/testing/frames.ts'
import type { Harness } from '../support/clients/engines.ts'
import { ENGINES } from '../support/clients/engines.ts'
import type { Recorder } from '../support/clients/recorder.ts'
import { REFUSED_STREAM } from '../support/peers/error-codes.ts'
import { ask, heard, startHarness, startPeer, toOutcomes } from '../support/peers/peer-rig.ts'

const { MAX_CONCURRENT_STREAMS } = Setting
const COUNT = 1_000
/** RFC 9113 §6.5.2 recommends no limit below this: as many are sent before SETTINGS. */
const BEFORE_SETTINGS = 100

const toWhat = (i: number): string => `${i % 2 === 0 ? 'GET' : 'POST'} /${i}`

describe.each(ENGINES)('a burst of a thousand calls to a cold origin, on engine %s', (engine) => {
  function burst(harness: Harness): Recorder[] {
    return Array.from({ length: COUNT }, (_, i) => ask(harness, toWhat(i)))
  }

  /** Settles once this many requests have come and the client has sent all that it has to send. */
  async function expectStreams(connection: FaultConnection, count: number): Promise<void> {
    await connection.ping()
    expect(connection.streams).toHaveLength(count)
  }

  /** How many came before the ACK of the first SETTINGS: what they allow comes after it. */
  function countBeforeSettings({ frames }: FaultConnection): number {
    const end = frames.findIndex(({ type, flags }) => type === Type.SETTINGS && flags === Flag.ACK)
    return frames.slice(0, end).filter(({ type }) => type === Type.HEADERS).length
  }

  /** Refuses what is above its limit, from the moment at which that is known. */
  function enforcing(limit: number, served: FaultStream[] = []): ConnectionScript {
    return {
      settings: [[MAX_CONCURRENT_STREAMS, limit]],
      onRequest: (stream, connection) => {
        if (connection.open > limit) stream.reset(REFUSED_STREAM)
      },
      onComplete: (stream) => {
        if (stream.isRefused) return
        served.push(stream)
        stream.respond()
      },
    }
  }

  it('opens one connection, and sends a hundred requests before SETTINGS', async () => {
    const peer = await startPeer({ settings: null })
    const harness = startHarness(peer, { engine, connections: 4 })
    const calls = burst(harness)
    await peer.waitFor(() => peer.requests.length === BEFORE_SETTINGS)
    expect(harness.scheduler.pending).toBe(COUNT - BEFORE_SETTINGS)
    expect(peer.connections).toHaveLength(1)
    // With room for all of them there is no need of a second one.
    await peer.connection(0).settings([MAX_CONCURRENT_STREAMS, COUNT])
    await expectStreams(peer.connection(0), COUNT)
    expect(countBeforeSettings(peer.connection(0))).toBe(BEFORE_SETTINGS)
    for (const stream of peer.requests) stream.respond()
    expect(await toOutcomes(calls)).toEqual(calls.map((_, i) => toWhat(i)))
    expect(peer.requests.map(String)).toEqual(calls.map((_, i) => toWhat(i)))
    expect(peer.connections).toHaveLength(1)
  })

  it('keeps to a limit of 10 once that is known; refused calls are replayed, and none is lost', async () => {
    const served: FaultStream[] = []
    const peer = await startPeer(enforcing(10, served))
    const harness = startHarness(peer, { engine, connections: 1 })
    const calls = burst(harness)
    expect(await toOutcomes(calls)).toEqual(calls.map((_, i) => toWhat(i)))
    // Whatever was refused was sent before the limit was known.
    const refused = peer.requests.filter(({ isRefused }) => isRefused)
    expect(refused.length).toBeLessThanOrEqual(BEFORE_SETTINGS)
    for (const stream of refused) expect(stream.id).toBeLessThan(2 * BEFORE_SETTINGS)
    expect(served.map(String).sort()).toEqual(calls.map((_, i) => toWhat(i)).sort())
    expect(peer.connections).toHaveLength(1)
  })

  it.each([
    { what: 'the limit that the one before had', limit: 30, expected: 30 },
    { what: 'a hundred, where the one before had more', limit: 500, expected: BEFORE_SETTINGS },
  ])('sends before the SETTINGS of a second connection $what', async ({ limit, expected }) => {
    const peer = await startPeer([
      { settings: [[MAX_CONCURRENT_STREAMS, limit]], onComplete: (stream) => stream.respond() },
      { settings: null },
    ])
    const harness = startHarness(peer, { engine, connections: 1 })
    expect(await toOutcomes([ask(harness, 'GET /warm')])).toEqual(['GET /warm'])
    peer.connection(0).goAway({ lastStreamId: 1, code: 0 })
    await heard(harness, ['connect', 'disconnect'])
    burst(harness)
    await peer.waitFor(() => (peer.connections[1]?.streams.length ?? 0) >= expected)
    expect(harness.scheduler.pending).toBe(COUNT - expected)
    await peer.connection(1).settings([MAX_CONCURRENT_STREAMS, COUNT])
    await expectStreams(peer.connection(1), COUNT)
    expect(countBeforeSettings(peer.connection(1))).toBe(expected)
    expect(peer.connections).toHaveLength(2)
  })

  it('never sends more than maxConcurrentStreams, before SETTINGS or after', async () => {
    const peer = await startPeer({ settings: null })
    const harness = startHarness(peer, { engine, connections: 1, maxConcurrentStreams: 7 })
    const calls = burst(harness)
    await peer.waitFor(() => peer.requests.length === 7)
    await peer.connection(0).settings([MAX_CONCURRENT_STREAMS, 1_000])
    await expectStreams(peer.connection(0), 7)
    for (let served = 0; served < COUNT; served++) {
      await peer.waitFor(() => peer.requests[served]?.isComplete === true)
      peer.requests[served]?.respond()
    }
    expect(await toOutcomes(calls)).toEqual(calls.map((_, i) => toWhat(i)))
    expect(peer.connection(0).maxOpen).toBe(7)
  })
})

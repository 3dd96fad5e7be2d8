import { describe, expect, it } from 'vitest'
import { errors } from '../../src/index.ts'
import type { ConnectionScript, FaultConnection } from '../../src/testing/fault-connection.ts'
import type { FaultStream } from '../../src/testing/fault-stream.ts'
import { Setting } from '../../src/testing/frames.ts'
import type { PoolOptions } from '../../types/index.ts'
import { ENGINES } from '../support/clients/engines.ts'
import type { Recorder } from '../support/clients/recorder.ts'
import { FakeClock } from '../support/clocks/fake-clock.ts'
import { REFUSED_STREAM } from '../support/peers/error-codes.ts'
import { ask, PATIENT, settle, startHarness, startPeer, toOutcomes } from '../support/peers/peer-rig.ts'

const LIMIT = 10
const COUNT = 1_000

const toMethod = (i: number): string => (i % 2 === 0 ? 'GET' : 'POST')

describe.each(ENGINES)('on engine %s', (engine) => {
  describe.each([{ connections: 1 }, { connections: 4 }])('with connections: $connections', ({
    connections,
  }) => {
    const options: PoolOptions = { engine, connections, ...PATIENT }

    describe('a peer that refuses', () => {
      it('everything costs a bounded number of connections, and every call fails as unprocessed', async () => {
        const clock = new FakeClock()
        const peer = await startPeer({ onRequest: (stream) => stream.reset(REFUSED_STREAM) })
        const harness = startHarness(peer, options, clock)
        const calls = Array.from({ length: 200 }, (_, i) => ask(harness, `${toMethod(i)} /${i}`))
        await settle(clock, calls)
        for (const { error } of calls) {
          expect(error).toBeInstanceOf(errors.StreamError)
          expect(error).toMatchObject({ processed: 'no', http2ErrorCode: REFUSED_STREAM })
          expect(Object(error).attempts).toBeLessThanOrEqual(4)
        }
        expect(peer.connections.length).toBeLessThanOrEqual(connections)
        for (const count of Object.values(peer.counts)) expect(count).toBeLessThanOrEqual(4)
        expect(harness.scheduler.pending + harness.scheduler.running).toBe(0)
      })

      it('everything, and retires each connection, costs a bounded number of connections', async () => {
        const clock = new FakeClock()
        const peer = await startPeer({
          onRequest: (stream, connection) => {
            stream.reset(REFUSED_STREAM)
            // Once: its last id must not grow (RFC 9113 §6.8).
            if (connection.streams.length === 1)
              connection.goAway({ lastStreamId: stream.id, code: 0, debugData: 'go away' })
          },
        })
        const harness = startHarness(peer, options, clock)
        const calls = Array.from({ length: 200 }, (_, i) => ask(harness, `${toMethod(i)} /${i}`))
        await settle(clock, calls)
        for (const { error } of calls) expect(error).toMatchObject({ processed: 'no' })
        expect(peer.connections.length).toBeLessThanOrEqual(8)
        expect(harness.scheduler.pending + harness.scheduler.running).toBe(0)
      })

      it('the first 250 streams, then serves: all get their responses, each once', async () => {
        const clock = new FakeClock()
        let refused = 0
        const served: FaultStream[] = []
        const peer = await startPeer({
          onComplete: (stream) => {
            if (refused++ < 250) {
              stream.reset(REFUSED_STREAM)
            } else {
              served.push(stream)
              stream.respond()
            }
          },
        })
        const harness = startHarness(peer, options, clock)
        const what = Array.from({ length: 300 }, (_, i) => `${toMethod(i)} /${i}`)
        const calls = what.map((each) => ask(harness, each))
        await settle(clock, calls)
        expect(await toOutcomes(calls)).toEqual(what)
        expect(served.map(String).sort()).toEqual([...what].sort())
        expect(peer.requests).toHaveLength(550)
        expect(peer.connections.length).toBeLessThanOrEqual(connections)
      })
    })

    describe('a thousand calls, and a peer that dies', () => {
      it('again and again: connections are bounded, all calls settle, none unsafe is seen twice', async () => {
        const clock = new FakeClock()
        const peer = await startPeer({
          settings: [[Setting.MAX_CONCURRENT_STREAMS, LIMIT]],
          // A round trip after the first: with all that there was room for.
          onRequest: (_stream, connection) => {
            if (connection.streams.length === 1) void connection.ping().then(() => connection.break())
          },
        })
        const harness = startHarness(peer, options, clock)
        const calls = Array.from({ length: COUNT }, (_, i) => ask(harness, `${toMethod(i)} /${i}`))
        await settle(clock, calls)
        const failed = calls.filter((call) => call.errors.length === 1)
        expect(failed).toHaveLength(COUNT)
        expect(peer.connections.length).toBeLessThanOrEqual(8)
        expectOnceEach(peer.requests)
        expectHonest(calls, peer.requests)
        expect(harness.scheduler.pending + harness.scheduler.running).toBe(0)
      })
    })
  })

  /** What isn't safe is sent again only if it was refused; what is safe, once for a connection that was lost. */
  function expectOnceEach(streams: readonly FaultStream[]): void {
    const taken: Record<string, number> = {}
    for (const stream of streams) {
      if (stream.isRefused) continue
      taken[`${stream}`] = (taken[`${stream}`] ?? 0) + 1
    }
    for (const [what, count] of Object.entries(taken)) {
      expect(count, what).toBeLessThanOrEqual(what.startsWith('GET') ? 2 : 1)
    }
  }

  /** The error of a call that the peer has accepted has `processed: 'maybe'`. */
  function expectHonest(calls: readonly Recorder[], streams: readonly FaultStream[]): void {
    const taken = new Set(streams.filter(({ isRefused }) => !isRefused).map(({ path }) => path))
    for (const [i, { error }] of calls.entries()) {
      if (taken.has(`/${i}`)) expect(error, `/${i}`).toMatchObject({ processed: 'maybe' })
    }
  }

  /** Accepts no more streams than its SETTINGS allow. */
  const holding: ConnectionScript = {
    settings: [[Setting.MAX_CONCURRENT_STREAMS, LIMIT]],
    onComplete: (stream) => stream.path === '/warm' && stream.respond(),
  }

  /** As a server does that keeps to its limit. */
  const serving: ConnectionScript = {
    settings: [[Setting.MAX_CONCURRENT_STREAMS, LIMIT]],
    onRequest: (stream, connection) => {
      if (connection.open > LIMIT) stream.reset(REFUSED_STREAM)
    },
    onComplete: (stream) => {
      if (stream.isOpen) stream.respond()
    },
  }

  const sentTo = (connection: FaultConnection): string[] =>
    connection.streams.map(String).filter((what) => what !== 'GET /warm')

  it('a peer that dies once with a thousand calls: what waited is sent once, what was on the wire is replayed where that is safe', async () => {
    const clock = new FakeClock()
    const peer = await startPeer([holding, serving])
    const harness = startHarness(peer, { engine, connections: 1, ...PATIENT }, clock)
    expect(await toOutcomes([ask(harness, 'GET /warm')])).toEqual(['GET /warm'])
    const what = Array.from({ length: COUNT }, (_, i) => `${toMethod(i)} /${i}`)
    const calls = what.map((each) => ask(harness, each))
    await peer.waitFor(() => peer.connection(0).streams.filter((it) => it.isComplete).length === LIMIT + 1)
    await peer.connection(0).ping()
    expect(sentTo(peer.connection(0))).toEqual(what.slice(0, LIMIT))
    peer.connection(0).break()
    await settle(clock, calls)
    const expected = what.map((each, i) => {
      const isLost = i < LIMIT && toMethod(i) === 'POST'
      return isLost ? `SocketError maybe code=null attempts=1 stream=${2 * i + 3}` : each
    })
    expect(await toOutcomes(calls)).toEqual(expected)
    // In dispatch order, the replayed ones first.
    expect([...new Set(sentTo(peer.connection(1)))]).toEqual(
      what.filter((_, i) => i >= LIMIT || toMethod(i) === 'GET'),
    )
    expectOnceEach(peer.requests)
    expect(peer.connections).toHaveLength(2)
  })

  it('a peer that retires each connection after 50 requests loses none of a thousand POSTs', async () => {
    const clock = new FakeClock()
    const peer = await startPeer({
      settings: [[Setting.MAX_CONCURRENT_STREAMS, LIMIT]],
      onRequest: (stream, connection) => {
        if (connection.streams.length === 51) connection.goAway({ lastStreamId: stream.id - 2, code: 0 })
      },
      onComplete: (stream, connection) => {
        if (connection.streams.indexOf(stream) < 50) stream.respond()
      },
    })
    const harness = startHarness(peer, { engine, connections: 1, ...PATIENT }, clock)
    const what = Array.from({ length: COUNT }, (_, i) => `POST /${i}`)
    const calls = what.map((each) => ask(harness, each))
    await settle(clock, calls)
    expect(await toOutcomes(calls)).toEqual(what)
    const served = peer.connections.flatMap(({ streams }) => streams.slice(0, 50))
    expect(served.map(String)).toEqual(what)
    expect(peer.connections).toHaveLength(COUNT / 50)
  })
})

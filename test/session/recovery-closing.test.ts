import { describe, expect, it } from 'vitest'
import { Client, errors } from '../../src/index.ts'
import type { ConnectionScript, FaultConnection } from '../../src/testing/fault-connection.ts'
import { MAX_STREAM_ID, Setting, Type } from '../../src/testing/frames.ts'
import type { PoolOptions } from '../../types/index.ts'
import type { Harness } from '../support/clients/engines.ts'
import { ENGINES } from '../support/clients/engines.ts'
import type { Recorder } from '../support/clients/recorder.ts'
import { FakeClock } from '../support/clocks/fake-clock.ts'
import { REFUSED_STREAM } from '../support/peers/error-codes.ts'
import { ask, heard, PATIENT, startHarness, startPeer, toOutcomes } from '../support/peers/peer-rig.ts'

/** How long a peer may take to close its side, once no caller waits for its streams. */
const LINGER = 1_000
/** More than are reset at once. */
const COUNT = 1_500
const IDLE = 300
const QUEUE = 4_000
/** A deadline may be met so much later. */
const SLACK = 50

describe.each(ENGINES)('on engine %s', (engine) => {
  const options: PoolOptions = {
    ...PATIENT,
    engine,
    connections: 1,
  }

  describe('a session whose calls were all aborted, more than may be reset at once', () => {
    /** Serves `/warm`, takes all others, and is in no hurry to close anything. */
    const HOLD: ConnectionScript = {
      settings: [[Setting.MAX_CONCURRENT_STREAMS, 2 * COUNT]],
      staysHalfOpen: true,
      onComplete: (stream) => stream.path === '/warm' && stream.respond(),
    }

    async function begin() {
      const clock = new FakeClock()
      const peer = await startPeer([HOLD, { onComplete: (stream) => stream.respond() }])
      const harness = startHarness(peer, options, clock)
      expect(await toOutcomes([ask(harness, 'GET /warm')])).toEqual(['GET /warm'])
      const connection = peer.connection(0)
      const calls = Array.from({ length: COUNT }, () => ask(harness, 'GET /many'))
      await peer.waitFor(() => connection.streams.filter(({ isComplete }) => isComplete).length === COUNT + 1)
      await connection.ping()
      return { clock, peer, harness, connection, calls }
    }

    /** So many as may be are reset at once; the rest waits for its turn. */
    async function reset(connection: FaultConnection, harness: Harness): Promise<void> {
      while (connection.of(Type.RST_STREAM).length === 0) await connection.ping()
      await connection.ping()
      expect(harness.scheduler.toSessionStats()[0]?.streams).toBeGreaterThan(COUNT / 2)
    }

    function abort(calls: readonly Recorder[]): void {
      for (const call of calls) call.controller?.abort()
    }

    /** Closes it as a client does. Tells whether that has come to its end. */
    function close({ scheduler }: Harness) {
      const state = { isClosed: false }
      const closed = scheduler
        .whenIdle()
        .then(() => scheduler.destroy(null, true))
        .then(() => {
          state.isClosed = true
        })
      return { state, closed }
    }

    it.each([
      { when: 'at once', isReset: false },
      { when: 'after the first of them were reset', isReset: true },
    ])('ends one linger time after close(), called $when', async ({ isReset }) => {
      const { clock, harness, connection, calls } = await begin()
      abort(calls)
      if (isReset) await reset(connection, harness)
      const { state, closed } = close(harness)
      // Its last word: from here on the linger counts.
      while (connection.of(Type.GOAWAY).length === 0) await connection.ping()
      clock.advance(LINGER - 1)
      await connection.ping()
      expect([state.isClosed, connection.hasEnded]).toEqual([false, false])
      expect(connection.of(Type.RST_STREAM).length).toBeLessThan(COUNT / 2)
      clock.advance(1)
      await expect.poll(() => state.isClosed).toBe(true)
      await closed
      await expect.poll(() => connection.hasEnded || connection.isClosed).toBe(true)
      expect(harness.scheduler.toSessionStats()).toEqual([])
      expect(clock.alarms).toBe(0)
    })

    it('ends one linger time after GOAWAY, and the next call has its own session', async () => {
      const { clock, harness, connection, calls } = await begin()
      abort(calls)
      await reset(connection, harness)
      connection.goAway({ lastStreamId: MAX_STREAM_ID, code: 0 })
      await expect.poll(() => harness.scheduler.connected).toBe(0)
      expect(await toOutcomes([ask(harness, 'GET /next')])).toEqual(['GET /next'])
      expect(harness.connections).toEqual(['connect', 'connect'])
      clock.advance(LINGER)
      await heard(harness, ['connect', 'connect', 'disconnect'])
      await expect.poll(() => connection.hasEnded || connection.isClosed).toBe(true)
    })

    it('ends one linger time after the last abort, when GOAWAY has come before', async () => {
      const { clock, harness, connection, calls } = await begin()
      connection.goAway({ lastStreamId: MAX_STREAM_ID, code: 0 })
      await expect.poll(() => harness.scheduler.connected).toBe(0)
      // As long as a caller waits for one of its streams, the peer may take any time.
      abort(calls.slice(1))
      await reset(connection, harness)
      clock.advance(10 * LINGER)
      await connection.ping()
      expect(harness.connections).toEqual(['connect'])
      const [last] = calls
      expect(last?.events).toEqual(['start'])
      last?.controller?.abort()
      clock.advance(LINGER - 1)
      await connection.ping()
      expect(harness.connections).toEqual(['connect'])
      clock.advance(1)
      await heard(harness, ['connect', 'disconnect'])
      for (const { events } of calls) expect(events).toEqual(['start', 'error'])
    })
  })

  describe('while a call waits at a peer with a limit of 0', () => {
    it('keepAliveTimeout does not run: there is one connection, and queueTimeout bounds the wait', async () => {
      const clock = new FakeClock()
      const peer = await startPeer({
        settings: [[Setting.MAX_CONCURRENT_STREAMS, 0]],
        onRequest: (stream) => stream.reset(REFUSED_STREAM),
      })
      const limits = { keepAliveTimeout: IDLE, queueTimeout: QUEUE }
      const harness = startHarness(peer, { ...options, ...limits }, clock)
      const call = ask(harness, 'POST /')
      const { scheduler } = harness
      await expect.poll(() => [scheduler.pending, scheduler.toSessionStats()[0]?.limit]).toEqual([1, 0])
      for (let at = 0; at + IDLE < QUEUE; at += IDLE) {
        clock.advance(IDLE)
        await peer.connection(0).ping()
        expect([harness.connections, call.events]).toEqual([['connect'], ['start']])
      }
      clock.advance(IDLE + SLACK)
      await call.settled
      expect(call.error).toBeInstanceOf(errors.QueueTimeoutError)
      expect(call.error).toMatchObject({ processed: 'no' })
      // No caller waits any more: now the time runs.
      expect(harness.connections).toEqual(['connect'])
      clock.advance(IDLE + SLACK)
      await heard(harness, ['connect', 'disconnect'])
      expect(peer.connections).toHaveLength(1)
    })
  })

  it('destroy() settles although the peer has stopped reading in the middle of an upload', async () => {
    const peer = await startPeer({
      settings: [[Setting.INITIAL_WINDOW_SIZE, 2 ** 31 - 1]],
      grantsCredit: false,
      onConnection: (connection) => connection.grant(0, 2 ** 30),
      onRequest: (_stream, { socket }) => socket.pause(),
    })
    // Otherwise an unanswered PING would end it, too, after a while.
    const client = new Client(peer.origin, { engine, pingInterval: 0 })
    const POST = { path: '/', method: 'POST', body: Buffer.alloc(64 * 1_024 * 1_024) } as const
    const outcomes = Promise.allSettled(Array.from({ length: 4 }, () => client.request(POST)))
    await expect.poll(() => peer.connections[0]?.socket.isPaused()).toBe(true)
    // Until the kernels between the two take no more, and a write is under way that won't come to an end.
    let written = 0
    await expect
      .poll(() => {
        const before = written
        written = client.stats.sessions[0]?.bytesWritten ?? 0
        return written > 65_536 && written === before
      })
      .toBe(true)
    await client.destroy()
    for (const outcome of await outcomes) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: expect.any(errors.ClientDestroyedError) })
    }
    expect(client.stats.sessions).toEqual([])
  })
})

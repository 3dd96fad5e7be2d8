import { describe, expect, it } from 'vitest'
import { errors } from '../../src/index.ts'
import type { ConnectionScript } from '../../src/testing/fault-connection.ts'
import { Setting } from '../../src/testing/frames.ts'
import type { PoolOptions } from '../../types/index.ts'
import { ENGINES } from '../support/clients/engines.ts'
import { FakeClock } from '../support/clocks/fake-clock.ts'
import { REFUSED_STREAM } from '../support/peers/error-codes.ts'
import {
  ask,
  heard,
  PATIENT,
  settle,
  startHarness,
  startPeer,
  toOutcomes,
} from '../support/peers/peer-rig.ts'

/** How often one call may be refused. */
const MOST = 8
/** The second refusal is waited out for at least 50 ms, and no longer than 100. */
const WITHIN_DELAY = 49
const AFTER_DELAY = 100 + 50
/** By then a session has looked at its connection, and is armed no more. */
const LOOK = 500 + 50

describe.each(ENGINES)('on engine %s', (engine) => {
  const options: PoolOptions = { engine, connections: 1, ...PATIENT }

  /** Refuses one path, and serves all others. */
  const PICKY: ConnectionScript = {
    onComplete: (stream) => (stream.path === '/no' ? stream.reset(REFUSED_STREAM) : stream.respond()),
  }

  describe('a call that the peer refuses again and again', () => {
    it('does not count as waiting for a connection during its delay', async () => {
      const clock = new FakeClock()
      const peer = await startPeer(PICKY)
      const harness = startHarness(peer, options, clock)
      const refused = ask(harness, 'GET /no', { connectTimeout: 30 })
      await peer.waitFor(() => peer.counts['GET /no'] === 2)
      await peer.connection(0).ping()
      peer.connection(0).break()
      await heard(harness, ['connect', 'disconnect'])
      clock.advance(WITHIN_DELAY)
      expect(refused.errors).toEqual([])
      // No further than to the moment at which it asks for a connection: its 30 ms run from there.
      while (harness.scheduler.toSessionStats().length === 0) clock.advance(1)
      await peer.waitFor(() => peer.counts['GET /no'] === 3)
      refused.controller?.abort()
      expect(peer.connections).toHaveLength(2)
    })

    it.each(['GET', 'POST'])('while its siblings get responses is sent eight times, a %s', async (method) => {
      const clock = new FakeClock()
      const peer = await startPeer(PICKY)
      const harness = startHarness(peer, options, clock)
      const refused = ask(harness, `${method} /no`)
      let siblings = 0
      // Far more than the delays of eight attempts take.
      while (refused.errors.length === 0 && siblings < 200) {
        siblings++
        expect(await toOutcomes([ask(harness, 'GET /yes')])).toEqual(['GET /yes'])
        clock.advance(100)
      }
      expect(siblings).toBeGreaterThan(MOST)
      expect(peer.counts).toEqual({ [`${method} /no`]: MOST, 'GET /yes': siblings })
      expect(refused.events).toEqual(['start', 'error'])
      expect(refused.error).toBeInstanceOf(errors.StreamError)
      expect(refused.error).toMatchObject({
        processed: 'no',
        http2ErrorCode: REFUSED_STREAM,
        attempts: MOST,
      })
      expect(peer.connections).toHaveLength(1)
    })

    /** A call that was refused twice, and waits before it is sent again. */
    async function wait(limits: PoolOptions = {}, script: ConnectionScript = PICKY) {
      const clock = new FakeClock()
      const peer = await startPeer(script)
      const harness = startHarness(peer, { ...options, ...limits }, clock)
      expect(await toOutcomes([ask(harness, 'GET /warm')])).toEqual(['GET /warm'])
      const refused = ask(harness, 'POST /no')
      await expect.poll(() => [harness.scheduler.pending, peer.counts['POST /no']]).toEqual([1, 2])
      const { scheduler } = harness
      return { clock, peer, harness, scheduler, refused }
    }

    it.each([
      { limit: 'what the peer takes', settings: [] },
      { limit: 'one stream at a time', settings: [[Setting.MAX_CONCURRENT_STREAMS, 1] as const] },
    ])('waits by itself: siblings are not held back, within $limit', async ({ settings }) => {
      const { peer, harness, scheduler, refused } = await wait({}, { ...PICKY, settings })
      // The clock stands still: a call that waited for it would wait for ever.
      const paths = Array.from({ length: 50 }, (_, i) => `POST /${i}`)
      expect(await toOutcomes(paths.map((path) => ask(harness, path)))).toEqual(paths)
      expect([scheduler.pending, scheduler.running]).toEqual([1, 0])
      expect(peer.counts['POST /no']).toBe(2)
      expect(refused.events).toEqual(['start'])
    })

    it('gets its response when it is refused no more, without an error', async () => {
      let refusals = 0
      const { clock, peer, refused } = await wait(
        {},
        {
          onComplete: (stream) => {
            if (stream.path === '/no' && refusals++ < 3) stream.reset(REFUSED_STREAM)
            else stream.respond()
          },
        },
      )
      await settle(clock, [refused])
      expect(refused.events).toEqual(['start', 'response 200', 'data', 'end'])
      expect(peer.counts['POST /no']).toBe(4)
    })

    it('can be aborted while it waits, and is never sent again', async () => {
      const { clock, peer, scheduler, refused } = await wait()
      refused.controller?.abort()
      expect(refused.events).toEqual(['start', 'error'])
      expect(refused.error).toBeInstanceOf(errors.RequestAbortedError)
      expect([scheduler.pending, scheduler.running]).toEqual([0, 0])
      // No call has anything left to wait for. The one alarm was the session's look at its connection.
      expect(clock.alarms).toBeLessThanOrEqual(1)
      clock.advance(Math.max(LOOK, AFTER_DELAY))
      expect(clock.alarms).toBe(0)
      await peer.connection(0).ping()
      expect(peer.counts['POST /no']).toBe(2)
    })

    it.each([
      { limit: 'queueTimeout', error: errors.QueueTimeoutError },
      { limit: 'requestTimeout', error: errors.RequestTimeoutError },
    ])('fails by its $limit while it waits', async ({ limit, error }) => {
      const { clock, peer, scheduler, refused } = await wait({ [limit]: WITHIN_DELAY })
      clock.advance(WITHIN_DELAY)
      expect(refused.events).toEqual(['start', 'error'])
      expect(refused.error).toBeInstanceOf(error)
      expect(refused.error).toMatchObject({ processed: 'no', attempts: 2 })
      expect([scheduler.pending, scheduler.running]).toEqual([0, 0])
      clock.advance(AFTER_DELAY)
      await peer.connection(0).ping()
      expect(peer.counts['POST /no']).toBe(2)
    })

    it('delays close() until it has settled', async () => {
      const { clock, scheduler, refused } = await wait()
      const order: string[] = []
      const finished = scheduler.whenIdle().then(() => order.push('finished'))
      void refused.settled.then(() => order.push('settled'))
      await settle(clock, [refused])
      await finished
      expect(order.sort()).toEqual(['finished', 'settled'])
      // No other call got a response in the meantime: so many attempts are enough.
      expect(refused.error).toMatchObject({ processed: 'no', attempts: 4 })
    })

    it('is settled by destroy(), which leaves nothing behind', async () => {
      const { clock, peer, scheduler, refused } = await wait()
      const gone = scheduler.destroy(null)
      expect(refused.events).toEqual(['start', 'error'])
      expect(refused.error).toBeInstanceOf(errors.ClientDestroyedError)
      expect([scheduler.pending, scheduler.running]).toEqual([0, 0])
      await gone
      expect(clock.alarms).toBe(0)
      await peer.waitFor(() => peer.connection(0).hasEnded || peer.connection(0).isClosed)
      expect(peer.counts['POST /no']).toBe(2)
    })

    it('fails with the calls that wait for a connection, when none can be opened', async () => {
      const { harness, peer, refused } = await wait()
      const connection = peer.connection(0)
      await peer.close()
      await expect.poll(() => connection.isClosed).toBe(true)
      const other = ask(harness, 'GET /other')
      await Promise.all([refused.settled, other.settled])
      expect(refused.error).toMatchObject({ code: 'ECONNREFUSED', processed: 'no' })
      expect(other.error).toMatchObject({ code: 'ECONNREFUSED', processed: 'no' })
      expect(harness.connections).toEqual(['connect', 'disconnect', 'connectionError'])
    })
  })

  describe('a peer that breaks each connection in the middle of a response', () => {
    it('fails only those calls: the waiting ones stay, since each session has responded', async () => {
      const clock = new FakeClock()
      const peer = await startPeer({
        onComplete: (stream, connection) => {
          stream.head(200)
          stream.data('half')
          void connection.ping().then(() => connection.break())
        },
      })
      const harness = startHarness(peer, { ...options, maxConcurrentStreams: 1 }, clock)
      const calls = Array.from({ length: 7 }, (_, i) => ask(harness, `GET /${i}`))
      await settle(clock, calls)
      for (const call of calls) {
        expect(call.events).toEqual(['start', 'response 200', 'data', 'error'])
        expect(call.error).toMatchObject({ processed: 'yes', attempts: 1 })
        expect(call.error.message).not.toContain('without a response')
      }
      expect(peer.ledger).toEqual(calls.map((_, i) => `${i}/1 GET /${i}`))
    })
  })
})

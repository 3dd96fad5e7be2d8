import { describe, expect, it } from 'vitest'
import { errors } from '../../src/index.ts'
import type { FaultConnection } from '../../src/testing/fault-connection.ts'
import type { FaultServer } from '../../src/testing/fault-server.ts'
import { ERROR_CODES, Setting, Type } from '../../src/testing/frames.ts'
import type { PoolOptions } from '../../types/index.ts'
import type { Harness } from '../support/clients/engines.ts'
import { ENGINES } from '../support/clients/engines.ts'
import type { Recorder } from '../support/clients/recorder.ts'
import {
  CANCEL,
  ENHANCE_YOUR_CALM,
  HTTP_1_1_REQUIRED,
  INTERNAL_ERROR,
  NO_ERROR,
  PROTOCOL_ERROR,
} from '../support/peers/error-codes.ts'
import {
  ask,
  heard,
  SERVE,
  startHarness,
  startPeer,
  toOutcome,
  toOutcomes,
} from '../support/peers/peer-rig.ts'

const WHAT = ['GET /0', 'POST /1', 'GET /2', 'POST /3'] as const

/** RFC 9113 §6.8 has nothing against that the peer finishes what it has accepted. */
describe.each(ENGINES)('a peer that sends GOAWAY with an error code, on engine %s', (engine) => {
  const OPTIONS: PoolOptions = { engine, connections: 1 }

  /** Streams 1, 3, 5 and 7, which the peer has heard of on its first connection; later ones response. */
  async function begin(options: PoolOptions = OPTIONS) {
    const peer = await startPeer([{}, SERVE])
    const harness = startHarness(peer, options)
    const calls = WHAT.map((each) => ask(harness, each))
    await peer.waitFor(() => peer.requests.filter(({ isComplete }) => isComplete).length === WHAT.length)
    return { peer, harness, calls, connection: peer.connection(0) }
  }

  /**
   * Streams 1 and 3 get their responses in the end; 5 and 7 have got theirs on another connection. Each request was
   * sent as often as it had to be.
   */
  async function expectFinished(peer: FaultServer, calls: readonly Recorder[]): Promise<void> {
    const connection = peer.connection(0)
    expect(calls.slice(0, 2).map(({ events }) => events)).toEqual([['start'], ['start']])
    for (const stream of connection.streams.slice(0, 2)) stream.respond(`late ${stream}`)
    expect(await toOutcomes(calls)).toEqual(['late GET /0', 'late POST /1', 'GET /2', 'POST /3'])
    expect(peer.ledger.slice(WHAT.length)).toEqual(['1/1 GET /2', '1/3 POST /3'])
  }

  /** The client ends the connection itself, with an error or without. */
  async function expectGoaway(peer: FaultServer, connection: FaultConnection, code: number): Promise<void> {
    await peer.waitFor(() => connection.hasEnded || connection.isClosed)
    const codes = connection.of(Type.GOAWAY).map(({ payload }) => payload.readUInt32BE(4))
    if (engine === 'wire') expect(codes).toEqual([code])
    // node:http2 has sent one in response to a graceful one, and on Node 20 it sends another code.
    else expect(codes.filter((sent) => sent !== NO_ERROR)).toHaveLength(1)
  }

  it.each([
    // What is refused by HTTP_1_1_REQUIRED isn't asked in HTTP/2 again: http1-required.test.ts.
    ...[...ERROR_CODES.keys()].filter((code) => code !== HTTP_1_1_REQUIRED),
    0x1234,
  ])('the accepted requests get their responses, and the others get theirs on another connection: %i', async (code) => {
    const { peer, harness, calls, connection } = await begin()
    connection.goAway({ lastStreamId: 3, code, debugData: 'why' })
    expect(await toOutcomes(calls.slice(2))).toEqual(['GET /2', 'POST /3'])
    await expectFinished(peer, calls)
    // Nothing is left on it.
    await peer.waitFor(() => connection.hasEnded)
    await heard(harness, ['connect', 'connect', 'disconnect'])
  })

  it('a response that has begun continues, and so does an upload', async () => {
    const peer = await startPeer([{ settings: [[Setting.INITIAL_WINDOW_SIZE, 2]] }, SERVE])
    const harness = startHarness(peer, OPTIONS)
    const responded = ask(harness, 'GET /answered')
    await peer.waitFor(() => peer.requests.length === 1)
    await peer.connection(0).ping()
    const uploaded = ask(harness, 'POST /uploaded', { body: 'seven b' })
    await peer.waitFor(() => peer.requests[1]?.text === 'se')
    const connection = peer.connection(0)
    peer.request('/answered').head(200, [['x-sum', '3']])
    peer.request('/answered').data('one, ')
    connection.goAway({ lastStreamId: 3, code: INTERNAL_ERROR })
    await connection.ping()
    peer.request('/answered').end('two')
    connection.grant(3, 5)
    await peer.waitFor(() => peer.request('/uploaded').isComplete)
    expect(peer.request('/uploaded').text).toBe('seven b')
    peer.request('/uploaded').respond('got it')
    expect(await toOutcomes([responded, uploaded])).toEqual(['one, two', 'got it'])
    expect(peer.connections).toHaveLength(1)
  })

  it('an accepted stream that it resets afterwards fails with the error of the reset, not of the GOAWAY', async () => {
    const { peer, calls, connection } = await begin()
    connection.goAway({ lastStreamId: 7, code: ENHANCE_YOUR_CALM })
    connection.streams[1]?.reset(CANCEL)
    await calls[1]?.settled
    expect(calls[1]?.error).toBeInstanceOf(errors.StreamError)
    expect(calls[1]?.error).toMatchObject({ http2ErrorCode: CANCEL, processed: 'maybe', streamId: 3 })
    for (const [index, stream] of connection.streams.entries()) if (index !== 1) stream.respond()
    const rest = calls.filter((_, index) => index !== 1)
    expect(await toOutcomes(rest)).toEqual(WHAT.filter((_, index) => index !== 1))
    expect(peer.connections).toHaveLength(1)
  })

  describe('and another one', () => {
    it('with a lower last id refuses the streams above that, and leaves the others', async () => {
      const { peer, calls, connection } = await begin()
      connection.goAway({ lastStreamId: 7, code: ENHANCE_YOUR_CALM, debugData: 'first' })
      await connection.ping()
      expect(calls.map(({ events }) => events)).toEqual(Array(WHAT.length).fill(['start']))
      expect(peer.connections).toHaveLength(1)
      connection.goAway({ lastStreamId: 3, code: INTERNAL_ERROR, debugData: 'second' })
      expect(await toOutcomes(calls.slice(2))).toEqual(['GET /2', 'POST /3'])
      await expectFinished(peer, calls)
    })

    it('with 0 refuses all of them: they are sent again in their order', async () => {
      const { peer, calls, connection } = await begin()
      connection.goAway({ lastStreamId: 7, code: ENHANCE_YOUR_CALM })
      connection.goAway({ lastStreamId: 0, code: ENHANCE_YOUR_CALM })
      expect(await toOutcomes(calls)).toEqual(WHAT)
      expect(peer.ledger.slice(WHAT.length)).toEqual(WHAT.map((each, index) => `1/${2 * index + 1} ${each}`))
    })

    it('with the same last id changes nothing', async () => {
      const { peer, calls, connection } = await begin()
      connection.goAway({ lastStreamId: 3, code: ENHANCE_YOUR_CALM })
      connection.goAway({ lastStreamId: 3, code: NO_ERROR })
      expect(await toOutcomes(calls.slice(2))).toEqual(['GET /2', 'POST /3'])
      await expectFinished(peer, calls)
    })

    it('with a higher last id breaks the protocol: accepted requests fail as maybe processed', async () => {
      const { peer, calls, connection } = await begin()
      connection.goAway({ lastStreamId: 3, code: NO_ERROR })
      await connection.ping()
      connection.goAway({ lastStreamId: 5, code: NO_ERROR })
      // What is safe is sent again (RFC 9110 §9.2.2).
      expect(await toOutcomes(calls.filter((_, index) => index !== 1))).toEqual([
        'GET /0',
        'GET /2',
        'POST /3',
      ])
      await calls[1]?.settled
      expect(calls[1]?.error).toBeInstanceOf(errors.SocketError)
      expect(calls[1]?.error).toMatchObject({ processed: 'maybe', attempts: 1, streamId: 3 })
      // nghttp2 names no rule.
      expect(String(calls[1]?.error)).toContain(engine === 'wire' ? 'RFC 9113 §6.8' : 'Protocol error')
      await expectGoaway(peer, connection, PROTOCOL_ERROR)
    })
  })

  describe('and then breaks the connection', () => {
    it('each accepted call fails with the error and its debug data, whatever came after it', async () => {
      const { calls, connection } = await begin({ ...OPTIONS, replaySafe: false })
      // As a server of node:http2 does that destroys its session then.
      connection.goAway({ lastStreamId: 7, code: ENHANCE_YOUR_CALM, debugData: 'too much' })
      connection.goAway({ lastStreamId: 7, code: NO_ERROR })
      await connection.ping()
      connection.break()
      await Promise.all(calls.map(({ settled }) => settled))
      const lost = (stream: number) => `SocketError maybe code=11 attempts=1 stream=${stream}`
      expect(calls.map(toOutcome)).toEqual([1, 3, 5, 7].map(lost))
      for (const { error } of calls) expect(String(Object(error).goawayDebugData)).toBe('too much')
    })
  })

  describe('and responds to what it has refused', () => {
    /** Legal: the responses were in flight, or the peer sends them all the same (RFC 9113 §6.8). */
    async function respondRefused(harness: Harness, connection: FaultConnection): Promise<void> {
      connection.goAway({ lastStreamId: 3, code: ENHANCE_YOUR_CALM })
      for (const stream of connection.streams.slice(2)) stream.respond('never asked')
      await connection.ping()
      expect(harness.errors).toEqual([])
    }

    it('no caller sees those responses, and the accepted calls continue', async () => {
      const { peer, harness, calls, connection } = await begin()
      await respondRefused(harness, connection)
      expect(await toOutcomes(calls.slice(2))).toEqual(['GET /2', 'POST /3'])
      await expectFinished(peer, calls)
      expect(calls.map(({ statuses }) => statuses)).toEqual(Array(WHAT.length).fill([200]))
    })
  })
})

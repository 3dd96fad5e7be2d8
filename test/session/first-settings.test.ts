import { Readable } from 'node:stream'
import { describe, expect, it, onTestFinished } from 'vitest'
import { errors, ProxyAgent } from '../../src/index.ts'
import type { ConnectionScript } from '../../src/testing/fault-connection.ts'
import type { FaultServer } from '../../src/testing/fault-server.ts'
import { frames, Setting } from '../../src/testing/frames.ts'
import type { PoolOptions } from '../../types/index.ts'
import type { Harness } from '../support/clients/engines.ts'
import { ENGINES } from '../support/clients/engines.ts'
import { FakeClock } from '../support/clocks/fake-clock.ts'
import {
  ask,
  heard,
  PATIENT,
  SERVE,
  startHarness,
  startPeer,
  toConnector,
  toSocketConnector,
} from '../support/peers/peer-rig.ts'
import { toTlsPeer } from '../support/peers/peer-tls.ts'
import { KINDS, startTunnelProxy } from '../support/servers/tunnel-proxy.ts'

const LIMIT = 3_000
/** The back-off and the resolution of the clock, together. Milliseconds. */
const MARGIN = 250

/** Accepts the connection, and says nothing. */
const MUTE: ConnectionScript = { settings: null, acksPings: false }

/** SETTINGS with one entry: a part of them is no SETTINGS. */
const FIRST = frames.settings([Setting.MAX_CONCURRENT_STREAMS, 10])
/** RFC 9113 §4.1. Octets. */
const FRAME_HEADER = 9

const toLost = (peer: FaultServer): object => ({
  name: 'SocketError',
  code: 'UND_ERR_SOCKET',
  processed: 'maybe',
  message: `The connection was lost: ${peer.origin} sent no SETTINGS within connectTimeout (${LIMIT} ms)`,
  cause: expect.any(errors.ConnectTimeoutError),
})

/** How a connection is made, and which engines run over it. */
const LAYERS = [
  ['TCP', ENGINES],
  ['TLS', ENGINES],
  ['a socket of a connect function', ENGINES],
  ['a Duplex', ['wire']],
] as const

async function start(
  layer: (typeof LAYERS)[number][0],
  scripts: ConnectionScript | readonly ConnectionScript[],
  options: PoolOptions,
): Promise<{ peer: FaultServer; harness: Harness; clock: FakeClock }> {
  const clock = new FakeClock()
  const tls = layer === 'TLS' ? await toTlsPeer() : null
  const peer = await startPeer(scripts, tls?.options)
  const connect =
    tls !== null
      ? { connect: { ca: tls.ca } }
      : layer === 'TCP'
        ? {}
        : { connect: layer === 'a Duplex' ? toConnector(peer) : toSocketConnector(peer) }
  const harness = startHarness(peer, { ...PATIENT, connectTimeout: LIMIT, ...connect, ...options }, clock)
  return { peer, harness, clock }
}

/** The request has come, and nothing else will. */
const whole = (peer: FaultServer, count: number): Promise<unknown> =>
  peer.waitFor(() => peer.requests.filter(({ isComplete }) => isComplete).length === count)

describe.each(LAYERS)('a peer that accepts a connection and sends no SETTINGS, over %s', (layer, engines) => {
  describe.each(engines)('on engine %s', (engine) => {
    it('a GET is tried on another connection when connectTimeout is over, and not before', async () => {
      const { peer, harness, clock } = await start(layer, [MUTE, SERVE], { engine })
      const call = ask(harness, 'GET /')
      await whole(peer, 1)
      clock.advance(LIMIT - 1)
      expect(harness.connections).toEqual(['connect'])
      clock.advance(MARGIN)
      await call.settled
      expect(call.text).toBe('GET /')
      expect(harness.connections).toEqual(['connect', 'disconnect', 'connect'])
      expect(harness.errors).toEqual([expect.any(errors.ConnectTimeoutError)])
    })

    it('a POST that was sent fails as one that may have been processed; the next call gets another connection', async () => {
      const { peer, harness, clock } = await start(layer, [MUTE, SERVE], { engine })
      const post = ask(harness, 'POST /')
      await whole(peer, 1)
      clock.advance(LIMIT + MARGIN)
      await post.settled
      expect(post.error).toMatchObject(toLost(peer))
      const next = ask(harness, 'POST /next')
      await next.settled
      expect(next.text).toBe('POST /next')
    })

    it('calls that wait for the SETTINGS, and were not sent, are served on another connection', async () => {
      const { peer, harness, clock } = await start(layer, [MUTE, SERVE], { engine })
      const get = ask(harness, 'GET /')
      const late = ask(harness, 'POST /once', { body: Readable.from(['one ', 'two']) })
      await whole(peer, 1)
      clock.advance(LIMIT + MARGIN)
      await Promise.all([get.settled, late.settled])
      expect([get.text, late.text]).toEqual(['GET /', 'POST /once'])
      expect(peer.counts).toEqual({ 'GET /': 2, 'POST /once': 1 })
    })

    it.each([
      1,
      FRAME_HEADER,
      FIRST.length - 1,
    ])('SETTINGS of which only %i bytes come are none', async (length) => {
      const cut: ConnectionScript = {
        ...MUTE,
        onConnection: (connection) => void connection.writeCut(FIRST.subarray(0, length)),
      }
      const { peer, harness, clock } = await start(layer, [cut, SERVE], { engine })
      const call = ask(harness, 'GET /')
      await whole(peer, 1)
      clock.advance(LIMIT + MARGIN)
      await call.settled
      expect(call.text).toBe('GET /')
      expect(harness.connections).toEqual(['connect', 'disconnect', 'connect'])
    })

    it('SETTINGS that come in time end the wait, cut at each byte', async () => {
      const { peer, harness, clock } = await start(layer, MUTE, { engine })
      const call = ask(harness, 'GET /')
      await whole(peer, 1)
      clock.advance(LIMIT - 1)
      const connection = peer.connection(0)
      await connection.writeCut(FIRST, ...FIRST.keys())
      await peer.waitFor(() => connection.of('SETTINGS').length === 2)
      clock.advance(100 * LIMIT)
      expect(harness.connections).toEqual(['connect'])
      peer.requests[0]?.respond()
      await call.settled
      expect(call.text).toBe('GET /')
    })

    it('the connection is closed when no call is left on it, too', async () => {
      const { peer, harness, clock } = await start(layer, MUTE, { engine })
      const call = ask(harness, 'GET /')
      await whole(peer, 1)
      call.controller?.abort()
      clock.advance(LIMIT + MARGIN)
      await heard(harness, ['connect', 'disconnect'])
    })

    it('waits without a limit with connectTimeout: 0', async () => {
      const { peer, harness, clock } = await start(layer, MUTE, { engine, connectTimeout: 0 })
      const call = ask(harness, 'GET /')
      await whole(peer, 1)
      clock.advance(100 * LIMIT)
      expect(harness.connections).toEqual(['connect'])
      call.controller?.abort()
    })

    it('a connectTimeout of the request ends its wait for them, sent or not', async () => {
      const { peer, harness, clock } = await start(layer, MUTE, { engine })
      const sent = ask(harness, 'GET /', { connectTimeout: 1_000 })
      const body = Readable.from(['one'])
      const waiting = ask(harness, 'POST /once', { body, connectTimeout: 1_000 })
      await whole(peer, 1)
      clock.advance(999)
      expect([...sent.errors, ...waiting.errors]).toEqual([])
      clock.advance(MARGIN)
      expect(sent.error).toMatchObject({ code: 'UND_ERR_CONNECT_TIMEOUT', processed: 'maybe' })
      expect(waiting.error).toMatchObject({ code: 'UND_ERR_CONNECT_TIMEOUT', processed: 'no' })
    })

    it('a connectTimeout of the request goes on over the connections that are tried', async () => {
      const { peer, harness, clock } = await start(layer, MUTE, { engine })
      const call = ask(harness, 'GET /', { connectTimeout: LIMIT + 1_000 })
      await whole(peer, 1)
      clock.advance(LIMIT)
      await whole(peer, 2)
      clock.advance(999)
      expect(call.errors).toEqual([])
      clock.advance(MARGIN)
      expect(call.error).toMatchObject({ code: 'UND_ERR_CONNECT_TIMEOUT', processed: 'maybe', attempts: 2 })
    })
  })
})

describe.each(ENGINES)('a process that was busy when connectTimeout was over, on engine %s', (engine) => {
  it('reads the SETTINGS that have come meanwhile, and goes on', async () => {
    const { peer, harness, clock } = await start('TCP', MUTE, { engine })
    const call = ask(harness, 'GET /')
    await whole(peer, 1)
    clock.skip(LIMIT + 500)
    clock.advance(0)
    expect(harness.connections).toEqual(['connect'])
    const connection = peer.connection(0)
    connection.write(FIRST)
    await peer.waitFor(() => connection.of('SETTINGS').length === 2)
    clock.advance(100 * LIMIT)
    peer.requests[0]?.respond()
    await call.settled
    expect(harness.connections).toEqual(['connect'])
  })
})

describe.each(KINDS)('an origin that sends no SETTINGS, behind a proxy of %s', (kind) => {
  it.each(
    ENGINES,
  )('connectTimeout covers the proxy, the tunnel and the SETTINGS, on engine %s', async (engine) => {
    const { options } = await toTlsPeer()
    const peer = await startPeer(MUTE, options)
    const proxy = await startTunnelProxy(kind)
    const origin = `https://origin.test:${new URL(peer.origin).port}`
    const ask = async (connectTimeout: number): Promise<unknown> => {
      const agent = new ProxyAgent({
        ...{ uri: proxy.uri, engine, connectTimeout },
        ...{ proxyTls: { ca: proxy.ca }, requestTls: { rejectUnauthorized: false } },
      })
      onTestFinished(() => agent.destroy())
      return await agent.request({ origin, path: '/', method: 'POST', body: 'body' }).catch((e: Error) => e)
    }
    let connectTimeout = 400
    let error = await ask(connectTimeout)
    // On a busy machine the tunnel itself may take as long.
    while (error instanceof errors.ConnectTimeoutError) {
      connectTimeout *= 2
      error = await ask(connectTimeout)
    }
    expect(error).toMatchObject({
      name: 'SocketError',
      processed: 'maybe',
      message: `The connection was lost: ${origin} sent no SETTINGS within connectTimeout (${connectTimeout} ms)`,
    })
  })
})

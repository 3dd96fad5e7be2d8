import { describe, expect, it } from 'vitest'
import { Client } from '../../src/index.ts'
import type { ConnectionScript } from '../../src/testing/fault-connection.ts'
import { Setting, Type } from '../../src/testing/frames.ts'
import type { PoolOptions } from '../../types/index.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import { ENGINES } from '../support/clients/engines.ts'
import { FakeClock } from '../support/clocks/fake-clock.ts'
import { ask, startHarness, startPeer, toOutcomes } from '../support/peers/peer-rig.ts'

/** 1,001 at once make Node's server, and nghttpd, end a session. */
const BURST = 800
const RATE = 30
/** Those whose streams are younger than two seconds. */
const EARLY = 200

describe.each(ENGINES)('calls that are aborted at once, on engine %s', (engine) => {
  const options: PoolOptions = { engine, connections: 1, pingInterval: 60_000, pingTimeout: 15_000 }

  /** Responses what isn't one of the many. */
  const HOLD: ConnectionScript = {
    settings: [[Setting.MAX_CONCURRENT_STREAMS, 4_000]],
    onComplete: (stream) => stream.path === '/warm' && stream.respond(),
  }

  async function abortAll(count: number, script: ConnectionScript = HOLD) {
    const clock = new FakeClock()
    const peer = await startPeer(script)
    const harness = startHarness(peer, options, clock)
    expect(await toOutcomes([ask(harness, 'GET /warm')])).toEqual(['GET /warm'])
    const sibling = ask(harness, 'POST /sibling')
    const calls = Array.from({ length: count }, () => ask(harness, 'GET /many'))
    await peer.waitFor(() => peer.requests.filter(({ isComplete }) => isComplete).length === count + 2)
    const connection = peer.connection(0)
    // All that the peer has sent until now was read.
    await connection.ping()
    for (const call of calls) call.controller?.abort()
    return { clock, peer, harness, sibling, calls, connection }
  }

  it('three thousand settle at once, and their resets come at a rate that servers tolerate, with a PING', async () => {
    const { clock, peer, sibling, calls, connection } = await abortAll(3_000)
    for (const { events } of calls) expect(events).toEqual(['start', 'error'])
    await connection.ping()
    const resets = () => connection.of(Type.RST_STREAM).length
    await peer.waitFor(() => resets() === EARLY)
    for (let second = 1; second <= 5; second++) {
      const before = resets()
      for (let step = 0; step < 20; step++) {
        clock.advance(50)
        await connection.ping()
      }
      if (second > 2) expect(resets()).toBeGreaterThan(before)
      expect(resets()).toBeLessThanOrEqual(BURST + second * RATE)
    }
    expect(resets()).toBeGreaterThan(BURST)
    // One behind a hundred, or a second.
    expect(connection.pings.length).toBeLessThanOrEqual(16)
    peer.request('/sibling').respond()
    expect(await toOutcomes([sibling])).toEqual(['POST /sibling'])
    expect(peer.connections).toHaveLength(1)
  })

  it('a thousand leave no stream open once the server has responded to those that were not reset', async () => {
    const { harness, peer, sibling, connection } = await abortAll(1_000)
    await connection.ping()
    for (const stream of connection.streams) if (stream.isOpen) stream.respond()
    expect(await toOutcomes([sibling])).toEqual(['POST /sibling'])
    await connection.ping()
    expect(connection.open).toBe(0)
    expect(harness.scheduler.toSessionStats()).toMatchObject([{ streams: 0 }])
    expect(await toOutcomes([ask(harness, 'GET /warm')])).toEqual(['GET /warm'])
    expect(peer.connections).toHaveLength(1)
  })

  it('a few on a dead path: the PING gets no ACK, and the sibling fails', async () => {
    const { clock, peer, sibling, connection } = await abortAll(10, { ...HOLD, acksPings: false })
    connection.fallSilent()
    await peer.waitFor(() => connection.pings.length === 1)
    clock.advance(15_100)
    expect(await toOutcomes([sibling])).toEqual(['SocketError maybe code=null attempts=1 stream=3'])
    await peer.waitFor(() => connection.hasEnded)
  })

  it('seven hundred tunnels are reset at the same rate', async () => {
    const peer = await startPeer({
      settings: [[Setting.MAX_CONCURRENT_STREAMS, 4_000]],
      onRequest: (stream) => stream.head(200),
    })
    const client = destroyWithTest(new Client(peer.origin, options))
    const tunnels = await Promise.all(
      Array.from({ length: 700 }, () => client.connect({ path: 'example.test:80' })),
    )
    for (const { socket } of tunnels) socket.on('error', () => {}).destroy()
    const connection = peer.connection(0)
    await connection.ping()
    await connection.ping()
    const resets = connection.of(Type.RST_STREAM).length
    expect(resets).toBeGreaterThan(0)
    expect(resets).toBeLessThanOrEqual(BURST)
    expect(client.stats).toMatchObject({ running: 0, pending: 0 })
  })
})

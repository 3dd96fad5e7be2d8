import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, expect, it, vi } from 'vitest'
import { Agent, Client, Dispatcher, Pool } from '../../src/index.ts'
import { DEFAULT_ENGINE } from '../../src/options/options.ts'
import type { ConnectionScript } from '../../src/testing/fault-connection.ts'
import { Setting } from '../../src/testing/frames.ts'
import type { ConnectorCallback, PoolOptions } from '../../types/index.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import { Recorder } from '../support/clients/recorder.ts'
import { startPeer } from '../support/peers/peer-rig.ts'
import { startServer } from '../support/servers/server.ts'

const GET = { path: '/', method: 'GET' } as const
const UNLIMITED = 2 ** 32 - 1

/** Responds to `/warm`, and holds every other request. */
const HOLD: ConnectionScript = { onComplete: (stream) => stream.path === '/warm' && stream.respond() }

function withLimit(limit: number): ConnectionScript {
  return { ...HOLD, settings: [[Setting.MAX_CONCURRENT_STREAMS, limit]] }
}

function toPool(origin: string, options: PoolOptions = {}): Pool {
  return destroyWithTest(new Pool(origin, options))
}

/** Calls whose outcome does not matter, only the stats. */
function ask(dispatcher: Dispatcher, count: number, path = '/held'): void {
  for (let i = 0; i < count; i++) {
    dispatcher.request({ path: `${path}/${i}`, method: 'POST' }).catch(() => {})
  }
}

async function warm(dispatcher: Dispatcher): Promise<void> {
  const { body } = await dispatcher.request({ ...GET, path: '/warm' })
  expect(await body.text()).toBe('GET /warm')
}

/** No session has closed. */
const NONE = {
  ...{ age: 0, requests: 0, idle: 0, crowded: 0, goaway: 0, shut: 0, misdirected: 0 },
  ...{ lost: 0, unconnected: 0, closed: 0 },
}

describe('stats', () => {
  it('of a Client and a Pool before their first request: nothing', () => {
    expect(new Client('http://127.0.0.1:1').stats).toEqual({
      connected: false,
      pending: 0,
      running: 0,
      size: 0,
      sessions: [],
      ended: NONE,
      http1: { connections: 0, running: 0 },
    })
    expect(new Pool('http://127.0.0.1:1').stats).toEqual({
      connected: 0,
      free: 0,
      pending: 0,
      queued: 0,
      running: 0,
      size: 0,
      sessions: [],
      ended: NONE,
      http1: { connections: 0, running: 0 },
    })
    expect(new Agent().stats).toEqual({})
  })

  it('of a session that connects, and then is ready', async () => {
    const peer = await startPeer({ ...withLimit(7), settings: null })
    const callbacks: ConnectorCallback[] = []
    const pool = toPool(peer.origin, { connect: (_options, callback) => void callbacks.push(callback) })
    ask(pool, 3)
    expect(pool.stats).toMatchObject({ connected: 0, free: 0, pending: 3, queued: 3, running: 0, size: 3 })
    const [session] = pool.stats.sessions
    expect(session).toEqual({
      engine: DEFAULT_ENGINE,
      state: 'connecting',
      openedFor: 'cold',
      endedFor: null,
      origins: [peer.origin],
      streams: 0,
      requests: 0,
      peerLimit: null,
      limit: 100,
      streamWindow: expect.any(Number),
      rtt: null,
      bytesRead: 0,
      bytesWritten: 0,
    })
    // The connector is asked when the engine is loaded, which the first session of a process waits for.
    const callback = await vi.waitFor(() => callbacks[0] ?? expect.fail('the connector was not asked'), {
      timeout: 10_000,
      interval: 1,
    })
    callback(null, connect(Number(new URL(peer.origin).port), '127.0.0.1'))
    await peer.waitFor(() => peer.requests.length === 3)
    expect(pool.stats).toMatchObject({
      connected: 1,
      free: 0,
      pending: 0,
      running: 3,
      size: 3,
      sessions: [{ state: 'ready', openedFor: 'cold', streams: 3, peerLimit: null, limit: 100, rtt: null }],
    })
    await peer.connection(0).settings([Setting.MAX_CONCURRENT_STREAMS, 7])
    expect(pool.stats.sessions).toMatchObject([{ peerLimit: 7, limit: 7 }])
    await peer.connection(0).settings()
    expect(pool.stats.sessions).toMatchObject([{ peerLimit: 7 }])
  })

  it('is a snapshot', async () => {
    const peer = await startPeer(HOLD)
    const pool = toPool(peer.origin)
    await warm(pool)
    const before = pool.stats
    const copy = structuredClone(before)
    ask(pool, 2)
    await peer.waitFor(() => peer.requests.length === 3)
    expect(before).toEqual(copy)
    expect(pool.stats.running).toBe(2)
    expect(before.sessions).toMatchObject([{ state: 'ready', streams: 0, peerLimit: UNLIMITED }])
    expect(before.free).toBe(1)
  })

  it('of a session that was opened because the other was full', async () => {
    const peer = await startPeer(withLimit(2))
    const pool = toPool(peer.origin, { connections: 2 })
    await warm(pool)
    ask(pool, 7)
    await peer.waitFor(() => peer.requests.length === 5)
    await peer.connection(1).ping()
    expect(pool.stats).toMatchObject({
      connected: 2,
      free: 0,
      pending: 3,
      queued: 3,
      running: 4,
      size: 7,
      sessions: [
        { state: 'ready', openedFor: 'cold', streams: 2, peerLimit: 2, limit: 2 },
        { state: 'ready', openedFor: 'full', streams: 2, peerLimit: 2, limit: 2 },
      ],
    })
  })

  it('of a session that drains, and of its replacement', async () => {
    const peer = await startPeer(HOLD)
    const client = destroyWithTest(new Client(peer.origin))
    await warm(client)
    ask(client, 1)
    await peer.waitFor(() => peer.requests.length === 2)
    peer.connection(0).goAway({ lastStreamId: 3, code: 0 })
    await peer.connection(0).ping()
    expect(client.stats).toMatchObject({
      connected: false,
      running: 1,
      sessions: [{ state: 'draining', streams: 1 }],
    })
    ask(client, 1)
    await peer.waitFor(() => peer.requests.length === 3)
    await peer.connection(1).ping()
    expect(client.stats).toMatchObject({
      connected: true,
      pending: 0,
      running: 2,
      size: 2,
      sessions: [
        { state: 'draining', openedFor: 'cold', streams: 1 },
        { state: 'ready', openedFor: 'replacement', streams: 1 },
      ],
    })
    peer.request('/held/0').respond()
    const first = peer.connection(0).streams.at(-1)
    first?.respond()
    await peer.waitFor(() => peer.connection(0).isClosed)
    await expect.poll(() => client.stats.sessions).toMatchObject([{ openedFor: 'replacement' }])
  })

  it('of a session that was opened for the calls of a lost one', async () => {
    const peer = await startPeer(HOLD)
    const pool = toPool(peer.origin)
    await warm(pool)
    const call = pool.request({ ...GET, path: '/again' })
    call.catch(() => {})
    await peer.waitFor(() => peer.requests.length === 2)
    peer.connection(0).break()
    await peer.waitFor(() => peer.requests.length === 3)
    expect(pool.stats.sessions).toMatchObject([{ state: 'ready', openedFor: 'replacement', streams: 1 }])
    peer.request('/again').respond()
    expect(await (await call).body.text()).toBe('GET /again')
  })

  it('of a session that follows one without calls: it was opened as cold', async () => {
    const peer = await startPeer(HOLD)
    const pool = toPool(peer.origin)
    await warm(pool)
    const gone = once(pool, 'disconnect')
    peer.connection(0).break()
    await gone
    expect(pool.stats).toMatchObject({ connected: 0, sessions: [] })
    await warm(pool)
    expect(pool.stats.sessions).toMatchObject([{ openedFor: 'cold' }])
  })

  it.each([false, true])('count the bytes of a session, over TLS: %s', async (tls) => {
    const { origin, ca } = await startServer(
      (stream) => {
        stream.resume()
        stream.respond({ ':status': 200 })
        stream.on('end', () => stream.end(Buffer.alloc(300_000)))
      },
      { tls },
    )
    const client = destroyWithTest(new Client(origin, { connect: tls ? { ca } : {} }))
    const seen: number[][] = []
    for (let i = 0; i < 2; i++) {
      const { body } = await client.request({ path: '/', method: 'POST', body: Buffer.alloc(100_000) })
      expect((await body.bytes()).length).toBe(300_000)
      const [session] = client.stats.sessions
      seen.push([session?.bytesRead ?? 0, session?.bytesWritten ?? 0])
    }
    // Framing is small, beside the bodies.
    for (const [i, [bytesRead = 0, bytesWritten = 0]] of seen.entries()) {
      expect(bytesRead).toBeGreaterThan(300_000 * (i + 1))
      expect(bytesRead).toBeLessThan(310_000 * (i + 1))
      expect(bytesWritten).toBeGreaterThan(100_000 * (i + 1))
      expect(bytesWritten).toBeLessThan(110_000 * (i + 1))
    }
  })

  it('have the round trip of a PING once it was acknowledged', async () => {
    const peer = await startPeer(HOLD)
    const pool = toPool(peer.origin, { pingInterval: 1 })
    ask(pool, 1)
    await expect.poll(() => pool.stats.sessions[0]?.rtt).not.toBe(null)
    const rtt = pool.stats.sessions[0]?.rtt
    expect(rtt).toBeGreaterThan(0)
    expect(rtt).toBeLessThan(10_000)
    expect(peer.connection(0).pings.length).toBeGreaterThan(0)
  })

  it('of an Agent are those of each origin, by the name that URL.origin has', async () => {
    const peers = [await startPeer(HOLD), await startPeer(HOLD)]
    const agent = destroyWithTest(new Agent({ h2c: true }))
    for (const { origin } of peers) {
      const { body } = await agent.request({ ...GET, path: '/warm', origin: `${origin}/`.toUpperCase() })
      await body.text()
    }
    expect(Object.keys(agent.stats)).toEqual(peers.map(({ origin }) => origin))
    for (const { origin } of peers) {
      expect(agent.stats[origin]).toMatchObject({
        connected: 1,
        free: 1,
        size: 0,
        sessions: [{ openedFor: 'cold' }],
      })
    }
  })

  it('of an Agent leave out dispatchers of a factory that have none', async () => {
    class Silent extends Dispatcher {
      readonly closed = false
      readonly destroyed = false
      override dispatch(): boolean {
        return true
      }
      override close(): never {
        throw new Error('It is not closed')
      }
      override destroy(): never {
        throw new Error('It is not destroyed')
      }
    }
    const agent = new Agent({ h2c: true, factory: () => new Silent() })
    agent.dispatch({ ...GET, origin: 'http://localhost' }, new Recorder())
    expect(agent.stats).toEqual({})
  })
})

import { once } from 'node:events'
import type { ServerHttp2Stream } from 'node:http2'
import { createServer } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Pool } from '../../src/index.ts'
import type { ConnectionScript, FaultConnection } from '../../src/testing/fault-connection.ts'
import type { FaultServer } from '../../src/testing/fault-server.ts'
import type { FaultStream } from '../../src/testing/fault-stream.ts'
import { Flag, frames, Setting, Type } from '../../src/testing/frames.ts'
import type { DispatchOptions, PoolOptions } from '../../types/index.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import { ENGINES } from '../support/clients/engines.ts'
import type { Recorder } from '../support/clients/recorder.ts'
import { CANCEL, INTERNAL_ERROR, NO_ERROR } from '../support/peers/error-codes.ts'
import { ask, startHarness, startPeer, toOutcomes } from '../support/peers/peer-rig.ts'

/** A turn of the event loop. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** The frames that matter, in the order in which the peer has read them. */
function toTalk(peer: FaultServer): string[] {
  const isOurs = (type: number, flags: number) => type === Type.PING && (flags & Flag.ACK) === 0
  return peer
    .connection(0)
    .frames.filter(
      ({ type, flags }) => type === Type.RST_STREAM || type === Type.HEADERS || isOurs(type, flags),
    )
    .map(({ name, streamId }) => `${name} ${streamId}`)
}

/** Sends the ACK of the client's first PING. */
function acknowledge(connection: FaultConnection): void {
  const [ping] = connection.pings
  if (ping !== undefined) connection.write(frames.ping(ping.payload, Flag.ACK))
}

describe.each(ENGINES)('the place of a stream that was reset, on engine %s', (engine) => {
  const options: PoolOptions = { engine, connections: 1 }

  function toScript(limit: number, more: ConnectionScript = {}): ConnectionScript {
    return {
      settings: [[Setting.MAX_CONCURRENT_STREAMS, limit]],
      onComplete: (stream) => /^.(hang|body)/.test(stream.path) || stream.respond(),
      onRequest: (stream) => stream.path === '/body' && stream.head(200),
      ...more,
    }
  }

  /** Fills all places, while one more call waits. */
  async function fill(limit: number, script: ConnectionScript = toScript(limit), given = options) {
    const peer = await startPeer(script)
    const harness = startHarness(peer, given)
    expect(await toOutcomes([ask(harness, 'GET /warm')])).toEqual(['GET /warm'])
    const hanging = Array.from({ length: limit }, () => ask(harness, 'GET /hang'))
    await peer.waitFor(() => peer.connection(0).open === limit)
    const waiting = ask(harness, 'GET /next')
    return { peer, harness, hanging, waiting }
  }

  const abortAll = (calls: readonly Recorder[]): void => {
    for (const call of calls) call.controller?.abort()
  }

  describe.each([1, 2, 10])('at a limit of %i', (limit) => {
    it('is given to the next call only once the server has acknowledged the PING behind the reset', async () => {
      const { peer, hanging, waiting } = await fill(limit, toScript(limit, { acksPings: false }))
      abortAll(hanging)
      const connection = peer.connection(0)
      await peer.waitFor(() => connection.pings.length === 1)
      const before = toTalk(peer)
      expect(before.at(-1)).toBe('PING 0')
      expect(before.filter((entry) => entry.startsWith('RST_STREAM'))).toHaveLength(limit)
      for (let i = 0; i < 20; i++) await turn()
      await connection.ping()
      expect(toTalk(peer)).toEqual(before)
      acknowledge(connection)
      expect(await toOutcomes([waiting])).toEqual(['GET /next'])
      expect(connection.maxOpen).toBeLessThanOrEqual(limit)
    })

    it('holds no call back that the server has room for', async () => {
      const { peer, harness, hanging, waiting } = await fill(limit, toScript(limit, { acksPings: false }))
      abortAll(hanging.slice(1))
      peer.requests.find(({ path }) => path === '/hang')?.respond()
      expect(await toOutcomes([waiting])).toEqual(['GET /next'])
      await expect.poll(() => harness.scheduler.pending).toBe(0)
    })
  })

  it('is given to no call before the SETTINGS have come: they may say that it is the last one', async () => {
    const peer = await startPeer({ settings: null, acksPings: false, onComplete: () => {} })
    const harness = startHarness(peer, options)
    const first = ask(harness, 'GET /hang')
    await peer.waitFor(() => peer.connections[0]?.streams.length === 1)
    first.controller?.abort()
    const connection = peer.connection(0)
    await peer.waitFor(() => connection.frames.some(({ type }) => type === Type.RST_STREAM))
    const waiting = ask(harness, 'GET /next')
    for (let i = 0; i < 20; i++) await turn()
    expect(connection.streams).toHaveLength(1)
    await connection.settings([Setting.MAX_CONCURRENT_STREAMS, 2])
    await peer.waitFor(() => connection.streams.length === 2)
    connection.streams[1]?.respond()
    expect(await toOutcomes([waiting])).toEqual(['GET /next'])
  })

  const CASES: readonly { what: string; path: string; given: Partial<DispatchOptions> }[] = [
    { what: 'an aborted call without a response', path: 'GET /hang', given: {} },
    { what: 'an aborted response', path: 'GET /body', given: {} },
    { what: 'a call that is late', path: 'GET /hang', given: { headersTimeout: 50 } },
    { what: 'a body that is late', path: 'GET /body', given: { bodyTimeout: 50 } },
    { what: 'an aborted upload', path: 'POST /hang', given: { body: () => new Readable({ read() {} }) } },
    { what: 'a response that is too large', path: 'GET /large', given: { maxResponseSize: 2 } },
  ]

  it.each(CASES)('waits for the ACK behind $what', async ({ path, given }) => {
    const script: ConnectionScript = toScript(1, {
      acksPings: false,
      onComplete: (stream) => {
        if (stream.path === '/large') {
          stream.head(200)
          stream.data('large')
        } else if (!/^.(hang|body)/.test(stream.path)) {
          stream.respond()
        }
      },
    })
    const peer = await startPeer(script)
    const harness = startHarness(peer, options)
    expect(await toOutcomes([ask(harness, 'GET /warm')])).toEqual(['GET /warm'])
    const call = ask(harness, path, given)
    const connection = peer.connection(0)
    await peer.waitFor(() => connection.streams.length === 2)
    const waiting = ask(harness, 'GET /next')
    if (Object.keys(given).every((name) => name === 'body')) {
      if (path === 'GET /body') await expect.poll(() => call.statuses).toEqual([200])
      call.controller?.abort()
    }
    await peer.waitFor(() => connection.pings.length === 1)
    await connection.ping()
    expect(toTalk(peer).slice(-2)).toEqual(['RST_STREAM 3', 'PING 0'])
    acknowledge(connection)
    expect(await toOutcomes([waiting])).toEqual(['GET /next'])
  })

  const PEERS: readonly {
    what: string
    call: string
    act: (stream: FaultStream) => void
    outcome: string
  }[] = [
    {
      what: 'resets an upload with NO_ERROR behind its response',
      call: 'POST /peer',
      act: (stream) => {
        stream.head(413)
        stream.end()
        stream.reset(NO_ERROR)
      },
      outcome: '',
    },
    {
      what: 'resets an upload with NO_ERROR in place of END_STREAM',
      call: 'POST /peer',
      act: (stream) => {
        stream.head(413, { 'content-length': '3' })
        stream.data('big')
        stream.reset(NO_ERROR)
      },
      outcome: 'big',
    },
    {
      what: 'resets an upload without a response',
      call: 'POST /peer',
      act: (stream) => stream.reset(CANCEL),
      outcome: 'StreamError code=8 attempts=1 stream=3',
    },
    {
      what: 'resets a request that is whole',
      call: 'GET /peer',
      act: (stream) => stream.reset(INTERNAL_ERROR),
      outcome: 'StreamError code=2 attempts=1 stream=3',
    },
    {
      what: 'makes the client reset a malformed response',
      call: 'GET /peer',
      act: (stream) => stream.head(200, { 'Upper-Case': 'malformed' }),
      outcome: 'StreamError code=1 attempts=1 stream=3',
    },
  ]

  it.each(PEERS)('waits for the ACK where the server $what', async ({ call, act, outcome }) => {
    const peer = await startPeer({
      ...toScript(1, { acksPings: false }),
      onRequest: (stream) => stream.path === '/peer' && act(stream),
      onComplete: (stream) => stream.path === '/peer' || stream.respond(),
    })
    const harness = startHarness(peer, options)
    expect(await toOutcomes([ask(harness, 'GET /warm')])).toEqual(['GET /warm'])
    const body = call.startsWith('POST') ? { body: () => new Readable({ read() {} }) } : {}
    const asked = ask(harness, call, body)
    const waiting = ask(harness, 'GET /next')
    const connection = peer.connection(0)
    const [ended = ''] = await toOutcomes([asked])
    expect(ended.replace(/ (yes|maybe)/, '')).toBe(outcome)
    await peer.waitFor(() => connection.pings.length === 1)
    for (let i = 0; i < 20; i++) await turn()
    await connection.ping()
    expect(toTalk(peer).at(-1)).toBe('PING 0')
    acknowledge(connection)
    expect(await toOutcomes([waiting])).toEqual(['GET /next'])
    expect(connection.maxOpen).toBe(1)
  })

  it('is free at once, without a PING, where both sides have ended the stream', async () => {
    const peer = await startPeer(toScript(1, { acksPings: false }))
    const harness = startHarness(peer, options)
    const calls = ['GET /0', 'POST /1', 'HEAD /2', 'POST /3']
    expect(await toOutcomes(calls.map((each) => ask(harness, each)))).toHaveLength(4)
    expect(toTalk(peer)).toEqual([1, 3, 5, 7].map((id) => `HEADERS ${id}`))
  })

  it('is free once the second PING is acknowledged when one was in flight before', async () => {
    const { peer, hanging, waiting } = await fill(2, toScript(2, { acksPings: false }))
    const connection = peer.connection(0)
    hanging[0]?.controller?.abort()
    await peer.waitFor(() => connection.pings.length === 1)
    hanging[1]?.controller?.abort()
    await peer.waitFor(() => connection.of(Type.RST_STREAM).length === 2)
    acknowledge(connection)
    expect(await toOutcomes([waiting])).toEqual(['GET /next'])
    await peer.waitFor(() => connection.pings.length === 2)
    expect(connection.maxOpen).toBe(2)
  })

  it('costs no PING, and no call waits, far from the limit', async () => {
    const peer = await startPeer(toScript(100))
    const harness = startHarness(peer, { ...options, pingInterval: 60_000 })
    expect(await toOutcomes([ask(harness, 'GET /warm')])).toEqual(['GET /warm'])
    for (let i = 0; i < 10; i++) {
      const hanging = ask(harness, 'GET /hang')
      await peer.waitFor(() => peer.connection(0).open === 1)
      hanging.controller?.abort()
      expect(await toOutcomes([ask(harness, 'GET /next')])).toEqual(['GET /next'])
    }
    // The one that goes with a reset once a second.
    expect(peer.connection(0).pings.length).toBeLessThanOrEqual(1 + Math.ceil(performance.now() / 1_000))
    expect(peer.connection(0).of(Type.RST_STREAM)).toHaveLength(10)
  })

  it('is free at once where no PING may be sent', async () => {
    const { peer, hanging, waiting } = await fill(2, toScript(2), { ...options, pingInterval: 0 })
    abortAll(hanging)
    expect(await toOutcomes([waiting])).toEqual(['GET /next'])
    expect(peer.connection(0).pings).toEqual([])
  })

  it('opens no second connection while the ACK is under way', async () => {
    const { peer, harness, hanging, waiting } = await fill(2, toScript(2, { acksPings: false }), {
      ...options,
      connections: 4,
    })
    // The call that waits has opened the second one, since the first is full.
    expect(await toOutcomes([waiting])).toEqual(['GET /next'])
    const more = Array.from({ length: 2 }, () => ask(harness, 'GET /hang'))
    await peer.waitFor(() => peer.connections[1]?.open === 2)
    abortAll([...hanging, ...more])
    await peer.waitFor(() => peer.connections.every(({ pings }) => pings.length === 1))
    const next = ask(harness, 'GET /next')
    for (let i = 0; i < 20; i++) await turn()
    expect(peer.connections).toHaveLength(2)
    for (const connection of peer.connections) acknowledge(connection)
    expect(await toOutcomes([next])).toEqual(['GET /next'])
  })

  it('costs no other call at a full server of Node’s', async () => {
    const limit = 4
    const server = createServer({ settings: { maxConcurrentStreams: limit } })
    let count = 0
    server.on('stream', (stream: ServerHttp2Stream) => {
      stream.on('error', () => {})
      stream.resume()
      if (count++ % 5 === 0) return
      setTimeout(() => {
        if (stream.destroyed) return
        stream.respond({ ':status': 200 })
        stream.end('ok')
      }, 5)
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => void server.close())
    const { port } = server.address() as AddressInfo
    const pool = destroyWithTest(new Pool(`http://127.0.0.1:${port}`, { engine, connections: 1 }))
    const outcomes = { served: 0, late: 0, failed: [] as unknown[] }
    const caller = async (): Promise<void> => {
      for (let i = 0; i < 25; i++) {
        try {
          // The queue is longer than that.
          const limits = { headersTimeout: 300, queueTimeout: 60_000 }
          const response = await pool.request({ path: '/', method: 'POST', body: '{}', ...limits })
          await response.body.text()
          outcomes.served++
        } catch (error) {
          if (error instanceof Error && error.name === 'HeadersTimeoutError') outcomes.late++
          else outcomes.failed.push(error)
        }
      }
    }
    await Promise.all(Array.from({ length: 3 * limit }, caller))
    expect(outcomes.failed).toEqual([])
    expect(outcomes.served + outcomes.late).toBe(300)
    expect(outcomes.late).toBeGreaterThanOrEqual(60)
  })
})

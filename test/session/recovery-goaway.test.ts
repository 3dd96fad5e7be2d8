import { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import type { ConnectionScript, FaultConnection } from '../../src/testing/fault-connection.ts'
import { MAX_STREAM_ID, Setting } from '../../src/testing/frames.ts'
import type { PoolOptions } from '../../types/index.ts'
import { ENGINES } from '../support/clients/engines.ts'
import { FakeClock } from '../support/clocks/fake-clock.ts'
import { NO_ERROR, REFUSED_STREAM } from '../support/peers/error-codes.ts'
import { ask, heard, SERVE, startHarness, startPeer, toOutcomes } from '../support/peers/peer-rig.ts'

/** NGHTTP2_ERR_CALLBACK_FAILURE, -902, as Apache sends it. */
const CALLBACK_FAILURE = 0xffff_fc7a

/** Says so, and breaks the connection once it was heard: engine `wire` waits for that, node:http2 doesn't. */
function leaving(lastStreamId: number, code: number, debugData = '') {
  return (connection: FaultConnection): void => {
    connection.goAway({ lastStreamId, code, debugData })
    // It fails where the client was faster.
    void connection.ping().then(
      () => connection.break(),
      () => {},
    )
  }
}

describe.each(ENGINES)('a peer that sends GOAWAY, on engine %s', (engine) => {
  const options: PoolOptions = { engine, connections: 1 }

  /** Takes so many streams on its first connection, does something, and responds to whatever comes on later ones. */
  function retiring(count: number, act: (connection: FaultConnection) => void): readonly ConnectionScript[] {
    const first: ConnectionScript = {
      settings: [[Setting.MAX_CONCURRENT_STREAMS, count]],
      onComplete: (_stream, connection) => {
        if (connection.streams.filter(({ isComplete }) => isComplete).length === count) act(connection)
      },
    }
    return [first, SERVE]
  }

  /** Paths of a connection, in the order of their HEADERS. */
  const pathsOf = (connection: FaultConnection): string[] => connection.streams.map(({ path }) => path)

  it('before any stream: all calls get their responses on the next connection', async () => {
    const peer = await startPeer([
      { onConnection: (connection) => connection.goAway({ lastStreamId: 0, code: NO_ERROR }) },
      SERVE,
    ])
    const harness = startHarness(peer, options)
    const calls = [
      ask(harness, 'GET /0'),
      ask(harness, 'POST /1'),
      ask(harness, 'POST /2', { body: () => Readable.from(['made again']) }),
    ]
    expect(await toOutcomes(calls)).toEqual(['GET /0', 'POST /1', 'POST /2'])
    expect(peer.connections).toHaveLength(2)
    expect(pathsOf(peer.connection(1))).toEqual(['/0', '/1', '/2'])
  })

  it('before any stream: a body that can be read only once has waited, and is sent once', async () => {
    const peer = await startPeer([
      { onConnection: (connection) => connection.goAway({ lastStreamId: 0, code: NO_ERROR }) },
      SERVE,
    ])
    const harness = startHarness(peer, options)
    const calls = [ask(harness, 'GET /0'), ask(harness, 'POST /1', { body: Readable.from(['only once']) })]
    expect(await toOutcomes(calls)).toEqual(['GET /0', 'POST /1'])
    expect(pathsOf(peer.connection(0))).not.toContain('/1')
    expect(peer.request('/1').text).toBe('only once')
  })

  it('among streams: replayed calls are sent in dispatch order, and before later calls', async () => {
    const peer = await startPeer(
      retiring(4, (connection) => connection.goAway({ lastStreamId: 3, code: NO_ERROR })),
    )
    const harness = startHarness(peer, options)
    // Before its SETTINGS a limit isn't known: the first call is there to learn it.
    const first = ask(harness, 'GET /0')
    await peer.waitFor(() => peer.requests.length === 1)
    await peer.connection(0).ping()
    const rest = Array.from({ length: 9 }, (_, i) =>
      ask(harness, `${i % 2 === 0 ? 'POST' : 'GET'} /${i + 1}`),
    )
    expect(harness.scheduler.pending).toBe(6)
    await Promise.all(rest.slice(1).map((call) => call.settled))
    expect(pathsOf(peer.connection(0))).toEqual(['/0', '/1', '/2', '/3'])
    expect(pathsOf(peer.connection(1))).toEqual(['/2', '/3', '/4', '/5', '/6', '/7', '/8', '/9'])
    for (const path of ['/0', '/1']) peer.request(path).respond('late')
    expect((await toOutcomes([first, ...rest])).slice(0, 3)).toEqual(['late', 'late', 'GET /2'])
  })

  it('among streams: a body that can be read only once fails its call, as unprocessed', async () => {
    const peer = await startPeer(
      // Credit for a body would contradict the GOAWAY.
      retiring(2, (connection) =>
        connection.goAway({ lastStreamId: 1, code: NO_ERROR, debugData: 'moving' }),
      ).map((script) => ({ ...script, grantsCredit: false })),
    )
    const harness = startHarness(peer, options)
    const first = ask(harness, 'GET /0')
    await peer.waitFor(() => peer.requests.length === 1)
    await peer.connection(0).ping()
    const gone = ask(harness, 'POST /1', { body: Readable.from(['only once']) })
    await gone.settled
    expect(gone.error).toMatchObject({ processed: 'no', attempts: 1, streamId: 3 })
    expect(String(Object(gone.error).goawayDebugData)).toBe('moving')
    peer.request('/0').respond()
    expect(await toOutcomes([first])).toEqual(['GET /0'])
    expect(peer.counts).toEqual({ 'GET /0': 1, 'POST /1': 1 })
  })

  it('after all streams: the next call goes to another connection, and none is sent twice', async () => {
    const peer = await startPeer([SERVE, SERVE])
    const harness = startHarness(peer, options)
    const before = [ask(harness, 'GET /0'), ask(harness, 'POST /1')]
    expect(await toOutcomes(before)).toEqual(['GET /0', 'POST /1'])
    peer.connection(0).goAway({ lastStreamId: 3, code: NO_ERROR })
    await heard(harness, ['connect', 'disconnect'])
    const next = [ask(harness, 'POST /2'), ask(harness, 'GET /3')]
    expect(await toOutcomes(next)).toEqual(['POST /2', 'GET /3'])
    expect(peer.ledger).toEqual(['0/1 GET /0', '0/3 POST /1', '1/1 POST /2', '1/3 GET /3'])
  })

  it('after all streams, while the next call is in flight: that one is replayed', async () => {
    const peer = await startPeer([
      { onComplete: (stream) => stream.path !== '/2' && stream.respond() },
      SERVE,
    ])
    const harness = startHarness(peer, options)
    expect(await toOutcomes([ask(harness, 'GET /0')])).toEqual(['GET /0'])
    const crossing = ask(harness, 'POST /2')
    await peer.waitFor(() => peer.requests.length === 2)
    peer.connection(0).goAway({ lastStreamId: 1, code: NO_ERROR })
    expect(await toOutcomes([crossing])).toEqual(['POST /2'])
    expect(peer.ledger).toEqual(['0/1 GET /0', '0/3 POST /2', '1/1 POST /2'])
  })

  it('in two steps: no call is replayed at the first, and only those above the last id at the second', async () => {
    const peer = await startPeer(
      retiring(3, (connection) => connection.goAway({ lastStreamId: MAX_STREAM_ID, code: NO_ERROR })),
    )
    const harness = startHarness(peer, options)
    const calls = ['GET /0', 'POST /1', 'POST /2'].map((each) => ask(harness, each))
    await peer.waitFor(() => peer.requests.length === 3)
    // The client has heard of it then.
    await peer.connection(0).ping()
    const newer = ask(harness, 'POST /3')
    expect(await toOutcomes([newer])).toEqual(['POST /3'])
    expect(peer.ledger.slice(3)).toEqual(['1/1 POST /3'])
    peer.connection(0).goAway({ lastStreamId: 3, code: NO_ERROR })
    expect(await toOutcomes(calls.slice(2))).toEqual(['POST /2'])
    peer.request('/0').respond()
    peer.request('/1').respond()
    expect(await toOutcomes(calls)).toEqual(['GET /0', 'POST /1', 'POST /2'])
    expect(peer.ledger.slice(4)).toEqual(['1/3 POST /2'])
    expect(peer.connections).toHaveLength(2)
  })

  it('and then breaks the connection: what it accepted fails as maybe processed or, where safe, is replayed', async () => {
    const peer = await startPeer(
      retiring(3, (connection) => {
        connection.goAway({ lastStreamId: 5, code: NO_ERROR, debugData: 'restarting' })
        void connection.ping().then(() => connection.break())
      }),
    )
    const harness = startHarness(peer, options)
    const calls = ['GET /0', 'POST /1', 'GET /2'].map((each) => ask(harness, each))
    const lost = 'SocketError maybe code=null attempts=1 stream=3'
    expect(await toOutcomes(calls)).toEqual(['GET /0', lost, 'GET /2'])
    expect(String(Object(calls[1]?.error).goawayDebugData)).toBe('restarting')
    expect(peer.ledger.slice(3)).toEqual(['1/1 GET /0', '1/3 GET /2'])
  })

  it('with the code REFUSED_STREAM: calls above the last id are not counted as refused, and are sent again at once', async () => {
    const leave: ConnectionScript = {
      onComplete: (stream, connection) => {
        if (stream.path === '/warm') stream.respond()
        else connection.goAway({ lastStreamId: Math.max(0, stream.id - 2), code: REFUSED_STREAM })
      },
    }
    const peer = await startPeer([leave, leave, SERVE])
    // It stands still: what is refused twice would wait.
    const harness = startHarness(peer, options, new FakeClock())
    expect(await toOutcomes([ask(harness, 'GET /warm')])).toEqual(['GET /warm'])
    expect(await toOutcomes([ask(harness, 'POST /x')])).toEqual(['POST /x'])
    expect(peer.ledger.slice(1)).toEqual(['0/3 POST /x', '1/1 POST /x', '2/1 POST /x'])
  })

  it('with the code REFUSED_STREAM: accepted calls are not treated as refused', async () => {
    const peer = await startPeer(retiring(3, leaving(3, REFUSED_STREAM)))
    const harness = startHarness(peer, options)
    const calls = ['POST /0', 'POST /1', 'POST /2'].map((each) => ask(harness, each))
    const lost = (stream: number) => `SocketError maybe code=7 attempts=1 stream=${stream}`
    expect(await toOutcomes(calls)).toEqual([lost(1), lost(3), 'POST /2'])
    expect(peer.ledger.slice(3)).toEqual(['1/1 POST /2'])
  })

  it('with a negative number for its code: a server that has failed within is not relied on for what it has not processed', async () => {
    const peer = await startPeer(
      retiring(4, leaving(3, CALLBACK_FAILURE, 'The user callback function failed')),
    )
    const harness = startHarness(peer, options)
    const what = ['GET /0', 'POST /1', 'GET /2', 'POST /3']
    const calls = what.map((each) => ask(harness, each))
    const lost = (stream: number) => `SocketError maybe code=${CALLBACK_FAILURE} attempts=1 stream=${stream}`
    expect(await toOutcomes(calls)).toEqual(['GET /0', lost(3), 'GET /2', lost(7)])
    const replayed = peer.ledger.slice(4).map((entry) => entry.replace(/\d+ /, ''))
    expect(replayed.toSorted()).toEqual(['1/GET /0', '1/GET /2'])
  })
})

import { describe, expect, it } from 'vitest'
import type { FaultConnection } from '../../src/testing/fault-connection.ts'
import type { DispatchOptions, PoolOptions } from '../../types/index.ts'
import { ENGINES } from '../support/clients/engines.ts'
import {
  CANCEL,
  ENHANCE_YOUR_CALM,
  INTERNAL_ERROR,
  NO_ERROR,
  REFUSED_STREAM,
} from '../support/peers/error-codes.ts'
import { ask, SERVE, startHarness, startPeer, toConnector, toOutcomes } from '../support/peers/peer-rig.ts'
import { toTlsPeer } from '../support/peers/peer-tls.ts'

const TRANSPORTS = ENGINES.flatMap((engine) =>
  (['TCP', 'TLS', 'a Duplex'] as const)
    .filter((transport) => engine === 'wire' || transport !== 'a Duplex')
    .map((transport) => [engine, transport] as const),
)

/** As lighttpd does when it stops: it resets what runs, and says GOAWAY with an error. */
describe.each(
  TRANSPORTS,
)('a peer that resets its streams and sends GOAWAY, on engine %s over %s', (engine, transport) => {
  async function begin(
    what: readonly string[],
    options: Partial<DispatchOptions> = {},
    given: PoolOptions = {},
  ) {
    const { options: tls, ca } = transport === 'TLS' ? await toTlsPeer() : { options: {}, ca: '' }
    const peer = await startPeer([{ grantsCredit: false }, SERVE], tls)
    const connect = transport === 'TLS' ? { ca } : transport === 'a Duplex' ? toConnector(peer) : {}
    const harness = startHarness(peer, { engine, connections: 1, connect, ...given })
    const calls = what.map((each) => ask(harness, each, options))
    await peer.waitFor(() => peer.requests.filter(({ isComplete }) => isComplete).length === what.length)
    return { peer, calls, connection: peer.connection(0) }
  }

  function resetAll({ streams }: FaultConnection, code: number): void {
    for (const stream of streams) stream.reset(code)
  }

  const orders: Readonly<Record<string, (connection: FaultConnection, reset: number, code: number) => void>> =
    {
      'RST_STREAM first'(connection, reset, code) {
        resetAll(connection, reset)
        connection.goAway({ code })
      },
      'GOAWAY first'(connection, reset, code) {
        connection.goAway({ code })
        resetAll(connection, reset)
      },
    }

  describe.each(Object.keys(orders))('in one read, %s', (order) => {
    it.each([
      NO_ERROR,
      INTERNAL_ERROR,
      CANCEL,
    ])('with an error › repeats what is safe, once, and nothing else: reset with %i', async (reset) => {
      const { peer, calls, connection } = await begin(['GET /0', 'POST /1', 'HEAD /2'])
      connection.inOneSegment(() => orders[order]?.(connection, reset, ENHANCE_YOUR_CALM))
      const lost = `StreamError maybe code=${reset} attempts=1 stream=3`
      expect(await toOutcomes(calls)).toEqual(['GET /0', lost, ''])
      expect(peer.counts).toEqual({ 'GET /0': 2, 'POST /1': 1, 'HEAD /2': 2 })
      expect(calls[2]?.statuses).toEqual([200])
    })

    it('with NO_ERROR › repeats nothing', async () => {
      const { peer, calls, connection } = await begin(['GET /0', 'POST /1'])
      connection.inOneSegment(() => orders[order]?.(connection, INTERNAL_ERROR, NO_ERROR))
      expect(await toOutcomes(calls)).toEqual([
        'StreamError maybe code=2 attempts=1 stream=1',
        'StreamError maybe code=2 attempts=1 stream=3',
      ])
      expect(peer.counts).toEqual({ 'GET /0': 1, 'POST /1': 1 })
    })

    it('with an error, for a call with replaySafe: false › fails as the connection does', async () => {
      const { calls, connection } = await begin(['GET /0'], {}, { replaySafe: false })
      connection.inOneSegment(() => orders[order]?.(connection, CANCEL, ENHANCE_YOUR_CALM))
      expect(await toOutcomes(calls)).toEqual(['SocketError maybe code=11 attempts=1 stream=1'])
    })

    it('with an error, for a call that isn’t idempotent by its option › fails as its stream does', async () => {
      const { calls, connection } = await begin(['GET /0'], { idempotent: false })
      connection.inOneSegment(() => orders[order]?.(connection, CANCEL, ENHANCE_YOUR_CALM))
      expect(await toOutcomes(calls)).toEqual(['StreamError maybe code=8 attempts=1 stream=1'])
    })

    it('with an error, after a part of the response › fails the call', async () => {
      const { peer, calls, connection } = await begin(['GET /0', 'GET /1'])
      connection.inOneSegment(() => {
        connection.streams[0]?.head(200)
        connection.streams[1]?.inform(103)
        orders[order]?.(connection, CANCEL, ENHANCE_YOUR_CALM)
      })
      const [first, second] = await toOutcomes(calls)
      expect(first).toBe('StreamError yes code=8 attempts=1 stream=1')
      expect(second).toBe('SocketError maybe code=11 attempts=1 stream=3')
      expect(peer.counts).toEqual({ 'GET /0': 1, 'GET /1': 1 })
    })
  })

  it('with REFUSED_STREAM and an error › repeats all', async () => {
    const { calls, connection } = await begin(['GET /0', 'POST /1'])
    connection.inOneSegment(() => orders['RST_STREAM first']?.(connection, REFUSED_STREAM, ENHANCE_YOUR_CALM))
    expect(await toOutcomes(calls)).toEqual(['GET /0', 'POST /1'])
  })

  it('a reset alone fails its call, and its connection goes on', async () => {
    const { peer, calls, connection } = await begin(['GET /0', 'GET /1'])
    connection.streams[0]?.reset(CANCEL)
    await connection.ping()
    connection.streams[1]?.respond()
    expect(await toOutcomes(calls)).toEqual(['StreamError maybe code=8 attempts=1 stream=1', 'GET /1'])
    expect(peer.connections).toHaveLength(1)
  })

  it('a call that is aborted in between hears of its abort alone', async () => {
    const { peer, calls, connection } = await begin(['GET /0'])
    const [call] = calls
    connection.inOneSegment(() => orders['RST_STREAM first']?.(connection, CANCEL, ENHANCE_YOUR_CALM))
    call?.controller?.abort(new Error('enough'))
    await call?.settled
    expect(call?.events).toEqual(['start', 'error'])
    expect(peer.requests).toHaveLength(1)
  })
})

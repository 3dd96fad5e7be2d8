import { describe, expect, it } from 'vitest'
import type { ConnectionScript, FaultConnection } from '../../src/testing/fault-connection.ts'
import { MAX_STREAM_ID } from '../../src/testing/frames.ts'
import type { PoolOptions } from '../../types/index.ts'
import { ENGINES } from '../support/clients/engines.ts'
import { FakeClock } from '../support/clocks/fake-clock.ts'
import { INTERNAL_ERROR, NO_ERROR } from '../support/peers/error-codes.ts'
import { ask, PATIENT, settle, startHarness, startPeer, toOutcomes } from '../support/peers/peer-rig.ts'

/** How a server retires a connection on which it has accepted so many requests. */
interface Retirement {
  readonly what: string
  retire(connection: FaultConnection, lastStreamId: number): void
}

const RETIREMENTS: readonly Retirement[] = [
  {
    what: 'by one GOAWAY',
    retire: (connection, lastStreamId) => connection.goAway({ lastStreamId, code: NO_ERROR }),
  },
  {
    what: 'in two steps',
    retire: (connection, lastStreamId) => {
      connection.goAway({ lastStreamId: MAX_STREAM_ID, code: NO_ERROR })
      connection.goAway({ lastStreamId, code: NO_ERROR })
    },
  },
  {
    what: 'with an error',
    retire: (connection, lastStreamId) => connection.goAway({ lastStreamId, code: INTERNAL_ERROR }),
  },
]

const CALLS = 12

describe.each(ENGINES)('a server that retires connections before it responds, on engine %s', (engine) => {
  const options: PoolOptions = { engine, connections: 1 }
  const toPaths = (method: string) => Array.from({ length: CALLS }, (_, i) => `${method} /${i}`)

  /** Acts once, when so many requests of a connection are whole. */
  const at = (count: number, act: (connection: FaultConnection) => void): ConnectionScript => ({
    grantsCredit: false,
    onComplete: (_stream, connection) => {
      if (connection.streams.filter(({ isComplete }) => isComplete).length === count) act(connection)
    },
  })

  describe.each(RETIREMENTS)('$what', ({ retire }) => {
    it.each([
      { accepted: 1, method: 'GET' },
      { accepted: 1, method: 'POST' },
      { accepted: 2, method: 'POST' },
    ])('has all calls sent to later connections when each accepts $accepted: $method', async (given) => {
      const { accepted, method } = given
      const peer = await startPeer(at(accepted, (connection) => retire(connection, 2 * accepted - 1)))
      const harness = startHarness(peer, options)
      const paths = toPaths(method)
      const calls = paths.map((path) => ask(harness, path))
      const toTaken = () => peer.connections.flatMap(({ streams }) => streams.slice(0, accepted))
      await peer.waitFor(() => toTaken().filter(({ isComplete }) => isComplete).length === CALLS)
      expect(calls.flatMap(({ errors }) => errors)).toEqual([])
      for (const stream of toTaken()) stream.respond()
      expect(await toOutcomes(calls)).toEqual(paths)
      expect(peer.connections).toHaveLength(CALLS / accepted)
      expect(new Set(toTaken().map(({ path }) => path)).size).toBe(CALLS)
    })
  })

  const FRUITLESS = [
    {
      what: 'accept nothing',
      act: (connection: FaultConnection) => connection.goAway({ lastStreamId: 0, code: NO_ERROR }),
    },
    {
      what: 'take their acceptance back',
      act: (connection: FaultConnection) => {
        connection.goAway({ lastStreamId: 1, code: NO_ERROR })
        connection.goAway({ lastStreamId: 0, code: NO_ERROR })
      },
    },
  ]

  it.each(FRUITLESS)('fails a call at its fourth connection when they $what', async ({ act }) => {
    const peer = await startPeer(at(2, act))
    const clock = new FakeClock()
    const harness = startHarness(peer, { ...options, ...PATIENT }, clock)
    const first = ask(harness, 'POST /0')
    ask(harness, 'POST /1')
    await settle(clock, [first])
    expect(first.error).toMatchObject({ name: 'SocketError', processed: 'no' })
    expect(peer.connections).toHaveLength(4)
  })
})

import { describe, expect, it } from 'vitest'
import { errors } from '../../src/index.ts'
import type { ConnectionScript, FaultConnection } from '../../src/testing/fault-connection.ts'
import { Flag, frames } from '../../src/testing/frames.ts'
import type { PoolOptions } from '../../types/index.ts'
import type { Harness } from '../support/clients/engines.ts'
import { ENGINES } from '../support/clients/engines.ts'
import type { Recorder } from '../support/clients/recorder.ts'
import { FakeClock } from '../support/clocks/fake-clock.ts'
import { ask, SERVE, startHarness, startPeer, toOutcomes } from '../support/peers/peer-rig.ts'

const INTERVAL = 10_000
const TIMEOUT = 4_000
/** Whether something was read is looked for a few times in an interval: so much later a PING may go out. */
const SLACK = INTERVAL / 4 + 100

describe.each(ENGINES)('keepalive on engine %s', (engine) => {
  const options: PoolOptions = {
    engine,
    connections: 1,
    pingInterval: INTERVAL,
    pingTimeout: TIMEOUT,
    keepAliveTimeout: 0,
  }

  /** Serves `/warm`, and holds everything else. */
  const HOLD: ConnectionScript = { onComplete: (stream) => stream.path === '/warm' && stream.respond() }

  async function begin(scripts: ConnectionScript | readonly ConnectionScript[]) {
    const clock = new FakeClock()
    const peer = await startPeer(scripts)
    const harness = startHarness(peer, options, clock)
    expect(await toOutcomes([ask(harness, 'GET /warm')])).toEqual(['GET /warm'])
    return { clock, peer, harness, connection: peer.connection(0) }
  }

  /** Two calls whose requests have come; all that the peer has sent in response was read. */
  async function run(harness: Harness, connection: FaultConnection): Promise<Recorder[]> {
    const calls = [ask(harness, 'GET /0'), ask(harness, 'POST /1')]
    while (connection.streams.at(-1)?.text !== 'body') await connection.ping()
    await connection.ping()
    return calls
  }

  const pathsOf = (connection: FaultConnection): string[] => connection.streams.map(({ path }) => path)

  describe('while calls run', () => {
    it('a silent peer gets a PING after pingInterval, and is disconnected after pingTimeout', async () => {
      const { clock, peer, harness, connection } = await begin([HOLD, SERVE])
      const calls = await run(harness, connection)
      connection.fallSilent()
      clock.advance(INTERVAL - 1)
      // Frames keep their order: a PING would come before this.
      const late = ask(harness, 'GET /late')
      await peer.waitFor(() => pathsOf(connection).includes('/late'))
      expect(connection.pings).toHaveLength(0)
      clock.advance(1 + SLACK)
      await peer.waitFor(() => connection.pings.length === 1)
      clock.advance(TIMEOUT - SLACK)
      expect(calls.flatMap(({ errors }) => errors)).toEqual([])
      clock.advance(SLACK)
      const lost = 'SocketError maybe code=null attempts=1 stream=5'
      expect(await toOutcomes([...calls, late])).toEqual(['GET /0', lost, 'GET /late'])
      expect(calls[1]?.error).toBeInstanceOf(errors.SocketError)
      expect(calls[1]?.error.message).toContain('PING')
      await peer.waitFor(() => connection.hasEnded)
      expect(pathsOf(peer.connection(1))).toEqual(['/0', '/late'])
      expect(peer.counts['POST /1']).toBe(1)
      expect(harness.connections).toEqual(['connect', 'disconnect', 'connect'])
    })
  })

  /** Acknowledges the PING that came last. */
  function acknowledge(connection: FaultConnection): void {
    connection.write(frames.ping(connection.pings.at(-1)?.payload, Flag.ACK))
  }

  describe('after pingInterval without a call, the next one', () => {
    it('waits for a PING, and is sent once its ACK has come', async () => {
      const { clock, peer, harness, connection } = await begin({ ...SERVE, acksPings: false })
      clock.advance(INTERVAL + SLACK)
      const call = ask(harness, 'POST /next')
      await peer.waitFor(() => connection.pings.length === 1)
      await connection.ping()
      expect(pathsOf(connection)).toEqual(['/warm'])
      expect(harness.scheduler.toSessionStats()).toMatchObject([{ state: 'verifying' }])
      acknowledge(connection)
      expect(await toOutcomes([call])).toEqual(['POST /next'])
      expect(peer.ledger).toEqual(['0/1 GET /warm', '0/3 POST /next'])
      // It was heard of lately: no second PING.
      expect(await toOutcomes([ask(harness, 'POST /again')])).toEqual(['POST /again'])
      expect(connection.pings).toHaveLength(1)
      expect(peer.connections).toHaveLength(1)
    })

    it('is sent once, on another session, when no ACK comes', async () => {
      const { clock, peer, harness, connection } = await begin([SERVE, SERVE])
      connection.fallSilent()
      clock.advance(INTERVAL + SLACK)
      const calls = [ask(harness, 'POST /next'), ask(harness, 'GET /other')]
      await peer.waitFor(() => connection.pings.length === 1)
      clock.advance(TIMEOUT + 100)
      expect(await toOutcomes(calls)).toEqual(['POST /next', 'GET /other'])
      expect(peer.ledger).toEqual(['0/1 GET /warm', '1/1 POST /next', '1/3 GET /other'])
      await peer.waitFor(() => connection.hasEnded)
      for (const { events } of calls) expect(events).toEqual(['start', 'response 200', 'data', 'end'])
    })

    it.each([
      {
        what: 'retires it',
        act: (connection: FaultConnection) => connection.goAway({ lastStreamId: 1, code: 0 }),
      },
      { what: 'ends it', act: (connection: FaultConnection) => connection.end() },
      { what: 'breaks it', act: (connection: FaultConnection) => connection.break() },
    ])('is sent once, on another session, when the peer $what instead of a response', async ({ act }) => {
      const { clock, peer, harness, connection } = await begin([{ ...SERVE, acksPings: false }, SERVE])
      clock.advance(INTERVAL + SLACK)
      const calls = [ask(harness, 'POST /next'), ask(harness, 'GET /other')]
      await peer.waitFor(() => connection.pings.length === 1)
      act(connection)
      expect(await toOutcomes(calls)).toEqual(['POST /next', 'GET /other'])
      expect(peer.ledger).toEqual(['0/1 GET /warm', '1/1 POST /next', '1/3 GET /other'])
    })
  })
})

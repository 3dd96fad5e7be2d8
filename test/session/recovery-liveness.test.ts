import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { ConnectionScript, FaultConnection } from '../../src/testing/fault-connection.ts'
import { Flag, frames, Type } from '../../src/testing/frames.ts'
import type { PoolOptions } from '../../types/index.ts'
import type { Harness } from '../support/clients/engines.ts'
import { ENGINES } from '../support/clients/engines.ts'
import { FakeClock } from '../support/clocks/fake-clock.ts'
import { ask, heard, PATIENT, startHarness, startPeer, toOutcomes } from '../support/peers/peer-rig.ts'

const INTERVAL = 60_000
const TIMEOUT = 4_000
/** A deadline may be met so much later. */
const SLACK = 50
/** The longest that an option may say, and that Node's timers take. */
const LONGEST = 2 ** 31 - 1

describe.each(ENGINES)('on engine %s', (engine) => {
  const usual: PoolOptions = {
    ...PATIENT,
    engine,
    connections: 1,
    pingInterval: INTERVAL,
    pingTimeout: TIMEOUT,
  }

  /** Serves `/warm`, holds everything else, and acknowledges no PING. */
  const HOLD: ConnectionScript = {
    acksPings: false,
    onComplete: (stream) => stream.path === '/warm' && stream.respond(),
  }

  async function begin(options: PoolOptions = {}, clock = new FakeClock()) {
    const peer = await startPeer(HOLD)
    const harness = startHarness(peer, { ...usual, ...options }, clock)
    expect(await toOutcomes([ask(harness, 'GET /warm')])).toEqual(['GET /warm'])
    return { clock, peer, harness, connection: peer.connection(0) }
  }

  /** Aborts a call whose request has come; settles when its reset has come, and all that went with it. */
  async function abortOne(harness: Harness, connection: FaultConnection): Promise<void> {
    const count = connection.of(Type.RST_STREAM).length
    const call = ask(harness, 'GET /aborted')
    while (connection.streams.at(-1)?.path !== '/aborted') await connection.ping()
    call.controller?.abort()
    while (connection.of(Type.RST_STREAM).length === count) await connection.ping()
    await connection.ping()
  }

  /** A download that has begun, and a PING that went with the reset of its sibling. */
  async function download(options: PoolOptions = {}) {
    const scene = await begin(options)
    const { peer, harness, connection } = scene
    // Not safe to repeat: nothing hides the loss of its session.
    const call = ask(harness, 'POST /download')
    await peer.waitFor(() =>
      connection.streams.some(({ isComplete, path }) => isComplete && path !== '/warm'),
    )
    const stream = peer.request('/download')
    stream.head(200)
    await abortOne(harness, connection)
    return { ...scene, call, stream }
  }

  /** Acknowledges the PING that came last. */
  function acknowledge(connection: FaultConnection): void {
    connection.write(frames.ping(connection.pings.at(-1)?.payload, Flag.ACK))
  }

  describe('a process that was busy for longer than pingTimeout', () => {
    /** A download, with a PING whose ACK is missing; all bytes that have come were noticed. */
    async function beginAndLook() {
      const scene = await download()
      scene.clock.advance(TIMEOUT)
      await turn()
      return scene
    }

    it('reads the ACK that has come before it decides', async () => {
      const { clock, harness, connection, call, stream } = await beginAndLook()
      // All in one turn: the bytes are in the kernel, and the process has not read them.
      acknowledge(connection)
      clock.skip(3 * TIMEOUT)
      clock.advance(0)
      await connection.ping()
      expect(harness.connections).toEqual(['connect'])
      stream.end('whole')
      expect(await toOutcomes([call])).toEqual(['whole'])
      expect(connection.pings).toHaveLength(1)
    })

    it('reads all other bytes that have come: the ACK may be behind them', async () => {
      const { clock, harness, connection, call, stream } = await beginAndLook()
      stream.data('first, ')
      clock.skip(3 * TIMEOUT)
      clock.advance(0)
      await connection.ping()
      // From then on it has as long as at first.
      clock.advance(TIMEOUT - SLACK)
      await connection.ping()
      acknowledge(connection)
      stream.end('last')
      expect(await toOutcomes([call])).toEqual(['first, last'])
      expect(harness.connections).toEqual(['connect'])
    })

    it('ends the session when there is nothing to read', async () => {
      const { clock, peer, harness, connection, call } = await beginAndLook()
      connection.fallSilent()
      clock.skip(2 * TIMEOUT)
      clock.advance(0)
      expect(call.errors).toEqual([])
      expect(await toOutcomes([call])).toEqual(['SocketError yes code=null attempts=1 stream=3'])
      expect(call.error.message).toContain(`${3 * TIMEOUT} ms`)
      await peer.waitFor(() => connection.hasEnded)
      expect(harness.connections).toEqual(['connect', 'disconnect'])
    })
  })

  it('a dead path is detected by successive calls, each shorter than pingTimeout', async () => {
    const given = { pingInterval: 1_000, pingTimeout: 1_000, replaySafe: false }
    const { clock, peer, harness, connection } = await begin(given)
    connection.fallSilent()
    const failed: string[] = []
    while (peer.connections.length === 1 && failed.length < 20) {
      const call = ask(harness, 'GET /dead', { requestTimeout: 400 })
      await turn()
      clock.advance(450)
      await call.settled
      failed.push(call.error.name)
      // What was aborted is reset in the next turn, with a PING; and judged a turn after its time.
      await turn()
      await turn()
    }
    expect(failed.length).toBeLessThan(10)
    expect(failed).toContain('RequestTimeoutError')
  })

  it('the longest keepAliveTimeout fits into a timer, and takes effect', async () => {
    // With this fraction the sum is rounded up: one millisecond more than there may be.
    const start = 1_000.01
    expect(Math.ceil(start + LONGEST - start)).toBeGreaterThan(LONGEST)
    const options = { pingInterval: 0, keepAliveTimeout: LONGEST }
    // This clock throws where a real timer warns, and rings at once.
    const { clock, harness, connection } = await begin(options, new FakeClock(start))
    await connection.ping()
    await expect.poll(() => clock.alarms).toBe(1)
    clock.advance(LONGEST - 1)
    await connection.ping()
    expect(harness.connections).toEqual(['connect'])
    clock.advance(1 + 2 * SLACK)
    await heard(harness, ['connect', 'disconnect'])
  })
})

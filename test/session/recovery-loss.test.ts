import { describe, expect, it } from 'vitest'
import { errors } from '../../src/index.ts'
import type { ConnectionScript, FaultConnection } from '../../src/testing/fault-connection.ts'
import type { FaultServer } from '../../src/testing/fault-server.ts'
import { Setting } from '../../src/testing/frames.ts'
import type { PoolOptions } from '../../types/index.ts'
import type { Harness } from '../support/clients/engines.ts'
import { ENGINES } from '../support/clients/engines.ts'
import type { Recorder } from '../support/clients/recorder.ts'
import { ask, heard, SERVE, startHarness, startPeer, toOutcomes } from '../support/peers/peer-rig.ts'
import { toTlsPeer } from '../support/peers/peer-tls.ts'

describe.each(ENGINES)('a connection that is lost, on engine %s', (engine) => {
  const options: PoolOptions = { engine, connections: 1 }

  /** Responses what its client begins with, and then nothing more. */
  const FIRST: ConnectionScript = {
    settings: [[Setting.MAX_CONCURRENT_STREAMS, 2]],
    onComplete: (stream) => stream.path === '/warm' && stream.respond(),
  }

  /** Two calls are on the wire, two wait. */
  async function fill(peer: FaultServer, harness: Harness): Promise<Recorder[]> {
    // It makes the limit known.
    expect(await toOutcomes([ask(harness, 'GET /warm')])).toEqual(['GET /warm'])
    const calls = ['GET /0', 'POST /1', 'GET /2', 'POST /3'].map((what) => ask(harness, what))
    await peer.waitFor(() => peer.requests.filter(({ isComplete }) => isComplete).length === 3)
    expect(harness.scheduler.pending).toBe(2)
    return calls
  }

  /**
   * What was on the wire and is safe is replayed, what was there and isn't has failed, and what waited is sent once.
   */
  async function expectHealed(peer: FaultServer, harness: Harness, calls: Recorder[]): Promise<void> {
    const lost = 'SocketError maybe code=null attempts=1 stream=5'
    expect(await toOutcomes(calls)).toEqual(['GET /0', lost, 'GET /2', 'POST /3'])
    expect(calls[1]?.error).toBeInstanceOf(errors.SocketError)
    expect(peer.ledger.slice(3)).toEqual(['1/1 GET /0', '1/3 GET /2', '1/5 POST /3'])
    expect(peer.counts).toEqual({ 'GET /warm': 1, 'GET /0': 2, 'POST /1': 1, 'GET /2': 1, 'POST /3': 1 })
    await heard(harness, ['connect', 'disconnect', 'connect'])
  }

  it.each<{ how: string; script: ConnectionScript; lose: (connection: FaultConnection) => void }>([
    { how: 'by a FIN of the peer', script: FIRST, lose: (connection) => connection.end() },
    {
      how: 'by a FIN of a peer that never closes for good',
      script: { ...FIRST, staysHalfOpen: true },
      lose: (connection) => connection.end(),
    },
    { how: 'by a RST of the peer', script: FIRST, lose: (connection) => connection.break() },
    {
      how: 'in the middle of a frame',
      script: FIRST,
      lose: (connection) => {
        connection.write(Buffer.from([0, 0, 100, 1, 4, 0, 0]))
        connection.end()
      },
    },
  ])('$how: safe calls are replayed, waiting calls are sent, the others fail as maybe processed', async ({
    script,
    lose,
  }) => {
    const peer = await startPeer([script, SERVE])
    const harness = startHarness(peer, options)
    const calls = await fill(peer, harness)
    lose(peer.connection(0))
    await expectHealed(peer, harness, calls)
  })

  it('by a fatal TLS alert: safe calls are replayed, waiting calls are sent, the others fail as maybe processed', async () => {
    const tls = await toTlsPeer()
    const peer = await startPeer([FIRST, SERVE], tls.options)
    const harness = startHarness(peer, { ...options, connect: { ca: tls.ca } })
    const calls = await fill(peer, harness)
    peer.connection(0).alert()
    await expectHealed(peer, harness, calls)
    const { cause } = Object(calls[1]?.error)
    expect(String(Object(cause).code)).toMatch(/^ERR_SSL_/)
  })

  it.each<{ how: string; lose: (connection: FaultConnection) => void }>([
    { how: 'a FIN', lose: (connection) => connection.end() },
    { how: 'a RST', lose: (connection) => connection.break() },
  ])('by $how while it is idle: the next call, a POST, opens another and is sent once', async ({ lose }) => {
    const peer = await startPeer(SERVE)
    const harness = startHarness(peer, options)
    expect(await toOutcomes([ask(harness, 'POST /0')])).toEqual(['POST /0'])
    lose(peer.connection(0))
    await heard(harness, ['connect', 'disconnect'])
    expect(await toOutcomes([ask(harness, 'POST /1')])).toEqual(['POST /1'])
    expect(peer.ledger).toEqual(['0/1 POST /0', '1/1 POST /1'])
  })

  it('before its SETTINGS came: safe calls are replayed, and a POST on the wire fails', async () => {
    const peer = await startPeer([{ settings: null }, SERVE])
    const harness = startHarness(peer, options)
    const calls = ['GET /0', 'POST /1', 'GET /2'].map((what) => ask(harness, what))
    await peer.waitFor(() => peer.requests.length === 3)
    peer.connection(0).break()
    const lost = 'SocketError maybe code=null attempts=1 stream=3'
    expect(await toOutcomes(calls)).toEqual(['GET /0', lost, 'GET /2'])
    expect(peer.ledger.slice(3)).toEqual(['1/1 GET /0', '1/3 GET /2'])
  })
})

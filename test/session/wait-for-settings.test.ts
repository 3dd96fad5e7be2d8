import { describe, expect, it } from 'vitest'
import type { ConnectionScript } from '../../src/testing/fault-connection.ts'
import { Setting } from '../../src/testing/frames.ts'
import { ENGINES } from '../support/clients/engines.ts'
import { ENHANCE_YOUR_CALM } from '../support/peers/error-codes.ts'
import { ask, startHarness, startPeer, toOutcomes } from '../support/peers/peer-rig.ts'

const LIMIT = 3

/** Says its SETTINGS when it is asked to, and ends a connection with more streams than it allows. */
const STRICT: ConnectionScript = {
  settings: null,
  onRequest: (_stream, connection) => {
    if (connection.open > LIMIT) connection.goAway({ lastStreamId: 0, code: ENHANCE_YOUR_CALM })
  },
}

const turns = async (): Promise<void> => {
  for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve))
}

describe.each(ENGINES)('a session before the SETTINGS of its server, on engine %s', (engine) => {
  const calls = Array.from({ length: 10 }, (_, i) => `GET /${i}`)

  async function start(waitForSettings: boolean | null) {
    const peer = await startPeer(STRICT)
    const harness = startHarness(peer, { engine, connections: 1, waitForSettings })
    return { peer, harness }
  }

  it('sends its first request alone with waitForSettings, and the others as the limit allows', async () => {
    const { peer, harness } = await start(true)
    const sent = calls.map((what) => ask(harness, what))
    await peer.waitFor(() => peer.connections[0]?.streams.length === 1)
    const connection = peer.connection(0)
    await turns()
    expect(connection.streams).toHaveLength(1)
    await connection.settings([Setting.MAX_CONCURRENT_STREAMS, LIMIT])
    const answer = async (): Promise<void> => {
      for (let done = 0; done < calls.length; done++) {
        await peer.waitFor(() => connection.streams[done]?.isComplete === true)
        connection.streams[done]?.respond()
      }
    }
    await answer()
    expect(await toOutcomes(sent)).toEqual(calls)
    expect(connection.maxOpen).toBeLessThanOrEqual(LIMIT)
    expect(peer.connections).toHaveLength(1)
  })

  it('uses the limit that an earlier session has learned', async () => {
    const { peer, harness } = await start(true)
    const first = ask(harness, 'GET /first')
    await peer.waitFor(() => peer.connections[0]?.streams.length === 1)
    await peer.connection(0).settings([Setting.MAX_CONCURRENT_STREAMS, LIMIT])
    peer.connection(0).streams[0]?.respond()
    expect(await toOutcomes([first])).toEqual(['GET /first'])
    peer.connection(0).goAway({ code: 0 })
    await peer.connection(0).ping()
    const sent = calls.slice(0, LIMIT).map((what) => ask(harness, what))
    await peer.waitFor(() => peer.connections[1]?.streams.length === LIMIT)
    await peer.connection(1).settings([Setting.MAX_CONCURRENT_STREAMS, LIMIT])
    for (const stream of peer.connection(1).streams) stream.respond()
    expect(await toOutcomes(sent)).toEqual(calls.slice(0, LIMIT))
  })

  it.each([false, null])('sends all of them with waitForSettings %s', async (given) => {
    const { peer, harness } = await start(given)
    for (const what of calls.slice(0, LIMIT)) ask(harness, what)
    await peer.waitFor(() => peer.connections[0]?.streams.length === LIMIT)
  })
})

import { setImmediate } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { FaultConnection } from '../../src/testing/fault-connection.ts'
import { Setting, Type } from '../../src/testing/frames.ts'
import { ENGINES } from '../support/clients/engines.ts'
import { ask, PATIENT, startHarness, startPeer } from '../support/peers/peer-rig.ts'

const EVENT = 16_000

/** Until both sides have done all that they can do by themselves. */
async function quiet(connection: FaultConnection): Promise<void> {
  for (let turn = 0; turn < 5; turn++) {
    await connection.ping()
    await setImmediate()
  }
}

describe.each(ENGINES)('a response that arrives in small events, on engine %s', (engine) => {
  it('continues when a burst of calls has made the windows smaller than the data received', async () => {
    const peer = await startPeer({
      settings: [[Setting.MAX_CONCURRENT_STREAMS, 1_000]],
      onRequest: (stream) => stream.head(200),
    })
    const options = { ...PATIENT, engine, initialWindowSize: 1_000_000, maxSessionBuffer: 4_000_000 }
    const harness = startHarness(peer, options)
    const events = ask(harness, 'GET /events')
    await peer.waitFor(() => peer.requests.length === 1)
    const [connection, stream] = [peer.connection(0), peer.request('/events')]
    const window = (): number => connection.clientSettings.get(Setting.INITIAL_WINDOW_SIZE) ?? 0
    let sent = 0
    /** What the peer may send on the stream, as it counts (RFC 9113 §6.9.2). */
    const left = (): number =>
      connection
        .of(Type.WINDOW_UPDATE, stream.id)
        .reduce((sum, { payload }) => sum + payload.readUInt32BE(0), window() - sent)
    const first = window()
    // Somewhat less than half of the window: no WINDOW_UPDATE is sent for so little.
    for (; sent < first * 0.48; sent += EVENT) stream.data('x'.repeat(EVENT))
    await quiet(connection)
    expect(events.text).toHaveLength(sent)
    const before = left()
    for (let count = 0; count < 12; count++) ask(harness, `GET /${count}`)
    await quiet(connection)
    expect([first, window()]).toEqual([1_000_000, 62_501])
    expect(before).toBeGreaterThan(first / 2)
    expect(left()).toBeGreaterThan(window() / 2)
    // As many again as were kept back, as an obedient peer sends them.
    for (const end = sent * 2; sent < end; sent += EVENT) {
      await peer.waitFor(() => left() >= EVENT)
      stream.data('x'.repeat(EVENT))
      await quiet(connection)
    }
    stream.end('the last one')
    await events.settled
    expect(events.events.at(-1)).toBe('end')
    expect(events.text).toHaveLength(sent + 'the last one'.length)
  })
})

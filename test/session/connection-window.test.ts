import { setImmediate } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { FaultConnection } from '../../src/testing/fault-connection.ts'
import { Setting, Type } from '../../src/testing/frames.ts'
import type { PoolOptions } from '../../types/index.ts'
import { ask, PATIENT, startHarness, startPeer } from '../support/peers/peer-rig.ts'

const DEFAULT_WINDOW = 65_535
const FIRST_STREAM = 1_048_579

async function start(options: PoolOptions, calls: number): Promise<FaultConnection> {
  const peer = await startPeer({ settings: [[Setting.MAX_CONCURRENT_STREAMS, 1_000]] })
  const harness = startHarness(peer, { ...PATIENT, ...options })
  for (let count = 0; count < calls; count++) ask(harness, `GET /${count}`)
  await peer.waitFor(() => peer.requests.length === calls)
  // What goes out behind the requests has come as well.
  await peer.connection(0).ping()
  await setImmediate()
  await peer.connection(0).ping()
  return peer.connection(0)
}

/** The connection's window after each of the frames that have opened it. */
function toWindows(connection: FaultConnection): number[] {
  const updates = connection.of(Type.WINDOW_UPDATE, 0)
  let size = DEFAULT_WINDOW
  return updates.map(({ payload }) => (size += payload.readUInt32BE(0)))
}

describe.each([
  { engine: 'node', first: 16_777_259 },
  { engine: 'wire', first: 4_194_319 },
] as const)('the window of a connection, on engine $engine', ({ engine, first }) => {
  it('when there is one stream › has its initial size', async () => {
    expect(toWindows(await start({ engine }, 1))).toEqual([first])
  })

  it('when there are many streams › grows to at least twice the sum of their windows, in a few steps', async () => {
    const connection = await start({ engine }, 90)
    expect(connection.clientSettings.get(Setting.INITIAL_WINDOW_SIZE)).toBe(FIRST_STREAM)
    const windows = toWindows(connection)
    expect(windows.at(-1)).toBeGreaterThanOrEqual(2 * 90 * FIRST_STREAM)
    expect(windows.at(-1)).toBeLessThan(2 * 2 * 90 * FIRST_STREAM)
    expect(windows.length).toBeLessThanOrEqual(7)
    expect(windows.filter((size) => size % 1_024 === 0)).toEqual([])
  })

  it('when the caller has set one › keeps that size', async () => {
    const connection = await start({ engine, connectionWindowSize: 1_048_576 }, 90)
    expect(toWindows(connection)).toEqual([1_048_576])
  })

  it('when the sum of the stream windows exceeds the largest window › is the largest window', async () => {
    const options = { initialWindowSize: 2 ** 30, maxSessionBuffer: 2 ** 40 }
    expect(toWindows(await start({ engine, ...options }, 3)).at(-1)).toBe(2 ** 31 - 1)
  })
})

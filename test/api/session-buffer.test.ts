import { describe, expect, it } from 'vitest'
import { Client } from '../../src/index.ts'
import type { ClientOptions, DispatchController } from '../../types/index.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import { HERE } from '../support/clients/engines.ts'
import { Recorder } from '../support/clients/recorder.ts'
import { GreedyScript } from '../support/peers/greedy-script.ts'
import { startPeer } from '../support/peers/peer-rig.ts'

const MIB = 1_024 * 1_024
const STREAMS = 100
/** The most bytes that each stream may have. */
const FAIR = (16 * MIB) / STREAMS
/** The smallest window of a stream, without an option. */
const SMALLEST = 16_385
/** What `request()` keeps for a reader that hasn't come yet, for each body. */
const HIGH_WATER_MARK = 65_536

const OPTIONS = { maxSessionBuffer: 16 * MIB, initialWindowSize: MIB, connectionWindowSize: MIB } as const
const GET = { path: '/', method: 'GET' } as const

/** Takes nothing of the response's body. */
class PausedRecorder extends Recorder {
  override onRequestStart(controller: DispatchController): void {
    super.onRequestStart(controller)
    controller.pause()
  }
}

async function start(options: ClientOptions = OPTIONS, roundTrip = 0) {
  const script = new GreedyScript(roundTrip)
  const peer = await startPeer(script)
  const client = destroyWithTest(new Client(peer.origin, options))
  const fillUp = async (): Promise<void> => {
    for (let sent = -1, asked = -1; sent !== script.sent || asked !== peer.requests.length; ) {
      sent = script.sent
      asked = peer.requests.length
      // A round trip: what was sent has been heard, and the credit and the requests that followed have come.
      await peer.connection(0).ping()
    }
  }
  /** Until so many requests have come, and the server has sent all that it may. */
  const fill = async (requests: number): Promise<void> => {
    await peer.waitFor(() => peer.requests.length === requests)
    await fillUp()
  }
  const toWindow = (): number | undefined => client.stats.sessions[0]?.streamWindow
  return { script, peer, client, fill, fillUp, toWindow }
}

function pauseOne(client: Client): Recorder {
  const recorder = new PausedRecorder()
  client.dispatch(GET, recorder)
  return recorder
}

async function small(client: Client): Promise<string> {
  const { body } = await client.request({ ...GET, path: '/small' })
  return body.text()
}

describe('responses that are not read', () => {
  it.each([
    { what: 'all at once', batch: STREAMS },
    { what: 'ten after ten, when the ones before have filled their windows', batch: 10 },
    { what: 'one after one, when the ones before have filled their windows', batch: 1 },
  ])('a hundred of them, requested $what, are bounded by maxSessionBuffer, and a sibling gets its response', async ({
    batch,
  }) => {
    const { script, peer, client, fill } = await start()
    for (let asked = batch; asked <= STREAMS; asked += batch) {
      for (let i = 0; i < batch; i++) pauseOne(client)
      await fill(asked)
    }
    // Each of them has got something.
    expect(client.stats.sessions).toMatchObject([{ streams: STREAMS }])
    expect(script.sent).toBeGreaterThanOrEqual(STREAMS * 16_384)
    expect(await small(client)).toBe('small')
    expect(script.sent).toBeLessThan(OPTIONS.maxSessionBuffer + OPTIONS.connectionWindowSize)
    expect(peer.connections).toHaveLength(1)
  })

  it('of request() have in addition a highWaterMark each', async () => {
    const { script, client, fill } = await start()
    const responses = Array.from({ length: STREAMS }, () => client.request(GET))
    await fill(STREAMS)
    for (const { body } of await Promise.all(responses)) body.on('error', () => {})
    expect(await small(client)).toBe('small')
    const kept = STREAMS * HIGH_WATER_MARK
    expect(script.sent).toBeGreaterThan(kept)
    expect(script.sent).toBeLessThan(kept + OPTIONS.maxSessionBuffer + OPTIONS.connectionWindowSize)
  })

  it('leave room for as many as the smallest windows permit: further calls wait', async () => {
    const { script, peer, client, fill } = await start({ ...OPTIONS, maxSessionBuffer: 4 * SMALLEST })
    const calls = Array.from({ length: 10 }, () => pauseOne(client))
    await fill(4)
    expect(client.stats).toMatchObject({
      running: 4,
      pending: 6,
      sessions: [{ limit: 4, streamWindow: SMALLEST }],
    })
    expect(script.sent).toBe(4 * SMALLEST)
    for (const { controller } of calls.slice(0, 3)) controller?.abort(new Error('enough'))
    await fill(7)
    expect(peer.connection(0).open).toBe(4)
    // Three have left theirs behind.
    expect(script.sent).toBe(7 * SMALLEST)
  })
})

describe('responses that fill large windows', () => {
  it('make others wait when they have used up the bound, and more of those go on when they have ended', async () => {
    const sizes = { maxSessionBuffer: 2 * MIB, initialWindowSize: MIB / 2, connectionWindowSize: 65_535 }
    const { script, peer, client, fill, fillUp } = await start(sizes)
    const large: Recorder[] = []
    while (large.length < 2) {
      large.push(pauseOne(client))
      await fill(large.length)
    }
    // The second one has got less where nothing that reads is in need of the credit that these tie up.
    if (HERE.refundsUnread) expect(script.sent).toBe(MIB)
    else expect(script.sent).toBeLessThanOrEqual(MIB)
    expect(script.sent).toBeGreaterThan(MIB / 2)
    const others = Array.from({ length: STREAMS }, () => pauseOne(client))
    // As many as there is room for, once the smaller windows count.
    await peer.waitFor(() => peer.requests.length > 2)
    await fillUp()
    expect(script.sent).toBeLessThanOrEqual(2 * MIB + 65_535)
    const { pending } = client.stats
    expect(pending).toBeGreaterThan(0)
    for (const { controller } of large) controller?.abort(new Error('enough'))
    await expect.poll(() => client.stats.pending).toBeLessThan(pending)
    await fillUp()
    // Less what the two have left behind.
    expect(script.sent - MIB).toBeLessThanOrEqual(2 * MIB + 65_535)
    expect(others.flatMap(({ errors }) => errors)).toEqual([])
    expect(peer.connections).toHaveLength(1)
  })
})

describe('the windows of streams', () => {
  it('are small for a burst, and large again for a single large response after it', async () => {
    // The windows of engine wire grow with what the path holds: over one that is shorter, they would have no reason to.
    const { script, client, fill, toWindow } = await start(OPTIONS, 50)
    const calls = Array.from({ length: STREAMS }, () => pauseOne(client))
    await fill(STREAMS)
    expect(toWindow()).toBeLessThanOrEqual(FAIR)
    for (const { controller } of calls) controller?.abort(new Error('enough'))
    const before = script.sent
    const { body } = await client.request(GET)
    let read = 0
    for await (const chunk of body as AsyncIterable<Buffer>) {
      read += chunk.length
      if (read > 8 * MIB && toWindow() === MIB) break
    }
    expect(script.sent - before).toBeGreaterThanOrEqual(read)
    expect(toWindow()).toBe(MIB)
  })

  it('stay small while the other streams are open', async () => {
    const { client, fill, toWindow } = await start()
    const calls = Array.from({ length: STREAMS - 1 }, () => pauseOne(client))
    await fill(STREAMS - 1)
    const { body } = await client.request(GET)
    let read = 0
    for await (const chunk of body as AsyncIterable<Buffer>) {
      read += chunk.length
      if (read > 8 * MIB) break
    }
    expect(calls.flatMap(({ errors }) => errors)).toEqual([])
    expect(toWindow()).toBeLessThanOrEqual(FAIR)
  })
})

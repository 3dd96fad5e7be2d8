import { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { ConnectionScript, FaultConnection } from '../../src/testing/fault-connection.ts'
import type { FaultServer } from '../../src/testing/fault-server.ts'
import type { SettingsInit } from '../../src/testing/frames.ts'
import { Type } from '../../src/testing/frames.ts'
import type { PoolOptions } from '../../types/index.ts'
import type { Harness } from '../support/clients/engines.ts'
import { ENGINES } from '../support/clients/engines.ts'
import { FakeClock } from '../support/clocks/fake-clock.ts'
import { ask, PATIENT, startHarness, startPeer, toOutcome } from '../support/peers/peer-rig.ts'

/** The connection window that a server opens with (RFC 9113 §6.9.2). */
const WINDOW = 65_535
/** How long the peer may take to return credit before its session is retired, and what is looked at in between. */
const PATIENCE = 1_000
const LOOK = 50
/** How long stuck calls may wait behind that. */
const STUCK_LIMIT = 4_000
const LARGE = Buffer.alloc(200_000, 'x')

/**
 * Responds 413 to `/early/N` once N octets of the body have come, and returns no credit for them; reads `/up` to its
 * end; and leaves `/slow` to the test, which grants the credit and responds.
 */
function toScript(settings: SettingsInit = {}, acksPings = true): ConnectionScript {
  return {
    settings: [settings],
    acksPings,
    grantsCredit: false,
    onData(stream, connection) {
      const early = /^.early.(\d+)/.exec(stream.path)?.[1]
      if (early !== undefined && stream.length >= Number(early) && !stream.hasBegun)
        void stream.respond({ status: 413, body: 'too much' })
      if (!stream.path.startsWith('/up')) return
      const size = stream.chunks.at(-1)?.length ?? 0
      if (size === 0) return
      connection.grant(0, size)
      if (!stream.isComplete) connection.grant(stream.id, size)
    },
    onComplete: (stream) => /^.(up|get)/.test(stream.path) && stream.respond(),
  }
}

describe.each(
  ENGINES,
)('a connection whose send window streams hold that have ended, on engine %s', (engine) => {
  interface Scene {
    readonly clock: FakeClock
    readonly peer: FaultServer
    readonly harness: Harness
    readonly connection: FaultConnection
  }

  async function start(options: PoolOptions = {}, script = toScript()): Promise<Scene> {
    const clock = new FakeClock()
    const peer = await startPeer(script)
    const harness = startHarness(peer, { ...PATIENT, engine, connections: 1, ...options }, clock)
    await ask(harness, 'GET /get/warm').settled
    return { clock, peer, harness, connection: peer.connection(0) }
  }

  /** Until both sides have done all that they can do by themselves. */
  async function quiet({ connection }: Scene): Promise<void> {
    for (let turn = 0; turn < 5; turn++) {
      await connection.ping()
      await setImmediate()
    }
  }

  /** Uploads that are refused when so many octets of each have come: their credit is lost. */
  async function leak(scene: Scene, ...sizes: readonly number[]): Promise<void> {
    for (const size of sizes) {
      const call = ask(scene.harness, `POST /early/${size}`, { body: Buffer.alloc(size, 'x') })
      await call.settled
      expect(toOutcome(call)).toBe('too much')
    }
    await quiet(scene)
  }

  /** Lets time pass, in steps in which both sides do all that they can. */
  async function pass(scene: Scene, milliseconds: number): Promise<void> {
    for (let step = 0; step < milliseconds; step += LOOK) {
      scene.clock.advance(LOOK)
      await setImmediate()
    }
    await quiet(scene)
  }

  const statesOf = ({ harness }: Scene) => harness.scheduler.toSessionStats().map(({ state }) => state)

  it.each([
    { what: 'all at once', sizes: [WINDOW] },
    { what: 'in parts, that sum up', sizes: [20_000, 20_000, 20_000] },
    { what: 'but for less than a frame', sizes: [50_000] },
  ])('is retired after a second when it was lost $what, and an upload that has waited has a new one', async ({
    sizes,
  }) => {
    const scene = await start()
    const { peer, harness } = scene
    await leak(scene, ...sizes)
    const upload = ask(harness, 'POST /up', { body: LARGE })
    await pass(scene, PATIENCE - LOOK)
    expect(statesOf(scene)).toEqual(['ready'])
    expect(peer.ledger.filter((line) => line.includes('/up'))).toEqual([])
    await pass(scene, 2 * LOOK)
    await upload.settled
    expect(toOutcome(upload)).toBe('POST /up')
    expect(peer.ledger.at(-1)).toBe('1/1 POST /up')
    expect(harness.scheduler.toSessionStats().at(-1)).toMatchObject({ openedFor: 'replacement' })
    expect(harness.scheduler.toSessionEnds().lost).toBe(0)
  })

  // A server that returns credit once it has read more than half of the window would never get as much to read.
  it.each([
    'HEADERS and DATA',
    'HEADERS and DATA, and RST_STREAM with NO_ERROR',
  ])('is retired when streams have half of the window that %s have cut', async (response) => {
    const scene = await start({}, toScript({ initialWindowSize: 16_384 }))
    const { peer, harness } = scene
    for (const n of [1, 2]) {
      const cut = ask(harness, `POST /early/16384/${n}`, { body: LARGE })
      if (response.includes('RST_STREAM')) {
        await peer.waitFor(() => peer.requests.at(-1)?.path.endsWith(`/${n}`) === true)
        const stream = peer.request(`/early/16384/${n}`)
        await peer.waitFor(() => stream.hasBegun)
        stream.reset('NO_ERROR')
      }
      await cut.settled
      expect(toOutcome(cut)).toBe('too much')
    }
    await quiet(scene)
    expect(peer.requests.filter(({ path }) => path.startsWith('/early')).map(({ length }) => length)).toEqual(
      [16_384, 16_384],
    )
    const upload = ask(harness, 'POST /up', { body: LARGE })
    await pass(scene, PATIENCE + LOOK)
    await upload.settled
    expect([toOutcome(upload), peer.ledger.at(-1)]).toEqual(['POST /up', '1/1 POST /up'])
  })

  // nghttp2 may have read as much, and returns the credit with the next octet.
  it('is kept when a stream that was cut has an octet less than half of the window', async () => {
    const scene = await start({}, toScript({ initialWindowSize: 32_767 }))
    const { peer, harness } = scene
    const cut = ask(harness, 'POST /early/32767', { body: LARGE })
    await cut.settled
    await quiet(scene)
    expect([toOutcome(cut), peer.request('/early/32767').length]).toEqual(['too much', 32_767])
    const upload = ask(harness, 'POST /up', { body: LARGE })
    await upload.settled
    await pass(scene, 10 * PATIENCE)
    expect([toOutcome(upload), statesOf(scene)]).toEqual(['POST /up', ['ready']])
    expect(peer.connections).toHaveLength(1)
  })

  // They may have been read: such a server hasn't returned their credit yet.
  it('is kept when streams that were sent as a whole have half of the window', async () => {
    const scene = await start()
    const { peer, harness } = scene
    await leak(scene, 16_384, 16_384)
    const upload = ask(harness, 'POST /up', { body: LARGE })
    await upload.settled
    await pass(scene, 10 * PATIENCE)
    expect([toOutcome(upload), statesOf(scene)]).toEqual(['POST /up', ['ready']])
    expect(peer.connections).toHaveLength(1)
  })

  it('serves calls without a body meanwhile, ahead of uploads that wait', async () => {
    const scene = await start()
    const { peer, harness } = scene
    await leak(scene, WINDOW)
    const uploads = [1, 2].map((n) => ask(harness, `POST /up/${n}`, { body: LARGE }))
    const gets = [1, 2].map((n) => ask(harness, `GET /get/${n}`))
    await Promise.all(gets.map((get) => get.settled))
    expect(gets.map(toOutcome)).toEqual(['GET /get/1', 'GET /get/2'])
    expect(peer.connections).toHaveLength(1)
    await pass(scene, PATIENCE + LOOK)
    await Promise.all(uploads.map((upload) => upload.settled))
    expect(uploads.map(toOutcome)).toEqual(['POST /up/1', 'POST /up/2'])
    expect(peer.ledger.slice(-2)).toEqual(['1/1 POST /up/1', '1/3 POST /up/2'])
  })

  it('goes on when the credit comes late, within the second', async () => {
    const scene = await start()
    const { peer, harness, connection } = scene
    await leak(scene, WINDOW)
    const upload = ask(harness, 'POST /up', { body: LARGE })
    await pass(scene, PATIENCE - 2 * LOOK)
    connection.grant(0, WINDOW)
    await quiet(scene)
    await pass(scene, LOOK)
    await upload.settled
    expect(toOutcome(upload)).toBe('POST /up')
    await pass(scene, 10 * PATIENCE)
    expect(statesOf(scene)).toEqual(['ready'])
    expect(peer.connections).toHaveLength(1)
  })

  it('finishes its streams when the credit comes later still', async () => {
    const scene = await start()
    const { peer, harness, connection } = scene
    const open = ask(harness, 'GET /slow')
    await peer.waitFor(() => peer.requests.some(({ path }) => path === '/slow'))
    await leak(scene, WINDOW)
    const upload = ask(harness, 'POST /up', { body: LARGE })
    await pass(scene, PATIENCE + LOOK)
    await upload.settled
    connection.grant(0, WINDOW)
    await pass(scene, 10 * PATIENCE)
    expect(statesOf(scene)).toEqual(['draining', 'ready'])
    expect(open.errors).toEqual([])
    void peer.request('/slow').respond('late')
    await open.settled
    expect([toOutcome(open), toOutcome(upload)]).toEqual(['late', 'POST /up'])
    expect(peer.ledger.at(-1)).toBe('1/1 POST /up')
  })

  it('when another session is open › leaves the uploads to it at once', async () => {
    const scene = await start({ connections: 2 }, toScript({ maxConcurrentStreams: 1 }))
    const { peer, harness, clock, connection } = scene
    const slow = ask(harness, 'GET /slow')
    await peer.waitFor(() => peer.requests.some(({ path }) => path === '/slow'))
    await ask(harness, 'GET /get/beside').settled
    expect(peer.connections).toHaveLength(2)
    void peer.request('/slow').respond('late')
    await slow.settled
    await leak(scene, WINDOW)
    const index = peer.request(`/early/${WINDOW}`).connection === connection ? 1 : 0
    const before = clock.now()
    const upload = ask(harness, 'POST /up', { body: LARGE })
    await upload.settled
    expect([toOutcome(upload), clock.now()]).toEqual(['POST /up', before])
    expect(peer.ledger.at(-1)).toMatch(new RegExp(`^${index}/.* POST /up$`))
  })

  it('when another session may be opened › opens it when the second is over, and no sooner', async () => {
    const scene = await start({ connections: 2 })
    const { peer, harness } = scene
    await leak(scene, WINDOW)
    const upload = ask(harness, 'POST /up', { body: LARGE })
    const get = ask(harness, 'GET /get')
    await get.settled
    await pass(scene, PATIENCE - LOOK)
    expect(peer.ledger.at(-1)).toMatch(/^0.* GET \/get$/)
    await pass(scene, 2 * LOOK)
    await upload.settled
    const second = ask(harness, 'POST /up/2', { body: LARGE })
    await second.settled
    expect([upload, second, get].map(toOutcome)).toEqual(['POST /up', 'POST /up/2', 'GET /get'])
    expect(peer.ledger.slice(-2)).toEqual(['1/1 POST /up', '1/3 POST /up/2'])
  })

  it.each([
    { what: 'large stream windows', settings: { initialWindowSize: 1_048_576 }, later: null },
    { what: 'stream windows that grow meanwhile', settings: {}, later: 1_048_576 },
    { what: 'stream windows that shrink meanwhile', settings: {}, later: 1_000 },
  ])('is retired with $what', async ({ settings, later }) => {
    const scene = await start({}, toScript(settings))
    await leak(scene, WINDOW)
    const upload = ask(scene.harness, 'POST /up', { body: LARGE })
    await pass(scene, PATIENCE / 2)
    if (later !== null) await scene.connection.settings({ initialWindowSize: later })
    await pass(scene, PATIENCE / 2 + LOOK)
    await upload.settled
    expect(scene.peer.ledger.at(-1)).toBe('1/1 POST /up')
  })

  it('has a successor for a body that can be read once', async () => {
    const scene = await start()
    await leak(scene, WINDOW)
    const upload = ask(scene.harness, 'POST /up', { body: Readable.from([LARGE], { objectMode: false }) })
    await pass(scene, PATIENCE + LOOK)
    await upload.settled
    expect([upload.errors, scene.peer.ledger.at(-1)]).toEqual([[], '1/1 POST /up'])
  })

  it('holds no upload that is aborted, or late, while it waits', async () => {
    const scene = await start()
    const { peer, harness } = scene
    await leak(scene, WINDOW)
    const aborted = ask(harness, 'POST /up/aborted', { body: LARGE })
    const late = ask(harness, 'POST /up/late', { body: LARGE, queueTimeout: PATIENCE / 2 })
    const kept = ask(harness, 'POST /up/kept', { body: LARGE })
    expect(harness.scheduler.waiting()).toBe(3)
    aborted.controller?.abort()
    await pass(scene, PATIENCE / 2 + 2 * LOOK)
    await Promise.all([aborted.settled, late.settled])
    expect(late.error.name).toBe('QueueTimeoutError')
    await pass(scene, PATIENCE / 2)
    await kept.settled
    expect(peer.ledger.slice(-1)).toEqual(['1/1 POST /up/kept'])
    expect(harness.scheduler.waiting()).toBe(0)
  })

  it('is kept while a stream is open that has used the window, however slowly the server reads', async () => {
    const scene = await start()
    const { peer, harness, connection } = scene
    await leak(scene, 20_000)
    connection.grant(0, 20_000)
    await quiet(scene)
    const slow = ask(harness, 'POST /slow', { body: LARGE })
    await peer.waitFor(() => peer.requests.some(({ path, length }) => path === '/slow' && length === WINDOW))
    const other = ask(harness, 'POST /up', { body: LARGE })
    const stream = peer.request('/slow')
    for (let burst = 0; burst < 3; burst++) {
      await pass(scene, 10 * PATIENCE)
      expect(statesOf(scene)).toEqual(['ready'])
      connection.grant(stream.id, WINDOW)
      connection.grant(0, WINDOW)
    }
    await pass(scene, LOOK)
    connection.grant(0, WINDOW)
    connection.grant(stream.id, WINDOW)
    await peer.waitFor(() => stream.isComplete)
    void stream.respond('read')
    await Promise.all([slow.settled, other.settled])
    expect([slow, other].map(toOutcome)).toEqual(['read', 'POST /up'])
    expect(peer.connections).toHaveLength(1)
  })

  describe('when calls have sent their header sections there', () => {
    /** Three calls whose bodies wait behind one that uses the window up, and is refused. */
    async function stick(script = toScript()) {
      const scene = await start({}, script)
      const { peer, harness } = scene
      const first = ask(harness, `POST /early/${WINDOW}`, { body: LARGE })
      await peer.waitFor(() => peer.requests.some(({ path }) => path.startsWith('/early')))
      const calls = [
        ask(harness, 'PUT /up/put', { body: LARGE, idempotent: true }),
        ask(harness, 'POST /up/post', { body: LARGE }),
        ask(harness, 'POST /up/small', { body: Buffer.alloc(500) }),
      ]
      await first.settled
      await quiet(scene)
      return { ...scene, calls }
    }

    it('repeats those that may be, and fails the others with the reason', async () => {
      const scene = await stick()
      const [put, post, small] = scene.calls
      await pass(scene, PATIENCE + LOOK)
      expect(statesOf(scene)).toEqual(['draining'])
      await pass(scene, STUCK_LIMIT + 3 * LOOK)
      await Promise.all(scene.calls.map((call) => call.settled))
      expect(put?.text).toBe('PUT /up/put')
      for (const call of [post, small]) {
        expect(call?.error).toMatchObject({ code: 'UND_ERR_SOCKET', processed: 'maybe', attempts: 1 })
        expect(call?.error.message).toMatch(/no credit .* send window is used up/)
      }
      expect(scene.peer.ledger.at(-1)).toBe('1/1 PUT /up/put')
      await expect.poll(() => scene.connection.of(Type.RST_STREAM).length).toBe(4)
    })

    it('sends their bodies when the credit comes late', async () => {
      const scene = await stick()
      await pass(scene, PATIENCE + STUCK_LIMIT / 2)
      scene.connection.grant(0, WINDOW)
      await pass(scene, STUCK_LIMIT)
      await Promise.all(scene.calls.map((call) => call.settled))
      expect(scene.calls.map(toOutcome)).toEqual(['PUT /up/put', 'POST /up/post', 'POST /up/small'])
      expect(scene.peer.connections).toHaveLength(1)
    })

    it('leaves them to the limits of a connection that is silent', async () => {
      const scene = await stick(toScript({}, false))
      await pass(scene, PATIENCE + 3 * STUCK_LIMIT)
      expect(scene.calls.flatMap(({ errors }) => errors)).toEqual([])
    })
  })
})

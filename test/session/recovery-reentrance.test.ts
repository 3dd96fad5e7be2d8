import { channel } from 'node:diagnostics_channel'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Client, errors } from '../../src/index.ts'
import type { ConnectionScript } from '../../src/testing/fault-connection.ts'
import { Setting } from '../../src/testing/frames.ts'
import type { ClientOptions, DispatchOptions } from '../../types/index.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import { ENGINES, Harness } from '../support/clients/engines.ts'
import { FakeClock } from '../support/clocks/fake-clock.ts'
import { CANCEL } from '../support/peers/error-codes.ts'
import { ask, SERVE, startPeer, toOutcomes } from '../support/peers/peer-rig.ts'
import type { Place } from './reentrance-scene.ts'
import { listenOnce, NOTHING, PEER, PLACES, Reentrant, Scene } from './reentrance-scene.ts'

/** More than the stack could hold, a loop that opens streams in each of them. */
const DEEP = 3_000

describe.each(ENGINES)('on engine %s', (engine) => {
  async function begin(options: ClientOptions = {}, script: ConnectionScript = PEER): Promise<Scene> {
    const peer = await startPeer(script)
    const client = destroyWithTest(new Client(peer.origin, { engine, ...options }))
    return new Scene(client, peer)
  }

  /** Enters a place, and settles when `act` has happened there. */
  async function enter(place: Place, act: (scene: Scene) => void): Promise<Scene> {
    let scene: Scene | null = null
    let entered = (): void => {}
    const isEntered = new Promise<void>((resolve) => {
      entered = resolve
    })
    const actThere = (): void => {
      if (scene === null) throw new Error('There is no scene yet')
      entered()
      act(scene)
    }
    scene = await begin(place.toOptions?.(actThere))
    place.enter(scene, actThere)
    await isEntered
    return scene
  }

  describe.each(PLACES)('from within $name', (place) => {
    it('calls can be dispatched: each is sent once and gets its response, over one connection at a time', async () => {
      const what = ['GET /a', 'POST /b', 'GET /c']
      const scene = await enter(place, (it) => {
        for (const each of what) it.ask(each)
      })
      await scene.settle()
      const inner = scene.calls.filter(({ text }) => what.includes(text))
      expect(inner.map(({ text }) => text).sort()).toEqual([...what].sort())
      expect(scene.peer.counts).toMatchObject({ 'GET /a': 1, 'POST /b': 1, 'GET /c': 1 })
      expect(scene.peer.connections).toHaveLength(place.connections ?? 1)
      await scene.client.destroy()
      await scene.expectGone()
    })

    it('the client can be destroyed: every call settles, and nothing stays connected', async () => {
      let destroyed: Promise<void> | null = null
      const scene = await enter(place, (it) => {
        it.ask('GET /before')
        destroyed = it.client.destroy()
        it.ask('GET /after')
      })
      await scene.settle()
      await destroyed
      expect(scene.client.destroyed).toBe(true)
      const inner = scene.calls.slice(-2)
      for (const call of inner) expect(call.error).toBeInstanceOf(errors.ClientDestroyedError)
      await scene.expectGone()
    })

    it('the client can be closed: its calls get their responses, and later calls are refused', async () => {
      let closed: Promise<void> | null = null
      const scene = await enter(place, (it) => {
        it.ask('GET /before')
        closed = it.client.close()
        it.ask('GET /after')
      })
      await closed
      await scene.settle()
      const [before, after] = scene.calls.slice(-2)
      expect(before?.text).toBe('GET /before')
      expect(after?.error).toBeInstanceOf(errors.ClientClosedError)
      expect(scene.peer.counts['GET /after']).toBeUndefined()
      await scene.expectGone()
    })
  })

  describe.each([
    { limit: 'no limit', settings: [] },
    { limit: 'a limit of 800 streams', settings: [[Setting.MAX_CONCURRENT_STREAMS, 800] as const] },
  ])(`${DEEP} calls, each dispatched from within the one before it, at a peer with $limit`, ({
    settings,
  }) => {
    it.each([
      { hook: 'onRequestSent', what: 'GET /' },
      { hook: 'onBodySent', what: 'POST /' },
      { hook: 'onResponseEnd', what: 'GET /' },
    ] as const)('by $hook: all are answered, over one connection', async ({ hook, what }) => {
      const scene = await begin({}, { settings, ...PEER })
      scene.ask('GET /warm')
      await scene.settle()
      const next = (): void => {
        if (scene.calls.length < DEEP) scene.ask(what, new Reentrant(hook, next))
      }
      next()
      await expect.poll(() => scene.calls.length).toBe(DEEP)
      await scene.settle()
      expect(scene.calls.flatMap(({ errors }) => errors)).toEqual([])
      expect(scene.peer.requests).toHaveLength(DEEP)
      expect(scene.peer.connections).toHaveLength(1)
      // There is room for others as before.
      for (let i = 0; i < 50; i++) scene.ask(`GET /${i}`)
      await scene.settle()
      expect(scene.calls.slice(-50).map(({ text }) => text)).toEqual(
        Array.from({ length: 50 }, (_, i) => `GET /${i}`),
      )
      await scene.client.destroy()
      await scene.expectGone()
    })
  })

  it('no connection is made any more when a subscriber of dodici:session:open has destroyed the client', async () => {
    let asked = 0
    const scene = await begin({
      connect: () => {
        asked++
      },
    })
    let destroyed: Promise<void> | null = null
    listenOnce(channel('dodici:session:open'), () => {
      destroyed = scene.client.destroy()
    })
    scene.ask('GET /')
    await scene.settle()
    await destroyed
    expect(asked).toBe(0)
    expect(scene.client.stats.sessions).toEqual([])
  })

  it('from within the errors that destroy() makes, destroy() and close() can be called: all of them settle', async () => {
    const scene = await begin({ maxConcurrentStreams: 1 }, { onRequest: NOTHING })
    const ends: Promise<void>[] = []
    const again = (): void => {
      ends.push(scene.client.destroy(), scene.client.close())
      scene.ask('GET /after')
    }
    for (const path of ['/running', '/queued', '/queued too']) {
      scene.ask(`GET ${encodeURI(path)}`, new Reentrant('onResponseError', again))
    }
    await scene.peer.waitFor(() => scene.peer.requests.length === 1)
    ends.push(scene.client.destroy())
    // As in undici, close() fails behind destroy().
    await Promise.allSettled(ends)
    expect(ends).toHaveLength(7)
    await scene.settle()
    for (const call of scene.calls) expect(call.error).toBeInstanceOf(errors.ClientDestroyedError)
    await scene.expectGone()
  })

  it('a call for the fallback from within the loop that opens streams, however deep, is served', async () => {
    const served: unknown[] = []
    const fallback = { dispatch: ({ path }: DispatchOptions) => served.push(path) > 0 }
    const none = [[Setting.MAX_CONCURRENT_STREAMS, 0] as const]
    const scene = await begin({ fallback }, { settings: none, onRequest: NOTHING })
    await scene.client.connectAhead()
    const upgrade = { upgrade: 'websocket', allowH2: false }
    const upgrading = Object.assign(new Reentrant(), { onRequestUpgrade: () => {} })
    // Each of these has waited for a stream, and dispatches as it is opened: one loop within the other.
    const acts = [
      ...Array(3).fill(() => scene.ask('GET /more')),
      () => scene.ask('GET /ws', upgrading, upgrade),
    ]
    for (const act of acts) scene.ask('GET /first', new Reentrant('onRequestSent', act))
    await scene.peer.connection(0).settings([Setting.MAX_CONCURRENT_STREAMS, 100])
    await scene.peer.waitFor(() => scene.peer.requests.length === 7)
    expect(served).toEqual(['/ws'])
    await scene.client.destroy()
    await scene.settle()
  })

  it('a body factory can abort its own call: nothing of it is sent, and the next is served', async () => {
    const scene = await begin()
    const call = new Reentrant()
    const body = (): string => {
      call.controller?.abort()
      scene.ask('GET /next')
      return 'made'
    }
    scene.ask('PUT /aborted', call, { body })
    await scene.settle()
    expect(call.error).toBeInstanceOf(errors.RequestAbortedError)
    expect(scene.peer.ledger).toEqual(['0/1 GET /next'])
  })

  describe("a listener of 'disconnect' that throws", () => {
    /** What becomes uncaught is written down instead. */
    function catchAll(): unknown[] {
      const uncaught: unknown[] = []
      process.setUncaughtExceptionCaptureCallback((error) => uncaught.push(error))
      onTestFinished(() => process.setUncaughtExceptionCaptureCallback(null))
      return uncaught
    }

    it('leaves no socket open where the peer has fallen silent', async () => {
      const thrown = new Error('from a listener')
      const uncaught = catchAll()
      const clock = new FakeClock()
      const peer = await startPeer({ acksPings: false })
      const options = { engine, pingInterval: 10_000, pingTimeout: 4_000, headersTimeout: 0 }
      const harness = new (class extends Harness {
        override onDisconnect(): void {
          throw thrown
        }
      })(peer.origin, options, clock)
      onTestFinished(() => harness.scheduler.destroy(null))
      const call = ask(harness, 'POST /')
      await peer.waitFor(() => peer.requests[0]?.isComplete === true)
      await peer.connection(0).ping()
      peer.connection(0).fallSilent()
      clock.advance(20_000)
      expect(await toOutcomes([call])).toEqual(['SocketError maybe code=null attempts=1 stream=1'])
      await peer.waitFor(() => peer.connection(0).hasEnded || peer.connection(0).isClosed)
      expect(uncaught).toEqual([thrown])
    })

    it.each([
      'goAway',
      'break',
    ] as const)('keeps neither its client nor destroy() from anything, after %s', async (how) => {
      const thrown = new Error('from a listener')
      const uncaught = catchAll()
      const scene = await begin({}, SERVE)
      scene.client.on('disconnect', () => {
        throw thrown
      })
      scene.ask('GET /first')
      await scene.settle()
      const connection = scene.peer.connection(0)
      if (how === 'goAway') connection.goAway({ lastStreamId: 1, code: CANCEL })
      else connection.break()
      await expect.poll(() => uncaught).toEqual([thrown])
      await expect.poll(() => connection.hasEnded || connection.isClosed).toBe(true)
      scene.ask('GET /second')
      await scene.settle()
      expect(scene.peer.ledger).toEqual(['0/1 GET /first', '1/1 GET /second'])
      await scene.client.destroy()
      await scene.expectGone()
    })
  })
})

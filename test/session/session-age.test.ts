import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { connect as connectSocket } from 'node:net'
import { PassThrough } from 'node:stream'
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { errors } from '../../src/index.ts'
import type { ConnectionScript } from '../../src/testing/fault-connection.ts'
import type { FaultServer } from '../../src/testing/fault-server.ts'
import { Setting } from '../../src/testing/frames.ts'
import type { Connector, EndReason, PoolOptions } from '../../types/index.ts'
import type { Harness } from '../support/clients/engines.ts'
import { ENGINES } from '../support/clients/engines.ts'
import type { Recorder } from '../support/clients/recorder.ts'
import { FakeClock } from '../support/clocks/fake-clock.ts'
import { ask, heard, PATIENT, SERVE, startHarness, startPeer, toOutcomes } from '../support/peers/peer-rig.ts'

const AGE = 60_000
const GRACE = 20_000
/** By which time the clock's list of deadlines has told of one that is due. */
const SLACK = 100
/** A session without a call for so long is idle. */
const PAUSE = 5_000
/** The next one is replaced so long after the end of the one before. */
const GAP = 100

/** Holds what is long, and serves everything else. */
const HOLD: ConnectionScript = { onComplete: (stream) => /^.long/.test(stream.path) || stream.respond() }

describe.each(ENGINES)('a session that has an age, on engine %s', (engine) => {
  // Each session gets the whole age.
  beforeEach(() => {
    vi.spyOn(Math, 'random').mockReturnValue(0)
  })
  afterEach(() => {
    vi.restoreAllMocks()
  })

  interface Scene {
    readonly clock: FakeClock
    readonly peer: FaultServer
    readonly harness: Harness
  }

  async function start(
    options: PoolOptions = {},
    scripts: ConnectionScript | readonly ConnectionScript[] = HOLD,
  ): Promise<Scene> {
    const clock = new FakeClock()
    const peer = await startPeer(scripts)
    const common = { ...PATIENT, engine, connections: 1, sessionGracePeriod: GRACE } as const
    const harness = startHarness(peer, { ...common, ...options }, clock)
    await serve(harness)
    return { clock, peer, harness }
  }

  /** A call that has to be served, and doesn't wait for a stream. */
  async function serve(harness: Harness, what = 'GET /next'): Promise<void> {
    const call = ask(harness, what)
    expect(await toOutcomes([call])).toEqual([what])
  }

  /** Lets the age come of a session that is in use. */
  async function age({ clock, harness }: Scene, age = AGE): Promise<void> {
    clock.advance(age - 1_000)
    await serve(harness)
    clock.advance(1_000 + SLACK)
  }

  const statesOf = ({ harness }: Scene) => harness.scheduler.toSessionStats().map(({ state }) => state)
  const openOf = ({ peer }: Scene) => peer.connections.filter((one) => !one.hasEnded && !one.isClosed).length
  const requestsOf = ({ peer }: Scene) => peer.connections.map(({ streams }) => streams.length)

  async function until(scene: Scene, ...states: string[]): Promise<void> {
    await expect.poll(() => statesOf(scene)).toEqual(states)
  }

  /** Calls whose requests have come, on the newest connection. */
  async function begin({ peer, harness }: Scene, ...what: string[]): Promise<Recorder[]> {
    const connection = peer.connection(peer.connections.length - 1)
    const before = connection.streams.length
    const calls = what.map((one) => ask(harness, one))
    await peer.waitFor(
      () => connection.streams.filter((one) => one.isComplete).length >= before + what.length,
    )
    return calls
  }

  describe('when it comes', () => {
    it('is replaced first, and drained then', async () => {
      const scene = await start({ maxSessionAge: AGE })
      const [long] = await begin(scene, 'POST /long')
      await age(scene)
      await until(scene, 'draining', 'ready')
      expect(scene.harness.scheduler.toSessionStats()).toMatchObject([
        { openedFor: 'cold', endedFor: 'age', streams: 1, requests: 3 },
        { openedFor: 'age', endedFor: null, streams: 0, requests: 0 },
      ])
      await serve(scene.harness)
      expect(requestsOf(scene)).toEqual([3, 1])
      scene.peer.request('/long').respond()
      expect(await toOutcomes([long as Recorder])).toEqual(['POST /long'])
      await until(scene, 'ready')
      expect(scene.harness.connections).toEqual(['connect', 'connect', 'disconnect'])
      expect(scene.harness.scheduler.toSessionEnds()).toMatchObject({ age: 1, lost: 0, closed: 0 })
    })

    it('serves until the SETTINGS of its successor have come', async () => {
      const scene = await start({ maxSessionAge: AGE }, [SERVE, { ...SERVE, settings: null }])
      await age(scene)
      await until(scene, 'ready', 'ready')
      await scene.peer.waitFor(() => scene.peer.connection(1).clientSettings.size > 0)
      for (let i = 0; i < 3; i++) await serve(scene.harness)
      expect(requestsOf(scene)).toEqual([5, 0])
      await scene.peer.connection(1).settings()
      await until(scene, 'ready')
      await serve(scene.harness)
      expect(requestsOf(scene)).toEqual([5, 1])
    })

    it('is from 90 to 100 % of the option', async () => {
      vi.restoreAllMocks()
      const ages: number[] = []
      for (let i = 0; i < 20; i++) {
        const scene = await start({ maxSessionAge: AGE })
        const begun = scene.clock.now()
        await begin(scene, 'POST /long')
        while (scene.harness.scheduler.toSessionStats().length === 1) scene.clock.advance(100)
        ages.push(scene.clock.now() - begun)
      }
      expect(Math.min(...ages)).toBeGreaterThanOrEqual(AGE * 0.9)
      expect(Math.max(...ages)).toBeLessThanOrEqual(AGE + 2 * SLACK)
      expect(new Set(ages).size).toBeGreaterThan(10)
    })

    it('closes an idle session, and opens no other', async () => {
      const scene = await start({ maxSessionAge: AGE })
      scene.clock.advance(AGE + SLACK)
      await heard(scene.harness, ['connect', 'disconnect'])
      expect(scene.peer.connections).toHaveLength(1)
      expect(scene.harness.scheduler.toSessionEnds()).toMatchObject({ age: 1 })
      await serve(scene.harness)
      expect(scene.harness.scheduler.toSessionStats()).toMatchObject([{ openedFor: 'cold' }])
    })

    it.each([
      { pause: PAUSE - 2 * SLACK, connections: 2 },
      { pause: PAUSE + SLACK, connections: 1 },
    ])('with no call for $pause ms, it has had $connections connections', async ({ pause, connections }) => {
      const scene = await start({ maxSessionAge: AGE })
      scene.clock.advance(AGE - pause)
      await serve(scene.harness)
      scene.clock.advance(pause + SLACK)
      await heard(
        scene.harness,
        connections === 2 ? ['connect', 'connect', 'disconnect'] : ['connect', 'disconnect'],
      )
      expect(scene.peer.connections).toHaveLength(connections)
    })

    it('hands waiting calls to the successor when it is full', async () => {
      const scene = await start({ maxSessionAge: AGE }, [
        { ...HOLD, settings: [[Setting.MAX_CONCURRENT_STREAMS, 2]] },
        HOLD,
      ])
      await begin(scene, 'POST /long/1', 'POST /long/2')
      const waiting = ask(scene.harness, 'GET /waiting')
      expect(scene.harness.scheduler.pending).toBe(1)
      scene.clock.advance(AGE + SLACK)
      expect(await toOutcomes([waiting])).toEqual(['GET /waiting'])
      expect(requestsOf(scene)).toEqual([3, 1])
      expect(openOf(scene)).toBe(2)
    })
  })

  describe('of several sessions', () => {
    it('replaces one after the other: no more than one beside `connections` are open', async () => {
      const connections = 4
      const scene = await start(
        { maxSessionAge: AGE, connections },
        { ...HOLD, settings: [[Setting.MAX_CONCURRENT_STREAMS, 2]] },
      )
      const { clock, peer, harness } = scene
      let most = 0
      const count = (): void => {
        most = Math.max(most, openOf(scene))
      }
      peer.onConnection('*', { onConnection: count })
      const first = Array.from({ length: 2 * connections }, (_, i) => ask(harness, `POST /long/${i}`))
      await peer.waitFor(() => peer.requests.length === 1 + 2 * connections)
      for (const stream of peer.requests) if (stream.isOpen) stream.respond()
      await toOutcomes(first)
      for (let round = 0; round < 4; round++) {
        const from = peer.connections.length
        for (let left = AGE; left > 0; left -= 2_000) {
          clock.advance(2_000)
          await Promise.all(Array.from({ length: 5 }, () => serve(harness)))
        }
        await expect
          .poll(async () => {
            clock.advance(50)
            await Promise.all(Array.from({ length: 5 }, () => serve(harness)))
            return peer.connections.length
          })
          .toBeGreaterThanOrEqual(from + 1)
      }
      expect(most).toBeLessThanOrEqual(connections + 1)
      expect(harness.scheduler.toSessionEnds()).toMatchObject({ lost: 0, goaway: 0, unconnected: 0 })
    })

    it('replaces none while one that was replaced has a stream, until its grace period is over', async () => {
      const scene = await start({ maxSessionAge: AGE, sessionGracePeriod: 3 * AGE })
      await begin(scene, 'POST /long')
      await age(scene)
      await until(scene, 'draining', 'ready')
      await age(scene)
      await serve(scene.harness)
      expect(statesOf(scene)).toEqual(['draining', 'ready'])
      scene.peer.request('/long').respond()
      await until(scene, 'ready')
      await serve(scene.harness)
      expect(scene.peer.connections).toHaveLength(2)
      scene.clock.advance(GAP)
      await expect.poll(() => scene.peer.connections.length).toBe(3)
      await until(scene, 'ready')
      await serve(scene.harness)
      expect(requestsOf(scene)).toEqual([3, 3, 1])
    })
  })

  describe('of several sessions that come near their number of requests', () => {
    const MOST = 40
    const DUE = 30

    it.each([
      { by: 'its SETTINGS', act: ({ peer }: Scene) => peer.connection(2).settings() },
      { by: 'the GOAWAY of the one before', act: ({ peer }: Scene) => peer.connection(0).goAway() },
      { by: 'the loss of the one before', act: ({ peer }: Scene) => peer.connection(0).socket.destroy() },
      {
        by: 'the last request of the one before',
        act: async (scene: Scene) => {
          while ((requestsOf(scene)[0] ?? 0) < MOST) await serve(scene.harness)
        },
      },
    ])('each gets a successor: the next one when the first is admitted, by $by', async ({ act }) => {
      const limits: ConnectionScript = { ...HOLD, settings: [[Setting.MAX_CONCURRENT_STREAMS, 2]] }
      const scene = await start({ maxSessionRequests: MOST, connections: 2 }, [
        limits,
        limits,
        { ...HOLD, settings: null },
        HOLD,
      ])
      const { peer, harness } = scene
      // The first of them is the first to be due.
      for (let i = 0; i < 4; i++) await serve(harness)
      await begin(scene, 'POST /long/1', 'POST /long/full')
      await serve(harness)
      await until(scene, 'ready', 'ready')
      await begin(scene, 'POST /long/2')
      peer.request('/long/full').respond()
      // One stream is left on each, so two calls go to one each.
      while ((requestsOf(scene)[1] ?? 0) < DUE)
        await Promise.all([serve(harness), serve(harness, 'POST /next')])
      expect(requestsOf(scene)[0]).toBeLessThan(MOST)
      await peer.waitFor(() => peer.connections.length === 3)
      await act(scene)
      await peer.waitFor(() => peer.connections.length === 4)
      await peer.connection(2).settings()
      await expect
        .poll(() => harness.scheduler.toSessionStats().slice(-3))
        .toMatchObject([
          { openedFor: 'full', state: 'draining', endedFor: 'requests' },
          { openedFor: 'requests', state: 'ready' },
          { openedFor: 'requests', state: 'ready' },
        ])
      expect(requestsOf(scene)[1]).toBeLessThan(MOST)
    })
  })

  describe('while its successor isn’t ready', () => {
    /** A connector whose second connection never comes. */
    function toHanging(port: () => number): Connector {
      let attempts = 0
      return (_options, callback) => {
        if (++attempts === 2) return
        const socket = connectSocket(port(), '127.0.0.1', () => callback(null, socket))
      }
    }
    const TWO: ConnectionScript = { ...HOLD, settings: [[Setting.MAX_CONCURRENT_STREAMS, 2]] }

    it('another one is opened for a call: the successor never connects', async () => {
      const peer: FaultServer = await startPeer(TWO)
      const clock = new FakeClock()
      const connect = toHanging(() => peer.port)
      const options = { ...PATIENT, engine, connect, connections: 4, maxSessionAge: AGE } as const
      const scene: Scene = { clock, peer, harness: startHarness(peer, options, clock) }
      await serve(scene.harness)
      await age(scene)
      await until(scene, 'ready', 'connecting')
      await begin(scene, 'POST /long/1', 'POST /long/2')
      await serve(scene.harness)
      expect(requestsOf(scene)).toEqual([4, 1])
      expect(scene.harness.scheduler.toSessionStats()).toMatchObject([
        { openedFor: 'cold', streams: 2 },
        { openedFor: 'age' },
        { openedFor: 'full' },
      ])
    })

    it.each([
      'GET',
      'POST',
    ])('another one is opened for a %s: the successor gets no SETTINGS', async (method) => {
      const scene = await start({ connections: 2, maxSessionAge: AGE }, [
        TWO,
        { ...TWO, settings: null },
        TWO,
      ])
      const { peer, harness } = scene
      await age(scene)
      await until(scene, 'ready', 'ready')
      const first = ['POST /long/1', 'POST /long/2'].map((what) => ask(harness, what))
      await serve(harness, `${method} /next`)
      expect(requestsOf(scene)).toEqual([4, 0, 1])
      // No more than `connections`, and the successor.
      const others = ['POST /long/3', 'POST /long/4', `${method} /last`].map((what) => ask(harness, what))
      await peer.waitFor(() => peer.connection(2).streams.length === 3)
      expect(harness.scheduler.pending).toBe(1)
      expect(peer.connections).toHaveLength(3)
      await peer.connection(1).settings([Setting.MAX_CONCURRENT_STREAMS, 2])
      expect(await toOutcomes(others.slice(2))).toEqual([`${method} /last`])
      await until(scene, 'draining', 'ready', 'ready')
      expect(requestsOf(scene)).toEqual([4, 1, 3])
      for (const stream of peer.requests) if (stream.isOpen) stream.respond()
      expect(await toOutcomes([...first, ...others.slice(0, 2)])).toEqual(
        [1, 2, 3, 4].map((i) => `POST /long/${i}`),
      )
    })

    it('none is opened to get around a server that allows no streams', async () => {
      const none: ConnectionScript = { ...HOLD, settings: [[Setting.MAX_CONCURRENT_STREAMS, 0]] }
      const scene = await start({ connections: 4, maxSessionAge: AGE }, [TWO, none, HOLD])
      const { peer, harness } = scene
      await age(scene)
      await peer.waitFor(() => peer.connections[1]?.hasSettings === true)
      await peer.connection(1).ping()
      await serve(harness)
      const calls = ['POST /long/1', 'POST /long/2', 'POST /next'].map((what) => ask(harness, what))
      await peer.waitFor(() => peer.connection(0).streams.length === 5)
      await peer.connection(0).ping()
      expect(harness.scheduler.pending).toBe(1)
      expect(peer.connections).toHaveLength(2)
      peer.request('/long/1').respond()
      expect(await toOutcomes(calls.slice(2))).toEqual(['POST /next'])
    })
  })

  describe('when its successor can’t be had', () => {
    /** A connector that fails from the second connection on, until it is told otherwise. */
    function toFaulty(peer: () => FaultServer) {
      const state = { isBroken: false, attempts: 0 }
      const connect: Connector = (_options, callback) => {
        state.attempts++
        if (state.isBroken) {
          callback(new Error('unreachable'), null)
          return
        }
        const socket = connectSocket(peer().port, '127.0.0.1', () => callback(null, socket))
      }
      return { state, connect }
    }

    it('goes on serving, and another one is tried less and less often', async () => {
      let scene: Scene | null = null
      const { state, connect } = toFaulty(() => scene?.peer ?? fallback.peer)
      const clock = new FakeClock()
      const peer = await startPeer(SERVE)
      const fallback = { peer }
      const harness = startHarness(peer, { ...PATIENT, engine, connect, maxSessionAge: AGE }, clock)
      scene = { clock, peer, harness }
      await serve(harness)
      state.isBroken = true
      await age(scene)
      await expect.poll(() => state.attempts).toBe(2)
      const tries: number[] = []
      for (let time = 0; time < 300_000; time += 500) {
        const before = state.attempts
        clock.advance(500)
        if (time % 5_000 === 0) await serve(harness)
        if (state.attempts > before) tries.push(time)
      }
      // Half a second to one at first, then twice as long each, up to a minute.
      expect(tries.length).toBeGreaterThanOrEqual(7)
      expect(tries.length).toBeLessThanOrEqual(16)
      expect(statesOf(scene)).toEqual(['ready'])
      expect(harness.scheduler.toSessionStats()).toMatchObject([{ openedFor: 'cold', endedFor: null }])
      state.isBroken = false
      await serve(harness)
      clock.advance(60_000)
      await expect.poll(() => peer.connections.length).toBe(2)
      await expect
        .poll(() => harness.scheduler.toSessionStats().map(({ openedFor }) => openedFor))
        .toEqual(['age'])
      await serve(harness)
      expect(harness.scheduler.toSessionEnds()).toMatchObject({ age: 1, unconnected: tries.length + 1 })
    })

    it('isn’t closed for being idle then', async () => {
      const clock = new FakeClock()
      const peer = await startPeer(SERVE)
      const { state, connect } = toFaulty(() => peer)
      const harness = startHarness(peer, { ...PATIENT, engine, connect, maxSessionAge: AGE }, clock)
      await serve(harness)
      state.isBroken = true
      await age({ clock, peer, harness })
      await expect.poll(() => state.attempts).toBe(2)
      clock.advance(10 * PAUSE)
      await expect
        .poll(() => harness.scheduler.toSessionStats())
        .toMatchObject([{ openedFor: 'cold', state: 'ready' }])
      await serve(harness)
    })

    it('is replaced at once when a session opened since has settled', async () => {
      const clock = new FakeClock()
      const peer = await startPeer({ ...HOLD, settings: [[Setting.MAX_CONCURRENT_STREAMS, 2]] })
      const { state, connect } = toFaulty(() => peer)
      const options = { ...PATIENT, engine, connect, connections: 4, maxSessionAge: AGE } as const
      const scene: Scene = { clock, peer, harness: startHarness(peer, options, clock) }
      const { harness } = scene
      await serve(harness)
      state.isBroken = true
      await age(scene)
      // The next attempt follows after 32 seconds or more.
      while (state.attempts < 8) {
        await serve(harness)
        clock.advance(1_000)
      }
      state.isBroken = false
      await begin(scene, 'POST /long/1', 'POST /long/2')
      expect(peer.connections).toHaveLength(1)
      const call = ask(harness, 'POST /next')
      // Until a connection may be made for a call; sooner than the successor's time.
      clock.advance(5_000)
      expect(await toOutcomes([call])).toEqual(['POST /next'])
      await peer.waitFor(() => peer.connections.length === 3)
      await until(scene, 'draining', 'ready', 'ready')
      expect(harness.scheduler.toSessionStats()).toMatchObject([
        { endedFor: 'age' },
        { openedFor: 'full' },
        { openedFor: 'age' },
      ])
    })

    it('is worth nothing when idle, once its successor has settled that took over early', async () => {
      const clock = new FakeClock()
      const peer = await startPeer([SERVE, { ...SERVE, settings: null }, SERVE])
      const { state, connect } = toFaulty(() => peer)
      const harness = startHarness(peer, { ...PATIENT, engine, connect, maxSessionAge: AGE }, clock)
      const scene: Scene = { clock, peer, harness }
      await serve(harness)
      state.isBroken = true
      await age(scene)
      await expect.poll(() => state.attempts).toBe(2)
      state.isBroken = false
      await serve(harness)
      clock.advance(1_000)
      await until(scene, 'ready', 'ready')
      await peer.connection(0).goAway()
      await heard(harness, ['connect', 'connectionError', 'connect', 'disconnect'])
      await peer.connection(1).settings()
      await serve(harness)
      clock.advance(AGE + SLACK)
      await until(scene)
      expect(peer.connections).toHaveLength(2)
      expect(harness.scheduler.toSessionEnds()).toMatchObject({ age: 1, goaway: 1, unconnected: 1 })
    })

    it.each([
      { what: 'sends GOAWAY with its SETTINGS', script: { onConnection: (it) => it.goAway() } },
      { what: 'closes at once', script: { settings: null, onConnection: (it) => it.socket.destroy() } },
    ] as { what: string; script: ConnectionScript }[])('goes on serving when the server $what', async ({
      script,
    }) => {
      const scene = await start({ maxSessionAge: AGE }, [HOLD, script, HOLD])
      await age(scene)
      await scene.peer.waitFor(() => scene.peer.connections.length === 2)
      await expect.poll(() => statesOf(scene)).toEqual(['ready'])
      const calls = Array.from({ length: 5 }, () => ask(scene.harness, 'POST /next'))
      expect(await toOutcomes(calls)).toEqual(Array.from({ length: 5 }, () => 'POST /next'))
      expect(requestsOf(scene)).toEqual([7, 0])
      scene.clock.advance(1_000)
      await expect.poll(() => scene.peer.connections.length).toBe(3)
      await expect.poll(() => scene.harness.scheduler.toSessionStats().at(-1)?.peerLimit).not.toBe(null)
      await serve(scene.harness)
      expect(requestsOf(scene)).toEqual([7, 0, 1])
    })
  })

  describe('when its server ends it meanwhile', () => {
    it.each(['GOAWAY', 'the connection'])('by %s, its successor serves', async (how) => {
      const scene = await start({ maxSessionAge: AGE }, [HOLD, { settings: null }])
      await age(scene)
      await until(scene, 'ready', 'ready')
      const [connection, next] = [scene.peer.connection(0), scene.peer.connection(1)]
      if (how === 'GOAWAY') connection.goAway()
      else connection.socket.destroy()
      await until(scene, 'ready')
      const call = ask(scene.harness, 'GET /next')
      await scene.peer.waitFor(() => next.streams.length === 1)
      await next.settings()
      await next.streams[0]?.respond('served')
      expect(await toOutcomes([call])).toEqual(['served'])
      expect(scene.peer.connections).toHaveLength(2)
      expect(scene.harness.scheduler.toSessionEnds()).toMatchObject({ age: 0 })
    })
  })

  describe('when its dispatcher ends meanwhile', () => {
    it.each([
      { how: 'close()', isGraceful: true },
      { how: 'destroy()', isGraceful: false },
    ])('by $how, nothing is left', async ({ isGraceful }) => {
      const scene = await start({ maxSessionAge: AGE }, [HOLD, { ...HOLD, settings: null }])
      await age(scene)
      await until(scene, 'ready', 'ready')
      await scene.harness.scheduler.destroy(null, isGraceful)
      expect(statesOf(scene)).toEqual([])
      expect(scene.clock.alarms).toBe(0)
      expect(scene.harness.scheduler.toSessionEnds()).toMatchObject({ closed: 2 })
      await expect.poll(() => openOf(scene)).toBe(0)
    })

    it('no further one is tried', async () => {
      const scene = await start({ maxSessionAge: AGE }, [
        HOLD,
        { settings: null, onConnection: (it) => it.socket.destroy() },
      ])
      await age(scene)
      await expect.poll(() => scene.harness.scheduler.toSessionEnds()).toMatchObject({ lost: 1 })
      await scene.harness.scheduler.destroy(null, true)
      expect(scene.clock.alarms).toBe(0)
    })
  })

  describe('when its grace period is over', () => {
    it('what is left fails, and what may be sent again is', async () => {
      const scene = await start({ maxSessionAge: AGE })
      const [get, post, begun] = (await begin(scene, 'GET /long', 'POST /long/post', 'GET /long/begun')) as [
        Recorder,
        Recorder,
        Recorder,
      ]
      scene.peer.request('/long/begun').head(200)
      await age(scene)
      await until(scene, 'draining', 'ready')
      scene.clock.advance(GRACE - SLACK)
      expect([get, post, begun].flatMap((call) => call.errors)).toEqual([])
      scene.clock.advance(2 * SLACK)
      await Promise.all([post.settled, begun.settled])
      for (const call of [post, begun]) {
        expect(call.error).toBeInstanceOf(errors.SocketError)
        expect(call.error.message).toContain(`sessionGracePeriod (${GRACE} ms) has passed`)
      }
      expect(post.error).toMatchObject({ processed: 'maybe', attempts: 1, streamId: 5 })
      expect(begun.error).toMatchObject({ processed: 'yes', attempts: 1 })
      const next = scene.peer.connection(1)
      await scene.peer.waitFor(() => next.streams.length === 1)
      await next.streams[0]?.respond('again')
      expect(await toOutcomes([get])).toEqual(['again'])
      expect(scene.harness.scheduler.toSessionEnds()).toMatchObject({ age: 1, lost: 0 })
    })

    /** A tunnel on the first connection: settles with its error. */
    async function tunnelThrough({ peer, harness }: Scene): Promise<{ ended: Promise<Error> }> {
      const tunnel = { ended: Promise.resolve(new Error('not begun')) }
      await new Promise<void>((begun, reject) => {
        tunnel.ended = new Promise((resolve) => {
          harness.scheduler.add(
            { path: 'example.test:443', method: 'CONNECT' },
            {
              onRequestUpgrade: (_controller, _status, _headers, socket) => {
                socket.on('error', resolve)
                begun()
              },
              onResponseError: (_controller, error) => reject(error),
            },
          )
        })
        const connection = peer.connection(0)
        peer
          .waitFor(() => connection.streams.length === 2)
          .then(() => connection.streams[1]?.accept(), reject)
      })
      return tunnel
    }

    it('a tunnel fails', async () => {
      const scene = await start({ maxSessionAge: AGE })
      const tunnel = await tunnelThrough(scene)
      await age(scene)
      await until(scene, 'draining', 'ready')
      scene.clock.advance(GRACE + SLACK)
      expect((await tunnel.ended).message).toContain('sessionGracePeriod')
      await until(scene, 'ready')
    })

    it('a tunnel fails that has outlived close(), which settles then', async () => {
      const scene = await start({ maxSessionAge: AGE })
      const tunnel = await tunnelThrough(scene)
      await age(scene)
      await until(scene, 'draining', 'ready')
      let isClosed = false
      const closed = scene.harness.scheduler.destroy(null, true).then(() => {
        isClosed = true
      })
      await until(scene, 'draining')
      scene.clock.advance(GRACE - SLACK)
      await scene.peer.connection(0).ping()
      expect(isClosed).toBe(false)
      scene.clock.advance(2 * SLACK)
      expect((await tunnel.ended).message).toContain('sessionGracePeriod')
      await closed
      expect(scene.clock.alarms).toBe(0)
    })

    it('a tunnel has no grace period on a session that close() has ended', async () => {
      const scene = await start({ maxSessionAge: AGE })
      const tunnel = await tunnelThrough(scene)
      const closed = scene.harness.scheduler.destroy(null, true)
      await until(scene, 'draining')
      scene.clock.advance(AGE + GRACE + SLACK)
      await scene.peer.connection(0).ping()
      expect(statesOf(scene)).toEqual(['draining'])
      await scene.harness.scheduler.destroy(new Error('enough'), false)
      expect((await tunnel.ended).message).toBe('enough')
      await closed
      expect(scene.clock.alarms).toBe(0)
    })

    it('never, with sessionGracePeriod: 0', async () => {
      const scene = await start({ maxSessionAge: AGE, sessionGracePeriod: 0 })
      const [long] = await begin(scene, 'POST /long')
      await age(scene)
      await until(scene, 'draining', 'ready')
      scene.clock.advance(100 * AGE)
      scene.peer.request('/long').respond()
      expect(await toOutcomes([long as Recorder])).toEqual(['POST /long'])
    })
  })

  describe('and a number of requests', () => {
    it('no session gets more, one call at a time, and none waits', async () => {
      const scene = await start({ maxSessionRequests: 8 })
      for (let i = 0; i < 60; i++) {
        await serve(scene.harness)
        expect(scene.harness.scheduler.pending).toBe(0)
        // A connection takes its time: as long as two calls here.
        await scene.peer.connection(scene.peer.connections.length - 1).ping()
      }
      const counts = requestsOf(scene)
      expect(Math.max(...counts)).toBeLessThanOrEqual(8)
      // A successor is opened when a quarter is left.
      expect(Math.min(...counts.slice(0, -2))).toBeGreaterThanOrEqual(6)
      expect(scene.harness.scheduler.toSessionStats().at(-1)).toMatchObject({ openedFor: 'requests' })
      expect(scene.harness.scheduler.toSessionEnds().requests).toBeGreaterThanOrEqual(5)
    })

    it.each([
      1, 2, 3, 7,
    ])('no session gets more than %i of a burst, and each call is served', async (most) => {
      const scene = await start({ maxSessionRequests: most })
      const what = Array.from({ length: 50 }, (_, i) => (i % 3 === 0 ? `POST /${i}` : `GET /${i}`))
      const calls = what.map((one) => ask(scene.harness, one))
      expect(await toOutcomes(calls)).toEqual(what)
      expect(Math.max(...requestsOf(scene))).toBe(most)
      expect(requestsOf(scene).reduce((sum, one) => sum + one)).toBe(51)
    })

    it('a session that has had all of them is left at once, whatever still runs on it', async () => {
      const scene = await start({ maxSessionRequests: 3 }, HOLD)
      const long = await begin(scene, 'POST /long/1', 'POST /long/2')
      for (let i = 0; i < 5; i++) await serve(scene.harness)
      for (const stream of scene.peer.requests) if (stream.isOpen) stream.respond()
      expect(await toOutcomes(long)).toEqual(['POST /long/1', 'POST /long/2'])
      expect(Math.max(...requestsOf(scene))).toBe(3)
    })

    it('counts replays', async () => {
      const scene = await start(
        { maxSessionRequests: 4 },
        {
          onComplete: (stream) =>
            stream.path === '/refused' && stream.connection.index === 0 ? stream.refuse() : stream.respond(),
        },
      )
      const calls = ['/refused', '/a', '/refused', '/b'].map((path) => ask(scene.harness, `GET ${path}`))
      while (calls.some((call) => call.events.at(-1) !== 'end')) {
        await new Promise((resolve) => setImmediate(resolve))
        scene.clock.advance(10)
      }
      expect(Math.max(...requestsOf(scene))).toBeLessThanOrEqual(4)
    })
  })

  describe('and channels', () => {
    interface Message {
      readonly session: { readonly id: number; readonly origin: string; readonly openedFor: string }
      readonly reason?: EndReason
    }

    const CASES: {
      reason: EndReason
      options?: PoolOptions
      script?: ConnectionScript
      act(scene: Scene): unknown
    }[] = [
      { reason: 'age', options: { maxSessionAge: AGE }, act: ({ clock }) => clock.advance(AGE + SLACK) },
      { reason: 'requests', options: { maxSessionRequests: 1 }, act: () => {} },
      { reason: 'idle', options: { keepAliveTimeout: AGE }, act: ({ clock }) => clock.advance(AGE + SLACK) },
      { reason: 'goaway', act: ({ peer }) => peer.connection(0).goAway() },
      { reason: 'lost', act: ({ peer }) => peer.connection(0).socket.destroy() },
      { reason: 'closed', act: ({ harness }) => harness.scheduler.destroy(null, true) },
      { reason: 'closed', act: ({ harness }) => harness.scheduler.destroy(null, false) },
      {
        reason: 'misdirected',
        script: {
          onComplete: (stream) =>
            stream.path === '/421' ? stream.respond({ status: 421 }) : stream.respond(),
        },
        act: ({ harness }) => ask(harness, 'POST /421', { body: new PassThrough().end('x') }).settled,
      },
    ]

    it.each(CASES)('tell of $reason', async ({ reason, options, script, act }) => {
      const heardReasons: unknown[] = []
      const origins = new Set<string>()
      const listen = (name: string) => {
        const onMessage = (message: unknown): void => {
          const { session, reason } = message as Message
          if (origins.size === 0 || origins.has(session.origin)) heardReasons.push([name, session.id, reason])
        }
        subscribe(`dodici:session:${name}`, onMessage)
        onTestFinished(() => void unsubscribe(`dodici:session:${name}`, onMessage))
      }
      listen('draining')
      listen('closed')
      const scene = await start(options, script)
      origins.add(scene.peer.origin)
      await act(scene)
      await expect
        .poll(() => heardReasons.filter((one) => (one as unknown[])[0] === 'closed'))
        .toContainEqual(['closed', 1, reason])
      const draining = heardReasons.find((one) => (one as unknown[])[0] === 'draining')
      if (draining !== undefined) expect(draining).toEqual(['draining', 1, reason])
      expect(scene.harness.scheduler.toSessionEnds()[reason]).toBe(1)
    })
  })
})

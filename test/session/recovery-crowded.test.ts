import { channel } from 'node:diagnostics_channel'
import { connect as connectSocket } from 'node:net'
import { Readable } from 'node:stream'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { ConnectionScript } from '../../src/testing/fault-connection.ts'
import type { FaultServer } from '../../src/testing/fault-server.ts'
import { Setting, Type } from '../../src/testing/frames.ts'
import type { Connector, PoolOptions } from '../../types/index.ts'
import type { Harness } from '../support/clients/engines.ts'
import { ENGINES } from '../support/clients/engines.ts'
import type { Recorder } from '../support/clients/recorder.ts'
import { FakeClock } from '../support/clocks/fake-clock.ts'
import { ask, heard, PATIENT, startHarness, startPeer, toOutcomes } from '../support/peers/peer-rig.ts'

/** Places of a session, and how many of them are asked for in vain: 200 of these, which are young, are reset at once. */
const PLACES = 1_400
const MANY = 1_350
/** Those that wait for their reset then are more than half of the places. */
const STUCK = MANY - 200
/** So many are reset when they are two seconds old, and so many in each second that follows. */
const BURST = 800
const RATE = 30
/** One retired session is followed by another one no sooner. */
const INTERVAL = 2_000
/** The peer has so long to close its side. */
const LINGER = 1_000

/** Responses what isn't one of the many, or a sibling of theirs. */
const HOLD: ConnectionScript = {
  settings: [[Setting.MAX_CONCURRENT_STREAMS, PLACES]],
  onComplete: (stream) => /^.(many|sibling)/.test(stream.path) || stream.respond(),
}

describe.each(ENGINES)('a session that is full of aborted calls, on engine %s', (engine) => {
  interface Scene {
    readonly clock: FakeClock
    readonly peer: FaultServer
    readonly harness: Harness
  }

  async function start(
    options: PoolOptions = {},
    script: ConnectionScript | ConnectionScript[] = HOLD,
  ): Promise<Scene> {
    const clock = new FakeClock()
    const peer = await startPeer(script)
    const harness = startHarness(
      peer,
      { ...PATIENT, engine, connections: 1, initialWindowSize: 16_384, ...options },
      clock,
    )
    expect(await toOutcomes([ask(harness, 'GET /warm')])).toEqual(['GET /warm'])
    return { clock, peer, harness }
  }

  /** Asks for many on the newest connection, aborts them, and waits until those are reset that may be. */
  async function crowd(
    { peer, harness }: Scene,
    sibling = '/sibling',
    beforeAbort = (): void => {},
  ): Promise<Recorder> {
    const connection = peer.connection(peer.connections.length - 1)
    const live = ask(harness, `POST ${sibling}`)
    const calls = Array.from({ length: MANY }, () => ask(harness, 'GET /many'))
    const before = connection.streams.length
    await peer.waitFor(
      () => connection.streams.length === before + MANY + 1 && connection.streams.at(-1)?.isComplete === true,
    )
    await connection.ping()
    beforeAbort()
    for (const call of calls) call.controller?.abort()
    await peer.waitFor(() => connection.of(Type.RST_STREAM).length === MANY - STUCK)
    return live
  }

  /** Until streams on the newest connection are of age, and those are reset that there are tokens for. */
  async function passInterval({ clock, peer }: Scene): Promise<void> {
    const connection = peer.connection(peer.connections.length - 1)
    for (let step = 0; step < 12; step++) clock.advance(INTERVAL / 8)
    await peer.waitFor(() => connection.of(Type.RST_STREAM).length >= BURST)
    await connection.ping()
  }

  const statesOf = ({ harness }: Scene) => harness.scheduler.toSessionStats().map(({ state }) => state)

  /** Settles once these are the states of the sessions, the oldest first. */
  async function until(scene: Scene, ...states: string[]): Promise<void> {
    await expect.poll(() => statesOf(scene)).toEqual(states)
  }

  it('serves the next call, and is retired once another session can take over', async () => {
    const scene = await start()
    const { clock, peer, harness } = scene
    const sibling = await crowd(scene)
    expect(statesOf(scene)).toEqual(['ready'])
    expect(await toOutcomes([ask(harness, 'GET /next')])).toEqual(['GET /next'])
    await until(scene, 'draining', 'ready')
    expect(harness.scheduler.toSessionStats()).toMatchObject([
      { openedFor: 'cold', streams: STUCK + 1 },
      { openedFor: 'crowded', streams: 0 },
    ])
    expect(await toOutcomes([ask(harness, 'GET /after')])).toEqual(['GET /after'])
    expect(peer.ledger.slice(-2)).toEqual([expect.stringMatching(/^0.* \/next$/), '1/1 GET /after'])

    // Its resets go on at their rate, for as long as a caller waits for one of its streams.
    const [old] = peer.connections
    const resets = () => old?.of(Type.RST_STREAM).length ?? 0
    for (let second = 0; second < 10; second++) {
      for (let step = 0; step < 20; step++) clock.advance(50)
      await old?.ping()
    }
    expect(resets()).toBeGreaterThan(BURST)
    expect(resets()).toBeLessThanOrEqual(BURST + 10 * RATE)
    peer.request('/sibling').respond()
    expect(await toOutcomes([sibling])).toEqual(['POST /sibling'])
    clock.advance(LINGER)
    await heard(harness, ['connect', 'connect', 'disconnect'])
    expect(statesOf(scene)).toEqual(['ready'])
    expect(await toOutcomes([ask(harness, 'GET /end')])).toEqual(['GET /end'])
    expect(peer.ledger.at(-1)).toBe('1/3 GET /end')
  })

  it('is kept while no other call is dispatched', async () => {
    const scene = await start()
    await crowd(scene)
    scene.clock.advance(INTERVAL)
    await scene.peer.connection(0).ping()
    expect(statesOf(scene)).toEqual(['ready'])
    expect(scene.peer.connections).toHaveLength(1)
  })

  it('hands its waiting calls over when it has no free stream left', async () => {
    const scene = await start()
    const { peer, harness } = scene
    await crowd(scene)
    const rest = PLACES - STUCK - 1
    const siblings = Array.from({ length: rest }, (_, i) => ask(harness, `POST /sibling/${i}`))
    const waiting = Array.from({ length: 3 }, (_, i) => ask(harness, `POST /waiting/${i}`))
    expect(await toOutcomes(waiting)).toEqual(['POST /waiting/0', 'POST /waiting/1', 'POST /waiting/2'])
    expect(peer.connection(0).open).toBe(PLACES)
    expect(peer.connection(1).streams.map(({ path }) => path)).toEqual([
      '/waiting/0',
      '/waiting/1',
      '/waiting/2',
    ])
    for (const stream of peer.connection(0).streams) if (stream.isOpen) stream.respond()
    const outcomes = new Set(await toOutcomes(siblings))
    expect(outcomes.size).toBe(rest)
  })

  it('hands its remaining calls over once no more of its streams can be reset', async () => {
    const scene = await start()
    const { peer, harness } = scene
    const rest: Recorder[] = []
    const asked = (name: string, count: number): void => {
      for (let i = 0; i < count; i++) rest.push(ask(harness, `POST /${name}/${i}`))
    }
    await crowd(scene, '/sibling', () => {
      asked('sibling', PLACES - STUCK - 1)
      asked('waiting', 3)
    })
    await peer.waitFor(() => peer.connection(0).open === PLACES)
    // No other call is dispatched, and no stream ends.
    expect(await toOutcomes(rest.slice(-3))).toEqual([
      'POST /waiting/0',
      'POST /waiting/1',
      'POST /waiting/2',
    ])
    await until(scene, 'draining', 'ready')
    for (const stream of peer.connection(0).streams) if (stream.isOpen) stream.respond()
    await Promise.all(rest.map((call) => call.settled))
  })

  it('is followed by a second replacement no sooner than 2 s later, whether the first is open or not', async () => {
    const scene = await start()
    const { clock, peer, harness } = scene
    const first = await crowd(scene)
    await toOutcomes([ask(harness, 'GET /next')])
    await until(scene, 'draining', 'ready')
    const second = await crowd(scene, '/sibling/2')
    const isRefused = async (): Promise<void> => {
      expect(await toOutcomes([ask(harness, 'GET /next')])).toEqual(['GET /next'])
      await peer.connection(1).ping()
      expect(peer.connections).toHaveLength(2)
    }
    await isRefused()
    peer.request('/sibling').respond()
    await first.settled
    clock.advance(LINGER)
    await until(scene, 'ready')
    await isRefused()
    clock.advance(INTERVAL - LINGER - 1)
    await isRefused()
    await passInterval(scene)
    await toOutcomes([ask(harness, 'GET /next')])
    await until(scene, 'draining', 'ready')
    const third = await crowd(scene, '/sibling/3')
    await passInterval(scene)
    // The one before lives.
    await toOutcomes([ask(harness, 'GET /next')])
    await until(scene, 'draining', 'draining', 'ready')
    peer.request('/sibling/2').respond()
    peer.request('/sibling/3').respond()
    expect(await toOutcomes([second, third])).toEqual(['POST /sibling/2', 'POST /sibling/3'])
  })

  it('continues to serve when no other session can be opened, and requests one again 2 s later', async () => {
    let asked = 0
    const broken = Object.assign(new Error('no more'), { code: 'E_NO_MORE' })
    const connect: Connector = ({ hostname, port }, callback) => {
      if (++asked > 1) callback(broken)
      else callback(null, connectSocket(Number(port), hostname))
    }
    const scene = await start({ connect })
    const { harness } = scene
    await crowd(scene)
    expect(await toOutcomes([ask(harness, 'GET /next')])).toEqual(['GET /next'])
    await heard(harness, ['connect', 'connectionError'])
    expect(await toOutcomes([ask(harness, 'GET /next')])).toEqual(['GET /next'])
    expect([asked, statesOf(scene)]).toEqual([2, ['ready']])
    await passInterval(scene)
    expect(await toOutcomes([ask(harness, 'GET /next')])).toEqual(['GET /next'])
    await heard(harness, ['connect', 'connectionError', 'connectionError'])
    expect([asked, statesOf(scene)]).toEqual([3, ['ready']])
  })

  it('continues to serve while the other session’s SETTINGS don’t come, and when that ends without them', async () => {
    const silent: ConnectionScript = {
      settings: null,
      onComplete: (_stream, connection) => connection.break(),
    }
    const scene = await start({}, [HOLD, silent])
    const { peer, harness } = scene
    await crowd(scene)
    expect(await toOutcomes([ask(harness, 'GET /next')])).toEqual(['GET /next'])
    await until(scene, 'ready', 'ready')
    await peer.waitFor(() => peer.connections.length === 2)
    // The other one has fewer streams; the end of one of them is no word of its peer's.
    const gone = ask(harness, 'GET /gone', { method: 'POST', body: () => new Readable({ read() {} }) })
    await peer.waitFor(() => peer.connection(1).streams.length === 1)
    gone.controller?.abort()
    await peer.waitFor(() => peer.request('/gone').resetCode !== null)
    expect(statesOf(scene)).toEqual(['ready', 'ready'])
    // What it loses is sent again.
    expect(await toOutcomes([ask(harness, 'GET /lost')])).toEqual(['GET /lost'])
    const lost = peer.ledger.filter((entry) => entry.endsWith('/lost'))
    expect(lost).toEqual(['1/3 GET /lost', expect.stringMatching(/^0/)])
    expect(statesOf(scene)).toEqual(['ready'])
  })

  it('has its place taken by the other session: with a third one, no more take calls than `connections`', async () => {
    const mute: ConnectionScript = { settings: null, onComplete: () => {} }
    const scene = await start({ connections: 2 }, [HOLD, mute, HOLD])
    const { peer, harness } = scene
    await crowd(scene)
    expect(await toOutcomes([ask(harness, 'GET /next')])).toEqual(['GET /next'])
    await until(scene, 'ready', 'ready')
    // More than both have room for: the second doesn't become ready to take over.
    const calls = Array.from({ length: PLACES }, (_, i) => ask(harness, `POST /sibling/${i}`))
    await peer.waitFor(() => peer.connections[2] !== undefined)
    await until(scene, 'ready', 'ready', 'ready')
    expect(await toOutcomes([ask(harness, 'GET /last')])).toEqual(['GET /last'])
    expect(peer.ledger.at(-1)).toMatch(/^2.* GET \/last$/)
    expect(peer.connections).toHaveLength(3)
    for (const call of calls) call.controller?.abort()
  })

  it('leaves its calls to the other session when its peer retires it meanwhile', async () => {
    let letGo = (): void => {}
    const connect: Connector = ({ hostname, port }, callback) => {
      const yieldSocket = (): void => callback(null, connectSocket(Number(port), hostname))
      if (scene === null) yieldSocket()
      else letGo = yieldSocket
    }
    let scene: Scene | null = null
    scene = await start({ connect })
    const { peer, harness } = scene
    const sibling = await crowd(scene)
    expect(await toOutcomes([ask(harness, 'GET /next')])).toEqual(['GET /next'])
    await until(scene, 'ready', 'connecting')
    peer.connection(0).goAway({ lastStreamId: peer.request('/next').id, code: 0 })
    await until(scene, 'draining', 'connecting')
    const after = ask(harness, 'GET /after')
    letGo()
    expect(await toOutcomes([after])).toEqual(['GET /after'])
    expect(statesOf(scene)).toEqual(['draining', 'ready'])
    expect(peer.ledger.at(-1)).toBe('1/1 GET /after')
    peer.request('/sibling').respond()
    expect(await toOutcomes([sibling])).toEqual(['POST /sibling'])
  })

  it('fails its calls once when a subscriber destroys the client on the event of the other session', async () => {
    const scene = await start()
    const { harness } = scene
    const sibling = await crowd(scene)
    const opened = channel('dodici:session:open')
    const mine = new Error('mine')
    const onOpen = (): void => void harness.scheduler.destroy(mine)
    opened.subscribe(onOpen)
    onTestFinished(() => {
      opened.unsubscribe(onOpen)
    })
    const next = ask(harness, 'GET /next')
    await Promise.all([next.settled, sibling.settled])
    for (const call of [next, sibling]) expect([call.events, call.error]).toEqual([['start', 'error'], mine])
    await until(scene)
    expect(harness.connections).toEqual(['connect', 'disconnect'])
  })

  it('is retired in a Pool that has as many sessions as it may', async () => {
    const scene = await start({ connections: 2 })
    const { peer, harness } = scene
    await crowd(scene)
    const rest = PLACES - STUCK
    const siblings = Array.from({ length: rest }, (_, i) => ask(harness, `POST /sibling/${i}`))
    await until(scene, 'ready', 'ready')
    await peer.waitFor(() => peer.connections[1]?.streams.length === 1)
    await crowd(scene)
    expect(harness.scheduler.toSessionStats()).toMatchObject([
      { openedFor: 'cold', streams: PLACES },
      { openedFor: 'full', streams: STUCK + 2 },
    ])
    expect(await toOutcomes([ask(harness, 'GET /next')])).toEqual(['GET /next'])
    await until(scene, 'draining', 'ready', 'ready')
    expect(harness.scheduler.toSessionStats()[2]).toMatchObject({ openedFor: 'crowded', streams: 0 })
    expect(await toOutcomes([ask(harness, 'GET /after')])).toEqual(['GET /after'])
    expect(peer.ledger.at(-1)).toBe('2/1 GET /after')
    for (const stream of peer.requests) if (stream.path.startsWith('/sibling/')) stream.respond()
    expect(new Set(await toOutcomes(siblings)).size).toBe(rest)
  })

  it.each([true, false])('ends with its client while it is retired, gracefully: %s', async (isGraceful) => {
    const scene = await start()
    const { clock, peer, harness } = scene
    const sibling = await crowd(scene)
    await toOutcomes([ask(harness, 'GET /next')])
    await until(scene, 'draining', 'ready')
    if (isGraceful) {
      peer.request('/sibling').respond()
      await harness.scheduler.whenIdle()
      const gone = harness.scheduler.destroy(null, true)
      clock.advance(LINGER)
      await gone
      expect(await toOutcomes([sibling])).toEqual(['POST /sibling'])
    } else {
      await harness.scheduler.destroy(null)
      expect(sibling.error.name).toBe('ClientDestroyedError')
    }
    expect(statesOf(scene)).toEqual([])
    await peer.waitFor(() => peer.connections.every(({ isClosed }) => isClosed))
  })
})

import { connect } from 'node:net'
import { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { errors } from '../../src/index.ts'
import type { ConnectionScript } from '../../src/testing/fault-connection.ts'
import type { FaultStream } from '../../src/testing/fault-stream.ts'
import { Setting } from '../../src/testing/frames.ts'
import type { Connector } from '../../types/index.ts'
import { FakeFallback } from '../support/clients/fallback-fake.ts'
import { Recorder } from '../support/clients/recorder.ts'
import { FakeClock } from '../support/clocks/fake-clock.ts'
import { CANCEL, REFUSED_STREAM } from '../support/peers/error-codes.ts'
import {
  ask,
  PATIENT,
  SERVE,
  settle,
  startHarness,
  startPeer,
  toOutcomes,
} from '../support/peers/peer-rig.ts'

function misdirect(stream: FaultStream): void {
  stream.head(421)
  stream.end(`misdirected ${stream}`)
}

/** Isn't the right one for anything under `/elsewhere`, and reads no body. */
const MISDIRECT: ConnectionScript = {
  grantsCredit: false,
  onComplete: (stream) => {
    if (stream.path.startsWith('/elsewhere')) misdirect(stream)
    else if (!stream.path.startsWith('/held')) stream.respond()
  },
}

/** One stream at a time. */
const SINGLE = [[Setting.MAX_CONCURRENT_STREAMS, 1]] as const

describe('a response of 421', () => {
  it.each([
    'GET',
    'POST',
  ])('to a %s is not handed over: it is sent once more, by another connection', async (method) => {
    const peer = await startPeer([MISDIRECT, SERVE])
    const harness = startHarness(peer, {})
    const call = ask(harness, `${method} /elsewhere`)
    await call.settled
    expect(call.statuses).toEqual([200])
    expect(peer.ledger).toEqual([`0/1 ${method} /elsewhere`, `1/1 ${method} /elsewhere`])
    expect(call.events.filter((event) => event === 'start')).toHaveLength(1)
  })

  it('is handed over when the body can be read only once', async () => {
    const peer = await startPeer([MISDIRECT, SERVE])
    const harness = startHarness(peer, {})
    const call = ask(harness, 'POST /elsewhere', { body: Readable.from(['text']) })
    expect(await toOutcomes([call])).toEqual(['misdirected POST /elsewhere'])
    expect(call.statuses).toEqual([421])
    expect(peer.connections).toHaveLength(1)
  })

  it('that comes a second time is handed over', async () => {
    const peer = await startPeer(MISDIRECT)
    const harness = startHarness(peer, {})
    const call = ask(harness, 'GET /elsewhere')
    expect(await toOutcomes([call])).toEqual(['misdirected GET /elsewhere'])
    expect(call.events).toEqual(['start', 'response 421', 'data', 'end'])
    expect(peer.ledger).toEqual(['0/1 GET /elsewhere', '1/1 GET /elsewhere'])
    // The next call begins anew, and finds the connection that was opened for the first one.
    expect(await toOutcomes([ask(harness, 'GET /here')])).toEqual(['GET /here'])
    expect(peer.connections).toHaveLength(2)
  })

  it('comes after informational responses, and these are delivered', async () => {
    const peer = await startPeer([
      {
        onComplete: (stream) => {
          stream.head(103, [['link', '</a.css>']])
          misdirect(stream)
        },
      },
      SERVE,
    ])
    const harness = startHarness(peer, {})
    const call = ask(harness, 'GET /elsewhere')
    expect(await toOutcomes([call])).toEqual(['GET /elsewhere'])
    expect(call.events).toEqual(['start', 'response 103', 'response 200', 'data', 'end'])
  })

  it('lets the other calls on its connection finish, and no further call uses that connection', async () => {
    const peer = await startPeer([MISDIRECT, SERVE])
    const harness = startHarness(peer, {})
    const held = ask(harness, 'GET /held')
    const call = ask(harness, 'GET /elsewhere')
    expect(await toOutcomes([call, ask(harness, 'GET /next')])).toEqual(['GET /elsewhere', 'GET /next'])
    peer.request('/held').respond()
    expect(await toOutcomes([held])).toEqual(['GET /held'])
    expect(await toOutcomes([ask(harness, 'GET /last')])).toEqual(['GET /last'])
    expect(peer.connections).toHaveLength(2)
    expect(peer.request('/last').connection.index).toBe(1)
    // The body of the misdirected request isn't read to its end.
    const [first] = peer.requests.filter(({ path }) => path === '/elsewhere')
    expect(first?.connection.index).toBe(0)
  })

  it('of an upload that is under way stops it', async () => {
    const peer = await startPeer([
      {
        grantsCredit: false,
        onData: (stream) => stream.resetCode === null && stream.chunks.length === 1 && stream.head(421),
      },
      SERVE,
    ])
    const harness = startHarness(peer, {})
    let opened = 0
    const body = (): Readable => {
      const isFirst = opened++ === 0
      let pieces = 0
      return new Readable({
        read() {
          if (isFirst) this.push(Buffer.alloc(65_536))
          else this.push(pieces++ === 0 ? 'short' : null)
        },
      })
    }
    const call = ask(harness, 'POST /elsewhere', { body })
    expect(await toOutcomes([call])).toEqual(['POST /elsewhere'])
    expect(opened).toBe(2)
    expect(peer.connection(1).streams[0]?.text).toBe('short')
    await peer.waitFor(() => peer.connection(0).isClosed || peer.connection(0).streams[0]?.resetCode !== null)
    expect([CANCEL, null]).toContain(peer.connection(0).streams[0]?.resetCode)
  })

  it('to a hundred calls at once opens one fresh connection', async () => {
    const held: FaultStream[] = []
    const peer = await startPeer([
      {
        onComplete: (stream) => {
          held.push(stream)
          if (held.length === 100) for (const each of held) misdirect(each)
        },
      },
      SERVE,
    ])
    const harness = startHarness(peer, { connections: 4 })
    const calls = Array.from({ length: 100 }, (_, index) => ask(harness, `POST /elsewhere/${index}`))
    expect(await toOutcomes(calls)).toEqual(calls.map((_, index) => `POST /elsewhere/${index}`))
    expect(peer.connections).toHaveLength(2)
    expect(new Set(Object.values(peer.counts))).toEqual(new Set([2]))
  })
})

describe('a pool that gets a 421', () => {
  /** One stream at a time; the test itself responds to the held requests. */
  const toServeOne = (isElsewhere: boolean): ConnectionScript => ({
    settings: SINGLE,
    onComplete: (stream) => {
      if (stream.path === '/elsewhere' && !isElsewhere) misdirect(stream)
      else if (stream.path !== '/held' && stream.path !== '/later') stream.respond()
    },
  })

  /** @param sessions for each an idle one: whether it is the right one for `/elsewhere`; the first is asked first */
  async function startPool(sessions: readonly boolean[], rest: readonly ConnectionScript[]) {
    const clock = new FakeClock()
    const peer = await startPeer([...sessions.map(toServeOne), ...rest])
    const dials: { made: number; onFresh: 'connect' | 'fail' | 'hang' } = { made: 0, onFresh: 'connect' }
    const connector: Connector = (_options, callback) => {
      const isFresh = ++dials.made > sessions.length
      if (isFresh && dials.onFresh === 'fail') callback(new Error('no more sockets'))
      if (isFresh && dials.onFresh !== 'connect') return
      const socket = connect(Number(new URL(peer.origin).port), '127.0.0.1', () => callback(null, socket))
    }
    const options = { ...PATIENT, connections: sessions.length, connect: connector }
    const harness = startHarness(peer, options, clock)
    const held: Recorder[] = []
    for (let index = 0; index < sessions.length; index++) {
      held.push(ask(harness, 'GET /held'))
      await peer.waitFor(() => peer.requests.length === index + 1)
      // Its limit is known then.
      await peer.connection(index).ping()
    }
    const release = async (): Promise<void> => {
      for (const stream of peer.requests) if (stream.path === '/held') stream.respond()
      await toOutcomes(held)
    }
    return { peer, harness, clock, dials, release }
  }

  it('takes another connection that is there, if it is an older one', async () => {
    const { peer, harness, release } = await startPool([true, false, true], [])
    peer.connection(1).streams[0]?.respond()
    await peer.connection(1).ping()
    const call = ask(harness, 'GET /later')
    await peer.waitFor(() => peer.requests.length === 4)
    await release()
    misdirect(peer.request('/later'))
    await peer.waitFor(() => peer.requests.length === 5)
    peer.connection(0).streams[1]?.respond()
    expect(await toOutcomes([call])).toEqual(['GET /later'])
    expect(peer.ledger.slice(3)).toEqual(['1/3 GET /later', '0/3 GET /later'])
    expect(peer.connections).toHaveLength(3)
  })

  it('hands the second 421 over when another connection is the wrong one, too', async () => {
    const { peer, harness, release } = await startPool([false, false], [SERVE])
    await release()
    expect(await toOutcomes([ask(harness, 'GET /elsewhere')])).toEqual(['misdirected GET /elsewhere'])
    expect(peer.ledger.slice(2)).toEqual(['0/3 GET /elsewhere', '1/3 GET /elsewhere'])
  })

  it('opens a connection in place of the one that brought it, when the others are full', async () => {
    const { peer, harness } = await startPool([false, true], [SERVE])
    peer.connection(0).streams[0]?.respond()
    await peer.connection(0).ping()
    expect(await toOutcomes([ask(harness, 'GET /elsewhere')])).toEqual(['GET /elsewhere'])
    expect(peer.ledger.slice(2)).toEqual(['0/3 GET /elsewhere', '2/1 GET /elsewhere'])
  })

  it('keeps the order of dispatch: the call comes before those that were dispatched after it', async () => {
    const { peer, harness, dials } = await startPool([false, true], [])
    dials.onFresh = 'hang'
    peer.connection(0).streams[0]?.respond()
    await peer.connection(0).ping()
    const calls = ['GET /elsewhere', 'GET /a', 'GET /b'].map((what) => ask(harness, what))
    await expect.poll(() => dials.made).toBe(3)
    peer.connection(1).streams[0]?.respond()
    expect(await toOutcomes(calls)).toEqual(['GET /elsewhere', 'GET /a', 'GET /b'])
    expect(peer.ledger.slice(3)).toEqual(['1/3 GET /elsewhere', '1/5 GET /a', '1/7 GET /b'])
  })

  it('is served by a connection that is there when no further one can be made', async () => {
    const { harness, clock, dials, peer, release } = await startPool([false, true], [])
    dials.onFresh = 'fail'
    peer.connection(0).streams[0]?.respond()
    await peer.connection(0).ping()
    const call = ask(harness, 'GET /elsewhere')
    await expect.poll(() => dials.made).toBeGreaterThan(2)
    await release()
    await settle(clock, [call])
    expect(await toOutcomes([call])).toEqual(['GET /elsewhere'])
    expect(peer.ledger.slice(2)).toEqual(['0/3 GET /elsewhere', '1/3 GET /elsewhere'])
  })

  it('fails the call when there is no other connection, and none can be made', async () => {
    const { harness, clock, dials, release } = await startPool([false], [SERVE])
    await release()
    dials.onFresh = 'fail'
    const call = ask(harness, 'GET /elsewhere')
    await call.settled
    dials.onFresh = 'connect'
    const next = ask(harness, 'GET /next')
    await settle(clock, [next])
    expect(call.error).toBeInstanceOf(errors.ConnectError)
    expect(await toOutcomes([next])).toEqual(['GET /next'])
  })

  it('tries another connection when the fresh one is lost', async () => {
    const lost: ConnectionScript = {
      onConnection: (connection) => connection.goAway({ lastStreamId: 0, code: 0 }),
      onComplete: () => {},
    }
    const { peer, harness, clock, release } = await startPool([false], [lost, SERVE])
    await release()
    const call = ask(harness, 'POST /elsewhere')
    await peer.waitFor(() => peer.connections.length === 2)
    const next = ask(harness, 'GET /next')
    await settle(clock, [call, next])
    expect(await toOutcomes([call, next])).toEqual(['POST /elsewhere', 'GET /next'])
  })
})

describe('a call that waits for a fresh connection', () => {
  /** The second connection is never made. */
  async function startWaiting() {
    const peer = await startPeer([MISDIRECT, SERVE])
    const clock = new FakeClock()
    const port = Number(new URL(peer.origin).port)
    let asked = 0
    const connector: Connector = (_options, callback) => {
      if (asked++ > 0) return
      const socket = connect(port, '127.0.0.1', () => callback(null, socket))
    }
    const limits = { ...PATIENT, queueTimeout: 5_000, requestTimeout: 60_000 }
    const harness = startHarness(peer, { ...limits, connect: connector, fallback: new FakeFallback() }, clock)
    const call = ask(harness, 'GET /elsewhere')
    await expect.poll(() => asked).toBe(2)
    expect([harness.scheduler.pending, harness.scheduler.running]).toEqual([1, 0])
    return { harness, call, clock }
  }

  it('fails after queueTimeout', async () => {
    const { call, clock } = await startWaiting()
    clock.advance(5_000)
    expect(call.error).toBeInstanceOf(errors.QueueTimeoutError)
    expect(call.error).toMatchObject({ attempts: 1 })
    expect(call.events).toEqual(['start', 'error'])
  })
})

describe('a call that gets a 421 and', () => {
  it('is aborted from within the connector of the fresh connection settles once', async () => {
    const peer = await startPeer([{ ...MISDIRECT, settings: SINGLE }, SERVE])
    const port = Number(new URL(peer.origin).port)
    const mine = new Error('mine')
    const call = new Recorder()
    let asked = 0
    const connector: Connector = (_options, callback) => {
      if (asked++ > 0) call.controller?.abort(mine)
      const socket = connect(port, '127.0.0.1', () => callback(null, socket))
    }
    const harness = startHarness(peer, { connect: connector })
    await ask(harness, 'GET /first').settled
    harness.dispatch({ path: '/elsewhere' }, call)
    // It has no room, so that a connection is opened as soon as the 421 retires the first one.
    const next = ask(harness, 'GET /next')
    expect(await toOutcomes([next])).toEqual(['GET /next'])
    expect(await toOutcomes([ask(harness, 'GET /last')])).toEqual(['GET /last'])
    expect(call.events).toEqual(['start', 'error'])
    expect(call.error).toBe(mine)
    expect([harness.scheduler.pending, harness.scheduler.running]).toEqual([0, 0])
  })

  it('is refused by the fresh connection is sent there once more', async () => {
    const peer = await startPeer([
      MISDIRECT,
      {
        onComplete: (stream, connection) => {
          if (connection.streams.length === 1) stream.reset(REFUSED_STREAM)
          else stream.respond()
        },
      },
    ])
    const harness = startHarness(peer, {})
    expect(await toOutcomes([ask(harness, 'POST /elsewhere')])).toEqual(['POST /elsewhere'])
    expect(peer.ledger).toEqual(['0/1 POST /elsewhere', '1/1 POST /elsewhere', '1/3 POST /elsewhere'])
  })
})

import { channel } from 'node:diagnostics_channel'
import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { ConnectionScript, FaultConnection } from '../../src/testing/fault-connection.ts'
import type { FaultStream } from '../../src/testing/fault-stream.ts'
import { frames, Type } from '../../src/testing/frames.ts'
import type { PoolOptions } from '../../types/index.ts'
import type { Harness } from '../support/clients/engines.ts'
import { ENGINES } from '../support/clients/engines.ts'
import type { Recorder } from '../support/clients/recorder.ts'
import { FakeClock } from '../support/clocks/fake-clock.ts'
import { countsPings } from '../support/peers/grpc-peer.ts'
import { ask, heard, PATIENT, startHarness, startPeer, toOutcomes } from '../support/peers/peer-rig.ts'

const SECOND = 1_000
const MINUTE = 60_000
/** Whether something was read is looked for four times in an interval; a deadline may be met a little late. */
const SLACK = 100

/** As a server of gRPC responses. */
function response(stream: FaultStream, contentType = 'application/grpc'): void {
  stream.head(200, [['content-type', contentType]])
  stream.end(stream.path)
}

/** Responds to each complete request, except for paths with `/held`. */
const SERVE: ConnectionScript = {
  onComplete(stream) {
    if (!stream.path.startsWith('/held')) response(stream)
  },
}

describe.each(ENGINES)('with a server that counts PINGs, on engine %s', (engine) => {
  // PATIENT's options, and the defaults for PINGs.
  const { pingInterval: _interval, pingTimeout: _timeout, ...patient } = PATIENT

  async function begin(script: ConnectionScript, options: PoolOptions = {}) {
    const clock = new FakeClock()
    const peer = await startPeer(countsPings(clock, script))
    const harness = startHarness(peer, { ...patient, engine, connections: 1, ...options }, clock)
    return { clock, peer, harness }
  }

  /** A call whose request has come, in whole or in part. */
  async function run(harness: Harness, connection: FaultConnection, what: string): Promise<Recorder> {
    const count = connection.streams.length
    const call = ask(harness, what)
    while (connection.streams.length === count) await connection.ping()
    return call
  }

  /** An upload that is aborted once some of it has come; settles when its reset has come, and what went with it. */
  async function abortUpload(harness: Harness, connection: FaultConnection): Promise<void> {
    const resets = connection.of(Type.RST_STREAM).length
    const count = connection.streams.length
    const call = ask(harness, 'POST /held/upload', { body: endless() })
    while ((connection.streams[count]?.length ?? 0) === 0) await connection.ping()
    call.controller?.abort()
    while (connection.of(Type.RST_STREAM).length === resets) await connection.ping()
    await connection.ping()
  }

  /** The number of PINGs whose ACK the client has received. */
  function countPongs(): () => number {
    let count = 0
    const onPong = (): void => void count++
    channel('dodici:session:ping').subscribe(onPong)
    onTestFinished(() => void channel('dodici:session:ping').unsubscribe(onPong))
    return () => count
  }

  async function* endless(): AsyncGenerator<string> {
    yield 'a piece'
    await new Promise(() => {})
  }

  it('ten uploads that are cancelled a second apart leave the connection and their sibling unharmed', async () => {
    const { clock, peer, harness } = await begin(SERVE)
    const sibling = ask(harness, 'GET /held')
    await peer.waitFor(() => peer.connections[0]?.streams.length === 1)
    const connection = peer.connection(0)
    for (let i = 0; i < 10; i++) {
      await abortUpload(harness, connection)
      clock.advance(SECOND)
    }
    expect(connection.pings).toHaveLength(1)
    response(peer.request('/held'))
    expect(await toOutcomes([sibling])).toEqual(['/held'])
    expect(harness.connections).toEqual(['connect'])
  })

  it('uploads that are cancelled between responses, and between hours without a call, leave the connection unharmed', async () => {
    const { clock, peer, harness } = await begin(SERVE, { keepAliveTimeout: 0 })
    expect(await toOutcomes([ask(harness, 'POST /first')])).toEqual(['/first'])
    const connection = peer.connection(0)
    for (let i = 0; i < 30; i++) {
      if (i % 4 === 0) expect(await toOutcomes([ask(harness, 'POST /some')])).toEqual(['/some'])
      await abortUpload(harness, connection)
      clock.advance(i % 3 === 0 ? 7 * MINUTE : 40 * SECOND)
    }
    expect(harness.connections).toEqual(['connect'])
    expect(connection.pings.length).toBeGreaterThan(8)
  })

  it('a first call that gets no bytes for an hour stays open', async () => {
    // An advance of the clock passes the time of the PING as well.
    const { clock, peer, harness } = await begin(SERVE, { pingTimeout: 10 * MINUTE })
    const pongs = countPongs()
    const watch = ask(harness, 'POST /held/watch')
    await peer.waitFor(() => peer.connections[0]?.streams.length === 1)
    const connection = peer.connection(0)
    for (let i = 1; i <= 48; i++) {
      clock.advance(1.25 * MINUTE)
      // Frames keep their order: a PING comes before this. And the server does not respond to it.
      ask(harness, 'GET /held/sync')
      await peer.waitFor(() => connection.streams.length === 1 + i)
      while (pongs() < connection.pings.length) await turn()
    }
    expect(connection.pings).toHaveLength(14)
    response(peer.request('/held/watch'))
    expect(await toOutcomes([watch])).toEqual(['/held/watch'])
    expect(harness.connections).toEqual(['connect'])
  })

  it.each([
    // A PING is free behind HEADERS or DATA: an early one is sent to either server.
    { what: 'in gRPC', contentType: 'application/grpc+proto', options: {}, seconds: 2 },
    { what: 'otherwise', contentType: 'application/grpc-web', options: {}, seconds: 2 },
    {
      what: 'in gRPC, and is to be asked every two minutes,',
      contentType: 'application/grpc',
      options: { pingInterval: 2 * MINUTE },
      seconds: 120,
    },
  ])('when it responds $what and then dies, it gets a PING $seconds seconds later, and its death is detected', async (scene) => {
    const { contentType, options, seconds } = scene
    const script: ConnectionScript = { onComplete: (stream) => void response(stream, contentType) }
    const { clock, peer, harness } = await begin(script, { ...options, replaySafe: false })
    expect(await toOutcomes([ask(harness, 'GET /warm')])).toEqual(['/warm'])
    const connection = peer.connection(0)
    connection.fallSilent()
    const call = ask(harness, 'POST /lost')
    await turn()
    clock.advance(0.7 * seconds * SECOND)
    ask(harness, 'GET /sync')
    await peer.waitFor(() => connection.streams.length === 3)
    expect(connection.pings).toHaveLength(0)
    clock.advance(0.55 * seconds * SECOND + SLACK)
    await peer.waitFor(() => connection.pings.length === 1)
    clock.advance(15 * SECOND)
    await call.settled
    expect(call.error.message).toContain('PING')
  })

  it('when it has sent GOAWAY with too_many_pings, it gets no further PING with a reset on any connection', async () => {
    const script: ConnectionScript = {
      onComplete: (stream) => void (stream.path === '/warm' && response(stream)),
    }
    const { peer, harness, clock } = await begin(script)
    expect(await toOutcomes([ask(harness, 'GET /warm')])).toEqual(['/warm'])
    peer.connection(0).goAway({ lastStreamId: 1, code: 11, debugData: 'too_many_pings' })
    await heard(harness, ['connect', 'disconnect'])
    expect(await toOutcomes([ask(harness, 'GET /warm')])).toEqual(['/warm'])
    const connection = peer.connection(1)
    for (let i = 0; i < 4; i++) {
      expect(await toOutcomes([await run(harness, connection, 'GET /warm')])).toEqual(['/warm'])
      await abortUpload(harness, connection)
      clock.advance(MINUTE)
    }
    expect(connection.pings).toHaveLength(0)
    expect(harness.connections).toEqual(['connect', 'disconnect', 'connect'])
  })

  it('downloads that are complete and are read later, one after the other, cost no strike', async () => {
    const { clock, peer, harness } = await begin({
      onRequest(stream) {
        stream.head(200, [['content-type', 'application/grpc']])
      },
    })
    const calls = Array.from({ length: 8 }, (_, i) => ask(harness, `GET /download/${i}`))
    while (calls.some(({ events }) => events.length < 2)) await turn()
    const connection = peer.connection(0)
    for (const call of calls) call.controller?.pause()
    // More than the half of each window: reading it gives credit, and tells how fast the path is.
    for (const { id } of connection.streams) {
      for (let i = 0; i < 40; i++) connection.write(frames.data(id, 'x'.repeat(16_000)))
    }
    await connection.ping()
    for (const call of calls) {
      call.controller?.resume()
      clock.advance(2 * SECOND)
      await connection.ping()
      await connection.ping()
    }
    for (const stream of connection.streams) stream.end()
    const ends = await Promise.all(calls.map(async (call) => [await call.settled, call.events.at(-1)][1]))
    expect(ends).toEqual(calls.map(() => 'end'))
    expect(harness.connections).toEqual(['connect'])
  })
})

/** Every way in which a connection dies, and the call that is dispatched afterwards. */

import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { ConnectionScript, FaultConnection } from '../../src/testing/fault-connection.ts'
import type { FaultServer } from '../../src/testing/fault-server.ts'
import { frames, Setting, Type } from '../../src/testing/frames.ts'
import type { PoolOptions } from '../../types/index.ts'
import type { Harness } from '../support/clients/engines.ts'
import { ENGINES } from '../support/clients/engines.ts'
import { FakeClock } from '../support/clocks/fake-clock.ts'
import { ENHANCE_YOUR_CALM } from '../support/peers/error-codes.ts'
import { ask, PATIENT, SERVE, startHarness, startPeer, toOutcome } from '../support/peers/peer-rig.ts'
import { toTlsPeer } from '../support/peers/peer-tls.ts'

const INTERVAL = 60_000
const TIMEOUT = 4_000
/** A death that the process can know of is over within it. */
const SECOND = 1_000
/** A deadline may be met so much later. */
const SLACK = 100
/** How often it is looked, for each interval, whether anything was read. */
const LOOKS = 4
const STREAM_WINDOW = 2 ** 31 - 1
const CONNECTION_WINDOW = 2 ** 30
/** More than a socket takes that isn't read. */
const LARGE = 64 * 1_024 * 1_024

const [major = 0] = process.versions.node.split('.').map(Number)

type Engine = (typeof ENGINES)[number]

/** What a connection dies with. */
interface Setup {
  readonly engine: Engine
  readonly transport: 'TCP' | 'TLS'
  readonly isUploading: boolean
}

interface Death {
  readonly name: string
  /** What the peer does to its connection, once the request has come. */
  kill(connection: FaultConnection, streamId: number): void
  /** Whether nothing of it can be heard of, and only a PING finds out. @default never */
  isSilent?(setting: Setup): boolean
  /** Over TLS alone. */
  readonly needsTls?: true
}

function isSilentForNghttp2({ engine }: Setup): boolean {
  // Node 20 emits no event for most errors that nghttp2 finds (docs/differences.md).
  return engine === 'node' && major < 22
}

function isSilentForTls({ engine, transport, isUploading }: Setup): boolean {
  // Node 20 to 24 swallow the error of a write over TLS, and read nothing behind it (docs/differences.md).
  return engine === 'node' && major < 26 && transport === 'TLS' && isUploading
}

const DEATHS: readonly Death[] = [
  { name: 'a TCP reset', kill: (connection) => connection.break(), isSilent: isSilentForTls },
  { name: 'FIN', kill: (connection) => connection.end() },
  { name: 'a socket that is closed', kill: ({ socket }) => socket.destroy(), isSilent: isSilentForTls },
  { name: 'GOAWAY with an error, and FIN', kill: (connection) => die(connection, 2) },
  { name: 'GOAWAY with NO_ERROR, and FIN', kill: (connection) => die(connection, 0) },
  { name: 'a fatal TLS alert', needsTls: true, kill: (connection) => connection.alert() },
  {
    name: 'DATA on stream 0',
    kill: (connection) => connection.write(frames.frame(Type.DATA, 0, 0, Buffer.from('x'))),
    isSilent: isSilentForNghttp2,
  },
  {
    name: 'a frame that is too large',
    kill: (connection, id) => connection.write(frames.frame(Type.DATA, 0, id, Buffer.alloc(2 ** 20))),
    isSilent: isSilentForNghttp2,
  },
  {
    name: 'a header block that cannot be decoded',
    kill: (connection, id) => connection.write(frames.frame(Type.HEADERS, 4, id, Buffer.from([0xff, 0xff]))),
    isSilent: isSilentForNghttp2,
  },
  {
    name: 'a connection window beyond 2^31-1',
    kill: (connection) => connection.grant(0, 2 ** 31 - 1),
  },
  { name: 'a black hole', kill: (connection) => connection.fallSilent(), isSilent: () => true },
  {
    name: 'GOAWAY, and a black hole behind it',
    kill: (connection, id) => {
      connection.goAway({ lastStreamId: id, code: 0 })
      connection.fallSilent()
    },
    isSilent: () => true,
  },
  {
    name: 'a peer that stops reading',
    kill: (connection) => connection.socket.pause(),
    isSilent: () => true,
  },
]

function die(connection: FaultConnection, code: number): void {
  connection.goAway({ lastStreamId: 0, code })
  connection.end()
}

/** Takes an upload of any size, and responds to nothing. */
const HOLD: ConnectionScript = {
  settings: [[Setting.INITIAL_WINDOW_SIZE, STREAM_WINDOW]],
  grantsCredit: false,
  onConnection: (connection) => connection.grant(0, CONNECTION_WINDOW),
}

describe.each(ENGINES)('on engine %s', (engine) => {
  const usual: PoolOptions = {
    ...PATIENT,
    engine,
    connections: 1,
    pingInterval: INTERVAL,
    pingTimeout: TIMEOUT,
  }

  interface Scene {
    readonly clock: FakeClock
    readonly peer: FaultServer
    readonly harness: Harness
    readonly connection: FaultConnection
  }

  /** A session with a call that its peer has taken, and the first bytes of an upload that has no end. */
  async function begin(transport: 'TCP' | 'TLS', isUploading: boolean): Promise<Scene> {
    const tls = transport === 'TLS' ? await toTlsPeer() : null
    const peer = await startPeer([HOLD, SERVE], tls?.options ?? {})
    const clock = new FakeClock()
    const connect = tls === null ? {} : { connect: { ca: tls.ca } }
    const harness = startHarness(peer, { ...usual, ...connect }, clock)
    ask(harness, 'POST /held')
    if (isUploading) ask(harness, 'POST /upload', { body: Buffer.alloc(LARGE) })
    await peer.waitFor(() => peer.requests.length === (isUploading ? 2 : 1))
    // Nothing is in flight to the client that it would receive after the end.
    const connection = peer.connection(0)
    await connection.ping()
    return { clock, peer, harness, connection }
  }

  /** Lets so much time go by, in steps in which what has come is read. */
  async function pass({ clock }: Scene, milliseconds: number): Promise<void> {
    for (let step = 0; step < LOOKS; step++) {
      clock.advance(milliseconds / LOOKS)
      await turn()
      await turn()
    }
  }

  /** A call of afterwards. A POST: nothing sends it a second time. */
  async function askAfterwards(scene: Scene, isSilent: boolean): Promise<string> {
    const after = ask(scene.harness, 'POST /after')
    if (isSilent) {
      // What has come with the death is read.
      for (let left = LOOKS; left > 0; left--) await turn()
      await pass(scene, INTERVAL + SLACK)
      await pass(scene, TIMEOUT + SLACK)
    } else {
      await expect.poll(() => scene.harness.connections).toContain('disconnect')
    }
    scene.clock.advance(SECOND)
    await after.settled
    return toOutcome(after)
  }

  describe.each(['TCP', 'TLS'] as const)('over %s', (transport) => {
    describe.each([
      ['a call waits for its response', false],
      ['an upload runs', true],
    ])('while %s', (_what, isUploading) => {
      it.each(
        DEATHS.filter(({ needsTls }) => needsTls !== true || transport === 'TLS').map(
          (death) => [death.name, death] as const,
        ),
      )('when the connection dies of %s › serves the next call by another one', async (_name, death) => {
        const scene = await begin(transport, isUploading)
        death.kill(scene.connection, scene.connection.streams[0]?.id ?? 0)
        // One that was sent to a dead peer may have been processed: it fails, and the one behind it is served.
        const first = await askAfterwards(
          scene,
          death.isSilent?.({ engine, transport, isUploading }) === true,
        )
        if (first !== 'POST /after') {
          expect(first).toMatch(/^(SocketError|StreamError) /)
          expect(await askAfterwards(scene, false)).toBe('POST /after')
        }
        expect(scene.peer.connections.length).toBeGreaterThan(1)
      })
    })
  })

  describe('a peer that has sent GOAWAY', () => {
    /** With a call that it has taken, and goes on with. */
    async function retire() {
      const scene = await begin('TCP', false)
      const [stream] = scene.connection.streams
      if (stream === undefined) throw new Error('There is no request')
      const after = ask(scene.harness, 'POST /after')
      scene.connection.goAway({ lastStreamId: stream.id, code: 0 })
      await scene.peer.waitFor(() => scene.peer.connections.length === 2)
      await after.settled
      return { ...scene, stream, calls: scene.harness.scheduler }
    }

    it('when it is slow, and sends no more frames than it must › is waited for', async () => {
      const scene = await retire()
      // In steps that leave the time for an ACK.
      for (let time = 0; time < 3 * (INTERVAL + TIMEOUT); time += TIMEOUT / 2) {
        scene.clock.advance(TIMEOUT / 2)
        await scene.connection.ping()
      }
      expect(scene.calls.running).toBe(1)
      scene.stream.respond()
      await expect.poll(() => scene.calls.running).toBe(0)
      expect(scene.connection.of(Type.RST_STREAM)).toEqual([])
    })

    it.each([
      ['complains of PINGs', ENHANCE_YOUR_CALM, 'too_many_pings', 2 ** 31 - 1],
      ['refuses all that it was sent', 0, '', 0],
    ])('when it %s › is sent no PING', async (_what, code, debugData, lastStreamId) => {
      const { connection, harness } = await begin('TCP', false)
      const settings = connection.of(Type.SETTINGS).length
      connection.goAway({ lastStreamId, code, debugData })
      // All that the client sends because of that has come when its own end has.
      connection.end()
      await expect.poll(() => harness.connections).toContain('disconnect')
      for (let left = LOOKS; left > 0; left--) await turn()
      expect(connection.pings).toEqual([])
      expect(connection.of(Type.SETTINGS)).toHaveLength(settings)
    })

    it('when it falls silent at once › is abandoned after pingTimeout', async () => {
      const scene = await begin('TCP', false)
      const call = ask(scene.harness, 'POST /second')
      await scene.peer.waitFor(() => scene.peer.requests.length === 2)
      await scene.connection.ping()
      scene.connection.goAway({ lastStreamId: call.controller === null ? 0 : 2 ** 31 - 1, code: 0 })
      scene.connection.fallSilent()
      for (let left = LOOKS; left > 0; left--) await turn()
      await pass(scene, TIMEOUT + SLACK)
      await call.settled
      expect(toOutcome(call)).toMatch(/^SocketError maybe /)
      expect(call.error.message).toContain('PING')
    })
  })
})

describe('on engine node, a session that node destroys while a write to its peer cannot end', () => {
  /** From Node 26 on that is known at once; before, nothing is (docs/differences.md). */
  const isKnown = major >= 26

  it.each(['TCP', 'TLS'] as const)('over %s › is replaced, and its calls fail', async (transport) => {
    const tls = transport === 'TLS' ? await toTlsPeer() : null
    const peer = await startPeer([HOLD, SERVE], tls?.options ?? {})
    const clock = new FakeClock()
    const connect = tls === null ? {} : { connect: { ca: tls.ca } }
    const options = { ...PATIENT, engine: 'node', pingInterval: INTERVAL, pingTimeout: TIMEOUT } as const
    const harness = startHarness(peer, { ...options, ...connect, connections: 4 }, clock)
    const long = ask(harness, 'POST /long')
    const upload = ask(harness, 'POST /upload', { body: Buffer.alloc(LARGE) })
    await peer.waitFor(() => peer.requests.length === 2)
    const connection = peer.connection(0)
    await connection.ping()
    connection.socket.pause()
    await untilStuck(harness)
    const { id } = peer.request('/long')
    connection.write(frames.response(id, 0, 4), frames.data(id, 'longer than that'))
    for (let left = 20; left > 0; left--) await turn()
    if (!isKnown) for (const time of [INTERVAL, SLACK, TIMEOUT, SLACK, SLACK]) await elapse(clock, time)
    await upload.settled
    await long.settled
    expect(long.errors).toHaveLength(1)
    const after = ask(harness, 'POST /after')
    await elapse(clock, SECOND)
    await after.settled
    expect(toOutcome(after)).toBe('POST /after')
  })

  /** Until the buffers on the way to the peer are full. */
  async function untilStuck(harness: Harness): Promise<void> {
    let written = -1
    for (let now = 0; now !== written; now = harness.scheduler.toSessionStats()[0]?.bytesWritten ?? 0) {
      written = now
      for (let left = 50; left > 0; left--) await turn()
    }
  }

  async function elapse(clock: FakeClock, milliseconds: number): Promise<void> {
    clock.advance(milliseconds)
    await turn()
    await turn()
  }
})

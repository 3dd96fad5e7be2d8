import type { Socket } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Call } from '../../../src/call/call.ts'
import { Deadlines } from '../../../src/core/clock.ts'
import { ErrorCode } from '../../../src/errors/error-codes.ts'
import { DodiciError, SocketError } from '../../../src/errors/errors.ts'
import { toClientOptions, toOrigin } from '../../../src/options/options.ts'
import type { EngineSource } from '../../../src/session/engine.ts'
import { Http2Session } from '../../../src/session/http2-session.ts'
import { OriginMemory } from '../../../src/session/origin-memory.ts'
import type { SessionOwner } from '../../../src/session/session.ts'
import { PairedDuplex } from '../../../src/testing/duplex-pair.ts'
import { MAX_STREAM_ID } from '../../../src/testing/frames.ts'
import type { ClientOptions } from '../../../types/client.ts'
import { FakeClock } from '../../support/clocks/fake-clock.ts'
import { Scene as CallScene } from '../call/call-scene.ts'
import type { FakeConnection } from './fake-engine.ts'
import { FakeEngine } from './fake-engine.ts'

/** A session of an engine that only records what is called. */
class Scene implements SessionOwner {
  readonly clock = new FakeClock()
  readonly deadlines = new Deadlines(this.clock)
  readonly engine = new FakeEngine()
  readonly session: Http2Session
  /** What the session calls on its engine, and what it tells its owner, in their order. */
  readonly events = this.engine.events
  readonly #socket = PairedDuplex.toPair()[0]

  constructor(given: ClientOptions = {}) {
    const { clock, deadlines, engine } = this
    const options = toClientOptions({
      connect: (_options, callback) => callback(null, this.#socket as unknown as Socket),
      ...given,
    })
    const source: EngineSource = { use: (onLoaded) => onLoaded(engine) }
    const context = { origin: toOrigin('http://a.example'), options, engine: source, clock, deadlines }
    const memory = new OriginMemory(clock)
    this.session = new Http2Session({ ...context, memory, exchange: null, owner: this }, 1, 'cold')
    onTestFinished(() => {
      this.#socket.destroy()
    })
  }

  /** The session is ready. */
  async connect(): Promise<FakeConnection> {
    this.session.start()
    await turn()
    const [connection] = this.engine.connections
    if (connection === undefined) throw new Error('It has not connected')
    this.events.length = 0
    return connection
  }

  onSessionReady(): void {
    this.events.push('ready')
  }

  onSessionRoom(): void {
    this.events.push('room')
  }

  onSessionLoad(): void {
    this.events.push('load')
  }

  onSessionIdle(): void {
    this.events.push('idle')
  }

  onSessionShut(): void {
    this.events.push('shut')
  }

  onSessionDraining(): void {
    this.events.push('draining')
  }

  onSessionClosed(_session: unknown, cause: Error | null, wasReady: boolean): void {
    this.events.push(`closed: ${cause?.message}, ${wasReady ? 'was ready' : 'was never ready'}`)
  }

  waiting(): number {
    return 0
  }
}

function toCall(): Call {
  return new CallScene().call
}

describe('Http2Session', () => {
  describe('when its socket is connected', () => {
    it('connects the engine to it, and is ready', async () => {
      const scene = new Scene({ initialWindowSize: 65_536 })
      expect(scene.session.state).toEqual({ name: 'connecting' })
      expect(scene.session.canTake('any')).toBe('soon')
      expect(() => scene.session.open(toCall())).toThrow(DodiciError)
      scene.session.start()
      await turn()
      expect(scene.events).toEqual(['connect with windows of 65536', 'ready', 'unref'])
      expect(scene.session.state).toEqual({ name: 'ready' })
      expect(scene.session.canTake('any')).toBe('yes')
    })

    it('closes when the engine throws because the socket is invalid', async () => {
      const scene = new Scene()
      scene.engine.error = new TypeError('no socket')
      scene.session.start()
      await turn()
      expect(scene.events.slice(1)).toEqual(['closed: no socket, was never ready'])
      expect(scene.session.state).toEqual({ name: 'closed', cause: scene.engine.error })
    })
  })

  describe('when a call is opened', () => {
    it('creates a stream on the connection, counts it, and opens it last', async () => {
      const scene = new Scene()
      const connection = await scene.connect()
      scene.session.open(toCall())
      expect(scene.events.splice(0)).toEqual(['load', 'ref', 'open 1'])
      expect(scene.session.streams).toBe(1)

      for (const stream of connection.streams) scene.session.onStreamClosed(stream)
      expect(scene.events.splice(0)).toEqual(['room', 'unref'])
      expect(scene.session.streams).toBe(0)
      // A second call changes nothing.
      for (const stream of connection.streams) scene.session.onStreamClosed(stream)
      expect(scene.events).toEqual([])
    })

    it('has no room above the limit of the peer, nor when the engine has none', async () => {
      const scene = new Scene()
      const connection = await scene.connect()
      scene.session.onSettings({ maxConcurrentStreams: 1 })
      expect(scene.session.canTake('any')).toBe('yes')
      connection.canTake = false
      expect(scene.session.canTake('any')).toBe('soon')
      connection.isDestroyed = true
      expect(scene.session.canTake('any')).toBe('lost')
      connection.isDestroyed = false
      connection.canTake = true
      scene.session.open(toCall())
      expect(scene.session.canTake('any')).toBe('full')
    })
  })

  describe('when GOAWAY comes', () => {
    it('drains: finishes its streams, then the connection, and destroys it after a second', async () => {
      const scene = new Scene()
      const connection = await scene.connect()
      scene.session.open(toCall())
      scene.events.length = 0
      scene.session.onGoaway(0, 1, null)
      expect(scene.events.splice(0)).toEqual(['draining'])
      expect(scene.session.state).toEqual({ name: 'draining' })
      expect(scene.session.canTake('any')).toBe('never')
      // A PING, as the peer gives no other sign of life.
      await turn()
      expect(scene.events.splice(0)).toEqual(['ping'])

      for (const stream of connection.streams) scene.session.onStreamClosed(stream)
      expect(scene.events.splice(0)).toEqual(['unref', 'finish'])
      scene.clock.advance(1_000)
      expect(scene.events.splice(0)).toEqual(['cut'])
      scene.session.onClose()
      expect(scene.events).toEqual(['closed: undefined, was ready'])
    })
  })

  describe('when the connection fails', () => {
    it('closes, fails its streams in their order, and destroys the connection; the first cause wins', async () => {
      const scene = new Scene()
      await scene.connect()
      scene.session.open(toCall())
      scene.session.open(toCall())
      scene.events.length = 0
      const cause = new SocketError('gone')
      scene.session.onError(cause)
      scene.session.onError(new SocketError('gone twice'))
      scene.session.onClose()
      expect(scene.events).toEqual(['lose 1', 'lose 3', 'closed: gone, was ready', 'cut'])
      expect(scene.session.state).toEqual({ name: 'closed', cause })
      expect(scene.session.isLost()).toBe(true)
      expect(scene.session.toLossError(1, new Error('another')).cause).toBe(cause)
    })
  })

  describe('when the peer sends GOAWAY', () => {
    it('leaves out the streams above the last one while a call on a stream that it covers goes on', async () => {
      const scene = new Scene()
      await scene.connect()
      const { session, engine } = scene
      const ids = [1, 3, 5]
      for (const _ of ids) session.open(toCall())
      const toLeftOut = (): number[] => ids.filter((id) => session.isLeftOut(id))
      expect(toLeftOut()).toEqual([])
      session.onGoaway(ErrorCode.NO_ERROR, MAX_STREAM_ID, null)
      expect(toLeftOut()).toEqual([])
      session.onGoaway(ErrorCode.NO_ERROR, 3, null)
      expect(toLeftOut()).toEqual([5])
      expect(session.isLeftOut(null)).toBe(false)
      const [first, second] = engine.connections[0]?.streams ?? []
      if (first === undefined || second === undefined) throw new Error('They were not opened')
      first.isDone = true
      expect(toLeftOut()).toEqual([5])
      // Its caller has given it up, though it is still open.
      second.isDone = true
      expect(toLeftOut()).toEqual([])
    })

    it('leaves out none when it accepts none, takes that back, or when the connection is lost', async () => {
      const scene = new Scene()
      const connection = await scene.connect()
      const { session } = scene
      session.open(toCall())
      session.open(toCall())
      session.onGoaway(ErrorCode.NO_ERROR, 1, null)
      expect(session.isLeftOut(3)).toBe(true)
      connection.isDestroyed = true
      expect(session.isLeftOut(3)).toBe(false)
      connection.isDestroyed = false
      session.onGoaway(ErrorCode.NO_ERROR, 0, null)
      expect([session.isLeftOut(1), session.isLeftOut(3)]).toEqual([false, false])
    })
  })

  describe('when it is closed', () => {
    it('sends GOAWAY, drains, and finishes at once without streams', async () => {
      const scene = new Scene()
      await scene.connect()
      scene.session.close('closed')
      expect(scene.events.splice(0)).toEqual(['close', 'draining', 'finish'])
      scene.session.close('closed', true)
      expect(scene.events).toEqual(['ref', 'close', 'finish'])
    })

    it('ends the connection attempt when there is no socket yet', async () => {
      const scene = new Scene()
      scene.session.start()
      scene.session.close('closed')
      await turn()
      expect(scene.events).toEqual(['closed: undefined, was never ready'])
    })
  })

  describe('when it is destroyed', () => {
    it('fails its streams, and destroys the connection, whose end closes the session', async () => {
      const scene = new Scene()
      await scene.connect()
      scene.session.open(toCall())
      scene.events.length = 0
      scene.session.destroy(null)
      expect(scene.events.splice(0)).toEqual(['fail 1: ClientDestroyedError', 'cut'])
      expect(scene.session.state).toEqual({ name: 'ready' })
      scene.session.onClose()
      expect(scene.events).toEqual(['lose 1', 'closed: undefined, was ready'])
    })
  })
})
